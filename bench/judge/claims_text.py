"""Claims as measured, in words: for the terminal, and as tables of Markdown."""
import claims_judge
import entries
import metrics
from borrow import runs

VERDICTS = {"met": "met", "missed": "missed", "failed": "failed", "skipped": "skipped",
            "excluded": "does not apply", "not_built": "not built"}
SIGNS = {"<=": "≤", ">=": "≥"}


def told(measured, unit):
    """The median, and in brackets the least and the greatest of the rounds."""
    if measured is None:
        return "–"
    return metrics.told(measured["median"], unit, (measured["least"], measured["greatest"])).strip()


def cell_words(cell):
    return ", ".join(f"{name} {value}" for name, value in cell.items())


def measured_words(result):
    """Of the cell that speaks for the claim."""
    cell = claims_judge.worst(result)
    return told(cell and cell["measured"], result["unit"])


def bar_words(result, calibrations):
    """What was asked for; where that depends on the machine, as a ratio to its calibration too."""
    bar = result["bar"]
    if bar is None:
        return "–"
    asked, scale = f"{SIGNS[bar['op']]} {metrics.told(bar['value'], result['unit']).strip()}", bar.get("scaled_by")
    if not scale:
        return asked
    cell = claims_judge.worst(result)
    here = cell["bar"] if cell else None
    words = f"where a {calibrations[scale['calibration']]['words']} takes {metrics.told(scale['reference'], 'ns')}"
    if here is None:
        return f"{asked} {words}"
    return f"{SIGNS[bar['op']]} {metrics.told(here, result['unit']).strip()} here ({asked[2:]} {words})"


def notes(result):
    """What else there is to say, a line each."""
    cells, bar = result["cells"], result["bar"]
    judged = [cell for cell in cells if cell["verdict"] in ("met", "missed")]
    if result["reason"] and not (judged and result["verdict"] == "skipped"):  # then it is told of the cells below
        yield result["reason"]
    if len(cells) > 1 and judged:
        met = sum(cell["verdict"] == "met" for cell in judged)
        yield f"{met} of {len(judged)} cells met; the worst is {cell_words(claims_judge.worst(result)['cell'])}"
    for verdict, words in (("skipped", "not judged"), ("excluded", "left out")):
        others = [cell["reason"] for cell in cells if cell["verdict"] == verdict]
        if judged and others:
            yield f"{len(others)} of {len(cells)} cells {words}: {others[0]}"
    worst = claims_judge.worst(result)
    if worst and bar and bar.get("of") == "interval" and worst["interval"]:
        yield "95 % interval {} to {}".format(*(metrics.told(end, result["unit"]).strip() for end in worst["interval"]))
    if worst and worst["verdict"] == "missed" and worst["reason"]:
        yield worst["reason"]
    for one in (worst or {}).get("beside", []):
        yield f"{one['words']}: {told(one['measured'], one['unit']) if one['measured'] else one['reason']}"


def verdict_words(result):
    return VERDICTS[result["verdict"]]


def summary(report):
    """"12 met, 1 missed, 3 not built"."""
    found = [result["verdict"] for result in report["claims"]]
    return ", ".join(f"{found.count(name)} {words}" for name, words in VERDICTS.items() if name in found)


def machine(report):
    taken_on = report["environment"]
    words = (taken_on["cpu"], f"{taken_on['cores']} cores", taken_on["kernel"], taken_on["compiler"])
    return ", ".join([*words, f"commit {report['commit']}"])


def calibration_words(report):
    return "; ".join(f"{one['words']} {told(one['measured'], 'ns')}" for one in report["calibrations"].values())


def warnings(report):
    if not report["is_complete"]:
        yield "Partial: not all rounds were taken."
    if report["is_quick"]:
        yield "Quick: one round of each, so no spread, and no verdict to rely on."
    if report["note"]:
        yield report["note"]


def terminal(report):
    """The lines of the table; the claim is last, since it may be long."""
    rows = [["verdict", "measured", "bar", "claim"]]
    marks = {"missed": "MISSED", "failed": "FAILED"}
    for result in report["claims"]:
        verdict, bar = marks.get(result["verdict"], verdict_words(result)), bar_words(result, report["calibrations"])
        rows.append([verdict, measured_words(result), bar, f"{result['claim']} [{result['id']}]"])
    lines = list(runs.table(rows, left=4))
    yield lines[0]
    for line, result in zip(lines[1:], report["claims"]):
        yield line
        yield from (f"           {note}" for note in notes(result))
    yield from ("", f"On {machine(report)}.", f"Calibration: {calibration_words(report)}.", *warnings(report))
    yield f"{summary(report)}."


def markdown(report, chosen):
    """A table of these results."""
    head = ["what", "measured", "bar", "verdict"]
    rows = []
    for result in chosen:
        beside = [entries.cell(note) for note in notes(result)]
        what = "<br>".join([entries.cell(result["claim"]), *(f"<sub>{note}</sub>" for note in beside)])
        verdict, bar = verdict_words(result), bar_words(result, report["calibrations"])
        rows.append([what, entries.cell(measured_words(result)), entries.cell(bar),
                     verdict if result["verdict"] == "met" else f"**{verdict}**"])
    yield from entries.table(head, rows)


def listing(book):
    rows = [["claim", "state", "suite", "what", "said in"]]
    for claim in book.claims:
        places = dict.fromkeys(place.get("file", "architecture, section 10") for place in claim["where"])
        rows.append([claim["id"], claim["state"].replace("_", " "), claim["suite"], claim["claim"], ", ".join(places)])
    yield from runs.table(rows, left=5)
