"""./dev bench ab: is this slower than that? Builds both, counts what their events execute (the gate), and then lets
processes of base, head and a copy of base run in turn (the clock).

The gate is exact and red at once. The clock is red only where the 95 % interval of the ratio lies wholly over 3 % (1 % for
emitters in a core of their own), or over what base differs from its own copy by, and that again in a second run with up to twice the pairs. It has a
row for each state of the machine, such as "own core", and compares only processes of one state.

  regressed  slower, seen twice                 unstable   the machine is too restless to tell
  improved   faster by the same measure         same       no difference that this could see

What base has and head has not, or head cannot measure, is missing: a guard that is gone is no better than a red one.

Exit code: 0 nothing regressed and nothing is missing; 1 something did or is, by gate or clock; 2 usage. With --figure,
as git bisect run wants it: 0 it did not regress, 1 it did, 125 it cannot be judged here.
"""
import json
import os
import re
import shlex
import sys
import time

from bench.judge import alternate, builds, command, comment, count, environment, gate, points, state
from bench.judge.command import Progress

FOLDER = os.path.join(points.ROOT, "out", "bench", "ab")
# Seconds in all, after the builds; the rest of them after the first run is for the repeat.
SECONDS, SECONDS_FAST = 480, 90
SHARE_FIRST = 0.62
CANNOT_JUDGE = 125  # git bisect skips the commit
COMMAND_MAX = 200  # as results/schema.json has it


def usage():
    parser = command.parser("ab", __doc__)
    parser.add_argument("--base", metavar="REV", required=True, help="what to compare with, such as main or HEAD~1")
    parser.add_argument("--head", metavar="REV", help="the revision to judge; default: the current tree as it is")
    parser.add_argument("--fast", action="store_true",
                        help=f"few benchmarks, {SECONDS_FAST} s after the builds instead of {SECONDS}")
    parser.add_argument("--seconds", type=command.within(10, 36000), metavar="S", help="in all, after the builds")
    parser.add_argument("--filter", type=command.regular_expression, metavar="RE",
                        help="only benchmarks of the set whose names fit; the gate is not filtered")
    parser.add_argument("--figure", metavar="NAME", help="judge only this figure of ./dev bench count --all, or this "
                        "benchmark; for git bisect run")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the order of processes; default 1")
    parser.add_argument("--json", action="store_true", help="print the report instead of tables")
    parser.add_argument("--report", metavar="FILE", help="write the report to a file, too")
    return parser.parse_args()


# --- The gate. ------------------------------------------------------------------------------------------------------


def gate_rows(base, head):
    """Rows, why they were not compared, and what of base is missing in head as (name, reason)."""
    base_figures, head_figures = (count.measure(builds.build(revision, count.TARGETS)) for revision in (base, head))
    why = gate.why_not_comparable(base_figures, head_figures)
    if why:
        return gate.not_compared(head_figures, why), why, [(count.TARGETS[0], why)]
    rows = gate.compare(base_figures, head_figures, is_baseline=False)
    return rows, None, [(row["name"], row["note"]) for row in rows if row["head"] is None and row["base"] is not None]


# --- The clock. -----------------------------------------------------------------------------------------------------


def run_clock(options, programs, start, total):
    """What was measured, with all that of base is missing in head."""
    available, only_base, only_head = programs.common()
    groups = alternate.FAST if options.fast else alternate.FULL
    if options.filter:
        groups = alternate.filtered(groups, options.filter)

    def is_chosen(name):
        return any(alternate.Round.wanted(group, {name: name}) for group in groups)

    def seconds_of(part):
        left = total - (time.monotonic() - start)
        return max(0.0, left - total * (1 - SHARE_FIRST) if part == "first" else left)

    measured = alternate.measure(programs, groups, available, options.seed, seconds_of, Progress())
    for name, reason in [(name, "new") for name in only_head if is_chosen(name)] + measured.left_out:
        print(f"ab: {name}: left out: {reason}", file=sys.stderr)
    measured.missing[:0] = [(name, "head has no such benchmark") for name in only_base if is_chosen(name)]
    return measured


# --- The report. ----------------------------------------------------------------------------------------------------


def name_of(revision):
    return environment.commit(points.ROOT) if revision is None else builds.resolve(revision)[:12]


def repeat_command(options, base, head):
    words = ["./dev", "bench", "ab", *(["--fast"] if options.fast else []), "--base", base]
    words += ["--head", head] if options.head else []
    words += ["--filter", options.filter] if options.filter else []
    words += ["--seconds", f"{options.seconds:g}"] if options.seconds else []
    told = shlex.join(words + ["--seed", str(options.seed)])
    if len(told) > COMMAND_MAX:
        raise command.Usage(f"--filter: the command that repeats it goes into the report, in {COMMAND_MAX} "
                            f"characters at most; this one has {len(told)}")
    return told


def as_missing(name, reason):
    """As the schema has it, whatever a program said."""
    return {"name": name, "reason": re.sub(r"[\x00-\x1f\x7f]+", " ", reason).strip()[:200] or "it says nothing"}


def nothing_compared(rows, clock):
    """What to say where neither gate nor clock has compared anything."""
    is_compared = clock or any(row["verdict"] != "not_compared" for row in rows)
    return [] if is_compared else [("ab", "nothing was compared")]


def taken_on(clock):
    found = environment.collect(compiled_with=clock.compiler)
    return found if clock.calibration_ns is None else {**found, "calibration_ns": clock.calibration_ns}


def make_report(names, again, rows, clock, gate_missing, started):
    """Of two names of commits, and the command that repeats it."""
    missing = gate_missing + clock.missing + nothing_compared(rows, clock.rows)
    undecided = {"undecided": [as_missing(*pair) for pair in clock.left_out]} if clock.left_out else {}
    return points.validate("report", {
        "v": 1, "base": names[0], "head": names[1], "command": again,
        "seconds": round(time.monotonic() - started, 1), "environment": taken_on(clock), "gate": rows,
        "clock": clock.rows, "missing": [as_missing(*pair) for pair in missing], **undecided}, "report")


def print_report(report, why_no_gate):
    counts = [] if why_no_gate else list(filter(comment.tells, report["gate"]))
    print(f"gate: {'not compared: ' + why_no_gate if why_no_gate else comment.summary(report['gate'])}")
    comment.print_rows(counts, report["clock"])
    regressed = [row for row in report["gate"] + report["clock"] if row["verdict"] == "regressed"]
    for one in report["missing"]:
        print(f"missing: {one['name']}: {one['reason']}")
    missing = f", {len(report['missing'])} could not be compared" if report["missing"] else ""
    print(f"\n{report['base']} and {report['head']}: {len(regressed) or 'nothing'} regressed{missing}; repeat with\n"
          f"{report['command']}")


def write_report(path, report):
    command.write(path, json.dumps(report, indent=1) + "\n")


# --- One figure. ------------------------------------------------------------------------------------------------------


def row_of_count(options):
    """The gate's row, or runs.Failed with the reason why there is none."""
    rows, why, _ = gate_rows(options.base, options.head)
    row = next((row for row in rows if row["name"] == options.figure), None)
    if why or row is None:
        raise command.runs.Failed(why or f"there is no figure {options.figure}; ./dev bench count --all lists them")
    return row, f"{row['base']} -> {row['head']} {row['unit']}"


def row_of_clock(options):
    """The same by the clock."""
    programs = alternate.Programs(FOLDER, builds.program(options.base), builds.program(options.head))
    available, _, _ = programs.common()
    if options.figure not in available:
        raise command.runs.Failed(f"base or head has no benchmark {options.figure}")
    measured = alternate.measure(programs, (alternate.group_of(options.figure),),
                                 {options.figure: available[options.figure]}, options.seed,
                                 lambda part: options.seconds or SECONDS_FAST, Progress())
    if not measured.rows:
        raise command.runs.Failed("; ".join(reason for _, reason in measured.missing + measured.left_out))
    row = min(measured.rows, key=lambda row: comment.RANK[row["verdict"]])  # of its states
    times = f"{row['ratio']:.3f} ({row['lo']:.3f} to {row['hi']:.3f}) times base's"
    return row, state.labelled(times, row.get("state", ""))


def judge_figure(options):
    """git bisect's code for head. A commit that cannot be built is none that can be judged."""
    try:
        row, told = (row_of_count if gate.is_figure(options.figure) else row_of_clock)(options)
    except command.runs.Failed as error:
        print(f"{name_of(options.head)}  skipped: {str(error).splitlines()[0]}", flush=True)
        return CANNOT_JUDGE
    code = {"same": 0, "improved": 0, "regressed": 1}.get(row["verdict"], CANNOT_JUDGE)
    word = {0: "good", 1: "bad", CANNOT_JUDGE: "skipped"}[code]
    print(f"{name_of(options.head)}  {word}  {options.figure}: {told}", flush=True)
    return code


def main():
    options = usage()
    if options.figure:
        return judge_figure(options)
    names = name_of(options.base), name_of(options.head)
    again = repeat_command(options, *names)
    programs = alternate.Programs(FOLDER, builds.program(options.base), builds.program(options.head))
    for revision in (options.base, options.head):
        builds.build(revision, count.TARGETS)  # now, so that what follows is not about compilers
    started = time.monotonic()
    rows, why_no_gate, gate_missing = gate_rows(options.base, options.head)
    if why_no_gate:
        print(f"ab: the gate was not compared: {why_no_gate}", file=sys.stderr)
    total = options.seconds or (SECONDS_FAST if options.fast else SECONDS)
    report = make_report(names, again, rows, run_clock(options, programs, started, total), gate_missing, started)
    if options.report:
        write_report(options.report, report)
    if options.json:
        print(json.dumps(report, indent=1))
    else:
        print_report(report, why_no_gate)
    return 1 if report["missing"] or any(row["verdict"] == "regressed" for row in rows + report["clock"]) else 0


if __name__ == "__main__":
    command.run("ab", main)
