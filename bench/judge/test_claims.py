"""./dev bench claims: arithmetic, rows that are wrong in one way each, verdicts, rounds within a time, the command on
sources that are made up, and the real programs."""
import copy
import json
import os
import time
import unittest
from unittest import mock

from bench.judge import claims, claims_judge, claims_run, samples, state
from bench.peers import runner as peers
from bench.judge.points import Invalid
from bench.stress import runs

SAMPLES = {"clock": {"run": "weir-bench floor/clock", "rounds": 5, "takes": 1},
           "fast": {"run": "weir-stress --threads $producers", "rounds": 5, "takes": 1},
           "slow": {"run": "weir-stress --threads $producers --wake fifo", "rounds": 5, "takes": 1},
           "count": {"run": "count", "rounds": 1, "takes": 60}}
CALIBRATIONS = {"clock": {"name": "clock read", "quantity": "clock.ns"}}
SPEED = {"id": "speed", "name": "Fast over slow", "quantity": "fast.rate / slow.rate", "unit": "x", "bar": ">= 1.15",
         "each": {"producers": [1, 8]}}
COUNTED = {"id": "counted", "name": "Instructions", "quantity": "count['emit/x/instructions']", "unit": "", "bar": "<= 6"}
LATER = {"id": "later", "name": "Heap graph", "not_built": "nobody has built it"}
BIN = os.path.dirname(os.environ.get("WEIR_BENCH", ""))


def book_of(*rows, **more):
    used = copy.deepcopy(SAMPLES) | more
    return claims.Book([copy.deepcopy(row) for row in rows], used, copy.deepcopy(CALIBRATIONS))


class Quantities(unittest.TestCase):
    def test_arithmetic(self):
        fields = {("a", "x"): 6, ("a", "y", "p99"): 4, ("count", "emit/x"): 2, ("b", "none"): None, ("b", "zero"): 0}
        for text, value in (("a.x / a.y.p99", 1.5), ("1e9 / a.x", 1e9 / 6), ("abs(a.y.p99 - a.x - 1)", 3),
                            ("a.x + 100 * count['emit/x']", 206), ("max(a.x, a.y.p99) - min(a.x, a.y.p99)", 2),
                            ("a.x / b.none", None), ("max(a.x, b.none)", None), ("a.x / b.zero", None)):
            self.assertEqual(claims.evaluate(claims.parsed(text), fields.get), value, text)
        self.assertEqual(claims.samples_of("a.x / b.y + a.z"), ["a", "b"])

    def test_nothing_else(self):
        for text in ("", "a.x +", "a.x ** 2", "open('x')", "a.x if 1 else 2", "'text'", "a.b()", "max()", "a[0:1]",
                     "__import__('os')", "True", "lambda: 1", 7):
            with self.subTest(text), self.assertRaises(Invalid):
                claims.parsed(text)


class Rows(unittest.TestCase):
    def test_the_projects_own(self):
        book = claims.load()
        self.assertGreater(len(book.claims), 30)
        self.assertIn("ratio_enabled", book.samples)

    def test_what_is_wrong_is_named(self):
        for changes, reason in (({"quantity": "none.rate"}, "no sample 'none'"), ({"bar": "< 3"}, "neither <= nor >="),
                                ({"bar": ">= 3 * moon"}, "the bar"), ({"of": "mean"}, "the bar"), ({"each": {"x": []}}, "grid"),
                                ({"each": {"cores": [1]}}, "no 'producers' in the grid"), ({"speed": 1}, "no field speed"),
                                ({"quantity": "2 +"}, "not arithmetic")):
            with self.subTest(changes), self.assertRaisesRegex(Invalid, f"claim 'speed': .*{reason}"):
                book_of(SPEED | changes, COUNTED).check()
        with self.assertRaisesRegex(Invalid, "two claims are called 'speed'"):
            book_of(SPEED, SPEED, COUNTED).check()
        with self.assertRaisesRegex(Invalid, "no claim uses the sample 'count'"):
            book_of(SPEED).check()
        book_of(SPEED, COUNTED, LATER).check()


def judged(row, **rounds):
    """The result of a row, whose samples have these figures by round."""
    book, measured = book_of(row), claims_judge.Measured()
    for name, values in rounds.items():
        for value in values:
            for cell in claims.cells_of(row):
                fields = value if isinstance(value, (dict, list)) else {"rate": value, "ns": value}
                measured.add(book.sample(name, cell).run, fields)
    return claims_judge.judge_all(book, measured, book.claims)[1][0]


class Verdicts(unittest.TestCase):
    ONE = SPEED | {"each": {"producers": [8]}}

    def test_table(self):
        one, fast = self.ONE, [12.0] * 5
        upper = one | {"bar": "<= 1.15", "of": "worst"}
        interval = one | {"bar": ">= 1.15", "of": "interval"}
        many = [9.0, 13.0] * 4
        for row, slow, verdict in ((one, [10.0] * 5, "met"), (one, [11.0] * 5, "missed"),
                                   (one, [10.0, 10.0, 11.0, 10.0, 12.0], "met"),  # the median
                                   (upper, [11.0] * 5, "met"), (upper, [11.0] * 4 + [10.0], "missed"),
                                   (one | {"when": {"name": "it is slow", "quantity": "slow.rate", "bar": "<= 5"}},
                                    [10.0] * 5, "excluded"),
                                   (one, [None] * 5, "skipped"), (one, [], "skipped")):
            self.assertEqual(judged(row, fast=fast, slow=slow)["verdict"], verdict, (row, slow))
        self.assertEqual(judged(interval, fast=[12.0] * 8, slow=many)["verdict"], "met")
        self.assertEqual(judged(interval, fast=[12.0] * 8, slow=[11.0, 11.1] * 4)["verdict"], "missed")
        self.assertEqual(judged(interval, fast=fast[:2], slow=[10.0] * 2)["verdict"], "skipped")
        self.assertEqual(judged(LATER)["verdict"], "not_built")

    def test_one_cell_that_misses_is_a_miss_and_speaks(self):
        book, measured = book_of(SPEED), claims_judge.Measured()
        for producers, fast in ((1, 12), (8, 10)):
            for name, value in (("fast", fast), ("slow", 10)):
                measured.add(book.sample(name, {"producers": producers}).run, {"rate": value})
        result, = claims_judge.judge_all(book, measured, book.claims)[1]
        self.assertEqual((result["verdict"], claims_judge.measured_words(result)), ("missed", "1 x"))
        self.assertIn("1 of 2 cells met; the worst is producers 8", list(claims_judge.notes(result)))

    def test_bars_move_with_the_machine(self):
        clock = {"quantity": "clock.ns", "unit": "ns"}
        for bar, values, here, verdict in (("<= 5 * clock / 10", [20, 40], 10, "missed"), (">= 5 * 10 / clock", [20], 2.5, "met")):
            result = judged(self.ONE | clock | {"bar": bar}, clock=values)
            self.assertEqual((result["cells"][0]["bar"], result["verdict"]), (here, verdict))
        self.assertEqual(judged(self.ONE | {"bar": ">= 5 * 10 / clock"}, fast=[9], slow=[1])["verdict"], "skipped")

    def test_a_bar_for_each_state(self):
        """Rows within a round are of different states; a round whose samples share no state has no figure."""
        bar = {"own core": "<= 1.02", "shared core": "<= 1.25"}
        row = self.ONE | {"bar": bar, "quantity": "fast.rate / slow.rate"}
        own, shared = samples.reading(1.2), samples.reading(1.9)
        mixed = samples.reading(1.2, 1.9)
        slow = [[{"rate": 1.0} | own, {"rate": 1.0} | shared, {"rate": 1.0} | mixed]] * 3
        for own_rate, shared_rate, speaks, verdict in ((1.01, 1.2, "own core", "met"), (1.1, 1.2, "own core", "missed"),
                                                       (1.01, 1.4, "shared core", "missed")):
            fast = [[{"rate": own_rate} | own, {"rate": own_rate - 0.02} | own, {"rate": shared_rate} | shared,
                     {"rate": 9.0} | mixed]] * 3
            result = judged(row, fast=fast, slow=slow)
            cell, = result["cells"]
            self.assertEqual((result["verdict"], cell["state"]), (verdict, speaks + ", one cache"))
            self.assertEqual(list(cell["states"]), ["own core, one cache", "shared core, one cache"])
            self.assertAlmostEqual(cell["states"]["own core, one cache"]["measured"]["median"], own_rate - 0.01)
        self.assertEqual("own core, one cache 1 x; shared core, one cache 1.40 x", claims_judge.measured_words(result))
        self.assertEqual(claims_judge.bar_words(result), "≤ 1.02 in own core; ≤ 1.25 in shared core")
        for one, other in ((own, shared), (mixed, mixed)):
            apart = judged(row, fast=[{"rate": 1} | one] * 3, slow=[{"rate": 1} | other] * 3)
            self.assertEqual((apart["verdict"], apart["reason"]), ("skipped", claims_judge.NO_FIGURE))
        alone = row | {"quantity": "fast.rate"}
        for bar, verdict in ((bar, "skipped"), ("<= 2", "met")):
            only = judged(alone | {"bar": bar}, fast=[{"rate": 1} | mixed] * 3)
            self.assertEqual((only["verdict"], claims_judge.measured_words(only)), (verdict, "mixed 1 x"))

    def test_a_few_rounds_of_a_state_do_not_speak_and_a_loss_does_in_any(self):
        own, shared = samples.reading(1.2), samples.reading(1.9)
        rounds = [{"rate": 1} | own] * 5 + [{"rate": 9} | shared] * 2
        least = self.ONE | {"quantity": "fast.rate", "bar": "<= 2"}
        self.assertEqual(judged(least, fast=rounds)["verdict"], "met")
        self.assertEqual(judged(least | {"of": "worst"}, fast=rounds)["cells"][0]["reason"], "in 2 of 7 rounds")

    def test_a_peer_is_of_the_same_kind_of_core(self):
        beside = [{"name": name, "quantity": f"{name}.rate", "peer": True} for name in ("slow", "clock")]
        own, near, shared = samples.reading(1.2, trip=None), samples.reading(1.2), samples.reading(1.9)
        result = judged(self.ONE | {"quantity": "fast.rate", "bar": "<= 1", "beside": beside}, fast=[{"rate": 3} | own] * 3,
                        slow=[{"rate": 4} | near, {"rate": 2} | shared] * 3, clock=[{"rate": 1, "ns": 1} | shared] * 3)
        self.assertEqual(claims_judge.best_peer(result), "4 x, slow")
        self.assertIn("clock, shared core, one cache: 1 x", list(claims_judge.notes(result)))

    def test_a_calibration_is_of_the_same_kind_of_core(self):
        own, shared = samples.reading(1.2, trip=None), samples.reading(1.9, trip=None)
        row = self.ONE | {"quantity": "fast.rate", "bar": "<= 2 * clock"}
        both = [[{"rate": 3, "ns": 1} | own, {"rate": 5, "ns": 2} | shared]] * 3
        cell, = judged(row, fast=both, clock=both)["cells"]
        self.assertEqual({name: (one["bar"], one["verdict"]) for name, one in cell["states"].items()},
                         {"own core": (2, "missed"), "shared core": (4, "missed")})

    def test_a_count_stands_for_all_rounds_and_may_be_missing_here(self):
        both = self.ONE | {"quantity": "fast.rate * count['a/b']", "bar": "<= 10"}
        result = judged(both, fast=[1, 2, 3], count=[{"a/b": 2}])
        self.assertEqual(result["cells"][0]["measured"], {"median": 4, "least": 2, "greatest": 6, "rounds": 3})
        self.assertEqual(judged(COUNTED, count=[{"other/row": 1}])["verdict"], "skipped")
        self.assertEqual(judged(self.ONE, fast=[{"other": 1}], slow=[1])["verdict"], "failed")

    def test_the_best_peer(self):
        beside = [{"name": "slow one", "quantity": "slow.rate", "peer": True}, {"name": "ours", "quantity": "fast.rate"},
                  {"name": "clock", "quantity": "clock.ns", "peer": True}]
        for bar, best in (("<= 1", "3 x, clock"), (">= 1", "10 x, slow one")):
            result = judged(self.ONE | {"beside": beside, "bar": bar}, fast=[12], slow=[10], clock=[3])
            self.assertEqual(claims_judge.best_peer(result), best)


class Fake(claims_run.Sources):
    """Answers from a function, counts seconds, and notes what it was asked."""

    def __init__(self, answer):
        super().__init__()
        self.answer, self.now, self.taken = answer, 0.0, []

    def prepare(self, commands):
        self.settings["bottleneck_sink"] = "cost:9"

    def take(self, sample, seed):
        self.taken.append((sample.run, seed))
        self.now += sample.takes
        return self.answer(sample.run)


def answer(run):
    return {"ns": 10, "rate": 10 if "fifo" in run else 12}


def run_of(*rows, seconds=1000, of=answer):
    source, book = Fake(of), book_of(*rows)
    run = claims_run.Run(book, book.claims, source, clock=lambda: source.now)
    run.run(seconds)
    return run


class Rounds(unittest.TestCase):
    def test_shared_interleaved_and_next_to_each_other(self):
        run = run_of(SPEED, SPEED | {"id": "other", "quantity": "fast.rate"})
        self.assertEqual(len(run.sources.taken), 5 * 5)  # the clock, and two samples in two cells
        self.assertEqual([seed for _, seed in run.sources.taken], sorted(seed for _, seed in run.sources.taken))
        first = [command for command, _ in run.sources.taken[:5]]
        for producers in ("1", "8"):
            pair = [first.index(f"weir-stress --threads {producers}{wake}") for wake in ("", " --wake fifo")]
            self.assertEqual(abs(pair[0] - pair[1]), 1)

    def test_the_time_is_over(self):
        run = run_of(SPEED, seconds=7)
        self.assertFalse(run.is_complete)
        self.assertEqual((len(run.sources.taken), run.why), (7, "the time was over in round 2 of 5"))
        self.assertEqual(len(run_of(SPEED, seconds=2).measured.skipped), 3)

    def test_what_is_not_there_is_asked_once(self):
        def broken(command):
            if "fifo" in command:
                raise claims.Unavailable("no package")
            if "8" in command:
                raise runs.Failed("it\nfailed")
            return answer(command)
        run = run_of(SPEED, of=broken)
        self.assertTrue(run.is_complete)
        self.assertEqual(len(run.sources.taken), 5 + 5 + 3)
        self.assertEqual((set(run.measured.skipped.values()), set(run.measured.failed.values())), ({"no package"}, {"it failed"}))


class Command(samples.Folder):
    def claims(self, *words, rows=(SPEED, LATER), of=answer, code=0):
        """What it prints, and the report."""
        with mock.patch.object(claims, "load", lambda: book_of(*rows)), \
                mock.patch.object(claims_run, "Sources", lambda _: Fake(of)):
            done = self.command("claims", "-o", self.path("out", "claims.json"), *words, code=code)
        has_report = os.path.exists(self.path("out", "claims.json"))
        return done.stdout + done.stderr, json.loads(self.text("out", "claims.json")) if has_report else None

    def test_verdicts_and_codes(self):
        told, report = self.claims()
        self.assertEqual((report["is_complete"], report["settings"]), (True, {"bottleneck_sink": "cost:9"}))
        self.assertIn("Fast over slow: 1.20 x, bar ≥ 1.15 x", told)
        self.assertIn("1 met, 1 not built.", told)
        self.assertIn("MISSED", self.claims(of=lambda run: {"ns": 1, "rate": 1}, code=1)[0])
        slowly = lambda run: time.sleep(0.02) or answer(run)
        told, report = self.claims("--minutes", "0.001", of=slowly, code=1)
        self.assertEqual((report["is_complete"], "Partial" in told), (False, True))

    def test_interrupted_keeps_what_there_is(self):
        def stop(run):
            if "fifo" in run:
                raise KeyboardInterrupt
            return answer(run)
        self.assertFalse(self.claims(of=stop, code=130)[1]["is_complete"])

    def test_words(self):
        self.assertEqual(self.claims("--only", "later")[1]["claims"][0]["id"], "later")
        self.assertIn("fast.rate / slow.rate >= 1.15 x", self.claims("--list")[0])
        self.assertIn("no claim 'sped'; there is speed", self.claims("--only", "sped", code=2)[0])
        self.claims("--minutes", "41", code=2)


class Sources(samples.Folder):
    def take(self, run, **more):
        return claims_run.Sources(self.folder).take(claims.Sample(run, 1, 1), 3, **more)

    def test_programs_that_fail(self):
        with self.assertRaisesRegex(runs.Failed, "there is no such program"):
            self.take("weir-footprint")
        self.executable("weir-machine", "#!/bin/sh\necho '{\"step_ns\": 1.25, \"trip_ns\": null}'\n")
        self.executable("weir-footprint", "#!/bin/sh\necho 1; echo '{\"bytes\": 7}'\n")
        self.assertEqual(self.take("weir-footprint"), {"bytes": 7} | samples.reading(1.25, trip=None))
        self.executable("weir-footprint", "#!/bin/sh\necho no >&2; exit 3\n")
        with self.assertRaisesRegex(runs.Failed, "exit code 3: .*: no"):
            self.take("weir-footprint")
        with self.assertRaisesRegex(runs.Failed, "none of the programs"):
            claims_run.Sources().prepare(["rm -r x"])

    def test_peers(self):
        sources = claims_run.Sources()
        sources.runner = mock.Mock()
        for error, expected in ((peers.Missing("no package"), claims.Unavailable), (peers.Failed("bad"), runs.Failed)):
            sources.runner.run.side_effect = error
            with self.assertRaises(expected):
                sources.take(claims.Sample("peer lttng:blocking flood 1", 1, 1), 1)
        peer, case = sources.runner.run.call_args.args
        self.assertEqual((peer.name, case.kind, case.threads), ("lttng:blocking", "flood", 1))

    @unittest.skipUnless(os.path.exists(os.path.join(BIN, "weir-footprint")), "WEIR_BENCH names no build")
    def test_real_programs(self):
        self.folder = BIN
        row, = self.take("weir-bench floor/clock")
        self.assertGreater(row["ns_per_event"], 0)
        self.assertIsNotNone(state.taken(row))
        self.assertGreater(len(self.take("weir-bench ratio/disabled")), 1)
        self.assertGreater(self.take("weir-footprint")["reserved_bytes"], 0)
        stress = self.take("weir-stress --mode block --threads 2 --events 1000 --sink fast")
        self.assertEqual((stress["lost_events"], stress["written"], stress["seed"]), (0, 2000, 3))


if __name__ == "__main__":
    unittest.main()
