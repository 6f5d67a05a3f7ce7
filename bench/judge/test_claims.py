"""Claims as data: quantities, files that are wrong in one way each, verdicts. Nothing is measured."""
import copy
import json
import os
import shutil
import tempfile
import unittest

import borrow
import claims
import claims_judge
import claims_quantity
import claims_text
from points import Invalid

SAMPLES = {"calibrations": {"clock": {"words": "clock read", "measure": "clock.ns_per_event"}},
           "samples": {"clock": {"source": "bench", "name": "floor/clock"},
                       "fast": {"source": "stress", "options": {"threads": "$producers", "seconds": 0.2}, "rounds": 5},
                       "slow": {"source": "stress", "options": {"threads": "$producers", "wake": "fifo",
                                                                "seconds": 0.2}}}}
CLAIM = {"id": "speed", "claim": "It is fast.", "where": [{"design": "speed"}], "suite": "brim", "state": "built",
         "unit": "x",
         "each": {"producers": [1, 8]}, "measure": {"ratio": ["fast.events_per_s", "slow.events_per_s"]},
         "bar": {"op": ">=", "value": 1.15}}
NOT_BUILT = {"id": "later", "claim": "It will be.", "where": [{"design": "later"}], "suite": "emit",
             "state": "not_built",
             "reason": "nobody has built it"}


def changed(claim, **changes):
    made = copy.deepcopy(claim) | changes
    return {name: value for name, value in made.items() if value is not None}


def book_of(*found, samples=None):
    samples = samples or SAMPLES
    return claims.Book([copy.deepcopy(claim) for claim in found], samples["samples"], samples["calibrations"])


def measured_of(book, cells):
    """cells: {(sample, producers): [fields by round]}."""
    measured = claims_judge.Measured()
    for (name, producers), rounds in cells.items():
        key = claims.key_of(book.sample(name, {"producers": producers}, "test"))
        for fields in rounds:
            measured.add(key, fields)
    return measured


def rates(*values):
    return [{"events_per_s": value} for value in values]


class Borrowed(unittest.TestCase):
    def test_from_its_folder_or_not_at_all(self):
        for folder, name in (("stress", "runs"), ("tests/codegen", "check"), ("tests/interop", "run")):
            found = borrow.module(folder, name)
            self.assertTrue(os.path.samefile(found.__file__, os.path.join(borrow.ROOT, folder, f"{name}.py")))
        with self.assertRaisesRegex(ImportError, "tests/codegen/runs.py cannot be imported: .*runs.py has the same"):
            borrow.module("tests/codegen", "runs")


class Quantities(unittest.TestCase):
    def value(self, quantity, **fields):
        claims_quantity.check(quantity, {"s": {}}, "test")
        return claims_quantity.evaluate(quantity, lambda sample, field: fields[field])

    def test_operators(self):
        self.assertEqual(self.value({"ratio": ["s.a", "s.b"]}, a=6, b=4), 1.5)
        self.assertEqual(self.value({"max": ["s.a", {"product": [1.25, "s.b"]}, {"sum": ["s.a", 1]}]}, a=6, b=4), 7)
        self.assertEqual(self.value({"min": ["s.a", "s.b"]}, a=6, b=4), 4)
        self.assertEqual(self.value({"distance": ["s.b", "s.a"]}, a=6, b=4), 2)
        self.assertEqual(self.value({"difference": ["s.b", "s.a"]}, a=6, b=4), -2)
        self.assertEqual(self.value(3), 3)

    def test_what_is_not_known_is_none(self):
        self.assertIsNone(self.value({"ratio": ["s.a", "s.b"]}, a=6, b=None))
        self.assertIsNone(self.value({"ratio": ["s.a", "s.b"]}, a=6, b=0))
        self.assertIsNone(self.value({"max": ["s.a", "s.b"]}, a=6, b=None))

    def test_refused(self):
        for quantity, words in (("s", "names no field"), ("t.a", "no sample 't'"),
                                ({"power": [1, 2]}, "no operator 'power'"),
                                ({"ratio": [1]}, "takes a list of 2"), ({"ratio": [1, 2, 3]}, "takes a list of 2"),
                                ({"sum": 1}, "takes a list"),
                                ([1, 2], "is no quantity"), ({"sum": [1, 2], "max": [1, 2]}, "is no quantity"),
                                (True, "is no quantity"),
                                (float("nan"), "is no quantity"), ("__import__('os').x", "no sample")):
            with self.assertRaisesRegex(Invalid, words, msg=str(quantity)):
                claims_quantity.check(quantity, {"s": {}}, "test")

    def test_fields(self):
        fields = {"park_ns": {"p99": 5, "p999": None}, "code/weir_emit/calls": 0, "a.b": 7, "name": "x"}
        self.assertEqual(claims_judge.number_at(fields, "park_ns.p99"), 5)
        self.assertEqual(claims_judge.number_at(fields, "code/weir_emit/calls"), 0)
        self.assertEqual(claims_judge.number_at(fields, "a.b"), 7)
        self.assertIsNone(claims_judge.number_at(fields, "park_ns.p999"))
        self.assertIsNone(claims_judge.number_at(fields, "name"))
        with self.assertRaises(KeyError):
            claims_judge.number_at(fields, "park_ns.p50")


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.write("samples.json", SAMPLES)
        self.write("no_claims.json", {"no_claims": []})
        self.write("some.json", {"claims": [CLAIM, NOT_BUILT]})

    def write(self, name, content):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))

    def refused(self, words):
        with self.assertRaisesRegex(Invalid, words) as caught:
            claims.load(self.folder)
        self.assertNotIn("\n", str(caught.exception))

    def test_good(self):
        book = claims.load(self.folder)
        self.assertEqual([claim["id"] for claim in book.claims], ["speed", "later"])
        self.assertEqual(claims.cells_of(book.claims[0]), [{"producers": 1}, {"producers": 8}])
        self.assertEqual(book.samples_of(book.claims[0], {"producers": 8})[1]["options"]["threads"], "8")

    def test_the_projects_own(self):
        book = claims.load()
        self.assertGreater(len(book.claims), 20)
        self.assertTrue(any(claim["state"] == "not_built" for claim in book.claims))

    def judged(self, name, sample, *rounds):
        """The verdict of a claim of the project's own, and its first cell."""
        book, measured = claims.load(), claims_judge.Measured()
        claim = next(claim for claim in book.claims if claim["id"] == name)
        cell = claims.cells_of(claim)[0]
        for fields in rounds:
            measured.add(claims.key_of(book.sample(sample, cell, "test")), fields)
        calibration = {"words": "x", "measured": {"median": 10100, "least": 10100, "greatest": 10100, "rounds": 1}}
        result = claims_judge.judge(book, measured, claim, {"futex": calibration})
        return result["verdict"], result["cells"][0]

    def test_lists_fit_a_terminal(self):
        for width in (60, 120):
            lines = list(claims_text.listing(claims.load(), width))
            below = [line for line in lines if line.startswith(" ")]
            self.assertLessEqual(max(map(len, lines if width == 120 else below)), width)

    def test_a_serializing_read_that_is_cheaper_does_not_cost_more(self):
        for serialized, verdict in ((17, "met"), (21, "missed"), (3, "missed"), (10, "missed")):
            fields = {"clock_ns": 10, "clock_serialized_ns": serialized}
            self.assertEqual(self.judged("clock-serialized", "footprint", fields)[0], verdict, serialized)

    def test_what_may_never_be_exceeded_is_held_against_every_round(self):
        for name, sample, good, bad in (("first-start", "footprint", {"first_start_ms": 19}, {"first_start_ms": 21}),
                                        ("relay-grant", "relay", {"grant_bytes": 131072}, {"grant_bytes": 131073}),
                                        ("stop-parked", "stop-parked", {"greatest_ns": 4e6, "ns_per_event": 1e6},
                                         {"greatest_ns": 6e6, "ns_per_event": 1e6})):
            with self.subTest(name):
                self.assertEqual(self.judged(name, sample, good, bad, good)[1]["verdict"], "missed")
                self.assertEqual(self.judged(name, sample, good, good, good)[1]["verdict"], "met")

    def test_without_a_fence_needs_that_fences_are_counted(self):
        rows = {"code/weir_emit/locked": 0, "code/weir_emit/calls": 0, "emit/enabled/payload:32/system_calls": 0,
                "emit/enabled/payload:32/allocations": 0, "emit/enabled/payload:32/instructions": 60}
        verdict, cell = self.judged("enabled-instructions", "gate", rows)
        self.assertEqual((verdict, cell["reason"]),
                         ("skipped", "./dev bench count has no row 'code/weir_emit/fences' here"))
        for fences, verdict in ((0, "met"), (1, "missed")):
            found = self.judged("enabled-instructions", "gate", rows | {"code/weir_emit/fences": fences})
            self.assertEqual(found[0], verdict)
        del rows["emit/enabled/payload:32/instructions"]
        verdict, cell = self.judged("enabled-instructions", "gate", rows | {"code/weir_emit/fences": 0})
        self.assertEqual(verdict, "met")
        self.assertRegex(cell["beside"][0]["reason"], "no row 'emit/enabled/payload:32/instructions'")

    def test_claims_that_are_wrong(self):
        cases = ((changed(CLAIM, bar=None), "'bar' is a required property"),
                 (changed(CLAIM, measure=None), "'measure' is a required"),
                 (changed(CLAIM, measure="gone.x"), "claim speed: there is no sample 'gone'"),
                 (changed(CLAIM, bar={"op": "==", "value": 1}), "=="),
                 (changed(CLAIM, state="perhaps"), "'perhaps' is not one of"),
                 (changed(NOT_BUILT, reason=None), "'reason' is a required"),
                 (changed(CLAIM, id="Not an id"), "does not match"),
                 (changed(CLAIM, each=None), "no 'producers' in the grid"),
                 (changed(CLAIM, measure=5), "nothing is measured"),
                 (changed(CLAIM, but=[{"producers": 1}, {"producers": 8}]), "no cell"),
                 (changed(CLAIM, where=[]), r"\[\]"), (changed(CLAIM, surprise=1), "surprise"),
                 (changed(CLAIM, bar=CLAIM["bar"] | {"scaled_by": {"calibration": "moon", "reference": 1,
                                                                   "machine": "m"}}), "no calibration 'moon'"),
                 (changed(CLAIM, bar=CLAIM["bar"] | {"scaled_by": {"calibration": "clock", "reference": 1,
                                                                   "machine": "m"}}), "only a time or a rate"))
        for claim, words in cases:
            with self.subTest(words):
                self.write("some.json", {"claims": [claim]})
                self.refused(words)

    def test_samples_that_are_wrong(self):
        for name, sample, words in (("slow", {"source": "guess"}, "'guess' is not one of"),
                                    ("slow", {"source": "bench"}, "'name' is a required"),
                                    ("slow", {"source": "stress", "options": {}}, "non-empty|enough properties"),
                                    ("slow", {"source": "count", "rounds": 3}, "1 was expected"),
                                    ("slow", {"name": "x"}, "'source' is a required"),
                                    ("idle", {"source": "count"}, "no claim uses the sample 'idle'")):
            with self.subTest(words):
                self.write("samples.json", {**SAMPLES, "samples": SAMPLES["samples"] | {name: sample}})
                self.refused(words)

    def test_one_id_twice(self):
        self.write("more.json", {"claims": [NOT_BUILT]})
        self.refused("two claims are called 'later'")

    def test_no_json(self):
        for text, words in (("{", "some.json"), ('{"claims": [NaN]}', "NaN is not JSON"),
                            ("[]", "is not of type 'object'")):
            with self.subTest(text):
                self.write("some.json", text)
                self.refused(words)
        os.remove(os.path.join(self.folder, "samples.json"))
        self.refused("samples.json: No such file")


class Verdicts(unittest.TestCase):
    def judged(self, claim, cells, calibrations=None, samples=None, **reasons):
        book = book_of(claim, samples=samples)
        measured = measured_of(book, cells)
        for verdict, (sample, producers, reason) in reasons.items():
            getattr(measured, verdict)[claims.key_of(book.sample(sample, {"producers": producers}, "test"))] = reason
        return claims_judge.judge(book, measured, book.claims[0], calibrations or {})

    def pair(self, fast, slow, eight=None):
        return {("fast", 1): rates(*fast), ("slow", 1): rates(*slow), ("fast", 8): rates(*(eight or fast)),
                ("slow", 8): rates(*slow)}

    def test_met_with_spread(self):
        result = self.judged(CLAIM, self.pair([12, 13, 11], [10, 10, 10]))
        self.assertEqual(result["verdict"], "met")
        self.assertEqual(result["cells"][0]["measured"], {"median": 1.2, "least": 1.1, "greatest": 1.3, "rounds": 3})
        self.assertEqual(result["cells"][0]["values"], [1.2, 1.3, 1.1])

    def test_one_cell_misses(self):
        result = self.judged(CLAIM, self.pair([12, 13, 11], [10, 10, 10], eight=[11, 11, 11]))
        self.assertEqual([cell["verdict"] for cell in result["cells"]], ["met", "missed"])
        self.assertEqual(result["verdict"], "missed")
        self.assertEqual(claims_judge.worst(result)["cell"], {"producers": 8})
        self.assertIn("1 of 2 cells met; the worst is producers 8", list(claims_text.notes(result, {})))

    def test_not_built_is_never_met(self):
        result = claims_judge.judge(book_of(NOT_BUILT), claims_judge.Measured(), NOT_BUILT, {})
        self.assertEqual((result["verdict"], result["reason"], result["cells"]),
                         ("not_built", "nobody has built it", []))

    def test_skipped_and_failed_with_the_reason(self):
        claim = changed(CLAIM, each={"producers": [1]})
        result = self.judged(claim, {("fast", 1): rates(1)}, skipped=("slow", 1, "no package"))
        self.assertEqual((result["verdict"], result["reason"]), ("skipped", "no package"))
        result = self.judged(claim, self.pair([12], [10]), failed=("slow", 1, "it fell over"))
        self.assertEqual((result["verdict"], result["reason"]), ("failed", "it fell over"))

    def test_a_field_that_nothing_has_is_a_failure(self):
        claim = changed(CLAIM, measure={"ratio": ["fast.nonsense", "slow.events_per_s"]})
        result = self.judged(claim, self.pair([12], [10]))
        self.assertEqual(result["verdict"], "failed")
        self.assertIn("nonsense", result["reason"])

    def test_no_round_has_a_figure(self):
        result = self.judged(CLAIM, self.pair([None, None], [10, 10]))
        self.assertEqual((result["verdict"], result["reason"]), ("skipped", "no round had a figure"))

    def test_rounds_without_a_figure_are_left_out(self):
        result = self.judged(CLAIM, self.pair([12, None, 12], [10, 10, 10]))
        self.assertEqual((result["verdict"], result["cells"][0]["measured"]["rounds"]), ("met", 2))

    def test_worst(self):
        claim = changed(CLAIM, bar={"op": ">=", "value": 1, "of": "worst"})
        self.assertEqual(self.judged(claim, self.pair([12, 12, 10], [10, 10, 10]))["verdict"], "met")
        result = self.judged(claim, self.pair([12, 12, 9], [10, 10, 10]))
        self.assertEqual((result["verdict"], result["cells"][0]["reason"]), ("missed", "in 1 of 3 rounds"))
        result = self.judged(claim, self.pair([10, 10, 10], [10, 10, 10], eight=[12, 12, 9]))
        self.assertEqual(claims_judge.worst(result)["cell"], {"producers": 8})  # though its median is higher

    def test_interval(self):
        claim = changed(CLAIM, bar={"op": ">=", "value": 1, "of": "interval"})
        slow = [10] * 7
        below = self.judged(claim, self.pair([9.5, 9.6, 9.4, 9.5, 9.7, 9.6, 9.5], slow))
        self.assertEqual(below["verdict"], "missed")
        self.assertLess(below["cells"][0]["interval"][1], 1)
        around = self.judged(claim, self.pair([9.5, 9.6, 10.4, 9.5, 10.7, 9.6, 9.9], slow))
        self.assertLess(around["cells"][0]["measured"]["median"], 1)
        self.assertEqual(around["verdict"], "met")
        few = self.judged(claim, self.pair([9.5, 9.6], slow[:2]))
        self.assertEqual((few["verdict"], few["reason"]), ("skipped", "an interval needs 5 rounds, not 2"))

    def test_interval_of_an_upper_bar(self):
        claim = changed(CLAIM, bar={"op": "<=", "value": 1, "of": "interval"})
        self.assertEqual(self.judged(claim, self.pair([11] * 7, [10] * 7))["verdict"], "missed")
        self.assertEqual(self.judged(claim, self.pair([11, 9, 11, 9, 11, 9, 11], [10] * 7))["verdict"], "met")

    def test_when(self):
        claim = changed(CLAIM, when={"words": "the drain is the bottleneck", "measure": "fast.share", "op": "<=",
                                     "value": 0.8})
        cells = self.pair([12], [10])
        cells["fast", 1] = [{"events_per_s": 12, "share": 0.5}]
        cells["fast", 8] = [{"events_per_s": 1, "share": 0.9}]
        result = self.judged(claim, cells)
        self.assertEqual([cell["verdict"] for cell in result["cells"]], ["met", "excluded"])
        self.assertEqual(result["verdict"], "met")
        self.assertIn("the drain is the bottleneck is not so", result["cells"][1]["reason"])
        self.assertIn("1 of 2 cells left out: does not apply", " ".join(claims_text.notes(result, {})))

    def test_when_nowhere_or_not_known(self):
        claim = changed(CLAIM, when={"words": "it is slow", "measure": "fast.share", "op": "<=", "value": 0.8})
        cells = self.pair([12], [10])
        for shares, verdict in (((0.9, 0.9), "excluded"), ((0.5, None), "skipped"), ((0.9, None), "skipped")):
            with self.subTest(shares):
                for producers, share in zip((1, 8), shares):
                    cells["fast", producers] = [{"events_per_s": 12, "share": share}]
                result = self.judged(claim, cells)
                self.assertEqual(result["verdict"], verdict)
                self.assertRegex(result["reason"], "is not so" if verdict == "excluded" else "not known whether")

    def test_one_cell_that_is_not_judged_is_not_met(self):
        result = self.judged(CLAIM, self.pair([12], [10]), skipped=("slow", 8, "no package"))
        self.assertEqual((result["verdict"], result["reason"]), ("skipped", "no package"))
        self.assertEqual(list(claims_text.notes(result, {})), ["1 of 1 cells met; the worst is producers 1",
                                                           "1 of 2 cells not judged: no package"])
        result = self.judged(CLAIM, self.pair([11], [10]), skipped=("slow", 8, "no package"))
        self.assertEqual(result["verdict"], "missed")

    def test_a_sample_that_is_taken_once_stands_for_all_rounds(self):
        once = {**SAMPLES, "samples": SAMPLES["samples"] | {"slow": SAMPLES["samples"]["slow"] | {"rounds": 1}}}
        cells = self.pair([12, 14, 16], [10])
        self.assertEqual(self.judged(CLAIM, cells, samples=once)["cells"][0]["values"], [1.2, 1.4, 1.6])
        claim = changed(CLAIM, measure="slow.events_per_s")
        self.assertEqual(self.judged(claim, cells, samples=once)["cells"][0]["values"], [10])

    def test_only_rounds_that_both_sides_have_are_compared(self):
        for cells in (self.pair([10, 20, 30, 40, 50], [1, 2, 3]), self.pair([10, 20, 30], [1, 2, 3, 4, 5])):
            with self.subTest(cells):
                found = self.judged(CLAIM, cells)["cells"][0]
                self.assertEqual((found["values"], found["measured"]["rounds"]), ([10, 10, 10], 3))

    def test_beside_has_no_verdict(self):
        claim = changed(CLAIM, each={"producers": [1]}, measure="fast.events_per_s",
                        beside=[{"words": "of $producers", "measure": "slow.events_per_s"}])
        cells = {("fast", 1): rates(12)}
        result = self.judged(claim, cells | {("slow", 1): rates(0.1)})
        self.assertEqual((result["verdict"], result["cells"][0]["beside"][0]["words"]), ("met", "of 1"))
        result = self.judged(claim, cells, skipped=("slow", 1, "no package"))
        self.assertEqual((result["verdict"], result["cells"][0]["beside"][0]["reason"]), ("met", "no package"))

    def scaled(self, op, unit, bar, reference, here, measured):
        claim = changed(CLAIM, each={"producers": [1]}, measure="fast.events_per_s", unit=unit,
                        bar={"op": op, "value": bar, "scaled_by": {"calibration": "clock", "reference": reference,
                                                                   "machine": "m"}})
        calibration = here and {"median": here * 3, "least": here, "greatest": here * 9, "rounds": 3}
        result = self.judged(claim, {("fast", 1): rates(measured)},
                             {"clock": {"words": "clock read", "measured": calibration}})
        return result["verdict"], result["cells"][0]["bar"]

    def test_absolute_bars_move_with_the_machine(self):
        self.assertEqual(self.scaled("<=", "ns", 65, 20, 10, 33), ("missed", 32.5))
        self.assertEqual(self.scaled("<=", "ns", 65, 20, 40, 120), ("met", 130))
        self.assertEqual(self.scaled(">=", "events/s", 40, 20, 10, 79), ("missed", 80))
        self.assertEqual(self.scaled(">=", "events/s", 40, 20, 40, 21), ("met", 20))
        self.assertEqual(self.scaled("<=", "ns", 65, 20, None, 1), ("skipped", None))


if __name__ == "__main__":
    unittest.main()
