"""./dev bench picture: draws how many events arrive and how many are lost, from what ./dev bench peers wrote.

One column per number of threads, one bar per system: Weir in its three modes, LTTng-UST, EventPipe; all through buffers
of the same size. Figures are the file's medians. The same file gives the same bytes. Exit codes: 0, 1 the file cannot
be drawn, 2 usage.

    ./dev bench peers --case flood --rounds 9 -o peers.json && ./dev bench picture peers.json -o delivered.svg
"""
import argparse
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


# --- The file. -------------------------------------------------------------------------------------------------


def read(path):
    """The file's object; one clear sentence if it is something else."""
    result = points.read_json(points.read_text(path), path)
    if not isinstance(result, dict) or not isinstance(result.get("rows"), list):
        raise runs.Failed(f"{path} has no rows; ./dev bench peers --case flood writes what is drawn here")
    points.validate("environment", result.get("environment"), path)
    points.validate("commit", result.get("commit"), f"{path}: commit")
    return result


def is_count(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0


def fault(row):
    """What is wrong with a row that is to be drawn, or None."""
    if row.get("skipped") or row.get("failed"):
        return None
    if not all(is_count(row.get(name)) for name in ("emitted", "delivered", "seconds", "rounds")):
        return "emitted, delivered, seconds or rounds are not there"
    return "more was delivered than emitted" if row["delivered"] > row["emitted"] else None


def floods(result, path):
    """Rows by (system, number of threads); Failed if what must be there is not."""
    found = {}
    for row in result["rows"]:
        if isinstance(row, dict) and row.get("case") == "flood" and is_count(row.get("threads")):
            found[row.get("name"), int(row["threads"])] = row
    wanted = {name for name, _, _ in SYSTEMS}
    drawn = {key: row for key, row in found.items() if key[0] in wanted}
    if not any(name == "weir:block" for name, _ in drawn):
        raise runs.Failed(f"{path} has no flood of weir:block; ./dev bench peers --case flood makes one")
    for (name, threads), row in drawn.items():
        if fault(row):
            raise runs.Failed(f"{path}: {name}, {threads} threads: {fault(row)}")
    return drawn


# --- Drawing. --------------------------------------------------------------------------------------------------


def time_of(seconds):
    return f"{runs.significant(1000 * seconds, 2)} ms" if seconds < 1 else f"{runs.significant(seconds, 2)} s"


def words_of(row):
    lost = row["emitted"] - row["delivered"]
    share = f"{100 * lost / row['emitted']:.1f} %" if lost else "none"
    return f"{row['delivered']:,.0f} delivered, {share} lost"


def draw_bar(axes, y, row):
    """A bar of what was emitted: delivered from the left, the rest lost; the figures under it."""
    if row is None or row.get("skipped") or row.get("failed"):
        axes.text(0, y + 0.24, "not measured", color=FAINT, fontsize=8.5, va="center")
        return
    delivered = row["delivered"] / row["emitted"]
    axes.barh(y, 1, height=0.4, color=LOST_FILL, edgecolor=LOST, linewidth=0.7, hatch="////", align="center")
    axes.barh(y, delivered, height=0.4, color=DELIVERED, edgecolor=DELIVERED, linewidth=0.7, align="center")
    axes.text(0, y + 0.43, words_of(row), fontsize=8.5, va="center", color=INK)
    axes.text(1, y + 0.43, time_of(row["seconds"]), fontsize=8.5, va="center", ha="right", color=FAINT)


def draw_column(axes, drawn, threads):
    axes.set_xlim(-0.005, 1.02)
    axes.set_ylim(len(SYSTEMS) - 0.35, -0.35)
    axes.axis("off")
    axes.set_title(f"{threads} thread{'' if threads == 1 else 's'}", fontsize=10.5, loc="left", fontweight="bold",
                   color=INK)
    for y, (name, _, _) in enumerate(SYSTEMS):
        draw_bar(axes, y, drawn.get((name, threads)))


def draw_labels(axes):
    axes.set_xlim(0, 1)
    axes.set_ylim(len(SYSTEMS) - 0.35, -0.35)
    axes.axis("off")
    for y, (name, label, what) in enumerate(SYSTEMS):
        weight = "bold" if name.startswith("weir") else "normal"
        axes.text(0, y, label, fontsize=10, va="center", fontweight=weight)
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
    made = argparse.ArgumentParser(prog="./dev bench picture", description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("file", metavar="PEERS.json", help="what ./dev bench peers --case flood wrote")
    made.add_argument("-o", "--output", required=True, metavar="OUT.svg")
    arguments = made.parse_args()
    result = read(arguments.file)
    drawn = floods(result, arguments.file)
    command.write(arguments.output, draw(result, drawn))
    print(f"Wrote {arguments.output}.")
    return 0


if __name__ == "__main__":
    command.run("picture", main)
