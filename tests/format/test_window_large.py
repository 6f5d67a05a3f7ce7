"""A window of a hundredth of a large trace costs at most 3 % of its bytes, and has what a reading of all of it has there."""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

PLACES = (0, 0.25, 0.5, 0.75, 0.985)


def call(*command):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit(f"{command}: exit code {done.returncode}")
    return done.stdout.decode()


def windows(slices):
    """At each place, the least number of slices that have a hundredth of the events: first and last slice, events, digest."""
    total = sum(events for events, _ in slices)
    for place in PLACES:
        first, before = 0, slices[0][0]
        while before <= place * total:
            first += 1
            before += slices[first][0]
        last, events, digest = first, *slices[first]
        while events < total / 100:
            last += 1
            events += slices[last][0]
            digest += slices[last][1]
        yield first, last, events, digest % 2**64


def seconds(ns):
    return f"{ns // 10**9}.{ns % 10**9:09d}"


def check_window(args, trace, start, end, events, digest):
    part = [int(word) for word in call(args.program, "part", trace, start, end).split()]
    assert part[:2] == [events, digest], f"{start} to {end}: a window has {part[:2]}, all of the trace {[events, digest]}"
    stat = json.loads(call(args.weir, "stat", "--json", "--from", seconds(start), "--to", seconds(end), trace))
    assert (stat["eventCount"], stat["lost"]) == (events, 0), (stat["eventCount"], stat["lost"], events)
    share = max(part[2], stat["bytes_read"]) / trace.stat().st_size
    print(f"  {seconds(start)} to {seconds(end)} s: {events} events, {stat['bytes_read']} bytes read, {100 * share:.2f} %")
    assert share <= 0.03


def check(args, folder, version):
    trace = pathlib.Path(folder) / "large.nettrace"
    slice_ns = max(args.bytes // 1000, 1000)
    start = time.monotonic()
    call(args.program, "write", trace, args.bytes, version)
    written = time.monotonic()
    slices = [tuple(map(int, line.split())) for line in call(args.program, "slices", trace, slice_ns).splitlines()]
    print(f"version {version}: {trace.stat().st_size} bytes, {sum(events for events, _ in slices)} events, "
          f"written in {written - start:.1f} s, read in {time.monotonic() - written:.1f} s")
    for first, last, events, digest in windows(slices):
        check_window(args, trace, first * slice_ns, (last + 1) * slice_ns, events, digest)
    trace.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weir")
    parser.add_argument("program", help="format_large")
    parser.add_argument("folder", type=pathlib.Path, help="where there is room for a trace")
    parser.add_argument("bytes", type=int)
    parser.add_argument("versions", nargs="+", choices=("4", "6"))
    args = parser.parse_args()
    free = shutil.disk_usage(args.folder).free
    if free < 1.1 * args.bytes:
        sys.exit(f"{args.folder} has {free} bytes left; a trace of {args.bytes} bytes needs a tenth more than that")
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        for version in args.versions:
            check(args, folder, version)


if __name__ == "__main__":
    main()
