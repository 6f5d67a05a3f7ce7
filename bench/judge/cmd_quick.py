"""./dev bench quick: the benchmarks of the library in two minutes, as a table; what bare ./dev bench does.

Everything is run once, and again as often as the time allows: a value is the median of these passes, in brackets are
the least and the greatest. Nanoseconds of two machines do not compare; "x floor" is the time over that of floor/32 with
as many threads, of the same run and in the same kind of core. A benchmark has a line for each state of the machine. The
report goes to out/bench/quick.json as Google Benchmark writes it; ./dev bench
record keeps it.
"""
import argparse
import json
import os
import re
import shlex
import sys
import time

from bench.judge import benchmark, builds, command, convert, entries, metrics, points, state

REPORT = os.path.join(points.ROOT, "out", "bench", "quick.json")
SECONDS = 110
SECONDS_FULL = 100  # with less than this, each benchmark is shorter
MIN_TIME, BRIM_SECONDS, BRIM_SECONDS_MIN = 0.05, 0.15, 0.02
PASSES_MAX = 9
FLOOR = "floor/32/threads:"
FLOOR_SUITES = ("emit", "drain")
HEADS = {"events_per_s": "rate", "park_p50_ns": "parked p50", "park_p99_ns": "p99", "park_p999_ns": "p99.9",
         "wakes_per_segment": "wakes/segment", "cpu_ns_per_event": "processor", "bytes_per_event": "of an event",
         "of_bound": "of bound", "bytes_per_s": "stream", "difference_ns": "difference"}


def usage(argv):
    parser = command.parser("quick", __doc__)
    parser.add_argument("--filter", type=command.regular_expression, metavar="REGEX",
                        help="only benchmarks whose names fit, such as '^emit/' or 'payload:32$'")
    parser.add_argument("--seconds", type=command.within(1, 36000), default=SECONDS, metavar="S",
                        help=f"about how long, without building; default {SECONDS}. One pass is made in any case")
    parser.add_argument("--json", action="store_true",
                        help="print one JSON object instead of the table: environment and points")
    parser.add_argument("-o", "--output", default=REPORT, metavar="FILE",
                        help="of the report; default out/bench/quick.json")
    parser.add_argument("--program", help=argparse.SUPPRESS)  # for tests: runs this and builds nothing
    return parser.parse_args(argv)


# --- Measuring. ---------------------------------------------------------------------------------------------


class Passes:
    """Runs of the whole program, as many as the time allows."""

    def __init__(self, program, pattern, seconds, progress):
        self.program, self.seconds, self.progress = program, seconds, progress
        self.pattern, self.count = benchmark.choose(program, pattern)
        share = min(1, seconds / SECONDS_FULL)
        self.min_time = MIN_TIME * share
        self.options = [f"--brim_seconds={max(BRIM_SECONDS * share, BRIM_SECONDS_MIN):g}"]
        self.started, self.reports, self.longest = time.monotonic(), [], 0.0

    def has_time(self):
        elapsed = time.monotonic() - self.started
        return not self.reports or (len(self.reports) < PASSES_MAX and elapsed + self.longest <= self.seconds)

    def run_one(self):
        begun = time.monotonic()
        self.progress.show(f"pass {len(self.reports) + 1} of {self.count} benchmarks, {begun - self.started:.0f} of "
                           f"{self.seconds:.0f} s")
        self.reports.append(benchmark.run(self.program, self.pattern, self.min_time, options=self.options))
        self.longest = max(self.longest, time.monotonic() - begun)

    def run(self):
        while self.has_time():
            self.run_one()
        self.progress.end()
        return benchmark.merge(self.reports)


# --- Telling. -----------------------------------------------------------------------------------------------


def times_floor(name, own, floors):
    """The time over that of the floor, which has as many threads."""
    bench, _, machine = name.partition(", ")
    threads = re.search(r"/threads:(\d+)$", bench)
    is_like = lambda other: state.core(other.partition(", ")[2]) == state.core(machine) != state.MIXED
    floor = next((figures.get(metrics.TIME) for other, figures in floors.items() if is_like(other)
                  and other.partition(", ")[0] == FLOOR + (threads.group(1) if threads else "1")), None)
    if not floor or metrics.TIME not in own or not floor["value"]:
        return ""
    return f"{own[metrics.TIME]['value'] / floor['value']:.2f}"


def rounded(value):
    """Without what is below the resolution of any clock here: differences are 0, not 1e-11."""
    return None if value is None else round(value, 4)


def cell(point, has_spread):
    if point is None:
        return ""
    unit = point["unit"] if point["unit"] in ("x", *metrics.SCALES) else ""
    spread = (rounded(point["lo"]), rounded(point["hi"])) if has_spread else None
    return metrics.told(rounded(point["value"]), unit, spread).strip()


def suite_rows(suite, benches, floors):
    """Head and rows of one suite's table: the first figure with its spread, what follows without."""
    shown = [metric for metric in metrics.TABLE if any(metric in figures for figures in benches.values())]
    leading = [metric for metric in (metrics.TIME, *metrics.RATIOS) if metric in shown]
    others = [metric for metric in shown if metric not in leading]
    has_floor = suite in FLOOR_SUITES and any(name.startswith(FLOOR) for name in floors)
    yield [suite, "median (least–greatest)", *(["x floor"] if has_floor else []),
           *(HEADS.get(metric, metric) for metric in others)]
    for name, figures in benches.items():
        first = next((figures[metric] for metric in leading if metric in figures), None)
        floor = [times_floor(name, figures, floors)] if has_floor else []
        yield ["  " + name.partition("/")[2], cell(first, True), *floor,
               *(cell(figures.get(metric), False) for metric in others)]


def tell(source, passes):
    suites = entries.by_suite(source.points)
    environment = source.environment
    calibration = f", {source.cal_ns:.3f} ns a step of arithmetic" if source.cal_ns is not None else ""
    print(f"{environment['cpu']}, {environment['cores']} processors, {environment['compiler']}, "
          f"commit {source.commit}\nclock {environment['clock_source']}, governor {environment['governor']}, "
          f"load {environment['load']}{calibration}; {passes} {'pass' if passes == 1 else 'passes'}")
    for suite, benches in suites.items():
        print("", *command.runs.table(list(suite_rows(suite, benches, suites.get("floor", {})))), sep="\n")


def main(argv=None):
    arguments = usage(argv)
    progress = command.Progress()
    program = arguments.program or builds.program(None)
    passes = Passes(program, arguments.filter, arguments.seconds, progress)
    report = passes.run()
    report["context"]["command"] = shlex.join(["./dev", "bench", "quick", *(sys.argv[1:] if argv is None else argv)])
    command.write(arguments.output, json.dumps(report, indent=1) + "\n")
    source = convert.from_weir_bench(report, program)
    if arguments.json:
        print(json.dumps({"commit": source.commit, "environment": source.environment, "passes": len(passes.reports),
                          "points": source.points, "failed": [list(pair) for pair in source.skipped]}, indent=1))
    else:
        tell(source, len(passes.reports))
        print(f"\nThe report is in {os.path.relpath(arguments.output)}.")
    for name, reason in source.skipped:
        print(f"quick: {name}: {reason}", file=sys.stderr)
    return 1 if source.skipped else 0


if __name__ == "__main__":
    command.run("quick", main)
