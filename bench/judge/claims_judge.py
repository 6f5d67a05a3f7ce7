"""From what the rounds measured to verdicts, and the verdicts in words. Nothing is run here.

A figure is computed for each round from that round's samples, so that drift of the machine meets all of its parts. The
bar is held against the median over the rounds; `of: worst` against every round; `of: interval` is missed only if the
whole 95 % interval of the median is on the wrong side.
"""
import statistics

from bench.judge import claims, entries, metrics
from bench.stress import compare

# A claim has the first of these that one of its cells has: it is met only where all that it applies to were judged.
OF_CLAIM = ("failed", "missed", "skipped", "met", "excluded")
VERDICTS = {"met": "met", "missed": "missed", "failed": "failed", "skipped": "skipped", "excluded": "does not apply",
            "not_built": "not built"}
SIGNS = {"<=": "≤", ">=": "≥"}
NO_FIGURE = "no round had a figure"


class Measured:
    """Fields by command and round, and why a command has none."""

    def __init__(self):
        self.rounds, self.skipped, self.failed = {}, {}, {}

    def add(self, run, fields):
        self.rounds.setdefault(run, []).append(fields)

    def count(self, run):
        return len(self.rounds.get(run, []))

    def why_not(self, samples):
        """(verdict, reason) if one of the samples has no figures."""
        for verdict, reasons in (("failed", self.failed), ("skipped", self.skipped)):
            for sample in samples:
                if sample.run in reasons:
                    return verdict, reasons[sample.run]
        return None


# --- Figures. ------------------------------------------------------------------------------------------------


def field(fields, path):
    """A number or None; a field that is never there is a KeyError."""
    for part in path:
        if fields is None:
            return None
        fields = fields[part]
    return fields if claims.is_number(fields) else None


def series(book, measured, quantity, cell):
    """The quantity by round, for as many rounds as all of its samples have; one that is taken once stands for all."""
    samples = {name: book.sample(name, cell) for name in claims.samples_of(quantity)}
    counts = [measured.count(sample.run) for sample in samples.values() if sample.rounds > 1] or [1]
    if not all(measured.count(sample.run) for sample in samples.values()):
        return []

    def look_in(index):
        def look(path):
            sample = samples[path[0]]
            fields = measured.rounds[sample.run][index if sample.rounds > 1 else 0]
            # Which rows are counted depends on the processor and the compiler.
            if sample.run == "count" and path[1] not in fields:
                raise claims.Unavailable(f"./dev bench count has no row '{path[1]}' here")
            return field(fields, path[1:])
        return look

    tree = claims.parsed(quantity)
    return [claims.evaluate(tree, look_in(index)) for index in range(min(counts))]


def spread(values):
    there = [value for value in values if value is not None]
    if not there:
        return None
    return {"median": statistics.median(there), "least": min(there), "greatest": max(there), "rounds": len(there)}


def bar_here(bar, calibrations):
    """The bar on this machine, None if its calibration is not known. The least round of the calibration counts: the
    others of a busy machine would only make the bar easier."""
    least = lambda path: calibrations[path[0]]["measured"] and calibrations[path[0]]["measured"]["least"]
    return claims.evaluate(claims.bar_of(bar)[1], least)


# --- Verdicts. -----------------------------------------------------------------------------------------------


def holds(bar, value, here):
    return claims.OPS[claims.bar_of(bar)[0]](value, here)


def verdict_of(claim, here, values):
    """(verdict, reason, interval) of figures of which at least one is there."""
    there = [value for value in values if value is not None]
    bad = sum(not holds(claim["bar"], value, here) for value in there)
    found = list(compare.interval(there)) if len(there) >= compare.PAIRS_MIN else None
    of = claim.get("of", "median")
    if of == "worst":
        return ("missed", f"in {bad} of {len(there)} rounds", None) if bad else ("met", "", None)
    if of == "interval" and found is None:
        return "skipped", f"an interval needs {compare.PAIRS_MIN} rounds, not {len(there)}", None
    ends = found if of == "interval" else [statistics.median(there)]
    return ("met" if any(holds(claim["bar"], end, here) for end in ends) else "missed"), "", found


def beside(book, measured, claim, cell):
    """What stands beside the verdict: peers, mostly."""
    for one in claim.get("beside", []):
        missing = measured.why_not([book.sample(name, cell) for name in claims.samples_of(one["quantity"])])
        values = [] if missing else series(book, measured, one["quantity"], cell)
        told = {"name": claims.bound(one["name"], cell), "unit": one.get("unit", claim["unit"]),
                "peer": one.get("peer", False), "measured": spread(values)}
        yield told if told["measured"] else told | {"reason": missing[1] if missing else NO_FIGURE}


def applies(book, measured, claim, cell):
    """None, or (verdict, reason) of a cell that is not judged."""
    when = claim.get("when")
    if not when:
        return None
    found = spread(series(book, measured, when["quantity"], cell))
    if found is None:
        return "skipped", f"not known whether {when['name']}"
    if holds(when["bar"], found["median"], bar_here(when["bar"], {})):
        return None
    return "excluded", f"does not apply: {when['name']} is not so ({found['median']:.3g}, not {when['bar']})"


def judge_cell(book, measured, claim, cell, calibrations):
    result = {"cell": cell, "verdict": "", "reason": "", "measured": None, "interval": None, "bar": None, "beside": []}

    def end(verdict, reason="", **more):
        return result | {"verdict": verdict, "reason": reason} | more

    try:
        result["beside"] = list(beside(book, measured, claim, cell))
        missing = measured.why_not([book.sample(name, cell) for name in claims.samples_of(*claims.judged(claim))])
        if missing:
            return end(*missing)
        values = series(book, measured, claim["quantity"], cell)
        result["measured"], result["bar"] = spread(values), bar_here(claim["bar"], calibrations)
        not_judged = applies(book, measured, claim, cell)
    except claims.Unavailable as error:
        return end("skipped", str(error))
    except (KeyError, TypeError) as error:
        return end("failed", f"what was measured has no field {error}")
    if not_judged:
        return end(*not_judged)
    if result["measured"] is None or result["bar"] is None:
        return end("skipped", "its calibration was not measured" if result["measured"] else NO_FIGURE)
    verdict, reason, interval = verdict_of(claim, result["bar"], values)
    return end(verdict, reason, interval=interval)


def margin(result, cell):
    """How far a cell is on the right side; the least is the worst."""
    is_least = claims.bar_of(result["bar"])[0] == ">="
    found = cell["measured"]["median"]
    if result["of"] == "worst":
        found = cell["measured"]["least" if is_least else "greatest"]
    if result["of"] == "interval" and cell["interval"]:
        found = cell["interval"][is_least]
    return found - cell["bar"] if is_least else cell["bar"] - found


def worst(result):
    """The cell that speaks for the claim: one that failed, the worst that was judged, or the first."""
    failed = [cell for cell in result["cells"] if cell["verdict"] == "failed"]
    judged = [cell for cell in result["cells"] if cell["verdict"] in ("met", "missed")]
    if judged and not failed:
        return min(judged, key=lambda cell: margin(result, cell))
    return next(iter(failed or result["cells"]), None)


def judge(book, measured, claim, calibrations):
    result = {"id": claim["id"], "name": claim["name"], "unit": claim.get("unit", ""), "bar": claim.get("bar"),
              "of": claim.get("of", "median"), "verdict": "not_built", "reason": claim.get("not_built", ""), "cells": []}
    if "not_built" in claim:
        return result
    cells = [judge_cell(book, measured, claim, cell, calibrations) for cell in claims.cells_of(claim)]
    verdict = next(verdict for verdict in OF_CLAIM if verdict in [cell["verdict"] for cell in cells])
    reason = next(cell["reason"] for cell in cells if cell["verdict"] == verdict)
    return result | {"verdict": verdict, "cells": cells, "reason": "" if verdict in ("met", "missed") else reason}


def judge_all(book, measured, chosen):
    """(calibrations, results) of these claims."""
    calibrations = {}
    for name, one in book.calibrations.items():
        calibrations[name] = {"name": one["name"], "measured": spread(series(book, measured, one["quantity"], {}))}
    return calibrations, [judge(book, measured, claim, calibrations) for claim in chosen]


# --- In words. -----------------------------------------------------------------------------------------------


def told(measured, unit):
    """The median, and in brackets the least and the greatest of the rounds."""
    if measured is None:
        return "–"
    return metrics.told(measured["median"], unit, (measured["least"], measured["greatest"])).strip()


def measured_words(result):
    cell = worst(result)
    return told(cell and cell["measured"], result["unit"])


def bar_words(result):
    """What was asked for on this machine; a question mark if that is not known."""
    if result["bar"] is None:
        return "–"
    here = (worst(result) or {}).get("bar")
    return f"{SIGNS[result['bar'][:2]]} {'?' if here is None else metrics.told(here, result['unit']).strip()}"


def best_peer(result):
    """The best of the peers that stand beside the claim, in words."""
    there = [one for one in (worst(result) or {}).get("beside", []) if one["peer"] and one["measured"]]
    if not there:
        return "–"
    pick = max if result["bar"][:2] == ">=" else min
    best = pick(there, key=lambda one: one["measured"]["median"])
    return f"{metrics.told(best['measured']['median'], best['unit']).strip()}, {best['name']}"


def notes(result):
    """What else there is to say, a line each."""
    cells, cell = result["cells"], worst(result)
    judged = [one for one in cells if one["verdict"] in ("met", "missed")]
    if result["reason"]:
        yield result["reason"]
    if len(cells) > 1 and judged:
        where = ", ".join(f"{name} {value}" for name, value in cell["cell"].items())
        yield f"{sum(one['verdict'] == 'met' for one in judged)} of {len(cells)} cells met; the worst is {where}"
    if cell and cell["interval"] and result["of"] == "interval":
        yield "95 % interval {} to {}".format(*(metrics.told(end, result["unit"]).strip() for end in cell["interval"]))
    if cell and cell["verdict"] == "missed" and cell["reason"]:
        yield cell["reason"]
    for one in (cell or {}).get("beside", []):
        yield f"{one['name']}: {told(one['measured'], one['unit']) if one['measured'] else one['reason']}"
    if result["bar"] and any(word.isidentifier() for word in result["bar"].split()):
        yield f"bar {result['bar']}"


def summary(report):
    """"12 met, 1 missed, 3 not built"."""
    found = [result["verdict"] for result in report["claims"]]
    return ", ".join(f"{found.count(name)} {words}" for name, words in VERDICTS.items() if name in found)


def machine(report):
    taken_on = report["environment"]
    words = (taken_on["cpu"], f"{taken_on['cores']} cores", taken_on["kernel"], taken_on["compiler"])
    return ", ".join([*words, f"commit {report['commit']}"])


def calibration_words(report):
    return "; ".join(f"{one['name']} {told(one['measured'], 'ns')}" for one in report["calibrations"].values())


def terminal(report):
    """The lines of the report."""
    marks = {"missed": "MISSED", "failed": "FAILED"}
    for result in report["claims"]:
        yield (f"{marks.get(result['verdict'], VERDICTS[result['verdict']]):14}  {result['name']}: "
               f"{measured_words(result)}, bar {bar_words(result)}")
        yield from (f"{'':16}{note}" for note in notes(result))
    yield from ("", f"On {machine(report)}.", f"Calibration: {calibration_words(report)}.")
    if not report["is_complete"]:
        yield "Partial: not all rounds were taken."
    yield from [report["note"]] if report["note"] else []
    yield f"{summary(report)}."


def verdict_cell(result):
    words = VERDICTS[result["verdict"]]
    return words if result["verdict"] == "met" else f"**{words}**"


def short_table(chosen):
    """A line each: what, Weir, the best peer, the bar."""
    rows = [[entries.cell(result["name"]), f"{measured_words(result)}", entries.cell(best_peer(result)),
             f"{bar_words(result)}, {verdict_cell(result)}"] for result in chosen]
    return entries.table(["what", "Weir", "best peer", "bar"], rows)


def full_table(chosen):
    """All that is known, a line each."""
    rows = [[entries.cell(result["name"]), measured_words(result), bar_words(result), verdict_cell(result),
             entries.cell("; ".join(notes(result)))] for result in chosen]
    return entries.table(["what", "measured", "bar", "verdict", ""], rows)
