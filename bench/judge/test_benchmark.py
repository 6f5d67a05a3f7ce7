"""benchmark.py: both syntaxes of the options, reports, and one line for each way of a program to misbehave."""
import unittest

from bench.judge import benchmark, samples
from bench.judge.command import runs

EMIT = ["emit/a/manual_time", "emit/b/iterations:1/manual_time"]
TIMES = dict.fromkeys([*EMIT, "ratio/c/iterations:1"], 1.5)


class Benchmark(samples.Folder):
    def refused(self, program, reason, **arguments):
        with self.assertRaises(runs.Failed) as caught:
            benchmark.run(program, **arguments)
        self.assertIn(f"{program}: {reason}", str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))

    def test_both_libraries(self):
        for is_new, words in ((False, "--benchmark_min_time=0.0001"), (True, "--benchmark_min_time=0.0001s")):
            name = f"new {is_new}"
            program = self.bench(name, times=TIMES, is_new=is_new)
            report = benchmark.run(program, "emit/a", 0.0001, 3, ["--smoke"])
            self.assertEqual([row["name"] for row in report["benchmarks"]], EMIT[:1] * 3)
            self.assertEqual(self.text(name + ".calls").split(), ["--benchmark_format=json", "--benchmark_filter=emit/a",
                                                                  words, "--benchmark_repetitions=3", "--smoke"])
            self.refused(program, "no benchmark fits 'nothing'", pattern="nothing")

    def test_a_choice_looks_at_plain_names(self):
        program = self.bench(times=TIMES)
        self.assertEqual(benchmark.choose(program, "ratio"), ("^(ratio/c/iterations:1)$", 1))
        self.assertEqual(benchmark.choose(program, "^emit/.$"), (f"^({'|'.join(EMIT)})$", 2))
        self.assertEqual(benchmark.choose(program, None), (None, 3))
        with self.assertRaisesRegex(runs.Failed, "no benchmark fits 'iterations'"):
            benchmark.choose(program, "iterations")

    def test_rows(self):
        program = self.bench(times={**TIMES, EMIT[0]: "events were lost"}, counters={EMIT[1]: {"jain": float("nan")}},
                             executable="/home/someone/weir-bench")
        report = benchmark.run(program)
        self.assertEqual(report["context"]["executable"], "weir-bench")
        self.assertEqual(benchmark.failures(report), {"emit/a": "events were lost"})
        self.assertIsNone(report["benchmarks"][1]["jain"], "a counter without a value is null")
        mean = {"name": "emit/a_mean", "run_name": EMIT[0], "run_type": "aggregate"}
        merged = benchmark.merge([report, {"benchmarks": [*report["benchmarks"], mean]}])
        self.assertEqual({name: len(rows) for name, rows in benchmark.repetitions_of(merged).items()},
                         {"emit/a": 2, "emit/b": 2, "ratio/c": 2})

    def test_programs_that_misbehave(self):
        for script, reason in (("echo about to fall >&2; echo out of memory >&2; kill -ABRT $$", "it ended with -6: out of memory"),
                               ("exit 3", "it ended with 3: it says nothing"), ("exec sleep 600", "not done in 0.5 s"),
                               ("echo '{\"context\": '", "its report is not JSON"),
                               ("echo '{\"context\": {}, \"benchmarks\": [{}]}'", "its report has no context, or benchmarks")):
            self.refused(self.executable("bad", f"#!/bin/sh\n{script}\n"), reason, seconds_max=0.5)
        with self.assertRaisesRegex(runs.Failed, "it lists no benchmarks: it says nothing"):
            benchmark.names(self.executable("bad", "#!/bin/sh\n"))
        self.refused(self.path("none"), "No such file")


if __name__ == "__main__":
    unittest.main()
