"""cmd_quick.py: passes, medians, ratios to the floor, its table, how it ends; with a fake and with the real program."""
import json
import os
import unittest

from bench.judge import cmd_quick, convert, samples

FLOOR, BRIM = "floor/32/manual_time/threads:", "brim/drop/producers:8/iterations:1/manual_time"
# The n-th pass is n times as slow, but for the floor.
TIMES = {FLOOR + "1": 10.0, FLOOR + "2": 10.0, "ratio/enabled/iterations:1/manual_time": 15.0,
         **dict.fromkeys(("emit/enabled/payload:32/manual_time/threads:2", BRIM), [15.0 * n for n in range(1, 10)])}
COUNTERS = {"ratio/enabled/iterations:1/manual_time": {"ratio": 1.02},
            BRIM: {"events_per_s": 4.5e7, "loss": 0.25}}


class Quick(samples.Machine):
    def setUp(self):
        super().setUp()
        self.make(TIMES)

    def make(self, times):
        self.program = self.bench(times=times, counters=COUNTERS)

    def quick(self, *words, code=0):
        return self.command("quick", "--program", self.program, "-o", self.path("out/quick.json"), *words, code=code)

    def points(self, *words):
        found = json.loads(self.quick("--json", *words).stdout)["points"]
        return {(point["bench"], point["metric"]): point for point in found}

    def test_as_many_passes_as_the_time_allows_but_not_without_end(self):
        point = self.points("--seconds", "60")["emit/enabled/payload:32/threads:2", "ns_per_event"]
        self.assertEqual((point["n"], point["value"], point["lo"], point["hi"]), (9, 75.0, 15.0, 135.0))

    def test_less_time_makes_benchmarks_shorter(self):
        for seconds, words in (("10", ("min_time=0.005", "brim_seconds=0.02")),
                               ("110", ("min_time=0.05", "brim_seconds=0.15"))):
            self.quick("--seconds", seconds)
            for word in words:
                self.assertRegex(self.text("weir-bench.calls").splitlines()[-1], f"{word}( |$)")

    def test_the_table(self):
        told = self.quick("--filter", "floor|emit|ratio/|brim").stdout
        lines = [" ".join(line.split()) for line in told.splitlines()]
        self.assertIn("emit median (least–greatest) x floor", lines)
        self.assertIn("enabled/payload:32/threads:2 75 ns (15–135) 7.50", lines)
        self.assertIn("32/threads:1 10 ns", lines)
        self.assertIn("enabled 1.02 x", lines)
        self.assertIn("drop/producers:8 75 ns (15–135) 45 M events/s 0.250", lines)
        self.assertIn("commit 91d52fe", told)
        self.assertIn("1.930 ns a step of arithmetic", told)

    def test_a_line_for_each_state_beside_the_floor_of_that_core(self):
        own, shared = (samples.reading(step, trip=None) for step in (1.2, 1.9))
        emit = "emit/enabled/payload:32/manual_time/threads:1"
        rows = [samples.repetition(name, time, **state) for name, time, state in
                ((FLOOR + "1", 10, own), (FLOOR + "1", 11, shared), (emit, 11, own), (emit, 16.5, shared),
                 (emit, 13, samples.reading(1.2, 1.9, trip=None)))]
        source = convert.from_weir_bench(samples.bench_report(*rows), "here")
        suites = cmd_quick.entries.by_suite(source.points)
        told = [row[0:3] for row in cmd_quick.suite_rows("emit", suites["emit"], suites["floor"])]
        name = "  enabled/payload:32/threads:1, "
        self.assertEqual(told[1:], [[name + "own core", "11 ns", "1.10"], [name + "shared core", "16.5 ns", "1.50"],
                                    [name + "mixed", "13 ns", ""]])

    def test_a_failed_benchmark_is_told_and_fails(self):
        self.make({**TIMES, BRIM: "a check failed"})
        done = self.quick(code=1)
        self.assertIn("quick: brim/drop/producers:8: a check failed", done.stderr)
        self.assertIn("enabled/payload:32", done.stdout)

    def test_wrong_words(self):
        for words in (("--seconds", "0"), ("--seconds", "nan"), ("--filter", "(")):
            self.quick(*words, code=2)
        self.assertIn("no benchmark fits 'nothing'", self.quick("--filter", "nothing", code=1).stderr)

    @unittest.skipUnless(os.environ.get("WEIR_BENCH"), "WEIR_BENCH names no program")
    def test_the_real_program(self):
        self.program = os.environ["WEIR_BENCH"]
        self.here.stop()
        brim = "brim/block/relay/producers:1/segment:32768"
        found = self.points("--filter", f"^floor/(32/|clock)|^{brim}$", "--seconds", "1")
        self.assertEqual({name for name, _ in found}, {"floor/32/threads:1", "floor/32/threads:2", "floor/clock", brim})
        self.assertEqual(found[brim, "loss"]["value"], 0)
        self.assertGreater(found["floor/32/threads:1", "ns_per_event"]["value"], 0)


if __name__ == "__main__":
    unittest.main()
