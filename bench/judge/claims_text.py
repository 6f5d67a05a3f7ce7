"""Claims as measured, in words: for the terminal, and as tables of Markdown."""
import shutil
import textwrap

import claims_judge
import entries
import metrics
from borrow import runs

VERDICTS = {"met": "met", "missed": "missed", "failed": "failed", "skipped": "skipped",
            "excluded": "does not apply", "not_built": "not built"}
SIGNS = {"<=": "≤", ">=": "≥"}
WIDTH_MAX, WIDTH_MIN = 120, 60  # of a line on a terminal
INDENT = 4


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


def bar_words(result):
    """What was asked for on this machine; a question mark if that is not known."""
    bar, cell = result["bar"], claims_judge.worst(result)
    if bar is None:
        return "–"
    here = cell["bar"] if bar.get("scaled_by") else bar["value"]
    return f"{SIGNS[bar['op']]} {'?' if here is None else metrics.told(here, result['unit']).strip()}"


def scale_words(result, calibrations):
    """Of a bar that depends on the machine."""
    bar, scale = result["bar"], result["bar"]["scaled_by"]
    words = calibrations[scale["calibration"]]["words"]
    asked = metrics.told(bar["value"], result["unit"]).strip()
    return f"the bar is {asked} where a {words} takes {metrics.told(scale['reference'], 'ns')}"


def notes(result, calibrations):
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
    if bar and "scaled_by" in bar:
        yield scale_words(result, calibrations)


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


def terminal_width():
    return max(min(shutil.get_terminal_size((WIDTH_MAX, 0)).columns, WIDTH_MAX), WIDTH_MIN)


def wrapped(words, width, indent=0):
    """Lines of which all but the first stand further right."""
    return textwrap.wrap(words, width, initial_indent=" " * indent, subsequent_indent=" " * (indent + 2 * bool(indent)),
                         break_on_hyphens=False)


def with_words_below(rows, words, width):
    """A table whose rows have lines of words below them, since no column is wide enough for a sentence."""
    lines = runs.table(rows, left=len(rows[0]))
    yield next(lines)
    for line, below in zip(lines, words):
        yield from ("", line)
        for text in below:
            yield from wrapped(text, width, INDENT)


def terminal(report, width=None):
    """The lines of the report."""
    width, marks = width or terminal_width(), {"missed": "MISSED", "failed": "FAILED"}
    rows, words = [["verdict", "claim", "measured", "bar"]], []
    for result in report["claims"]:
        verdict = marks.get(result["verdict"], verdict_words(result))
        rows.append([verdict, result["id"], measured_words(result), bar_words(result)])
        words.append([result["claim"], *(f"- {note}" for note in notes(result, report["calibrations"]))])
    yield from with_words_below(rows, words, width)
    about = [f"On {machine(report)}.", f"Calibration: {calibration_words(report)}.", *warnings(report)]
    yield ""
    for line in [*about, f"{summary(report)}."]:
        yield from wrapped(line, width)


def markdown(report, chosen):
    """A table of these results."""
    head = ["what", "measured", "bar", "verdict"]
    rows = []
    for result in chosen:
        beside = entries.cell("; ".join(notes(result, report["calibrations"])))
        what = entries.cell(result["claim"]) + (f"<br><sub>{beside}</sub>" if beside else "")
        verdict, bar = verdict_words(result), bar_words(result)
        rows.append([what, entries.cell(measured_words(result)), entries.cell(bar),
                     verdict if result["verdict"] == "met" else f"**{verdict}**"])
    yield from entries.table(head, rows)


def listing(book, width=None):
    rows, words = [["claim", "state", "suite", "said in"]], []
    for claim in book.claims:
        places = dict.fromkeys(place.get("file", "architecture, section 10") for place in claim["where"])
        rows.append([claim["id"], claim["state"].replace("_", " "), claim["suite"], "; ".join(places)])
        words.append([claim["claim"], *([f"- {claim['reason']}"] if "reason" in claim else [])])
    yield from with_words_below(rows, words, width or terminal_width())
