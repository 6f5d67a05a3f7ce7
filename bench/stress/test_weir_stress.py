"""The program weir-stress from outside: refused options, output, and small runs of each mode and sink.

    test_weir_stress.py PROGRAM [--events N]
"""
import argparse
import json
import resource
import subprocess
import unittest

from bench.stress import runs

PROGRAM, EVENTS = None, 0

FIELDS = ("mode wake producers emitted written lost seconds events_per_s park_ns wakes_per_segment jain jain_window_ms "
          "starvation_ns grant_bytes cpu_ns_per_event drain_ceiling_events_per_s producer_ceiling_events_per_s "
          "bound_events_per_s park_law_ns payload record_bytes segment_bytes budget_bytes sink pin seed cpu kernel commit "
          "verified share_min share_max parks grants cores").split()


def call(*options):
    return subprocess.run([PROGRAM, *options], capture_output=True, text=True, timeout=200, check=False)


def measure(test, *options):
    """One run that must succeed."""
    done = call("--json", *options)
    test.assertEqual(done.returncode, 0, f"{options}: {done.stderr}")
    test.assertEqual(done.stderr, "", options)
    test.assertEqual(len(done.stdout.splitlines()), 1)
    run = runs.parse(done.stdout, " ".join(options))
    test.assertEqual(run["emitted"], run["written"] + run.lost)
    return run


RELAY, FIFO = ["--mode", "block", "--wake", "relay"], ["--mode", "block", "--wake", "fifo"]


def listed(option):
    """The words that the program accepts for this option."""
    rows = [line.split() for line in call("--list").stdout.splitlines()]
    return [word for name, word in rows if name == option]


def strategies():
    return [["--mode", "block", "--wake", wake] for wake in listed("wake")]


class Usage(unittest.TestCase):
    """Options that make no sense: exit status 2 and a message that names what to change."""

    WRONG = (
        (["--threads", "0"], "--threads: '0' is not from 1"),
        (["--threads", "four"], "--threads: 'four' is not a number"),
        (["--threads", "99999999999999999999"], "--threads"),
        (["--events", "-1"], "--events"),
        (["--events", "0"], "--events"),
        (["--events", "10K"], "--events"),
        (["--seconds", "0"], "--seconds"),
        (["--seconds", "nan"], "--seconds"),
        (["--seconds", "1s"], "--seconds"),
        (["--seed", ""], "--seed"),
        (["--repeat", "0"], "--repeat"),
        (["--budget", "1Q"], "--budget: '1Q' is not a number of bytes"),
        (["--budget", "99999999999G"], "--budget"),
        (["--budget", "4K"], "from two segments"),
        (["--segment", "5000"], "power of two"),
        (["--payload", "7"], "--payload"),
        (["--payload", "1M"], "--payload"),
        (["--mode", "stop"], "none of "),
        (["--mode", "block", "--wake", "all"], f"none of {', '.join(runs.WAKES.values())}"),
        (["--pattern", "sine", "--rate", "1"], "none of none, drip, bolus"),
        (["--sink", "file"], "none of fast, cost:NS"),
        (["--sink", "cost"], "none of fast, cost:NS"),
        (["--sink", "cost:"], "--sink cost:"),
        (["--sink", "stall:0"], "--sink stall:"),
        (["--sink", "fast:1"], "none of fast"),
        (["extra"], "unexpected: 'extra'"),
        (["--no-such-option"], "--no-such-option"),
        (["--mode"], "--mode"),
    )
    MEANINGLESS = (
        (["--wake", "fifo"], "--mode block"),
        (["--mode", "overwrite", "--no-spin"], "--mode block"),
        (["--grant", "64K"], "--mode block"),
        (["--mode", "block", "--no-yield"], "--mode drop"),
        (["--max-block", "5"], "--mode block"),
        (["--mode", "block", "--wake", "fifo", "--grant", "64K"], "--wake relay"),
        (["--mode", "block", "--wake", "auto-reset", "--no-hand-on"], "--wake relay"),
        (["--mode", "block", "--grant", "4K"], "grant_bytes"),
        (["--mode", "block", "--grant", "1M"], "grant_bytes"),
        (["--mode", "overwrite", "--sink", "slow:1M"], "leave --sink out"),
        (["--events", "1", "--seconds", "1"], "give one of them"),
        (["--pattern", "drip"], "need a --rate"),
        (["--rate", "5", "--pattern", "none"], "leave one of them out"),
        (["--verify", "--sink", "pipe"], "leave --verify out"),
        (["--verify", "--events", "1000000000"], "4 GiB"),
        (["--trace-dir", "/tmp"], "add --verify"),
        (["--bins"], "--json"),
    )

    def test_refused(self):
        for options, text in self.WRONG + self.MEANINGLESS:
            with self.subTest(options=options):
                done = call(*options)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(text, done.stderr)
                self.assertEqual(done.stdout, "")

    def test_a_run_that_cannot_begin(self):
        """The load generator returns the reason; weir-stress prints it."""
        none_left = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))
        done = subprocess.run([PROGRAM, "--sink", "pipe", "--events", "10"], capture_output=True, text=True, timeout=60,
                              check=False, preexec_fn=none_left)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("the run cannot begin: input/output error: no pipe into the reader: Too many open files", done.stderr)

    def test_no_folder(self):
        done = call("--verify", "--trace-dir", "/no/such/folder", "--events", "10")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no file in /no/such/folder", done.stderr)

    def test_help(self):
        done = call("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for name in "seconds events threads seed mode wake budget segment payload sink pin json rate pattern work no-yield".split():
            self.assertIn(f"--{name}", done.stdout)

    def test_list(self):
        self.assertEqual(set(listed("mode")), set(runs.MODES.values()))
        self.assertEqual(listed("wake"), list(runs.WAKES.values()))


class Runs(unittest.TestCase):
    def small(self, *options, verified=True):
        run = measure(self, "--events", str(EVENTS), *options)
        self.assertEqual(run["verified"], True if verified else None)
        return run

    def test_fields(self):
        for mode in (["--mode", "drop"], *strategies()):
            run = measure(self, *mode, "--seconds", "0.3", "--threads", "2", "--seed", "7")
            self.assertLessEqual(set(FIELDS), set(run))
            self.assertEqual(list(run["lost"]), listed("cause"))
            self.assertEqual((run["producers"], run["seed"], run["payload"], run["record_bytes"]), (2, 7, 32, 40))
            self.assertEqual((run["segment_bytes"], run["budget_bytes"], run["sink"], run["pin"]), (32768, 1 << 20, "fast", False))
            self.assertIsNone(run["verified"])
            self.assertGreater(run["written"], 0)

    def test_drop(self):
        run = self.small("--verify", "--mode", "drop")
        self.assertIsNone(run["wake"])
        self.assertEqual(run["emitted"], 4 * EVENTS)

    def test_block_loses_nothing(self):
        for strategy in strategies():
            for more in ([], ["--segment", "4K", "--budget", "256K", "--threads", "16"], ["--sink", "cost:300"]):
                with self.subTest(strategy=strategy, more=more):
                    run = self.small("--verify", *strategy, *more)
                    self.assertEqual((run.lost, run["written"]), (0, run["producers"] * EVENTS))
                    self.assertEqual(run.park("count"), run["parks"])

    def test_relay_knobs(self):
        run = self.small("--verify", *RELAY, "--grant", "64K", "--no-hand-on", "--no-spin", "--no-cap")
        self.assertEqual((run.lost, run["wake_flags"]), (0, 7))
        self.assertLessEqual(run["grant_bytes"], 65536)

    def test_deadline(self):
        run = self.small("--verify", "--mode", "block", "--max-block", "1", "--sink", "stall:60")
        self.assertEqual(run.lost, run["lost"]["DEADLINE"])

    def test_overwrite(self):
        if "not built yet" in call("--mode", "overwrite", "--events", "1").stderr:
            self.skipTest("mode overwrite is not built yet")
        run = self.small("--verify", "--mode", "overwrite", "--budget", "256K")
        # The lock of a thread that is preempted for over a millisecond costs others an event.
        self.assertEqual(run.lost, sum(run["lost"][cause] for cause in ("OVERWRITTEN", "FULL", "NO_SEGMENT")))
        self.assertGreater(run["lost"]["OVERWRITTEN"], 0)
        self.assertGreater(run["written"], 0)

    def test_pipe(self):
        for mode in (["--mode", "drop"], RELAY):
            run = self.small("--sink", "pipe", "--threads", "8", *mode)
            self.assertIsNone(run["drain_ceiling_events_per_s"])

    def test_random_close(self):
        for seed in ("1", "2"):
            for mode in (["--mode", "drop"], *strategies()):
                with self.subTest(mode=mode, seed=seed):
                    run = measure(self, "--sink", "random-close", "--verify", "--seconds", "60", "--seed", seed, *mode)
                    self.assertTrue(run["verified"] and run["ended_early"])
                    self.assertLess(run["seconds"], 50)

    def test_payloads(self):
        for payload in ("0", "8", "16", "24", "40", "512", "520", "8000"):
            with self.subTest(payload=payload):
                self.assertEqual(self.small("--verify", "--payload", payload, "--threads", "3")["payload"], int(payload))

    def test_larger_than_a_segment(self):
        run = measure(self, "--events", "300", "--payload", "65528", "--verify", *RELAY)
        self.assertEqual((run.lost, run["written"], run["verified"]), (0, 1200, True))

    def test_too_large(self):
        run = measure(self, "--events", "20", "--payload", "65528", "--budget", "64K")
        self.assertEqual((run["lost"]["TOO_LARGE"], run["drain_ceiling_events_per_s"]), (80, None))

    def test_rate(self):
        for pattern, most in (("drip", 1100), ("bolus", 2000)):
            run = measure(self, "--rate", "500", "--seconds", "1.5", "--threads", "2", "--pattern", pattern, "--verify")
            self.assertEqual(run.lost, 0)
            self.assertTrue(700 <= run["emitted"] <= 2 * most, run["emitted"])

    def test_work(self):
        run = measure(self, "--work", "100000", "--events", "500", "--no-yield", "--verify")
        self.assertEqual((run["work_ns"], run["no_yield"], run["verified"]), (100000, True, True))
        self.assertGreater(run["seconds"] * run["cores"], run["emitted"] * 0.25e-4)

    def test_slow(self):
        run = measure(self, "--sink", "slow:2M", "--seconds", "0.5", "--threads", "2")
        self.assertLess(run["bytes_sent"] / run["seconds"], 2.2 * (1 << 20))

    def test_bins(self):
        run = self.small(*FIFO, "--bins", verified=False)
        ends = [end for end, _ in run["park_bins"]]
        self.assertEqual(ends, sorted(set(ends)))
        self.assertEqual(sum(count for _, count in run["park_bins"]), run.park("count"))

    def test_repeat(self):
        done = call("--json", "--repeat", "2", "--events", "100", "--seed", "5")
        self.assertEqual([json.loads(line)["seed"] for line in done.stdout.splitlines()], [5, 6])

    def test_text(self):
        done = call("--events", "1000", "--mode", "drop")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("written per second", done.stdout)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--events", type=int, default=50000)
    arguments, rest = parser.parse_known_args()
    PROGRAM, EVENTS = arguments.program, arguments.events
    unittest.main(argv=[__file__, *rest])
