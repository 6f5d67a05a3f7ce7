"""Matrices of weir-stress runs: many short runs, interleaved, repeated with different seeds, within a given time.

    matrix.py PROGRAM OUT.ndjson [--plan brim|segments|grants] [--seconds N] [--repetitions 7] [--seed S] [--beside]

brim      producers 1 to 64 x DROP and BLOCK's three strategies x a fast sink and one that is the bottleneck; BLOCK also
          with its threads pinned
segments  BLOCK: producers x segments of 4 to 64 KiB x both sinks x pinned or not
grants    BLOCK at equal grant size, pinned: RELAY as it is, FIFO and AUTO_RESET with segments of RELAY's grant

Each line of the file is what weir-stress printed. The runs of one seed are one repetition: they were made next to each
other, and may be compared as pairs. Exit codes: 0, 1 failed, 2 usage.
"""
import argparse
import contextlib
import json
import os
import random
import subprocess
import sys
import time
from typing import NamedTuple

from bench.stress import runs

PRODUCERS = (1, 2, 4, 8, 16, 32, 64)
PRODUCERS_OF_BARS = (1, 2, 8, 32, 64)
SEGMENTS_KIB = (4, 8, 16, 32, 64)
SEGMENT_KIB = 32
BUDGET = "1M"

# A shorter run has too few waits; one more repetition is worth less than runs of this length.
RUN_SECONDS_MIN, RUN_SECONDS_MAX = 0.15, 10.0
RUN_SECONDS_WANTED = 0.4

# A drain that is to be the bottleneck takes this share of what one producer alone emits, and never
# more than the limit; and at most half of what it takes with a fast sink, so that the two sinks
# differ.
DRAIN_SHARE, DRAIN_SHARE_MAX = 0.7, 0.8


class Cell(NamedTuple):
    """The settings of a run except its seed and length."""

    strategy: str
    producers: int
    sink: str
    pinned: bool = False
    segment_kib: int = SEGMENT_KIB

    def options(self):
        mode, _, wake = self.strategy.lower().replace("_", "-").partition("/")
        return ["--mode", mode, *(["--wake", wake] if wake else []), "--threads", str(self.producers), "--budget", BUDGET,
                "--segment", f"{self.segment_kib}K", "--sink", self.sink, *(["--pin"] if self.pinned else [])]

    def __str__(self):
        return f"{self.strategy} x {self.producers}, {self.segment_kib} KiB, {self.sink}{', pinned' if self.pinned else ''}"


# --- Plans: lists of groups of cells that are compared with each other. -------------------------------------


def plan_brim(sinks):
    free = [[Cell(s, p, sink) for s in runs.STRATEGIES] for sink in sinks for p in PRODUCERS]
    pinned = [[Cell(s, p, sink, True) for s in runs.BLOCKING] for sink in sinks for p in PRODUCERS_OF_BARS]
    return free, pinned


def plan_segments(sinks):
    return [[Cell(s, p, sink, pinned, kib) for s in runs.BLOCKING]
            for sink in sinks for pinned in (False, True) for kib in SEGMENTS_KIB for p in PRODUCERS_OF_BARS], []


def plan_grants(sinks, grant_kib):
    """grant_kib: producers -> the grant that RELAY found."""
    return [[Cell(s, p, sinks[-1], True, SEGMENT_KIB if s == runs.DEFAULT else grant_kib[p]) for s in runs.BLOCKING]
            for p in sorted(grant_kib)], []


def order(groups, repetition, seed):
    """The cells of one repetition: groups are shuffled, and within a group another strategy is first each time, so that
    drift of the machine and the after-effects of one run on the next affect all alike."""
    groups = list(groups)
    random.Random(f"{seed}/{repetition}").shuffle(groups)
    for cells in groups:
        first = repetition % len(cells)
        yield from cells[first:] + cells[:first]


# --- Settings found by short runs. ---------------------------------------------------------------------------


def _probe(program, cell, seed):
    run, _ = program.run([*cell.options(), "--seconds", "0.3", "--seed", str(seed)])
    return run


def _ceilings(program, sink, seed):
    """The ceilings of the drain and of a producer: the best of three, because disturbance only lowers them."""
    found = [_probe(program, Cell(runs.DEFAULT, 1, sink), seed) for _ in range(3)]
    best = [max(run.get(name) or 0 for run in found) for name in ("drain_ceiling_events_per_s", "producer_ceiling_events_per_s")]
    if not all(best):
        raise runs.Failed("a run reported no ceilings, so no sink can be made the bottleneck")
    return best


def bottleneck_sink(program, seed):
    """The sink cost:NS that makes the drain the bottleneck for any number of producers."""
    drain, producer = _ceilings(program, "fast", seed)
    wanted = min(DRAIN_SHARE * producer, drain / 2)
    cost = 1e9 / wanted - 1e9 / drain
    for _ in range(6):
        sink = f"cost:{max(1, round(cost))}"
        drain, producer = _ceilings(program, sink, seed)
        if drain <= DRAIN_SHARE_MAX * producer:
            return sink
        cost += max(1e9 / (DRAIN_SHARE * producer) - 1e9 / drain, 1)
    raise runs.Failed(f"with {sink} the drain still takes {drain / producer:.2f} of what a producer emits")


def grants_found(program, sink, seed):
    """RELAY's own grant for 8 and 32 producers, in KiB, as a power of two that is a valid segment size."""
    found = {}
    for producers in (8, 32):
        grant = _probe(program, Cell(runs.DEFAULT, producers, sink, True), seed).get("grant_bytes")
        if not grant:
            raise runs.Failed("a run of RELAY reported no grant_bytes")
        found[producers] = 4
        while found[producers] < 256 and found[producers] * 1024 * 1.5 <= grant:
            found[producers] *= 2
    return found


# --- Running. ----------------------------------------------------------------------------------------------------


class Budget:
    """How long each run may be so that all end in time: the time left, divided, minus the overhead of a run."""

    def __init__(self, seconds, clock=time.monotonic):
        self.clock, self.end, self.overhead_s, self.made = clock, clock() + seconds, 0.3, 0

    def left(self):
        return self.end - self.clock()

    def run_seconds(self, runs_left):
        wanted = self.left() / runs_left - self.overhead_s
        return round(min(max(wanted, RUN_SECONDS_MIN), RUN_SECONDS_MAX), 2)

    def tell(self, overhead_s):
        self.made += 1
        self.overhead_s += (overhead_s - self.overhead_s) / min(self.made, 50)


def fit(free, more, seconds, repetitions, overhead_s):
    """Groups and repetitions that fit into the time with runs of a useful length: reduces groups first, then repetitions."""
    each = overhead_s + RUN_SECONDS_WANTED
    cost = lambda groups: each * sum(len(cells) for cells in groups)
    groups = free + more if repetitions * cost(free + more) <= seconds else free
    return groups, max(1, min(repetitions, int(seconds / cost(groups))))


def execute(program, groups, repetitions, seed, budget, out, progress):
    total = repetitions * sum(len(cells) for cells in groups)
    made = 0
    for repetition in range(repetitions):
        for cell in order(groups, repetition, seed):
            left = "" if made == 0 else f", {runs.duration(budget.left())} left"
            progress.show(f"{made} of {total} runs{left}: {cell}")
            seconds = budget.run_seconds(total - made)
            options = [*cell.options(), "--seconds", f"{seconds:g}", "--seed", str(seed + repetition)]
            started = budget.clock()
            run, line = program.run(options)
            budget.tell(budget.clock() - started - seconds)
            out.write(line + "\n")
            out.flush()
            fault = next(run.faults(), None)
            if fault:
                raise runs.Failed(f"{fault}; repeat with: {program.command(options)}")
            made += 1
    return made


# Ends by itself when its parent is gone.
EATER = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: sum(range(100000))"


@contextlib.contextmanager
def load_beside(count):
    """Programs that each keep a processor busy."""
    eaters = [subprocess.Popen([sys.executable, "-c", EATER]) for _ in range(count)]
    try:
        yield
    finally:
        for eater in eaters:
            eater.kill()
            eater.wait()


def write_conditions(arguments, others):
    """Writes a file beside the runs with what no single run can know."""
    with open(runs.conditions_path(arguments.out), "w", encoding="utf-8") as out:
        told = {"plan": arguments.plan, "seed": arguments.seed, "beside": arguments.beside, "others_processors": round(others, 3)}
        json.dump(told, out)
        out.write("\n")


def usage(argv):
    parser = argparse.ArgumentParser(description="Performs a matrix of weir-stress runs and keeps the output, a line per run.")
    parser.add_argument("program", help="weir-stress")
    parser.add_argument("out", help="file of one JSON object per line; replaced")
    parser.add_argument("--plan", choices=("brim", "segments", "grants"), default="brim")
    parser.add_argument("--seconds", type=int, help="for all runs together; default brim 600, segments 1800, grants 60")
    parser.add_argument("--repetitions", type=int, default=7, help="fewer if the time is short; default 7")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first repetition, increasing by one for each of the others")
    parser.add_argument("--beside", action="store_true", help="run beside one busy program per processor")
    arguments = parser.parse_args(argv)
    if arguments.seconds is None:
        arguments.seconds = {"brim": 600, "segments": 1800, "grants": 60}[arguments.plan]
    if arguments.seconds <= 0 or arguments.repetitions <= 0 or arguments.seed < 0:
        parser.error("--seconds and --repetitions must be positive, --seed must not be negative")
    return arguments


def main(argv=None):
    arguments = usage(argv)
    program, budget, progress = runs.Program(arguments.program), Budget(arguments.seconds), runs.Progress()
    sinks = ("fast", bottleneck_sink(program, arguments.seed))
    if arguments.plan == "grants":
        free, more = plan_grants(sinks, grants_found(program, sinks[1], arguments.seed))
    else:
        free, more = {"brim": plan_brim, "segments": plan_segments}[arguments.plan](sinks)
    groups, repetitions = fit(free, more, budget.left(), arguments.repetitions, budget.overhead_s)
    cells = sum(len(group) for group in groups)
    print(f"{cells} settings x {repetitions} repetitions in {runs.duration(budget.left())}; sinks {' and '.join(sinks)}", flush=True)
    beside = load_beside(len(os.sched_getaffinity(0))) if arguments.beside else contextlib.nullcontext()
    try:
        others = runs.Others()
        with open(arguments.out, "w", encoding="utf-8") as out, beside:
            made = execute(program, groups, repetitions, arguments.seed, budget, out, progress)
        write_conditions(arguments, others.processors())
    except OSError as error:
        raise runs.Failed(f"{error.filename}: {error.strerror}") from None
    finally:
        progress.end()
    print(f"Wrote {arguments.out} ({made} runs).")
    return 0


if __name__ == "__main__":
    runs.run_command("matrix", main)
