"""Sessions that others open while the script runs: what they get, and that the script does not notice."""
import collections
import json
import os
import re
import unittest

import support
from support import HERE, Case
from test_program import LUACHECK, PATHS, SOURCES


class Attached(Case):
    def run_script(self, text, status=0):
        """Runs a script in which `path(n)` names trace n; returns its lines of output."""
        text = f"local function path(n) return '{self.directory}/' .. n .. '.nettrace' end\n{text}"
        result = self.run_program("sessions", self.write("s.lua", text))
        self.assertEqual((result.returncode, result.stderr), (status, ""))
        return result.stdout.splitlines()

    def trace(self, number):
        events, rundown = self.events(self.path(f"{number}.nettrace"))
        self.names = {f["FunctionId"]: f["Name"] for name, f in rundown if name == "Function"}
        return events

    def count(self, events, event, function):
        return sum(name == event and self.names[f["FunctionId"]] == function for name, f in events)

    def check_stacks(self, events):
        """Each Return ends a Call or a Frame; returns the names of each coroutine's frames."""
        stacks = collections.defaultdict(list)
        framed = collections.defaultdict(list)
        levels = collections.defaultdict(list)
        for name, fields in events:
            stack = stacks[fields.get("Coroutine")]
            function = fields.get("FunctionId")
            if name == "Frame":
                levels[fields["Coroutine"]].append(fields["Level"])
                framed[fields["Coroutine"]].append(self.names[function])
            if name in ("Frame", "Call"):
                stack.append(function)
            elif name == "TailCall":
                stack[-1] = function
            elif name == "Return":
                while stack and stack[-1] != function:
                    stack.pop()  # unwound by an error
                self.assertTrue(stack, f"a Return without Call or Frame: {fields}")
                stack.pop()
        for values in levels.values():
            self.assertEqual(values, list(range(len(values)))[::-1])
        return framed


class Loops(Attached):
    """A session comes, and goes, while Lua is in a loop without calls or allocations."""

    def setUp(self):
        super().setUp()
        if support.deferred_signals:
            self.skipTest("a loop would never see the signal")

    def test_main(self):
        output = self.run_script("""
            local function f() end
            sessions.visit(path(1), "Lua", 9, "interrupt") -- Attach, four Frames and their Functions
            local ok, message = pcall(function() while true do end end)
            print(message:match("interrupted!"))
            f()
            print(sessions.instruments())
            local again = sessions.start(path(2), "Lua:0x1")
            for i = 1, 1000 do f() end
            sessions.stop(again)
            f()
            print(sessions.instruments())
        """)
        self.assertEqual(output, ["interrupted!", "false\tfalse", "false\tfalse"])
        events = self.trace(1)
        self.assertEqual(events[0][0], "Attach")
        self.assertEqual(events[0][1]["Keywords"], 7)
        (frames,) = self.check_stacks(events).values()
        self.assertEqual(frames, ["?", "main chunk", "pcall", "?"], "the host, the script, and the loop")
        self.assertNotIn("Call", [name for name, _ in events])
        events = self.trace(2)
        self.assertEqual(self.count(events, "Call", "f"), 1000)
        self.assertEqual(self.count(events, "Return", "f"), 1000)
        (frames,) = self.check_stacks(events).values()
        self.assertEqual(frames, ["?", "main chunk", "sessions.start"])
        report = json.loads(self.run_program("weir", "report", "--json", self.path("2.nettrace")).stdout)
        self.assertEqual(report["providers"][0]["unmatchedReturns"], 0)
        main = [f for f in report["providers"][0]["functions"] if f["name"] == "main chunk"]
        self.assertEqual([f["calls"] for f in main], [0])

    def test_coroutine(self):
        self.run_script("""
            coroutine.wrap(function()
                coroutine.wrap(function()
                    sessions.visit(path(1), "Lua:0x1", 3, "exit")
                    while true do end
                end)()
            end)()
        """)
        events = self.trace(1)
        frames = self.check_stacks(events)
        self.assertEqual(list(frames.values()), [["?"]], "only of the coroutine that runs")
        self.assertEqual(list(frames), [events[0][1]["Coroutine"]])

    def test_hooked_loop(self):
        """The script's own hook goes on beside the request's."""
        output = self.run_script("""
            sessions.visit(path(1), "Lua", 9, "interrupt") -- Attach, four Frames and their Functions
            local lines = 0
            debug.sethook(function() lines = lines + 1 end, "l")
            local ok, message = pcall(function()
                while true do
                end
            end)
            print(message:match("interrupted!"), lines > 1000, debug.gethook())
        """)
        self.assertEqual(output, ["interrupted!\ttrue\tnil"], "an interrupt removes the hook, as in Lua")
        self.check_stacks(self.trace(1))


class Sessions(Attached):
    def test_suspended_coroutines(self):
        """They get the hook, and lose it, when they run."""
        output = self.run_script("""
            local function g() end
            local function body() while true do g() coroutine.yield() end end
            local co, unused = coroutine.create(body), coroutine.create(body)
            local function step() coroutine.resume(co) print(sessions.instruments(co)) end
            step()
            local first = sessions.start(path(1), "Lua:0x1")
            print(sessions.instruments(co))
            step()
            local second = sessions.start(path(2), "Lua:0x1")
            step()
            sessions.stop(first)
            step()
            sessions.stop(second)
            print(sessions.instruments(co))
            step()
            coroutine.resume(unused)
            print(sessions.instruments(unused))
        """)
        on, off, stale, fresh = "true\ttrue", "false\tfalse", "true\tfalse", "false\ttrue"
        self.assertEqual(output, [off, fresh, on, on, on, stale, off, off])
        for number, calls in ((1, 2), (2, 2)):
            events = self.trace(number)
            self.assertEqual(self.count(events, "Call", "g"), calls)
            frames = list(self.check_stacks(events).values())
            self.assertEqual(frames, [["?", "main chunk", "sessions.start"], ["?", "coroutine.yield"]])

    def test_control_comes_back(self):
        """A session that came inside a coroutine gets the frames of those that wait for it."""
        self.run_script("""
            local function f() end
            local session
            coroutine.wrap(function()
                coroutine.wrap(function() session = sessions.start(path(1), "Lua:0x1") f() end)()
                f()
            end)()
            f()
            sessions.stop(session)
        """)
        events = self.trace(1)
        self.assertEqual(self.count(events, "Call", "f"), 3)
        self.assertEqual([len(frames) for frames in self.check_stacks(events).values()], [2, 2, 3])

    def test_names_in_an_unfinished_file(self):
        """The rundown at the start names functions that were called before, also if the end is missing."""
        self.run_script("""
            local function before_it() end
            local first = sessions.start(path(1), "Lua:0x1")
            before_it()
            local second = sessions.start(path(2), "Lua:0x1")
            for i = 1, 1000 do before_it() end
            os.execute("sleep 0.5; cp " .. path(2) .. " " .. path(3)) -- what a kill would leave
            sessions.stop(second)
            sessions.stop(first)
        """)
        result = self.run_program("weir", "report", "--json", self.path("3.nettrace"))
        self.assertEqual(result.returncode, 4, result.stderr)
        calls = {function["name"]: function["calls"] for provider in json.loads(result.stdout)["providers"]
                 for function in provider["functions"]}
        self.assertEqual(calls.get("before_it"), 1000, calls)

    def test_each_gets_its_own(self):
        """Of sessions with different keywords, and one that was there before the state."""
        script = self.write("s.lua", f"""
            local function path(n) return '{self.directory}/' .. n .. '.nettrace' end
            local function f() return {{}} end
            local calls = sessions.start(path(1), "Lua:0x1")
            f()
            local heap = sessions.start(path(2), "Lua:0x6")
            for i = 1, 50000 do f() end
            sessions.stop(calls)
            collectgarbage()
            local errors = sessions.start(path(3), "Lua:0x8")
            pcall(error, "x")
            sessions.stop(heap)
            print(sessions.instruments())
            collectgarbage()
            sessions.stop(errors)
        """)
        result = self.run_program("sessions", "--trace", self.path("0.nettrace"), "--providers", "Lua:0x20", script)
        self.assertEqual((result.stdout, result.stderr), ("false\tfalse\n", ""))
        self.assertEqual({name for name, _ in self.trace(0)}, {"Function"}, "every session has the rundown")
        events = self.trace(1)
        self.assertEqual({name for name, _ in events}, {"Attach", "Frame", "Function", "Call", "Return"})
        self.assertEqual(self.count(events, "Call", "f"), 50001)
        self.assertEqual([f["Keywords"] for name, f in events if name == "Attach"], [1])
        self.assertEqual([f["Message"] for name, f in self.trace(3) if name == "Error"], ["x"])
        self.check_heap(self.trace(2))

    def test_activities(self):
        """Sessions that begin and end in coroutines, between those that have activities. A chunk's name is the right path."""
        self.run_script("""
            local yield, resume, create = coroutine.yield, coroutine.resume, coroutine.create
            local function mark(path) load("", "=" .. path) end
            local older = create(function() while true do yield() mark "//1/1" end end)
            resume(older)
            local id
            local a = create(function()
                id = sessions.start(path(1), "Lua:0x30")
                mark "-"
                resume(older)
                mark "-"
                yield()
                mark "//1/2"
                local b = create(function()
                  mark "//1/2/1"
                  sessions.stop(id)
                  resume(create(function()
                    id = sessions.start(path(2), "Lua:0x30")
                    mark "-"
                    resume(create(function() mark "//1/3" end))
                    mark "-"
                  end))
                  mark "//1/2/1"
                end)
                resume(b)
                mark "//1/2"
            end)
            resume(a)
            mark "-"
            resume(a)
            mark "-"
            sessions.stop(id)
        """)
        for number in (1, 2):
            chunks = [e for e in self.dump(self.path(f"{number}.nettrace"), "--sorted") if e["name"] == "ChunkLoad"]
            self.assertEqual([e.get("activityPath", "-") for e in chunks], [e["fields"]["Name"] for e in chunks])
            self.assertEqual(len(chunks), 6)

    def check_heap(self, events):
        """From Attach on, allocation accounts for each byte, and for each block that is not older."""
        self.assertEqual({name for name, _ in events}, {"Attach", "Alloc", "Free", "GCCycle"})
        attach = [i for i, (name, _) in enumerate(events) if name == "Attach"]
        self.assertEqual(len(attach), 1)
        self.assertEqual(events[attach[0]][1]["Keywords"], 6)
        heap = events[attach[0]][1]["HeapBytes"]
        live, older, cycles = {}, 0, 0
        for name, fields in events[attach[0] + 1:]:
            if name == "GCCycle":
                cycles += 1
                self.assertEqual(fields["HeapBytes"], heap)
                continue
            old = fields["Address"] if name == "Free" else fields["OldAddress"]
            bytes_old = fields["Bytes"] if name == "Free" else fields["OldBytes"]
            if old != 0:
                older += old not in live
                self.assertEqual(live.pop(old, bytes_old), bytes_old)
            heap -= bytes_old
            if name == "Alloc":
                live[fields["Address"]] = fields["Bytes"]
                heap += fields["Bytes"]
        self.assertGreater(cycles, 3)
        self.assertGreater(older, 0, "some blocks are older than the session")


class Unnoticed(Attached):
    def test_hooks_of_the_script(self):
        """They see the same while sessions with and without instruments come and go."""
        text = """
            local log = {}
            local function note(event, line) log[#log + 1] = event .. ":" .. tostring(line) end
            local function f(x) return x end
            local function tail(x) return f(x) end
            local n = 0
            local function change(providers)
                n = n + 1
                local session = sessions.start(path(n), providers)
                f(1)
                tail(2)
                sessions.stop(session)
                tail(3)
            end
            for _, mask in ipairs {"c", "r", "cr", "l", "crl", ""} do
                debug.sethook(note, mask, mask == "" and 1000 or 0)
                change(PROVIDERS)
                local g, m, c = debug.gethook()
                debug.sethook()
                print(g == note, m, c, debug.gethook())
                local co = coroutine.create(function() change(PROVIDERS) coroutine.yield() f(4) end)
                debug.sethook(co, note, mask)
                coroutine.resume(co)
                g, m, c = debug.gethook(co)
                coroutine.resume(co)
                print(g == note, m, c, debug.gethook())
                print(table.concat(log, " "))
                log = {}
            end
        """
        with_instruments = self.run_script(text.replace("PROVIDERS", "'Lua'"))
        without = self.run_script(text.replace("PROVIDERS", "'Lua:0x8'"))
        self.assertEqual(with_instruments, without)
        self.assertGreater(len("".join(without)), 1000)

    def outcome(self, program, prelude, script, env=None):
        arguments = (LUACHECK, SOURCES) if script == LUACHECK else (script,)
        result = self.run_program(program, "-e", prelude, *arguments, env=env)
        return result.returncode, *(re.sub(r"0x[0-9a-f]+|lua5.4|\S*/lua-host-sessions", "", text)
                                    for text in (result.stdout, result.stderr))

    def check_storm(self, script, env=None):
        storm = f"sessions.storm('{self.directory}')"
        self.assertEqual(self.outcome("sessions", storm, script, env), self.outcome("lua", "_=1", script, env))
        traces = [name for name in os.listdir(self.directory) if name.endswith(".nettrace")]
        self.assertTrue(traces)
        for name in traces:
            self.stat(self.path(name), lossless=False)

    def test_storm(self):
        # Not hooks.lua: a script's hook for counts starts anew when the instruments change.
        for name in ("coroutines.lua", "errors.lua", "loading.lua", "misc.lua"):
            with self.subTest(name):
                self.check_storm(os.path.join(HERE, "plain", name))

    @unittest.skipUnless(os.path.exists(LUACHECK) and os.path.isdir(SOURCES), "needs lua-check and lua-penlight")
    def test_storm_over_luacheck(self):
        self.check_storm(LUACHECK, PATHS)
