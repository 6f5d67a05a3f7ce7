"""What tools and others may do to the server: the host, and other tools, do not notice."""

import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

import harness
import ipc
from ipc import BLOCK, COLLECT6, DROP, provider

TICKS = [provider(keywords=1)]


def stuck(host, mode=DROP, **more):
    """A session whose tool does not read, while the host's threads emit."""
    trace = ipc.Trace(host.path, COLLECT6, reads=False, mode=mode, megabytes=1, providers=TICKS, **more)
    host.ask("flood 2 0", "flooding")
    return trace


def wait_until_full(host):
    """Until no event has been written for a while: the threads are parked, or drop all."""
    written = -1
    while written != (now := host.status.written) or now == 0:
        written = now
        time.sleep(0.1)


class Tools(unittest.TestCase):
    """Many tools at once, and tools that misbehave."""

    def test_64_at_once(self):
        with harness.Host(sessions=64) as host:
            traces, failures = [], []

            def one():
                try:
                    ipc.info(host.path)
                    traces.append(ipc.Trace(host.path, megabytes=1, providers=TICKS))
                except Exception as e:  # pylint: disable=broad-except
                    failures.append(e)

            self.in_threads(one, 64)
            self.assertEqual((failures, host.status.sessions), ([], 64))
            self.assertEqual(host.emit(10), (10, 10))
            self.in_threads(lambda: self.assertEqual(harness.Stream(traces.pop().stop(host.path)).demo("Tick"), 10), 64)
            self.assertEqual(traces, [])
            host.none_left()

    @staticmethod
    def in_threads(what, count):
        threads = [threading.Thread(target=what) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def test_silent_clients(self):
        with harness.Host() as host:
            connections = [ipc.dial(host.path) for _ in range(20)]
            for i, connection in enumerate(connections[10:]):
                connection.sendall(ipc.message(ipc.EVENTPIPE, ipc.COLLECT2, ipc.collect())[:5 * i + 1])
            trace = ipc.Trace(host.path)
            host.emit(5)
            self.assertEqual(harness.Stream(trace.stop(host.path)).demo("Tick"), 5)
            for connection in connections:
                connection.close()
            host.none_left()

    def test_reply_is_not_read(self):
        """An environment that is larger than the buffers of a socket."""
        more = {f"WEIR_TEST_{i}": "x" * 100000 for i in range(10)}
        with harness.Host(more, stop_ms=300, request_ms=300) as host:
            with ipc.dial(host.path) as lazy:
                lazy.sendall(ipc.message(ipc.PROCESS, ipc.ENVIRONMENT))
                ipc.until(lambda: host.status.connections == 1)
                self.assertEqual(ipc.info(host.path)["pid"], host.pid)
                self.assertEqual(ipc.environment(host.path), host.environment)
                host.none_left()

    def test_descriptors_that_come(self):
        """A message with descriptors: they are closed."""
        with harness.Host() as host:
            ipc.info(host.path)
            host.none_left()
            before = host.descriptors
            for _ in range(5):
                with ipc.dial(host.path) as connection:
                    socket.send_fds(connection, [ipc.message(ipc.PROCESS, ipc.INFO)], [0] * 8)
                    ipc.read_reply(connection)
            host.none_left()
            self.assertEqual(host.descriptors, before)

    def test_descriptors_are_not_inherited(self):
        with harness.Host() as host:
            trace = ipc.Trace(host.path)
            for number in os.listdir(f"/proc/{host.pid}/fd"):
                with open(f"/proc/{host.pid}/fdinfo/{number}", encoding="utf-8") as file:
                    flags = int(file.read().split("flags:")[1].split()[0], 8)
                self.assertTrue(int(number) <= 2 or flags & os.O_CLOEXEC, os.readlink(f"/proc/{host.pid}/fd/{number}"))
            trace.stop(host.path)

    @unittest.skipIf(os.getuid() != 0, "only root can become another user")
    @unittest.skipUnless(shutil.which("setpriv") and os.path.exists("/usr/bin/python3"), "no setpriv or /usr/bin/python3")
    def test_another_user(self):
        """Is kept out by the socket's mode, and, if somebody has widened that, by the server."""
        client = ("import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); "
                  "s.sendall(bytes.fromhex(sys.argv[2])); sys.exit(len(s.recv(100)))")

        def ask():
            return subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3", "-c",
                                   client, host.path, ipc.message(ipc.PROCESS, ipc.INFO).hex()],
                                  cwd="/", check=False, capture_output=True, text=True)

        with harness.Host() as host:
            self.assertIn("PermissionError", ask().stderr)
            os.chmod(host.path, 0o777)
            done = ask()
            self.assertTrue(done.returncode == 0 or "BrokenPipe" in done.stderr or "ConnectionReset" in done.stderr, done)
            ipc.info(host.path)
            host.none_left()


class Paths(harness.InDirectory):
    """What is in the way of the default port's socket."""

    def assert_no_port(self, host):
        """One line says so; the host goes on."""
        self.assertEqual(host.ready, "ok: ")
        self.assertEqual(host.emit(1), (0, 2))
        ipc.until(lambda: host.complaints)
        self.assertEqual(host.status.path, "")
        self.assertEqual(host.quit(), 0)
        self.assertEqual(len(host.complaints), 1, host.complaints)

    def planted(self, plant):
        """The host, and what it finds at its socket's place."""
        host = self.host(before=lambda: plant(self.place(harness.socket_name())))
        path, = (self.place(name) for name in os.listdir(self.directory))
        self.assert_no_port(host)
        return path

    def test_link(self):
        target = self.place(".target")
        with open(target, "wb") as file:
            file.write(b"kept")
        host = self.host(before=lambda: os.symlink(target, self.place(harness.socket_name())))
        self.assert_no_port(host)
        self.assertEqual(sorted(map(os.path.islink, map(self.place, os.listdir(self.directory)))), [False, True])
        with open(target, "rb") as file:
            self.assertEqual(file.read(), b"kept")

    def test_link_to_nowhere(self):
        path = self.planted(lambda path: os.symlink("/nonexistent/place", path))
        self.assertEqual(os.readlink(path), "/nonexistent/place")

    def test_file(self):
        def plant(path):
            with open(path, "wb") as file:
                file.write(b"kept")
        with open(self.planted(plant), "rb") as file:
            self.assertEqual(file.read(), b"kept")

    def test_folder(self):
        self.assertTrue(os.path.isdir(self.planted(os.mkdir)))

    def test_live_socket(self):
        """Of another process: it stays, and gets its clients."""
        other = socket.socket(socket.AF_UNIX)

        def plant(path):
            other.bind(path)
            other.listen()

        with other:
            path = self.planted(plant)
            ipc.dial(path).close()
            other.accept()[0].close()

    def test_dead_socket(self):
        """That nobody listens on any more: the port takes its place."""
        def plant(path):
            with socket.socket(socket.AF_UNIX) as dead:
                dead.bind(path)

        host = self.host(before=lambda: plant(self.place(harness.socket_name())))
        self.assertEqual(ipc.info(host.path)["pid"], host.pid)
        self.assertEqual(host.complaints, [])

    def test_replaced_socket(self):
        """Somebody has put a file in the place of ours: the stop leaves it."""
        host = self.host()
        path = host.path
        os.unlink(path)
        with open(path, "wb"):
            self.assertEqual(host.quit(), 0)
        self.assertTrue(os.path.isfile(path))

    def test_directory_is_missing(self):
        self.assert_no_port(self.host({"TMPDIR": self.place("missing")}))

    def test_path_is_too_long(self):
        folder = self.place("x" * 80)
        os.mkdir(folder)
        self.assert_no_port(self.host({"TMPDIR": folder}))
        self.assertEqual(os.listdir(folder), [])

    def test_directory_takes_no_files(self):
        """Root's neither."""
        self.assert_no_port(self.host({"TMPDIR": "/proc"}))

    def test_on_error(self):
        """Is called in place of the line on stderr."""
        host = self.host({"TMPDIR": self.place("missing")}, report=1)
        self.assertRegex(host.expect("error"), "^(input/output|system) error: .*missing")
        self.assertEqual(host.quit(), 0)
        self.assertEqual(host.complaints, [])


class Children(unittest.TestCase):
    """Forked from a process with a server."""

    def test_only_the_parent_serves(self):
        with harness.Host() as host:
            trace = ipc.Trace(host.path)
            child = host.fork()
            self.assertEqual([ipc.info(host.path)["pid"] for _ in range(20)], [host.pid] * 20)
            host.emit(5)
            os.kill(child, signal.SIGTERM)  # it exits, and runs what is to run at an exit
            ipc.until(lambda: harness.process_stat(child)[0] == "Z")
            self.assertTrue(harness.is_socket(host.path))
            self.assertEqual(harness.Stream(trace.stop(host.path)).demo("Tick"), 5)

    def test_killed_parent(self):
        """No child keeps its port or the connections of its tools alive."""
        with harness.Host() as host:
            path = host.path
            trace = ipc.Trace(path)
            host.fork()
            host.process.kill()
            host.process.wait()
            trace.end()
            with self.assertRaises(ConnectionRefusedError):
                ipc.dial(path)

    def test_server_of_a_child(self):
        """It is the child's own, and ends with the child."""
        with harness.Host() as host:
            trace = ipc.Trace(host.path)
            child = host.fork(starts=True)
            path = ipc.find(host.directory, child)
            self.assertEqual(ipc.info(path)["pid"], child)
            self.assertNotEqual(ipc.info(path)["cookie"], ipc.info(host.path)["cookie"])
            harness.Stream(ipc.Trace(path).stop(path))
            os.kill(child, signal.SIGTERM)
            ipc.until(lambda: not os.path.exists(path))
            host.emit(5)
            self.assertEqual(harness.Stream(trace.stop(host.path)).demo("Tick"), 5)

    def test_many_forks(self):
        with harness.Host() as host:
            trace = ipc.Trace(host.path, COLLECT6, mode=BLOCK)
            for _ in range(10):
                host.fork()
                self.assertEqual(host.emit(1), (2, 0))
            stream = harness.Stream(trace.stop(host.path))
            self.assertEqual((stream.demo("Tick", "Word"), stream.lost), (20, 0))


class Full(unittest.TestCase):
    """Events that come faster than a tool reads."""

    def test_block(self):
        """Nothing is lost with the smallest budget."""
        with harness.Host() as host:
            trace = ipc.Trace(host.path, COLLECT6, mode=BLOCK, megabytes=1, providers=TICKS)
            host.ask("flood 4 150000", "flooding")
            self.assertEqual(host.counts("join", "flooded"), (600000, 0))
            stream = harness.Stream(trace.stop(host.path))
            self.assertEqual((stream.demo("Tick"), stream.lost), (600000, 0))

    def test_stop_in_block(self):
        """Threads that are parked when the tool asks for the end write their events first."""
        for _ in range(5):
            with harness.Host() as host:
                trace = ipc.Trace(host.path, COLLECT6, mode=BLOCK, megabytes=1, providers=TICKS)
                host.ask("flood 8 0", "flooding")
                ipc.until(lambda: host.status.written > 100000)
                stream = harness.Stream(trace.stop(host.path))
                written, _ = host.counts("quiet", "flooded")
                self.assertEqual((stream.demo("Tick"), stream.lost), (written, 0))

    def test_drop(self):
        """What is not in the stream is in its losses."""
        with harness.Host() as host:
            trace = ipc.Trace(host.path, reads=False, megabytes=1, providers=TICKS)
            host.ask("flood 4 150000", "flooding")
            written, refused = host.counts("join", "flooded")
            stream = harness.Stream(trace.stop(host.path))
            self.assertEqual((written + refused, stream.demo("Tick"), stream.lost), (600000, written, refused))
            self.assertGreater(refused, 0)
            self.assertEqual(sum(event["fields"]["Count"] for event in stream.events("Weir", "Loss")), refused)

    def test_start_beside_a_flood(self):
        """Whoever has the reply to a start has the events that follow, on one busy processor, too."""
        one = {min(os.sched_getaffinity(0))}
        with harness.Host(before=lambda: os.sched_setaffinity(0, one)) as host:
            other = ipc.Trace(host.path, providers=TICKS)
            host.ask("flood 3 0", "flooding")
            for _ in range(200):
                trace = ipc.Trace(host.path, providers=[provider(keywords=4)])
                self.assertEqual(host.counts("blob 8", "emitted"), (1, 0))
                trace.leave()
            host.counts("quiet", "flooded")
            other.leave()

    def test_killed_client(self):
        """Its session ends, whether it has read or not, and parked threads go on."""
        client = ("import sys; sys.path.insert(0, sys.argv[1]); import ipc, time; "
                  "t = ipc.Trace(sys.argv[2], ipc.COLLECT6, reads=False, mode=int(sys.argv[3]), megabytes=1); "
                  "print('ready', flush=True); time.sleep(600)")
        for mode in (DROP, BLOCK):
            with self.subTest(mode=mode), harness.Host(block_ms=60000, stop_ms=60000) as host:
                process = subprocess.Popen([sys.executable, "-B", "-c", client, os.path.dirname(__file__), host.path,
                                            str(mode)], stdout=subprocess.PIPE)
                process.stdout.readline()
                host.ask("flood 2 0", "flooding")
                wait_until_full(host)
                process.kill()
                took = ipc.until(lambda: host.status.sessions == 0)
                host.counts("quiet", "flooded")
                process.wait()
                process.stdout.close()
                print(f"session of a killed tool gone after {took * 1000:.0f} ms, mode {mode}")
                self.assertLess(took, 1.5)

    def test_client_leaves_while_idle(self):
        """No event comes whose writing would fail."""
        with harness.Host() as host:
            for mode in (DROP, BLOCK):
                ipc.Trace(host.path, COLLECT6, mode=mode).leave()
                self.assertLess(host.none_left(), 1.5)

    def test_block_ms_max(self):
        """A tool in Block that has stopped reading loses its session, and the threads go on."""
        with harness.Host(block_ms=500, stop_ms=100) as host:
            trace = stuck(host, BLOCK)
            start = time.monotonic()
            ipc.until(lambda: host.status.sessions == 0)
            took = time.monotonic() - start
            host.counts("quiet", "flooded")
            self.assertGreater(took, 0.4)
            print(f"parked threads were let go after {took * 1000:.0f} ms")
            trace.leave()
            host.none_left()

    def test_slow_reader_in_block(self):
        """One that reads a little now and then keeps its session beyond block_ms_max."""
        with harness.Host(block_ms=1500) as host:
            trace = stuck(host, BLOCK)
            wait_until_full(host)
            end = time.monotonic() + 2.5
            while time.monotonic() < end:
                trace.parts.append(trace.connection.recv(1 << 16))
                time.sleep(0.1)
            self.assertEqual(host.status.sessions, 1)
            host.send("quiet")
            trace.read()
            written, refused = map(int, host.expect("flooded").split())
            stream = harness.Stream(trace.stop(host.path))
            self.assertEqual((stream.demo("Tick"), refused, stream.lost), (written, 0, 0))

    def test_slow_stop(self):
        """While one session's stop takes all the time that it may, another tool starts at once."""
        with harness.Host(stop_ms=3000) as host:
            trace = stuck(host)
            self.addCleanup(trace.leave)
            wait_until_full(host)
            host.counts("quiet", "flooded")
            with ipc.dial(host.path) as stop:
                stop.sendall(ipc.message(ipc.EVENTPIPE, ipc.STOP, trace.session.to_bytes(8, "little")))
                time.sleep(0.1)
                start = time.monotonic()
                other = ipc.Trace(host.path)
                took = time.monotonic() - start
                self.assertEqual(host.status.sessions, 2)
                print(f"start beside a slow stop answered after {took * 1000:.1f} ms")
                self.assertLess(took, 1)
                host.emit(5)
                self.assertEqual(harness.Stream(other.stop(host.path)).demo("Tick"), 5)
            host.none_left()

    def test_host_stops(self):
        """Beside a tool that does not read: the stop, or the exit, waits no longer than it may."""
        for mode in (DROP, BLOCK):
            for how in ("stop", "exit"):
                with self.subTest(mode=mode, how=how), harness.Host(stop_ms=300, block_ms=60000) as host:
                    trace = stuck(host, mode)
                    self.addCleanup(trace.leave)
                    wait_until_full(host)
                    start = time.monotonic()
                    if how == "stop":
                        self.assertEqual(host.ask("stop", "stopped"), "ok")
                        self.assertEqual(host.status[:5], (0, 0, 0, 0, 0))
                        host.counts("quiet", "flooded")
                    else:
                        host.process.stdin.close()
                        self.assertEqual(host.process.wait(ipc.SECONDS), 0)
                        self.assertEqual((host.complaints, os.listdir(host.directory)), ([], []))
                    self.assertLess(time.monotonic() - start, 3)

    def test_stuck_clients(self):
        """One after the other: nothing of them stays."""
        with harness.Host(stop_ms=20, block_ms=20) as host:
            ipc.Trace(host.path).stop(host.path)
            host.none_left()
            before = host.threads, host.descriptors
            host.ask("flood 1 0", "flooding")
            for i in range(1000 if harness.LONG else 100):
                trace = ipc.Trace(host.path, COLLECT6, reads=False, mode=i % 2, megabytes=1)
                if i % 4 < 2:  # it asks for the end, and does not read the rest
                    ipc.ask(host.path, ipc.EVENTPIPE, ipc.STOP, trace.session.to_bytes(8, "little"))
                trace.leave()
            host.counts("quiet", "flooded")
            host.none_left()
            ipc.until(lambda: (host.threads, host.descriptors) == before, what=f"{before} threads and descriptors")


class Descriptors(unittest.TestCase):
    def test_fewer_than_connections(self):
        """That the host allows: the limit concerns those that there are."""
        with harness.Host(before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)), connections=1024) as host:
            connections = [ipc.dial(host.path) for _ in range(30)]
            ipc.until(lambda: host.status.connections == 30)
            self.assertEqual(ipc.info(host.path)["pid"], host.pid)
            for connection in connections:
                connection.close()

    def test_none_left(self):
        """The server waits without using a processor, and serves again when there are some."""
        with harness.Host() as host:
            ipc.info(host.path)
            host.none_left()
            limit = host.descriptors + 3
            resource.prlimit(host.pid, resource.RLIMIT_NOFILE, (limit, limit))
            connections = [ipc.dial(host.path) for _ in range(20)]
            seconds = 10 if harness.LONG else 2
            ipc.until(lambda: host.complaints, what="a complaint")
            before = host.cpu_seconds
            time.sleep(seconds)
            share = (host.cpu_seconds - before) / seconds
            print(f"out of descriptors: {share:.1%} of a processor")
            self.assertLess(share, 0.05)
            for connection in connections:
                connection.close()
            self.assertEqual(ipc.info(host.path)["pid"], host.pid)
            host.none_left()
            self.assertEqual(len(host.complaints), 1, host.complaints)


if __name__ == "__main__":
    harness.main()
