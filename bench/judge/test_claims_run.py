"""./dev bench claims from its words to its report, on sources that are made up."""
import contextlib
import functools
import io
import json
import os
import shutil
import stat
import tempfile
import unittest
from unittest import mock

import claims
import claims_run
import claims_sources
import cmd_claims
import command
import peers
from points import Invalid
from borrow import runs
from test_claims import CLAIM, NOT_BUILT, SAMPLES, book_of, changed

CLOCK = {"ns_per_event": 10}


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class Fake:
    """A source that answers from a function of the sample and the round, and notes what it was asked."""

    def __init__(self, answer, takes_s=1.0, clock=None):
        self.answer, self.takes_s, self.clock, self.taken, self.prepared = answer, takes_s, clock, [], []
        self.is_closed = False

    def prepare(self, samples):
        self.prepared = samples

    def takes(self, sample):
        return sample.get("takes", self.takes_s)

    def settings(self):
        return {"bottleneck_sink": "cost:9"}

    def close(self):
        self.is_closed = True

    def take(self, sample, index):
        self.taken.append((sample, index))
        if self.clock:
            self.clock.now += self.takes_s
        return self.answer(sample, index)


def stress(sample, _index):
    return {"events_per_s": 10 if sample["options"].get("wake") == "fifo" else 12}


def sources_of(answer=stress, clock=None, **more):
    return {"bench": Fake(lambda *_: CLOCK, clock=clock), "stress": Fake(answer, clock=clock)} | more


def run_of(plan, seconds=1000, clock=None):
    run = claims_run.Run(plan, seconds, clock=clock or Clock(), progress=mock.Mock())
    run.run()
    return run


class Plans(unittest.TestCase):
    def plan(self, *found, is_quick=False, **more):
        book = book_of(*found)
        return claims_run.Plan(book, book.claims, sources_of(**more), is_quick)

    def test_samples_are_shared(self):
        plan = self.plan(CLAIM, changed(CLAIM, id="other", measure="fast.events_per_s"), NOT_BUILT)
        self.assertEqual(len(plan.samples), 5)  # the clock, and two for each of two cells
        self.assertEqual(plan.seconds(), 25)

    def test_what_is_compared_is_taken_together(self):
        plan = self.plan(CLAIM)
        self.assertEqual(sorted(map(len, plan.groups)), [1, 2, 2])
        for index in range(4):
            order = plan.order(index)
            self.assertEqual(sorted(order), sorted(plan.samples))
            threads = [plan.samples[key].get("options", {}).get("threads") for key in order]
            self.assertEqual(abs(threads.index("1") - (len(threads) - 1 - threads[::-1].index("1"))), 1)

    def test_groups_that_share_a_sample_are_one(self):
        one, other, both = ({"name": name} for name in "abc")
        self.assertEqual([len(group) for group in claims_run.groups_of([[one], [other], [other, both], [both, one]])],
                         [3])

    def test_rounds(self):
        run = run_of(self.plan(CLAIM))
        self.assertEqual({run.measured.count(key) for key in run.plan.samples}, {5})
        self.assertTrue(run.is_complete)
        seeds = [index for _, index in run.plan.sources["stress"].taken]
        self.assertEqual(sorted(set(seeds)), [1, 2, 3, 4, 5])

    def test_quick(self):
        samples = {**SAMPLES, "samples": SAMPLES["samples"] | {"slow": SAMPLES["samples"]["slow"] | {"takes": 30}}}
        book = book_of(CLAIM, samples=samples)
        run = run_of(claims_run.Plan(book, book.claims, sources_of(), is_quick=True))
        self.assertEqual(len(run.plan.sources["stress"].taken), 2)
        self.assertIn("takes 30 s, too long for --quick", run.measured.skipped.values())

    def test_fewer_rounds_if_the_time_is_short(self):
        clock = Clock()
        run = run_of(self.plan(CLAIM, clock=clock), seconds=12, clock=clock)
        self.assertEqual({run.measured.count(key) for key in run.plan.samples}, {2})
        self.assertFalse(run.is_complete)
        self.assertEqual(run.why, "the time was over in round 3 of 5")

    def test_a_round_that_is_cut_short_is_not_complete(self):
        clock = Clock()

        def answer(sample, index):
            clock.now += 10 * (index == 5)  # longer than it was expected to take
            return stress(sample, index)
        plan = self.plan(CLAIM, answer=answer, clock=clock)
        run = run_of(plan, seconds=40, clock=clock)
        self.assertEqual({run.measured.count(key) for key in plan.samples}, {4, 5})
        self.assertFalse(run.is_complete)

    def test_no_time_for_the_first_round(self):
        clock = Clock()
        run = run_of(self.plan(CLAIM, clock=clock), seconds=3, clock=clock)
        self.assertFalse(run.is_complete)
        self.assertEqual(sum(run.measured.count(key) for key in run.plan.samples), 3)
        self.assertEqual(len(run.measured.skipped), 2)

    def test_what_is_not_there_is_asked_once(self):
        def answer(sample, index):
            if sample["options"].get("wake"):
                raise claims.Unavailable("no package")
            return stress(sample, index)
        run = run_of(self.plan(CLAIM, answer=answer))
        self.assertEqual(len(run.plan.sources["stress"].taken), 2 * 5 + 2)
        self.assertEqual(set(run.measured.skipped.values()), {"no package"})

    def test_what_fails_is_told_on_one_line(self):
        def answer(_sample, _index):
            raise runs.Failed("it fell\nover")
        run = run_of(self.plan(CLAIM, answer=answer))
        self.assertEqual(set(run.measured.failed.values()), {"it fell over"})


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.out = os.path.join(self.folder, "claims.json")

    def report(self):
        with open(self.out, encoding="utf-8") as file:
            return claims.validate("report", json.load(file), "test")


class Command(Folder):
    def run_command(self, *words, found=(CLAIM, NOT_BUILT), **sources):
        printed, said = io.StringIO(), io.StringIO()
        with mock.patch.object(claims, "load", lambda: book_of(*found)), contextlib.redirect_stdout(printed), \
                contextlib.redirect_stderr(said):
            code = cmd_claims.main([*words, "-o", self.out], sources_of(**sources))
        return code, printed.getvalue()

    def test_all_met(self):
        code, printed = self.run_command()
        self.assertEqual(code, 0)
        self.assertRegex(printed, r"(?m)^met +speed +1\.20 x +≥ 1\.15 x\n    It is fast\.$")
        self.assertRegex(printed, r"(?m)^not built +later +– +–\n    It will be\.\n    - nobody has built it$")
        self.assertIn("Calibration: clock read 10 ns.", printed)
        self.assertIn("1 met, 1 not built.", printed)
        report = self.report()
        self.assertEqual((report["is_complete"], report["is_quick"], report["settings"]),
                         (True, False, {"bottleneck_sink": "cost:9"}))
        self.assertEqual(report["claims"][0]["cells"][0]["measured"]["rounds"], 5)
        self.assertTrue(report["environment"]["cpu"])

    def test_missed(self):
        code, printed = self.run_command(answer=lambda *_: {"events_per_s": 10})
        self.assertEqual(code, 1)
        self.assertRegex(printed, r"(?m)^MISSED +speed +1 x ")

    def test_failed(self):
        code, printed = self.run_command(answer=mock.Mock(side_effect=runs.Failed("it fell over")))
        self.assertEqual(code, 1)
        self.assertRegex(printed, r"(?m)^FAILED ")
        self.assertIn("it fell over", printed)

    def test_skipped_is_not_met(self):
        code, printed = self.run_command(answer=mock.Mock(side_effect=claims.Unavailable("no package")))
        self.assertEqual(code, 1)
        self.assertRegex(printed, r"(?m)^skipped ")
        self.assertIn("no package", printed)

    def test_what_does_not_apply_is_no_miss(self):
        claim = changed(CLAIM, when={"words": "it is slow", "measure": "fast.events_per_s", "op": "<=", "value": 1})
        code, printed = self.run_command(found=(claim,))
        self.assertEqual(code, 0)
        self.assertRegex(printed, r"(?m)^does not apply ")
        self.assertEqual(self.report()["claims"][0]["verdict"], "excluded")

    def test_fewer_rounds_than_wanted_are_partial(self):
        clock = Clock()
        with mock.patch.object(claims_run, "Run", functools.partial(claims_run.Run, clock=clock)):
            code, printed = self.run_command("--minutes", "0.1", clock=clock)
        self.assertEqual(code, 1)
        self.assertIn("1 met, 1 not built.", printed)
        self.assertIn("Partial", printed)
        self.assertFalse(self.report()["is_complete"])

    def test_only(self):
        code, printed = self.run_command("--only", "later")
        self.assertEqual((code, [result["id"] for result in self.report()["claims"]]), (0, ["later"]))
        self.assertNotIn("It is fast", printed)

    def test_json(self):
        _, printed = self.run_command("--json")
        self.assertEqual(json.loads(printed), self.report())

    def test_list_measures_nothing(self):
        code, printed = self.run_command("--list", answer=mock.Mock(side_effect=AssertionError))
        self.assertEqual(code, 0)
        self.assertRegex(printed, r"(?m)^later +not built +emit +architecture, section 10\n    It will be\.$")
        self.assertFalse(os.path.exists(self.out))

    def test_quick_says_so(self):
        _, printed = self.run_command("--quick")
        self.assertIn("Quick: one round", printed)
        self.assertTrue(self.report()["is_quick"])

    def test_interrupted(self):
        calls = []

        def answer(sample, index):
            calls.append(sample)
            if len(calls) == 3:
                raise KeyboardInterrupt
            return stress(sample, index)
        code, printed = self.run_command(answer=answer)
        self.assertEqual(code, 130)
        self.assertIn("Partial", printed)
        report = self.report()
        self.assertFalse(report["is_complete"])
        self.assertIn("interrupted", report["note"])
        self.assertIn("skipped", [cell["verdict"] for cell in report["claims"][0]["cells"]])

    def test_usage(self):
        with self.assertRaisesRegex(command.Usage, "no claim 'laterr'; there is later"):
            self.run_command("--only", "laterr")
        for words in (("--minutes", "0"), ("--minutes", "21"), ("--minutes", "x"), ("--nonsense",), ("--only",)):
            with self.subTest(words), self.assertRaises(SystemExit) as caught:
                self.run_command(*words)
            self.assertEqual(caught.exception.code, 2)


class Sources(Folder):
    """Against programs that are scripts."""

    def setUp(self):
        super().setUp()
        self.sources = claims_sources.all_sources(claims_sources.Programs(self.folder))

    def script(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + text)
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)

    def take(self, sample):
        source = self.sources[sample["source"]]
        source.prepare([sample])
        return source.take(sample, 1)

    def test_program(self):
        sample = {"source": "program", "program": "weir-footprint", "takes": 1}
        self.script("weir-footprint", 'echo words; echo \'{"first": 2}\'\n')
        self.assertEqual(self.take(sample), {"first": 2})
        for text, words in (("echo nothing", "it printed no JSON object"),
                            ("echo broken >&2; exit 3", "exit code 3: .*: broken")):
            self.script("weir-footprint", text)
            with self.assertRaisesRegex(runs.Failed, words):
                self.take(sample)
        self.script("weir-footprint", "echo '{'")
        with self.assertRaisesRegex(Invalid, "weir-footprint"):
            self.take(sample)
        with self.assertRaisesRegex(runs.Failed, "'rm' is none of the programs"):
            self.take(sample | {"program": "rm"})

    def test_program_that_is_not_there(self):
        with self.assertRaisesRegex(runs.Failed, "there is no such program"):
            self.take({"source": "program", "program": "weir-footprint", "takes": 1})

    def test_benchmark(self):
        self.script("weir-bench",
                    "echo floor/clock/manual_time; echo emit/a.b/payload:32/iterations:1/manual_time/threads:2\n")
        sample = {"source": "bench", "name": "emit/a.b/payload:32/threads:2"}
        row = {"name": "emit/a.b/payload:32/iterations:1/manual_time/threads:2", "real_time": 0.5, "time_unit": "us",
               "ratio": 1.5}
        with mock.patch.object(claims_sources.benchmark, "run", mock.Mock(return_value={"benchmarks": [row]})) as run:
            self.assertEqual(self.take(sample)["ns_per_event"], 500)
            self.assertRegex(row["name"], run.call_args.kwargs["filter"])
            self.assertNotRegex(row["name"].replace("a.b", "axb"), run.call_args.kwargs["filter"])
            run.return_value = {"benchmarks": [row | {"error_occurred": True, "error_message": "events were lost"}]}
            with self.assertRaisesRegex(runs.Failed, "events were lost"):
                self.take(sample)
            run.return_value = {"benchmarks": []}
            with self.assertRaisesRegex(runs.Failed, "reports nothing of"):
                self.take(sample)
        with self.assertRaisesRegex(runs.Failed, "no benchmark fits '.emit/gone.'"):
            self.take({"source": "bench", "name": "emit/gone"})

    def test_stress(self):
        fake = os.path.join(os.path.dirname(runs.__file__), "fake_program.py")
        self.script("weir-stress", f'echo "$@" >> {self.folder}/words; exec /usr/bin/env python3 -B {fake} "$@"\n')
        options = {"mode": "block", "wake": "relay", "threads": "8", "sink": "bottleneck", "segment": "grant",
                   "pin": True, "seconds": 0.1}
        found = self.take({"source": "stress", "options": options})
        self.assertEqual((found["lost_events"], found["pin"]), (0, True))
        settings = self.sources["stress"].settings()
        self.assertRegex(settings["bottleneck_sink"], r"^cost:\d+$")
        with open(os.path.join(self.folder, "words"), encoding="utf-8") as file:
            last = file.read().splitlines()[-1]
        self.assertIn(f"--sink {settings['bottleneck_sink']} --segment {settings['grant_kib']['8']}K --pin", last)
        with self.assertRaisesRegex(runs.Failed, "8 and 32 producers, not for 9"):
            self.take({"source": "stress", "options": options | {"threads": "9"}})

    def test_stress_that_loses(self):
        fake = os.path.join(os.path.dirname(runs.__file__), "fake_program.py")
        self.script("weir-stress", f'FAKE=lossy exec /usr/bin/env python3 -B {fake} "$@"\n')
        with self.assertRaisesRegex(runs.Failed, "BLOCK lost 1 events"):
            self.take({"source": "stress", "options": {"mode": "block", "wake": "relay", "threads": 8, "sink": "fast",
                                                       "segment": "32K"}})

    def test_peers(self):
        sample = {"source": "peers", "peer": "lttng", "variant": "blocking", "case": "sustained", "threads": "2"}
        ran = mock.Mock(return_value={"ns_per_event": 200})
        with mock.patch.object(peers, "build"), mock.patch.object(peers.Runner, "run", ran):
            self.assertEqual(self.take(sample), {"ns_per_event": 200})
            self.assertEqual([(peer.name, case.kind, case.threads) for (peer, case),
                              _ in map(tuple, ran.call_args_list)],
                             [("lttng:blocking", "sustained", 2)])
            ran.side_effect = peers.Missing("no package lttng-tools")
            with self.assertRaisesRegex(claims.Unavailable, "no package lttng-tools"):
                self.take(sample)
            ran.side_effect = peers.Failed("it fell over")
            with self.assertRaisesRegex(runs.Failed, "it fell over"):
                self.take(sample)
            with self.assertRaisesRegex(runs.Failed, "'nobody' is not a peer"):
                self.take({"source": "peers", "peer": "nobody", "case": "burst", "threads": 1})
        folder = self.sources["peers"].runner.workplace.folder
        self.assertTrue(os.path.isdir(folder))
        self.sources["peers"].close()
        self.assertFalse(os.path.exists(folder))

    def test_count(self):
        self.script("count",
                    'echo \'{"rows": [{"name": "code/weir_emit/calls", "unit": "calls", "value": 0}]}\'; exit 1\n')
        source = self.sources["count"]
        source.COMMAND = [os.path.join(self.folder, "count")]
        self.assertEqual(self.take({"source": "count"}), {"code/weir_emit/calls": 0})
        for text, words in (("echo '{}'", "no rows"), ("echo broken >&2; exit 2", "exit code 2")):
            self.script("count", text)
            with self.assertRaisesRegex(runs.Failed, words):
                self.take({"source": "count"})


@unittest.skipUnless(os.environ.get("WEIR_BENCH"), "WEIR_BENCH is weir-bench, in the folder of weir-footprint")
class Smoke(Folder):
    """The real programs, as briefly as they can be run."""

    def test_real(self):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
            code = cmd_claims.main(["--quick", "--only", "disabled", "reserved", "--programs",
                                    os.path.dirname(os.environ["WEIR_BENCH"]), "-o", self.out])
        self.assertIn(code, (0, 1))  # speed is no verdict here
        results = {result["id"]: result for result in self.report()["claims"]}
        self.assertEqual({result["verdict"] in ("met", "missed") for result in results.values()}, {True},
                         printed.getvalue())
        self.assertEqual(results["reserved"]["verdict"], "met")


if __name__ == "__main__":
    unittest.main()
