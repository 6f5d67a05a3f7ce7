"""gate.py, count.py, callgrind.py, cmd_count.py: what is red, what only warns, what is not compared; and that two
counts of the same programs are the same.

WEIR_BENCH names the weir-bench of a build; the programs that count are beside it."""
import copy
import io
import json
import os
import unittest
from unittest import mock

from bench.judge import callgrind, count, gate, points, samples
from bench.judge.command import runs

BUILD = os.path.dirname(os.path.dirname(os.environ.get("WEIR_BENCH", "")))
INSTRUCTIONS, LOCKED = "emit/enabled/payload:32/instructions", "emit/enabled/payload:32/locked"
DRAIN, SYSTEM_CALLS = "drain/encode/payload:32/instructions", "drain/write/payload:32/system_calls"


def figures():
    values = {INSTRUCTIONS: (100.5, "instructions/event"), LOCKED: (0.006, "locked instructions/event"),
              "emit/enabled/payload:32/calls": (1.01, "calls/event"),
              "emit/enabled/payload:32/allocations": (0.0, "allocations/10^6 events"),
              DRAIN: (59.0, "instructions/event"), SYSTEM_CALLS: (100.0, "system calls/10^6 events"),
              "bytes/file/payload:32": (34.018, "bytes/event"),
              "reader/read/payload:32/instructions": (160.0, "instructions/event"),
              "code/weir_emit/locked": (0, "locked instructions"), "code/weir_emit/fences": (0, "fences"),
              "code/libweir/text": (77000, "bytes"),
              "code/minimal/text": (100000, "bytes"), "code/minimal/bss": (5000, "bytes"),
              "code/libweir/exports": (2, "names")}
    return count.Figures("GNU 12.2.0", "2.36", values, ["weir_emit", "weir_poll"])


def changed(name, by):
    """Figures in which one has changed."""
    of = figures()
    value, unit = of.values[name]
    of.values[name] = (value + by, unit)
    return of


def without(name, differing=None):
    """Figures in which one is missing, perhaps because it was counted differently each time."""
    of = figures()
    del of.values[name]
    of.differing = {name: differing} if differing else {}
    return of


class Rules(unittest.TestCase):
    def verdict(self, head, name, base=None):
        rows = {row["name"]: row for row in gate.compare(base or figures(), head, is_baseline=True)}
        others = [row["name"] for row in rows.values() if row["name"] != name and row["verdict"] != "same"]
        self.assertEqual(others, [])
        return rows[name]["verdict"], rows[name]["note"]

    def test_one_more_is_red_and_one_less_is_better(self):
        for name, by in ((INSTRUCTIONS, 1), (DRAIN, 1), (LOCKED, 1), ("emit/enabled/payload:32/calls", 1),
                         (SYSTEM_CALLS, 1), ("bytes/file/payload:32", 1), (INSTRUCTIONS, 0.5)):
            with self.subTest(name):
                self.assertEqual(self.verdict(changed(name, by), name)[0], "regressed")
                self.assertEqual(self.verdict(changed(name, -by), name)[0], "improved")

    def test_once_a_segment_is_not_once_an_event(self):
        self.assertEqual(self.verdict(changed(INSTRUCTIONS, 0.1), INSTRUCTIONS), ("same", ""))
        self.assertEqual(self.verdict(changed(LOCKED, 0.0012), LOCKED), ("same", ""))

    def test_what_must_not_be_there_is_red_beside_any_base(self):
        for name in ("emit/enabled/payload:32/allocations", "code/weir_emit/locked", "code/weir_emit/fences"):
            with self.subTest(name):
                bad = changed(name, 50)
                self.assertEqual(self.verdict(bad, name, bad), ("regressed", "there must be none"))
                alone = [row["name"] for row in gate.not_compared(bad, "no base") if row["verdict"] == "regressed"]
                self.assertEqual(alone, [name])

    def test_sizes_and_the_reader_warn(self):
        for name, by in (("code/libweir/text", 780), ("reader/read/payload:32/instructions", 1.7)):
            with self.subTest(name):
                verdict, note = self.verdict(changed(name, by), name)
                self.assertEqual(verdict, "same")
                self.assertIn("warning: +1.", note)
                self.assertEqual(self.verdict(changed(name, by / 3), name), ("same", ""))

    def test_a_minimal_program_may_not_grow(self):
        for name, by in (("code/minimal/text", 1000), ("code/minimal/bss", 8)):
            with self.subTest(name):
                self.assertEqual(self.verdict(changed(name, by), name)[0], "regressed")
                self.assertEqual(self.verdict(changed(name, -by), name)[0], "improved")
        self.assertEqual(self.verdict(changed("code/minimal/text", 999), "code/minimal/text"), ("same", ""))

    def test_a_name_more_or_less_is_red(self):
        head = figures()
        head.exports = ["weir_emit", "weir_new"]
        self.assertEqual(self.verdict(head, "code/libweir/exports"), ("regressed", "new: weir_new; gone: weir_poll"))

    def test_a_guard_that_is_gone_is_red_beside_a_baseline_only(self):
        head = without(DRAIN)
        self.assertEqual(self.verdict(head, DRAIN)[0], "regressed")
        rows = {row["name"]: row for row in gate.compare(figures(), head, is_baseline=False)}
        self.assertEqual(rows[DRAIN]["verdict"], "not_compared")

    def test_what_is_not_exact_is_red_if_it_was_before(self):
        restless = without(DRAIN, differing=(59.0, 59.5))
        self.assertEqual(self.verdict(restless, DRAIN)[0], "regressed")
        self.assertIn("59 and then 59.5", self.verdict(restless, DRAIN)[1])
        self.assertEqual(self.verdict(restless, DRAIN, restless)[0], "not_compared")
        self.assertEqual(self.verdict(figures(), DRAIN, restless)[0], "not_compared")
        row, = [row for row in gate.not_compared(restless, "no base") if row["name"] == DRAIN]
        self.assertIn("not exact", row["note"])

    def test_what_no_baseline_may_have(self):
        self.assertEqual(gate.faults(figures()), [])
        restless = figures()
        restless.differing[DRAIN] = (59.0, 59.5)
        for bad, word in ((restless, "not exact"), (changed("code/weir_emit/locked", 1), "there must be none"),
                          (count.Figures("GNU 12.2.0", "2.36", {}, [], "no membarrier"), "no membarrier")):
            self.assertEqual([word in fault for fault in gate.faults(bad)], [True])

    def test_a_machine_without_the_fast_path(self):
        head = without(INSTRUCTIONS)
        head.note = "no membarrier"
        self.assertEqual(self.verdict(head, INSTRUCTIONS), ("not_compared", "no membarrier"))


class Baselines(samples.Folder):
    def test_what_is_written_is_read(self):
        path = self.write("gnu-12.json", {"emit_length": {"x86-64": 82}})
        gate.write_baseline(path, figures())
        self.assertEqual(gate.read_baseline(path), figures())
        self.assertEqual(gate.emit_length(path), {"x86-64": 82}, "an update keeps the length of the emit function")

    def test_what_is_no_baseline_is_named(self):
        whole = {"values": {}, "exports": [], "compiler": "GNU 1.1", "libc": "2"}
        for bad in ("", "{", "[]", "{}", {**whole, "values": 3}, {**whole, "exports": [1]},
                    *({**whole, "values": {name: value}} for name, value in
                      (("a b", [1, "x"]), ("emit/x/instructions", [None, "x"]), ("emit/x/instructions", ["x"]),
                       ("emit/x/unheard_of", [1, "x"])))):
            with self.subTest(bad), self.assertRaisesRegex(points.Invalid, self.path("gnu-12.json")):
                gate.read_baseline(self.write("gnu-12.json", bad))


PROFILE = """# callgrind format
desc: Trigger: Client Request: emit/x events:{events}
{thread}
positions: instr
events: Ir
ob={program}
fn=one
0x10 {events}
0x20 3
calls=2 0x99
0x20 1000
cfn=malloc
calls=7 0x98
0x30 1000
totals: 9
"""


class Profiles(unittest.TestCase):
    def read(self, events=10, thread=""):
        text = PROFILE.format(events=events, thread=thread, program="/nonexistent/object")
        return callgrind.read(io.StringIO(text))

    def test_callees_are_not_counted_twice(self):
        profile = self.read()
        self.assertEqual((profile["work"], profile["events"]), ("emit/x", 10))
        self.assertEqual((profile["instructions"], profile["allocations"]), (13, 7))

    def test_other_threads_are_left_out(self):
        self.assertIsNone(self.read(thread="thread: 2"))
        self.assertIsNotNone(self.read(thread="thread: 1"))

    def test_what_belongs_to_no_event_falls_out(self):
        both = {10: self.read(10), 20: self.read(20)}
        self.assertEqual(count.per_event(both, "emit/x")["emit/x/instructions"], (1.0, "instructions/event"))
        with self.assertRaises(runs.Failed):
            count.per_event({10: both[10]}, "emit/x")


@unittest.skipUnless(os.path.exists(os.path.join(BUILD, "bin", count.PROGRAMS[0])),
                     "WEIR_BENCH names no build that counts")
class Counted(samples.Folder):
    """On the real programs, which are counted once for all."""

    @classmethod
    def setUpClass(cls):
        cls.figures = count.measure(BUILD)

    def count(self, *options, code):
        """What the command prints of these figures, beside the baseline that baseline() wrote."""
        with mock.patch.object(count, "measure", lambda folder: self.figures), \
                mock.patch.object(gate, "BASELINES", self.folder):
            return self.command("count", "--build", BUILD, *options, code=code).stdout

    def baseline(self, change):
        """The build's own figures, doctored."""
        doctored = copy.deepcopy(self.figures)
        change(doctored)
        gate.write_baseline(self.path(count.family_major(self.figures.compiler) + ".json"), doctored)

    def test_what_is_known_of_the_emit_path(self):
        values = {name: value for name, (value, _) in self.figures.values.items()}
        self.assertEqual(values["code/weir_emit/locked"], 0)
        self.assertEqual(values["code/weir_emit/calls"], 0)
        self.assertEqual(values["code/weir_emit/fences"], 0)
        for name, value in values.items():
            if name.startswith("emit/") and name.endswith(("allocations", "system_calls")):
                self.assertEqual(value, 0, name)
        self.assertGreater(values[SYSTEM_CALLS], 0, "a drain that writes to a descriptor asks the system")
        if not self.figures.note:
            self.assertEqual(round(values["emit/enabled/payload:32/calls"]), 1)
            self.assertLess(values[LOCKED], 0.05)
            for name, sessions in (("enabled/payload:32", 1), ("enabled/payload:32/sessions:2", 2),
                                   ("enabled/payload:32/sessions:8", 8), ("enabled_drop_block/payload:32", 2)):
                self.one_reading(values[f"emit/{name}/clock_readings"], sessions)
        self.assertTrue(34 <= values["bytes/file/payload:32"] < 34.5 and 40 <= values["bytes/lane/payload:32"] < 41)

    def one_reading(self, readings, sessions):
        """One of each event, whatever the number of sessions, and one of each segment that a session begins."""
        self.assertGreaterEqual(readings, 1)
        self.assertLess(readings, 1 + sessions / 500)

    def test_one_instruction_less_in_the_baseline_is_red(self):
        def change(doctored):
            value, unit = doctored.values[DRAIN]
            doctored.values[DRAIN] = (value - 1, unit)
        self.baseline(change)
        self.assertIn(DRAIN, self.count(code=1))
        told = json.loads(self.count("--json", code=1))
        red = [points.validate("gate_row", row, "row") for row in told["gate"] if row["verdict"] == "regressed"]
        self.assertEqual([row["name"] for row in red], [DRAIN])
        self.assertEqual(len(told["rows"]), len(self.figures.values))

    def test_no_baseline_is_said_and_green(self):
        self.assertIn("not compared: there is no", self.count(code=0))

    def test_another_compiler_is_said_and_green(self):
        def change(doctored):
            doctored.compiler = "GNU 4.8.5"
        self.baseline(change)
        self.assertIn("not compared: the compiler is", self.count(code=0))
        self.count("--skip-code", code=77)


class Words(samples.Folder):
    def test_bad_words(self):
        for *words, code in (("--base", "no-such-revision", 2), ("--base", "HEAD", "--update", 2), ("--build", "/nowhere", 1)):
            self.command("count", *words, code=code)


if __name__ == "__main__":
    unittest.main()
