"""pairs.py, verdict.py, alternate.py: statistics on samples whose truth is known, in the real order of processes."""
import contextlib
import io
import math
import random
import unittest
from dataclasses import replace

from bench.judge import alternate, command, pairs, state, verdict

NAMES = [f"suite/bench:{number}" for number in range(5)]


class Machine(alternate.Round):
    """Rounds whose processes take what a model of noise says, in the order in which they would run."""

    def __init__(self, noise, slower, seed, names=NAMES):
        group = alternate.Group((".*",), 1, 1, alternate.LEAST)
        super().__init__(None, (group,), {name: name for name in names}, seed)
        self.names, self.noise, self.slower, self.moment = names, NOISES[noise], slower, 0
        self.chance = random.Random(seed * 7 + 1)

    def process(self, side):
        self.moment += 1
        factor = self.slower if side == "head" else 1.0
        return {name: [(10 * factor * math.exp(self.noise(self.chance, self.moment)), None)] for name in self.names}


class Shared(Machine):
    """The core's other hardware thread becomes busy or idle within seconds; while it is busy, everything takes about 1.4
    times as long. Ten repetitions a process, each of which measures the state before and after."""

    def __init__(self, slower, seed, is_measured):
        super().__init__("quiet", slower, seed, NAMES[:2])
        self.groups = [(replace(group, repetitions=10), names) for group, names in self.groups]
        self.is_measured, self.is_busy = is_measured, False

    def repetition(self, factor):
        before, self.is_busy = self.is_busy, self.is_busy ^ (self.chance.random() < 1 / 30)
        levels = [1.4 * math.exp(self.chance.gauss(0, 0.05)) if busy else 1.0 for busy in (before, self.is_busy)]
        reading = state.Reading(tuple(1.2 * level * math.exp(abs(self.chance.gauss(0, 0.01))) for level in levels), (None, None))
        value = 10 * factor * sum(levels) / 2 * math.exp(self.noise(self.chance, 0))
        return value, reading if self.is_measured else None

    def process(self, side):
        factor = self.slower if side == "head" else 1.0
        return {name: [self.repetition(factor) for _ in range(10)] for name in self.names}


# Noise, by what chance has for it and the moment.
NOISES = {
    "quiet": lambda chance, _: chance.gauss(0, 0.02),
    "loud": lambda chance, _: chance.gauss(0, 0.15),
    "drifting": lambda chance, moment: 0.004 * moment + chance.gauss(0, 0.02),
    # The machine becomes half as fast for a while.
    "stepping": lambda chance, moment: (0.7 if moment // 40 % 2 else 0.0) + chance.gauss(0, 0.02),
    # A process is fast or slow for its whole life.
    "bimodal": lambda chance, _: chance.choice((0.0, 0.5)) + chance.gauss(0, 0.02),
    # One in ten is hit by something large.
    "disturbed": lambda chance, _: chance.gauss(0, 0.02) + (chance.expovariate(1) if chance.random() < 0.1 else 0),
}


def verdicts(noise, slower, seed, rounds=15):
    machine = Machine(noise, slower, seed)
    for _ in range(rounds):
        machine.run()
    return [row["verdict"] for row in verdict.judge(machine.samples())]


class Pairs(unittest.TestCase):
    def test_estimate_of_a_known_sample(self):
        # Hollander and Wolfe, depression scale factors: R's wilcox.test says 0.46, and 0.010 to 0.786 for 96.1 %.
        before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]
        after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
        differences = [a - b for a, b in zip(before, after)]
        middle, low, high = pairs.hodges_lehmann(differences)
        self.assertAlmostEqual(middle, 0.46, places=3)
        self.assertAlmostEqual(low, 0.010, places=3)
        self.assertAlmostEqual(high, 0.786, places=3)
        self.assertAlmostEqual(pairs.p_value(differences), 0.0390625, places=7)

    def test_the_interval_holds_the_truth(self):
        chance = random.Random(1)
        held = 0
        for _ in range(400):
            _, low, high = pairs.hodges_lehmann([chance.gauss(0.3, 1) for _ in range(16)])
            held += low <= 0.3 <= high
        self.assertGreaterEqual(held, 0.93 * 400)

    def test_holm(self):
        self.assertEqual(pairs.holm([0.01, 0.04, 0.03]), [0.03, 0.06, 0.06])
        self.assertEqual(pairs.holm([0.6, 0.7]), [1.0, 1.0])


class Families(unittest.TestCase):
    """The more benchmarks, the more pairs: with too few, none of them could be red."""

    def test_twice_as_slow_is_red_in_a_family_of_any_size(self):
        for count in (1, 5, 26, 300):
            with self.subTest(count):
                machine = Machine("quiet", 2.0, 1, [f"suite/bench:{number}" for number in range(count)])
                with contextlib.redirect_stderr(io.StringIO()):
                    alternate.repeat(machine, 0.0, 1 << 30, command.Progress(), "comparing")
                self.assertEqual({row["verdict"] for row in verdict.judge(machine.samples())}, {"regressed"})
                self.assertEqual(machine.left_out(), [])

    def test_what_has_too_few_for_its_family_is_not_the_same_but_left_out(self):
        names = [f"suite/bench:{number}" for number in range(26)]
        machine = Machine("quiet", 2.0, 1, names)
        for _ in range(verdict.PAIRS_MIN // 2):
            machine.run()
        self.assertEqual((machine.samples(), [name for name, _, _ in machine.left_out()]), ([], names))


class FalseReds(unittest.TestCase):
    """Base against itself: five benchmarks, and none of them may look slower more than once in a hundred runs, before
    the repeat that a regression needs."""

    def test_each_noise(self):
        for noise in NOISES:
            with self.subTest(noise):
                found = [verdicts(noise, 1.0, seed) for seed in range(100)]
                red = sum("regressed" in one for one in found)
                self.assertLessEqual(red, 1, f"{red} of 100 runs")


class Power(unittest.TestCase):
    def shown(self, noise, slower, wanted, at_least):
        found = [verdicts(noise, slower, seed)[0] for seed in range(40)]
        self.assertGreaterEqual(found.count(wanted), at_least * 40, f"{noise}: {found}")

    def test_a_fifth_slower_is_seen(self):
        for noise, at_least in (("quiet", 1), ("drifting", 0.95), ("stepping", 0.95), ("disturbed", 0.7)):
            with self.subTest(noise):
                self.shown(noise, 1.2, "regressed", at_least)

    def test_what_is_under_the_limit_is_not_red(self):
        self.shown("quiet", 1.02, "same", 1)

    def test_a_machine_that_cannot_tell_says_so(self):
        self.shown("bimodal", 1.0, "unstable", 0.9)


class States(unittest.TestCase):
    """In twenty runs each: what was undecided without the states is decided with them."""

    def rows(self, slower, seed, is_measured=True):
        machine = Shared(slower, seed, is_measured)
        for _ in range(25):
            machine.run()
        return verdict.judge(machine.samples())

    def test_without_states_it_is_seldom_found(self):
        found = [row["verdict"] for seed in range(20) for row in self.rows(1.05, seed, is_measured=False)]
        self.assertLess(found.count("regressed"), 0.5 * len(found))
        self.assertIn("unstable", found)

    def test_no_change_is_never_red(self):
        rows = [row for seed in range(20) for row in self.rows(1.0, seed)]
        self.assertEqual({row["verdict"] for row in rows if row["state"] == state.OWN}, {"same"})
        self.assertNotIn("regressed", [row["verdict"] for row in rows])
        self.assertEqual({row["state"] for row in rows}, set(state.CORES))

    def test_5_percent_is_found(self):
        found = [{row["bench"] for row in self.rows(1.05, seed) if row["verdict"] == "regressed"} for seed in range(20)]
        for name in NAMES[:2]:
            self.assertGreaterEqual(sum(name in one for one in found), 19, name)

    def test_names(self):
        least = 1.2
        for steps, trips, name in (((1.2, 1.3), (None, None), "own core"), ((1.9, 1.4), (None, None), "shared core"),
                                   ((1.2, 1.4), (None, None), "mixed"), ((1.2, 1.2), (80, 275), "own core, one cache"),
                                   ((1.4, 1.4), (350, 350), "shared core, two caches"), ((1.2, 1.2), (80, 350), "mixed"),
                                   ((1.2, 1.2), (80, None), "mixed")):
            self.assertEqual(state.of(state.Reading(steps, trips), least), name)
        self.assertEqual(state.of(None, least), "")
        self.assertIsNone(state.taken({"real_time": 1}))


class Rules(unittest.TestCase):
    """say(): of the interval of logarithms of how much slower, the control's width, and p."""

    def test_limits(self):
        for low, high, width, p, wanted in (
                (0.04, 0.20, 0.01, 0.001, "regressed"), (0.025, 0.20, 0.01, 0.001, "same"),
                (0.06, 0.20, 0.08, 0.001, "same"), (0.09, 0.20, 0.08, 0.001, "regressed"),
                (0.06, 0.20, 0.01, 0.02, "same"), (0.3, 0.5, 0.12, 0.001, "regressed"),
                (0.06, 0.5, 0.12, 0.001, "unstable"), (-0.2, -0.06, 0.01, 0.001, "improved"),
                (-0.2, -0.025, 0.01, 0.001, "same")):
            with self.subTest(low=low, high=high, width=width, p=p):
                self.assertEqual(verdict.say(low, high, width, p), wanted)

    def test_a_lower_limit(self):
        for low, width, wanted in ((0.012, 0.001, "regressed"), (0.008, 0.001, "same"), (0.012, 0.02, "same")):
            self.assertEqual(verdict.say(low, 0.02, width, 0.001, verdict.LIMIT_ON_ONE), wanted)
        on_one, on_two = alternate.FAST[:2]
        self.assertEqual([on_one.limit(state.OWN), on_one.limit(state.SHARED), on_two.limit(state.OWN)],
                         [verdict.LIMIT_ON_ONE, verdict.LIMIT, verdict.LIMIT])

    def test_more_is_better(self):
        base = [100 + number % 3 for number in range(16)]
        head = [value * 0.7 for value in base]
        for better, wanted in (("less", "improved"), ("more", "regressed")):
            row, = verdict.judge([verdict.Samples("b", "u", better, base, head, list(reversed(base)))])
            self.assertEqual(row["verdict"], wanted)
            self.assertAlmostEqual(row["ratio"], 0.7)


class Order(unittest.TestCase):
    def test_a_round_is_a_palindrome_of_all_three(self):
        machine = Machine("quiet", 1.0, 5)
        sides = []
        machine.process = lambda side: sides.append(side) or {name: [(1.0, None)] for name in NAMES}
        orders = set()
        for _ in range(50):
            sides.clear()
            machine.run()
            self.assertEqual(sides, sides[::-1])
            self.assertEqual(sorted(sides[:3]), sorted(alternate.SIDES))
            orders.add(tuple(sides[:3]))
        self.assertEqual(len(orders), 6)

    def test_a_benchmark_that_fails_loses_its_round_only(self):
        machine = Machine("quiet", 1.0, 5)
        real, calls = machine.process, []

        def process(side):
            values = real(side)
            calls.append(side)
            if len(calls) == 3:
                del values[NAMES[0]]
            return values
        machine.process = process
        for _ in range(7):
            machine.run()
        counts = {one.bench: len(one.base) for one in machine.samples()}
        self.assertEqual(counts, {NAMES[0]: 12, **{name: 14 for name in NAMES[1:]}})


if __name__ == "__main__":
    unittest.main()
