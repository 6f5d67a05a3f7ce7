"""What all static pictures have in common: matplotlib's style, colours, and an SVG that is the same for the same data."""
import io

import matplotlib

matplotlib.use("svg")

import matplotlib.pyplot as pyplot  # noqa: E402  pylint: disable=wrong-import-position

INK, FAINT, RULE, PAPER = "#1f2328", "#59636e", "#d0d7de", "#ffffff"
# Okabe and Ito's colours stay apart for the colour-blind.
BLUE, GREEN, RED, PURPLE = "#0072b2", "#009e73", "#d55e00", "#cc79a7"
STYLE = {"svg.fonttype": "none", "svg.hashsalt": "weir", "text.parse_math": False, "font.size": 9, "text.color": INK,
         "hatch.linewidth": 0.7, "figure.facecolor": PAPER, "axes.facecolor": PAPER, "axes.edgecolor": RULE,
         "xtick.color": FAINT, "ytick.color": FAINT}


def svg_of(width, height, draw):
    """The SVG of a figure of so many inches that `draw` fills."""
    with pyplot.rc_context(STYLE):
        figure = pyplot.figure(figsize=(width, height))
        try:
            draw(figure)
            text = io.StringIO()
            figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
        finally:
            pyplot.close(figure)
    return text.getvalue()
