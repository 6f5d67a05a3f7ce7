"""./dev bench bisect: which commit made it slower?

NAME is a figure of ./dev bench count (emit/enabled/payload:32/instructions), which is exact: bad is what the gate would
call worse than GOOD's. Or it is a benchmark of weir-bench (drain/encode/payload:32): then each commit runs in turn with
GOOD, and is bad if it is more than half as much slower than GOOD as BAD is, and skipped if the machine
cannot tell.

git bisect chooses the commits, in a worktree of its own under out/; your checkout is not touched. A commit that cannot
be built, or has not got NAME, is skipped.

Exit code: 0 the first bad commit was found; 1 it was not; 2 usage.
"""
import argparse
import math
import os
import re
import shutil

import alternate
import builds
import command
import count
import gate
import points
import repository
from command import Progress, Usage, runs

TREE = os.path.join(points.ROOT, "out", "bench", "bisect")
FOLDER = os.path.join(points.ROOT, "out", "bench", "bisect-programs")
SECONDS = 60
FIRST_BAD = re.compile(r"^([0-9a-f]{40}) is the first bad commit", re.MULTILINE)
SEVERAL = "The first bad commit could be any of:"


def usage():
    parser = argparse.ArgumentParser(prog="./dev bench bisect", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", metavar="NAME",
                        help="a figure of ./dev bench count --all, or a benchmark of weir-bench")
    parser.add_argument("--good", metavar="REV", required=True, help="a revision that is well")
    parser.add_argument("--bad", metavar="REV", required=True, help="a later one that is worse")
    parser.add_argument("--seconds", type=float, default=SECONDS, metavar="S",
                        help=f"for each commit, where the clock decides; default {SECONDS}")
    arguments = parser.parse_args()
    if not 1 <= arguments.seconds <= 3600:
        raise Usage(f"--seconds: {arguments.seconds:g} is not from 1 to 3600")
    return arguments


class Unknown(runs.Failed):
    """This commit cannot be judged; others may."""


class Counted:
    """A figure of the gate."""

    def __init__(self, name, good):
        self.name = name
        self.good = self.value(good)

    def value(self, commit):
        figures = count.measure(builds.build(commit, count.TARGETS))
        if self.name in figures.differing:
            raise Unknown(f"{commit[:12]}: {self.name} is not the same each time it is counted")
        if self.name not in figures.values:
            raise Unknown(f"{commit[:12]} has no figure {self.name}; ./dev bench count --all lists them")
        return figures.values[self.name][0]

    def is_bad(self, value):
        return gate.is_worse(self.name, self.good, value)

    def accept(self, value):
        """The end that is said to be bad has to be."""
        if not self.is_bad(value):
            raise runs.Failed(f"{self.name} is {self.told(value)} at BAD and {self.told(self.good)} at GOOD: "
                              "that is not worse")

    def told_good(self):
        return self.told(self.good)

    @staticmethod
    def told(value):
        return f"{value:.6g}"


class Timed:
    """A benchmark: how many times GOOD's time a commit takes."""

    def __init__(self, name, good, seconds):
        self.name, self.seconds, self.limit = name, seconds, None
        self.good = builds.program(good)

    def value(self, commit):
        programs = alternate.Programs(FOLDER, self.good, builds.program(commit))
        available, _, _ = programs.common()
        if self.name not in available:
            raise Unknown(f"{commit[:12]} or GOOD has no benchmark {self.name}")
        group = alternate.group_of(self.name)
        measured = alternate.measure(programs, (group,), {self.name: available[self.name]}, 1,
                                     lambda part: self.seconds, Progress())
        for _, reason in measured.missing + measured.left_out:
            raise Unknown(f"{commit[:12]}: {reason}")
        return measured.rows[0]

    def accept(self, row):
        if row["verdict"] != "regressed":
            raise runs.Failed(f"{self.name}: BAD against GOOD is {row['verdict']} ({self.told(row)}); "
                              "--seconds gives it more time")
        self.limit = math.sqrt(row["ratio"])

    def is_bad(self, row):
        """Only where the whole interval says so: a commit is not blamed, or cleared, by half of one."""
        if row["verdict"] == "unstable" or row["lo"] <= self.limit <= row["hi"]:
            raise Unknown(f"{self.told(row)}, not clearly over or under {self.limit:.3f}; --seconds gives it more time")
        return row["lo"] > self.limit

    @staticmethod
    def told_good():
        return "1"

    @staticmethod
    def told(row):
        return f"{row['ratio']:.3f} ({row['lo']:.3f} to {row['hi']:.3f}) times GOOD's time"


def measurement(options, good):
    return Counted(options.name, good) if gate.is_figure(options.name) else Timed(options.name, good, options.seconds)


def bisect_tree(good, bad):
    """A worktree without files: only git's own notes of the search."""
    shutil.rmtree(TREE, ignore_errors=True)
    builds.git("worktree", "prune")
    os.makedirs(os.path.dirname(TREE), exist_ok=True)
    builds.git("worktree", "add", "--quiet", "--detach", "--no-checkout", "--force", TREE, bad)
    return builds.git("bisect", "start", "--no-checkout", bad, good, root=TREE)


def remove_tree():
    shutil.rmtree(TREE, ignore_errors=True)
    shutil.rmtree(FOLDER, ignore_errors=True)
    builds.git("worktree", "prune")


def judge(measured, commit, known):
    """git's word for the commit, whose value is known then."""
    try:
        if commit not in known:
            known[commit] = measured.value(commit)
        word = "bad" if measured.is_bad(known[commit]) else "good"
    except runs.Failed as error:
        print(f"{commit[:12]}  skipped: {str(error).splitlines()[0]}", flush=True)
        return "skip"
    print(f"{commit[:12]}  {word:4}  {measured.told(known[commit])}", flush=True)
    return word


def search(measured, good, bad, known):
    """The first bad commit."""
    told = bisect_tree(good, bad)
    while not FIRST_BAD.search(told):
        if SEVERAL in told:
            raise runs.Failed("what is left could not be judged. " + " ".join(told[told.index(SEVERAL):].split()))
        commit = builds.git("rev-parse", "BISECT_HEAD", root=TREE)
        told = bisect_step(judge(measured, commit, known))
    return FIRST_BAD.search(told).group(1)


def bisect_step(word):
    """git ends with 2 where only commits are left that were skipped; what it says then is what is wanted."""
    done = repository.done(TREE, "bisect", word)
    if done.returncode not in (0, 2):
        raise runs.Failed(f"git bisect {word}: {command.last_lines(done.stderr, 3)}")
    return done.stdout


def main():
    options = usage()
    good, bad = builds.resolve(options.good), builds.resolve(options.bad)
    if repository.done(builds.ROOT, "merge-base", "--is-ancestor", good, bad).returncode != 0:
        raise Usage(f"--good: {options.good} is not an ancestor of {options.bad}")
    measured = measurement(options, good)
    known = {bad: measured.value(bad)}
    measured.accept(known[bad])
    print(f"{good[:12]}  good  {measured.told_good()}\n{bad[:12]}  bad   {measured.told(known[bad])}", flush=True)
    try:
        found = search(measured, good, bad, known)
    finally:
        remove_tree()
    print(f"\nThe first bad commit is\n{builds.git('log', '-1', '--format=%h %ad %an%n    %s', '--date=short', found)}")
    print(f"{options.name}: {measured.told_good()} before, {measured.told(known[found])} with it")
    return 0


if __name__ == "__main__":
    command.run("bisect", main)
