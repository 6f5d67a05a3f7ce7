"""The default strategy of BLOCK against the others, from the runs of a matrix: ratios with intervals, shares of the
bound, waits, and the bars.

    compare.py RUNS.ndjson [--json OUT.json] [--any-segment]

Runs of one seed are pairs. A ratio is the median of the pairs' ratios; its 95 % interval comes from resampling the pairs.
A ratio whose interval lies wholly below 1 is marked with '<'. --any-segment pairs runs of different segments, for the
plan "grants". Exit codes: 0, 1 failed (a missed bar is a finding, not a failure), 2 usage.
"""
import argparse
import json
import random
import statistics
from collections import Counter

from bench.stress import runs

RESAMPLES = 4000
PAIRS_WANTED = 7  # enough for a claim
PAIRS_MIN = 5  # enough for an interval: with fewer, resampling means little

FIRST = next(iter(runs.WAKES))
DEFAULT_SEGMENT = 32768
DRAIN_BOUND_SHARE = 0.8


# --- Statistics. ----------------------------------------------------------------------------------------------


def interval(values, resamples=RESAMPLES):
    """The 95 % interval of the median by resampling; the same values give the same interval."""
    chance = random.Random(1)
    medians = sorted(statistics.median(chance.choices(values, k=len(values))) for _ in range(resamples))
    return medians[round(0.025 * (resamples - 1))], medians[round(0.975 * (resamples - 1))]


def spread(values):
    there = [value for value in values if value is not None]
    if not there:
        return None
    return {"median": statistics.median(there), "min": min(there), "max": max(there), "count": len(there)}


def quotient(above, below):
    return None if above is None or not below else above / below


def ratio(one, other):
    """one / other in throughput, by pairs of runs with the same seed."""
    by_seed = {run.get("seed"): run["events_per_s"] for run in other}
    pairs = [run["events_per_s"] / by_seed[run.get("seed")] for run in one if by_seed.get(run.get("seed"))]
    if not pairs:
        return None
    low, high = interval(pairs) if len(pairs) >= PAIRS_MIN else (None, None)
    return {"median": statistics.median(pairs), "low": low, "high": high, "pairs": len(pairs), "below": high is not None and high < 1}


# --- Cells: runs that differ only in strategy and seed.
# ----------------------------------------------------------


def key_of(run, any_segment):
    segment = None if any_segment else run.get("segment_bytes")
    return (run["sink"], run.get("payload"), run.get("budget_bytes"), run.pinned, segment, run["producers"])


def figures(found):
    """The figures of one strategy in a cell."""
    of = lambda function: spread(function(run) for run in found)
    return {
        "events_per_s": of(lambda run: run["events_per_s"]),
        "share_of_bound": of(lambda run: quotient(run["events_per_s"], run.get("bound_events_per_s"))),
        "segment_bytes": runs.median(run.get("segment_bytes") for run in found),
        "grant_bytes": of(lambda run: run.get("grant_bytes")),
        **{f"park_{name}_ns": of(lambda run, name=name: run.park(name)) for name in ("p50", "p99", "p999", "max", "mean")},
        "p99_to_p50": of(lambda run: quotient(run.park("p99"), run.park("p50"))),
        "p999_to_p50": of(lambda run: quotient(run.park("p999"), run.park("p50"))),
        "wait_to_law": of(lambda run: quotient(run.get("wait_per_grant_ns"), run.get("park_law_ns"))),
        "jain": of(lambda run: run.get("jain")),
        "wakes_per_segment": of(lambda run: run.get("wakes_per_segment")),
        "cpu_ns_per_event": of(lambda run: run.get("cpu_ns_per_event")),
    }


def drain_bound(found):
    """True if the drain is the bottleneck, None if the runs do not show it."""
    shares = [quotient(run.get("drain_ceiling_events_per_s"), run.get("producer_ceiling_events_per_s")) for run in found]
    share = runs.median(shares)
    return None if share is None else share <= DRAIN_BOUND_SHARE


def cells_of(found, any_segment=False):
    blocks = [run for run in found if run.strategy in runs.BLOCKING]
    cells = []
    for key, members in sorted(runs.group(blocks, lambda run: key_of(run, any_segment)).items(), key=lambda item: sortable(item[0])):
        by_strategy = runs.group(members, lambda run: run.strategy)
        if runs.DEFAULT not in by_strategy:
            continue
        cell = dict(zip(("sink", "payload", "budget_bytes", "pinned", "segment_bytes", "producers"), key))
        cell["drain_bound"] = drain_bound(members)
        cell["strategies"] = {name: figures(by_strategy[name]) for name in runs.STRATEGIES if name in by_strategy}
        cell["ratios"] = {name: ratio(by_strategy[runs.DEFAULT], by_strategy[name])
                          for name in runs.OTHERS if name in by_strategy}
        cells.append(cell)
    return cells


def sortable(key):
    """A key that can be sorted although parts of it may be None."""
    return [("" if part is None else f"{part:012}" if isinstance(part, int) else str(part)) for part in key]


# --- Bars: the goals of section 10 of the architecture.
# -------------------------------------------------------


def bar(name, cells, applies, values, holds):
    """values(cell) yields (what, figure); missing figures are not judged."""
    judged, misses = 0, []
    for cell in filter(applies, cells):
        for what, value in values(cell):
            if value is None:
                continue
            judged += 1
            if not holds(value):
                misses.append({"cell": describe(cell), "what": what, "value": value})
    return {"bar": name, "judged": judged, "met": None if judged == 0 else not misses, "misses": misses}


def _of_first(name):
    def values(cell):
        found = cell["strategies"][runs.DEFAULT][name]
        yield name, found and found["median"]
    return values


def _ratios(part):
    return lambda cell: [(f"{FIRST} / {name.split('/')[1]}", found and found[part]) for name, found in cell["ratios"].items()]


def _laws(cell):
    for name, found in cell["strategies"].items():
        yield f"{name} wait / law", found["wait_to_law"] and found["wait_to_law"]["median"]


def bars(cells):
    pinned = lambda cell: cell["pinned"]
    bound = lambda cell: cell["drain_bound"]
    waits = lambda cell: cell["pinned"] and cell["producers"] in (8, 32)
    paired = lambda cell: cell["segment_bytes"] is not None
    gains = lambda cell: bound(cell) and cell["segment_bytes"] == DEFAULT_SEGMENT and cell["producers"] in (8, 32)
    return [
        bar(f"pinned: {FIRST} >= 0.95 of the bound", cells, pinned, _of_first("share_of_bound"), lambda v: v >= 0.95),
        bar(f"{FIRST} nowhere wholly below another", cells, paired, _ratios("high"), lambda v: v >= 1),
        bar(f"drain-bound, 8 and 32 producers, 32 KiB: {FIRST} >= 1.15 x", cells, gains, _ratios("median"), lambda v: v >= 1.15),
        bar(f"elsewhere: {FIRST} >= 0.97 x", cells, lambda cell: paired(cell) and not gains(cell), _ratios("median"), lambda v: v >= 0.97),
        bar("pinned, 8 and 32 producers: p99 <= 1.5 x p50", cells, waits, _of_first("p99_to_p50"), lambda v: v <= 1.5),
        bar("pinned, 8 and 32 producers: p99.9 <= 5 x p50", cells, waits, _of_first("p999_to_p50"), lambda v: v <= 5),
        bar("pinned, 8 and 32 producers: Jain >= 0.99", cells, waits, _of_first("jain"), lambda v: v >= 0.99),
        bar("harness, drain-bound: mean wait within 10 % of the law", cells, bound, _laws, lambda v: abs(v - 1) <= 0.1),
    ]


# --- Text. ------------------------------------------------------------------------------------------------------


def describe(cell, producers=True):
    parts = [f"sink {cell['sink']}", "pinned" if cell["pinned"] else "unpinned"]
    if cell["segment_bytes"]:
        parts.append(f"segments of {runs.size(cell['segment_bytes'])}")
    if producers:
        parts.append(f"{cell['producers']} producer{'s' if cell['producers'] > 1 else ''}")
    return ", ".join(parts)


def _number(found, form="{:.2f}"):
    return "-" if found is None else form.format(found["median"])


def _ratio(found):
    if found is None:
        return "-"
    if found["low"] is None:
        return f"{found['median']:.2f}"
    return f"{'<' if found['below'] else ' '}{found['median']:.2f} [{found['low']:.2f}, {found['high']:.2f}]"


def throughput_rows(cells):
    wakes = list(runs.WAKES)
    yield ["producers", f"{wakes[0]} million/s", "(least, most)", "of bound", *(f"/ {wake}" for wake in wakes[1:]),
           f"CPU ns/event: {wakes[0]}", *wakes[1:]]
    for cell in cells:
        first = cell["strategies"][runs.DEFAULT]
        rate = first["events_per_s"]
        processor = [cell["strategies"].get(name, {}).get("cpu_ns_per_event") for name in runs.BLOCKING]
        yield [str(cell["producers"]), runs.millions(rate["median"]), f"({runs.millions(rate['min'])}, {runs.millions(rate['max'])})",
               _number(first["share_of_bound"]), *(_ratio(cell["ratios"].get(name)) for name in runs.OTHERS),
               *(_number(found, "{:.0f}") for found in processor)]


def wait_rows(cells):
    yield ["producers", "strategy", "grant KiB", "parked p50 us", "p99", "p99.9", "max", "p99/p50", "p99.9/p50", "Jain", "wait/law",
           "wakes/segment"]
    for cell in cells:
        for name, found in cell["strategies"].items():
            grant = found["grant_bytes"] and {"median": found["grant_bytes"]["median"] / 1024}
            times = [found[f"park_{part}_ns"] for part in ("p50", "p99", "p999", "max")]
            yield [str(cell["producers"]), name, _number(grant, "{:.0f}"),
                   *(runs.microseconds(time and time["median"]) for time in times), _number(found["p99_to_p50"]),
                   _number(found["p999_to_p50"]), _number(found["jain"], "{:.3f}"), _number(found["wait_to_law"]),
                   _number(found["wakes_per_segment"])]


def bar_lines(judged):
    for one in judged:
        verdict = {True: "met", False: "MISSED", None: "no data"}[one["met"]]
        yield f"{verdict:>7}  {one['bar']} ({one['judged'] - len(one['misses'])} of {one['judged']} figures)"
        for miss in one["misses"]:
            yield f"           {miss['value']:.3g}  {miss['what']}, {miss['cell']}"


def text(report, note):
    yield f"{report['runs']} runs on {report['machine']}"
    if note:
        yield note
    yield "Medians; ratios by pairs with 95 % intervals; '<': the interval lies wholly below 1."
    if report["pairs_min"] < PAIRS_WANTED:
        yield f"Some ratios come from only {report['pairs_min']} pairs: a claim needs {PAIRS_WANTED}, an interval {PAIRS_MIN}."
    for title, cells in runs.group(report["cells"], lambda cell: describe(cell, producers=False)).items():
        bound = {True: " (the drain is the bottleneck)", False: "", None: ""}[cells[-1]["drain_bound"]]
        yield from ("", f"== {title}{bound}")
        yield from runs.table(list(throughput_rows(cells)))
        yield ""
        yield from runs.table(list(wait_rows(cells)), left=2)
    yield from ("", "== Bars")
    yield from bar_lines(report["bars"])


# --- The report. --------------------------------------------------------------------------------------------------


def report_of(found, any_segment=False):
    cells = cells_of(found, any_segment)
    if not cells:
        raise runs.Failed(f"no run of {runs.DEFAULT} to compare")
    pairs = [one["pairs"] if one else 0 for cell in cells for one in cell["ratios"].values()]
    machines = Counter(runs.machine(run) for run in found)
    if len(machines) > 1:
        raise runs.Failed("the runs are from different machines or commits: " + "; ".join(machines))
    return {"runs": len(found), "machine": next(iter(machines)), "pairs_min": min(pairs, default=0), "cells": cells, "bars": bars(cells)}


def main():
    parser = argparse.ArgumentParser(description="Compares the default strategy of BLOCK with the others.")
    parser.add_argument("runs", help="file of one JSON object per line, as matrix.py writes it")
    parser.add_argument("--json", metavar="OUT", help="write the report to this file too")
    parser.add_argument("--any-segment", action="store_true", help="pair runs with different segments")
    arguments = parser.parse_args()
    report = report_of(runs.load(arguments.runs), arguments.any_segment)
    report["note"] = runs.note_of_others(arguments.runs)
    if arguments.json:
        try:
            with open(arguments.json, "w", encoding="utf-8") as out:
                json.dump(report, out, indent=1)
                out.write("\n")
        except OSError as error:
            raise runs.Failed(f"{arguments.json}: {error.strerror}") from None
    print("\n".join(text(report, report["note"])))
    return 0


if __name__ == "__main__":
    runs.run_command("compare", main)
