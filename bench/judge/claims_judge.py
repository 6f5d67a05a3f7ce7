"""From what the rounds measured to verdicts. Nothing is run here.

A figure is computed for each round from that round's samples, so that what drifts on the machine meets all of its parts
alike; what is held against the bar is the median over the rounds, unless the bar says otherwise.
"""
import operator
import statistics

import claims
import claims_quantity
from borrow import compare

OPS = {"<=": operator.le, ">=": operator.ge}
PAIRS_MIN = compare.PAIRS_MIN
# A claim has the first of these that one of its cells has: it is met only where all that it applies to were judged.
OF_CLAIM = ("failed", "missed", "skipped", "met", "excluded")
NO_FIGURE = "no round had a figure"


class Measured:
    """Fields by sample and round, and why a sample has none. `key` is what claims.key_of() tells."""

    def __init__(self):
        self.rounds = {}  # key -> list of fields, or None where the sample was not taken
        self.skipped, self.failed = {}, {}  # key -> reason

    def add(self, key, fields):
        self.rounds.setdefault(key, []).append(fields)

    def count(self, key):
        return len(self.rounds.get(key, []))

    def field(self, key, index, path):
        """A number, or None if that round has none. What never has a field of that name is a KeyError."""
        return number_at(self.rounds[key][index], path)


def number_at(fields, path):
    value = fields
    if path in fields:
        value = fields[path]
    else:
        for part in path.split("."):
            if value is None:
                return None
            value = value[part]
    return value if claims_quantity.is_number(value) else None


# --- Figures. ------------------------------------------------------------------------------------------------


def series(book, measured, quantity, cell, where):
    """The quantity by round; None in rounds without a figure. There are as many rounds as all of its samples have, so
    that they are of the same moment; one that wants a single round, a count, stands for all of them."""
    samples = {name: book.sample(name, cell, where) for name in claims_quantity.sample_names([quantity])}
    keys = {name: claims.key_of(sample) for name, sample in samples.items()}
    if any(measured.count(key) == 0 for key in keys.values()):
        return []
    once = {name for name, sample in samples.items() if claims.rounds_wanted(sample) == 1}
    counts = [measured.count(keys[name]) for name in samples if name not in once]
    rounds = min(counts, default=len(once) and 1)

    def look_in(index):
        return lambda name, field: field_of(measured, samples[name], 0 if name in once else index, field)

    return [claims_quantity.evaluate(quantity, look_in(index)) for index in range(rounds)]


def field_of(measured, sample, index, field):
    """A number or None. Which rows the gate has depends on the processor and the compiler: one that it does not have is
    Unavailable; with other sources a name that is wrong is a KeyError."""
    try:
        return measured.field(claims.key_of(sample), index, field)
    except KeyError:
        if sample["source"] != "count":
            raise
        raise claims.Unavailable(f"./dev bench count has no row '{field}' here") from None


def spread(values):
    there = [value for value in values if value is not None]
    if not there:
        return None
    return {"median": statistics.median(there), "least": min(there), "greatest": max(there), "rounds": len(there)}


def interval(values):
    there = [value for value in values if value is not None]
    return list(compare.interval(there)) if len(there) >= PAIRS_MIN else None


def why_not(measured, samples):
    """(verdict, reason) if one of the samples cannot be had."""
    keys = [claims.key_of(sample) for sample in samples]
    for verdict, reasons in (("failed", measured.failed), ("skipped", measured.skipped)):
        for key in keys:
            if key in reasons:
                return verdict, reasons[key]
    return None


# --- The bar. ------------------------------------------------------------------------------------------------


def bar_here(bar, unit, calibrations):
    """The bar's value on this machine, or None if the calibration is not known. A time grows with the calibration's
    time, a rate shrinks: what stays is the ratio of the two. The calibration's least round counts: others of a busy
    machine would only make the bar easier."""
    scale = bar.get("scaled_by")
    if not scale:
        return bar["value"]
    found = calibrations[scale["calibration"]]["measured"]
    if found is None:
        return None
    ratio = found["least"] / scale["reference"]
    return bar["value"] * ratio if unit in claims.TIME_UNITS else bar["value"] / ratio


def verdict_of(bar, here, values):
    """(verdict, reason, interval) of figures of which one at least is there."""
    there = [value for value in values if value is not None]
    holds = lambda value: OPS[bar["op"]](value, here)
    of = bar.get("of", "median")
    if of == "worst":
        bad = sum(not holds(value) for value in there)
        return ("missed", f"in {bad} of {len(there)} rounds", None) if bad else ("met", "", None)
    found = interval(values)
    if of == "median":
        return ("met" if holds(statistics.median(there)) else "missed"), "", found
    if found is None:
        return "skipped", f"an interval needs {PAIRS_MIN} rounds, not {len(there)}", None
    return ("met" if any(holds(end) for end in found) else "missed"), "", found


# --- Claims. -------------------------------------------------------------------------------------------------


def cell_result(cell, verdict, reason="", **more):
    return {"cell": cell, "verdict": verdict, "reason": reason, "measured": None, "interval": None, "bar": None,
            "values": [], "beside": []} | more


def beside(book, measured, claim, cell):
    for one in claim.get("beside", []):
        names = claims_quantity.sample_names([one["measure"]])
        missing = why_not(measured, [book.sample(name, cell, claim["id"]) for name in names])
        try:
            found = None if missing else spread(series(book, measured, one["measure"], cell, claim["id"]))
        except claims.Unavailable as error:
            found, missing = None, ("skipped", str(error))
        reason = {} if found else {"reason": missing[1] if missing else NO_FIGURE}
        words = claims.bound(one["words"], cell, claim["id"])
        yield {"words": words, "unit": one.get("unit", claim["unit"]), "measured": found} | reason


def applies(book, measured, claim, cell):
    """None, or (verdict, reason) of a cell that is not judged."""
    when = claim.get("when")
    if not when:
        return None
    found = spread(series(book, measured, when["measure"], cell, claim["id"]))
    if found is None:
        return "skipped", f"not known whether {when['words']}"
    if OPS[when["op"]](found["median"], when["value"]):
        return None
    told = f"{found['median']:.3g}, not {when['op']} {when['value']:g}"
    return "excluded", f"does not apply: {when['words']} is not so ({told})"


def judged_samples(book, claim, cell):
    """Those that the verdict needs; what stands beside may be missing."""
    quantities = [claim["measure"]] + ([claim["when"]["measure"]] if "when" in claim else [])
    names = claims_quantity.sample_names(quantities)
    return [book.sample(name, cell, claim["id"]) for name in names]


def judge_cell(book, measured, claim, cell, calibrations):
    others = []
    try:
        others = list(beside(book, measured, claim, cell))
        missing = why_not(measured, judged_samples(book, claim, cell))
        if missing:
            return cell_result(cell, *missing, beside=others)
        values = series(book, measured, claim["measure"], cell, claim["id"])
        found, here = spread(values), bar_here(claim["bar"], claim["unit"], calibrations)
        known = {"measured": found, "bar": here, "values": values, "beside": others}
        not_judged = applies(book, measured, claim, cell)
    except claims.Unavailable as error:
        return cell_result(cell, "skipped", str(error), beside=others)
    except (KeyError, TypeError) as error:
        return cell_result(cell, "failed", f"what was measured has no field {error}")
    if not_judged:
        return cell_result(cell, *not_judged, **known)
    if found is None or here is None:
        return cell_result(cell, "skipped", NO_FIGURE if found is None else "its calibration was not measured", **known)
    verdict, reason, ends = verdict_of(claim["bar"], here, values)
    return cell_result(cell, verdict, reason, interval=ends, **known)


def margin(claim_bar, cell):
    """How far a cell is on the right side, so that the least is the worst."""
    found, here = cell["measured"]["median"], cell["bar"]
    if claim_bar.get("of") == "worst":
        found = cell["measured"]["least" if claim_bar["op"] == ">=" else "greatest"]
    if cell["interval"] and claim_bar.get("of") == "interval":
        found = cell["interval"][1] if claim_bar["op"] == ">=" else cell["interval"][0]
    return found - here if claim_bar["op"] == ">=" else here - found


def worst(result):
    """The cell that speaks for the claim: the worst that was judged, or else the first."""
    judged = [cell for cell in result["cells"] if cell["verdict"] in ("met", "missed")]
    failed = [cell for cell in result["cells"] if cell["verdict"] == "failed"]
    if failed:
        return failed[0]
    return min(judged, key=lambda cell: margin(result["bar"], cell)) if judged else next(iter(result["cells"]), None)


def judge(book, measured, claim, calibrations):
    result = {name: claim[name] for name in ("id", "claim", "where", "suite")}
    result |= {"unit": claim.get("unit", ""), "bar": claim.get("bar"), "verdict": "not_built",
               "reason": claim.get("reason", ""), "cells": []}
    if claim["state"] == "not_built":
        return result
    result["cells"] = [judge_cell(book, measured, claim, cell, calibrations) for cell in claims.cells_of(claim)]
    found = [cell["verdict"] for cell in result["cells"]]
    result["verdict"] = next(verdict for verdict in OF_CLAIM if verdict in found)
    if result["verdict"] not in ("met", "missed"):
        result["reason"] = next(cell["reason"] for cell in result["cells"] if cell["verdict"] == result["verdict"])
    return result


def calibrate(book, measured):
    found = {}
    for name, one in book.calibrations.items():
        try:
            values = series(book, measured, one["measure"], {}, f"calibration {name}")
        except (KeyError, TypeError):
            values = []
        found[name] = {"words": one["words"], "measured": spread(values)}
    return found


def judge_all(book, measured, chosen):
    """(calibrations, results) of these claims."""
    calibrations = calibrate(book, measured)
    return calibrations, [judge(book, measured, claim, calibrations) for claim in chosen]
