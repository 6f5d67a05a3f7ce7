"""Entries of results/: a folder per measurement that something is claimed by. Added, never changed; tables are made,
not typed."""
import json
import os
import re
import shutil
import tempfile

from bench.judge import command, metrics, points, series, state
from bench.judge.points import Invalid

RESULTS = os.path.join(points.ROOT, "results")
INDEX = "README.md"
LINES_MAX = 2000  # of all files of an entry
ENTRY_WIDTH = 4000  # of a line of an attached report: a cell of a claim is one
POINT = ("bench", "state", "metric", "unit", "better", "value", "lo", "hi", "n")  # of points.ndjson; env.json has the rest
INDEX_HEAD = "| what it shows | entry | repeat |"


# --- Names. -------------------------------------------------------------------------------------------------


def processor_name(cpu):
    """"AMD EPYC (family 25, model 17, stepping 1)" as "epyc-f25m17": short, and told apart where the name is cut short.
    """
    words, _, numbers = cpu.partition("(family ")
    words = re.sub(r"\((R|TM|r|tm)\)|@.*|\d+-Core", " ", words)
    kept = [word.lower() for word in re.findall(r"[A-Za-z0-9]+", words)
            if word.lower() not in ("amd", "intel", "cpu", "processor", "core", "genuine", "virtual")]
    family, model = re.match(r"\d+", numbers), re.search(r"model (\d+)", numbers)
    suffix = f"f{family.group()}" + (f"m{model.group(1)}" if model else "") if family else ""
    return "-".join([*(kept[:2] or ["cpu"]), suffix]).strip("-")


def entry_name(date, cpu, name):
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        raise Invalid(f"--name '{name}': small letters, digits and single '-' between them")
    return f"{date[:10]}-{processor_name(cpu)}-{name}"


# --- The notes. ---------------------------------------------------------------------------------------------


def cell(text):
    """In a table of Markdown that is ours, but whose words are not."""
    return re.sub(r"([\\|`*_<>\[\]])", r"\\\1", re.sub(r"\s+", " ", str(text)))


def table(head, rows):
    lines = [head, *rows]
    yield from ("| " + " | ".join(line) + " |" for line in lines[:1])
    yield "|" + "---|" * len(head)
    yield from ("| " + " | ".join(line) + " |" for line in lines[1:])


def by_suite(found):
    """{suite: {benchmark and state: {metric: point}}}, in the order of the points."""
    suites = {}
    for point in found:
        suites.setdefault(point["suite"], {}).setdefault(series.bench_of(point), {})[point["metric"]] = point
    return suites


def suite_tables(found):
    """A table for each suite: benchmarks down, metrics across; median, and in brackets the least and the greatest."""
    arrows = {"less": " ↓", "more": " ↑", "none": ""}
    for suite, benches in sorted(by_suite(found).items()):
        columns = {metric: arrows[point["better"]] for own in benches.values() for metric, point in own.items()}
        rows = []
        for name, own in benches.items():
            here = [own.get(metric) for metric in columns]
            told = [metrics.told(p["value"], p["unit"], (p["lo"], p["hi"])) if p else "" for p in here]
            bench, _, where = name.partition(", ")
            rows.append([state.labelled(f"`{bench}`", where), *told, str(max(p["n"] for p in own.values()))])
        yield from table([suite, *(cell(metric) + arrow for metric, arrow in columns.items()), "n"], rows)
        yield ""


def notes(title, note, sources, environment, commit):
    """What the entry says to a person."""
    found = [point for source in sources for point in source.points]
    lines = [f"# {title}", "", *([note, ""] if note else [])]
    lines += table(["measured on", ""], [[cell(name.replace("_", " ")), cell(value)]
                                         for name, value in environment.items() if name != "calibration_ns"])
    cal_ns = next((source.cal_ns for source in sources if source.cal_ns is not None), None)
    lines += [f"| commit | {cell(commit)} |"]
    lines += [f"| calibration loop | {metrics.told(cal_ns, 'ns')} an iteration |"] if cal_ns is not None else []
    lines += ["", "Repeat with what `command.txt` says. Of n repetitions the median, and in brackets the extremes;",
              "↓ less is better, ↑ more is better. Made by `./dev bench record` from points.ndjson.", ""]
    lines += suite_tables(found)
    skipped = [pair for source in sources for pair in source.skipped]
    if skipped:
        lines += ["Not measured:", "", *(f"* `{cell(name)}`: {cell(reason)}" for name, reason in skipped), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


# --- The files. ---------------------------------------------------------------------------------------------


def figures(sources):
    """The text of points.ndjson."""
    return "".join(json.dumps(points.rounded({name: point[name] for name in POINT if name in point})) + "\n"
                   for source in sources for point in source.points)


def attached(path):
    """The text of a further file; of a report of peers, what tables and pictures read: each row without the runs that it
    sums up, and its spread only for the times."""
    text = points.read_text(path)
    if not path.endswith(".json"):
        return text
    report = points.read_json(text, path)
    for row in report.get("rows", []) if os.path.basename(path).startswith("peers") else []:
        row.pop("runs", None)
        for side in ("least", "greatest"):
            row[side] = {name: row.get(side, {}).get(name) for name in ("ns_per_event", "seconds", "of_floor")}
    return points.compact(report, ENTRY_WIDTH)


# --- The folder, and its line in the index. -----------------------------------------------------------------


def index_with(text, what, name, repeat, where):
    """The index with one line more at the end of its table, in place of one that an interrupted try has left."""
    link = f"[{name}]({name}/notes.md)"
    lines = [line for line in text.split("\n") if not (line.startswith("|") and f"| {link} |" in line)]
    if INDEX_HEAD not in lines:
        raise Invalid(f"{where}: there is no table that begins with '{INDEX_HEAD}'")
    at = lines.index(INDEX_HEAD)
    while at < len(lines) and lines[at].startswith("|"):
        at += 1
    first = repeat.strip().split("\n")[0]
    lines.insert(at, f"| {cell(what)} | {link} | {cell(first)} |")
    return "\n".join(lines)


def check_new(name, files, results):
    """Nothing that is there changes, and no file of an entry takes another's place."""
    folder = os.path.join(results, name)
    if os.path.lexists(folder):
        raise Invalid(f"{folder}: there is such an entry already; entries are added, never changed")
    names = [os.path.basename(path) for path in files]
    for one in names:
        if names.count(one) > 1 or one in ("env.json", "command.txt", "notes.md", "points.ndjson"):
            raise Invalid(f"{one}: an entry cannot have two files of this name")


def make(name, *, note, sources, files, repeat, environment, commit, dirty_allowed, results=RESULTS):
    """The folder with all in it, or none; and the index's line."""
    check_new(name, files, results)
    folder, index = os.path.join(results, name), os.path.join(results, INDEX)
    with open(index, encoding="utf-8") as file:
        changed = index_with(file.read(), (note or name).split("\n")[0], name, repeat, index)
    about = {"commit": commit, "dirty_allowed": dirty_allowed, "environment": environment,
             "date": max(point["date"] for source in sources for point in source.points),
             "calibration_ns": next((source.cal_ns for source in sources if source.cal_ns is not None), None)}
    texts = {"env.json": json.dumps(about, indent=2) + "\n", "command.txt": repeat.strip() + "\n",
             "notes.md": notes(name, note, sources, environment, commit), "points.ndjson": figures(sources)}
    texts |= {os.path.basename(path): attached(path) for path in files}
    lines = sum(text.count("\n") for text in texts.values())
    if lines > LINES_MAX:
        raise Invalid(f"the entry would have {lines} lines, and {LINES_MAX} is the most: record fewer figures, or attach less")
    part = tempfile.mkdtemp(prefix=".entry-", dir=results)
    try:
        for file_name, text in texts.items():
            with open(os.path.join(part, file_name), "w", encoding="utf-8") as file:
                file.write(text)
        os.chmod(part, 0o755)
        # The index first: a line without its entry is taken up by the next try, an entry without its line is refused.
        command.write(index, changed)
        os.rename(part, folder)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return folder
