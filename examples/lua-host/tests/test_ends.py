"""The trace is whole however the process ends, and the status is the script's."""
import json
import os
import select
import signal
import subprocess
import time

import support
from support import Case, environment, programs


class Ends(Case):
    def setUp(self):
        super().setUp()
        self.trace = self.path("t.nettrace")

    def check_trace(self):
        """The trace is whole and has the rundown: every function that was called is described."""
        events, rundown = self.events(self.trace)
        called = {f["FunctionId"] for name, f in events if name in ("Call", "TailCall")}
        described = {f["FunctionId"] for name, f in rundown if name == "Function"}
        self.assertTrue(called and called <= described)

    def check_script(self, text, status, stderr=""):
        result = self.host("--trace", self.trace, self.write("s.lua", text))
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertIn(stderr, result.stderr)
        if not stderr:
            self.assertEqual(result.stderr, "")
        self.check_trace()

    def test_end_of_script(self):
        self.check_script("print('x')", 0)

    def test_exit(self):
        for argument, status in (("", 0), ("true", 0), ("false", 1), ("7", 7), ("256", 0),
                                 ("3, true", 3), ("true, true", 0), ("nil, true", 0)):
            with self.subTest(argument):
                self.check_script(f"setmetatable({{}}, {{__gc = print}}) os.exit({argument})", status)

    def test_exit_in_coroutine(self):
        self.check_script("coroutine.wrap(function() pcall(os.exit, 5, true) end)()", 5)

    def test_session_of_the_environment(self):
        for script, status in (("print('x')", 0), ("local x; x()", 1), ("os.exit(5, true)", 5)):
            result = self.host(self.write("s.lua", script), env={"WEIR_SESSION": f"Lua:1:5;file={self.trace}"})
            self.assertEqual(result.returncode, status)
            self.check_trace()

    def test_mistake_in_the_environment(self):
        result = self.host(self.write("s.lua", "os.exit(5)"), env={"WEIR_SESSION": "Lua:0x1:9"})
        self.assertEqual(result.returncode, 5)
        self.assertEqual(result.stderr, "weir: WEIR_SESSION, position 9: '9': expected a level from 0 to 5\n")

    def test_uncaught_error(self):
        self.check_script("local x; x()", 1, "attempt to call a nil value")
        self.check_script("error({})", 1, "error object is a table value")
        self.check_script("error(setmetatable({}, {__tostring = function() return 'mine' end}))",
                          1, "mine")


class Signals(Case):
    """Each script prints a line when it has reached the place that the signal is to interrupt."""

    LOOP = "print('ready') io.stdout:flush() while true do end"
    BUSY = "print('ready') io.stdout:flush() while true do local t = {tostring(1)} end"
    READ = "print('ready') io.stdout:flush() local l = io.read() print('read', l) while true do end"
    WAIT = "os.execute('echo ready; exec sleep 30')"
    COROUTINE = ("print('ready') io.stdout:flush() "
                 "coroutine.wrap(function() while true do end end)()")

    def setUp(self):
        super().setUp()
        self.trace = self.path("t.nettrace")

    def check_trace(self):
        """Whole, and each function is described a second time. There may be too many events for a
        test to look at them all, or for the budget."""
        self.stat(self.trace, lossless=False)
        described = self.dump(self.trace, "--event", "Function")
        threads = {e["thread"] for e in described}
        self.assertEqual(len(threads), 2)
        first, again = ([e["fields"] for e in described if e["thread"] == t] for t in threads)
        self.assertCountEqual(first, again)

    def start(self, text, traced=True, variables=()):
        if support.deferred_signals:
            self.skipTest("a loop would never see the signal")
        tracing = ["--trace", self.trace] if traced else []
        process = subprocess.Popen(
            [programs["host"], *tracing, self.write("s.lua", text)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**environment(), **dict(variables)},
            start_new_session=True)
        self.addCleanup(self.end, process)
        self.assertTrue(select.select([process.stdout], [], [], 10)[0], "no line in 10 s")
        self.assertEqual(process.stdout.readline(), "ready\n")
        time.sleep(0.05)
        return process

    def end(self, process):
        """Ends the process and, with its process group, what the script started."""
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()

    def test_sigterm(self):
        for name in ("LOOP", "BUSY", "READ", "WAIT", "COROUTINE"):
            for number in (signal.SIGTERM, signal.SIGHUP):
                with self.subTest(name, signal=number):
                    process = self.start(getattr(self, name))
                    process.send_signal(number)
                    self.assertEqual(process.wait(10), -number)
                    self.check_trace()

    def test_sigterm_with_sessions_of_the_environment(self):
        session = f"Lua:1:5;file={self.trace}"
        process = self.start(self.BUSY, traced=False, variables={"WEIR_SESSION": session})
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(10), -signal.SIGTERM)
        self.check_trace()

    def test_sigint_interrupts(self):
        for name in ("LOOP", "BUSY", "READ"):
            with self.subTest(name):
                process = self.start(getattr(self, name))
                process.send_signal(signal.SIGINT)
                self.assertEqual(process.wait(10), 1)
                self.assertIn("interrupted!", process.stderr.read())
                self.check_trace()

    def test_sigint_can_be_caught(self):
        process = self.start("print('ready') io.stdout:flush()\n"
                             "local function loop() while true do end end\n"
                             "print(pcall(loop)) print(debug.gethook())\n"
                             "local function f() end f()")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(10), 0)
        self.assertIn("interrupted!\nnil\n", process.stdout.read())
        self.check_trace()
        events, _ = self.events(self.trace)
        names = {f["Name"] for name, f in events if name == "Function"}
        self.assertIn("f", names, "calls are reported again after the interruption")

    def test_second_sigint_kills(self):
        # Lua cannot interrupt a coroutine: the first signal takes effect only after it.
        process = self.start(self.COROUTINE)
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(10), -signal.SIGINT)
        self.check_trace()

    def test_sigkill(self):
        """Nothing can write the end; no command may report that nothing was lost."""
        process = self.start(self.BUSY)
        time.sleep(0.3)
        process.kill()
        process.wait(10)
        for command in ("stat", "check", "report"):
            result = self.run_program("weir", command, "--json", self.trace)
            self.assertEqual(result.returncode, 4, result.stdout + result.stderr)
            told = json.loads(result.stdout)
            self.assertIsNone(told["lost"])
            self.assertGreater(told["lost_unknown_after_ns"], 0)
        self.assertEqual(self.run_program("weir", "dump", "--last", "1", self.trace).returncode, 4)

    def test_untraced(self):
        process = self.start(self.LOOP, traced=False)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(10), -signal.SIGTERM)
        process = self.start(self.LOOP, traced=False)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(10), 1)

    def test_sigpipe(self):
        process = self.start("print('ready') io.stdout:flush() io.read() while true do print('x') end")
        process.stdout.close()
        process.stdin.close()
        self.assertEqual(process.wait(10), -signal.SIGPIPE)
        self.check_trace()

    def test_children_can_be_terminated(self):
        result = self.host("--trace", self.trace, self.write("s.lua", """
            print(os.execute("kill -TERM $$"))
            print(io.popen("kill -INT $$"):close())
        """))
        self.assertEqual(result.stdout, "nil\tsignal\t15\nnil\tsignal\t2\n")

    def test_ignored_signals_stay_ignored(self):
        command = 'trap "" TERM; exec "$@"'
        script = self.write("s.lua", "os.execute('kill -TERM $PPID') print('alive')")
        result = subprocess.run(["sh", "-c", command, "sh", programs["host"], "--trace", self.trace,
                                 script], capture_output=True, text=True, timeout=30)
        self.assertEqual((result.returncode, result.stdout), (0, "alive\n"))
