"""The history as series: one metric of one benchmark in one state of the machine, on one class of machine, processor
and compiler, in order of commits.

The order is that of git where it knows the commits: a clock that was wrong once does not turn a graph around. Points of
commits that git does not know (a history that was rewritten) stand where their date says.
"""
import datetime
import json
import os
import re
from typing import NamedTuple

from bench.judge import command, points, process, state
from bench.judge.command import runs

# Points of a series that a graph shows, and that history keeps whole.
LAST = 200
KEY = ("suite", "bench", "metric", "runner", "cpu", "compiler")
SUITES = ("count", "floor", "ratio", "emit", "drain", "brim", "reader", "server", "session")


class Commit(NamedTuple):
    place: int  # from the oldest on
    time: float  # never before that of a commit that comes earlier
    subject: str


def commits(root=points.ROOT):
    """All that HEAD has come from, by their full name; empty outside a checkout."""
    try:
        lines = process.git("log", "--topo-order", "--reverse", "--format=%H %ct %s", root=root).splitlines()
    except runs.Failed:
        return {}
    found, latest = {}, 0.0
    for place, line in enumerate(lines):
        name, time, subject = (line.split(" ", 2) + [""])[:3]
        latest = max(latest, float(time))
        found[name] = Commit(place, latest, subject)
    return found


def ancestors(revision, root=points.ROOT):
    """The full names of all commits that are in a revision."""
    try:
        return set(process.git("rev-list", "--end-of-options", revision, root=root).split())
    except runs.Failed as error:
        raise points.Invalid(f"'{revision}' is no revision that git knows here") from error


class Names:
    """Full names of commits for the short ones that points have."""

    def __init__(self, known):
        self.known, self.by_start = known, {}
        for name in known:
            self.by_start.setdefault(name[:7], []).append(name)

    def full(self, short):
        plain = short.removesuffix("-dirty")
        found = [name for name in self.by_start.get(plain[:7], ()) if name.startswith(plain)]
        return found[0] if len(found) == 1 else None


def _seconds(date):
    return datetime.datetime.fromisoformat(date.replace("Z", "+00:00")).timestamp()


def order(point, known, names):
    """What to sort by: the commit's time and place, then when it was measured."""
    measured, name = _seconds(point["date"]), names.full(point["commit"])
    at = known[name] if name else None
    return (at.time, at.place, measured) if at else (measured, -1, measured)


def load(history=points.HISTORY):
    """All points of a history, of all suites; none if there is no history yet."""
    if not os.path.isdir(history):
        return []
    paths = sorted(os.path.join(history, name) for name in os.listdir(history) if name.endswith(".ndjson"))
    return [point for path in paths for point in points.read(path)]


def key_of(point):
    """The state is part of the benchmark's name."""
    return tuple(bench_of(point) if name == "bench" else point[name] for name in KEY)


def bench_of(point):
    return state.labelled(point["bench"], point.get("state", ""))


def kept(found):
    """What of these points a history keeps: of each series the newest LAST, and of older ones the last of each month."""
    by_key = {}
    for point in sorted(found, key=lambda point: point["date"]):
        by_key.setdefault(key_of(point), []).append(point)
    months = [point for some in by_key.values() for point in {one["date"][:7]: one for one in some[:-LAST]}.values()]
    keep = {id(point) for point in [*months, *(point for some in by_key.values() for point in some[-LAST:])]}
    return [point for point in found if id(point) in keep]


def append(found, folder=points.HISTORY):
    """Adds points to the files of their suites, and thins these out; nothing is written unless all are valid."""
    by_suite = {}
    for point in found:
        points.validate("point", point, f"point {point.get('bench', '?')}")
        by_suite.setdefault(point["suite"], []).append(point)
    for suite, some in sorted(by_suite.items()):
        path = os.path.join(folder, f"{suite}.ndjson")
        before = points.read(path) if os.path.exists(path) else []
        command.write(path, "".join(json.dumps(point) + "\n" for point in kept(before + some)))
    return by_suite


def natural(key):
    """Suites from the clock up to whole sessions; in a name 8 comes before 32."""
    place = SUITES.index(key[0]) if key[0] in SUITES else len(SUITES)
    return place, *([(int(part) if part.isdigit() else 0, part) for part in re.split(r"(\d+)", word)] for word in key)


def group(found, known, last=LAST):
    """The series, by key: each a list of its last points in order."""
    names = Names(known)
    by_key = {}
    for point in sorted(found, key=lambda point: order(point, known, names)):
        by_key.setdefault(key_of(point), []).append(point)
    return {key: by_key[key][-last:] for key in sorted(by_key, key=natural)}
