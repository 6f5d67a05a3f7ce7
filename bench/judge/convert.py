"""Turns what the programs print into points: weir-bench's report, weir-stress's runs, and the counts of the gate.

A benchmark that was repeated becomes one point: the median, with the least and the greatest. Nothing is taken from the
rows that Google Benchmark adds about repetitions (mean, stddev, cv), except the median where the repetitions themselves
were not kept.
"""
import datetime
import json
import math
import os
import re
import statistics

from bench.judge import environment, metrics, points
from bench.judge.command import runs
from bench.judge.points import Invalid

NS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
# What Google Benchmark adds to a name to say how it measured. The number of threads stays: it is what was measured.
ADDED = re.compile(r"/((manual|real|process)_time|(iterations|repeats):\d+|min_(warmup_)?time:[0-9.]+)(?=/|$)")


class Source:
    """One file: its points, and what its figures were taken on."""

    def __init__(self, kind, commit, taken_on, found, skipped=(), command=None):
        self.kind, self.commit, self.environment, self.points = kind, commit, taken_on, found
        self.skipped = list(skipped)  # (name, reason): benchmarks without a figure
        self.command = command

    @property
    def cal_ns(self):
        return next((point["cal_ns"] for point in self.points if point["cal_ns"] is not None), None)


def _text(value, otherwise="unknown"):
    """A text that fits the schema, from a field that may be anything."""
    text = re.sub(r"[\x00-\x1f\x7f]+", " ", str(value)).strip() if value not in (None, "") else ""
    return text[:200] or otherwise


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
        raise Invalid(f"{where}: context: the date '{_text(text)}' is none") from error
    if moment.tzinfo is None:
        raise Invalid(f"{where}: context: the date '{_text(text)}' has no time zone")
    return moment.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


# --- What it was measured on. -------------------------------------------------------------------------------


def _here(cpu, kernel, given, where):
    """The environment of a file that tells only part of it: this machine's if that is where it is from, else what was
    given."""
    if given:
        return dict(given)
    here = environment.collect()
    if here["cpu"].startswith(cpu) and here["kernel"].split()[-1] in kernel.split():
        return here
    raise Invalid(f"{where}: measured on another machine ({_text(cpu)}, {_text(kernel)}); say on which with "
                  "--environment FILE")


def environment_of(context, given, where):
    """weir-bench tells most of it; what class of machine that is, is known here only."""
    taken_on = _here(_text(context.get("cpu")), _text(context.get("kernel")), given, where)
    cores = context.get("num_cpus")
    told = {"cpu": context.get("cpu"), "kernel": context.get("kernel"), "compiler": context.get("c_compiler"),
            "clock_source": context.get("system_clock"), "governor": context.get("governor"),
            "load": context.get("load")}
    taken_on.update({name: _text(value) for name, value in told.items()})
    if isinstance(cores, int) and cores > 0:
        taken_on["cores"] = cores
    return points.validate("environment", taken_on, where)


# --- weir-bench. --------------------------------------------------------------------------------------------


class Row:
    """All repetitions of one benchmark."""

    def __init__(self):
        self.iterations, self.median, self.repetitions, self.error = [], None, 1, None

    def add(self, row):
        if row.get("run_type", "iteration") == "iteration":
            self.error = self.error or (_text(row.get("error_message"), "failed") if row.get("error_occurred")
                                        else None)
            self.iterations.append(row)
        elif row.get("aggregate_name") == "median":
            self.median, self.repetitions = row, max(1, int(row.get("repetitions") or 1))

    def samples(self):
        return self.iterations or ([self.median] if self.median else [])

    def n(self):
        return len(self.iterations) or self.repetitions


def rows_by_name(report, where):
    benchmarks = report["benchmarks"]
    if not isinstance(benchmarks, list):
        raise Invalid(f"{where}: 'benchmarks' is not a list")
    found = {}
    for row in benchmarks:
        if not isinstance(row, dict) or not isinstance(row.get("name"), str):
            raise Invalid(f"{where}: a benchmark without a name")
        name = ADDED.sub("", str(row.get("run_name") or row["name"]))
        found.setdefault(name, Row()).add(row)
    return found


def time_ns(row, where):
    value, unit = _finite(row.get("real_time")), NS.get(row.get("time_unit"))
    if value is None or unit is None:
        raise Invalid(f"{where}: {row['name']}: there is no time in it")
    return value * unit


def figures(row, where):
    """(metric, value, lo, hi) of one benchmark."""
    samples = row.samples()
    is_ratio = any(name in samples[0] for name in metrics.RATIOS)
    if not is_ratio:
        yield (metrics.TIME, *_spread([time_ns(sample, where) for sample in samples]))
    for name in metrics.TABLE:
        values = [value for value in (_finite(sample.get(name)) for sample in samples) if value is not None]
        if name == metrics.TIME or not values:
            continue
        value, low, high = _spread(values)
        if low is None and name in metrics.RATIOS:
            low, high = _finite(samples[0].get("least")), _finite(samples[0].get("greatest"))
        yield name, value, low, high


def calibration_ns(context, where):
    """Of the fixed loop; None where the program is older than that."""
    told = context.get("calibration_ns")
    try:
        return None if told is None else _finite(float(told))
    except (TypeError, ValueError) as error:
        raise Invalid(f"{where}: context: calibration_ns is '{_text(told)}', no number") from error


def from_weir_bench(report, where, given=None):
    context = report["context"]
    if not isinstance(context, dict):
        raise Invalid(f"{where}: 'context' is not an object")
    taken_on, commit = environment_of(context, given, where), commit_name(context.get("commit"))
    date = date_of(context.get("date"), where)
    version = context.get("benchmark_version") or context.get("library_version")
    tool = "weir-bench" + (f", Google Benchmark {_text(version)}" if version else "")
    cal_ns = calibration_ns(context, where)
    found, skipped = [], []
    for name, row in rows_by_name(report, where).items():
        if row.error or not row.samples():
            skipped.append((name, row.error or "neither repetitions nor their median are in the report"))
            continue
        for metric, value, low, high in figures(row, where):
            unit, better = metrics.TABLE[metric]
            found.append(points.make(taken_on, commit=commit, suite=name.partition("/")[0], bench=name, metric=metric,
                                     unit=unit, better=better, value=value, lo=low, hi=high, n=row.n(), cal_ns=cal_ns,
                                     date=date, tool=tool))
    if cal_ns is not None:
        taken_on["calibration_ns"] = cal_ns
    return Source("weir-bench", commit, taken_on, found, skipped, context.get("command"))


# --- weir-stress. -------------------------------------------------------------------------------------------


def stress_name(run):
    """All that was set, so that runs with other settings are another series."""
    parts = ["brim", *run.strategy.lower().replace("_", "-").split("/"), f"producers:{run['producers']}"]
    parts += [f"{word}:{run[name]}" for word, name in (("segment", "segment_bytes"), ("budget", "budget_bytes"),
                                                       ("payload", "payload"))
              if run.get(name) is not None]
    parts += [f"rate:{run['rate']:g}"] if run.get("rate") else []
    sink = re.sub(r"[^A-Za-z0-9_.:+=-]", "-", run["sink"])
    return "/".join([*parts, f"sink:{sink}", "pinned" if run.pinned else "unpinned"])


def stress_figures(run):
    bound, sent = run.get("bound_events_per_s"), run.get("bytes_sent")
    yield "events_per_s", run["events_per_s"]
    if not run.strategy.startswith("BLOCK"):  # which loses nothing: what would be drawn is a line at 0
        yield "loss", run.loss_share
    for name in ("p50", "p99", "p999"):
        yield f"park_{name}_ns", run.park(name)
    for name in ("wakes_per_segment", "jain", "cpu_ns_per_event"):
        yield name, run.get(name)
    yield "of_bound", run["events_per_s"] / bound if bound else None
    yield "bytes_per_event", sent / run["written"] if sent and run["written"] else None


def from_weir_stress(found_runs, where, date, given=None):
    told = {(_text(run.get("cpu")), _text(run.get("kernel")), _text(run.get("commit"))) for run in found_runs}
    if len(told) != 1:
        raise Invalid(f"{where}: runs of {len(told)} machines or commits in one file")
    cpu, kernel, described = told.pop()
    fault = next((fault for run in found_runs for fault in run.faults()), None)
    if fault:
        raise Invalid(f"{where}: {fault}")
    # The load is of now, not of then.
    taken_on, commit = {**_here(cpu, kernel, given, where)}, commit_name(described)
    if not given:
        taken_on["load"] = "unknown"
    points.validate("environment", taken_on, where)
    found = []
    for name, members in runs.group(found_runs, stress_name).items():
        samples = {}
        for run in members:
            for metric, value in stress_figures(run):
                if value is not None:
                    samples.setdefault(metric, []).append(value)
        for metric, values in samples.items():
            value, low, high = _spread(values)
            unit, better = metrics.TABLE[metric]
            found.append(points.make(taken_on, commit=commit, suite="brim", bench=name, metric=metric, unit=unit,
                                     better=better, value=value, lo=low, hi=high, n=len(values), date=date,
                                     tool="weir-stress"))
    return Source("weir-stress", commit, taken_on, found)


# --- The counts of the gate. --------------------------------------------------------------------------------


def from_count(report, where, given=None):
    """What ./dev bench count --json tells. "emit/dropped/calls" is metric calls of emit/dropped; a name that does not
    end in what was counted, as "bytes/file/payload:32", has its unit for that."""
    rows = report["rows"]
    if not isinstance(rows, list) or not rows:
        raise Invalid(f"{where}: 'rows' is not a list of figures")
    if not report.get("commit"):
        raise Invalid(f"{where}: the counts do not tell of which commit they are")
    taken_on = points.validate("environment", given or report.get("environment"), f"{where}: environment")
    commit, date, found = commit_name(report["commit"]), report.get("date") or points.now(), []
    for row in rows:
        if not isinstance(row, dict) or not {"name", "unit", "value"} <= row.keys() or not isinstance(row["name"], str):
            raise Invalid(f"{where}: a row without name, unit and value")
        bench, _, metric = row["name"].rpartition("/")
        if not bench or not re.fullmatch(r"[a-z_]+", metric):
            bench, metric = row["name"], re.sub(r"[^a-z0-9]+", "_",
                                                str(row["unit"]).lower().replace("/", " per ")).strip("_")
        if row["value"] is not None:
            found.append(points.make(taken_on, commit=commit, suite="count", bench=bench, metric=metric,
                                     unit=row["unit"], better="none" if metric == "exports" else "less",
                                     value=row["value"], date=date, tool=_text(report.get("tool"), "weir-count")))
    return Source("count", commit, taken_on, found, command=report.get("command"))


def is_told_twice(point, among):
    """What says nothing that another point of the same benchmark does not: the time of an event beside the rate, and in
    mode BLOCK, which fails if it loses anything, the loss. A history is long, so it keeps them once."""
    if point["metric"] == "loss":
        return point["bench"].startswith("brim/block/") and point["value"] == 0
    rate = among.get((point["bench"], "events_per_s"))
    return point["metric"] == metrics.TIME and rate is not None and abs(point["value"] * rate["value"] / 1e9 - 1) < 0.02


def for_history(found):
    among = {(point["bench"], point["metric"]): point for point in found}
    return [point for point in found if not is_told_twice(point, among)]


# --- Any of them. -------------------------------------------------------------------------------------------


def _json_or_none(text):
    """NaN and Infinity are what Google Benchmark writes for a counter without a value: it is then not there."""
    try:
        return json.loads(text, parse_constant=lambda name: None)
    except (ValueError, RecursionError):
        return None


def read(path, given=None):
    """The file as a Source; which program it is from shows in it."""
    text = points.read_text(path)
    whole = _json_or_none(text)
    if isinstance(whole, dict) and {"context", "benchmarks"} <= whole.keys():
        return from_weir_bench(whole, path, given)
    if isinstance(whole, dict) and "rows" in whole:
        return from_count(whole, path, given)
    first = _json_or_none(text.lstrip().partition("\n")[0])
    if isinstance(first, dict) and "producers" in first:
        made = datetime.datetime.fromtimestamp(os.path.getmtime(path), datetime.timezone.utc)
        return from_weir_stress(runs.load(path), path, made.strftime("%Y-%m-%dT%H:%M:%SZ"), given)
    raise Invalid(f"{path}: neither a report of weir-bench, nor runs of weir-stress, nor the counts of "
                  "./dev bench count --json")
