"""Takes the samples of claims: each once a round, rounds interleaved, within a time.

A sample is a command: "weir-bench NAME", "weir-stress OPTIONS", "peer NAME CASE THREADS", "count" (./dev bench count),
"weir-footprint" or "heap-graph TABLES" (of each shape of a Lua program). It has one row of fields, or several, each with the
state of the machine before and after. A peer without its package is Unavailable, which makes claims skipped; what goes wrong is
runs.Failed, which makes them failed.
"""
import contextlib
import os
import re
import shlex
import sys
import time

from bench.judge import benchmark, builds, claims, claims_judge, convert, heap_graph, points, process, state
from bench.peers import rig, runner as peers
from bench.stress import matrix, runs

# Each kind of command but those of peers and counts, with the programs that it needs.
PROGRAMS = {name: (name,) for name in ("weir-bench", "weir-stress", "weir-footprint")} | {"heap-graph": ("weir", "lua-host")}
# How a program is built: its target and preset; others have the target of their name, in the preset bench.
BUILT = {"weir": (["weir_tool"], "release"), "lua-host": (["lua-host"], "release")}
COUNT = [sys.executable, "-B", "-m", "bench.judge.cmd_count", "--json"]


def translated(function, *arguments):
    """The function's result; the exceptions of peers as ours."""
    try:
        return function(*arguments)
    except peers.Missing as reason:
        raise claims.Unavailable(str(reason)) from None
    except (peers.Failed, ValueError) as error:
        raise runs.Failed(str(error)) from None


class Sources:
    """Runs the commands. `--sink bottleneck` is one that makes the drain the bottleneck on this machine, `--segment
    grant` segments as large as the grants that RELAY finds for so many producers: both are found once."""

    def __init__(self, folder=None):
        self.folder, self.found, self.stack, self.settings, self.runner = folder, {}, contextlib.ExitStack(), {}, None

    def path(self, name):
        if name not in self.found:
            folder = self.folder or os.path.join(builds.build(None, *BUILT.get(name, ([name],))), "bin")
            self.found[name] = os.path.join(folder, name)
            if not os.access(self.found[name], os.X_OK):
                raise runs.Failed(f"{self.found[name]}: there is no such program")
        return self.found[name]

    def prepare(self, commands):
        """Builds and finds out what these need; runs.Failed if one can never be taken."""
        words = [command.split() for command in commands]
        for program in sorted({each[0] for each in words} - {"count", "peer"}):
            if program not in PROGRAMS:
                raise runs.Failed(f"'{program}' is none of the programs {', '.join(PROGRAMS)}")
            for name in PROGRAMS[program]:
                self.path(name)
        stress = {option for each in words if each[0] == "weir-stress" for option in each}
        if stress & {"bottleneck", "grant"}:
            self.settings["bottleneck_sink"] = matrix.bottleneck_sink(self.stress(), 1)
        if "grant" in stress:
            self.settings["grant_kib"] = matrix.grants_found(self.stress(), self.settings["bottleneck_sink"], 1)
        if any(each[0] == "peer" for each in words):
            translated(peers.build)
            self.runner = peers.Runner(self.stack.enter_context(rig.Workplace()))

    def close(self):
        self.stack.close()

    def take(self, sample, seed):
        """The rows of one run; `seed` counts the rounds from 1."""
        words, timeout_s = shlex.split(sample.run), 60 + 4 * sample.takes
        if words[0] == "weir-bench":
            return self.take_benchmark(words[1])
        if words[0] == "peer":
            name, case, threads = words[1:]
            return translated(self.runner.run, translated(peers.select, [name])[0], peers.case(case, int(threads)))
        if words[0] == "count":
            report = points.read_json(process.output(COUNT, 600, good=(0, 1), cwd=points.ROOT), "./dev bench count --json")
            return {row["name"]: row["value"] for row in report["rows"]}
        if words[0] == "weir-stress":
            run = lambda: self.take_stress(words[1:] + ["--seed", str(seed)], timeout_s)
        elif words[0] == "heap-graph":
            run = lambda: heap_graph.take(self.path("weir"), self.path("lua-host"), int(words[1]), timeout_s)
        else:
            run = lambda: self.take_json([self.path(words[0]), *words[1:]], timeout_s)
        return state.around(self.path("weir-machine"), run)

    @staticmethod
    def take_json(words, timeout_s):
        """The last line that is an object."""
        lines = process.output(words, timeout_s).splitlines()
        return points.read_json(next((line for line in reversed(lines) if line.startswith("{")), ""), words[0])

    def take_benchmark(self, name):
        program = self.path("weir-bench")
        wanted, _ = benchmark.choose(program, f"^{re.escape(name)}$")
        report = benchmark.run(program, pattern=wanted, min_time=0.1)
        for failed, reason in benchmark.failures(report).items():
            raise runs.Failed(f"{failed}: {reason}")
        rows, = benchmark.repetitions_of(report).values()
        return [row | {"ns_per_event": convert.time_ns(row, "weir-bench")} for row in rows]

    def stress(self):
        return runs.Program(self.path("weir-stress"))

    def take_stress(self, words, timeout_s):
        if "bottleneck" in words:
            words[words.index("bottleneck")] = self.settings["bottleneck_sink"]
        if "grant" in words:
            producers = int(words[words.index("--threads") + 1])
            words[words.index("grant")] = f"{self.settings['grant_kib'][producers]}K"
        run, _ = self.stress().run(words, timeout_s=timeout_s)
        fault = next(run.faults(), None)
        if fault:
            raise runs.Failed(f"{fault}; repeat with: {self.stress().command(words)}")
        return dict(run) | {"lost_events": run.lost}


def groups_of(needs):
    """Commands in groups that are taken next to each other: those that one claim compares in one cell, and with them
    all that shares one of them."""
    groups = []
    for commands in needs:
        shared = [group for group in groups if set(group) & set(commands)]
        joined = list(dict.fromkeys([run for group in shared for run in group] + commands))
        groups = [group for group in groups if group not in shared] + [joined]
    return groups


class Run:
    """The rounds. `is_complete` turns false if not all of them were taken."""

    def __init__(self, book, chosen, sources, clock=time.monotonic):
        needs = [[sample] for sample in book.calibration_needs()]
        needs += [book.needs(claim, cell) for claim in chosen if "not_built" not in claim
                  for cell in claims.cells_of(claim)]
        self.samples = {sample.run: sample for samples in needs for sample in samples}
        self.groups = groups_of([[sample.run for sample in samples] for samples in needs])
        self.sources, self.clock, self.progress = sources, clock, runs.Progress()
        self.measured, self.is_complete, self.why, self.was_interrupted = claims_judge.Measured(), True, "", False

    def seconds(self):
        return sum(sample.rounds * sample.takes for sample in self.samples.values())

    def prepare(self):
        self.sources.prepare(list(self.samples))

    def take(self, sample, seed):
        try:
            self.measured.add(sample.run, self.sources.take(sample, seed))
        except claims.Unavailable as error:
            self.measured.skipped[sample.run] = str(error)
        except (runs.Failed, points.Invalid, OSError, KeyError) as error:
            self.measured.failed[sample.run] = " ".join(str(error).split())

    def round(self, index, last, end):
        """False if the time is over."""
        given_up = self.measured.skipped | self.measured.failed
        commands = [run for run in matrix.order(self.groups, index, 1)
                    if run not in given_up and self.samples[run].rounds > index]
        for number, run in enumerate(commands):
            if self.clock() >= end:
                return False
            self.progress.show(f"round {index + 1} of {last}: {number} of {len(commands)} runs, "
                               f"at most {runs.duration(end - self.clock())} left")
            self.take(self.samples[run], index + 1)
        return True

    def end_early(self, why):
        """A sample without a figure is skipped; the others keep theirs."""
        self.is_complete, self.why = False, why
        for run in self.samples:
            if not self.measured.count(run) and run not in self.measured.failed:
                self.measured.skipped.setdefault(run, why)

    def run(self, seconds_max):
        end = self.clock() + seconds_max
        last = max((sample.rounds for sample in self.samples.values()), default=0)
        try:
            for index in range(last):
                if not self.round(index, last, end):
                    self.end_early(f"the time was over in round {index + 1} of {last}")
                    break
        except (KeyboardInterrupt, SystemExit):
            self.was_interrupted = True
            self.end_early("interrupted")
        finally:
            self.progress.end()
        return self.measured
