"""Turns what the programs print into points: weir-bench's report, and the counts of the gate.

A benchmark that was repeated becomes one point for each state of the machine (state.py): the median, with the least and
the greatest.
"""
import datetime
import math
import re
import statistics

from bench.judge import benchmark, environment, metrics, points, state
from bench.judge.points import Invalid

NS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


class Source:
    """One file: its points, and what its figures were taken on."""

    def __init__(self, commit, taken_on, found, skipped=(), command=None):
        self.commit, self.environment, self.points = commit, taken_on, found
        self.skipped = list(skipped)  # (name, reason): benchmarks without a figure
        self.command = command

    @property
    def cal_ns(self):
        return next((point["cal_ns"] for point in self.points if point["cal_ns"] is not None), None)


def _finite(value):
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) else None


def _spread(values):
    """Median, least, greatest; for one value there is no spread."""
    middle = statistics.median(values)
    return (middle, min(values), max(values)) if len(values) > 1 else (middle, None, None)


def commit_name(described):
    """The commit in what `git describe` says, which may name a tag before it."""
    match = re.fullmatch(r"(?:.*-g)?([0-9a-f]{7,40})(-dirty)?", str(described or ""))
    return match.group(1) + (match.group(2) or "") if match else "unknown"


def date_of(text, where):
    """As Google Benchmark writes it, in UTC as points have it."""
    try:
        moment = datetime.datetime.fromisoformat(text)
    except (TypeError, ValueError) as error:
        raise Invalid(f"{where}: context: the date '{text}' is none") from error
    if moment.tzinfo is None:
        raise Invalid(f"{where}: context: the date '{text}' has no time zone")
    return moment.astimezone(datetime.timezone.utc).strftime(points.DATE)


# --- weir-bench. --------------------------------------------------------------------------------------------


def environment_of(context, where):
    """weir-bench tells most of it. What class of machine that is, is known of this machine only."""
    told = {"cpu": context.get("cpu"), "kernel": context.get("kernel"), "compiler": context.get("c_compiler"),
            "clock_source": context.get("system_clock"), "governor": context.get("governor"),
            "load": context.get("load")}
    told = {name: str(value or "unknown")[:200] for name, value in told.items()}
    here = environment.collect()
    if not here["cpu"].startswith(told["cpu"]) or here["kernel"].split()[-1] not in told["kernel"].split():
        raise Invalid(f"{where}: measured on another machine ({told['cpu']}, {told['kernel']}); record it there")
    cores = {"cores": context["num_cpus"]} if context.get("num_cpus") else {}
    return points.validate("environment", {**here, **told, **cores}, where)


def time_ns(row, where):
    value, unit = _finite(row.get("real_time")), NS.get(row.get("time_unit"))
    if value is None or unit is None:
        raise Invalid(f"{where}: {row['name']}: there is no time in it")
    return value * unit


def figures(rows, where):
    """(metric, value, lo, hi) of one benchmark."""
    if not any(name in rows[0] for name in metrics.RATIOS):
        yield (metrics.TIME, *_spread([time_ns(row, where) for row in rows]))
    for name in metrics.TABLE:
        values = [value for value in (_finite(row.get(name)) for row in rows) if value is not None]
        if name == metrics.TIME or not values:
            continue
        yield (name, *_spread(values))


def calibration_ns(context, where):
    """Of the fixed loop; None where the program is older than that."""
    told = context.get("calibration_ns")
    try:
        return None if told is None else _finite(float(told))
    except (TypeError, ValueError) as error:
        raise Invalid(f"{where}: context: calibration_ns is '{told}', no number") from error


def in_states(report):
    """(benchmark, state, rows) of a report."""
    rows_of = benchmark.repetitions_of(report)
    least_ns = state.fastest(state.taken(row) for rows in rows_of.values() for row in rows)
    for name, rows in rows_of.items():
        yield from ((name, machine, some) for machine, some in state.split(rows, state.taken, least_ns).items())


def from_weir_bench(report, where):
    context, failures = report["context"], benchmark.failures(report)
    taken_on, cal_ns = environment_of(context, where), calibration_ns(context, where)
    version = context.get("benchmark_version") or context.get("library_version")
    same = {"commit": commit_name(context.get("commit")), "date": date_of(context.get("date"), where), "cal_ns": cal_ns,
            "tool": "weir-bench" + (f", Google Benchmark {version}" if version else "")}
    found = []
    for name, machine, rows in in_states(report):
        for metric, value, low, high in figures(rows, where) if name not in failures else ():
            unit, better = metrics.TABLE[metric]
            found.append(points.make(taken_on, suite=name.partition("/")[0], bench=name, metric=metric, unit=unit,
                                     better=better, value=value, lo=low, hi=high, n=len(rows), state=machine, **same))
    if cal_ns is not None:
        taken_on["calibration_ns"] = cal_ns
    return Source(same["commit"], taken_on, found, failures.items(), context.get("command"))


# --- The counts of the gate. --------------------------------------------------------------------------------


def from_count(report, where):
    """What ./dev bench count --json tells: "emit/dropped/calls" is metric calls of emit/dropped."""
    points.validate("counts", report, f"{where}: not what ./dev bench count --json writes")
    taken_on, commit = report["environment"], commit_name(report["commit"])
    found = []
    for row in report["rows"]:
        bench, metric = metrics.split(row["name"])
        better = "none" if metric == "exports" else "less"
        found.append(points.make(taken_on, commit=commit, suite="count", bench=bench, metric=metric, unit=row["unit"],
                                 better=better, value=row["value"], date=report["date"], tool=report["tool"]))
    return Source(commit, taken_on, found, command=report["command"])


# --- Either. ------------------------------------------------------------------------------------------------


def is_told_twice(point, among):
    """What says nothing that another point of the same benchmark does not: the time of an event beside the rate, and in
    mode BLOCK, which fails if it loses anything, the loss. A history is long, so it keeps them once."""
    if point["metric"] == "loss":
        return point["bench"].startswith("brim/block/") and point["value"] == 0
    rate = among.get((*identity(point)[:2], "events_per_s"))
    return point["metric"] == metrics.TIME and rate is not None and abs(point["value"] * rate["value"] / 1e9 - 1) < 0.02


def identity(point):
    """Of the figure, in a file."""
    return point["bench"], point.get("state", ""), point["metric"]


def for_history(found):
    """A mixed figure compares with nothing, so it is not kept either."""
    among = {identity(point): point for point in found}
    return [point for point in found if point.get("state") != state.MIXED and not is_told_twice(point, among)]


def read(path):
    """The file as a Source; which program it is from shows in it."""
    text = points.read_text(path)
    if '"benchmarks"' in text:
        return from_weir_bench(benchmark.parse(text, path), path)
    return from_count(points.read_json(text, path), path)
