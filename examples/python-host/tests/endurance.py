"""endurance.py --runs N --path FOLDER --weir PROGRAM: traces four threads in N processes, by turns the workload of
counted.py and that of endured.py, and fails at the first crash, lost event, damaged trace or wrong count. Prints one line at
the end."""
import argparse
import json
import os
import shlex
import sys
import tempfile
import time

import support


def fail(number, script, result, text):
    sys.exit(f"endurance.py: run {number} ({script}), status {result.returncode}: {text}\n{result.stdout[-2000:]}\n"
             f"{result.stderr[-4000:]}")


def run(number, folder, under):
    script, arguments = ("counted.py", ["2", "t.nettrace"]) if number % 2 else ("endured.py", [])
    result = support.run_python(os.path.join(support.HERE, script), *arguments, cwd=folder, under=under)
    if result.returncode != 0 or result.stderr:
        fail(number, script, result, "it failed")
    for trace in ["t.nettrace"] if number % 2 else ["file.nettrace", "sink.nettrace"]:
        check = support.run_weir("check", trace, cwd=folder)
        if check.returncode != 0:
            fail(number, script, check, trace)
    if number % 2:
        report = json.loads(support.run_weir("report", "--json", "--top", "0", "t.nettrace", cwd=folder).stdout)
        wrong = support.differences(json.loads(result.stdout.splitlines()[0]), report)
        if wrong:
            fail(number, script, result, f"counts differ, expected and found: {wrong}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    support.add_arguments(parser)
    parser.add_argument("--runs", type=int, required=True)
    parser.add_argument("--under", type=shlex.split, default=[], metavar="COMMAND",
                        help="runs Python under this, as in --under='valgrind --quiet --error-exitcode=9'")
    arguments = parser.parse_args()
    support.take_arguments(arguments)
    begin = time.monotonic()
    for number in range(arguments.runs):
        with tempfile.TemporaryDirectory(prefix="python-host-") as folder:
            run(number, folder, arguments.under)
    print(f"{arguments.runs} runs in {time.monotonic() - begin:.0f} s: no crash, nothing lost, counts equal")


if __name__ == "__main__":
    main()
