"""Draws what weir report shows of traces of the hosts: where the time went, and how many calls there were.

    python3 -B -m examples.picture 'TITLE=REPORT.json' ... -o OUT.svg

Each REPORT.json is what `weir report --json --by exclusive` has printed.
"""
import argparse
import json
import sys

from bench.judge import picture

SHOWN = 8
WIDTH = 4.8  # inches, of each


def report_of(argument):
    title, _, path = argument.partition("=")
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    provider = report["providers"][0]
    if not provider["totalNs"] or not provider["functions"]:
        raise ValueError(f"{path} has no function that took time")
    return title, report, provider


def draw_one(axes, title, report, provider):
    functions = provider["functions"][:SHOWN]
    shares = [100 * function["exclusiveNs"] / provider["totalNs"] for function in functions]
    bars = axes.barh(range(len(functions)), shares, color=picture.BLUE, height=0.7)
    axes.set_yticks(range(len(functions)), [function["name"].replace(".<locals>", "") for function in functions])
    axes.invert_yaxis()
    axes.bar_label(bars, [f"{share:.1f} %, {function['calls']:,} calls" for share, function in zip(shares, functions)], padding=3)
    axes.set_xlim(0, 2.5 * max(shares))
    axes.set_xticks([])
    for side in ("top", "right", "bottom"):
        axes.spines[side].set_visible(False)
    threads = len(provider["threads"])
    lost = "unknown" if report["lost"] is None else f"{report['lost']:,}"
    axes.set_title(f"{title}\n{report['eventCount']:,} events, {lost} lost, {threads} thread{'s' * (threads != 1)}", loc="left")


def draw(reports):
    def fill(figure):
        for axes, one in zip(figure.subplots(1, len(reports), squeeze=False)[0], reports):
            draw_one(axes, *one)
        figure.tight_layout(w_pad=3)
    return picture.svg_of(WIDTH * len(reports), 2.6, fill)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", nargs="+", metavar="TITLE=REPORT.json")
    parser.add_argument("-o", "--output", required=True)
    options = parser.parse_args()
    try:
        text = draw([report_of(argument) for argument in options.reports])
    except (OSError, ValueError, LookupError) as error:
        sys.exit(f"examples.picture: {error}")
    with open(options.output, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
