"""./dev bench ab, bisect and plot on real commits, which takes an hour: in a clone of HEAD with planted commits.

A commit against itself must not be red, by gate or clock, more than once in each twenty runs. A drain that is a fifth
slower must be red by the clock and so in the comment and the graph, and bisect must find its commit, by the clock and by
a count.
"""
import json
import os
import sys
import tempfile

from bench.judge import plant, process
from bench.judge.points import ROOT

DRAIN = "drain/encode/payload:32"
RUNS_OF_ONE_RED = 20


def say(text):
    print(text, flush=True)


class Clone:
    def __init__(self, folder):
        self.tree = os.path.join(folder, "clone")
        process.git("clone", "--quiet", "--shared", ROOT, self.tree)
        self.git("checkout", "--quiet", "--detach", process.git("rev-parse", "HEAD"))

    def git(self, *words):
        return process.git("-c", "user.name=A", "-c", "user.email=a@example.org", *words, root=self.tree)

    def commit(self, message):
        self.git("commit", "--quiet", "--all", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def bench(self, command, *options):
        return process.output([sys.executable, "-B", "-m", f"bench.judge.cmd_{command}", *options], good=(0, 1), cwd=self.tree)

    def ab(self, *options):
        report = json.loads(self.bench("ab", "--fast", "--json", "--report", "report.json", *options))
        return report, [row for row in report["gate"] + report["clock"] if row["verdict"] == "regressed"]


def told(row):
    return f"{row['bench']} {row['ratio']:.3f} ({row['lo']:.3f} to {row['hi']:.3f})" if "bench" in row else row["name"]


def against_itself(clone):
    """False if it was red too often, or could not measure all."""
    commit, red_runs, missing = clone.git("rev-parse", "HEAD"), 0, []
    for number in range(1, RUNS_OF_ONE_RED + 1):
        report, red = clone.ab("--base", commit, "--head", commit, "--seed", str(number))
        red_runs += bool(red)
        missing += report["missing"]
        restless = [row["bench"] for row in report["clock"] if row["was_repeated"] or row["verdict"] == "unstable"]
        say(f"against itself {number}/{RUNS_OF_ONE_RED}: {report['seconds']:.0f} s, red: "
            f"{', '.join(map(told, red)) or 'none'}; repeated or unstable: {', '.join(restless) or 'none'}")
    say(f"{red_runs} of {RUNS_OF_ONE_RED} runs were red; missing: {missing or 'nothing'}")
    return red_runs <= 1 and not missing


def planted(clone):
    """Commits: nothing, one instruction in the drain, nothing, a slow drain, nothing. False if one was not found."""
    commits = [clone.git("rev-parse", "HEAD"), clone.commit("nothing")]
    for name in ("drain instruction", "slow drain"):
        plant.plant(clone.tree, name)
        commits += [clone.commit(name), clone.commit("nothing")]
    # The slow drain reads a clock, so that its instructions cannot be counted.
    _, red = clone.ab("--base", commits[3], "--head", commits[4])
    say(f"a slow drain: {', '.join(map(told, red)) or 'not red'}")
    is_right = any(row.get("bench") == DRAIN for row in red) and is_shown(clone)
    # Nor can a bisection by count come to it: that ends before.
    for name, good, wanted, bad in ((DRAIN + "/instructions", 0, 2, 3), (DRAIN, 3, 4, 5)):
        done = clone.bench("bisect", name, "--good", commits[good], "--bad", commits[bad])
        say(done)
        is_right &= f"The first bad commit is\n{commits[wanted][:7]}" in done
    return is_right


def is_shown(clone):
    """Are the comment and the graph of the last comparison red, too?"""
    say(clone.bench("plot", "--report", "report.json", "-o", "pr"))
    comment, graph = (plant.read(os.path.join(clone.tree, "pr", name)) for name in ("comment.md", "graph.svg"))
    return f"❌ `{DRAIN}`" in comment and f">{DRAIN}<" in graph


def main():
    with tempfile.TemporaryDirectory(prefix="weir-ab-") as folder:
        clone = Clone(folder)
        is_right = planted(clone)
        clone.git("checkout", "--quiet", "HEAD~5")
        sys.exit(0 if against_itself(clone) and is_right else 1)


if __name__ == "__main__":
    main()
