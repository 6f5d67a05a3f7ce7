"""Draws what happens at the brim: the share of events lost, and how long producers are parked, over their number.

    plot.py RUNS.ndjson OUT.svg [--pinned]

One column per sink, one line per strategy, each line the median of its repetitions. Written as SVG by hand: it needs no
package, and its text stays text. Exit codes: 0, 1 failed, 2 usage.
"""
import argparse
import math
import os
from xml.sax.saxutils import escape

from bench.stress import runs

# Colours that stay apart for the colour-blind (Okabe and Ito).
COLOURS = {"DROP": "#3d3d3d", runs.AUTO_RESET: "#d55e00", runs.FIFO: "#0072b2", runs.RELAY: "#009e73"}
INK, FAINT, GRID, WARNING = "#222222", "#666666", "#e3e3e3", "#b00020"

PANEL_WIDTH, LABEL_WIDTH, LEFT, TOP, GAP = 400, 128, 74, 112, 56
HEAD, LOSS_HEIGHT, PARK_HEIGHT = 46, 160, 340
LABEL_STEP = 16


# --- Figures: per strategy, a list of (producers, value or None). -----------------------------------------------


def series(found, strategy, value):
    points = runs.group([run for run in found if run.strategy == strategy], lambda run: run["producers"])
    return [(producers, runs.median(value(run) for run in members)) for producers, members in sorted(points.items())]


def name_of(strategy):
    return strategy.rpartition("/")[2]


def loss(run):
    return None if run.loss_share is None else 100 * run.loss_share


def park(name):
    return lambda run: None if run.park(name) is None else run.park(name) / 1000


# --- Scales. --------------------------------------------------------------------------------------------------------


class Scale:
    """Maps figures to places on the page, linearly or by their logarithm."""

    def __init__(self, low, high, start, end, log):
        self.form = math.log10 if log else float
        self.low, self.span = self.form(low), self.form(high) - self.form(low)
        self.start, self.end = start, end

    def at(self, value):
        return self.start + (self.end - self.start) * (self.form(value) - self.low) / self.span


def limits_of(values):
    """The figures' range, widened to 1, 2 or 5 times a power of ten."""
    values = [value for value in values if value and value > 0] or [1, 1000]
    steps = [digit * 10.0**power for power in range(-4, 10) for digit in (1, 2, 5)]
    low = max(step for step in steps if step <= max(min(values), steps[0]))
    high = min((step for step in steps if step >= max(values)), default=steps[-1])
    return low, max(high, 10 * low)


def powers_of_ten(low, high):
    return [10.0**power for power in range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)]


def time_name(us):
    for unit, name in ((1e6, "s"), (1e3, "ms"), (1, "us")):
        if us >= unit:
            return f"{us / unit:g} {name}".replace("us", "µs")
    return f"{us * 1000:g} ns"


def spread_out(places, step, low, high):
    """The same places moved apart to at least `step`, as little as that takes, within low and high."""
    order = sorted(range(len(places)), key=lambda index: places[index])
    clusters = []  # [indices, centre]
    for index in order:
        clusters.append([[index], places[index]])
        while len(clusters) > 1:
            (first, one), (second, other) = clusters[-2:]
            if other - one >= step * (len(first) + len(second)) / 2:
                break
            both = first + second
            clusters[-2:] = [[both, (one * len(first) + other * len(second)) / len(both)]]
    moved = list(places)
    for members, centre in clusters:
        half = step * (len(members) - 1) / 2
        centre = min(max(centre, low + half), high - half)
        for place, index in enumerate(members):
            moved[index] = centre - half + place * step
    return moved


# --- Marks. --------------------------------------------------------------------------------------------------------


class Page:
    def __init__(self):
        self.parts = []

    def add(self, part):
        self.parts.append(part)

    def text(self, x, y, what, size=13, colour=INK, anchor="start", weight="normal", extra=""):
        self.add(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}" font-weight="{weight}"'
                 f'{extra}>{escape(what)}</text>')

    def line(self, x1, y1, x2, y2, colour=GRID, width=1.0, extra=""):
        self.add(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width}"{extra}/>')

    def path(self, points, colour, width, dashes=""):
        """A line with a gap wherever there is no figure."""
        for piece in pieces(points):
            if len(piece) > 1:
                steps = " ".join(f"{x:.1f},{y:.1f}" for x, y in piece)
                self.add(f'<polyline points="{steps}" fill="none" stroke="{colour}" stroke-width="{width}" stroke-linejoin="round"'
                         f'{dashes}/>')

    def dots(self, points, colour):
        for x, y in filter(None, points):
            self.add(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" fill="{colour}" stroke="#ffffff" stroke-width="1"/>')

    def band(self, lower, upper, colour):
        both = [pair and (pair[0], pair[1]) for pair in (low and high and (low, high) for low, high in zip(lower, upper))]
        for piece in pieces(both):
            if len(piece) > 1:
                around = [low for low, _ in piece] + [high for _, high in reversed(piece)]
                steps = " ".join(f"{x:.1f},{y:.1f}" for x, y in around)
                self.add(f'<polygon points="{steps}" fill="{colour}" fill-opacity="0.13" stroke="none"/>')

    def svg(self, width, height):
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
                'font-family="DejaVu Sans, Verdana, Helvetica, Arial, sans-serif">\n'
                f'<rect width="{width}" height="{height}" fill="#ffffff"/>\n' + "\n".join(self.parts) + "\n</svg>\n")


def pieces(points):
    """Runs of neighbours that are there."""
    found = [[]]
    for point in points:
        if point is None:
            found.append([])
        else:
            found[-1].append(point)
    return [piece for piece in found if piece]


# --- Panels. -------------------------------------------------------------------------------------------------------


class Panel:
    def __init__(self, page, found, x, y, height, producers):
        self.page, self.found, self.x, self.y, self.height = page, found, x, y, height
        low, high = min(producers), max(max(producers), 2 * min(producers))
        self.across = Scale(low / 1.15, high * 1.15, x, x + PANEL_WIDTH, log=True)
        self.producers = producers

    def frame(self, labelled):
        bottom = self.y + self.height
        for producers in self.producers:
            at = self.across.at(producers)
            self.page.line(at, bottom, at, bottom + 4, FAINT)
            if labelled:
                self.page.text(at, bottom + 18, str(producers), 12, FAINT, "middle")
        self.page.line(self.x, bottom, self.x + PANEL_WIDTH, bottom, FAINT)
        if labelled:
            self.page.text(self.x + PANEL_WIDTH / 2, bottom + 37, "producers", 12, FAINT, "middle")

    def ticks(self, scale, values, name):
        for value in values:
            at = scale.at(value)
            self.page.line(self.x, at, self.x + PANEL_WIDTH, at)
            self.page.text(self.x - 7, at + 4, name(value), 12, FAINT, "end")

    def place(self, points, scale):
        return [None if value is None or value <= 0 and scale.form is math.log10 else (self.across.at(p), scale.at(value))
                for p, value in points]

    def labels(self, ends):
        """ends: (last point of a line, colour, text)."""
        moved = spread_out([y for (_, y), _, _ in ends], LABEL_STEP, self.y + 4, self.y + self.height - 4)
        x = self.x + PANEL_WIDTH
        for ((last, y), colour, what), place in zip(ends, moved):
            self.page.line(last + 4, y, x + 6, place, colour, 0.8)
            self.page.text(x + 9, place + 4.5, what, 12, colour, weight="bold")


def loss_panel(panel):
    scale = Scale(0, 100, panel.y + panel.height, panel.y, log=False)
    panel.ticks(scale, (0, 25, 50, 75, 100), lambda value: f"{value} %")
    ends, blocks = [], []
    for strategy in runs.STRATEGIES:
        points = series(panel.found, strategy, loss)
        places = panel.place(points, scale)
        if not pieces(places):
            continue
        colour = COLOURS[strategy]
        panel.page.path(places, colour, 2.2)
        panel.page.dots(places, colour)
        last = pieces(places)[-1][-1]
        if strategy != "DROP" and all(not value for _, value in points):
            blocks.append(name_of(strategy))
        else:
            ends.append((last, colour, name_of(strategy)))
    if blocks:
        panel.page.text(panel.across.at(panel.producers[0]), scale.at(0) - 8, f"BLOCK ({', '.join(blocks)}): nothing lost", 12, INK)
    panel.labels(ends)
    panel.frame(labelled=False)


def park_panel(panel, limits):
    scale = Scale(*limits, panel.y + panel.height, panel.y, log=True)
    panel.ticks(scale, powers_of_ten(*limits), time_name)
    drawn = []
    for strategy in runs.STRATEGIES[1:]:
        middle = panel.place(series(panel.found, strategy, park("p50")), scale)
        tail = panel.place(series(panel.found, strategy, park("p99")), scale)
        if pieces(middle):
            drawn.append((strategy, middle, tail))
            panel.page.band(middle, tail, COLOURS[strategy])
    for strategy, _, tail in drawn:
        panel.page.path(tail, COLOURS[strategy], 1.3, ' stroke-dasharray="5 3"')
    for strategy, middle, _ in drawn:
        panel.page.path(middle, COLOURS[strategy], 2.4)
        panel.page.dots(middle, COLOURS[strategy])
    ends = []
    for strategy, middle, tail in drawn:
        colour = COLOURS[strategy]
        ends.append((pieces(middle)[-1][-1], colour, f"{name_of(strategy)} p50"))
        if pieces(tail):
            ends.append((pieces(tail)[-1][-1], colour, f"{name_of(strategy)} p99"))
    panel.labels(ends)
    panel.frame(labelled=True)


# --- The page. ------------------------------------------------------------------------------------------------------


def sink_title(sink, found):
    """The sink, and what it means for the drain."""
    kind, _, value = sink.partition(":")
    title = {"fast": "Fast sink", "cost": f"Sink that costs {value} ns an event"}.get(kind, f"Sink {sink}")
    drain, producer = (runs.median(run.get(name) for run in found)
                       for name in ("drain_ceiling_events_per_s", "producer_ceiling_events_per_s"))
    if drain is None or not producer:
        return title, ""
    return title, f"the drain alone takes {runs.millions(drain)} million events/s, one producer alone emits {runs.millions(producer)}"


def footer(found):
    run = found[-1]
    repeats = max(len(members) for members in runs.group(found, lambda r: (r.strategy, r["producers"], r["sink"])).values())
    part = lambda name, word: f"{word} {runs.size(run[name])}" if run.get(name) else None
    payload = f"payload {run['payload']} bytes" if run.get("payload") is not None else None
    settings = [part("budget_bytes", "budget"), part("segment_bytes", "segments of"), payload,
                "threads pinned" if run.pinned else "threads not pinned", f"median of {repeats} run{'s' if repeats > 1 else ''} a point"]
    return runs.machine(run), ", ".join(filter(None, settings)), grants(found)


def grants(found):
    """How much room a wait brings, without which the waits of two strategies cannot be compared."""
    told = []
    for strategy in runs.STRATEGIES[1:]:
        cells = runs.group([run for run in found if run.strategy == strategy], lambda run: (run["sink"], run["producers"]))
        sizes = [size for size in (runs.median(run.get("grant_bytes") for run in members) for members in cells.values()) if size]
        if sizes:
            least, most = round(min(sizes) / 1024), round(max(sizes) / 1024)
            told.append(f"{name_of(strategy)} {least}" + (f" to {most}" if most > least else ""))
    return f"mean grant in KiB: {', '.join(told)} (a larger grant is a longer wait, but a rarer one)" if told else ""


def draw(found, note=None):
    """The SVG of runs that all have the same segment, budget and pinning."""
    sinks = list(runs.group(found, lambda run: run["sink"]))
    sinks.sort(key=lambda sink: sink != "fast")
    producers = sorted({run["producers"] for run in found})
    lines = [series([run for run in found if run["sink"] == sink], strategy, park(name))
             for sink in sinks for strategy in runs.STRATEGIES for name in ("p50", "p99")]
    limits = limits_of([value for line in lines for _, value in line])
    page = Page()
    width = LEFT + len(sinks) * (PANEL_WIDTH + LABEL_WIDTH) + (len(sinks) - 1) * GAP + 10
    page.text(22, 32, "At the brim of its budget, a session drops events or parks producers", 19, weight="bold")
    page.text(22, 54, "All producers emit as fast as they can. Above: the share of their events that is lost.", 13, FAINT)
    page.text(22, 71, "Below: how long one that finds the budget full is parked; solid line median, dashed line 99th percentile.", 13,
              FAINT)
    for column, sink in enumerate(sinks):
        mine = [run for run in found if run["sink"] == sink]
        x, y = LEFT + column * (PANEL_WIDTH + LABEL_WIDTH + GAP), TOP
        title, about = sink_title(sink, mine)
        page.text(x, y - 7, title, 15, weight="bold")
        page.text(x, y + 9, about, 11, FAINT)
        page.text(x, y + HEAD - 9, "events lost", 12, FAINT)
        loss_panel(Panel(page, mine, x, y + HEAD, LOSS_HEIGHT, producers))
        y += HEAD + LOSS_HEIGHT + 34
        page.text(x, y, "parked (DROP never parks)", 12, FAINT)
        park_panel(Panel(page, mine, x, y + 10, PARK_HEIGHT, producers), limits)
    bottom = TOP + HEAD + LOSS_HEIGHT + 34 + 10 + PARK_HEIGHT + 62
    below = [(what, FAINT) for what in footer(found) if what] + ([(note, WARNING)] if note else [])
    for row, (what, colour) in enumerate(below):
        page.text(22, bottom + 15 * row, what, 11, colour)
    return page.svg(width, bottom + 15 * len(below))


def chosen(found, pinned):
    """The runs to draw: of the strategies drawn, pinned or not, and of the segment and budget that most have."""
    found = [run for run in found if run.strategy in COLOURS and run.pinned == pinned]
    if not found:
        raise runs.Failed(f"no run of DROP or BLOCK with threads {'pinned' if pinned else 'not pinned'} to draw")
    return max(runs.group(found, lambda run: (run.get("segment_bytes"), run.get("budget_bytes"))).values(), key=len)


def main():
    parser = argparse.ArgumentParser(description="Draws loss and park latency over producers.")
    parser.add_argument("runs", help="file of one JSON object per line, as matrix.py writes it")
    parser.add_argument("out", help="SVG to write")
    parser.add_argument("--pinned", action="store_true", help="the runs with pinned threads instead of the others")
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
