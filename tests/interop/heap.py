"""A snapshot of a Lua program's heap, rebuilt by TraceEvent as dotnet-gcdump rebuilds it: each edge leads to a node, each type is known, and
the counts are those that the script makes."""
import pathlib
import subprocess
import tempfile

from readers import Failed, call, tail

COUNT = 500  # of each shape


def collect(args, file):
    with subprocess.Popen([args.host.resolve(), "--diagnostics", args.script.resolve(), str(COUNT), "60"],
                          stdout=subprocess.PIPE, text=True) as host:
        try:
            host.stdout.readline()
            done = call([args.weir.resolve(), "collect", "-p", host.pid, "--mode", "block", "--budget", "1", "--duration", "2", "-o", file,
                         "--providers", "Microsoft-Windows-DotNETRuntime:0x1980001:5"], 60)
        finally:
            host.kill()
    if done.returncode:
        raise Failed(f"weir collect, exit status {done.returncode}:\n    {tail(done)}")


def check_lua(readers, args):
    with tempfile.TemporaryDirectory(prefix="weir-interop-") as folder:
        file = pathlib.Path(folder) / "heap.nettrace"
        collect(args, file)
        summary = readers.summary(file)
    heap = summary["heap"]
    if heap is None or heap["problem"] or summary["events_lost"]:
        raise Failed(f"{heap and heap['problem']}, {summary['events_lost']} events lost")
    counts = {t["name"]: t["count"] for t in heap["types"]}
    if [counts.get(name) for name in ("Pair", "Leaf", "List")] != [COUNT] * 3 or counts["table"] < COUNT or "_G" not in heap["statics"]:
        raise Failed(f"types: {counts}, static variables: {heap['statics']}")
    return f"{heap['nodes']} nodes, {heap['edges']} edges, {len(counts)} types"


def run_heap(readers, args):
    yield "a heap of Lua", lambda: check_lua(readers, args)
