"""runs.py and differential.py: reading what weir-stress prints, starting it, pooling its runs."""
import contextlib
import io
import json
import os
import random
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from bench.stress import fake_program, runs

ROOT = Path(__file__).resolve().parents[2]


class Folder(unittest.TestCase):
    """A temporary folder with the fake program in it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.program = self.folder / "weir-stress"
        self.program.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -B -m bench.stress.fake_program "$@"\n', encoding="utf-8")
        self.program.chmod(self.program.stat().st_mode | stat.S_IXUSR)

    def write(self, *lines):
        path = self.folder / "runs.ndjson"
        path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines), encoding="utf-8")
        return path

    def command(self, name, *arguments, code=0, fake=""):
        done = subprocess.run([sys.executable, "-B", "-m", f"bench.stress.{name}", *map(str, arguments)], capture_output=True, text=True, check=False,
                              env=os.environ | {"FAKE": fake})
        self.assertEqual(done.returncode, code, f"{name} {arguments}\n{done.stdout}{done.stderr}")
        self.assertNotIn("Traceback", done.stderr)
        return done


class Load(Folder):
    def fault(self, *lines):
        with self.assertRaises(runs.Failed) as caught:
            runs.load(self.write(*lines))
        return str(caught.exception)

    def test_nulls_and_absent_fields(self):
        small = {"mode": "block", "wake": "fifo", "sink": "fast", "producers": 1, "emitted": 5, "written": 5, "lost": {},
                 "seconds": 1, "events_per_s": 5}
        found = runs.load(self.write(small, "", fake_program.run(mode="drop"), fake_program.run(park_ns=None, jain=None)))
        self.assertEqual([run.strategy for run in found], ["BLOCK/FIFO", "DROP", "BLOCK/RELAY"])
        self.assertEqual([run.park("p99") for run in found], [None, None, None])
        self.assertFalse(found[0].pinned)
        self.assertEqual(list(found[0].faults()), [])

    def test_wrong_lines_are_named(self):
        good = fake_program.run()
        without = {name: value for name, value in good.items() if name != "written"}
        for line, words in (
                ("{", "not JSON"), ("[]", "not a JSON object"), (without, "no 'written'"), (good | {"seconds": None}, "'seconds'"),
                (good | {"seconds": "1"}, "'seconds'"), (good | {"lost": 3}, "'lost'"), (good | {"mode": 3}, "'mode'"),
                (good | {"wake": "luck"}, "no strategy"), (good | {"jain": "x"}, "'jain'"), (good | {"park_ns": 1}, "'park_ns'"),
                (good | {"park_ns": {"p50": -1}}, "'park_ns.p50'"), (json.dumps(good | {"jain": float("nan")}), "'jain'")):
            with self.subTest(line=line):
                fault = self.fault(good, line)
                self.assertIn("runs.ndjson:2: ", fault)
                self.assertIn(words, fault)

    def test_no_runs(self):
        self.assertIn("no run", self.fault())
        self.assertIn("no run", self.fault("", ""))
        with self.assertRaises(runs.Failed):
            runs.load(self.folder / "none")
        (self.folder / "bytes").write_bytes(b"\xff\xfe")
        with self.assertRaises(runs.Failed):
            runs.load(self.folder / "bytes")

    def test_faults(self):
        faults = lambda **changes: list(runs.Run(fake_program.run(**changes)).faults(verified_needed=True))
        self.assertEqual(faults(verified=True), [])
        self.assertEqual(len(faults(verified=None)), 1)
        self.assertEqual(len(faults(verified=False)), 1)
        self.assertEqual(len(faults(verified=True, emitted=1)), 1)
        self.assertEqual(len(faults(verified=True, mode="drop")), 0)
        self.assertEqual(len(faults(verified=True, emitted=11, written=10, lost={"FULL": 1})), 1)


class Pooling(unittest.TestCase):
    def test_percentiles_are_those_of_all_samples(self):
        chance = random.Random(5)
        pool, samples = runs.Pool(), []
        for size in (1, 500, 20000):
            mine = [chance.randrange(1, 4000) * size % 5000 + 1 for _ in range(size)]
            samples += mine
            bins = [[value, mine.count(value)] for value in sorted(set(mine))]
            pool.add(runs.Run(fake_program.run(park_bins=bins, park_ns={"max": max(mine)})))
        samples.sort()
        park = pool.summary()["park_ns"]
        for name, share in runs.QUANTILES:
            rank = -int(-share * len(samples) // 1)
            self.assertEqual(park[name], samples[rank - 1], name)
        self.assertEqual(park["count"], len(samples))

    def test_few_samples_above(self):
        self.assertIsNone(runs.percentile([], 0.5))
        self.assertIsNone(runs.percentile([(7, 19)], 0.5))
        self.assertEqual(runs.percentile([(7, 20)], 0.5), 7)
        self.assertEqual(runs.percentile([(7, 989), (8, 11)], 0.99), 8)
        self.assertIsNone(runs.percentile([(7, 900), (8, 99)], 0.99))

    def test_counts_add_up(self):
        pool = runs.Pool()
        pool.add(runs.Run(fake_program.run(mode="drop", seconds=1.0, written=10, emitted=15, lost={"FULL": 5})))
        pool.add(runs.Run(fake_program.run(mode="drop", seconds=3.0, written=30, emitted=32, lost={"NO_SEGMENT": 2}, jain=None)))
        summary = pool.summary()
        self.assertEqual((summary["written"], summary["emitted"], summary["events_per_s"]), (40, 47, 10))
        self.assertEqual(summary["lost"], {"FULL": 5, "NO_SEGMENT": 2})
        self.assertEqual((summary["jain"], summary["repeats"], summary["park_ns"]["p50"]), (0.995, 2, None))

    def test_block_needs_bins(self):
        with self.assertRaises(runs.Failed):
            runs.Pool().add(runs.Run(fake_program.run()))


class Words(unittest.TestCase):
    def test_words(self):
        self.assertEqual([runs.size(count) for count in (1 << 20, 32768, 1536, 100, 3 << 19)],
                         ["1 MiB", "32 KiB", "1.5 KiB", "100 bytes", "1.5 MiB"])
        self.assertEqual([runs.significant(value) for value in (None, 0, 12345.6, 0.012345, 999.6, 40)],
                         ["-", "0", "12,300", "0.0123", "1,000", "40.0"])
        self.assertEqual([runs.duration(seconds) for seconds in (-1, 59.4, 61, 600)], ["0 s", "59 s", "1 min 01 s", "10 min 00 s"])
        self.assertEqual(list(runs.table([["a", "b"], ["long", "1"]])), ["a     b", "long  1"])


class Start(Folder):
    def test_what_goes_wrong_is_told(self):
        options = ["--mode", "block", "--wake", "relay", "--threads", "1", "--sink", "fast", "--seed", "1"]
        program = runs.Program(self.program)
        for fake, words in (("fails", "no such luck"), ("broken", "not JSON"), ("talks", "2 lines")):
            os.environ["FAKE"] = fake
            self.addCleanup(os.environ.pop, "FAKE", None)
            with self.subTest(fake=fake), self.assertRaises(runs.Failed) as caught:
                program.run(options)
            self.assertIn(words, str(caught.exception))
            self.assertIn("--mode block", str(caught.exception))
        with self.assertRaises(runs.Failed):
            runs.Program(self.folder / "none").run(options)

    def test_progress_is_for_terminals(self):
        stream = io.StringIO()
        with contextlib.closing(stream):
            progress = runs.Progress(stream)
            progress.show("x")
            progress.end()
            self.assertEqual(stream.getvalue(), "")


class Differential(Folder):
    def test_table(self):
        out = self.command("differential", self.program, "--seconds", "0.5").stdout
        lines = {line.split()[0]: line for line in out.splitlines() if line}
        for strategy in runs.STRATEGIES:
            self.assertIn(strategy, lines)
        self.assertIn("1 MiB", out)
        self.assertRegex(lines["DROP"], r"\d %\)")
        self.assertRegex(lines[runs.DEFAULT], r" 0 .* 2\.00 ")

    def test_json_pools(self):
        out = self.command("differential", self.program, "--seconds", "0.5", "--json").stdout
        rows = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([row["strategy"] for row in rows], list(runs.STRATEGIES))
        relay = rows[-1]  # three repeats of 0.2 s: 300 waits in the lower bin, 600 in the upper
        self.assertEqual(relay["repeats"], 3)
        self.assertEqual([relay["park_ns"][name] for name in ("count", "p50", "p999")], [900, 2000, None])
        self.assertAlmostEqual(relay["events_per_s"], relay["written"] / 0.6)

    def test_a_bad_row_fails(self):
        for fake, words in (("unverified", "independent reader"), ("lossy", "BLOCK lost 1"), ("miscounts", "emitted"),
                            ("no bins", "park_bins"), ("fails", "exit code 1"), ("broken", "not JSON")):
            with self.subTest(fake=fake):
                done = self.command("differential", self.program, "--seconds", "0.5", code=1, fake=fake)
                self.assertIn(words, done.stderr)
                self.assertEqual(done.stdout, "")

    def test_usage(self):
        self.command("differential", code=2)
        self.command("differential", self.program, "--seconds", "0", code=2)
        self.command("differential", self.program, "--seconds", "x", code=2)


if __name__ == "__main__":
    unittest.main()
