"""./dev bench plot: the history as a page, or the report of a comparison as a graph and a comment.

Without --report: results/history/ as one HTML file with all in it (default out/bench/index.html), for file:// and
without a network. It needs npm and its registry the first time, for the chart library. With --report FILE, which ./dev
bench ab --report wrote: graph.svg and comment.md in a folder (default out/bench/pr).
"""
import os

from bench.judge import command, points, series
from bench.judge.points import Invalid


def usage(argv):
    parser = command.parser("plot", __doc__)
    parser.add_argument("--report", metavar="FILE", help="of ./dev bench ab; draw this instead of the history")
    parser.add_argument("-o", "--out", help="file of the page, or folder for what is made of a report")
    parser.add_argument("--last", type=int, help=f"points of each series, for the page; default {series.LAST}")
    parser.add_argument("--history", help="folder of NDJSON, for the page; default results/history")
    parser.add_argument("--graph-url", metavar="URL", help="where graph.svg will be, for the comment")
    arguments = parser.parse_args(argv)
    if arguments.report and (arguments.last or arguments.history):
        parser.error("--last and --history are about the page, and --report asks for another picture")
    if arguments.graph_url and not arguments.report:
        parser.error("--graph-url is about the comment of a --report")
    if arguments.last is not None and arguments.last < 1:
        parser.error("--last is positive")
    return arguments


def plot_history(arguments):
    from bench.judge import page  # pylint: disable=import-outside-toplevel

    folder, out = arguments.history or points.HISTORY, arguments.out or os.path.join(points.ROOT, "out", "bench",
                                                                                     "index.html")
    if arguments.history and not os.path.isdir(folder):
        raise Invalid(f"{folder}: no such folder")
    page.install()
    progress = command.Progress()
    found = series.load(folder)
    data = page.data_of(found, arguments.last or series.LAST, progress=progress.show)
    progress.end()
    command.write(out, page.html(data))
    changes = sum(len(panel["changes"]) for panel in data["series"])
    print(f"Wrote {os.path.relpath(out)}: {len(data['series'])} series, {changes} change points.")


def plot_report(arguments):
    from bench.judge import comment  # pylint: disable=import-outside-toplevel
    from bench.judge import graph  # pylint: disable=import-outside-toplevel
    from bench.judge import reports  # pylint: disable=import-outside-toplevel

    folder = arguments.out or os.path.join(points.ROOT, "out", "bench", "pr")
    report = reports.read(arguments.report)
    command.write(os.path.join(folder, "graph.svg"), graph.draw(report))
    command.write(os.path.join(folder, "comment.md"), comment.render(report, arguments.graph_url))
    print(f"Wrote {os.path.relpath(folder)}/comment.md and graph.svg: {comment.verdict(report)}.")


def main(argv=None):
    arguments = usage(argv)
    (plot_report if arguments.report else plot_history)(arguments)
    return 0


if __name__ == "__main__":
    command.run("plot", main)
