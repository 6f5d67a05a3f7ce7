"""The long runs of weir-stress, one after the other; the independent reader decodes each.

    long.py PROGRAM OUT.ndjson [--seed S] [--only NAME]

Prints a line per run and keeps what weir-stress printed. Exit codes: 0, 1 failed, 2 usage.
"""
import argparse
import time

from bench.stress import runs

BLOCK = ["--mode", "block", "--budget", "1M", "--threads", "8"]
DROP = ["--mode", "drop", "--budget", "1M", "--threads", "8"]

# Name, purpose, options, time limit in seconds. The stream kept for the reader is limited, hence
# the rates; a sink that stalls does so for a tenth of the time.
LONG = (
    ("billion", "a billion events of 8 producers through 1 MiB, streamed into the reader",
     [*BLOCK, "--events", "125000000", "--sink", "pipe"], 1800),
    ("stalls", "a sink that stands still for 5 s, BLOCK",
     [*BLOCK, "--events", "10000000", "--rate", "200000", "--sink", "stall:5000", "--verify"], 300),
    ("stall-block", "a sink that stands still for 60 s, BLOCK",
     [*BLOCK, "--seconds", "65", "--rate", "1000000", "--sink", "stall:60000", "--verify"], 300),
    ("stall-drop", "a sink that stands still for 60 s, DROP",
     [*DROP, "--seconds", "65", "--rate", "1000000", "--sink", "stall:60000", "--verify"], 300),
)


def line_of(name, run, wall_s):
    lost = f"{run.lost:,} lost ({100 * run.loss_share:.2f} %)" if run.lost else "0 lost"
    longest = f", parked for {run.park('max') / 1e9:.2f} s at most" if run.park("max") else ""
    return f"{name:12} {run['emitted']:,} emitted, {run['written']:,} written, {lost}{longest}, verified, {runs.duration(wall_s)}"


def main():
    parser = argparse.ArgumentParser(description="Performs the long runs of weir-stress.")
    parser.add_argument("program", help="weir-stress")
    parser.add_argument("out", help="file of one JSON object per line; replaced")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=[row[0] for row in LONG], help="only this run")
    arguments = parser.parse_args()
    program, progress = runs.Program(arguments.program), runs.Progress()
    try:
        with open(arguments.out, "w", encoding="utf-8") as out:
            for name, purpose, options, limit_s in LONG:
                if arguments.only not in (None, name):
                    continue
                progress.show(f"{purpose} ...")
                options = [*options, "--seed", str(arguments.seed)]
                started = time.monotonic()
                run, line = program.run(options, timeout_s=limit_s)
                progress.end()
                out.write(line + "\n")
                out.flush()
                fault = next(run.faults(verified_needed=True), None)
                if fault:
                    raise runs.Failed(f"{purpose}: {fault}; repeat with: {program.command(options)}")
                print(line_of(name, run, time.monotonic() - started), flush=True)
    except OSError as error:
        raise runs.Failed(f"{arguments.out}: {error.strerror}") from None
    finally:
        progress.end()
    return 0


if __name__ == "__main__":
    runs.run_command("long", main)
