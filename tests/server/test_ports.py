"""Ports that the process dials or opens beside the default one, and the wait for a tool before the program runs."""

import os
import time

import harness
import ipc


class Ports(harness.InDirectory):
    def listener(self, name="tool.socket"):
        listener = ipc.Listener(self.place(name))
        self.addCleanup(listener.close)
        return listener

    def accept(self, listener, host):
        connection, cookie, pid = listener.accept()
        self.addCleanup(connection.close)
        self.assertEqual((pid, cookie), (host.pid, ipc.info(host.path)["cookie"]))
        return connection

    def assert_resumed(self, host, is_resumed=True):
        if is_resumed:
            self.assertEqual(host.expect("resumed"), "ok")
        self.assertEqual(host.status.suspended, int(not is_resumed))
        self.assertFalse([line for line in host.lines.queue if line.startswith("resumed")])

    def test_requests(self):
        """Each on a connection of its own; the next one is there at once."""
        listener = self.listener()
        host = self.host(ports=f"{listener.path},nosuspend")
        waits = []
        for _ in range(10):
            connection = self.accept(listener, host)
            connection.sendall(ipc.message(ipc.PROCESS, ipc.RESUME))
            start = time.monotonic()
            following = self.accept(listener, host)
            waits.append(time.monotonic() - start)
            self.assertEqual(ipc.read_reply(connection), bytes(4))
            self.assertEqual(ipc.receive_all(connection), b"")
            following.close()  # unused: it is dialed again
        print(f"advertised again after {min(waits) * 1000:.1f} to {max(waits) * 1000:.1f} ms")
        self.assertLess(min(waits), 0.1)

    def test_trace(self):
        """The stream keeps its connection; the stop comes over the next one."""
        listener = self.listener()
        host = self.host(ports=f"{listener.path},nosuspend")
        trace = ipc.Trace(self.accept(listener, host))
        self.assertEqual(host.emit(10), (20, 0))
        stream = harness.Stream(trace.stop(self.accept(listener, host)))
        self.assertEqual(stream.demo("Tick", "Word"), 20)
        self.accept(listener, host)

    def test_bad_request(self):
        """It uses the connection up, like any other."""
        listener = self.listener()
        host = self.host(ports=f"{listener.path},nosuspend")
        connection = self.accept(listener, host)
        connection.sendall(bytes(20))
        with self.assertRaises(ipc.Refused):
            ipc.read_reply(connection)
        self.assertEqual(ipc.resume(self.accept(listener, host)), (bytes(4), b""))

    def test_listener_comes_late(self):
        host = self.host(ports=f"{self.place()},nosuspend")
        ipc.info(host.path)
        self.accept(self.listener(), host)

    def test_listener_comes_again(self):
        """A tool has gone, and a new one takes its place: with and without a connection that waits."""
        host = self.host(ports=f"{self.place()},nosuspend")
        for _ in range(3):
            listener = self.listener()
            connection = self.accept(listener, host)
            listener.close()
            connection.close()

    def test_cannot_advertise(self):
        """A listener that accepts nobody: the process waits, and serves its other ports."""
        listener = self.listener()
        host = self.host(ports=f"{listener.path},nosuspend")
        for _ in range(20):
            ipc.info(host.path)
        self.accept(listener, host)

    def test_listen(self):
        host = self.host(ports=f"{self.place()},listen,connect,nosuspend", no_default=1)
        self.assertEqual((host.status.ports, host.status.path), (1, ""))
        self.assertEqual(os.listdir(self.directory), ["tool.socket"])
        self.assertEqual(os.stat(self.place()).st_mode & 0o777, 0o600)
        trace = ipc.Trace(self.place())
        host.emit(10)
        self.assertEqual(harness.Stream(trace.stop(self.place())).demo("Tick"), 10)
        host.quit()
        self.assertEqual(os.listdir(self.directory), [])

    def test_two_ports(self):
        """And the default one: each resumes for itself only, each may stop what another has started."""
        one, two = self.listener("one"), self.listener("two")
        host = self.host({"DOTNET_DiagnosticPorts": f"{one.path}; {two.path} , Connect,SUSPEND"}, wait=1)
        self.assertEqual(host.status.ports, 3)
        trace = ipc.Trace(self.accept(one, host))
        ipc.resume(host.path)
        self.assert_resumed(host, False)
        ipc.resume(self.accept(one, host))
        ipc.resume(self.accept(one, host))
        self.assert_resumed(host, False)
        ipc.resume(self.accept(two, host))
        self.assert_resumed(host)
        host.emit(10)
        self.assertEqual(harness.Stream(trace.stop(self.accept(two, host))).demo("Tick"), 10)

    def test_environment_starts_it(self):
        """Also in a host that wants to be asked; both names, and the host's own ports, are taken."""
        listeners = [self.listener(name) for name in ("a", "b", "c")]
        a, b, c = (f"{listener.path},nosuspend" for listener in listeners)
        host = self.host({"DOTNET_DiagnosticPorts": f";{a};;", "WEIR_DIAGNOSTIC_PORTS": b}, asked=1, ports=c)
        for listener in listeners:
            self.accept(listener, host)
        self.assertEqual(host.status.ports, 4)

    def test_tags(self):
        """The first of a kind counts, in any case; unknown ones do not."""
        for tags, suspended in (("", 1), (",connect", 1), (",nosuspend,suspend", 0), (",suspend,nosuspend", 1),
                                (",NoSuspend", 0), (", connect , nosuspend ", 0), (",other", 1), (",other,nosuspend", 0)):
            with self.subTest(tags=tags):
                with harness.Host({"DOTNET_DiagnosticPorts": "/nowhere/x" + tags}) as host:
                    self.assertEqual(host.status.suspended, suspended)

    def test_ports_refused(self):
        """The host's own text is an error of the call."""
        for text in ("x" * 108, ";".join(["/a,nosuspend"] * 17), ",connect"):
            with self.subTest(text=text[:20]), harness.Host(ports=text) as host:
                self.assertRegex(host.ready, "^bad argument: .")
                self.assertEqual(host.status.running, 0)

    def test_resume_after_a_start(self):
        """The program begins when all that the session has asked for is on: its callbacks install what emits."""
        listener = self.listener()
        host = self.host({"DOTNET_DiagnosticPorts": listener.path}, wait=1, slow_ms=300)
        trace = ipc.Trace(self.accept(listener, host))
        ipc.resume(self.accept(listener, host))
        self.assert_resumed(host)
        self.assertTrue([line for line in host.lines.queue if line.startswith("change ENABLED")])
        harness.Stream(trace.stop(self.accept(listener, host)))

    def test_default_port_suspends(self):
        host = self.host({"DOTNET_DefaultDiagnosticPortSuspend": "1"}, wait=1)
        trace = ipc.Trace(host.path)
        self.assert_resumed(host, False)
        ipc.resume(host.path)
        self.assert_resumed(host)
        host.emit(5)
        self.assertEqual(harness.Stream(trace.stop(host.path)).demo("Tick"), 5)

    def test_silence_while_suspended(self):
        """After 5 s, one line says what it waits for."""
        host = self.host({"DOTNET_DiagnosticPorts": self.place()}, wait=1)
        start = time.monotonic()
        ipc.until(lambda: host.complaints)
        self.assertGreater(time.monotonic() - start, 4)
        time.sleep(0.3)
        self.assertEqual(len(host.complaints), 1, host.complaints)
        self.assertIn(self.place(), host.complaints[0])
        ipc.resume(self.accept(self.listener(), host))
        self.assert_resumed(host)

    def test_suspend_ms_max(self):
        host = self.host({"DOTNET_DiagnosticPorts": self.place()}, wait=1, suspend_ms=200)
        self.assertEqual(host.expect("resumed"), "deadline passed")

    def test_stop_while_suspended(self):
        """The waiter goes on, and a later start does not suspend again."""
        host = self.host({"DOTNET_DiagnosticPorts": self.place()}, wait=1)
        self.assertEqual(host.status.suspended, 1)
        self.assertEqual(host.ask("stop", "stopped"), "ok")
        self.assert_resumed(host)
        self.assertEqual(host.ask("start", "started"), "ok: ")
        self.assertEqual((host.status.suspended, host.status.ports), (0, 2))


if __name__ == "__main__":
    harness.main()
