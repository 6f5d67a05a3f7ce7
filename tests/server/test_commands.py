"""What each request does, over the default port."""

import json
import os
import platform
import subprocess
import unittest

import harness
import ipc
from ipc import BLOCK, COLLECT, COLLECT2, COLLECT3, COLLECT4, COLLECT5, COLLECT6, provider


class Discovery(harness.InDirectory):
    def test_socket(self):
        with harness.Host() as host:
            self.assertRegex(os.path.basename(host.path), rf"^dotnet-diagnostic-{host.pid}-\d*7-socket$")
            self.assertTrue(harness.is_socket(host.path))
            self.assertEqual(os.stat(host.path).st_mode & 0o777, 0o600)
            self.assertEqual(host.status.path, host.path)
            path = host.path
            self.assertEqual(host.quit(), 0)
            self.assertFalse(os.path.exists(path))

    def test_key(self):
        """The start time, and a 7 after it."""
        with harness.Host() as host:
            start = harness.process_stat(host.pid)[19]
            self.assertEqual(os.path.basename(host.path), f"dotnet-diagnostic-{host.pid}-{start}7-socket")

    def test_newest(self):
        """A runtime in the same process has opened a port before: the tools take the newer one."""
        def older():
            path = self.place(f"dotnet-diagnostic-{os.getpid()}-1-socket")
            with open(path, "wb"):
                os.utime(path, (1, 1))

        host = self.host(before=older)
        self.assertEqual(len(os.listdir(self.directory)), 2)
        self.assertTrue(host.path.endswith("7-socket"))

    def test_exit_without_stop(self):
        with harness.Host() as host:
            path = host.path
            trace = ipc.Trace(path)
            host.emit(4)
            host.process.stdin.close()
            self.assertEqual(host.process.wait(ipc.SECONDS), 0)
            self.assertFalse(os.path.exists(path))
            self.assertEqual(harness.Stream(trace.end()).demo("Tick"), 4)

    def test_directories(self):
        """TMPDIR with a slash at its end; an empty one, which is /tmp."""
        for text, place in ((self.directory + "/", self.directory), ("", "/tmp")):
            with self.subTest(TMPDIR=text), harness.Host({"TMPDIR": text}) as host:
                self.assertEqual(os.path.dirname(host.status.path), place)
                self.assertEqual(ipc.info(ipc.find(place, host.pid))["pid"], host.pid)
                host.quit()

    def test_beside_a_runtime(self):
        """The default port is that of the .NET runtime that the process has loaded, unless the host insists."""
        runtime = self.place("libcoreclr.so")
        with open("/proc/self/maps", encoding="utf-8") as file:  # any library that has nothing to do
            os.symlink(next(line.split()[5] for line in file if "/libm" in line), runtime)
        environment = {"LD_PRELOAD": runtime, "ASAN_OPTIONS": "verify_asan_link_order=0"}
        for forced in (0, 1):
            with self.subTest(forced=forced), harness.Host(environment, forced=forced) as host:
                self.assertEqual((host.status.running, len(os.listdir(host.directory))), (forced, forced))
                self.assertEqual(host.complaints, [])

    def test_switched_off(self):
        for name in ("WEIR_DIAGNOSTICS", "DOTNET_EnableDiagnostics", "DOTNET_EnableDiagnostics_IPC"):
            with self.subTest(name=name), harness.Host({name: "0"}) as host:
                self.assertEqual(host.ready, "ok: ")
                self.assertEqual((host.status.running, os.listdir(host.directory)), (0, []))

    def test_only_if_asked(self):
        for value, running in ((None, 0), ("1", 1)):
            environment = {"WEIR_DIAGNOSTICS": value} if value else {}
            with self.subTest(value=value), harness.Host(environment, asked=1) as host:
                self.assertEqual((host.status.running, len(os.listdir(host.directory))), (running, running))


class Process(unittest.TestCase):
    TEXTS = {"command_line": "/bin/na\u00efve --grin \U0001F600", "entrypoint": "na\u00efve", "version": "3.2.1-beta"}

    def test_info(self):
        with harness.Host(**self.TEXTS) as host:
            infos = [ipc.info(host.path, id_) for id_ in (ipc.INFO, ipc.INFO2, ipc.INFO3)]
            arch = {"x86_64": "x64", "aarch64": "arm64"}[platform.machine()]
            self.assertEqual(infos[2], {"layout": 1, "pid": host.pid, "cookie": infos[0]["cookie"], "os": "Linux",
                                        "arch": arch, "rid": f"linux-{arch}", **self.TEXTS})
            self.assertLess(infos[0].items(), infos[1].items())
            self.assertLess(infos[1].items(), infos[2].items())
            self.assertNotEqual(infos[0]["cookie"], bytes(16))

    def test_info_by_default(self):
        with harness.Host(default="Demo:1:4") as host:
            info = ipc.info(host.path)
            self.assertEqual(info["command_line"], f"{harness.HOST} default=Demo:1:4")
            self.assertEqual(info["entrypoint"], os.path.basename(harness.HOST))
            self.assertRegex(info["version"], r"^[0-7]\.\d+\.\d+")

    def test_cookie(self):
        """The process's, also after another start; another process has another."""
        with harness.Host() as host, harness.Host() as other:
            cookie = ipc.info(host.path)["cookie"]
            self.assertNotEqual(cookie, ipc.info(other.path)["cookie"])
            self.assertEqual(host.ask("stop", "stopped"), "ok")
            self.assertEqual(host.ask("start", "started"), "ok: ")
            self.assertEqual(ipc.info(host.path)["cookie"], cookie)

    def test_environment(self):
        more = {"WEIR_TEST_EMPTY": "", "WEIR_TEST_TEXT": "a=b \u20ac \U0001F600", "WEIR_TEST_LONG": "x" * 100000}
        with harness.Host(more) as host:
            self.assertEqual(ipc.environment(host.path), host.environment)

    def test_resume_when_not_suspended(self):
        with harness.Host(wait=1) as host:
            self.assertEqual(host.expect("resumed"), "ok")
            self.assertEqual(ipc.resume(host.path), (bytes(4), b""))


class Sessions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.host = harness.Host(default="Demo:1:4")
        cls.addClassCleanup(cls.host.close)

    def setUp(self):
        self.traces = []

    def tearDown(self):
        for trace in self.traces:
            trace.leave()
        self.host.none_left()
        while not self.host.lines.empty():
            self.host.lines.get()

    def trace(self, id_=COLLECT2, **more):
        self.traces.append(ipc.Trace(self.host.path, id_, **more))
        return self.traces[-1]

    def ended(self, trace):
        return harness.Stream(trace.stop(self.host.path))

    def test_each_version(self):
        for id_ in (COLLECT, COLLECT2, COLLECT3, COLLECT4, COLLECT5, COLLECT6):
            with self.subTest(id=id_):
                trace = self.trace(id_)
                self.assertEqual(self.host.emit(100), (200, 0))
                stream = self.ended(trace)
                self.assertEqual((stream.demo("Tick", "Word"), stream.lost), (200, 0))

    def test_what_is_asked(self):
        """The provider is told of keywords, level and arguments; the events follow them."""
        trace = self.trace(providers=[provider("dEMO", 0x1F, 4, "a=1;b='\u20ac'")])
        self.assertEqual(self.host.expect("change"), "ENABLED 1f 4 a=1;b='\u20ac'")
        self.assertEqual(self.host.emit(10), (10, 10))  # Word is of level 5
        self.assertEqual(self.ended(trace).demo("Tick", "Word"), 10)
        self.assertEqual(self.host.expect("change").split()[0], "DISABLED")

    def test_keywords(self):
        trace = self.trace(providers=[provider(keywords=2)])
        self.host.emit(10)
        stream = self.ended(trace)
        self.assertEqual((stream.demo("Tick"), stream.demo("Word")), (0, 10))

    def test_no_keywords(self):
        """0 is all of them."""
        trace = self.trace(providers=[provider(keywords=0)])
        self.host.emit(10)
        self.assertEqual(self.ended(trace).demo("Tick", "Word"), 20)

    def test_event_filters(self):
        """Tick is 1, Word is 2."""
        for ids, enable, ticks, words in (((1,), True, 10, 0), ((1,), False, 0, 10), ((), True, 0, 0), ((), False, 10, 10)):
            with self.subTest(ids=ids, enable=enable):
                trace = self.trace(COLLECT5, filters=[ipc.event_filter(ids, enable)])
                self.host.emit(10)
                stream = self.ended(trace)
                self.assertEqual((stream.demo("Tick"), stream.demo("Word")), (ticks, words))

    def test_rundown(self):
        for id_, asked, keywords in ((COLLECT, 0, ipc.RUNDOWN), (COLLECT2, 1, ipc.RUNDOWN), (COLLECT2, 0, 0),
                                     (COLLECT3, 1, ipc.RUNDOWN), (COLLECT4, 0x18, 0x18), (COLLECT4, 0, 0),
                                     (COLLECT5, 1, 1), (COLLECT6, 2, 2)):
            with self.subTest(id=id_, asked=asked):
                states = self.ended(self.trace(id_, rundown=asked)).events("Demo", "State")
                self.assertEqual(["%x" % event["fields"]["Keywords"] for event in states], ["%x" % keywords] * (keywords != 0))

    def test_default_providers(self):
        """For a tool that asks only for .NET's; one that names one of ours gets what it asks for."""
        dotnet = provider("Microsoft-Windows-DotNETRuntime", 1, 4)
        trace = self.trace(providers=[dotnet])
        self.host.emit(10)
        self.assertEqual(self.ended(trace).demo("Tick", "Word"), 10)
        trace = self.trace(providers=[dotnet, provider(keywords=2)])
        self.host.emit(10)
        stream = self.ended(trace)
        self.assertEqual((stream.demo("Tick"), stream.demo("Word")), (0, 10))

    def test_first_event(self):
        """dotnet-gcdump waits for any event, of a provider that we do not have, before it goes on."""
        trace = self.trace(providers=[provider("Microsoft-DotNETCore-SampleProfiler", 0xF00000000000, 4)])
        ipc.until(lambda: b"ProcessInfo" in harness.weir("dump", trace.so_far, codes=(1, 4)), what="an event")
        greeting, = self.ended(trace).events("Microsoft-DotNETCore-EventPipe", "ProcessInfo")
        self.assertEqual(greeting["fields"]["CommandLine"], f"{harness.HOST} default=Demo:1:4")

    def test_large_event(self):
        trace = self.trace()
        self.assertEqual(self.host.counts("blob 65000", "emitted"), (1, 0))
        self.assertEqual(self.host.counts("blob 70000", "emitted"), (0, 1))
        stream = self.ended(trace)
        self.assertEqual((stream.demo("Blob"), stream.lost), (1, 1))

    def test_again_and_again(self):
        for i in range(100):
            trace = self.trace(COLLECT6, mode=i % 2)
            self.assertEqual(self.host.emit(1), (2, 0))
            data = trace.stop(self.host.path)
        self.assertEqual(harness.Stream(data).demo(), 2)

    def test_two_tools(self):
        """Each has what it has asked for."""
        one, two = self.trace(providers=[provider(keywords=1)]), self.trace(COLLECT6, mode=BLOCK, providers=[provider(keywords=2)])
        self.assertNotEqual(one.session, two.session)
        self.host.emit(10)
        stream = self.ended(two)
        self.assertEqual((stream.demo("Tick"), stream.demo("Word")), (0, 10))
        self.host.emit(10)
        stream = self.ended(one)
        self.assertEqual((stream.demo("Tick"), stream.demo("Word")), (20, 0))

    def test_two_stops(self):
        """At once, over two connections."""
        trace = self.trace()
        with ipc.dial(self.host.path) as one, ipc.dial(self.host.path) as two:
            request = ipc.message(ipc.EVENTPIPE, ipc.STOP, ipc.struct.pack("<Q", trace.session))
            one.sendall(request)
            two.sendall(request)
            self.assertEqual(ipc.read_reply(one), ipc.read_reply(two))
        harness.Stream(trace.end())

    def test_host_stops(self):
        """The tools see the end of a whole stream, and the socket is gone; after a start it is back."""
        trace = self.trace()
        self.host.emit(10)
        path = self.host.path
        self.assertEqual(self.host.ask("stop", "stopped"), "ok")
        self.assertEqual(harness.Stream(trace.end()).demo("Tick"), 10)
        self.assertFalse(os.path.exists(path))
        self.assertEqual(self.host.status[:5], (0, 0, 0, 0, 0))
        self.assertEqual(self.host.ask("start", "started"), "ok: ")
        self.assertEqual(self.host.path, path)
        self.assertEqual(ipc.info(path)["pid"], self.host.pid)

    def test_budget(self):
        """One that asks for more than the host allows gets what it allows, and its stream says so."""
        with harness.Host(budget=4 << 20) as host:
            trace = ipc.Trace(host.path, megabytes=1 << 20)
            host.emit(10)
            stream = harness.Stream(trace.stop(host.path))
            session, = stream.events("Weir", "Session")
            self.assertEqual(session["fields"], {"Mode": "drop", "BudgetBytes": 4 << 20, "RequestedBytes": 1 << 40})

    def test_schema(self):
        """weir schema of the process is that of a trace of it, with what the host gives to a tool that asks for nothing that it has."""
        tool = subprocess.Popen([harness.WEIR, "schema", "-p", str(self.host.pid), "--duration", "0.3"], stdout=subprocess.PIPE,
                                env={**os.environ, "TMPDIR": self.host.directory})
        while tool.poll() is None:
            self.host.emit(1)
        with tool.stdout:
            schema = tool.stdout.read()
        self.assertEqual((tool.returncode, os.listdir(self.host.directory)), (0, [os.path.basename(self.host.path)]))
        trace = self.trace(rundown=1, providers=[provider("Microsoft-Windows-DotNETRuntime")])
        self.host.emit(1)
        self.assertEqual(schema, harness.weir("schema", trace.stop(self.host.path), codes=(0,)))
        events = {event["name"]: event for event in json.loads(schema)["events"] if event["provider"] == "Demo"}
        self.assertEqual(events["Tick"]["fields"], [{"name": "Number", "type": "uint64"}])


if __name__ == "__main__":
    harness.main()
