"""Where figures come from: weir-bench, weir-stress, the programs of peers, the deterministic gate, and small programs.

Each source knows how long a sample takes, and takes one. What is not there (a peer without its package) is Unavailable,
which makes claims skipped; what goes wrong is runs.Failed, which makes them failed.
"""
import contextlib
import os
import re
import subprocess
import sys
import time

import benchmark
import builds
import convert
import peers
import peers_rig
import points
from claims import Unavailable
from borrow import matrix, runs

# Besides the clock that a run of weir-stress is given: its ceilings, threads, and the start.
STRESS_OVERHEAD_S = 0.4
STRESS_RATE_LOW = 10e6  # events per second, for how long a run may take that is told how many to emit
PRESET = "bench"
PROGRAMS = ("weir-bench", "weir-stress", "weir-footprint")


class Programs:
    """Where programs are: in a folder that was given, or built when they are first asked for."""

    def __init__(self, folder=None):
        self.folder, self.found, self.build_s = folder, {}, 0.0

    @contextlib.contextmanager
    def building(self):
        """Building is no part of the time that measuring may take."""
        started = time.monotonic()
        yield
        self.build_s += time.monotonic() - started

    def path(self, name):
        if name not in self.found:
            with self.building():
                folder = self.folder or os.path.join(build(name), "bin")
            self.found[name] = os.path.join(folder, name)
            if not os.access(self.found[name], os.X_OK):
                raise runs.Failed(f"{self.found[name]}: there is no such program")
        return self.found[name]


class Source:
    """What all of them do: get ready for these samples, tell how many seconds one takes, and take one; `seed` counts
    the rounds from 1."""

    takes_s = 1.0

    def prepare(self, samples):
        """Builds and finds out what is needed; runs.Failed if a sample can never be taken."""

    def takes(self, sample):
        return sample.get("takes", self.takes_s)

    def take(self, sample, seed):
        raise NotImplementedError

    def settings(self):
        """What was found out in prepare() and belongs into the report."""
        return {}

    def close(self):
        """Ends what was started."""


def build(name):
    return builds.build(None, [name], PRESET)


def last_object(text, where):
    """The last line that is a JSON object."""
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            return points.read_json(line, where)
    raise runs.Failed(f"{where}: it printed no JSON object")


def output_of(command, timeout_s, may_end_with=(0,)):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)
    except OSError as error:
        raise runs.Failed(f"{command[0]}: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise runs.Failed(f"not done after {timeout_s:.0f} s: {' '.join(command)}") from None
    if done.returncode not in may_end_with:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise runs.Failed(f"exit code {done.returncode}: {' '.join(command)}{': ' + said[-1] if said else ''}")
    return done.stdout


# --- weir-bench. ---------------------------------------------------------------------------------------------


class Bench(Source):
    takes_s = 1.5

    def __init__(self, programs):
        self.programs, self.filters = programs, {}

    def prepare(self, samples):
        for sample in samples:
            program, exactly = self.programs.path("weir-bench"), f"^{re.escape(sample['name'])}$"
            self.filters[sample["name"]], _ = benchmark.choose(program, exactly)

    def take(self, sample, _seed):
        report = benchmark.run(self.programs.path("weir-bench"), filter=self.filters[sample["name"]],
                               min_time=sample.get("min_time", 0.1))
        for name, reason in benchmark.failures(report):
            raise runs.Failed(f"{name}: {reason}")
        row = next((row for row in report["benchmarks"] if benchmark.plain(row["name"]) == sample["name"]), None)
        if row is None:
            raise runs.Failed(f"weir-bench reports nothing of '{sample['name']}'")
        return row | {"ns_per_event": convert.time_ns(row, "weir-bench")}


# --- weir-stress. --------------------------------------------------------------------------------------------


class Stress(Source):
    """`sink: bottleneck` is one that makes the drain the bottleneck on this machine, `segment: grant` segments as large
    as the grants that RELAY finds for so many producers: both are found once."""

    def __init__(self, programs):
        self.programs, self.sink, self.grants = programs, None, None

    def program(self):
        return runs.Program(self.programs.path("weir-stress"))

    def prepare(self, samples):
        words = [word for sample in samples for word in sample["options"].values()]
        if "bottleneck" in words or "grant" in words:
            self.sink = matrix.bottleneck_sink(self.program(), 1)
        if "grant" in words:
            self.grants = matrix.grants_found(self.program(), self.sink, 1)

    def settings(self):
        found = {} if self.sink is None else {"bottleneck_sink": self.sink}
        if self.grants is not None:
            found["grant_kib"] = {str(producers): kib for producers, kib in self.grants.items()}
        return found

    def takes(self, sample):
        options = sample["options"]
        run_s = float(options["seconds"]) if "seconds" in options else self.events(options) / STRESS_RATE_LOW
        return sample.get("takes", run_s + STRESS_OVERHEAD_S)

    @staticmethod
    def events(options):
        return float(options.get("events", 1e6)) * float(options.get("threads", 4))

    def segment(self, options):
        producers = int(options["threads"])
        if producers not in self.grants:
            known = " and ".join(map(str, self.grants))
            raise runs.Failed(f"the grant is found for {known} producers, not for {producers}")
        return f"{self.grants[producers]}K"

    def arguments(self, options):
        for name, value in options.items():
            if value is True:
                yield f"--{name}"
            elif value is not False:
                value = {"bottleneck": self.sink, "grant": None}.get(value, value)
                yield from (f"--{name}", str(self.segment(options) if value is None else value))

    def take(self, sample, seed):
        options = [*self.arguments(sample["options"]), "--seed", str(seed)]
        run, _ = self.program().run(options, timeout_s=60 + 4 * self.takes(sample))
        fault = next(run.faults(), None)
        if fault:
            raise runs.Failed(f"{fault}; repeat with: {self.program().command(options)}")
        return dict(run) | {"lost_events": run.lost}


# --- The others. ---------------------------------------------------------------------------------------------


class Peers(Source):
    """Each sample is one process. What surrounds a peer, as a daemon, is there until close()."""

    takes_s = 5

    def __init__(self, programs):
        self.programs, self.stack, self.runner = programs, contextlib.ExitStack(), None

    def prepare(self, samples):
        for sample in samples:
            self.peer(sample)
        if samples:
            with self.programs.building():
                translated(peers.build)
            self.runner = peers.Runner(self.stack.enter_context(peers_rig.Workplace()))

    def close(self):
        self.stack.close()

    @staticmethod
    def peer(sample):
        name = ":".join(sample[part] for part in ("peer", "variant") if part in sample)
        try:
            return peers.select([name])[0]
        except ValueError as error:
            raise runs.Failed(f"bench/claims/: {error}") from None

    def take(self, sample, _seed):
        return translated(self.runner.run, self.peer(sample), peers.case(sample["case"], int(sample["threads"])))


def translated(function, *arguments):
    """The function's result; what peers say in exceptions of their own, as other sources say it."""
    try:
        return function(*arguments)
    except peers.Missing as reason:
        raise Unavailable(str(reason)) from None
    except peers.Failed as error:
        raise runs.Failed(str(error)) from None


class Count(Source):
    """The gate's rows; they are the same in each run, so one is enough. Whether its baseline is held is not asked."""

    takes_s = 60
    COMMAND = [sys.executable, "-B", os.path.join(points.ROOT, "bench", "judge", "cmd_count.py"), "--json"]

    def take(self, _sample, _seed):
        report = points.read_json(output_of(self.COMMAND, 600, may_end_with=(0, 1)), "./dev bench count --json")
        try:
            return {row["name"]: row["value"] for row in report["rows"]}
        except (KeyError, TypeError) as error:
            raise runs.Failed(f"./dev bench count --json: no rows of figures in what it printed: {error}") from None


class Program(Source):
    """A program of ours that prints a JSON object."""

    def __init__(self, programs):
        self.programs = programs

    def prepare(self, samples):
        for sample in samples:
            if sample["program"] not in PROGRAMS:
                raise runs.Failed(f"'{sample['program']}' is none of the programs {', '.join(PROGRAMS)}")
            self.programs.path(sample["program"])

    def take(self, sample, _seed):
        command = [self.programs.path(sample["program"]), *sample.get("arguments", [])]
        return last_object(output_of(command, 60 + 4 * sample["takes"]), sample["program"])


def all_sources(programs):
    return {"bench": Bench(programs), "stress": Stress(programs), "peers": Peers(programs), "count": Count(),
            "program": Program(programs)}
