#!/usr/bin/env python3
"""Runs .NET's own tools, unmodified, on nettrace files and on processes with a diagnostics server, and checks what they
report.

Restored from the machine's package sources are the dotnet-trace tool, and two libraries, each called through a small
program: TraceEvent (traceevent/) and NETCore.Client (client/). Without an SDK, or if the packages cannot be restored, the
tests are skipped with the reason; they never pass.

Exit status: 0 all checks passed, 1 a check failed, 77 skipped (1 with --require), 2 wrong usage.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import struct
import sys
import tempfile
import zlib

import attach
import collect
import cut
import heap
from readers import CLIENT, DOTNET_TRACE, READER, Failed, Readers, Skip, call, tail

WRITER_FILES = tuple(name + version for name in ("fields", "versions", "contexts", "loss", "threads", "starved", "snapshot") for version in ("", "-v6"))


# ---------------------------------------------------------------------------------------------------------
# Comparing a summary with an expectation

def event_counts(rows, ignored=()):
    counts = {}
    for row in rows:
        key = f"{row['provider']}/{row['event_id']}"
        if key not in ignored:
            counts[key] = counts.get(key, 0) + row["count"]
    return counts


def same_value(got, kind, want):
    """kind is the .NET type name from the reader; an expectation may give 64-bit integers as text."""
    kind = kind or ""
    if isinstance(got, list):
        return isinstance(want, list) and len(got) == len(want) and all(same_value(g, kind.removesuffix("[]"), w) for g, w in zip(got, want))
    if isinstance(got, dict):
        return isinstance(want, dict) and got.keys() == want.keys() and all(same_value(got[k], None, want[k]) for k in got)
    if isinstance(got, bool):
        return want in (0, 1) and got == bool(want)
    if isinstance(got, float) or kind in ("Single", "Double"):
        try:
            got, want = float(got), float(want)
            form = "<f" if kind == "Single" else "<d"
            return (got != got and want != want) or struct.pack(form, got) == struct.pack(form, want)  # bits: -0 is not 0
        except (TypeError, ValueError, OverflowError):
            return False
    if isinstance(got, int):
        return not isinstance(want, bool) and (got == want or str(got) == want)
    if kind == "Char" and isinstance(want, int):
        return len(got) == 1 and ord(got) == want
    if kind == "Guid" and isinstance(want, str):
        return got == want.lower()
    return got == want


def differences(what, got, want):
    for key in sorted(got.keys() | want.keys()):
        if got.get(key) != want.get(key):
            yield f"{what} {key}: TraceEvent has {got.get(key, 'none')}, expected {want.get(key, 'none')}"


def field_differences(key, event, want):
    got = {f["name"]: f for f in event["fields"]}
    if got.keys() != want.keys():
        yield f"{key}: fields are {sorted(got)}, expected {sorted(want)}"
    for name in got.keys() & want.keys():
        if not same_value(got[name]["value"], got[name]["type"], want[name]):
            yield f"{key} {name}: TraceEvent has {got[name]['value']!a} ({got[name]['type']}), expected {want[name]!a}"


def context_differences(key, summary, want):
    """A stack as the details have it: of all events with this id."""
    count, frames = sum(r["count"] for r in summary["counts"] if f"{r['provider']}/{r['event_id']}" == key), len(want["stack"])
    wanted = {"stacks": count if frames else 0, "frames": count * frames, "stack_sum": count * zlib.crc32(struct.pack(f"<{frames}Q", *want["stack"]))}
    rows = [r for r in summary["details"]["rows"] if f"{r['provider']}/{r['event_id']}" == key]
    yield from differences(key, {name: sum(row[name] for row in rows) for name in wanted}, wanted)
    events = [e for e in summary["payloads"] if f"{e['provider']}/{e['event_id']}" == key]
    wanted = {name: want[name] for name in ("activity", "related_activity")}
    yield from differences(key, {name: events[0][name] if events else None for name in wanted}, wanted)


def compare(summary, expect):
    """Yields a line for each difference. An expectation is a JSON object; all members but "events" may be left out:

        "events": {"Provider/id": count} all events of the file, exactly "threads": {"os thread id":
        {"Provider/id": n}} likewise, thread by thread "events_lost": count "ignore":
        ["Provider/id"] events of the library itself, whose number is up to it; they are left out of
        "events" and "threads" "rising": true no timestamp is older than the one before "fields":
        {"Provider/id": {"name": value}} all fields of the first event, or a list of such objects
        for the first few; bytes are hex, a DateTime is its FILETIME "contexts": {"Provider/id":
        {"stack": addresses, "activity": id, "related_activity": id}} of all events, and of the first one
    """
    unknown = expect.keys() - {"events", "threads", "events_lost", "fields", "rising", "ignore", "contexts"}
    if unknown or "events" not in expect:
        yield f"the expectation lacks 'events' or has unknown members: {sorted(unknown)}"
        return
    ignored = expect.get("ignore", [])
    yield from differences("events", event_counts(summary["counts"], ignored), expect["events"])
    if "events_lost" in expect:
        yield from differences("count of", {"events_lost": summary["events_lost"]}, {"events_lost": expect["events_lost"]})
    if "rising" in expect:
        yield from differences("property", {"rising": summary["rising"]}, {"rising": expect["rising"]})
        if expect["rising"] and summary["first_violation"]:
            yield f"first step back in time: {summary['first_violation']}"
    if "threads" in expect:
        threads = {str(row["thread"]) for row in summary["threads"]}
        got = {t: event_counts((r for r in summary["threads"] if str(r["thread"]) == t), ignored) for t in threads}
        for thread in sorted(threads | expect["threads"].keys()):
            yield from differences(f"thread {thread}, events", got.get(thread, {}), expect["threads"].get(thread, {}))
    for key, want in expect.get("contexts", {}).items():
        yield from context_differences(key, summary, want)
    for key, want in expect.get("fields", {}).items():
        # One object for the first event with this id, or a list for the first few.
        wanted = want if isinstance(want, list) else [want]
        events = [e for e in summary["payloads"] if f"{e['provider']}/{e['event_id']}" == key]
        if len(events) < len(wanted):
            yield f"{key}: TraceEvent has {len(events)} of {len(wanted)} events whose fields are expected"
        for event, fields in zip(events, wanted):
            yield from field_differences(key, event, fields)


# ---------------------------------------------------------------------------------------------------------
# The checks. Each takes one file and raises Failed, or returns what to print.

def check_expectation(readers, file, expect_file):
    expect = json.loads(pathlib.Path(expect_file).read_text(encoding="utf-8"))
    payloads = max((len(f) if isinstance(f, list) else 1 for f in expect.get("fields", {}).values()), default=1)
    summary = readers.summary(file, payloads, details="contexts" in expect)
    found = list(compare(summary, expect))
    if found:
        raise Failed("\n    ".join(found))
    return f"{summary['events']} events, {summary['events_lost']} lost, as expected ({', '.join(sorted(expect))})"


def counts_of(readers, file):
    """What TraceEvent finds, but for its own form of a trace, which alone has stacks, and lacks some of the events: null."""
    summary = readers.summary(file, details=True)
    if not summary["rising"]:
        raise Failed(f"timestamps step back: {summary['first_violation']}")
    rows = summary["details"]["rows"]
    for row in rows:
        logged = row.pop("logged")
        if logged not in (0, row["count"]):
            raise Failed(f"of {row['count']} events {row['provider']}/{row['event_id']}, {logged} may have stacks")
        if not logged:
            row.update(stacks=None, frames=None, stack_sum=None)
    return {"file": file.name, "reader": READER, "events": summary["events"], "events_lost": summary["events_lost"],
            "counts": rows, "described": summary["details"]["described"]}


def write_counts(readers, file):
    members = []
    for key, value in counts_of(readers, file).items():
        rows = ",\n".join("    " + json.dumps(row) for row in value) if isinstance(value, list) else ""
        members.append(f"  {json.dumps(key)}: " + (f"[\n{rows}\n  ]" if rows else json.dumps(value)))
    file.with_suffix(".counts.json").write_text("{\n" + ",\n".join(members) + "\n}\n", encoding="utf-8")
    return f"wrote {file.with_suffix('.counts.json').name}"


def check_counts(readers, file):
    got, want = counts_of(readers, file), json.loads(file.with_suffix(".counts.json").read_text(encoding="utf-8"))
    if got != want:
        table = [{f"{r['provider']}/{r['event_id']}": r for r in c.pop("counts")} for c in (got, want)]
        raise Failed("\n    ".join([*differences("member", got, want), *differences("events", *table)]) or "the rows are in another order")
    return f"{got['events']} events, {got['events_lost']} lost, {len(got['counts'])} ids"


def complaint(done):
    """The line in dotnet-trace's output that reports a problem, or None."""
    # If a file breaks off, convert continues as well as it can and still exits with 0, so the
    # output must be checked. The rows of a report are names from the file, so only stderr is the
    # tool's own output.
    said = done.stderr if "report" in done.args else done.stdout + done.stderr
    words = [line.strip() for line in said.splitlines() if re.search("broken|exception", line, re.IGNORECASE)]
    if done.returncode or words:
        return f"exit status {done.returncode}: {words[0] if words else tail(done, 3)}"
    return None


def refused(step, half):
    """A step on half a file must fail, and for that reason; otherwise it could not detect bad files."""
    try:
        step(half)
    except Failed as e:
        if re.search("Read past end of stream|potentially broken trace", str(e)):
            return f"{e}"
        raise Failed(f"failed, but not because the file breaks off: {e}") from None
    raise Failed("half a file was accepted as a whole one")


def check_half_refused(readers, file):
    with copied(file, file.stat().st_size // 2) as half:
        return refused(readers.summary, half)


def report(readers, file, frames):
    done = readers.trace("report", file, "topN", "-n", "50")
    if complaint(done):
        raise Failed(complaint(done))
    # Without samples the tool still succeeds; it then lists nothing, or pseudo frames made of event names.
    rows = re.findall(r"^\d+\.\s+(.+?)(?:\s{2,}|$)", done.stdout, re.MULTILINE)
    for frame in frames:
        if not any(frame in row for row in rows):
            raise Failed(f"'{frame}' is not among the {len(rows)} rows:\n    " + tail(done, 10))
    return f"{len(rows)} rows, first: {rows[0]}" if rows else "no rows: shows only that the tool read the file to its end"


def convert(readers, file, form, frames):
    done = readers.trace("convert", file, "--format", form)
    if complaint(done):
        raise Failed(complaint(done))
    output = file.with_suffix(f".{form.lower()}.json")
    try:
        result = json.loads(output.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as e:
        raise Failed(f"no readable output: {e}") from None
    if form == "Speedscope":
        names = {f["name"] for f in result["shared"]["frames"]}
        samples = sum(len(p.get("events", p.get("samples", []))) for p in result["profiles"])
    else:
        names = {f["name"] for f in result["stackFrames"].values()}
        samples = len(result["traceEvents"])
    for frame in frames:
        if not any(frame in name for name in names):
            raise Failed(f"no frame '{frame}' among {len(names)}")
    return f"{samples} samples, {len(names)} frames" if samples else "no samples: shows only that the tool read the file to its end"


def dotnet_trace_checks(readers, file, frames):
    steps = {
        "dotnet-trace report topN": lambda f, names: report(readers, f, names),
        "dotnet-trace convert Chromium": lambda f, names: convert(readers, f, "Chromium", names),
        "dotnet-trace convert Speedscope": lambda f, names: convert(readers, f, "Speedscope", names),
    }
    for name, step in steps.items():
        def whole(step=step):
            with copied(file, file.stat().st_size) as copy:
                return step(copy, frames)

        def half(step=step):
            with copied(file, file.stat().st_size // 2) as copy:
                return refused(lambda f: step(f, []), copy)
        yield f"{name}, {file.name}", whole
        yield f"{name} refuses half of {file.name}", half


@contextlib.contextmanager
def copied(file, size):
    """The tool writes beside its input and prints its path, so it gets a copy under a neutral name."""
    with tempfile.TemporaryDirectory(prefix="weir-interop-") as folder:
        copy = pathlib.Path(folder) / "trace.nettrace"
        copy.write_bytes(file.read_bytes()[:size])
        yield copy


# ---------------------------------------------------------------------------------------------------------
# The commands: each yields (name, check)

def traces_in(paths):
    """Files as given; for a folder, every trace, and every counts file too, so that a missing trace is noticed."""
    for path in map(pathlib.Path, paths):
        if not path.is_dir():
            yield path
        else:
            yield from sorted({*path.glob("*.nettrace"), *(p.with_suffix("").with_suffix(".nettrace") for p in path.glob("*.counts.json"))})


def run_restore(readers, _):
    yield "restore", lambda: f"{READER}, {CLIENT}, dotnet-trace {DOTNET_TRACE}, SDK {readers.sdk}"


def run_summary(readers, args):
    yield "summary", lambda: json.dumps(readers.summary(args.file, args.payloads), indent=1)


def run_counts(readers, args):
    for file in traces_in(args.files):
        yield f"TraceEvent counts, {file.name}", lambda file=file: (write_counts if args.write else check_counts)(readers, file)
        yield f"TraceEvent refuses half of {file.name}", lambda file=file: check_half_refused(readers, file)


def run_traceevent(readers, args):
    yield f"TraceEvent, {args.file.name}", lambda: check_expectation(readers, args.file, args.expect)


def run_dotnet_trace(readers, args):
    for file in args.files:
        yield from dotnet_trace_checks(readers, file, args.frame)


def run_writer(readers, args):
    shutil.rmtree(args.output, ignore_errors=True)  # a file of an earlier run must not hide that one was not written
    args.output.mkdir(parents=True)

    def write():
        done = call([args.program.resolve(), args.output], 120)
        if done.returncode:
            raise Failed(f"exit status {done.returncode}:\n    {tail(done)}")
        return "ran"
    yield f"{args.program.name} {args.output.name}", write
    for stem in sorted({*WRITER_FILES, *(p.stem for p in args.output.glob("*.nettrace"))}):
        file = args.output / f"{stem}.nettrace"
        yield f"TraceEvent, {file.name}", lambda file=file: check_expectation(readers, file, file.with_suffix(".expect.json"))
        yield f"TraceEvent refuses half of {file.name}", lambda file=file: check_half_refused(readers, file)
        if stem.startswith("fields"):  # TraceEvent has read them all, and dotnet-trace is built on it
            yield from dotnet_trace_checks(readers, file, [])


def check_environment(readers, args, mode):
    """A host that knows nothing of sessions, traced through 1 MB by .NET's own variables. The counts are those of `weir`."""
    with tempfile.TemporaryDirectory(prefix="weir-interop-") as folder:
        names = {"EnableEventPipe": "1", "EventPipeOutputStreaming": "1", "EventPipeCircularMB": "1", "EventPipeBufferingMode": mode,
                 "EventPipeOutputPath": f"{folder}/{{pid}}.nettrace", "EventPipeConfig": "Lua:1:5"}
        done = call([args.host.resolve(), args.script], 120, env={**os.environ, **{f"DOTNET_{n}": v for n, v in names.items()}})
        files = list(pathlib.Path(folder).glob("*.nettrace"))
        if done.returncode or done.stderr or len(files) != 1:
            raise Failed(f"exit status {done.returncode}, {len(files)} files:\n    {tail(done)}")
        ours = json.loads(call([args.weir.resolve(), "stat", "--json", files[0]], 120).stdout)
        theirs = readers.summary(files[0])
    if (theirs["events"], theirs["events_lost"]) != (ours["eventCount"], ours["lost"]):
        raise Failed(f"TraceEvent has {theirs['events']} events and {theirs['events_lost']} lost, weir {ours['eventCount']} and {ours['lost']}")
    if theirs["events"] + theirs["events_lost"] < 1_000_000 or (mode == "1" and ours["lost"]):
        raise Failed(f"{theirs['events']} events, {ours['lost']} lost: not the million that the script makes")
    return f"{theirs['events']} events, {theirs['events_lost']} lost"


def run_environment(readers, args):
    for mode in ("0", "1"):
        yield f"DOTNET_EventPipeBufferingMode={mode}", lambda mode=mode: check_environment(readers, args, mode)


def arguments():
    default = os.environ.get("WEIR_INTEROP_CACHE") or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "weir-interop"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", default=default, help="folder for packages and builds (default: $WEIR_INTEROP_CACHE or %(default)s)")
    parser.add_argument("--require", action="store_true", help="a skip is a failure")
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name, run, text):
        sub = commands.add_parser(name, help=text)
        sub.set_defaults(run=run)
        return sub
    path = pathlib.Path
    command("restore", run_restore, "only restore and build")
    sub = command("summary", run_summary, "print TraceEvent's summary of a file")
    sub.add_argument("file", type=path)
    sub.add_argument("--payloads", type=int, default=0, metavar="N", help="include the first N events of each id")
    sub = command("counts", run_counts, "compare what TraceEvent finds with the *.counts.json beside each file")
    sub.add_argument("files", nargs="+", help="traces, or folders of them")
    sub.add_argument("--write", action="store_true", help="write the *.counts.json instead")
    sub = command("traceevent", run_traceevent, "compare TraceEvent's summary with an expectation")
    sub.add_argument("file", type=path)
    sub.add_argument("--expect", type=path, required=True, metavar="JSON")
    sub = command("dotnet-trace", run_dotnet_trace, "report and convert with dotnet-trace, and check that half a file fails")
    sub.add_argument("files", nargs="+", type=path)
    sub.add_argument("--frame", action="append", default=[], help="text that must be part of a frame name in each output")
    sub = command("writer", run_writer, "run PROGRAM OUTPUT and check each NAME.nettrace it writes with its NAME.expect.json")
    sub.add_argument("program", type=path)
    sub.add_argument("output", type=path)
    sub = command("environment", run_environment, "trace a Lua script of a million events as .NET's variables say, in both buffering modes")
    for name, text in (("host", "lua-host"), ("weir", "weir"), ("script", "the script")):
        sub.add_argument(name, type=path, help=text)
    sub = command("attach", attach.run_attach, "trace living processes with .NET's tools")
    for name, text in (("lua_host", "lua-host"), ("server_host", "the host of tests/server"), ("weir", "weir")):
        sub.add_argument(name, type=path, help=text)
    sub.add_argument("--long", action="store_true", help="forty million events instead of one")
    sub.add_argument("--only", metavar="TEXT", default="", help="checks whose names contain the text")
    sub = command("collect", collect.run_collect, "trace a .NET process with weir collect")
    sub.add_argument("weir", type=path)
    sub = command("cut", cut.run_cut, "read what weir cut writes of real traces and of one with losses")
    for name, text in (("weir", "weir"), ("host", "lua-host"), ("script", "a script of a million calls"), ("folder", "the traces")):
        sub.add_argument(name, type=path, help=text)
    for command_name, run, text in (("heap", heap.run_heap, "rebuild with TraceEvent the heap of a Lua program"),
                                    ("gcdump", heap.run_gcdump, "collect and convert it with dotnet-gcdump")):
        sub = command(command_name, run, text)
        for name, text in (("weir", "weir"), ("host", "lua-host"), ("script", "two_million.lua")):
            sub.add_argument(name, type=path, help=text)
    return parser.parse_args()


def main():
    args = arguments()
    try:
        readers = Readers(args.cache)
        readers.restore()
        passed = failed = 0
        for name, check in args.run(readers, args):
            try:
                print(f"ok     {name}: {check()}", flush=True)
                passed += 1
            except (Failed, OSError, ValueError) as e:
                print(f"FAILED {name}: {e}", flush=True)
                failed += 1
    except Skip as e:
        print(f"{'FAILED, a skip is not allowed here' if args.require else 'SKIPPED'}: {e}")
        return 1 if args.require else 77
    except Failed as e:
        print(f"FAILED {e}")
        return 1
    print(f"{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
