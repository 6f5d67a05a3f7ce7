"""benchmark.py: both syntaxes of the options, reports, and one line for each way of a program to misbehave."""
import os
import stat
import sys
import tempfile
import unittest

from bench.judge import benchmark
from bench.judge.command import runs

# A program of Google Benchmark as far as benchmark.py looks. FAKE is "old" (1.7.1), "new" (1.8), or a way to misbehave.
FAKE = '''#!{python} -B
import json, os, re, sys, time
fake = os.environ.get("FAKE", "old")
options = dict(word[2:].split("=", 1) for word in sys.argv[1:] if "=" in word)
if fake == "crash" and "benchmark_format" in options:
    sys.stderr.write("about to fall\\\\nout of memory\\\\n")
    os.abort()
if fake == "silent":
    sys.exit(3)
if fake == "hang" and "benchmark_format" in options:
    time.sleep(600)
seconds = options.get("benchmark_min_time", "0.5" if fake != "new" else "0.5s")
if fake != "new" and not re.fullmatch(r"[0-9.]+", seconds):
    sys.exit("The value of flag --benchmark_min_time is expected to be a double, but actually has value %s." % seconds)
if fake == "new" and not re.fullmatch(r"[0-9.]+s|[0-9]+x", seconds):
    sys.exit("Malformed seconds value passed to --benchmark_min_time: `%s`" % seconds)
names = ["emit/a/manual_time", "emit/b/iterations:1/manual_time", "ratio/c/iterations:1"]
names = [name for name in names if re.search(options.get("benchmark_filter", "."), name)]
if not names:
    sys.stderr.write("Failed to match any benchmarks against regex: x\\\\n")
    sys.exit(0 if fake == "old" else 2)
if "benchmark_list_tests" in options:
    print("\\\\n".join(names))
    sys.exit(0)
rows = [{{"name": name, "run_name": name, "run_type": "iteration", "real_time": 1.5, "time_unit": "ns",
          "words": sys.argv[1:]}}
        for name in names for _ in range(int(options.get("benchmark_repetitions", 1)))]
rows[0]["jain"] = float("nan")
if fake == "failing":
    rows[0].update(error_occurred=True, error_message="events were lost")
if fake == "nameless":
    del rows[0]["name"]
text = json.dumps({{"context": {{"cpu": "a"}}, "benchmarks": rows}}, indent=2)
print(text[:-10] if fake == "cut" else text)
'''


EMIT = ["emit/a/manual_time", "emit/b/iterations:1/manual_time"]


class Benchmark(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.program = os.path.join(folder.name, "weir-bench")
        with open(self.program, "w", encoding="utf-8") as file:
            file.write(FAKE.replace("\\\\", "\\").format(python=sys.executable))
        os.chmod(self.program, os.stat(self.program).st_mode | stat.S_IXUSR)
        self.addCleanup(os.environ.pop, "FAKE", None)

    def run_fake(self, fake, **arguments):
        os.environ["FAKE"] = fake
        return benchmark.run(self.program, **arguments)

    def refused(self, fake, text, **arguments):
        with self.assertRaises(runs.Failed) as caught:
            self.run_fake(fake, **arguments)
        self.assertIn(text, str(caught.exception))
        self.assertIn(self.program, str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))

    def words(self, fake, **arguments):
        return self.run_fake(fake, **arguments)["benchmarks"][0]["words"]

    def test_the_old_library_gets_a_bare_number(self):
        self.assertIn("--benchmark_min_time=0.05", self.words("old", min_time=0.05))

    def test_the_new_library_gets_seconds(self):
        self.assertIn("--benchmark_min_time=0.05s", self.words("new", min_time=0.05))

    def test_small_times_are_not_rounded_away(self):
        self.assertIn("--benchmark_min_time=0.0001", self.words("old", min_time=0.0001))

    def test_all_options_arrive(self):
        words = self.words("old", filter="emit/a", repetitions=3, options=["--smoke"])
        self.assertEqual(words[1:], ["--benchmark_filter=emit/a", "--benchmark_repetitions=3", "--smoke"])

    def test_rows_are_told_as_they_come(self):
        told = []
        self.run_fake("old", on_row=told.append)
        self.assertEqual(told, ["emit/a/manual_time", "emit/b/iterations:1/manual_time", "ratio/c/iterations:1"])

    def test_a_counter_without_a_value_is_null(self):
        self.assertIsNone(self.run_fake("old")["benchmarks"][0]["jain"])

    def test_names_are_listed(self):
        self.assertEqual(benchmark.names(self.program, "emit/"), EMIT)

    def test_a_choice_looks_at_plain_names(self):
        self.assertEqual(benchmark.choose(self.program, "ratio"), ("^(ratio/c/iterations:1)$", 1))
        self.assertEqual(benchmark.choose(self.program, "^emit/.$"),
                         ("^(emit/a/manual_time|emit/b/iterations:1/manual_time)$", 2))
        self.assertEqual(benchmark.choose(self.program, None), (None, 3))
        with self.assertRaisesRegex(runs.Failed, "no benchmark fits 'iterations'"):
            benchmark.choose(self.program, "iterations")

    def test_a_filter_that_fits_nothing(self):
        for fake in ("old", "new"):
            self.refused(fake, "no benchmark fits 'nothing'", filter="nothing")
            with self.assertRaisesRegex(runs.Failed, "no benchmark fits 'nothing'"):
                benchmark.names(self.program, "nothing")

    def test_a_program_that_crashes(self):
        self.refused("crash", "out of memory")

    def test_a_program_that_says_nothing(self):
        self.refused("silent", "it ended with 3: it says nothing")
        with self.assertRaisesRegex(runs.Failed, "it lists no benchmarks: it says nothing"):
            benchmark.names(self.program)

    def test_a_program_that_does_not_end(self):
        self.refused("hang", "not done in 0.5 s", seconds_max=0.5)

    def test_a_report_that_is_cut_off(self):
        self.refused("cut", "its report is not JSON")

    def test_a_report_without_names(self):
        self.refused("nameless", "benchmarks without a name")

    def test_a_program_that_is_not_there(self):
        self.program += "-gone"
        self.refused("old", "No such file")

    def test_failed_benchmarks_are_rows(self):
        self.assertEqual(benchmark.failures(self.run_fake("failing")), [("emit/a/manual_time", "events were lost")])

    def test_passes_become_repetitions(self):
        first, second = (self.run_fake("old", filter="emit/") for _ in range(2))
        second["benchmarks"].append({"name": "emit/a_mean", "run_name": "emit/a", "run_type": "aggregate"})
        merged = benchmark.merge([first, second])["benchmarks"]
        self.assertEqual([(row["name"], row["repetition_index"], row["repetitions"]) for row in merged],
                         [(name, index, 2) for index in (0, 1) for name in EMIT])


if __name__ == "__main__":
    unittest.main()
