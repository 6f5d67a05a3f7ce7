"""Builds of a revision or of the current tree: each revision once with each compiler, in a git worktree of its own
under out/, which is removed when it was not used for a week.

The user's checkout is never touched: not its files, not its branch, not its index.
"""
import contextlib
import fcntl
import hashlib
import os
import shlex
import shutil
import time

from bench.judge import process
from bench.judge.command import Progress, Usage, runs
from bench.judge.points import ROOT

FOLDER = os.path.join(ROOT, "out", "bench", "builds")
LOG_LINES = 40
UNUSED_SECONDS = 7 * 86400
# What CMake takes from the environment when it configures, and its compilers where that says nothing.
COMPILERS = {"CC": "cc", "CXX": "c++"}
FLAGS = ("CFLAGS", "CXXFLAGS", "LDFLAGS")


def resolve(revision):
    """The whole name of a commit. HEAD~2, a branch, a tag, a part of a name."""
    try:
        return process.git("rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}")
    except runs.Failed:
        raise Usage(f"'{revision}' is no commit of this repository") from None


@contextlib.contextmanager
def locked():
    """Two comparisons at a time build one after the other."""
    os.makedirs(FOLDER, exist_ok=True)
    with open(os.path.join(FOLDER, ".lock"), "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def compiler_key():
    """A short name for the compilers and flags that CMake would take now: with others, a build is another build."""
    told = [os.environ.get(name, "") for name in FLAGS]
    for name, usual in COMPILERS.items():
        words = shlex.split(os.environ.get(name) or usual)
        path = shutil.which(words[0])  # CMake says it where there is none
        told += [*words, os.path.realpath(path or words[0]), process.output([*words, "--version"]) if path else ""]
    return hashlib.sha256("\0".join(told).encode()).hexdigest()[:8]


def prune(now):
    """Removes the trees that were not used for long."""
    for name in os.listdir(FOLDER):
        tree = os.path.join(FOLDER, name)
        if not name.startswith(".") and now - os.stat(tree).st_mtime > UNUSED_SECONDS:
            shutil.rmtree(tree, ignore_errors=True)
    process.git("worktree", "prune")


def checkout(commit):
    """The worktree of a commit for the compiler of now, made if it is not there or not whole."""
    tree = os.path.join(FOLDER, f"{commit[:12]}-{compiler_key()}")
    if os.path.exists(os.path.join(tree, ".whole")):
        os.utime(tree)
        return tree
    shutil.rmtree(tree, ignore_errors=True)
    os.makedirs(FOLDER, exist_ok=True)
    prune(time.time())
    process.git("worktree", "add", "--quiet", "--detach", "--force", tree, commit)
    with open(os.path.join(tree, ".whole"), "w", encoding="utf-8") as file:
        file.write(commit + "\n")
    return tree


def make(tree, targets, preset, name):
    """Configures and builds in a tree; what is up to date costs a second."""
    folder = os.path.join(tree, "build", preset)
    progress = Progress()
    progress.show(f"building {name} ...")
    try:
        process.output(["cmake", "--preset", preset], lines=LOG_LINES, cwd=tree)
        process.output(["cmake", "--build", folder, "--target", *targets], lines=LOG_LINES, cwd=tree)
    finally:
        progress.end()
    return folder


def build(revision, targets, preset="bench"):
    """The build folder of a revision, or of the current tree (None), with these targets built in it."""
    if revision is None:
        return make(ROOT, targets, preset, "the current tree")
    commit = resolve(revision)
    with locked():
        return make(checkout(commit), targets, preset, commit[:12])


def program(revision):
    """weir-bench of a revision, or of the current tree (None)."""
    return os.path.join(build(revision, ["weir-bench"]), "bin", "weir-bench")
