"""./dev bench ab and bisect on real commits, which takes minutes: in a clone of HEAD with planted commits.

A commit against itself must not be red, by gate or clock, more than once in each twenty runs (and not at all in fewer).
A drain that is a fifth slower must be red by the clock, and bisect must find its commit, by the clock and by a count.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

from bench.judge import plant
from bench.judge.points import ROOT

DRAIN = "drain/encode/payload:32"
RUNS_OF_ONE_RED = 20


def say(text):
    print(text, flush=True)


class Clone:
    def __init__(self, folder):
        self.tree = os.path.join(folder, "clone")
        subprocess.run(["git", "clone", "--quiet", "--shared", ROOT, self.tree], check=True)
        self.git("checkout", "--quiet", "--detach", subprocess.run(
            ["git", "-C", ROOT, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip())

    def git(self, *words):
        return subprocess.run(["git", "-C", self.tree, "-c", "user.name=A", "-c", "user.email=a@example.org", *words],
                              check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, message):
        self.git("commit", "--quiet", "--all", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def bench(self, command, *options):
        done = subprocess.run([sys.executable, "-B", "-m", f"bench.judge.cmd_{command}", *options], cwd=self.tree, capture_output=True, text=True,
                              check=False)
        if done.returncode not in (0, 1) or "Traceback" in done.stderr:
            raise SystemExit(f"{command} ended with {done.returncode}: {done.stderr}")
        return done

    def ab(self, *options, counts_all=True):
        done = self.bench("ab", "--fast", "--json", *options)
        if not done.stdout:
            raise SystemExit(f"ab: {done.stderr}")
        report = json.loads(done.stdout)
        red = [row for row in report["gate"] + report["clock"] if row["verdict"] == "regressed"]
        if report["missing"] and counts_all:
            raise SystemExit(f"ab could not measure all: {report['missing']}")
        if bool(red or report["missing"]) != bool(done.returncode):
            raise SystemExit(f"ab ended with {done.returncode}, and {len(red)} rows are red")
        return report, red


def told(row):
    return f"{row['bench']} {row['ratio']:.3f} ({row['lo']:.3f} to {row['hi']:.3f})" if "bench" in row else row["name"]


def against_itself(clone, times):
    """False if it was red too often."""
    commit, red_runs = clone.git("rev-parse", "HEAD"), 0
    for number in range(times):
        report, red = clone.ab("--base", commit, "--head", commit, "--seed", str(number + 1))
        red_runs += bool(red)
        unstable = [row["bench"] for row in report["clock"] if row["verdict"] == "unstable"]
        repeated = [row["bench"] for row in report["clock"] if row["was_repeated"]]
        pairs = min((row["pairs"] for row in report["clock"]), default=0)
        say(f"against itself {number + 1}/{times}: {report['seconds']:.0f} s, {pairs} pairs, "
            f"red: {', '.join(map(told, red)) or 'none'}; repeated: {', '.join(repeated) or 'none'}; "
            f"unstable: {', '.join(unstable) or 'none'}")
    say(f"{red_runs} of {times} runs were red")
    return red_runs <= times // RUNS_OF_ONE_RED


def planted(clone):
    """Commits: nothing, one instruction in the drain, nothing, a slow drain, nothing. False if one was not found."""
    commits = [clone.git("rev-parse", "HEAD"), clone.commit("nothing")]
    for name in ("drain instruction", "slow drain"):
        plant.plant(clone.tree, name)
        commits += [clone.commit(name), clone.commit("nothing")]
    # The slow drain reads a clock, so that its instructions cannot be counted.
    report, red = clone.ab("--base", commits[3], "--head", commits[4], counts_all=False)
    for row in report["clock"]:
        say(f"a slow drain: {row['verdict']:9} {told(row)}, "
            f"control {row['control_lo']:.3f} to {row['control_hi']:.3f}, "
            f"{row['pairs']} pairs{', repeated' if row['was_repeated'] else ''}")
    is_right = any(row.get("bench") == DRAIN for row in red)
    # Nor can a bisection by count come to it: that ends before.
    for name, good, wanted, bad in ((DRAIN + "/instructions", 0, 2, 3), (DRAIN, 3, 4, 5)):
        done = clone.bench("bisect", name, "--good", commits[good], "--bad", commits[bad])
        say(done.stdout + done.stderr)
        is_right &= f"The first bad commit is\n{commits[wanted][:7]}" in done.stdout
    return is_right


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--itself", type=int, default=RUNS_OF_ONE_RED, metavar="N",
                        help=f"runs of a commit against itself; default {RUNS_OF_ONE_RED}")
    parser.add_argument("--no-plants", action="store_true", help="only these")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="weir-ab-") as folder:
        clone = Clone(folder)
        is_right = options.no_plants or planted(clone)
        if not options.no_plants:
            clone.git("checkout", "--quiet", "HEAD~5")
        is_right &= against_itself(clone, options.itself)
    sys.exit(0 if is_right else 1)


if __name__ == "__main__":
    main()
