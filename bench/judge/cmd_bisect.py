"""./dev bench bisect: which commit made it slower? git bisect run, with ./dev bench ab for each commit.

NAME is a figure of ./dev bench count --all (emit/enabled/payload:32/instructions), which is exact, or a benchmark of
weir-bench (drain/encode/payload:32), by the clock. A commit is bad if ./dev bench ab --base GOOD --head COMMIT --figure
NAME says that it regressed; a commit that cannot be built or judged is skipped.

git bisect works in a worktree under out/; your checkout is not touched. By hand, in a checkout that may move:

    git bisect start --no-checkout BAD GOOD
    git bisect run sh -c './dev bench ab --base GOOD --head "$(git rev-parse BISECT_HEAD)" --figure NAME'

Exit code: 0 the first bad commit was found; 1 it was not; 2 usage.
"""
import os
import shutil
import subprocess
import sys

from bench.judge import builds, command, points, process
from bench.judge.command import Usage, runs

TREE = os.path.join(points.ROOT, "out", "bench", "bisect")
AB = ["env", f"PYTHONPATH={points.ROOT}", sys.executable, "-B", "-m", "bench.judge.cmd_ab"]
STEP = 'head=$(git rev-parse BISECT_HEAD) && exec "$@" --head "$head"'
SECONDS = 60


def usage():
    parser = command.parser("bisect", __doc__)
    parser.add_argument("name", metavar="NAME",
                        help="a figure of ./dev bench count --all, or a benchmark of weir-bench")
    parser.add_argument("--good", metavar="REV", required=True, help="a revision that is well")
    parser.add_argument("--bad", metavar="REV", required=True, help="a later one that is worse")
    parser.add_argument("--seconds", type=command.within(10, 3600), default=SECONDS, metavar="S",
                        help=f"for each commit, where the clock decides; default {SECONDS}")
    return parser.parse_args()


def remove_tree():
    shutil.rmtree(TREE, ignore_errors=True)
    process.git("worktree", "prune")


def search(step, good, bad):
    """The first bad commit, as git bisect run finds it in a worktree without files."""
    remove_tree()
    os.makedirs(os.path.dirname(TREE), exist_ok=True)
    process.git("worktree", "add", "--quiet", "--detach", "--no-checkout", "--force", TREE, bad)
    try:
        process.git("bisect", "start", "--no-checkout", bad, good, root=TREE)
        done = subprocess.run(["git", "-C", TREE, "bisect", "run", "sh", "-c", STEP, "sh", *step], check=False)
        if done.returncode != 0:
            raise runs.Failed("no first bad commit was found: what is left could not be judged")
        return process.git("rev-parse", "refs/bisect/bad", root=TREE)
    finally:
        remove_tree()


def main():
    options = usage()
    good, bad = builds.resolve(options.good), builds.resolve(options.bad)
    if process.call(["git", "-C", process.ROOT, "merge-base", "--is-ancestor", good, bad]).returncode != 0:
        raise Usage(f"--good: {options.good} is not an ancestor of {options.bad}")
    step = [*AB, "--base", good, "--figure", options.name, "--seconds", f"{options.seconds:g}"]
    if subprocess.run([*step, "--head", bad], check=False).returncode != 1:
        raise runs.Failed(f"{options.name}: BAD is not shown to be worse than GOOD; --seconds gives the clock more time")
    found = search(step, good, bad)
    print(f"\nThe first bad commit is\n{process.git('log', '-1', '--format=%h %ad %an%n    %s', '--date=short', found)}")
    return 0


if __name__ == "__main__":
    command.run("bisect", main)
