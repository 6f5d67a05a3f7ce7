"""What `weir cut` writes: TraceEvent finds in it the events and losses that `weir stat` finds, and dotnet-trace its stacks."""
import json
import os
import pathlib
import tempfile

from readers import Failed, call, tail

# Of each trace, what to keep: arrays and objects, stacks with the names of their methods, threads that come and go.
KEPT = {
    "eventpipe-dotnetcore3.0-win-x64-objver4": ["--event", "80", "--event", "10"],
    "eventpipe-dotnetcore5.0-win-x64-arraytypes": [],
    "eventpipe-dotnetcore6.0-win-x64-executioncheckpoints": [],
    "only_managed_samples": ["--provider", "Microsoft-DotNETCore-SampleProfiler", "--provider", "Microsoft-Windows-DotNETRuntimeRundown"],
}
STACKS, FRAME = "only_managed_samples", "Program.FindByte"


def cut(weir, file, out, *options):
    done = call([weir, "cut", *options, file, "-o", out], 120)
    if done.returncode not in (0, 3):
        raise Failed(f"exit status {done.returncode}:\n    {tail(done)}")


def compare(readers, weir, file):
    ours, theirs = json.loads(call([weir, "stat", "--json", file], 120).stdout), readers.summary(file)
    mine, others = {}, {}
    for row in ours["events"]:
        mine[row["provider"], row["id"]] = mine.get((row["provider"], row["id"]), 0) + row["count"]
    for row in theirs["counts"]:
        others[row["provider"], row["event_id"]] = others.get((row["provider"], row["event_id"]), 0) + row["count"]
    if mine != others or not mine:
        raise Failed(f"events: weir has {mine}, TraceEvent {others}")
    if theirs["events_lost"] != ours["lost"] or not theirs["rising"]:
        raise Failed(f"TraceEvent has {theirs['events_lost']} lost, weir {ours['lost']}; {theirs['first_violation'] or 'times rise'}")
    return f"{theirs['events']} events, {theirs['events_lost']} lost"


def check_real(readers, weir, file):
    with tempfile.TemporaryDirectory(prefix="weir-interop-") as folder:
        out = pathlib.Path(folder) / "part.nettrace"
        cut(weir, file, out, *KEPT[file.stem])
        return compare(readers, weir, out)


def check_stacks(readers, weir, file):
    with tempfile.TemporaryDirectory(prefix="weir-interop-") as folder:
        out = pathlib.Path(folder) / "part.nettrace"
        cut(weir, file, out, *KEPT[STACKS])
        done = readers.trace("report", out, "topN", "-n", "50")
        if done.returncode or FRAME not in done.stdout:
            raise Failed(f"exit status {done.returncode}, no {FRAME}:\n    {tail(done)}")
        return FRAME


def check_losses(readers, args):
    """A budget of 64 KiB for a million calls, of which every second event stays."""
    with tempfile.TemporaryDirectory(prefix="weir-interop-") as folder:
        file, out = pathlib.Path(folder) / "all.nettrace", pathlib.Path(folder) / "part.nettrace"
        done = call([args.host.resolve(), args.script], 120,
                    env={**os.environ, "WEIR_SESSION": f"Lua:0x1:5;file={file};mode=drop;budget=64K"})
        if done.returncode:
            raise Failed(f"exit status {done.returncode}:\n    {tail(done)}")
        weir = args.weir.resolve()
        cut(weir, file, out, "--event", "Return")
        lost = [json.loads(call([weir, "stat", "--json", path], 120).stdout)["lost"] for path in (file, out)]
        if lost[0] != lost[1]:
            raise Failed(f"the trace lost {lost[0]}, its part {lost[1]}")
        return compare(readers, weir, out)


def run_cut(readers, args):
    weir = args.weir.resolve()
    for name in KEPT:
        file = args.folder / f"{name}.nettrace"
        yield f"TraceEvent, part of {name}", lambda file=file: check_real(readers, weir, file)
    yield f"dotnet-trace report, part of {STACKS}", lambda: check_stacks(readers, weir, args.folder / f"{STACKS}.nettrace")
    yield "TraceEvent, losses in a part", lambda: check_losses(readers, args)
