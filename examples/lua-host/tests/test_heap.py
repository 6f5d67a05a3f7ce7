"""Snapshots of the heap: `weir heap collect` from a running script, against what the script has built."""
import collections
import contextlib
import json
import os
import signal
import subprocess
import time

from support import HERE, Case, environment, programs

COUNT = 2000  # of each shape of two_million.lua


class Heap(Case):
    def start(self, *arguments):
        process = subprocess.Popen([programs["host"], "--diagnostics", *arguments], stdout=subprocess.PIPE, text=True, cwd=self.directory,
                                   env={**environment(), "TMPDIR": self.directory})
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def collect(self, process, *options):
        result = self.run_program("weir", "heap", "collect", "--json", "--budget", "1", *options, "-p", str(process.pid), "-o", "h.nettrace",
                                  env={"TMPDIR": self.directory})
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertTrue(json.loads(result.stdout)["complete"])

    def graph(self, *arguments, options=(), part=("export", "--to", "json")):
        """What a part of weir heap says of a script."""
        process = self.start(*arguments)
        self.collect(process, *options)
        process.kill()
        return json.loads(self.run_program("weir", "heap", *part, "h.nettrace").stdout)

    def script(self, text, **how):
        """The graph of a script, when it has said that it is ready. The call before that overwrites what registers still hold."""
        return self.graph("-e", text + " select('#'" + ", 0" * 100 + ") print('ready') io.stdout:flush() local stop = os.time() + 60 while os.time() < stop do end",
                          **how)

    @staticmethod
    def counts(graph):
        """Objects by type, and edges by the types of their ends."""
        names = [graph["types"][o["type"]]["name"].split(":")[0] for o in graph["objects"]]
        edges = collections.Counter((names[i], names[to]) for i, o in enumerate(graph["objects"]) for to in o["edges"])
        return collections.Counter(names), edges

    @staticmethod
    def of_type(graph, name):
        return [i for i, o in enumerate(graph["objects"]) if graph["types"][o["type"]]["name"] == name]

    def test_two_million(self):
        """Fewer of them, less a script that makes none: each object and each edge."""
        (some, some_edges), (none, no_edges) = (
            self.counts(self.graph(os.path.join(HERE, "two_million.lua"), str(count), "60")) for count in (COUNT, 0))
        some.subtract(none)
        some_edges.subtract(no_edges)
        # What registers still hold is kept, as Lua's collector keeps it.
        some_edges = {ends: count for ends, count in some_edges.items() if ends[0] != "coroutine"}
        self.assertEqual({k: v for k, v in some.items() if v},
                         {"Pair": COUNT, "Leaf": COUNT, "List": COUNT, "table": COUNT, "string": 3})
        self.assertEqual({k: v for k, v in some_edges.items() if v}, {
            ("Pair", "table"): COUNT, ("Pair", "string"): 2 * COUNT - 1, ("Pair", "Pair"): COUNT - 1, ("Pair", "Leaf"): COUNT,
            ("Leaf", "table"): COUNT, ("List", "table"): COUNT, ("List", "Pair"): COUNT, ("List", "Leaf"): COUNT, ("List", "List"): COUNT,
            ("table", "string"): COUNT, ("table", "List"): 2 * COUNT, ("table", "Pair"): COUNT, ("table", "Leaf"): COUNT,
            ("table", "table"): COUNT})

    def test_shapes(self):
        graph = self.script("""
            Kept, Key, Value = {__name = 'Kept'}, {__name = 'Key'}, {__name = 'Value'}
            local shared = setmetatable({}, Kept)
            a, b = function() return shared end, function() return shared end
            key = setmetatable({}, Key)
            ephemeral = setmetatable({[key] = setmetatable({}, Value)}, {__mode = 'k'})
            loose = setmetatable({key, setmetatable({}, {__name = 'Garbage'})}, {__mode = 'v', __name = 'Loose'})
            waiting = coroutine.create(function(...)
                local held = setmetatable({...}, {__name = 'Held'})
                coroutine.yield()
                return held
            end)
            coroutine.resume(waiting, 1, 2)
            fresh = coroutine.create(function(x) return x end)
            debug.getregistry().cycle = {registry = debug.getregistry()}
            Account = {} Account.__index = Account
            account = setmetatable({}, Account)
            """)
        kept, = self.of_type(graph, "Kept")
        upvalue, = [i for i in self.of_type(graph, "upvalue") if kept in graph["objects"][i]["edges"]]
        self.assertEqual(sum(o["edges"].count(upvalue) for o in graph["objects"]), 2)
        key, = self.of_type(graph, "Key")
        value, = self.of_type(graph, "Value")
        self.assertIn({"key": key, "value": value}, graph["weak"])
        self.assertFalse(any(value in o["edges"] for o in graph["objects"]))
        loose, = self.of_type(graph, "Loose")
        self.assertNotIn(key, graph["objects"][loose]["edges"])
        self.assertEqual(self.of_type(graph, "Garbage"), [])
        coroutines = self.of_type(graph, "coroutine")
        self.assertGreaterEqual(len(coroutines), 3)
        held, = self.of_type(graph, "Held")
        self.assertTrue(any(held in graph["objects"][c]["edges"] for c in coroutines))
        self.assertEqual(len(self.of_type(graph, "Account")), 1)
        self.assertEqual(len(self.of_type(graph, "FILE*")), 3)
        self.assertLessEqual({"registry", "_G"}, {root["name"] for root in graph["roots"]})

    def test_duplicate_strings(self):
        """Lua has one of each string of up to 40 bytes, and a long one for each time that it is made."""
        report = self.script("""
            kept = {}
            for i = 1, 5 do kept[#kept + 1] = ('Five'):rep(50) end
            for i = 1, 3 do kept[#kept + 1] = ('Nul\\0'):rep(11) end
            for i = 1, 9 do kept[#kept + 1] = ('Five'):rep(50) .. i end
            for i = 1, 4 do kept[#kept + 1] = ('Short'):rep(8) end
            """, options=["--strings"], part=["report", "--strings", "--json"])
        found = {text["text"]: text for text in report["texts"] if text["text"][:4] in ("Five", "Shor", "Nul\ufffd")}
        self.assertEqual({text: [found[text][name] for name in ("copies", "length", "cut", "type")] for text in found},
                         {"Five" * 16: [5, 200, True, "string"], "Nul\ufffd" * 11: [3, 44, False, "string"]})
        self.assertTrue(all(text["wasted"] == (text["copies"] - 1) * text["bytes"] and text["bytes"] > text["length"] for text in found.values()))
        self.assertGreater(report["strings"], 5 + 3 + 9 + 1)

    def collect_and_kill(self):
        """Kills the host when a part of its heap has arrived. The exit code of weir."""
        process = self.start(os.path.join(HERE, "two_million.lua"), "100000", "60")
        collect = subprocess.Popen([programs["weir"], "heap", "collect", "--budget", "1", "-p", str(process.pid), "-o", self.path("h.nettrace")],
                                   stderr=subprocess.PIPE, env={**environment(), "TMPDIR": self.directory})
        while not os.path.exists(self.path("h.nettrace")) or os.path.getsize(self.path("h.nettrace")) < 1 << 20:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        collect.communicate(timeout=60)
        return collect.returncode

    def test_killed_in_the_walk(self):
        code = 0
        while code == 0:  # the walk was over before this program had its turn
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path("h.nettrace"))
            code = self.collect_and_kill()
        report = self.run_program("weir", "heap", "report", "--json", "h.nettrace")
        self.assertEqual((code, report.returncode), (4, 4), report.stderr)
        self.assertFalse(json.loads(report.stdout)["complete"])
