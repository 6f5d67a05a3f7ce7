"""Processes of base, of head, and of a copy of base, in turn: what makes two builds comparable on a machine whose
speed changes from minute to minute.

What two repetitions inside one process say is not independent: they share their pages, their place in the caches, the
moment. So the process is the unit. A round is six of them, a random order of the three programs and then the same order
backwards (base head copy copy head base): what drifts cancels.

Each repetition is of a state of the machine, and only those of one state are compared: see state.py.

Where a benchmark's time is of the processor, a process gives the least of its repetitions: whatever else goes on can
only make one slower, and not all of them are hit. Where this was tried, that varied half as much from process to
process as their medians did. What waits for others, as at the brim, has no such floor, and gives its median.

An emitter and its drain share one processor. On two, lines of the buffers come back from the drain's, and the same event
takes 10 or 14 ns, depending on where the system has put the drain. On one, in an otherwise idle core, half of the
processes were within 0.2 % of each other, so a difference of 1 % can be seen.
"""
import collections
import contextlib
import os
import random
import re
import shutil
import statistics
import sys
import time
from dataclasses import dataclass, field, replace

import numpy

from bench.judge import benchmark, convert, state, verdict
from bench.judge.command import runs

SIDES = ("base", "head", "control")
LEAST, MEDIAN = 0.0, 0.5  # quantiles
REPETITIONS_LEAST = 2  # in one state, for a process to have a value in it
PROCESS_SECONDS_MAX = 120
DEFAULT_WAKE = next(iter(runs.WAKES.values()))


@dataclass
class Group:
    """Benchmarks that one process runs: names as the results have them, and how much of each."""
    names: tuple  # regular expressions over whole names
    min_time: float
    repetitions: int
    quantile: float  # of the repetitions of a process
    options: tuple = ()
    is_on_one: bool = False  # on one processor

    def limit(self, found):
        return verdict.LIMIT_ON_ONE if self.is_on_one and found == state.OWN else verdict.LIMIT


# Few benchmarks, since the rarest chance grows with their number, and short ones, since processes are what counts and a
# state of the machine may last for milliseconds: a repetition is a few bursts.
MIN_TIME = 0.0003
FAST = (Group(("emit/enabled/payload:32/threads:1", "emit/no_clock/payload:32/threads:1",
               "emit/dropped/payload:32/threads:1"), MIN_TIME, 10, LEAST, is_on_one=True),
        Group(("drain/encode/payload:32",), MIN_TIME, 10, LEAST),
        Group((f"brim/block/{DEFAULT_WAKE}/producers:8/segment:32768",), 0.01, 1, MEDIAN, ("--brim_seconds=0.08",)))
FULL = (Group(("emit/(disabled|enabled/payload:[0-9]+|no_clock/payload:32|dropped/payload:32)/threads:1",),
              MIN_TIME, 10, LEAST, is_on_one=True),
        Group(("drain/(encode|tmpfs)/payload:[0-9]+", "reader/decode/payload:(0|32|1024)"), MIN_TIME, 10, LEAST),
        Group(("brim/block/[a-z-]+/producers:(1|8)/segment:32768",
               "brim/overwrite/producers:8/segment:32768"), 0.01, 1, MEDIAN, ("--brim_seconds=0.1",)))


def group_of(name):
    """That benchmark alone, with the settings that its kind has."""
    like = FULL[{"emit": 0, "brim": 2}.get(name.partition("/")[0], 1)]
    return replace(like, names=(re.escape(name),))


def filtered(groups, pattern):
    """The groups, with those of their names only that fit."""
    return tuple(replace(group, names=tuple(f"(?=.*(?:{pattern})){name}" for name in group.names))
                 for group in groups)


def thinned(values, count):
    """So many of them, from the first to the last."""
    return [values[number * len(values) // count] for number in range(count)]


class Programs:
    """The three, in folders whose names are equally long: where the stack begins depends on the length of a path."""

    def __init__(self, folder, base, head):
        self.paths = {}
        shutil.rmtree(folder, ignore_errors=True)
        for side, source in zip(SIDES, (base, head, base)):
            where = os.path.join(folder, f"{SIDES.index(side)}")
            os.makedirs(where)
            self.paths[side] = shutil.copy2(source, os.path.join(where, "weir-bench"))

    def names(self, side):
        return {benchmark.plain(name): name for name in benchmark.names(self.paths[side])}

    def common(self):
        """The names that base and head have, as base calls them; those that only base has; those that only head has."""
        base, head = self.names("base"), self.names("head")
        return ({name: base[name] for name in base if name in head}, sorted(base.keys() - head.keys()),
                sorted(head.keys() - base.keys()))


class Round:
    """Runs groups of the programs' benchmarks, and keeps a value of each process."""

    def __init__(self, programs, groups, available, seed):
        self.programs, self.random = programs, random.Random(seed)
        self.processor = None  # of the benchmarks that have one; the same for all processes of a round
        self.groups = [(group, self.wanted(group, available)) for group in groups]
        self.groups = [(group, names) for group, names in self.groups if names]
        self.values = {name: {side: [] for side in SIDES} for _, names in self.groups for name in names}
        self.contexts = {side: [] for side in SIDES}  # of the reports
        self.reasons = {}  # the last of each benchmark
        self.failed = collections.Counter()  # processes, by (benchmark, side)

    @staticmethod
    def wanted(group, available):
        return {name: full for name, full in available.items() if any(re.fullmatch(one, name) for one in group.names)}

    def process(self, side):
        """{name: [(time, reading)]} of the repetitions of one process; a benchmark that could not measure has none."""
        found = {}
        for group, names in self.groups:
            with processors(lambda all_of_them: {self.processor} if group.is_on_one else all_of_them):
                report = benchmark.run(self.programs.paths[side], benchmark.exactly(names.values()), group.min_time,
                                       group.repetitions, group.options, seconds_max=PROCESS_SECONDS_MAX)
            self.contexts[side].append(report["context"])
            failures = benchmark.failures(report)
            self.reasons.update(failures)
            self.failed.update((name, side) for name in failures)
            for name, rows in benchmark.repetitions_of(report).items():
                if name in names and name not in failures:
                    found[name] = [(convert.time_ns(row, "weir-bench"), state.taken(row)) for row in rows]
        return found

    def run(self):
        """Two processes of each side. A benchmark that failed in one of the six loses the round, and only that one."""
        order = self.random.sample(SIDES, len(SIDES))
        self.processor = self.random.choice(sorted(os.sched_getaffinity(0)))
        found = {side: [] for side in SIDES}
        for side in order + order[::-1]:
            found[side].append(self.process(side))
        for name, sides in self.values.items():
            values = {side: [one.get(name) for one in found[side]] for side in SIDES}
            if all(value for both in values.values() for value in both):
                for side in SIDES:
                    sides[side] += values[side]

    def pairs_needed(self):
        return verdict.pairs_needed(len(self.values))

    def fastest(self):
        return state.fastest(reading for sides in self.values.values() for side in sides.values() for process in side
                             for _, reading in process)

    def by_state(self, process, group, least_ns):
        """{state: value} of the repetitions of a process."""
        found = state.split(process, lambda one: one[1], least_ns)
        enough = min(REPETITIONS_LEAST, group.repetitions)
        return {name: float(numpy.quantile([time for time, _ in some], group.quantile))
                for name, some in found.items() if name != state.MIXED and len(some) >= enough}

    def samples_of(self, group, name, least_ns):
        """By state. A side's processes in that state are paired in their order, not by round: within a state a value of
        a second later is as good, and few rounds have one state in all of their processes."""
        processes = [[self.by_state(process, group, least_ns) for process in self.values[name][side]] for side in SIDES]
        for found in sorted({key for one in processes[0] for key in one}, key=state.rank):
            sides = [[one[found] for one in some if found in one] for some in processes]
            pairs = min(map(len, sides))
            if pairs >= verdict.PAIRS_MIN:
                yield verdict.Samples(name, "ns", "less", *(thinned(values, pairs) for values in sides), state=found,
                                      limit=group.limit(found))

    def samples(self):
        """Of the benchmarks and states that have enough of them."""
        least_ns = self.fastest()
        found = [one for group, names in self.groups for name in names for one in self.samples_of(group, name, least_ns)]
        needed = verdict.pairs_needed(max(len(found), len(self.values)))
        return [one for one in found if len(one.base) >= needed]

    def is_heads(self, name):
        """Is it head that could not measure it, and not the machine, which keeps base from it as well?"""
        return self.failed[name, "head"] > self.failed[name, "base"]

    def left_out(self):
        """(name, reason, is it head's) of the others."""
        judged, few = {one.bench for one in self.samples()}, "too few processes in one state of the machine"
        return [(name, self.reasons.get(name, few), self.is_heads(name)) for name in self.values if name not in judged]

    def is_undecided(self):
        """Is there a benchmark that was not in a core of its own for long enough?"""
        judged = {one.bench for one in self.samples() if state.core(one.state) in ("", state.OWN)}
        return not judged.issuperset(name for name in self.values if name not in self.reasons)

    def compiler(self):
        """Of all three. What two compilers make of one source differs by more than what is looked for."""
        found = {side: str(self.contexts[side][0].get("c_compiler")) for side in SIDES}
        if len(set(found.values())) != 1:
            raise runs.Failed(f"base was built by {found['base']}, head by {found['head']}: that does not compare. "
                              "Set CC and CXX, and remove build/bench if it is of another compiler")
        return found["base"]

    def calibration_ns(self):
        """Of the fixed loop that each process runs: the median."""
        contexts = [context for side in SIDES for context in self.contexts[side]]
        found = [convert.calibration_ns(context, "weir-bench") for context in contexts]
        found = [value for value in found if value is not None]
        return statistics.median(found) if found else None


def repeat(rounds, seconds, pairs_max, progress, what):
    """Rounds for so many seconds, or until there are so many pairs; enough to judge, however long that takes."""
    start = time.monotonic()
    done, longest, least = 0, 0.0, rounds.pairs_needed() // 2
    while done < least or (2 * done < pairs_max and time.monotonic() - start + longest < seconds):
        began = time.monotonic()
        rounds.run()
        done += 1
        longest = max(longest, time.monotonic() - began)
        progress.show(f"{what}: {2 * done} pairs, {time.monotonic() - start:.0f} of {seconds:.0f} s")
    if time.monotonic() - start > seconds + longest:
        print(f"{what}: {len(rounds.values)} benchmarks need {2 * least} pairs each to tell anything, which took "
              f"{time.monotonic() - start:.0f} s, not {seconds:.0f}", file=sys.stderr)
    return 2 * done


@contextlib.contextmanager
def processors(choose):
    """All that is started meanwhile stays on the processors that `choose` picks from those that there are."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, choose(before))
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@dataclass
class Measured:
    compiler: str
    rows: list
    missing: list = field(default_factory=list)  # (name, reason) of what base could measure and head could not
    left_out: list = field(default_factory=list)  # (name, reason) of what this machine could not
    calibration_ns: float | None = None


def measure(programs, groups, available, seed, seconds_of, progress):
    """measure_pinned() on two processors at most, so that both sides have the same ones."""
    try:
        with processors(lambda all_of_them: sorted(all_of_them)[:2]):
            return measure_pinned(programs, groups, available, seed, seconds_of, progress)
    finally:
        progress.end()


def measure_pinned(programs, groups, available, seed, seconds_of, progress):
    """The judged rows. What regressed is measured again, by itself, with twice the pairs; the repeat's verdict stands,
    and the first one's where the repeat cannot measure it, or not in that state of the machine.

    seconds_of(part) tells how long "first" and "repeat" may take. What was not in a core of its own for long enough is
    measured on in the repeat's time."""
    first = Round(programs, groups, available, seed)
    if not first.groups:
        raise runs.Failed("no benchmark of both fits; --filter takes a regular expression over names such as "
                          "emit/enabled/payload:32")
    first.processor = min(os.sched_getaffinity(0))
    for side in SIDES:
        first.process(side)  # from the disk, and not kept
    compiler = first.compiler()
    count = repeat(first, seconds_of("first"), 1 << 30, progress, "comparing")
    if first.is_undecided():
        count += repeat(first, seconds_of("repeat"), 1 << 30, progress, "comparing on, in other states of the machine")
    measured = Measured(compiler, verdict.judge(first.samples()), calibration_ns=first.calibration_ns())
    for name, reason, is_heads in first.left_out():
        (measured.missing if is_heads else measured.left_out).append((name, reason))
    key = lambda row: (row["bench"], row.get("state"))
    slower = {row["bench"] for row in measured.rows if row["verdict"] == "regressed"}
    if slower:
        again = Round(programs, groups, {name: available[name] for name in slower}, seed + 1)
        repeat(again, seconds_of("repeat"), 2 * count, progress, f"again, {len(slower)} that looked slower")
        repeated = {key(row): row for row in verdict.judge(again.samples(), was_repeated=True)}
        measured.missing += [(name, "the repeat failed: " + reason) for name, reason, _ in again.left_out()]
        measured.rows = [repeated.get(key(row), row) for row in measured.rows]
    return measured
