"""convert.py, entries.py and the command record: from what the programs print to points and entries."""
import contextlib
import io
import json
import os
import unittest
import unittest.mock

from bench.judge import cmd_record, convert, entries, metrics, points, samples, series
from bench.judge.samples import aggregate, bench_report, repetition


def figures(source):
    return {(point["bench"], point["metric"]): (point["value"], point["lo"], point["hi"], point["n"])
            for point in source.points}


class WeirBench(samples.Machine):
    def read(self, *rows, **changes):
        return convert.read(self.write("quick.json", bench_report(*rows, **changes)))

    def test_repetitions_are_one_point(self):
        name = "emit/enabled/payload:32/iterations:1/manual_time/threads:2"
        source = self.read(*(repetition(name, time, park_p50_ns=time * 2) for time in (12, 9, 10)),
                           aggregate(name, "mean", 10.3), aggregate(name, "median", 10.1))
        self.assertEqual(figures(source), {("emit/enabled/payload:32/threads:2", "ns_per_event"): (10, 9, 12, 3),
                                           ("emit/enabled/payload:32/threads:2", "park_p50_ns"): (20, 18, 24, 3)})
        first = source.points[0]
        self.assertEqual((first["suite"], first["commit"], first["date"], first["cal_ns"], first["unit"],
                          first["better"]),
                         ("emit", "91d52fe", "2026-11-21T13:29:00Z", 1.93, "ns", "less"))
        self.assertEqual((first["kernel"], first["load"], first["tool"]),
                         ("Linux 6.1.0 x86_64", "3.95 3.51 3.07 3/79 23266", "weir-bench, Google Benchmark 1.7.1"))
        self.assertEqual((first["clock_source"], first["governor"]), ("tsc", "unknown"))
        self.assertEqual(source.environment["calibration_ns"], 1.93)

    def test_units_counters_and_ratios(self):
        source = self.read({**repetition("stop/parked", 1.5), "time_unit": "ms"},
                           repetition("brim/block", 20, jain=0.99, other=7),
                           repetition("ratio/enabled", 10, ratio=1.02, measured_ns=10),
                           repetition("ratio/enabled", 10, ratio=1.0), repetition("ratio/enabled", 10, ratio=1.1))
        self.assertEqual(figures(source), {("stop/parked", "ns_per_event"): (1.5e6, None, None, 1),
                                           ("brim/block", "ns_per_event"): (20, None, None, 1),
                                           ("brim/block", "jain"): (0.99, None, None, 1),
                                           ("ratio/enabled", "ratio"): (1.02, 1.0, 1.1, 3)})
        for point in source.points:
            self.assertEqual((point["unit"], point["better"]), tuple(metrics.TABLE[point["metric"]]))

    def test_a_point_for_each_state(self):
        """The fastest step of the report is the measure; what changed meanwhile is not kept."""
        own, shared, mixed = (samples.reading(*steps, trip=None) for steps in ((1.2, 1.3), (1.9,), (1.9, 1.2)))
        source = self.read(*(repetition("emit/x/threads:1", time, **row)
                             for time, row in ((10, own), (14, shared), (11, own), (12, mixed))),
                           repetition("floor/32", 9, **own))
        found = {(point["bench"], point["state"]): (point["value"], point["n"]) for point in source.points}
        self.assertEqual(found, {("emit/x/threads:1", "own core"): (10.5, 2), ("emit/x/threads:1", "shared core"): (14, 1),
                                 ("emit/x/threads:1", "mixed"): (12, 1), ("floor/32", "own core"): (9, 1)})
        self.assertEqual([point["state"] for point in convert.for_history(source.points)],
                         ["own core", "shared core", "own core"])
        self.assertEqual({series.key_of(point)[1] for point in source.points},
                         {"emit/x/threads:1, own core", "emit/x/threads:1, shared core", "emit/x/threads:1, mixed",
                          "floor/32, own core"})
        self.assertIn("| `emit/x/threads:1`, shared core | 14 ns | 1 |", "\n".join(entries.suite_tables(source.points)))

    def test_failed_ones_are_told(self):
        source = self.read({**repetition("peer/lttng", 0), "error_occurred": True,
                            "error_message": "no lttng-sessiond"},
                           repetition("floor/32", 10))
        self.assertEqual(source.skipped, [("peer/lttng", "no lttng-sessiond")])
        self.assertEqual(len(source.points), 1)

    def test_commits(self):
        for said, expected in (("91d52fe", "91d52fe"), ("v0.1-3-g91d52fe", "91d52fe"),
                               ("91d52fe-dirty", "91d52fe-dirty"),
                               ("v0.1", "unknown"), (None, "unknown"), (7, "unknown")):
            self.assertEqual(self.read(repetition("floor/32", 1), commit=said).commit, expected)

    def refused(self, reason, content):
        with self.assertRaisesRegex(points.Invalid, reason):
            convert.read(self.write("a.json", content))

    def test_refusals(self):
        for content in ("", "{", "[" * 100000):
            self.refused("a.json: ", content)
        self.refused("not what ./dev bench count --json writes", [])
        self.refused("no time", bench_report({**repetition("a/b", 1), "time_unit": "days"}))
        self.refused("no time", bench_report(repetition("a/b", None)))
        self.refused("bench: ", bench_report(repetition("a/<script>", 1)))
        self.refused("the date", bench_report(repetition("a/b", 1), date="now"))
        self.refused("no time zone", bench_report(repetition("a/b", 1), date="2026-11-21T15:29:00"))
        self.refused("calibration_ns", bench_report(repetition("a/b", 1), calibration_ns="fast"))

    def test_another_machine(self):
        path = self.write("a.json", bench_report(repetition("a/b", 1), cpu="Z80"))
        with self.assertRaisesRegex(points.Invalid, "another machine"):
            convert.read(path)


class Count(samples.Folder):
    def test_figures_are_points(self):
        rows = [{"name": name, "unit": unit, "value": value} for name, unit, value in
                (("emit/dropped/payload:32/instructions", "instructions/event", 31.5),
                 ("bytes/file/payload:32", "bytes/event", 34), ("code/libweir/exports", "names", 21))]
        counts = {"v": 1, "rows": rows, "commit": "91d52fe", "environment": samples.ENVIRONMENT,
                  "date": samples.date(0), "command": "./dev bench count", "tool": "weir-count, callgrind"}
        source = convert.read(self.write("count.json", counts))
        self.assertEqual(figures(source), {("emit/dropped/payload:32", "instructions"): (31.5, None, None, 1),
                                           ("bytes/file/payload:32", "bytes_per_event"): (34, None, None, 1),
                                           ("code/libweir", "exports"): (21, None, None, 1)})
        self.assertEqual([(p["suite"], p["better"], p["cal_ns"]) for p in source.points],
                         [("count", "less", None), ("count", "less", None), ("count", "none", None)])
        for name, value in (("commit", None), ("environment", None), ("rows", []), ("rows", [{}])):
            with self.assertRaisesRegex(points.Invalid, f"not what ./dev bench count --json writes: {name}"):
                convert.read(self.write("count.json", {**counts, name: value}))


class ForHistory(unittest.TestCase):
    def test_once_is_enough(self):
        point = lambda bench, metric, value: samples.point(value, bench=bench, metric=metric)
        found = [point("brim/block/relay", "ns_per_event", 20), point("brim/block/relay", "events_per_s", 50e6),
                 point("brim/block/relay", "loss", 0),
                 point("brim/drop", "loss", 0), point("brim/block/fifo", "loss", 0.1),
                 point("emit/x", "ns_per_event", 20),
                 point("emit/x", "events_per_s", 40e6), point("emit/y", "ns_per_event", 20)]
        self.assertEqual(convert.for_history(found), [found[1], *found[3:]])


class Record(samples.Machine):
    def setUp(self):
        super().setUp()
        table = f"{entries.INDEX_HEAD}\n|---|---|---|\n| old | [old](old/notes.md) | x |"
        self.write("results/README.md", f"# Results\n\n{table}\n\nEnd.\n")

    def record(self, *arguments, code=0):
        return self.command("record", "--results", self.path("results"), *arguments, code=code)

    def quick(self, name="quick.json", **changes):
        return self.write(name, bench_report(*(repetition("floor/32", time) for time in (10, 11, 12)),
                                             repetition("emit/x", 5, loss=0.5),
                                             **changes))

    def snapshot(self):
        return {os.path.join(folder, name): self.text(folder, name) for folder, _,
                names in os.walk(self.path("results")) for name in names}

    def test_history(self):
        self.record(self.quick())
        self.assertEqual(len(points.read(self.path("results", "history", "emit.ndjson"))), 2)
        self.assertIn("is recorded already", self.record(self.quick(), code=1).stderr)
        self.record(self.quick(date="2026-11-22T15:29:00+00:00"))
        self.assertEqual(len(points.read(self.path("results", "history", "floor.ndjson"))), 2)

    def test_history_keeps_the_newest_and_one_a_month(self):
        with unittest.mock.patch.object(series, "LAST", 3):
            for days in (samples.history(range(5)), samples.history([7.0], bench="emit/other")):
                series.append(days, self.path("history"))
            late = [samples.point(9.0 + n, 800 * (n + 1)) for n in range(4)]  # about a month apart
            series.append(late, self.path("history"))
        found = points.read(self.path("history", "emit.ndjson"))
        self.assertEqual([point["value"] for point in found if point["bench"] != "emit/other"], [4.0, 9.0, 10.0, 11.0, 12.0])
        self.assertEqual(len(found), 6)

    def test_dirty(self):
        before = self.snapshot()
        for commit in ("91d52fe-dirty", "unknown"):
            self.assertIn("nobody can get again", self.record(self.quick(commit=commit), code=1).stderr)
        self.assertEqual(self.snapshot(), before)
        self.record("--allow-dirty", "--name", "dirty", "--command", "x", self.quick(commit="91d52fe-dirty"))
        about = json.loads(self.text("results", "2026-11-21-epyc-f25m17-dirty", "env.json"))
        self.assertEqual((about["commit"], about["dirty_allowed"]), ("91d52fe-dirty", True))

    def test_entry(self):
        quick = self.quick()
        self.record("--name", "idle", "--note", "Costs | on an idle machine", "--command", "./dev bench quick", quick)
        entry = "2026-11-21-epyc-f25m17-idle"
        self.assertEqual(sorted(os.listdir(self.path("results", entry))),
                         ["command.txt", "env.json", "notes.md", "points.ndjson"])
        first = json.loads(self.text("results", entry, "points.ndjson").splitlines()[0])
        self.assertEqual(first, {"bench": "floor/32", "metric": "ns_per_event", "unit": "ns", "better": "less", "value": 11.0,
                                 "lo": 10, "hi": 12, "n": 3})
        self.assertEqual(self.text("results", entry, "command.txt"), "./dev bench quick\n")
        notes = self.text("results", entry, "notes.md")
        self.assertIn("| `floor/32` | 11 ns (10–12) | 3 |", notes)
        self.assertIn("| `emit/x` | 5 ns | 0.500 lost/attempted | 1 |", notes)
        points.validate("environment", json.loads(self.text("results", entry, "env.json"))["environment"], "env.json")
        lines = self.text("results", "README.md").splitlines()
        self.assertEqual(lines[5], f"| Costs \\| on an idle machine | [{entry}]({entry}/notes.md) "
                         "| ./dev bench quick |")
        self.assertEqual(lines[6:], ["", "End."])

    def test_interrupted_at_any_step_and_again(self):
        """Whatever was done before a Ctrl-C, the same command does the rest."""
        argv = ["--results", self.path("results"), "--name", "idle", "--command", "x", "--no-history", self.quick()]
        for step in ("os.replace", "os.rename", "os.chmod"):
            with self.subTest(step), unittest.mock.patch(step, side_effect=KeyboardInterrupt):
                with self.assertRaises(KeyboardInterrupt):
                    cmd_record.main(argv)
            self.assertEqual([name for name in os.listdir(self.path("results")) if name.startswith((".", "2026"))], [])
        with contextlib.redirect_stdout(io.StringIO()):
            cmd_record.main(argv)
        self.assertTrue(os.path.exists(self.path("results", "2026-11-21-epyc-f25m17-idle", "notes.md")))
        self.assertIn("never changed", self.record(*argv[2:], code=1).stderr)

    def test_refusals_leave_nothing(self):
        before = self.snapshot()
        other = self.quick("other.json", commit="7654321")
        self.assertIn("different commits", self.record(self.quick(), other, code=1).stderr)
        self.assertIn("--command", self.record("--name", "a", self.quick(), code=1).stderr)
        self.assertIn("small letters", self.record("--name", "../A", "--command", "x", self.quick(), code=1).stderr)
        self.assertIn("two files", self.record("--name", "a", "--command", "x", "--attach",
                                               self.write("b/notes.md", "x"), self.quick(),
                                               code=1).stderr)
        self.assertIn("would have", self.record("--name", "a", "--command", "x", "--attach",
                                                self.write("long.txt", "x\n" * 2000), self.quick(), code=1).stderr)
        self.assertIn("needs --name", self.record("--note", "x", self.quick(), code=2).stderr)
        self.assertIn("No such file", self.record(self.path("none.json"), code=1).stderr)
        self.assertIn("same figure twice", self.record(self.quick(), self.quick("again.json"), code=1).stderr)
        self.assertEqual(self.snapshot(), before)

    def test_names_of_processors(self):
        for cpu, name in ((samples.ENVIRONMENT["cpu"], "epyc-f25m17"),
                          ("AMD EPYC 9R14 96-Core Processor (family 25, model 17)", "epyc-9r14-f25m17"),
                          ("Intel(R) Xeon(R) Platinum 8370C CPU @ 2.80GHz (family 6, model 106)",
                           "xeon-platinum-f6m106"), ("aarch64", "aarch64")):
            self.assertEqual(entries.processor_name(cpu), name)


if __name__ == "__main__":
    unittest.main()
