"""Programs that are built on Google Benchmark, weir-bench first: what they have, running them, and their reports.

Library 1.7.1, which Debian 12 has, takes --benchmark_min_time=0.05; from 1.8 on it is to be 0.05s, which 1.7.1 refuses.
The program is asked which it is.
"""
import functools
import json
import os
import re

from bench.judge import process
from bench.judge.command import last_lines, runs

SECONDS_MAX = 3600  # a program that takes longer does not end
ASK_SECONDS_MAX = 60
# What the library adds to a name to say how it measured. The number of threads stays: it is what was measured.
ADDED = re.compile(r"/((manual|real|process)_time|(iterations|repeats):\d+|min_(warmup_)?time:[0-9.]+)(?=/|$)")


def last_line(text):
    return last_lines(text) or "it says nothing"


def failed(program, why):
    return runs.Failed(f"{program}: {why}")


def call(program, *options, seconds_max=ASK_SECONDS_MAX):
    return process.call([program, *options], seconds_max)


@functools.lru_cache(maxsize=None)
def suffix(program):
    """What ends the number of seconds in --benchmark_min_time: "s", or nothing where the library is older than 1.8."""
    done = call(program, "--benchmark_list_tests=true", "--benchmark_min_time=0.05s")
    return "s" if done.returncode == 0 and "expected to be a double" not in done.stderr else ""


def names(program):
    """All benchmarks, as their rows will be called."""
    done = call(program, "--benchmark_list_tests=true")
    found = [line for line in done.stdout.splitlines() if line.strip()]
    if done.returncode != 0 or not found:
        raise failed(program, f"it lists no benchmarks: {last_line(done.stderr)}")
    return found


def plain(name):
    """The name that a person uses, and results/: without what Google Benchmark adds to say how it measured."""
    return ADDED.sub("", name)


def choose(program, pattern):
    """The filter for run() of the benchmarks whose plain names the regular expression finds, and how many they are.

    The library's own filter looks at all of a name, and "ratio" is in "/iterations:1".
    """
    found = names(program)
    if pattern is None:
        return None, len(found)
    found = [name for name in found if re.search(pattern, plain(name))]
    if not found:
        raise failed(program, f"no benchmark fits '{pattern}'")
    return exactly(found), len(found)


def exactly(full_names):
    """The filter of these benchmarks. The library's regular expressions know no escaped hyphen."""
    return "^(" + "|".join(re.escape(name).replace("\\-", "-") for name in full_names) + ")$"


def parse(text, program):
    """NaN and Infinity, which the library writes for a counter without a value, become null."""
    try:
        report = json.loads(text, parse_constant=lambda name: None)
    except (ValueError, RecursionError) as error:
        raise failed(program, f"its report is not JSON: {error}") from error
    if not (isinstance(report, dict) and isinstance(report.get("context"), dict)
            and isinstance(report.get("benchmarks"), list)
            and all(isinstance(row, dict) and isinstance(row.get("name"), str) for row in report["benchmarks"])):
        raise failed(program, "its report has no context, or benchmarks without a name")
    if "executable" in report["context"]:  # where it lay on this machine is nobody's business
        report["context"]["executable"] = os.path.basename(str(report["context"]["executable"]))
    return report


def run(program, pattern=None, min_time=None, repetitions=1, options=(), seconds_max=SECONDS_MAX):
    """Runs it and returns its report as Google Benchmark writes it.

    pattern: a regular expression over names. min_time: seconds of each benchmark.
    runs.Failed with one line if there is no report; a benchmark that failed has a row that says so, see failures().
    """
    words = ["--benchmark_format=json"]
    words += [] if pattern is None else [f"--benchmark_filter={pattern}"]
    words += [] if min_time is None else [f"--benchmark_min_time={min_time:g}{suffix(program)}"]
    words += [] if repetitions == 1 else [f"--benchmark_repetitions={repetitions}"]
    done = call(program, *words, *options, seconds_max=seconds_max)
    if "Failed to match" in done.stderr:
        raise failed(program, f"no benchmark fits '{pattern}'")
    if done.returncode != 0:
        raise failed(program, f"it ended with {done.returncode}: {last_line(done.stderr)}")
    return parse(done.stdout, program)


def failures(report):
    """{plain name: reason} of the benchmarks that could not measure."""
    return {plain(row["name"]): str(row.get("error_message") or row.get("skip_message") or "failed")
            for row in report["benchmarks"] if row.get("error_occurred") or row.get("skipped")}


def repetitions_of(report):
    """{plain name: rows} without those that the library adds about repetitions (mean, stddev, cv)."""
    found = {}
    for row in report["benchmarks"]:
        if row.get("run_type", "iteration") == "iteration":
            found.setdefault(plain(str(row.get("run_name") or row["name"])), []).append(row)
    return found


def merge(reports):
    """One report of several of the same program, in the context of the first: their rows are its repetitions."""
    return {"context": dict(reports[0]["context"]), "benchmarks": [row for one in reports for row in one["benchmarks"]]}
