"""For tests: environments, points, reports and files as the programs write them."""
import contextlib
import datetime
import importlib
import io
import json
import os
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

from bench.judge import command, environment, points

ENVIRONMENT = {"runner": "test-x86_64-2cpu", "cpu": "AMD EPYC (family 25, model 17, stepping 1)", "cores": 2,
               "kernel": "Linux 6.1.0",
               "compiler": "GNU 12.2.0", "clock_source": "tsc", "governor": "performance",
               "load": "0.10 0.20 0.30 1/80 100"}


def date(number):
    moment = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc) + datetime.timedelta(hours=number)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def point(value=10.0, number=0, environment=None, **changes):
    """The number stands for the commit, and for its date."""
    told = {"commit": f"{number + 0x1000000:07x}", "suite": "emit", "bench": "emit/enabled/payload:32",
            "metric": "ns_per_event",
            "unit": "ns", "better": "less", "tool": "test", "cal_ns": 1.9, "date": date(number)}
    return points.make(environment or ENVIRONMENT, value=value, **{**told, **changes})


def history(values, **changes):
    """Held against the schema when it is written: thousands of points are made and never are."""
    with mock.patch.object(points, "validate", lambda kind, value, where: value):
        return [point(float(value), number, **{name: of(number) if callable(of) else of for name, of in changes.items()})
                for number, value in enumerate(values)]


# --- What the programs write. -------------------------------------------------------------------------------


def context(**changes):
    return {"date": "2026-11-21T15:29:00+02:00", "num_cpus": 2, "library_build_type": "debug", "commit": "91d52fe",
            "cpu": ENVIRONMENT["cpu"], "kernel": "Linux 6.1.0 x86_64", "c_compiler": "GNU 12.2.0",
            "governor": "unknown",
            "load": "3.95 3.51 3.07 3/79 23266", "system_clock": "tsc", "calibration_ns": "1.93",
            "benchmark_version": "1.7.1",
            **changes}


def repetition(name, real_time, **counters):
    return {"name": name, "run_name": name, "run_type": "iteration", "repetitions": 3, "iterations": 1,
            "real_time": real_time,
            "cpu_time": real_time, "time_unit": "ns", **counters}


def reading(before, after=None, trip=90.0):
    """The state of the machine in a row: steps, and trips of a line."""
    return {"step_before_ns": before, "step_after_ns": after or before, "trip_before_ns": trip, "trip_after_ns": trip}


def aggregate(name, kind, real_time, **counters):
    return {**repetition(name, real_time, **counters), "name": f"{name}_{kind}", "run_type": "aggregate",
            "aggregate_name": kind}


def bench_report(*rows, **changes):
    return {"context": context(**changes), "benchmarks": list(rows)}


def gate_row(name="emit/enabled/instructions", base=33.0, head=33.0, verdict="same", note="",
             unit="instructions/event"):
    return {"name": name, "unit": unit, "base": base, "head": head, "verdict": verdict, "note": note}


def clock_row(bench="emit/enabled/payload:32", ratio=1.0, verdict="same", better="less", half=0.02, **changes):
    return {"bench": bench, "unit": "ns" if better == "less" else "events/s", "better": better, "base": 10.0,
            "head": 10.0 * ratio,
            "ratio": ratio, "lo": ratio * (1 - half), "hi": ratio * (1 + half),
            "p": 0.001 if verdict in ("regressed", "improved") else 0.5, "control_lo": 1 - half,
            "control_hi": 1 + half,
            "pairs": 16, "verdict": verdict, "was_repeated": False, **changes}


def report(gate=(), clock=(), **changes):
    return {"v": 1, "base": "1a2b3c4d5e6f", "head": "5d6e7f8a9b0c", "command": "./dev bench ab --base 1a2b3c4d5e6f",
            "seconds": 90,
            "environment": dict(ENVIRONMENT), "gate": list(gate), "clock": list(clock), **changes}


# --- A program that is built on Google Benchmark, as far as anybody looks. ----------------------------------

# What it says is in the file beside it: of each benchmark its time, a list of the times of each call, or what is wrong;
# and its counters, or a list of those of each call.
BENCH = '''#!{python} -SEB
import json, os, re, sys
here = "{here}"  # it may be copied
told = json.load(open(here + ".json"))
given = dict(word[2:].split("=", 1) for word in sys.argv[1:] if "=" in word)
if given.get("benchmark_min_time", "s" * told["is_new"]).endswith("s") != told["is_new"]:
    sys.exit("The value of flag --benchmark_min_time is expected to be a double, or the other way around")
names = [name for name in told["times"] if re.search(given.get("benchmark_filter", "."), name)]
if not names:
    print("Failed to match any benchmarks against regex: x", file=sys.stderr)
    sys.exit(2 if told["is_new"] else 0)
if "benchmark_list_tests" in given:
    sys.exit(print("\\n".join(names)))
with open(here + ".calls", "a+") as calls:
    calls.write(" ".join(sys.argv[1:]) + "\\n")
    calls.seek(0)
    call = len(calls.readlines())
rows = []
for name in names * int(given.get("benchmark_repetitions", 1)):
    time = told["times"][name]
    time = time[min(call, len(time)) - 1] if isinstance(time, list) else time
    row = {"name": name, "run_name": name, "run_type": "iteration", "time_unit": "ns", "real_time": time}
    if isinstance(time, str):
        row.update(real_time=0, error_occurred=True, error_message=time)
    counters = told["counters"].get(name, {})
    rows.append({**row, **(counters[min(call, len(counters)) - 1] if isinstance(counters, list) else counters)})
print(json.dumps({"context": told["context"], "benchmarks": rows}))
'''


# --- Folders and commands. ----------------------------------------------------------------------------------


class Folder(unittest.TestCase):
    """A folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, content):
        """Text as it is, anything else as JSON."""
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return self.path(name)

    def executable(self, name, text):
        path = self.write(name, text)
        os.chmod(path, 0o755)
        return path

    def bench(self, name="weir-bench", *, times, counters=None, is_new=False, **told_of):
        """A program like weir-bench with these benchmarks."""
        told = {"times": times, "counters": counters or {}, "is_new": is_new, "context": context(**told_of)}
        self.write(name + ".json", told)
        return self.executable(name, BENCH.replace("{python}", sys.executable).replace("{here}", self.path(name)))

    def text(self, *names):
        with open(self.path(*names), encoding="utf-8") as file:
            return file.read()

    def command(self, name, *arguments, code=0, **environment):
        """What cmd_NAME.py prints, which runs in this process and always ends with a code."""
        module = importlib.import_module(f"bench.judge.cmd_{name}")
        told, errors = io.StringIO(), io.StringIO()
        with mock.patch.object(sys, "argv", [name, *map(str, arguments)]), mock.patch.dict(os.environ, environment), \
                contextlib.redirect_stdout(told), contextlib.redirect_stderr(errors), \
                self.assertRaises(SystemExit) as ended:
            command.run(name, module.main)
        self.assertEqual(ended.exception.code, code, f"{name} {arguments}\n{told.getvalue()}{errors.getvalue()}")
        return types.SimpleNamespace(stdout=told.getvalue(), stderr=errors.getvalue())

    def git(self, *arguments):
        done = subprocess.run(["git", "-C", self.folder, "-c", "user.name=t", "-c", "user.email=t@example.org",
                               *arguments],
                              capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def commits(self, count):
        """A checkout with so many commits; their names, the oldest first."""
        self.git("init", "--quiet")
        for number in range(count):
            self.git("commit", "--quiet", "--allow-empty", "-m", f"Change <{number}>")
        return self.git("log", "--reverse", "--format=%H").split()


class Machine(Folder):
    """On a machine as that of context()."""

    def setUp(self):
        super().setUp()
        self.here = mock.patch.object(environment, "collect", lambda **_: dict(ENVIRONMENT))
        self.here.start()
        self.addCleanup(self.here.stop)
