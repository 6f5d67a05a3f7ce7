"""./dev bench picture: draws how many events arrive and how many are lost, from what ./dev bench peers wrote.

One column per number of threads, one bar per system: Weir in its three modes, LTTng-UST, EventPipe; all through buffers
of the same size. Figures are the file's medians, of the state of the
machine that most rounds were in. The same file gives the same bytes. Exit codes: 0, 1 the file cannot
be drawn, 2 usage.

    ./dev bench peers --case flood --rounds 9 -o peers.json && ./dev bench picture peers.json -o delivered.svg
"""
import textwrap

import matplotlib.patches

from bench.judge import command, picture, points
from bench.stress import runs
from bench.judge.picture import FAINT, INK

# Top to bottom: what the file calls it, and what it is called here.
SYSTEMS = (("weir:block", "Weir BLOCK", "a full budget parks the thread"),
           ("weir:drop", "Weir DROP", "loses the new event"),
           ("weir:overwrite", "Weir OVERWRITE", "keeps the newest"),
           ("lttng:blocking", "LTTng-UST", "blocking"),
           ("lttng:discard", "LTTng-UST", "discard"),
           ("eventpipe:1MB", ".NET EventPipe", "circularBufferMB=1"))

# The hatch says it without colour.
DELIVERED, LOST, LOST_FILL = picture.BLUE, picture.RED, "#fbe3d3"

INCHES, ROW_INCHES, HEAD_INCHES, FOOT_INCHES, LABEL_SHARE = 10.4, 0.56, 0.92, 0.74, 0.185


def floods(path):
    """The file's object, and its rows that are drawn by (system, number of threads)."""
    result = points.validate("peers", points.read_json(points.read_text(path), path), path)
    wanted = [name for name, _, _ in SYSTEMS]
    # Of the rows of a system, one for each state of the machine, the one with the most rounds.
    drawn = {(row["name"], row["threads"]): row
             for row in sorted(result["rows"], key=lambda row: row.get("rounds", 0))
             if row.get("case") == "flood" and row.get("name") in wanted}
    for (name, threads), row in drawn.items():
        if is_measured(row):
            points.validate("flood", row, f"{path}: {name}, {threads} threads")
        if is_measured(row) and row["delivered"] > row["emitted"]:
            raise points.Invalid(f"{path}: {name}, {threads} threads: more was delivered than emitted")
    if not any(name == "weir:block" for name, _ in drawn):
        raise points.Invalid(f"{path} has no flood of weir:block; ./dev bench peers --case flood makes one")
    return result, drawn


def is_measured(row):
    return not (row is None or row.get("skipped") or row.get("failed"))


# --- Drawing. --------------------------------------------------------------------------------------------------


def time_of(seconds):
    return f"{runs.significant(1000 * seconds, 2)} ms" if seconds < 1 else f"{runs.significant(seconds, 2)} s"


def words_of(row):
    lost = row["emitted"] - row["delivered"]
    share = f"{100 * lost / row['emitted']:.1f} %" if lost else "none"
    return f"{row['delivered']:,.0f} delivered, {share} lost"


def draw_bar(axes, y, row):
    """A bar of what was emitted: delivered from the left, the rest lost; the figures under it."""
    if not is_measured(row):
        axes.text(0, y + 0.24, "not measured", color=FAINT, fontsize=8.5, va="center")
        return
    delivered = row["delivered"] / row["emitted"]
    axes.barh(y, 1, height=0.4, color=LOST_FILL, edgecolor=LOST, linewidth=0.7, hatch="////", align="center")
    axes.barh(y, delivered, height=0.4, color=DELIVERED, edgecolor=DELIVERED, linewidth=0.7, align="center")
    axes.text(0, y + 0.43, words_of(row), fontsize=8.5, va="center", color=INK)
    axes.text(1, y + 0.43, time_of(row["seconds"]), fontsize=8.5, va="center", ha="right", color=FAINT)


def bare(axes, low, high):
    """A row for each system, and no frame."""
    axes.set_xlim(low, high)
    axes.set_ylim(len(SYSTEMS) - 0.35, -0.35)
    axes.axis("off")
    return axes


def draw_column(axes, drawn, threads):
    bare(axes, -0.005, 1.02).set_title(f"{threads} thread{'' if threads == 1 else 's'}", fontsize=10.5, loc="left",
                                       fontweight="bold", color=INK)
    for y, (name, _, _) in enumerate(SYSTEMS):
        draw_bar(axes, y, drawn.get((name, threads)))


def draw_labels(axes):
    bare(axes, 0, 1)
    for y, (name, label, what) in enumerate(SYSTEMS):
        axes.text(0, y, label, fontsize=10, va="center", fontweight="bold" if name.startswith("weir") else "normal")
        axes.text(0, y + 0.4, what, fontsize=8, va="center", color=FAINT)


def foot_of(result, drawn):
    """What it was taken on, and what is to be known of each system's buffers."""
    row = next(row for (name, _), row in drawn.items() if name == "weir:block")
    note = next((row["note"] for (name, _), row in sorted(drawn.items())
                 if name.startswith("lttng") and row.get("note")), "")
    sentences = ["Events of 32 bytes of payload, emitted as fast as the threads can; "
                 f"medians of {row['rounds']} rounds. "
                 "Times are until the last thread has emitted all of its events.",
                 f"LTTng-UST's buffers: {note}." if note else "",
                 f"{result['environment']['cpu']}, {result['environment']['cores']} processors, "
                 f"{result['environment']['kernel']}; commit {result['commit']}."]
    return " ".join(sentence for sentence in sentences if sentence)


def draw(result, drawn):
    """The SVG as text."""
    counts = sorted({threads for _, threads in drawn})
    first = next(iter(drawn.values()))
    height = HEAD_INCHES + FOOT_INCHES + ROW_INCHES * len(SYSTEMS)

    def fill(figure):
        grid = figure.add_gridspec(1, len(counts) + 1, left=0.02, right=0.99, bottom=FOOT_INCHES / height, wspace=0.05,
                                   top=1 - HEAD_INCHES / height,
                                   width_ratios=[LABEL_SHARE * len(counts) / (1 - LABEL_SHARE), *(1 for _ in counts)])
        draw_labels(figure.add_subplot(grid[0]))
        for number, threads in enumerate(counts, 1):
            draw_column(figure.add_subplot(grid[number]), drawn, threads)
        title = f"{first['emitted']:,} events through {runs.size(first['budget_bytes'])} of buffers: how many arrive"
        figure.text(0.02, 1 - 0.14 / height, title, fontsize=13.5, fontweight="bold", va="top")
        handles = [matplotlib.patches.Patch(facecolor=DELIVERED, edgecolor=DELIVERED, label="delivered"),
                   matplotlib.patches.Patch(facecolor=LOST_FILL, edgecolor=LOST, hatch="////", label="lost")]
        figure.legend(handles=handles, loc="upper right", ncol=2, frameon=False, fontsize=10,
                      bbox_to_anchor=(0.995, 1 - 0.08 / height), borderaxespad=0)
        figure.text(0.02, 0.12 / height, textwrap.fill(foot_of(result, drawn), 172), fontsize=8, color=FAINT,
                    va="bottom", linespacing=1.4)

    return picture.svg_of(INCHES, height, fill)


def main():
    made = command.parser("picture", __doc__)
    made.add_argument("file", metavar="PEERS.json", help="what ./dev bench peers --case flood wrote")
    made.add_argument("-o", "--output", required=True, metavar="OUT.svg")
    arguments = made.parse_args()
    command.write(arguments.output, draw(*floods(arguments.file)))
    print(f"Wrote {arguments.output}.")
    return 0


if __name__ == "__main__":
    command.run("picture", main)
