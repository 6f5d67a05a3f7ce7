"""From what the rounds measured to verdicts, and the verdicts in words. Nothing is run here.

A figure is computed for each round and state of the machine (state.py) from what that round's samples have in it, so
that drift meets all of its parts. The bar is held against the median over the rounds, in each state; `of: interval` is
missed only if the whole 95 % interval of the median is on the wrong side. `of: worst`, for what is no time, is held
against every round in whatever state.
"""
import math
import statistics

from bench.judge import claims, entries, metrics, state
from bench.stress import compare

# A claim has the first of these that one of its cells has: it is met only where all that it applies to were judged.
OF_CLAIM = ("failed", "missed", "skipped", "met", "excluded")
VERDICTS = {"met": "met", "missed": "missed", "failed": "failed", "skipped": "skipped", "excluded": "does not apply",
            "not_built": "not built"}
SIGNS = {"<=": "≤", ">=": "≥"}
NO_FIGURE = "no round had a figure of one state of the machine"
ANY = "any"  # state
ROUNDS_MIN = 3  # in a state, for its verdict to count, unless none has as many


class Measured:
    """Rows of fields by command and round, and why a command has none."""

    def __init__(self):
        self.rounds, self.skipped, self.failed, self.least_ns = {}, {}, {}, math.nan

    def add(self, run, rows):
        self.rounds.setdefault(run, []).append(rows if isinstance(rows, list) else [rows])

    def find_fastest(self):
        self.least_ns = state.fastest(state.taken(row) for some in self.rounds.values() for rows in some for row in rows)

    def states(self, commands):
        """All states that these were in. Two mixed runs do not compare: nothing says that they were mixed alike."""
        found = [{state.of(state.taken(row), self.least_ns) for rows in self.rounds.get(run, ()) for row in rows} - {""}
                 for run in commands]
        not_compared = {state.MIXED} if sum(map(bool, found)) > 1 else set()
        return sorted(set().union(*found) - not_compared, key=state.rank) or [""]

    def fields(self, run, index, wanted):
        """Of a round, in that state; None if it was not in it. Several rows become their medians."""
        rows = [row for row in self.rounds[run][index]
                if wanted == ANY or state.of(state.taken(row), self.least_ns) in (wanted, "")]
        if len(rows) < 2:
            return rows[0] if rows else None
        return {name: statistics.median(row[name] for row in rows) for name, value in rows[0].items()
                if all(claims.is_number(row.get(name)) for row in rows)}

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


def series(book, measured, quantity, cell, wanted=ANY):
    """The quantity by round, for as many rounds as all of its samples have; one that is taken once stands for all. None
    where one of them was not in that state."""
    samples = {name: book.sample(name, cell) for name in claims.samples_of(quantity)}
    counts = [measured.count(sample.run) for sample in samples.values() if sample.rounds > 1] or [1]
    if not all(measured.count(sample.run) for sample in samples.values()):
        return []

    def look_in(index):
        def look(path):
            sample = samples[path[0]]
            fields = measured.fields(sample.run, index if sample.rounds > 1 else 0, wanted)
            # Which rows are counted depends on the processor and the compiler.
            if sample.run == "count" and path[1] not in fields:
                raise claims.Unavailable(f"./dev bench count has no row '{path[1]}' here")
            return field(fields, path[1:])
        return look

    tree = claims.parsed(quantity)
    return [claims.evaluate(tree, look_in(index)) for index in range(min(counts))]


def by_state(book, measured, quantity, cell, of="median"):
    """{state: the quantity by round}, of the states that have one."""
    commands = [book.sample(name, cell).run for name in claims.samples_of(quantity)]
    found = {name: series(book, measured, quantity, cell, name)
             for name in ([ANY] if of == "worst" else measured.states(commands))}
    return {name: values for name, values in found.items() if spread(values)}


def spread(values):
    there = [value for value in values if value is not None]
    if not there:
        return None
    return {"median": statistics.median(there), "least": min(there), "greatest": max(there), "rounds": len(there)}


def bar_here(bar, calibrations, name=ANY):
    """The bar on this machine, None if its calibration is not known. The least round of the calibration counts, in a
    core of that kind: the others of a busy machine would only make the bar easier."""
    def least(path):
        known = calibrations[path[0]]["states"].items()
        return min((one["least"] for other, one in known
                    if state.core(name) not in state.CORES or state.core(other) in ("", state.core(name))), default=None)
    return claims.evaluate(claims.bar_of(bar)[1], least)


# --- Verdicts. -----------------------------------------------------------------------------------------------


def holds(bar, value, here):
    return claims.OPS[claims.bar_of(bar)[0]](value, here)


def verdict_of(claim, bar, here, values):
    """(verdict, reason, interval) of figures of which at least one is there."""
    if here is None:
        return "skipped", "its calibration was not measured" if bar else "no round was in one state of the machine", None
    there = [value for value in values if value is not None]
    bad = sum(not holds(bar, value, here) for value in there)
    found = list(compare.interval(there)) if len(there) >= compare.PAIRS_MIN else None
    of = claim.get("of", "median")
    if of == "worst":
        return ("missed", f"in {bad} of {len(there)} rounds", None) if bad else ("met", "", None)
    if of == "interval" and found is None:
        return "skipped", f"an interval needs {compare.PAIRS_MIN} rounds, not {len(there)}", None
    ends = found if of == "interval" else [statistics.median(there)]
    return ("met" if any(holds(bar, end, here) for end in ends) else "missed"), "", found


def judge_state(claim, name, values, calibrations):
    bar = claims.bar_in(claim["bar"], name)
    here = bar and bar_here(bar, calibrations, name)
    verdict, reason, interval = verdict_of(claim, bar, here, values)
    return {"measured": spread(values), "bar": here, "interval": interval, "verdict": verdict, "reason": reason}


def speaker(claim, states):
    """The state that speaks for the cell: the worst of those with enough rounds; a mixed one only if there is no other.
    """
    names = [name for name in states if name != state.MIXED] or list(states)
    most = max(states[name]["measured"]["rounds"] for name in names)
    enough = [name for name in names if states[name]["measured"]["rounds"] >= min(ROUNDS_MIN, most)]
    judged = [name for name in enough if states[name]["verdict"] in ("met", "missed")]
    return min(judged, key=lambda name: margin(claim, states[name])) if judged else enough[0]


def beside(book, measured, claim, cell, own):
    """What stands beside the verdict, which is of state `own`: peers, mostly. In the nearest state that there is."""
    distance = lambda name: (name != own, state.core(name) != state.core(own), state.rank(name))
    for one in claim.get("beside", []):
        missing = measured.why_not([book.sample(name, cell) for name in claims.samples_of(one["quantity"])])
        found = {} if missing else by_state(book, measured, one["quantity"], cell,
                                            "worst" if own == ANY else "median")
        where = min(found, key=distance, default="")
        told = {"name": claims.bound(one["name"], cell), "unit": one.get("unit", claim["unit"]),
                "peer": one.get("peer", False), "state": where, "measured": spread(found.get(where, ()))}
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
    result = {"cell": cell, "state": "", "measured": None, "interval": None, "bar": None, "states": {}, "beside": []}

    def end(verdict, reason=""):
        return result | {"verdict": verdict, "reason": reason}

    try:
        missing = measured.why_not([book.sample(name, cell) for name in claims.samples_of(*claims.judged(claim))])
        found = {} if missing else by_state(book, measured, claim["quantity"], cell, claim.get("of"))
        states = {name: judge_state(claim, name, values, calibrations) for name, values in found.items()}
        name = speaker(claim, states) if states else ""
        result |= {"state": name, "states": states, "beside": list(beside(book, measured, claim, cell, name))}
        result |= states.get(name, {})
        not_judged = missing or applies(book, measured, claim, cell)
    except claims.Unavailable as error:
        return end("skipped", str(error))
    except (KeyError, TypeError) as error:
        return end("failed", f"what was measured has no field {error}")
    if not_judged:
        return end(*not_judged)
    return result if states else end("skipped", NO_FIGURE)


def margin(claim, cell):
    """How far a cell, or a state of it, is on the right side; the least is the worst."""
    is_least, of = claims.is_least(claim["bar"]), claim.get("of", "median")
    found = cell["measured"]["median"]
    if of == "worst":
        found = cell["measured"]["least" if is_least else "greatest"]
    if of == "interval" and cell["interval"]:
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
    measured.find_fastest()
    calibrations = {}
    for name, one in book.calibrations.items():
        found = {where: spread(values) for where, values in by_state(book, measured, one["quantity"], {}).items()}
        calibrations[name] = {"name": one["name"], "measured": next(iter(found.values()), None), "states": found}
    return calibrations, [judge(book, measured, claim, calibrations) for claim in chosen]


# --- In words. -----------------------------------------------------------------------------------------------


def told(measured, unit):
    """The median, and in brackets the least and the greatest of the rounds."""
    if measured is None:
        return "–"
    return metrics.told(measured["median"], unit, (measured["least"], measured["greatest"])).strip()


def measured_words(result):
    """Of the worst cell, in all of its states."""
    cell = worst(result)
    states = {name: one for name, one in (cell or {}).get("states", {}).items() if name not in ("", ANY)}
    return "; ".join(f"{name} {told(one['measured'], result['unit'])}" for name, one in states.items()) or \
        told(cell and cell["measured"], result["unit"])


def bar_words(result):
    """What was asked for on this machine; a question mark if that is not known."""
    if result["bar"] is None:
        return "–"
    if isinstance(result["bar"], dict):
        return claims.bar_words({name: f"{SIGNS[text[:2]]}{text[2:]}" for name, text in result["bar"].items()})
    here = (worst(result) or {}).get("bar")
    return f"{SIGNS[result['bar'][:2]]} {'?' if here is None else metrics.told(here, result['unit']).strip()}"


def best_peer(result):
    """The best of the peers that stand beside the claim, in words; of those in the same kind of core."""
    cell = worst(result) or {}
    core_of = lambda one: state.core(one.get("state", ""))
    there = [one for one in cell.get("beside", []) if one["peer"] and one["measured"] and core_of(one) == core_of(cell)]
    if not there:
        return "–"
    pick = max if claims.is_least(result["bar"]) else min
    best = pick(there, key=lambda one: one["measured"]["median"])
    return f"{metrics.told(best['measured']['median'], best['unit']).strip()}, {best['name']}"


def notes(result):
    """What else there is to say, a line each."""
    cells, cell = result["cells"], worst(result)
    judged = [one for one in cells if one["verdict"] in ("met", "missed")]
    if result["reason"]:
        yield result["reason"]
    if len(cells) > 1 and judged:
        where = ", ".join(f"{name} {value or 'no'}" for name, value in cell["cell"].items())
        yield f"{sum(one['verdict'] == 'met' for one in judged)} of {len(cells)} cells met; the worst is {where}"
    if cell and cell["interval"] and result["of"] == "interval":
        yield "95 % interval {} to {}".format(*(metrics.told(end, result["unit"]).strip() for end in cell["interval"]))
    if cell and cell["verdict"] == "missed" and cell["reason"]:
        yield cell["reason"]
    for one in (cell or {}).get("beside", []):
        where = one.get("state", "") if one.get("state") != cell.get("state") else ""
        yield f"{state.labelled(one['name'], where)}: {told(one['measured'], one['unit']) if one['measured'] else one['reason']}"
    if isinstance(result["bar"], str) and any(word.isidentifier() for word in result["bar"].split()):
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
