"""./dev bench ab, bisect and plot on real commits, which takes two hours: in a clone of HEAD with planted commits.

In twenty runs of each, the clock must find 5 % more instructions in an event, and one locked instruction, at least 19
times; a commit against itself must never be red, by gate or clock. A drain that is a fifth slower must be red by the
clock and so in the comment and the graph, and bisect must find its commit, by the clock and by a count.

    python3 -B -m bench.judge.long_ab [RUNS [OPTION-OF-AB ...]]
"""
import json
import os
import sys
import tempfile

from bench.judge import plant, process, state
from bench.judge.points import ROOT

DRAIN = "drain/encode/payload:32"
RUNS, MAY_MISS = 20, 1


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
    if "bench" not in row:
        return row["name"]
    return f"{labelled(row)} {row['ratio']:.3f} ({row['lo']:.3f} to {row['hi']:.3f})"


def labelled(row):
    return state.labelled(row["bench"], row.get("state", ""))


def one_run(clone, what, number, base, head, options):
    """The rows that are red, and what is missing."""
    report, red = clone.ab("--base", base, "--head", head, "--seed", str(number), *options)
    found = {word: [labelled(row) for row in report["clock"] if row["verdict"] == word] for word in ("same", "unstable")}
    left_out = [one["name"] for one in report.get("undecided", ())]
    words = {"red": [told(row) for row in red if "bench" in row], **found, "left out": left_out}
    say(f"{what} {number}: {report['seconds']:.0f} s" + "".join(f"; {word}: {', '.join(names)}" for word, names in words.items() if names))
    return red, report["missing"]


def found_and_not_found(clone, runs, options):
    """False if a planted commit was missed too often, or a commit against itself was red or could not be measured."""
    base = clone.git("rev-parse", "HEAD")
    heads = {"nothing": base}
    for name in ("5 percent", "lock"):
        plant.plant(clone.tree, name)
        heads[name] = clone.commit(name)
        clone.git("checkout", "--quiet", base)
    red_runs, missing = dict.fromkeys(heads, 0), []
    for number in range(1, runs + 1):
        for name, head in heads.items():
            red, gone = one_run(clone, name, number, base, head, options)
            red_runs[name] += any(name == "nothing" or row.get("bench", "").startswith("emit/") for row in red)
            missing += gone
    say(f"red, of {runs} runs each: {red_runs}; missing: {missing or 'nothing'}")
    is_found = all(red_runs[name] >= runs - MAY_MISS for name in heads if name != "nothing")
    return is_found and not red_runs["nothing"] and not missing


def planted(clone):
    """Commits: nothing, two instructions in the drain, nothing, a slow drain, nothing. False if one was not found."""
    commits = [clone.git("rev-parse", "HEAD"), clone.commit("nothing")]
    for name in ("drain instructions", "slow drain"):
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
    runs, options = int(sys.argv[1]) if sys.argv[1:] else RUNS, sys.argv[2:]
    with tempfile.TemporaryDirectory(prefix="weir-ab-") as folder:
        clone = Clone(folder)
        is_right = found_and_not_found(clone, runs, options)
        sys.exit(0 if planted(clone) and is_right else 1)


if __name__ == "__main__":
    main()
