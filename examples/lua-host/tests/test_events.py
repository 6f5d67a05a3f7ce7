"""One test per event: a script's own counts against its trace."""
import collections
import json
import os

from support import HERE, Case


def named(events, name):
    return [fields for event, fields in events if event == name]


class Calls(Case):
    def test_counts_by_function(self):
        expected, events, rundown = self.trace_script("calls.lua", "Lua:0x1")
        functions = named(events, "Function")
        self.assertEqual(functions, named(rundown, "Function"), "the rundown reports all again")
        names = {f["FunctionId"]: f["Name"] for f in functions}
        self.assertEqual(len(names), len(functions), "each number is given once")
        script = os.path.join(HERE, "events", "calls.lua")
        lines = {f["FunctionId"]: f["Line"] for f in functions if f["File"] == script}
        counted = collections.defaultdict(lambda: [0, 0, 0])
        for name, fields in events:
            if name in ("Call", "TailCall", "Return"):
                at = ("Call", "TailCall", "Return").index(name)
                function = fields["FunctionId"]
                for key in (names[function], f"line {lines.get(function)}"):
                    counted[key][at] += 1
        for name, counts in expected.items():
            self.assertEqual(counted[name], counts, name)

    def test_functions_are_described(self):
        _, events, _ = self.trace_script("calls.lua", "Lua:0x1")
        script = os.path.join(HERE, "events", "calls.lua")
        with open(script, encoding="utf-8") as file:
            lines = file.read().splitlines()
        described = {(f["Name"], f["Kind"], f["File"], f["Line"]) for f in named(events, "Function")}
        for function in (
            ("main chunk", "main", script, 0),
            ("plain", "Lua", script, lines.index("local function plain(x)") + 1),
            ("method", "Lua", script, lines.index("function object:method()") + 1),
            ("string.upper", "C", "[C]", -1),
            ("pcall", "C", "[C]", -1),
        ):
            self.assertTrue(function in described, function)
        for name in ("short", "long"):
            files = {d[2] for d in described if d[0] == name}
            self.assertEqual(len(files), 200, "each chunk's function has its own number")

    def test_calls_nest_per_coroutine(self):
        _, events, _ = self.trace_script("calls.lua", "Lua:0x1")
        stacks = collections.defaultdict(list)
        for name, fields in events:
            stack = stacks[fields.get("Coroutine")]
            if name == "Call":
                stack.append(fields["FunctionId"])
            elif name == "TailCall":
                stack[-1] = fields["FunctionId"]
            elif name == "Return":
                while stack and stack[-1] != fields["FunctionId"]:
                    stack.pop()  # unwound by an error
                if not stack:
                    break  # the host's own frame, entered before the hook was set
                stack.pop()
        self.assertTrue(all(not stack for stack in stacks.values()), stacks)

    def test_level_4_has_no_calls(self):
        _, events, _ = self.trace_script("calls.lua", "Lua:0x1:4")
        self.assertEqual(events, [])


class Allocation(Case):
    def test_every_block_is_accounted_for(self):
        _, events, _ = self.trace_script("allocation.lua", "Lua:0x2")
        live = {}
        unknown = 0
        for name, fields in events:
            if name == "Alloc":
                self.assertEqual(fields["OldAddress"] == 0, fields["OldBytes"] == 0)
                if fields["OldAddress"] != 0:
                    unknown += fields["OldAddress"] not in live
                    old = live.pop(fields["OldAddress"], fields["OldBytes"])
                    self.assertEqual(old, fields["OldBytes"])
                self.assertNotIn(fields["Address"], live)
                live[fields["Address"]] = fields["Bytes"]
            elif name == "Free":
                unknown += fields["Address"] not in live
                self.assertEqual(live.pop(fields["Address"], fields["Bytes"]), fields["Bytes"])
        self.assertEqual(live, {}, "lua_close() frees everything")
        self.assertLess(unknown, 100, "only the bare state is older than the hook")

    def test_types(self):
        expected, events, _ = self.trace_script("allocation.lua", "Lua:0x2")
        objects = [(f["Type"], f["Bytes"]) for f in named(events, "Alloc")]
        first = next(i for i, o in enumerate(objects)
                     if o[0] == 4 and expected["opening"] <= o[1] < expected["opening"] + 100)
        last = next(i for i, o in enumerate(objects)
                    if o[0] == 4 and expected["closing"] <= o[1] < expected["closing"] + 100)
        counted = collections.Counter(str(kind) for kind, _ in objects[first + 1:last])
        for kind in ("5", "6", "8"):
            self.assertEqual(counted[kind], expected[kind], kind)
        self.assertGreaterEqual(counted["4"], expected["strings"])
        self.assertLessEqual(set(counted), {"4", "5", "6", "7", "8", "255"})


class Collections(Case):
    def test_cycles(self):
        expected, events, _ = self.trace_script("collections.lua", "Lua:0x14")
        all_cycles = named(events, "GCCycle")
        self.assertEqual([f["Count"] for f in all_cycles], list(range(1, len(all_cycles) + 1)))
        marks = [i for i, (name, f) in enumerate(events)
                 if name == "ChunkLoad" and f["Name"] in ("begin", "end")]
        cycles = named(events[marks[0]:marks[1]], "GCCycle")
        self.assertEqual(len(cycles), expected["cycles"])
        self.assertGreater(len(cycles), 10, "more than the script forced")
        for cycle in cycles:
            self.assertTrue(10_000 < cycle["HeapBytes"] < 50_000_000, cycle)


class Errors(Case):
    def test_caught_once(self):
        expected, events, _ = self.trace_script("errors.lua", "Lua:0x8", status=1)
        script = os.path.join(HERE, "events", "errors.lua")
        found = [[f["Message"].replace(script, "SCRIPT"), f["Kind"]] for f in named(events, "Error")]
        self.assertEqual(found, expected)

    def test_uncaught_syntax_error(self):
        script = self.write("bad.lua", "not Lua")
        trace = self.path("t.nettrace")
        self.assertEqual(self.host("--trace", trace, "--providers", "Lua:0x18", script).returncode, 1)
        events, _ = self.events(trace)
        self.assertEqual(events[0], ("ChunkLoad", {"Name": script, "Bytes": 7, "Ok": False}))
        self.assertEqual([fields["Kind"] for fields in named(events, "Error")], ["syntax"])

    def stacks(self, providers, *arguments):
        """Of each Error, the script's frames as (name, line); and the output."""
        trace = self.path("t.nettrace")
        result = self.host("--trace", trace, "--providers", providers, *arguments)
        self.assertEqual(result.returncode, 1)
        self.stat(trace)
        events = self.dump(trace, "--sorted", "--stacks", "--provider", "Lua")
        functions = {e["fields"]["FunctionId"]: e["fields"] for e in events if e["name"] == "Function"}
        stacks = [[(functions[a >> 32], a & 0xffffffff) for a in e["stack"]] for e in events if e["name"] == "Error"]
        return [[(f["Name"], line) for f, line in stack if f["Kind"] != "C"] for stack in stacks], result.stdout

    def test_stacks(self):
        """Also while calls have numbers of their own, which then are those in the stacks."""
        for providers in ("Lua:0x8", "Lua:0x9"):
            stacks, output = self.stacks(providers, os.path.join(HERE, "events", "stacks.lua"))
            self.assertEqual([[line for _, line in stack] for stack in stacks], json.loads(output))

    def test_stack_of_an_uncaught_error(self):
        stacks, _ = self.stacks("Lua:0x8", "-e", "local function f()\n error('x') end\n local function g() f() end\n\n g()")
        self.assertEqual(stacks, [[("f", 2), ("g", 3), ("main chunk", 5)]])

    def test_activity(self):
        """That of the coroutine which an error ends."""
        trace = self.path("t.nettrace")
        self.host("--trace", trace, "--providers", "Lua:0x28", "-e", "coroutine.resume(coroutine.create(error)) pcall(error)")
        self.assertEqual([e.get("activityPath") for e in self.dump(trace) if e["name"] == "Error"], ["//1/1", None])


class Loader(Case):
    def test_chunks(self):
        expected, events, _ = self.trace_script("loader.lua", "Lua:0x10")
        found = [[f["Name"], f["Bytes"], f["Ok"]] for f in named(events, "ChunkLoad")]
        script = os.path.join(HERE, "events", "loader.lua")
        self.assertEqual(found[0], [script, os.path.getsize(script), True])
        self.assertEqual(found[1:], expected)

    def test_command_line(self):
        trace = self.path("t.nettrace")
        result = self.host("--trace", trace, "--providers", "Lua:0x10", "-e", "x = 1", "-",
                           stdin="return 1", env={"LUA_INIT": "y = 2"})
        self.assertEqual(result.returncode, 0)
        events, _ = self.events(trace)
        self.assertEqual([tuple(f.values()) for f in named(events, "ChunkLoad")],
                         [("LUA_INIT", 5, True), ("(command line)", 5, True),
                          ("stdin", 0, True)])


class Coroutines(Case):
    def test_switches(self):
        expected, events, _ = self.trace_script("coroutines.lua", "Lua:0x20")
        numbers = {}
        found = []
        for name, fields in events:
            if name == "CoroutineCreate":
                numbers[fields["Coroutine"]] = len([f for f in found if f[0] == "create"]) + 1
                found.append(["create", numbers[fields["Coroutine"]], None, None])
            else:  # a coroutine without CoroutineCreate is the main one
                other = numbers.get(fields.get("From", fields.get("To")), 0)
                found.append([name[len("Coroutine"):].lower(), numbers[fields["Coroutine"]], other,
                              fields.get("Finished")])
        self.assertEqual(found, expected)

    def marks(self, providers):
        """(activity's path, the one that is right) for each chunk that events/activities.lua loads; all events."""
        trace = self.path("t.nettrace")
        result = self.host("--trace", trace, "--providers", providers, os.path.join(HERE, "events", "activities.lua"))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        events = self.dump(trace, "--sorted", "--provider", "Lua")
        marks = [(e.get("activityPath", "-"), e["fields"]["Name"]) for e in events if e["name"] == "ChunkLoad"][1:]
        self.assertEqual(len(marks), int(result.stdout))
        return marks, events

    def test_activities(self):
        marks, events = self.marks("Lua:0x32")
        self.assertEqual([path for path, _ in marks], [name for _, name in marks])
        paths = collections.defaultdict(set)  # of a coroutine; an address is used again after a collection
        for event in events:
            if event["name"] == "CoroutineCreate":
                paths[event["fields"]["Coroutine"]] = {event["activityPath"]}
            elif event["name"] in ("CoroutineResume", "CoroutineYield"):
                paths[event["fields"]["Coroutine"]].add(event["activityPath"])
                self.assertEqual(len(paths[event["fields"]["Coroutine"]]), 1, event)

    def test_no_activities(self):
        """Without keyword 0x20."""
        self.assertEqual({path for path, _ in self.marks("Lua:0x12")[0]}, {"-"})


class Names(Case):
    def test_threads(self):
        trace = self.path("t.nettrace")
        self.host("--trace", trace, "-e", "pcall(error)")
        threads = {t["name"] for t in self.stat(trace)["threads"]}
        self.assertIn("Lua", threads)


class Keywords(Case):
    def test_only_what_was_asked_for(self):
        of_keyword = {
            0x1: {"Attach", "Frame", "Call", "Return", "TailCall", "Function"},
            0x2: {"Attach", "Alloc", "Free"},
            0x4: {"Attach", "GCCycle"},
            0x8: {"Error", "Function"},
            0x10: {"ChunkLoad"},
            0x20: {"CoroutineCreate", "CoroutineResume", "CoroutineYield"},
        }
        script = self.write("all.lua", """
            pcall(error, "x")
            coroutine.wrap(function() end)()
            collectgarbage()
            return (function() return tostring(1) end)()
        """)
        for keyword, names in of_keyword.items():
            trace = self.path("k.nettrace")
            result = self.host("--trace", trace, "--providers", f"Lua:{keyword:#x}", script)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            events, rundown = self.events(trace)
            self.assertEqual({name for name, _ in events + rundown}, names)
