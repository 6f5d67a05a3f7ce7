"""cmd_ab.py from its words to its exit code, with programs whose times are known: what is red, what is missing, and
that neither is ever green."""
import json
import unittest
from unittest import mock

from bench.judge import alternate, cmd_ab, count, points, samples
from bench.judge.command import runs

REPEAT = alternate.repeat

ENABLED, DROPPED = "emit/enabled/payload:32/threads:1", "emit/dropped/payload:32/threads:1"
FIGURE, OTHER = "emit/enabled/payload:32/instructions", "drain/encode/payload:32/instructions"

def figures(**changes):
    values = {FIGURE: (100.0, "instructions/event"), OTHER: (59.0, "instructions/event")}
    values.update(changes)
    return count.Figures("GNU 12.2.0", "2.36", {name: value for name, value in values.items() if value}, [])


class Compared(samples.Folder):
    def setUp(self):
        super().setUp()
        self.programs, self.figures = {}, {}
        for patch in (mock.patch.object(cmd_ab, "FOLDER", self.path("ab")),
                      mock.patch.object(cmd_ab, "SECONDS_FAST", 0.0),
                      mock.patch.object(cmd_ab.builds, "build", self.build),
                      mock.patch.object(cmd_ab.builds, "resolve", lambda name: {"B": "b" * 40, "H": "a" * 40}[name]),
                      mock.patch.object(cmd_ab.count, "measure", lambda folder: self.figures[folder])):
            patch.start()
            self.addCleanup(patch.stop)

    def build(self, revision, targets):
        if targets == count.TARGETS and self.figures[self.path(revision)] is None:
            raise runs.Failed(f"{revision} does not build")
        return self.path(revision)

    def side(self, revision, times=None, counted=..., **context):
        self.bench(f"{revision}/bin/weir-bench", times=times or {ENABLED: 10.0, DROPPED: 3.0}, **context)
        self.figures[self.path(revision)] = figures() if counted is ... else counted

    def base(self, *arguments, **changes):
        self.side("B", *arguments, **changes)

    def head(self, *arguments, **changes):
        self.side("H", *arguments, **changes)

    def ab(self, *words, code):
        done = self.command("ab", "--fast", "--base", "B", "--head", "H", "--json", *words, code=code)
        self.errors = done.stderr
        return points.validate("report", json.loads(done.stdout), "report")

    def missing(self, report):
        return {one["name"]: one["reason"] for one in report["missing"]}


class Missing(Compared):
    def test_the_same_is_green_and_nothing_is_missing(self):
        self.base()
        self.head()
        self.assertEqual(self.ab(code=0)["missing"], [])

    def test_a_figure_less(self):
        self.base()
        self.head(counted=figures(**{OTHER: None}))
        self.assertEqual(self.missing(self.ab(code=1)), {OTHER: "is not counted any more"})

    def test_a_benchmark_less_and_one_more(self):
        self.base()
        self.head({ENABLED: 10.0, "drain/encode/payload:32": 5.0})
        self.assertEqual(self.missing(self.ab(code=1)), {DROPPED: "head has no such benchmark"})
        self.assertIn("drain/encode/payload:32: left out: new", self.errors)
        self.base({ENABLED: 10.0})
        self.head()
        self.assertEqual(self.ab(code=0)["missing"], [])

    def test_an_error_in_head_only(self):
        self.base()
        self.head({ENABLED: 10.0, DROPPED: "a check\nfailed"})
        self.assertEqual(self.missing(self.ab(code=1)), {DROPPED: "a check failed"})

    def test_what_the_machine_cannot_do_is_left_out(self):
        for side in (self.base, self.head):
            side({ENABLED: 10.0, DROPPED: "broken"})
        self.assertEqual(self.ab(code=0)["missing"], [])
        self.assertIn(f"{DROPPED}: left out", self.errors)

    def test_a_row_for_each_state_that_lasted(self):
        """Each process is of the state that its counters say; head is slower in a shared core only."""
        own, shared, mixed = samples.reading(1.2), samples.reading(1.9), samples.reading(1.2, 1.9)
        for side, slow in (("B", 14.0), ("H", 20.0)):
            self.side(side)
            self.bench(f"{side}/bin/weir-bench", times={ENABLED: [10.0, slow] * 60, DROPPED: 3.0},
                       counters={ENABLED: [own, shared] * 60, DROPPED: mixed})
        report = self.ab(code=1)
        self.assertEqual({(row["bench"], row["state"]): row["verdict"] for row in report["clock"]},
                         {(ENABLED, "own core, one cache"): "same", (ENABLED, "shared core, one cache"): "regressed"})
        self.assertEqual([one["name"] for one in report["undecided"]], [DROPPED])

    def test_nothing_compared_at_all(self):
        self.base({ENABLED: "broken"}, count.Figures("GNU 12.2.0", "2.36", {}, []))
        self.head({ENABLED: "broken"})
        self.assertEqual(self.missing(self.ab(code=1)), {"ab": "nothing was compared"})

    def test_a_repeat_that_fails_keeps_what_was_red(self):
        self.base()
        # One process before what is kept, and two of each of the rounds of the first run.
        self.head({ENABLED: [20.0] * (1 + alternate.verdict.PAIRS_MIN) + ["a check failed"], DROPPED: 3.0})
        report = self.ab(code=1)
        self.assertEqual([row["verdict"] for row in report["clock"] if row["bench"] == ENABLED], ["regressed"])
        self.assertEqual(self.missing(report), {ENABLED: "the repeat failed: a check failed"})


class Compilers(Compared):
    def test_two_compilers_do_not_compare(self):
        self.base()
        self.head(c_compiler="Clang 14.0.6")
        self.assertIn("base was built by GNU 12.2.0, head by Clang 14.0.6",
                      self.command("ab", "--fast", "--base", "B", "--head", "H", code=1).stderr)

    def test_the_report_tells_the_compiler_that_built_and_the_calibration(self):
        for side in (self.base, self.head):
            side(c_compiler="Clang 99.0.1")
        environment = self.ab(code=0)["environment"]
        self.assertEqual((environment["compiler"], environment["calibration_ns"]), ("Clang 99.0.1", 1.93))


class Figure(Compared):
    """As git bisect run asks for one."""

    def code(self, name, expected):
        with mock.patch.object(cmd_ab.alternate, "repeat", self.repeat):
            return self.command("ab", "--base", "B", "--head", "H", "--figure", name, "--seconds", "10", code=expected).stdout

    @staticmethod
    def repeat(round_of, _seconds, most, progress, what):
        """As many rounds as a verdict needs, whatever the time."""
        return REPEAT(round_of, 0.0, most, progress, what)

    def test_good_bad_and_what_cannot_be_judged(self):
        self.base()
        self.head({ENABLED: 20.0, DROPPED: 3.0}, counted=figures(**{FIGURE: (101.0, "instructions/event")}))
        self.assertIn("100.0 -> 101.0", self.code(FIGURE, 1))
        self.code(OTHER, 0)
        self.code(DROPPED, 0)
        self.assertIn("2.000", self.code(ENABLED, 1))
        self.assertIn("skipped: base or head has no benchmark", self.code("emit/none", 125))
        self.assertIn("skipped: there is no figure", self.code("emit/none/instructions", 125))
        self.head(counted=None)
        self.assertIn("H does not build", self.code(FIGURE, 125))


class Words(Compared):
    def test_a_command_that_does_not_fit_is_refused_before_anything_is_built(self):
        with mock.patch.object(cmd_ab.builds, "build", None):
            done = self.command("ab", "--base", "B", "--head", "H", "--filter", "x" * 200, code=2)
        self.assertIn("200 characters at most", done.stderr)

    def test_the_text_names_what_is_missing(self):
        self.base()
        self.head({ENABLED: 10.0})
        told = self.command("ab", "--fast", "--base", "B", "--head", "H", code=1).stdout
        self.assertIn(f"missing: {DROPPED}: head has no such benchmark\n", told)
        self.assertIn("nothing regressed, 1 could not be compared", told)


if __name__ == "__main__":
    unittest.main()
