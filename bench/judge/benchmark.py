"""Programs that are built on Google Benchmark, weir-bench first: what they have, running them, and their reports.

Library 1.7.1, which Debian 12 has, takes --benchmark_min_time=0.05; from 1.8 on it is to be 0.05s, which 1.7.1 refuses.
The program is asked which it is.
"""
import collections
import json
import os
import re
import subprocess
import tempfile
import threading

from bench.judge import convert
from bench.judge.command import last_lines, runs

SECONDS_MAX = 3600  # a program that takes longer does not end
ASK_SECONDS_MAX = 60
ROW = re.compile(r'^\s*"name": "(.*)",?$')


def last_line(text):
    return last_lines(text) or "it says nothing"


def failed(program, why):
    return runs.Failed(f"{program}: {why}")


def ask(program, *options):
    """What it prints, (exit code, standard output, standard error), where that is quick."""
    try:
        done = subprocess.run([program, *options], capture_output=True, text=True, errors="replace", check=False,
                              timeout=ASK_SECONDS_MAX)
    except OSError as error:
        raise failed(program, error.strerror) from error
    except subprocess.TimeoutExpired as error:
        raise failed(program, f"no answer to {' '.join(options)} in {ASK_SECONDS_MAX} s") from error
    return done.returncode, done.stdout, done.stderr


_suffixes = {}


def suffix(program):
    """What ends the number of seconds in --benchmark_min_time: "s", or nothing where the library is older than 1.8."""
    if program not in _suffixes:
        code, _, told = ask(program, "--benchmark_list_tests=true", "--benchmark_min_time=0.05s")
        _suffixes[program] = "s" if code == 0 and "expected to be a double" not in told else ""
    return _suffixes[program]


def names(program, pattern=None, options=()):
    """The benchmarks that fit, as their rows will be called."""
    filters = [] if pattern is None else [f"--benchmark_filter={pattern}"]
    code, listed, told = ask(program, "--benchmark_list_tests=true", *filters, *options)
    found = [line for line in listed.splitlines() if line.strip()]
    if code != 0 or not found:
        raise failed(program, f"no benchmark fits '{pattern}'" if pattern is not None and "Failed to match" in told
                     else f"it lists no benchmarks: {last_line(told)}")
    return found


def plain(name):
    """The name that a person uses, and results/: without what Google Benchmark adds to say how it measured."""
    return convert.ADDED.sub("", name)


def choose(program, pattern):
    """The filter for run() of the benchmarks whose plain names the regular expression finds, and how many they are.

    The library's own filter looks at all of a name, and "ratio" is in "/iterations:1".
    """
    if pattern is None:
        return None, len(names(program))
    found = [name for name in names(program) if re.search(pattern, plain(name))]
    if not found:
        raise failed(program, f"no benchmark fits '{pattern}'")
    return "^(" + "|".join(name.replace(".", "[.]") for name in found) + ")$", len(found)


def words(program, pattern=None, min_time=None, repetitions=1, options=()):
    command = [program, "--benchmark_format=json"]
    if pattern is not None:
        command.append(f"--benchmark_filter={pattern}")
    if min_time is not None:
        command.append(f"--benchmark_min_time={min_time:g}{suffix(program)}")
    if repetitions != 1:
        command.append(f"--benchmark_repetitions={repetitions}")
    return [*command, *options]


def collect(process, on_row):
    """Its output, as it comes: rows are told when they are there."""
    lines, is_row = [], False
    for line in process.stdout:
        lines.append(line)
        is_row = is_row or '"benchmarks": [' in line
        match = ROW.match(line) if is_row and on_row else None
        if match:
            on_row(match.group(1))
    return "".join(lines)


def execute(command, on_row, seconds_max):
    """(exit code, standard output, standard error); the program does not outlive this call."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        try:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, errors="replace")
        except OSError as error:
            raise failed(command[0], error.strerror) from error
        timer = threading.Timer(seconds_max, process.kill)
        timer.start()
        try:
            output = collect(process, on_row)
            code = process.wait()
        finally:
            late = not timer.is_alive()
            timer.cancel()
            process.kill()
            process.wait()
            process.stdout.close()
        if late and code < 0:
            raise failed(command[0], f"not done in {seconds_max} s")
        errors.seek(0)
        return code, output, errors.read()


def has_name(row):
    return isinstance(row, dict) and isinstance(row.get("name"), str)


def parse(text, program):
    """NaN and Infinity, which the library writes for a counter without a value, become null."""
    try:
        report = json.loads(text, parse_constant=lambda name: None)
    except (ValueError, RecursionError) as error:
        raise failed(program, f"its report is not JSON: {error}") from error
    if not (isinstance(report, dict) and isinstance(report.get("context"), dict)
            and isinstance(report.get("benchmarks"), list) and all(map(has_name, report["benchmarks"]))):
        raise failed(program, "its report has no context, or benchmarks without a name")
    if "executable" in report["context"]: # where it lay on this machine is nobody's business
        report["context"]["executable"] = os.path.basename(str(report["context"]["executable"]))
    return report


def run(program, filter=None, min_time=None, repetitions=1, options=(),  # pylint: disable=redefined-builtin
        on_row=None, seconds_max=SECONDS_MAX):
    """Runs it and returns its report as Google Benchmark writes it.

    filter: a regular expression over names. min_time: seconds of each benchmark. on_row: called with the name of each
    row as it comes.
    runs.Failed with one line if there is no report; a benchmark that failed has a row that says so, see failures().
    """
    code, output, told = execute(words(program, filter, min_time, repetitions, options), on_row, seconds_max)
    if "Failed to match" in told:
        raise failed(program, f"no benchmark fits '{filter}'")
    if code != 0:
        raise failed(program, f"it ended with {code}: {last_line(told)}")
    return parse(output, program)


def failures(report):
    """(name, reason) of the benchmarks that could not measure."""
    return [(row["name"], row.get("error_message") or row.get("skip_message") or "failed")
            for row in report["benchmarks"] if row.get("error_occurred") or row.get("skipped")]


def merge(reports):
    """One report of several of the same program: their rows as repetitions, in the context of the first."""
    merged, seen = [], collections.Counter()
    for report in reports:
        for row in report["benchmarks"]:
            name = row.get("run_name") or row["name"]
            if row.get("run_type", "iteration") == "iteration":
                merged.append({**row, "repetition_index": seen[name]})
                seen[name] += 1
    for row in merged:
        row["repetitions"] = seen[row.get("run_name") or row["name"]]
    return {"context": dict(reports[0]["context"]), "benchmarks": merged}
