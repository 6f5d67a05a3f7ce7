"""The heap of a Lua program, from the request to a graph with every node and edge: how long weir heap collect takes."""
import os
import subprocess
import tempfile
import time

from bench.judge import points, process
from bench.stress import runs

SCRIPT = os.path.join(points.ROOT, "examples", "lua-host", "tests", "two_million.lua")
SHAPES = ("Pair", "Leaf", "List", "table")


def check(report, count):
    """Every object of each shape is there. The program has tables of its own besides."""
    found = {row["name"]: row["count"] for row in report["types"]}
    counts = [found.get(shape, 0) for shape in SHAPES]
    if not report["complete"] or counts[:3] != [count] * 3 or counts[3] < count or report["edges"] < 6 * count - 1:
        raise runs.Failed(f"the graph is not that of the script: {report['reason']}, {dict(zip(SHAPES, counts))}, {report['edges']} edges")


def take(weir, host, count, timeout_s):
    with tempfile.TemporaryDirectory(prefix="weir-heap-") as folder:
        file = os.path.join(folder, "heap.nettrace")
        with subprocess.Popen([host, "--diagnostics", SCRIPT, str(count), str(timeout_s)], stdout=subprocess.PIPE) as program:
            try:
                program.stdout.readline()
                start = time.monotonic()
                process.output([weir, "heap", "collect", "-p", str(program.pid), "--budget", "1", "-o", file], timeout_s)
                seconds = time.monotonic() - start
            finally:
                program.kill()
        report = points.read_json(process.output([weir, "heap", "report", "--json", file], timeout_s), "weir heap report")
    check(report, count)
    return {"seconds": seconds}
