"""Runs every benchmark of weir-bench as briefly as possible, and checks the report, not the speed.

    smoke.py WEIR_BENCH

Each registered benchmark must have a row without an error and a name that follows the rules. The
report must describe the machine completely, and all of it must fit the format of results/history/.
"""
import re
import sys

from bench.judge import benchmark, command, convert, state
from bench.stress import runs

# The figures that bars depend on: these must not disappear unnoticed.
EXPECTED = (
    "floor/32/threads:1", "floor/32_no_clock/threads:1", "floor/empty_loop/threads:1", "floor/clock", "floor/copy_64",
    "floor/futex_round_trip", "floor/lock_add", "floor/arithmetic", "floor/issue", "emit/disabled/threads:1",
    "emit/enabled/payload:32/threads:1", "emit/enabled/payload:32/threads:2", "emit/dropped/payload:32/threads:1",
    "emit/no_clock/payload:32/threads:1", "emit/ordered/payload:32/threads:1", "emit/at/payload:32/threads:1",
    "emit/batch/payload:32/threads:1", "emit/enabled/payload:32/sessions:2/threads:1",
    "emit/enabled/payload:32/sessions:8/threads:1", "emit/enabled_drop_block/payload:32/threads:1", "emit/sustained/payload:32/producers:1",
    "emit/sustained/payload:32/producers:2", "emit/short_lived",
    *(f"emit/paced/budget_kib:{budget}" for budget in (512, 1024, 16384)),
    "drain/encode/payload:32", "drain/tmpfs/payload:32",
    *(f"drain/encode/payload:32/{what}" for what in ("with:stack", "with:activity", "format:6")), "reader/decode/payload:32",
    *(f"brim/block/{wake}/producers:{producers}/segment:32768" for wake in runs.WAKES.values() for producers in (1, 8)),
    "brim/drop/producers:4/segment:32768/payload:1024",
    *(f"session/{call}" for call in ("create", "start", "stop", "destroy")), "brim/stop_parked/producers:32",
    "heap/snapshot/objects:2000000", "server/start/beside:stuck", "server/stop/beside:stuck", "ratio/dropped", "ratio/disabled",
    "ratio/sustained", "ratio/batch_of_floor", "ratio/enabled/sessions:2",
    *(f"ratio/{what}/drain:{place}" for what in ("enabled", "enabled_block", "enabled_no_clock", "at", "batch")
      for place in ("same", "other")),
    "ratio/enabled/threads:2", "ratio/enabled_block/threads:2", "ratio/enabled_overwrite", "ratio/enabled_overwrite/threads:2",
    "ratio/enabled/sessions:8", "ratio/enabled_drop_block", "ratio/plugin")
CONTEXT = ("cpu", "kernel", "c_compiler", "cxx_compiler", "build_type", "commit", "event_clock", "system_clock",
           "governor", "load", "calibration_ns", "benchmark_version")
NAME = re.compile(r"(floor|emit|drain|brim|reader|ratio|server|session|heap)(/[a-z0-9_-]+)+(/[a-z0-9_]+:[A-Za-z0-9_.-]+)*")


def faults(listed, report):
    plain = list(benchmark.repetitions_of(report))
    yield from (f"{benchmark.plain(name)}: registered, but not in the report" for name in listed
                if benchmark.plain(name) not in plain)
    yield from (f"{name}: no longer measured" for name in EXPECTED if name not in plain)
    yield from (f"{name}: twice" for name in sorted(set(listed)) if listed.count(name) > 1)
    yield from (f"{name}: no state of the machine" for name, rows in benchmark.repetitions_of(report).items()
                if name not in benchmark.failures(report) and not all(map(state.taken, rows)))
    yield from (f"{name}: not suite/what/key:value" for name in plain if not NAME.fullmatch(name))
    yield from (f"context: no {key}" for key in CONTEXT if not report["context"].get(key))
    yield from (f"{name}: {reason}" for name, reason in benchmark.failures(report).items())
    told = {point["bench"] for point in convert.from_weir_bench(report, "the report").points}
    yield from (f"{name}: no figure that the history keeps" for name in plain if name not in told)


def main():
    if len(sys.argv) != 2:
        raise command.Usage("give the program to run, and nothing else")
    listed = benchmark.names(sys.argv[1])
    report = benchmark.run(sys.argv[1], min_time=0.0001, options=["--smoke"], seconds_max=240)
    found = list(faults(listed, report))
    print("\n".join(found) or f"{len(report['benchmarks'])} benchmarks run")
    return 1 if found else 0


if __name__ == "__main__":
    command.run("smoke", main)
