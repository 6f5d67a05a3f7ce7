"""The clock of a comparison as one SVG: small multiples of base and head by suite. The counts are in the comment.

Right is always worse: for figures of which more is better, the axis has base / head. The file is the same for the same
report, to the byte, so that it can be compared.
"""
import math

from bench.judge import comment, metrics, picture, series, state
from bench.judge.picture import BLUE, FAINT, GREEN, INK, PURPLE, RED, RULE

BAND = "#d8dde3"
# A colour, and a mark for print.
LOOK = {"regressed": (RED, ">"), "improved": (GREEN, "<"), "unstable": (PURPLE, "D"), "same": (BLUE, "o")}
WIDTH, ROW, NAMES, FIGURES = 11.5, 0.235, 4.0, 3.6  # inches


def plain(text, length):
    """Somebody else's words: nothing unseen, and not longer than its place."""
    text = comment.UNSEEN.sub("?", str(text))
    return text if len(text) <= length else text[:length - 1] + "…"


def cost(row):
    """Ratio and interval and control, turned so that more is worse."""
    values = [row[name] for name in ("ratio", "lo", "hi", "control_lo", "control_hi")]
    if row["better"] == "less":
        return values
    ratio, low, high, control_low, control_high = values
    return [1 / ratio, 1 / high, 1 / low, 1 / control_high, 1 / control_low]


def suites(report):
    """From the clock up, as on the page."""
    key = lambda row: series.natural((row["bench"].partition("/")[0], row["bench"], row.get("state", "")))
    found = {}
    for row in sorted(report["clock"], key=key):
        found.setdefault(row["bench"].partition("/")[0], []).append(row)
    return found


def limits(rows):
    """The same for all panels, to about one, and not wider than what can be told apart."""
    ends = [abs(math.log(value)) for row in rows for value in cost(row)]
    most = min(max(ends, default=0.0), math.log(16))
    return math.exp(-max(most, math.log(1.1)) * 1.08), math.exp(max(most, math.log(1.1)) * 1.08)


def ticks(high):
    """Round ratios on both sides of one."""
    steps = next(steps for end, steps in ((1.13, (1.05, 1.1)), (1.3, (1.1, 1.2)), (2.2, (1.25, 1.5, 2)),
                                          (5, (1.5, 2, 4)),
                                          (1e9, (2, 4, 8, 16))) if high <= end)
    some = [step for step in steps if step <= high]
    return [1 / step for step in reversed(some)] + [1] + some


# --- Panels of the clock. -----------------------------------------------------------------------------------


def draw_row(axes, y, row, low, high):
    ratio, start, end, control_start, control_end = cost(row)
    within = lambda value: min(max(value, low), high)
    colour, mark = LOOK[row["verdict"]]
    axes.barh(y, within(control_end) - within(control_start), left=within(control_start), height=0.72, color=BAND,
              linewidth=0)
    axes.plot([1], [y], marker="o", markersize=4, markerfacecolor="white", markeredgecolor=FAINT, linestyle="none")
    axes.plot([within(start), within(end)], [y, y], color=colour, linewidth=2, solid_capstyle="butt")
    axes.plot([within(ratio)], [y], marker=mark, markersize=6.5, color=colour, linestyle="none")
    bold = "bold" if row["verdict"] in ("regressed", "improved") else "normal"
    axes.annotate(state.labelled(plain(row["bench"], 40), row.get("state", "")), (0, y), xycoords=("axes fraction", "data"), xytext=(-8, 0),
                  textcoords="offset points",
                  ha="right", va="center", fontsize=8, fontweight=bold)
    factor, unit = metrics.scale(row["base"], row["unit"])
    told = [metrics.significant(row[side] / factor) for side in ("base", "head")]
    times = f"×{metrics.significant(row['ratio'])}"
    text = f"{told[0]} → {told[1]} {plain(unit, 16)} {comment.ARROW[row['better']]} · {times}"
    word = "" if row["verdict"] == "same" else f" · {row['verdict']}"
    axes.annotate(text + word, (1, y), xycoords=("axes fraction", "data"), xytext=(8, 0), textcoords="offset points",
                  ha="left",
                  va="center", fontsize=8, color=colour if word else INK, fontweight=bold)


def draw_suite(axes, name, rows, span, is_last):
    low, high = span
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.axvline(1, color=FAINT, linewidth=0.8, zorder=0)
    for y, row in enumerate(rows):
        draw_row(axes, y, row, low, high)
    # At the left edge of the names, not of the axes.
    axes.set_title(plain(name, 40), loc="left", x=-(NAMES - 0.2) / (WIDTH - NAMES - FIGURES), fontsize=10,
                   fontweight="bold", pad=4)
    axes.set_yticks([])
    axes.minorticks_off()
    places = ticks(high)
    axes.set_xticks(places, [f"×{place:.2f}" for place in places] if is_last else [])
    axes.tick_params(axis="x", length=3, labelsize=8)
    axes.grid(axis="x", color=RULE, linewidth=0.5)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    if is_last:
        axes.set_xlabel("← better · what head costs, in units of base · worse →", fontsize=9, color=FAINT)


# --- The whole. ---------------------------------------------------------------------------------------------


def heading(figure, report, height):
    top = lambda inches: 1 - inches / height
    figure.text(0.22 / WIDTH, top(0.26), f"Benchmarks: {comment.verdict(report)}", fontsize=13, fontweight="bold",
                va="center")
    told = report["environment"]
    about = [f"{plain(report['base'], 18)} → {plain(report['head'], 18)}", plain(told["cpu"], 60),
             plain(told["compiler"], 24),
             plain(told["runner"], 34)]
    figure.text(0.22 / WIDTH, top(0.50), " · ".join(about), fontsize=8, color=FAINT, va="center")
    legend = ("Bars are 95 % intervals. Grey: base against a copy of itself in the same run; a dot within it is noise. "
              "Ring: base.")
    figure.text(0.22 / WIDTH, top(0.68), legend, fontsize=8, color=FAINT, va="center")


def draw(report):
    """The SVG as text."""
    groups, span, gap = suites(report), limits(report["clock"]), 0.42
    tall = {name: len(rows) * ROW + 0.1 for name, rows in groups.items()}
    height = 0.9 + sum(tall.values()) + gap * len(groups) + 0.35

    def panels(figure):
        heading(figure, report, height)
        at = height - 0.9
        for name, rows in groups.items():
            at -= tall[name] + gap
            axes = figure.add_axes((NAMES / WIDTH, (at + 0.15) / height, (WIDTH - NAMES - FIGURES) / WIDTH,
                                    tall[name] / height))
            draw_suite(axes, name, rows, span, name == list(groups)[-1])

    return picture.svg_of(WIDTH, height, panels)
