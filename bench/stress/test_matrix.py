"""matrix.py, plot.py, compare.py and long.py on runs of a program that obeys a formula."""
import json
import os
import re
import subprocess
import unittest
import xml.etree.ElementTree as ElementTree

from bench.stress import compare, fake_program, matrix, plot, runs
from bench.stress.test_runs import Folder

SVG = "{http://www.w3.org/2000/svg}"


def brim_runs(repetitions=7):
    """The runs of plan "brim"."""
    for groups in matrix.plan_brim(("fast", "cost:30")):
        for cell in (cell for cells in groups for cell in cells):
            mode, _, wake = cell.strategy.lower().replace("_", "-").partition("/")
            for seed in range(1, repetitions + 1):
                yield fake_program.run(mode, wake or None, cell.producers, cell.sink, cell.segment_kib, cell.pinned, seed)


class Plans(unittest.TestCase):
    def test_brim(self):
        free, pinned = matrix.plan_brim(("fast", "cost:9"))
        self.assertEqual((sum(map(len, free)), sum(map(len, pinned))), (56, 30))
        self.assertEqual({cell.producers for cells in free for cell in cells}, {1, 2, 4, 8, 16, 32, 64})
        self.assertEqual({cell.strategy for cells in pinned for cell in cells}, set(runs.STRATEGIES[1:]))

    def test_segments(self):
        cells = [cell for group in matrix.plan_segments(("fast", "cost:9"))[0] for cell in group]
        self.assertEqual(len(cells), 5 * 5 * 2 * 2 * 3)
        self.assertEqual(len(set(cells)), len(cells))

    def test_order_takes_turns(self):
        groups = matrix.plan_brim(("fast",))[0]
        first = []
        for repetition in range(4):
            cells = list(matrix.order(groups, repetition, 1))
            self.assertEqual(sorted(cells), sorted(cell for group in groups for cell in group))
            self.assertEqual(cells, list(matrix.order(groups, repetition, 1)))
            first.append(cells[0].strategy)
        self.assertEqual(set(first), set(runs.STRATEGIES))

    def test_fit(self):
        free, more = matrix.plan_brim(("fast", "cost:9"))
        self.assertEqual(matrix.fit(free, more, 600, 7, 0.3), (free + more, 7))
        self.assertEqual(matrix.fit(free, more, 300, 7, 0.3), (free, 7))
        self.assertEqual(matrix.fit(free, more, 60, 7, 0.3), (free, 1))
        self.assertEqual(matrix.fit(free, more, 1, 7, 0.3), (free, 1))

    def test_time_is_shared_out(self):
        now = [0.0]
        budget = matrix.Budget(100, clock=lambda: now[0])
        for left in range(100, 0, -1):
            seconds = budget.run_seconds(left)
            now[0] += seconds + 0.4
            budget.tell(0.4)
        self.assertLess(abs(now[0] - 100), 3)
        now[0] = 1000
        self.assertEqual(budget.run_seconds(1), matrix.RUN_SECONDS_MIN)


class Matrix(Folder):
    def test_brim(self):
        out = self.folder / "out.ndjson"
        self.command("matrix", self.program, out, "--seconds", "2")
        found = runs.load(out)
        self.assertEqual(len(found), 56)
        sinks = {run["sink"] for run in found}
        self.assertEqual(len(sinks), 2)
        slow = next(run for run in found if run["sink"] != "fast")
        self.assertLessEqual(slow["drain_ceiling_events_per_s"], 0.8 * slow["producer_ceiling_events_per_s"])
        conditions = json.loads((self.folder / "out.ndjson.conditions.json").read_text(encoding="utf-8"))
        self.assertEqual((conditions["plan"], conditions["beside"]), ("brim", False))
        self.assertGreaterEqual(conditions["others_processors"], 0)

    def test_what_is_our_own_is_not_others(self):
        others = runs.Others()
        others.busy, others.own, others.started = others.busy - 10, others.own - 4, others.started - 2
        self.assertAlmostEqual(others.processors(), 3, delta=0.5)

    def test_grants_have_the_segment_of_the_default(self):
        out = self.folder / "out.ndjson"
        self.command("matrix", self.program, out, "--plan", "grants", "--seconds", "2", "--repetitions", "2")
        found = runs.load(out)
        self.assertEqual({(run.strategy, run["segment_bytes"]) for run in found},
                         {(runs.DEFAULT, 32768), *((name, 65536) for name in runs.OTHERS)})
        self.assertEqual({run["producers"] for run in found}, {8, 32})
        report = compare.report_of(found, any_segment=True)
        self.assertEqual([len(cell["strategies"]) for cell in report["cells"]], [len(runs.BLOCKING)] * 2)

    def test_a_bad_run_ends_it(self):
        for fake in ("lossy", "miscounts", "fails"):
            with self.subTest(fake=fake):
                done = self.command("matrix", self.program, self.folder / "out", "--seconds", "2", code=1, fake=fake)
                self.assertIn("--mode", done.stderr)

    def test_usage(self):
        out = self.folder / "out"
        for options in ([], [self.program], [self.program, out, "--seconds", "0"], [self.program, out, "--plan", "y"],
                        [self.program, out, "--seed", "-1"], [self.program, out, "--repetitions", "0"]):
            self.command("matrix", *options, code=2)
        self.command("matrix", self.program, self.folder / "no/such", "--seconds", "1", code=1)

    def test_eaters_end(self):
        started = []
        popen = subprocess.Popen
        subprocess.Popen = lambda *arguments, **more: started.append(popen(*arguments, **more)) or started[-1]
        self.addCleanup(setattr, subprocess, "Popen", popen)
        with self.assertRaises(KeyError), matrix.load_beside(2):
            self.assertEqual([eater.poll() for eater in started], [None, None])
            raise KeyError
        self.assertTrue(all(eater.poll() is not None for eater in started))

    def test_long(self):
        out = self.folder / "long.ndjson"
        done = self.command("long", self.program, out)
        self.assertEqual(done.stdout.count("verified"), len(runs.load(out)))
        self.command("long", self.program, out, fake="unverified", code=1)
        self.command("long", self.program, out, "--only", "all", code=2)


class Plot(Folder):
    def draw(self, found, *options):
        path = self.folder / "brim.svg"
        self.command("plot", self.write(*found), path, *options)
        root = ElementTree.parse(path).getroot()
        self.assertEqual(root.tag, f"{SVG}svg")
        return root, [element.text for element in root.iter(f"{SVG}text")]

    def test_labels(self):
        _, texts = self.draw(brim_runs(2))
        for label in ("DROP", *(f"{name} {part}" for name in runs.WAKES for part in ("p50", "p99"))):
            self.assertEqual(texts.count(label), 2, label)  # once for each sink
        self.assertEqual(sum("nothing lost" in text for text in texts), 2)
        footer = " ".join(texts[-3:])
        for part in ("A < B & C", "6.1.0", "0123abc", "1 MiB", "32 KiB", "32 bytes", "not pinned", "2 runs", "RELAY 64"):
            self.assertIn(part, footer)
        self.assertIn("64", texts)

    def test_everything_is_on_the_page(self):
        root, _ = self.draw(brim_runs(1))
        _, _, width, height = map(float, root.get("viewBox").split())
        for element in root.iter(f"{SVG}text"):
            x, y = map(float, re.match(r"translate\((\S+) (\S+)\)|.*", element.get("transform", "")).groups(default="1"))
            self.assertTrue(0 <= x <= width - 10 and 0 <= y <= height, element.text)

    def test_labels_do_not_overlap(self):
        for places in ([5, 5, 5], [0, 1, 100], [50, 49, 48, 47], [99, 99], []):
            moved = sorted(plot.spread_out(places, 10, 0, 100))
            self.assertTrue(all(b - a > 9.99 for a, b in zip(moved, moved[1:])), moved)
            self.assertTrue(all(-0.01 <= place <= 100.01 for place in moved), moved)
        self.assertEqual(plot.spread_out([10, 80], 10, 0, 100), [10, 80])

    def test_gaps(self):
        waits = fake_program.run()["park_ns"]
        nothing = dict.fromkeys(waits) | {"count": 0}
        found = [fake_program.run(threads=p, park_ns=nothing if p == 4 else waits | {"p99": None}) for p in (1, 2, 4, 8, 16)]
        _, texts = self.draw(found)
        self.assertIn("RELAY p50", texts)
        self.assertNotIn("RELAY p99", texts)

    def test_a_busy_machine_is_told(self):
        conditions = self.folder / "runs.ndjson.conditions.json"
        for told, is_told in (('{"others_processors": 1.26}', True), ('{"others_processors": 0.05}', False), ("{", False), ("[]", False)):
            conditions.write_text(told, encoding="utf-8")
            texts = self.draw([fake_program.run()])[1]
            self.assertEqual(any("other programs used 1.3 processors" in text for text in texts), is_told, told)
            compared = self.command("compare", self.folder / "runs.ndjson").stdout
            self.assertEqual("other programs used 1.3 processors" in compared, is_told, told)

    def test_little(self):
        self.draw([fake_program.run(mode="drop", threads=1)])
        self.draw([fake_program.run(threads=1, park_ns=None)])
        self.draw([fake_program.run(pin=True)], "--pinned")
        lossy = fake_program.run(emitted=4, written=1, lost={"ABORTED": 3})
        self.assertIn("RELAY", self.draw([lossy])[1])

    def test_failures(self):
        out = self.folder / "x.svg"
        self.assertIn("no run", self.command("plot", self.write(), out, code=1).stderr)
        self.assertIn("ndjson:2", self.command("plot", self.write(fake_program.run(), "{]"), out, code=1).stderr)
        self.command("plot", self.folder / "none", out, code=1)
        self.command("plot", self.write(fake_program.run()), out, "--pinned", code=1)
        self.command("plot", self.write(fake_program.run()), self.folder / "no/such.svg", code=1)
        self.command("plot", code=2)
        self.assertEqual(os.listdir(self.folder).count("x.svg"), 0)


class Compare(Folder):
    def report(self, found):
        return compare.report_of([runs.Run(run) for run in found])

    def test_ratios(self):
        report = self.report(brim_runs())
        self.assertEqual((len(report["cells"]), report["pairs_min"]), (24, 7))
        for cell in report["cells"]:
            for name, share in zip(runs.OTHERS, (0.8, 0.7)):
                found = cell["ratios"][name]
                self.assertAlmostEqual(found["median"], 0.95 / share)
                self.assertTrue(found["low"] <= found["median"] <= found["high"])
                self.assertFalse(found["below"])
        met = {bar["bar"].split(",")[0]: bar["met"] for bar in report["bars"]}
        self.assertTrue(met["harness"])
        self.assertFalse(any(bar["met"] is False for bar in report["bars"] if "bound" not in bar["bar"]), report["bars"])

    def test_a_cell_below_is_marked(self):
        found = list(brim_runs())
        for run in found:
            if run["wake"] == "relay" and run["producers"] == 32 and not run["pin"]:
                run["events_per_s"] /= 2
        cells = self.report(found)["cells"]
        below = [(cell["producers"], cell["pinned"]) for cell in cells for one in cell["ratios"].values() if one["below"]]
        self.assertEqual(below, [(32, False)] * 4)
        text = self.command("compare", self.write(*found), "--json", self.folder / "compared.json").stdout
        self.assertIn("<0.", text)
        self.assertIn("MISSED", text)
        self.assertEqual(len(json.loads((self.folder / "compared.json").read_text())["cells"]), 24)

    def test_interval(self):
        self.assertEqual(compare.interval([2.0] * 7), (2.0, 2.0))
        low, high = compare.interval([1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6])
        self.assertTrue(1.0 <= low <= 1.2 and 1.4 <= high <= 1.6)
        self.assertEqual(compare.interval([1.0, 3.0, 2.0]), compare.interval([1.0, 3.0, 2.0]))

    def test_only_pairs_count(self):
        relay = [fake_program.run(seed=seed) for seed in (1, 2, 3)]
        fifo = [fake_program.run(wake="fifo", seed=seed) for seed in (2, 3, 4)]
        ratios = self.report(relay + fifo)["cells"][0]["ratios"]
        self.assertEqual(list(ratios), [runs.OTHERS[0]])
        self.assertEqual(ratios[runs.OTHERS[0]]["pairs"], 2)
        self.assertIsNone(compare.ratio([runs.Run(relay[0])], [runs.Run(fifo[0])]))

    def test_what_is_not_there_is_not_judged(self):
        nothing = {"park_ns": None, "bound_events_per_s": None, "jain": None, "drain_ceiling_events_per_s": None, "grant_bytes": None,
                   "cpu_ns_per_event": None, "wakes_per_segment": None, "park_law_ns": None}
        found = [fake_program.run(wake=wake, pin=True, **nothing) for wake in ("relay", "fifo")]
        judged = {bar["bar"]: bar["met"] for bar in self.report(found)["bars"]}
        self.assertEqual(sum(met is None for met in judged.values()), 7)
        self.assertIn("no data", self.command("compare", self.write(*found)).stdout)

    def test_failures(self):
        self.assertIn("no run of BLOCK/RELAY", self.command("compare", self.write(fake_program.run(mode="drop")), code=1).stderr)
        self.assertIn("no run", self.command("compare", self.write(), code=1).stderr)
        self.assertIn("ndjson:1", self.command("compare", self.write("no"), code=1).stderr)
        two = self.write(fake_program.run(), fake_program.run(commit="other"))
        self.assertIn("different machines", self.command("compare", two, code=1).stderr)
        self.command("compare", self.write(fake_program.run()), "--json", self.folder / "no/such", code=1)
        self.command("compare", code=2)


if __name__ == "__main__":
    unittest.main()
