"""./dev bench peers: the same events through this library and through others, in one run.

Builds what is there of bench/peers/, runs all in turn, process by process, and prints what an event costs, how many
arrive, and how that compares with the floor (a clock read and a copy) and with this library in the same round. x weir
is against its mode that does the same: BLOCK for those that wait, and in 'sustained'; DROP for the others. A peer that
is missing on this machine is skipped with its reason. Exit codes: 0, 1 if a peer failed, 2 usage.

  burst      310,000 events in bursts of 10,000, 20 ms apart, into 4 MiB a thread: median of the bursts
  sustained  3,000,000 events of each thread without a pause, into 4 MiB a thread
  flood      1,000,000 events of all threads together through 1 MiB
"""
import argparse
import json
import os
import shlex
import sys

from bench.judge import command, environment, points
from bench.peers import runner as peers
from bench.stress import runs

OUTPUT = os.path.join(points.ROOT, "out", "bench", "peers.json")


def count(text):
    if not text.isdigit() or not 1 <= int(text) <= 100_000_000:
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive number")
    return int(text)


def thread_counts(text):
    counts = [count(part) for part in text.split(",")]
    if max(counts) > 256:
        raise argparse.ArgumentTypeError("at most 256 threads")
    return counts


def parser():
    made = command.parser("peers", __doc__)
    made.add_argument("--case", action="append", choices=peers.ALL, help="may be repeated; default all three")
    made.add_argument("--threads", type=thread_counts, metavar="N,...",
                      help="default: 1 for burst, 1,2 for sustained, 1,4,16 for flood")
    made.add_argument("--rounds", type=count, default=5, metavar="N", help="default %(default)s")
    made.add_argument("--seconds", type=count, metavar="N",
                      help="begin no round that would end later; there is one at least")
    made.add_argument("--only", metavar="NAMES",
                      help="separated by commas: a peer ('weir') or one variant ('weir:block')")
    made.add_argument("--pin", action="store_true",
                      help="bind emitting threads to processors in turn, what drains to the last where that is free")
    made.add_argument("--json", action="store_true", help="print the JSON that is written, in the table's place")
    made.add_argument("-o", "--output", default=OUTPUT, metavar="FILE", help="default out/bench/peers.json")
    return made


def main():
    made = parser()
    arguments = made.parse_args()
    names = arguments.only.split(",") if arguments.only else None
    progress = runs.Progress()
    try:
        peers.select(names)
    except ValueError as error:
        made.error(str(error))
    try:
        progress.show("building")
        before = environment.collect()
        rows = peers.measure(arguments.case or list(peers.ALL), arguments.rounds, names, threads=arguments.threads,
                             pins=arguments.pin, seconds=arguments.seconds, show=progress.show)
    except peers.Failed as error:
        raise runs.Failed(str(error)) from None
    finally:
        progress.end()
    result = {"v": 1, "commit": environment.commit(points.ROOT), "date": points.now(),
              "command": shlex.join(["./dev", "bench", "peers", *sys.argv[1:]]),
              "environment": before, "rows": rows}
    text = json.dumps(result, indent=1) + "\n"
    command.write(arguments.output, text)
    print(text.rstrip() if arguments.json else "\n".join(peers.tables(rows)).rstrip())
    if not arguments.json:
        print(f"\nWrote {arguments.output}.")
    failed = [row for row in rows if row["failed"]]
    if failed:
        raise runs.Failed(f"{len(failed)} of {len(rows)} peers failed; the first: {failed[0]['failed']}")
    return 0


if __name__ == "__main__":
    command.run("peers", main)
