"""The report of a comparison as a comment in Markdown: verdict first, at most 20 rows in sight, the rest folded.

The report may be a stranger's. It has been held against the schema; here every word of it is put into a code span, in
which Markdown, HTML, mentions and links are dead, after what could end the span or the table's cell has been replaced.
Figures are written by us, and the command to repeat it is made here, not taken from there.
"""
import math
import re

from bench.judge import metrics, state
from bench.judge.command import runs

MARKER = "<!-- weir-bench -->"
ROWS_MAX = 20
LENGTH_MAX = 60000  # GitHub takes 65536

SIGN = {"regressed": "❌", "improved": "✅", "unstable": "〰️", "same": "", "not_compared": "❔"}
WORD = {"regressed": "regressed", "improved": "improved", "unstable": "unstable", "same": "same",
        "not_compared": "not compared"}
ARROW = {"less": "↓", "more": "↑"}
RANK = {"regressed": 0, "improved": 1, "unstable": 2, "not_compared": 3, "same": 4}

# What steers what is shown: controls, marks of direction, characters without width, surrogates and private ones.
UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202f"
                    "\u2060-\u206f\u3164\ud800-\uf8ff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff\U000e0000-\U0010ffff]")


def code(text):
    """Somebody else's words, inert, also in a table."""
    plain = UNSEEN.sub("?", str(text)).replace("`", "'").replace("|", "¦").strip()
    return f"`{plain}`" if plain else ""


def short(commit):
    return code(commit[:12] + ("-dirty" if commit.endswith("-dirty") else ""))


# --- Counting. ----------------------------------------------------------------------------------------------


def count(report):
    found = dict.fromkeys(RANK, 0)
    for row in report["gate"] + report["clock"]:
        found[row["verdict"]] += 1
    return found


def decides(report):
    """Is there anything in it that was compared?"""
    found = count(report)
    return any(found[word] for word in ("regressed", "improved", "same"))


def sign(report):
    """Green is only what was measured, all of it."""
    if count(report)["regressed"]:
        return "❌"
    return "✅" if decides(report) and not report.get("missing") else "⚠️"


def verdict(report):
    """"1 regression, 2 improvements, 61 unchanged, 4 unstable"."""
    found, missing = count(report), len(report.get("missing", ()))
    plural = lambda number, word: f"{number} {word}{'' if number == 1 else 's'}"
    none = "no regression" if decides(report) else "nothing was compared"
    others = ((missing, "not measured"), (found["same"], "unchanged"), (found["unstable"], "unstable"),
              (found["not_compared"], "not compared"), (len(report.get("undecided", ())), "left out"))
    parts = [plural(found["regressed"], "regression") if found["regressed"] else none]
    parts += [plural(found["improved"], "improvement")] if found["improved"] else []
    return ", ".join(parts + [f"{number} {words}" for number, words in others if number])


# --- Rows. --------------------------------------------------------------------------------------------------


def change_told(base, head):
    if base is None or head is None:
        return "–"
    if base == head:
        return "0"
    if base == 0:
        return f"{head:+.6g}"
    percent = 100 * (head / base - 1)
    if abs(percent) >= 1e6:
        return "> 1,000,000 %"
    return f"{'+' if percent > 0 else '−'}{metrics.significant(abs(percent))} %"


def gate_cells(row, words=str):
    base, head = row["base"], row["head"]
    return [words(row["name"]), metrics.exact(base), metrics.exact(head), change_told(base, head), words(row["unit"]),
            words(row["note"])]


def clock_cells(row, words=str):
    factor, unit = metrics.scale(row["base"], row["unit"])
    base, head = (metrics.significant(value / factor) for value in (row["base"], row["head"]))
    return [state.labelled(words(row["bench"]), row.get("state", "")), base, head, f"{words(unit)} {ARROW[row['better']]}",
            f"{row['ratio']:.3g} [{row['lo']:.3g}, {row['hi']:.3g}]", f"[{row['control_lo']:.3g}, {row['control_hi']:.3g}]",
            WORD[row["verdict"]] + (" (2 runs)" if row["was_repeated"] else "")]


def gate_row(row):
    return f"| {SIGN[row['verdict']]} {' | '.join(gate_cells(row, code))} |"


def clock_row(row):
    *cells, word = clock_cells(row, code)
    bold = word.replace(WORD[row["verdict"]], f"**{WORD[row['verdict']]}**") if RANK[row["verdict"]] < 2 else word
    return f"| {SIGN[row['verdict']]} {' | '.join([*cells, bold])} |"


GATE_HEAD = ["counted, exact", "base", "head", "change", "unit", ""]
CLOCK_HEAD = ["wall clock", "base", "head", "unit", "head / base [95 %]", "base / base [95 %]", ""]


def tells(row, why=None):
    """Is there more to it than that it is the same, or not compared for the reason that all have?"""
    return row["verdict"] in ("regressed", "improved") or row["note"] not in ("", why)


def print_rows(gate, clock):
    """For a terminal: the counts that these are, with their verdicts, and the clock."""
    for head, cells in ((GATE_HEAD, [[*gate_cells(row)[:5], WORD[row["verdict"]]] for row in gate]),
                        (CLOCK_HEAD, [clock_cells(row) for row in clock])):
        notes = ["", *(row["note"] for row in gate)] if head is GATE_HEAD else [""] * (len(clock) + 1)
        for line, note in zip(runs.table([head, *cells]) if cells else (), notes):
            print(f"{line}  {note}".rstrip())


def summary(rows):
    found = [WORD[row["verdict"]] for row in rows]
    return f"{len(rows)} figures: " + ", ".join(f"{found.count(word)} {word}" for word in WORD.values() if word in found)


def weight(row):
    """What is to be seen first: the verdict, then the size of the change; counts that are the same come last."""
    base, head = row["base"], row["head"]
    known = base is not None and head is not None and base > 0 and head > 0
    size = abs(math.log(head) - math.log(base)) if known else 0.0
    return RANK[row["verdict"]], "ratio" not in row and base == head, -size


def tables(rows):
    """Of the counts and of the clock, in the order of the rows."""
    for head, key, line in ((GATE_HEAD, "name", gate_row), (CLOCK_HEAD, "bench", clock_row)):
        own = [row for row in rows if key in row]
        marks = ["---" if name in (head[0], "unit", "") else "--:" for name in head]
        yield from (f"| {' | '.join(head)} |", f"|{'|'.join(marks)}|", *map(line, own), "") if own else ()


# --- The comment. -------------------------------------------------------------------------------------------


def repeat(report):
    """A command that compares the same commits: ours, since the report's may be anything."""
    clean = [report[side].removesuffix("-dirty") for side in ("base", "head")]
    return "./dev bench ab" + "".join(f" --{side} {name}" for side, name in zip(("base", "head"), clean)
                                      if name != "unknown")


def missing(report, key="missing", title="Not measured"):
    """What should have been measured, and why it was not; the report itself has the rest."""
    rows = report.get(key, [])
    lines = [f"* {code(row['name'])}: {code(row['reason'])}" for row in rows[:ROWS_MAX]]
    lines += [f"* and {len(rows) - ROWS_MAX} more"] if len(rows) > ROWS_MAX else []
    return [f"{title}:", "", *lines, ""] if rows else []


def not_measured(head, run_url=None):
    """The comment where there is no report that can be taken: else an older one's verdict would stand."""
    where = f"; [the run]({run_url}) says why" if run_url else ""
    return (f"{MARKER}\n### ⚠️ Benchmarks: not measured\n\nThere is no report of {short(head)} that could be taken"
            f"{where}. This says nothing about whether it is slower.\n")


def environment(report):
    told = report["environment"]
    return ["| | |", "|---|---|", *(f"| {name.replace('_', ' ')} | {code(told[name])} |" for name in
            ("cpu", "cores", "kernel", "compiler", "clock_source", "governor", "load", "runner")),
            *([f"| calibration loop | {metrics.told(told['calibration_ns'], 'ns')} |"]
              if "calibration_ns" in told else []), ""]


def legend(report):
    pairs = sorted({row["pairs"] for row in report["clock"]})
    many = f"{pairs[0]} to {pairs[-1]}" if len(pairs) > 1 else f"{pairs[0]}" if pairs else "no"
    return (f"Counts are exact. For the clock, {many} pairs of processes of base and head in turn, all of one state of "
            "the machine; in a *shared core* its other hardware thread was busy. *base / base* is a "
            "copy of base against base in the same run: what is within it is noise. ↓ less is better, ↑ more is "
            "better; same: no difference shown.")


def render(report, graph_url=None):
    """The whole comment. graph_url is ours, never the report's."""
    rows = sorted(report["gate"] + report["clock"], key=weight)  # at most 20 in sight, what changed first
    more = len(rows) - ROWS_MAX
    links = f"[Graph]({graph_url}) · " if graph_url else ""
    top = [MARKER, f"### {sign(report)} Benchmarks: {verdict(report)}", "",
           f"{short(report['base'])} → {short(report['head'])} · {links}`{repeat(report)}`", "", *missing(report),
           *missing(report, "undecided", "Left out, because this machine could not measure it"), *tables(rows[:ROWS_MAX])]
    folded = [f"<details><summary>{more} more row{'s' if more > 1 else ''}</summary>", "",
              *tables(rows[ROWS_MAX:]), "</details>", ""] if more > 0 else []
    about = ["<details><summary>How it was measured, and how to repeat it</summary>", "", legend(report), "",
             *environment(report),
             f"It took {metrics.significant(report['seconds'])} s. To repeat it, and to draw it:", "", "```sh",
             f"{repeat(report)} --report out/bench/report.json", "./dev bench plot --report out/bench/report.json",
             "```", "</details>"]
    text = "\n".join([*top, *folded, *about]) + "\n"
    if len(text) <= LENGTH_MAX:
        return text
    folded = [f"{more} more rows are in the report itself: they do not fit into a comment.", ""]
    return "\n".join([*top, *folded, *about]) + "\n"
