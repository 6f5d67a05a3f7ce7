"""./dev bench count: the deterministic gate. Counts what an event executes and how large things are, and compares it
with the committed baseline of the same compiler, or with another revision.

One instruction more per event of the emit and drain kernels is red; so is one locked instruction, fence, call, system
call, allocation or byte more, a changed list of exported names, and 1 % more code or any more bss in a minimal program.
Other code sizes and the reader only warn.

Exit code: 0 nothing is worse, or nothing was compared (and it says so); 1 something is; 2 usage.
"""
import json
import os

from bench.judge import builds, command, comment, count, environment, gate, points

SKIPPED = 77


def arguments():
    parser = command.parser("count", __doc__)
    with_what = parser.add_mutually_exclusive_group()
    with_what.add_argument("--update", action="store_true",
                           help="write the baseline of this compiler instead of comparing")
    with_what.add_argument("--base", metavar="REV", help="compare with this revision, built by the same compiler")
    parser.add_argument("--build", metavar="DIR", help="a build folder to count in; default: the current tree is built")
    parser.add_argument("--all", action="store_true", help="print the figures that are the same, too")
    parser.add_argument("--json", action="store_true", help="print figures and rows as an object instead of a table")
    parser.add_argument("--skip-code", action="store_true",
                        help=f"exit with {SKIPPED} where nothing was compared, for ctest")
    return parser.parse_args()


def head_figures(options):
    folder = options.build or builds.build(None, count.TARGETS)
    if not os.path.exists(os.path.join(folder, "bin", count.PROGRAMS[0])):
        raise command.runs.Failed(f"{folder} has no bin/{count.PROGRAMS[0]}; build the target weir-count there")
    return count.measure(folder)


def update(head):
    why = gate.faults(head)
    if why:
        raise command.runs.Failed(f"no baseline was written: {'; '.join(why)[:500]}")
    path = gate.baseline_path(head.compiler)
    gate.write_baseline(path, head)
    print(f"{len(head.values)} figures written to {os.path.relpath(path, points.ROOT)}; commit it with the change "
          "that explains it")


def compare(options, head):
    """The rows, what they were compared with, and why they were not."""
    if options.base:
        base, with_what = count.measure(builds.build(options.base, count.TARGETS)), options.base
    else:
        path = gate.baseline_path(head.compiler)
        base, with_what = gate.read_baseline(path) if os.path.exists(path) else None, os.path.relpath(path, points.ROOT)
    if base is None:
        why = f"there is no {with_what} for {head.compiler}; --update writes it, --base REV compares with a revision"
    else:
        why = gate.why_not_comparable(base, head)
    rows = gate.not_compared(head, why) if why else gate.compare(base, head, is_baseline=not options.base)
    return rows, with_what, why


def as_object(head, rows, with_what, why):
    """`rows` is what ./dev bench record makes points of, `gate` what was compared."""
    return {"v": 1, "commit": environment.commit(points.ROOT), "date": points.now(), "command": "./dev bench count",
            "tool": "weir-count, callgrind", "environment": environment.collect(compiled_with=head.compiler),
            "rows": [{"name": name, "unit": unit, "value": value}
                     for name, (value, unit) in sorted(head.values.items())],
            "compared_with": None if why else with_what, "why_not": why, "gate": rows}


def print_text(options, head, rows, with_what, why):
    comment.print_rows([row for row in rows if options.all or comment.tells(row, why)], [])
    print(f"not compared: {why}" if why else f"beside {with_what}: {comment.summary(rows)}")
    if head.note:
        print(f"note: {head.note}")
    if not options.base and any(row["verdict"] == "improved" for row in rows):
        print("some figures are better than the baseline: ./dev bench count --update keeps that")


def main():
    options = arguments()
    if options.base:
        builds.resolve(options.base)  # before anything is built
    head = head_figures(options)
    if options.update:
        update(head)
        return 0
    rows, with_what, why = compare(options, head)
    if options.json:
        print(json.dumps(as_object(head, rows, with_what, why), indent=1))
    else:
        print_text(options, head, rows, with_what, why)
    if any(row["verdict"] == "regressed" for row in rows):
        return 1
    return SKIPPED if options.skip_code and why else 0


if __name__ == "__main__":
    command.run("count", main)
