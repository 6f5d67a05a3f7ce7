"""./dev bench watch: where main became slower or faster, from results/history/. Exit code 1 if there is something new.

A change point is a place in a series before and after which figures are of two levels. It takes some commits to show:
so what is new since REV is what the history up to REV does not show yet. Changes at which the calibration loop or the
kernel changed too are the host's: they are told, but are no reason for exit code 1.

The more series there are, the stronger a change must be: chance alone finds one in one of twenty such looks, whatever
their number.
"""
import argparse
import json

from bench.judge import change_points, command, metrics, points, series

MOVES = 5  # points that a change may move when more are known


def usage(argv):
    parser = command.parser("watch", __doc__)
    parser.add_argument("--since", metavar="REV", help="only what the history up to this commit does not show")
    parser.add_argument("--last", type=int, default=series.LAST, help="points of each series; default %(default)s")
    parser.add_argument("--json", action="store_true", help="an array of objects")
    parser.add_argument("--history", default=points.HISTORY, help="folder of NDJSON; default results/history")
    parser.add_argument("--root", default=points.ROOT, help=argparse.SUPPRESS)  # for tests
    arguments = parser.parse_args(argv)
    if arguments.last < 2 * change_points.STRETCH_MIN:
        parser.error(f"--last is at least {2 * change_points.STRETCH_MIN}")
    return arguments


def is_new(change, some, old, names, together):
    """Not shown by the points that were there before."""
    before = [place for place, point in enumerate(some) if names.full(point["commit"]) in old]
    shown = change_points.find([some[place] for place in before], together)
    return not any(abs(before[other.at] - change.at) <= MOVES for other in shown)


def describe(key, point, change, known, names):
    name = names.full(point["commit"])
    return {"suite": key[0], "bench": key[1], "metric": key[2], "unit": point["unit"], "runner": key[3], "cpu": key[4],
            "compiler": key[5], "commit": point["commit"], "subject": known[name].subject if name else None,
            "date": point["date"], "before": change.before, "after": change.after, "kind": change.kind,
            "why": change.why,
            "worse": change_points.worse(change, point["better"])}


def find(arguments, known, names, progress):
    old = series.ancestors(arguments.since, arguments.root) if arguments.since else None
    found, groups = [], series.group(series.load(arguments.history), known, arguments.last)
    for number, (key, some) in enumerate(groups.items()):
        progress.show(f"{number} of {len(groups)} series: {key[1]} {key[2]}")
        for change in change_points.find(some, len(groups)):
            if old is None or is_new(change, some, old, names, len(groups)):
                found.append(describe(key, some[change.at], change, known, names))
    progress.end()
    return found, len(groups)


def line(change):
    word = {True: "worse", False: "better", None: "changed"}[change["worse"]]
    share = f"{100 * (change['after'] / change['before'] - 1):+.1f} %" if change["before"] else "from 0"
    told = f"{metrics.told(change['before'], change['unit'])} -> {metrics.told(change['after'], change['unit'])}"
    where = f"{change['commit']} {change['subject'] or ''}".strip()
    what = {"step": f"at {where}", "drift": f"a drift around {where}",
            "host": f"the host's, not the commit's: {change['why']}"}
    return (f"{word:8}{share:>9}  {change['bench']} {change['metric']}: {told}\n{'':19}{what[change['kind']]}\n"
            f"{'':19}{change['cpu']}, {change['compiler']}, {change['runner']}")


def main(argv=None):
    arguments = usage(argv)
    known = series.commits(arguments.root)
    found, count = find(arguments, known, series.Names(known), command.Progress())
    if arguments.json:
        print(json.dumps(found, indent=2))
    else:
        for change in sorted(found, key=lambda change: (change["kind"] == "host", change["worse"] is not True)):
            print(line(change))
        print(f"{len(found)} change points{' that are new' if arguments.since else ''} in {count} series.")
    return 1 if any(change["kind"] != "host" for change in found) else 0


if __name__ == "__main__":
    command.run("watch", main)
