"""Snapshots of a Lua program's heap: rebuilt by TraceEvent, where each edge leads to a node, each type is known, and the counts are those
that the script makes; and collected, converted and reported by dotnet-gcdump, in the same figures as by weir heap."""
import contextlib
import json
import pathlib
import re
import subprocess
import tempfile

from readers import Failed, call, tail

COUNT = 500  # of each shape


@contextlib.contextmanager
def running(args):
    """A host with the heap; its process id."""
    with subprocess.Popen([args.host.resolve(), "--diagnostics", args.script.resolve(), str(COUNT), "60"],
                          stdout=subprocess.PIPE, text=True) as host:
        try:
            host.stdout.readline()
            yield host.pid
        finally:
            host.kill()


def weir(args, *arguments):
    done = call([args.weir.resolve(), *arguments], 60)
    if done.returncode:
        raise Failed(f"weir {arguments[0]}, exit status {done.returncode}:\n    {tail(done)}")
    return done.stdout


def collect(args, file):
    with running(args) as host:
        weir(args, "collect", "-p", host, "--mode", "block", "--budget", "1", "--duration", "2", "-o", file,
             "--providers", "Microsoft-Windows-DotNETRuntime:0x1980001:5")


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


def by_type(report):
    """What dotnet-gcdump report prints, without its own division of types by size. Rows of several objects have the bytes of one."""
    counts = {}
    for count, name in re.findall(r"^ +[\d,]+ +([\d,]+)  (.+?)(?: \(Bytes > \w+\))?(?:  \[.*\])?$", report, re.MULTILINE):
        counts[name] = counts.get(name, 0) + int(count.replace(",", ""))
    return counts


def same_report(readers, args, gcdump, source):
    """Of a .gcdump by dotnet-gcdump, and of that or of its trace by weir."""
    theirs, ours = readers.gcdump("report", gcdump), json.loads(weir(args, "heap", "report", "--json", source))
    counts = {t["name"]: t["count"] for t in ours["types"]}
    total = int(re.match(r"\s*([\d,]+)  GC Heap bytes", theirs)[1].replace(",", ""))
    if not ours["complete"] or by_type(theirs) != counts or total != ours["bytes"] or counts.get("Pair") != COUNT:
        raise Failed(f"dotnet-gcdump: {total} bytes, {by_type(theirs)}; weir: {ours['bytes']} bytes, {counts}")
    return f"{ours['objects']} objects, {ours['bytes']} bytes"


def check_collected(readers, args, folder):
    with running(args) as host:
        readers.gcdump("collect", "-p", host, "-o", folder / "collected.gcdump")
    return same_report(readers, args, folder / "collected.gcdump", folder / "collected.gcdump")


def check_exported(readers, args, folder):
    """Of one trace, dotnet-gcdump convert and weir heap export make the same."""
    with running(args) as host:
        weir(args, "heap", "collect", "-p", host, "-o", folder / "heap.nettrace")
    weir(args, "heap", "export", "--to", "gcdump", "-o", folder / "ours.gcdump", folder / "heap.nettrace")
    readers.gcdump("convert", folder / "heap.nettrace", "-o", folder / "theirs.gcdump")
    graphs = [json.loads(weir(args, "heap", "export", "--to", "json", folder / name)) for name in ("ours.gcdump", "theirs.gcdump")]
    edges = [{o["address"]: (o["size"], sorted(g["objects"][e]["address"] for e in o["edges"])) for o in g["objects"]} for g in graphs]
    if edges[0] != edges[1]:
        raise Failed(f"{sum(edges[0].get(a) != e for a, e in edges[1].items())} of {len(edges[1])} objects differ")
    return same_report(readers, args, folder / "ours.gcdump", folder / "heap.nettrace")


def run_heap(readers, args):
    yield "a heap of Lua", lambda: check_lua(readers, args)


def run_gcdump(readers, args):
    with tempfile.TemporaryDirectory(prefix="weir-interop-") as name:
        folder = pathlib.Path(name)
        yield "dotnet-gcdump collect and report", lambda: check_collected(readers, args, folder)
        yield "weir heap export, dotnet-gcdump convert and report", lambda: check_exported(readers, args, folder)
