"""cmd_quick.py: passes, medians, ratios to the floor, its table, how it ends; with a fake and with the real program."""
import contextlib
import io
import json
import os
import stat
import sys
import tempfile
import unittest

from bench.judge import cmd_quick, command, convert
from bench.judge.command import runs

# Its n-th pass is n times as slow, but for the floor.
FAKE = '''#!{python} -B
import json, os, re, sys
folder = os.path.dirname(os.path.abspath(__file__))
names = ["floor/32/manual_time/threads:1", "floor/32/manual_time/threads:2",
         "emit/enabled/payload:32/manual_time/threads:2", "ratio/enabled/iterations:1/manual_time",
         "brim/drop/producers:8/iterations:1/manual_time"]
filters = [word.partition("=")[2] for word in sys.argv[1:] if word.startswith("--benchmark_filter=")]
names = [name for name in names if not filters or re.search(filters[0], name)]
if "--benchmark_list_tests=true" in sys.argv:
    if "--benchmark_min_time=0.05s" in sys.argv:
        sys.exit(1)
    print("\\n".join(names))
    sys.exit(0)
count = os.path.join(folder, "count")
number = len(open(count).read()) + 1 if os.path.exists(count) else 1
open(count, "a").write("x")
open(os.path.join(folder, "words"), "w").write(" ".join(sys.argv[1:]))
rows = []
for name in names:
    row = dict(name=name, run_name=name, run_type="iteration", time_unit="ns",
               real_time=10.0 if "floor" in name else 15.0 * number)
    if "ratio" in name.split("/")[0]:
        row.update(ratio=1.02, least=1.0, greatest=1.05)
    if "brim" in name:
        row.update(events_per_s=4.5e7, loss=0.25)
        if os.path.exists(os.path.join(folder, "failing")):
            row.update(error_occurred=True, error_message="a check failed")
    rows.append(row)
context = dict(date="2026-11-21T10:00:00+00:00", num_cpus=2, c_compiler="GNU 12.2.0",
               commit="0123abcd", system_clock="tsc", governor="unknown", load="0.1", calibration_ns="1.0839")
from_here = os.environ["HERE"].split("|")
context.update(cpu=from_here[0], kernel="Linux " + from_here[1])
print(json.dumps(dict(context=context, benchmarks=rows), indent=1))
'''


class Quick(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.program, self.report = self.path("weir-bench"), self.path("out/quick.json")
        with open(self.program, "w", encoding="utf-8") as file:
            file.write(FAKE.replace("{python}", sys.executable))
        os.chmod(self.program, os.stat(self.program).st_mode | stat.S_IXUSR)
        here = convert.environment.collect()
        os.environ["HERE"] = f"{here['cpu']}|{here['kernel'].split()[-1]}"
        self.addCleanup(os.environ.pop, "HERE", None)

    def path(self, name):
        return os.path.join(self.folder, name)

    def quick(self, *words, code=0):
        told, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(told), contextlib.redirect_stderr(errors):
            self.assertEqual(cmd_quick.main(["--program", self.program, "-o", self.report, *words]), code)
        return told.getvalue(), errors.getvalue()

    def points(self, *words):
        found = json.loads(self.quick("--json", *words)[0])["points"]
        return {(point["bench"], point["metric"]): point for point in found}

    def test_as_many_passes_as_the_time_allows_but_not_without_end(self):
        point = self.points("--seconds", "60")["emit/enabled/payload:32/threads:2", "ns_per_event"]
        self.assertEqual((point["n"], point["value"], point["lo"], point["hi"]), (9, 75.0, 15.0, 135.0))

    def test_less_time_makes_benchmarks_shorter(self):
        for seconds, words in (("10", ("min_time=0.005", "brim_seconds=0.02")),
                               ("110", ("min_time=0.05", "brim_seconds=0.15"))):
            self.quick("--seconds", seconds)
            with open(self.path("words"), encoding="utf-8") as file:
                told = file.read()
            for word in words:
                self.assertRegex(told, f"{word}( |$)")

    def test_the_table(self):
        told, _ = self.quick("--filter", "floor|emit|ratio/|brim")
        lines = [" ".join(line.split()) for line in told.splitlines()]
        self.assertIn("emit median (least–greatest) x floor", lines)
        self.assertIn("enabled/payload:32/threads:2 75 ns (15–135) 7.50", lines)
        self.assertIn("32/threads:1 10 ns", lines)
        self.assertIn("enabled 1.02 x", lines)
        self.assertIn("drop/producers:8 75 ns (15–135) 45 M events/s 0.250", lines)
        self.assertIn("commit 0123abcd", told)
        self.assertIn("1.084 ns a step of arithmetic", told)

    def test_a_failed_benchmark_is_told_and_fails(self):
        open(self.path("failing"), "w", encoding="utf-8").close()
        told, errors = self.quick(code=1)
        self.assertIn("quick: brim/drop/producers:8: a check failed", errors)
        self.assertIn("enabled/payload:32", told)

    def test_wrong_words(self):
        for words in (("--seconds", "0"), ("--seconds", "nan"), ("--filter", "(")):
            with self.assertRaisesRegex(command.Usage, words[0]):
                self.quick(*words)
        with self.assertRaisesRegex(runs.Failed, "no benchmark fits 'nothing'"):
            self.quick("--filter", "nothing")

    @unittest.skipUnless(os.environ.get("WEIR_BENCH"), "WEIR_BENCH names no program")
    def test_the_real_program(self):
        self.program = os.environ["WEIR_BENCH"]
        brim = "brim/block/relay/producers:1/segment:32768"
        found = self.points("--filter", f"^floor/(32/|clock)|^{brim}$", "--seconds", "1")
        self.assertEqual({name for name, _ in found}, {"floor/32/threads:1", "floor/32/threads:2", "floor/clock", brim})
        self.assertEqual(found[brim, "loss"]["value"], 0)
        self.assertGreater(found["floor/32/threads:1", "ns_per_event"]["value"], 0)


if __name__ == "__main__":
    unittest.main()
