"""The comparison of the original work: the same flood of events under each strategy, side by side.

    differential.py PROGRAM [--seconds 2] [--events 1000000] [--threads 4] [--budget 1M] [--json]

The rows take turns, and each is repeated until it has run for the given seconds; its repeats are
pooled. The independent reader decodes each repeat's trace after the clock stops. If a trace does
not match what was emitted, its row is not printed and the command fails. Exit codes: 0, 1 failed, 2
usage.
"""
import argparse
import json

from bench.stress import runs

REPEATS_MAX = 500

HEADER = (("", "written", "lost", "written/s", "parked p50", "p99", "p99.9", "max", "wakes per", "fairness"),
          ("", "", "", "million", "us", "us", "us", "us", "segment", "Jain"))


def options_of(strategy, arguments, seed):
    mode, _, wake = strategy.lower().replace("_", "-").partition("/")
    return ["--mode", mode, *(["--wake", wake] if wake else []), "--threads", str(arguments.threads), "--events",
            str(arguments.events), "--budget", arguments.budget, "--seed", str(seed), "--sink", "fast", "--verify", "--bins"]


def measure(program, arguments, progress):
    """A pool per strategy. The rows take turns, so that other load on the machine affects all of them alike."""
    pools = {strategy: runs.Pool() for strategy in runs.STRATEGIES}
    for repeat in range(1, REPEATS_MAX + 1):
        open_rows = [strategy for strategy, pool in pools.items() if pool.sum("seconds") < arguments.seconds]
        if not open_rows:
            return pools
        for strategy in open_rows:
            progress.show(f"{strategy}, repeat {repeat}: {pools[strategy].sum('seconds'):.1f} of {arguments.seconds:g} s")
            options = options_of(strategy, arguments, repeat)
            run, _ = program.run(options)
            fault = next(run.faults(verified_needed=True), None)
            if fault:
                raise runs.Failed(f"{strategy}: {fault}; repeat with: {program.command(options)}")
            pools[strategy].add(run)
    raise runs.Failed(f"{REPEATS_MAX} repeats did not last {arguments.seconds:g} s")


def row(summary):
    """A summary as the cells of a line."""
    lost = sum(summary["lost"].values())
    share = f" ({100 * lost / summary['emitted']:.1f} %)" if lost else ""
    park = summary["park_ns"]
    times = [runs.microseconds(park[name]) for name in ("p50", "p99", "p999", "max")]
    jain = "-" if summary["jain"] is None else f"{summary['jain']:.3f}"
    return [summary["strategy"], f"{summary['written']:,}", f"{lost:,}{share}", runs.millions(summary["events_per_s"]), *times,
            runs.significant(summary["wakes_per_segment"]), jain]


def text(summaries, run, arguments, note):
    repeats = [summary["repeats"] for summary in summaries]
    span = f"{min(repeats)}" if min(repeats) == max(repeats) else f"{min(repeats)} to {max(repeats)}"
    payload = f" of {run['payload']} bytes" if run.get("payload") is not None else ""
    budget = runs.size(run["budget_bytes"]) if run.get("budget_bytes") else arguments.budget
    yield (f"The brim: {arguments.threads} threads emit {arguments.events:,} events{payload} each, as fast as they can, through {budget}.")
    yield f"{span} repeats per row, in turn and pooled; the independent reader decoded and counted each trace."
    yield ""
    yield from runs.table([*HEADER, *(row(summary) for summary in summaries)])
    yield ""
    yield "parked: how long a producer that found the budget full waited for room; -: too few waits."
    yield "Fairness is 1 if all threads got the same share in each interval."
    if note:
        yield note


def main():
    parser = argparse.ArgumentParser(description="Floods a session under each strategy and prints the figures side by side.")
    parser.add_argument("program", help="weir-stress")
    parser.add_argument("--seconds", type=float, default=2, help="how long each row runs (default 2)")
    parser.add_argument("--events", type=int, default=1_000_000, help="per thread and repeat (default 1000000)")
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--budget", default="1M")
    parser.add_argument("--json", action="store_true", help="one object per row instead of the table")
    arguments = parser.parse_args()
    if min(arguments.seconds, arguments.events, arguments.threads) <= 0:
        parser.error("--seconds, --events and --threads must be positive")
    progress, others = runs.Progress(), runs.Others()
    try:
        pools = measure(runs.Program(arguments.program), arguments, progress)
    finally:
        progress.end()
    summaries = [pool.summary() for pool in pools.values()]
    if arguments.json:
        lines = (json.dumps(summary) for summary in summaries)
    else:
        lines = text(summaries, pools[runs.DEFAULT].runs[0], arguments, runs.sentence_of_others(others.processors()))
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    runs.run_command("differential", main)
