"""Draws the share of events lost and how long producers are parked at the brim, over the number of producers.

    plot.py RUNS.ndjson OUT.svg [--pinned]

One column per sink, one line per strategy, each line the median of its repetitions. Exit codes: 0, 1 failed, 2 usage.
"""
import argparse
import math
import os

from bench.judge import picture
from bench.stress import runs

PALETTE = ("#3d3d3d", picture.GREEN, picture.BLUE, picture.RED, picture.PURPLE)
COLOURS = {strategy: PALETTE[number % len(PALETTE)] for number, strategy in enumerate(runs.STRATEGIES)}
WARNING = "#b00020"
WIDTH, HEIGHT, HEAD, FOOT = 6.2, 7.2, 1.1, 0.9  # inches; WIDTH of a column
LABEL_PIXELS = 13  # between two labels beside a panel


# --- Figures. -----------------------------------------------------------------------------------------------------


def series(found, strategy, value):
    """(producers, value) of a strategy; NAN where there is no figure."""
    points = runs.group([run for run in found if run.strategy == strategy], lambda run: run["producers"])
    medians = [(producers, runs.median(value(run) for run in members)) for producers, members in sorted(points.items())]
    return [producers for producers, _ in medians], [math.nan if value is None else value for _, value in medians]


def name_of(strategy):
    return strategy.rpartition("/")[2]


def loss(run):
    return None if run.loss_share is None else 100 * run.loss_share


def park(name):
    return lambda run: run.park(name) and run.park(name) / 1000


def time_name(us, _place=None):
    for unit, name in ((1e6, "s"), (1e3, "ms"), (1, "µs")):
        if us >= unit:
            return f"{us / unit:g} {name}"
    return f"{us * 1000:g} ns"


def last_of(points):
    """The last point of a line that has a figure, or None."""
    return next(((x, y) for x, y in reversed(list(zip(*points))) if not math.isnan(y)), None)


# --- Panels. ------------------------------------------------------------------------------------------------------


def spread_out(places, step, low, high):
    """The places, moved apart by as little as needed so that they are at least `step` apart, within low and high."""
    moved = list(places)
    order = sorted(range(len(places)), key=lambda index: places[index])
    for below, above in zip(order, order[1:]):
        moved[above] = max(moved[above], moved[below] + step)
    for number, index in enumerate(reversed(order)):
        moved[index] = min(moved[index], high - number * step)
    return [max(place, low) for place in moved]


def label_ends(axes, ends):
    """ends: ((x, y) of the last point of a line, colour, text). Labels are placed beside the panel without overlap."""
    to_panel = axes.transData + axes.transAxes.inverted()
    places = [to_panel.transform(end)[1] for end, _, _ in ends]
    for (end, colour, text), place in zip(ends, spread_out(places, LABEL_PIXELS / axes.bbox.height, 0, 1)):
        axes.annotate(text, xy=end, xytext=(1.03, place), textcoords="axes fraction", color=colour, va="center",
                      fontweight="bold", fontsize=8.5, arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.7})


def frame(axes, producers, title):
    axes.set_xscale("log", base=2)
    axes.set_xlim(min(producers) / 1.15, max(max(producers), 2 * min(producers)) * 1.15)
    axes.set_xticks(producers, [str(count) for count in producers])
    axes.minorticks_off()
    axes.grid(axis="y", color=picture.RULE, linewidth=0.6)
    axes.set_title(title, loc="left", fontsize=9, color=picture.FAINT)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def draw_loss(axes, found, producers):
    axes.set_ylim(-2, 102)
    ends, lossless = [], []
    for strategy, colour in COLOURS.items():
        points = series(found, strategy, loss)
        if last_of(points) is None:
            continue
        axes.plot(*points, color=colour, marker="o", markersize=4)
        if strategy != "DROP" and not any(points[1]):
            lossless.append(name_of(strategy))
        else:
            ends.append((last_of(points), colour, name_of(strategy)))
    frame(axes, producers, "events lost, %")
    if lossless:
        axes.text(producers[0], 5, f"BLOCK ({', '.join(lossless)}): nothing lost", fontsize=8.5)
    return ends


def draw_park(axes, found, producers):
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(time_name)
    ends = []
    for strategy in runs.BLOCKING:
        colour, (x, middle), (_, tail) = COLOURS[strategy], *(series(found, strategy, park(name)) for name in ("p50", "p99"))
        if last_of((x, middle)) is None:
            continue
        axes.plot(x, middle, color=colour, linewidth=2, marker="o", markersize=4)
        ends.append((last_of((x, middle)), colour, f"{name_of(strategy)} p50"))
        if last_of((x, tail)):
            axes.plot(x, tail, color=colour, linewidth=1.2, linestyle="--")
            axes.fill_between(x, middle, tail, color=colour, alpha=0.13, linewidth=0)
            ends.append((last_of((x, tail)), colour, f"{name_of(strategy)} p99"))
    frame(axes, producers, "parked (DROP never parks)")
    axes.set_xlabel("producers", color=picture.FAINT)
    return ends


# --- The picture. -------------------------------------------------------------------------------------------------


def sink_title(sink, found):
    """The sink, and its effect on the drain."""
    kind, _, value = sink.partition(":")
    title = {"fast": "Fast sink", "cost": f"Sink that costs {value} ns per event"}.get(kind, f"Sink {sink}")
    drain, producer = (runs.median(run.get(name) for run in found)
                       for name in ("drain_ceiling_events_per_s", "producer_ceiling_events_per_s"))
    if drain is None or not producer:
        return title, ""
    return title, f"the drain alone takes {runs.millions(drain)} million events/s, one producer emits {runs.millions(producer)}"


def footer(found):
    run = found[-1]
    repeats = max(len(members) for members in runs.group(found, lambda r: (r.strategy, r["producers"], r["sink"])).values())
    part = lambda name, word: f"{word} {runs.size(run[name])}" if run.get(name) else None
    payload = f"payload {run['payload']} bytes" if run.get("payload") is not None else None
    settings = [part("budget_bytes", "budget"), part("segment_bytes", "segments of"), payload,
                "threads pinned" if run.pinned else "threads not pinned", f"median of {repeats} run{'s' if repeats > 1 else ''} per point"]
    return runs.machine(run), ", ".join(filter(None, settings)), grants(found)


def grants(found):
    """How much room a wait yields; without it, the waits of two strategies cannot be compared."""
    told = []
    for strategy in runs.BLOCKING:
        cells = runs.group([run for run in found if run.strategy == strategy], lambda run: (run["sink"], run["producers"]))
        sizes = [size for size in (runs.median(run.get("grant_bytes") for run in members) for members in cells.values()) if size]
        if sizes:
            least, most = round(min(sizes) / 1024), round(max(sizes) / 1024)
            told.append(f"{name_of(strategy)} {least}" + (f" to {most}" if most > least else ""))
    return f"mean grant in KiB: {', '.join(told)} (a larger grant is a longer wait, but a rarer one)" if told else ""


def draw_on(figure, found, sinks, note):
    figure.text(0.02, 0.985, "At the brim of its budget, a session drops events or parks producers", fontsize=13,
                fontweight="bold", va="top")
    figure.text(0.02, 0.945, "All producers emit as fast as they can. Above: the share of their events that is lost. Below: how\n"
                "long one that finds the budget full is parked; solid line median, dashed line 99th percentile.",
                color=picture.FAINT, va="top")
    grid = figure.add_gridspec(2, len(sinks), height_ratios=(1, 2), left=0.09, right=0.84, top=1 - (HEAD + 0.5) / HEIGHT,
                               bottom=(FOOT + 0.4) / HEIGHT, hspace=0.25, wspace=0.6)
    producers = sorted({run["producers"] for run in found})
    below, ends = None, []
    for column, sink in enumerate(sinks):
        mine = [run for run in found if run["sink"] == sink]
        above = figure.add_subplot(grid[0, column])
        below = figure.add_subplot(grid[1, column], sharey=below)
        ends += [(above, draw_loss(above, mine, producers)), (below, draw_park(below, mine, producers))]
        below.tick_params(labelleft=True)
        title, about = sink_title(sink, mine)
        above.text(0, 1.34, title, transform=above.transAxes, fontsize=11, fontweight="bold")
        above.text(0, 1.2, about, transform=above.transAxes, fontsize=8, color=picture.FAINT)
    for axes, labels in ends:  # after all panels are drawn, because columns share their scale
        label_ends(axes, labels)
    for row, text in enumerate(text for text in (*footer(found), note) if text):
        figure.text(0.02, (FOOT - 0.25 - 0.19 * row) / HEIGHT, text, fontsize=8,
                    color=WARNING if text == note else picture.FAINT)


def draw(found, note=None):
    """The SVG of runs that all have the same segment size, budget and pinning."""
    sinks = sorted(runs.group(found, lambda run: run["sink"]), key=lambda sink: sink != "fast")
    return picture.svg_of(max(WIDTH * len(sinks), 7.5), HEIGHT, lambda figure: draw_on(figure, found, sinks, note))


def chosen(found, pinned):
    """The runs to draw: those with the drawn strategies and pinning, and with the most frequent segment size and budget."""
    found = [run for run in found if run.strategy in COLOURS and run.pinned == pinned]
    if not found:
        raise runs.Failed(f"no run of DROP or BLOCK with threads {'pinned' if pinned else 'not pinned'} to draw")
    return max(runs.group(found, lambda run: (run.get("segment_bytes"), run.get("budget_bytes"))).values(), key=len)


def main():
    parser = argparse.ArgumentParser(description="Draws loss and park latency over producers.")
    parser.add_argument("runs", help="file of one JSON object per line, as matrix.py writes it")
    parser.add_argument("out", help="SVG to write")
    parser.add_argument("--pinned", action="store_true", help="draw the runs with pinned threads instead of the others")
    arguments = parser.parse_args()
    drawing = draw(chosen(runs.load(arguments.runs), arguments.pinned), runs.note_of_others(arguments.runs))
    part = f"{arguments.out}.part"
    try:
        with open(part, "w", encoding="utf-8") as out:
            out.write(drawing)
        os.replace(part, arguments.out)
    except OSError as error:
        raise runs.Failed(f"{arguments.out}: {error.strerror}") from None
    print(f"Wrote {arguments.out}.")
    return 0


if __name__ == "__main__":
    runs.run_command("plot", main)
