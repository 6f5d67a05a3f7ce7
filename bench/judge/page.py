"""The page of the history: one HTML file with data, chart library and licence in it, for file:// without a network."""
import json
import os
import re
import shutil
import statistics
import subprocess

from bench.judge import change_points, metrics, points, series
from bench.judge.points import Invalid

FOLDER = os.path.join(points.ROOT, "bench", "page")


# --- The data. ----------------------------------------------------------------------------------------------


class Index:
    """Numbers for things that come again and again."""

    def __init__(self):
        self.numbers, self.things = {}, []

    def of(self, thing):
        if thing not in self.numbers:
            self.numbers[thing] = len(self.things)
            self.things.append(thing)
        return self.numbers[thing]


def places_of(groups, known, names):
    """Commits in order, and places on x: a commit that was measured several times has as many, close to each other."""
    most, at = {}, {}
    for some in groups.values():
        count = {}
        for point in some:
            name = names.full(point["commit"]) or point["commit"]
            count[name] = count.get(name, 0) + 1
            at.setdefault(name, series.order(point, known, names))
        for name, times in count.items():
            most[name] = max(most.get(name, 0), times)
    commits = sorted(at, key=lambda name: at[name][:2])
    places, first = [], {}
    for number, name in enumerate(commits):
        first[name] = len(places)
        places += [{"x": number + (0.8 * time / most[name] if time else 0), "commit": number}
                   for time in range(most[name])]
    return commits, places, first


def series_of(key, some, first, names, index, together, progress):
    """One panel's data; figures in the unit that suits them."""
    progress(f"{key[1]} {key[2]}")
    factor, unit = metrics.scale(statistics.median(abs(point["value"]) for point in some), some[-1]["unit"])
    scaled = lambda value: None if value is None else float(f"{value / factor:.6g}")
    times, placed = {}, []
    for point in some:
        name = names.full(point["commit"]) or point["commit"]
        placed.append(first[name] + times.get(name, 0))
        times[name] = times.get(name, 0) + 1
    changes = [{"at": c.at, "before": scaled(c.before), "after": scaled(c.after), "kind": c.kind, "why": c.why,
                "worse": change_points.worse(c, some[c.at]["better"])}
               for c in change_points.find(some, together)]
    text = lambda name: [None if name not in point else index["texts"].of(point[name]) for point in some]
    return {"suite": key[0], "bench": key[1], "metric": key[2], "unit": unit, "better": some[-1]["better"],
            "machine": index["machines"].of(key[3:]), "place": placed, "value": [scaled(p["value"]) for p in some],
            "lo": [scaled(p["lo"]) for p in some], "hi": [scaled(p["hi"]) for p in some], "n": [p["n"] for p in some],
            "commit": [p["commit"] for p in some], "date": [p["date"] for p in some],
            "cal": [p["cal_ns"] for p in some],
            "kernel": text("kernel"), "load": text("load"), "clock": text("clock_source"),
            "governor": text("governor"), "tool": text("tool"), "changes": changes}


def data_of(found, last=series.LAST, root=points.ROOT, progress=lambda text: None):
    """What page.js reads."""
    known = series.commits(root)
    names, groups = series.Names(known), series.group(found, known, last)
    commits, places, first = places_of(groups, known, names)
    index = {"texts": Index(), "machines": Index()}
    panels = [series_of(key, some, first, names, index, len(groups), progress) for key, some in groups.items()]
    about = f"{len(panels)} series of {len(commits)} commit{'' if len(commits) == 1 else 's'}."
    if found:
        about += f" Measured from {min(p['date'] for p in found)[:10]} to {max(p['date'] for p in found)[:10]}."
    return {"about": about, "series": panels, "places": places, "texts": index["texts"].things,
            "commits": [{"name": name[:12], "subject": known[name].subject if name in known else ""}
                        for name in commits],
            "machines": [dict(zip(("runner", "cpu", "compiler"), machine)) for machine in index["machines"].things]}


def embedded(value):
    """JSON that cannot end the script element it stands in, and that has no line ends that only JavaScript knows."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


# --- The chart library. -------------------------------------------------------------------------------------


def version(*path):
    """Of the chart library, as a file of JSON has it; None if it is not there."""
    try:
        with open(os.path.join(FOLDER, *path), encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return None
    return found.get("packages", {}).get("node_modules/uplot", found).get("version")


def install():
    """npm ci, unless the locked version is there. npm holds what it gets against the hash in the lock."""
    if version("node_modules", "uplot", "package.json") == version("package-lock.json"):
        return
    npm = shutil.which("npm")
    if npm is None:
        raise Invalid("the page needs npm once, for its chart library; on Debian: apt-get install npm")
    done = subprocess.run([npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], cwd=FOLDER,
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = next((line for line in done.stderr.splitlines() if line.strip()), f"exit code {done.returncode}")
        raise Invalid(f"npm cannot install the page's chart library ({reason.strip()}); with the registry in reach, "
                      f"run: npm --prefix {os.path.relpath(FOLDER)} ci")


def _text(*path):
    return points.read_text(os.path.join(FOLDER, *path))


def html(data):
    """The whole page."""
    library = ("node_modules", "uplot")
    parts = {"LICENCE": _text(*library, "LICENSE").replace("--", "- -"),
             "LIBRARY_STYLE": _text(*library, "dist", "uPlot.min.css"),
             "LIBRARY": _text(*library, "dist", "uPlot.iife.min.js"), "STYLE": _text("page.css"),
             "SCRIPT": _text("page.js"), "DATA": embedded(data)}
    for name in ("LIBRARY", "SCRIPT"):
        if "</script" in parts[name].lower():
            raise Invalid(f"the page's {name.lower()} ends its script element early")
    return re.sub("@([A-Z_]+)@", lambda match: parts[match.group(1)], _text("template.html"))
