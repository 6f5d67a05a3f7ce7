"""cmd_bisect.py and builds.py on a small repository: the search, skipped commits, ends that are not as they are said to
be, and that nothing of the user's checkout moves."""
import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import alternate
import builds
import cmd_bisect
from command import Usage, runs

HERE = os.path.dirname(os.path.abspath(__file__))


class Written:
    """What a commit's file `value` says, in the place of a count; 'broken' cannot be built."""

    def __init__(self, name, good):
        self.name, self.good = name, self.value(good)

    def value(self, commit):
        text = builds.git("show", f"{commit}:value")
        if text == "broken":
            raise runs.Failed("it cannot be built")
        return float(text)

    def is_bad(self, value):
        return cmd_bisect.gate.is_worse(self.name, self.good, value)

    accept, told_good = cmd_bisect.Counted.accept, cmd_bisect.Counted.told_good
    told = staticmethod(cmd_bisect.Counted.told)


class Repository(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weir-bisect-")
        self.addCleanup(folder.cleanup)
        self.root = os.path.join(folder.name, "checkout")
        os.makedirs(self.root)
        for patch in (mock.patch.object(builds, "ROOT", self.root),
                      mock.patch.object(builds, "FOLDER", os.path.join(folder.name, "builds")),
                      mock.patch.object(cmd_bisect, "TREE", os.path.join(folder.name, "bisect")),
                      mock.patch.object(cmd_bisect, "Counted", Written)):
            patch.start()
            self.addCleanup(patch.stop)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *words):
        return subprocess.run(["git", "-C", self.root, "-c", "user.name=A", "-c", "user.email=a@example.org", *words],
                              check=True, capture_output=True, text=True).stdout.strip()

    def commits(self, *values):
        """One commit each; their names."""
        names = []
        for number, value in enumerate(values):
            for name, text in (("value", value), ("number", str(number))):
                with open(os.path.join(self.root, name), "w", encoding="utf-8") as file:
                    file.write(text + "\n")
            self.git("add", "-A")
            self.git("commit", "--quiet", "-m", f"change {number}")
            names.append(self.git("rev-parse", "HEAD"))
        return names

    def bisect(self, good, bad, name="emit/enabled/payload:32/instructions"):
        output = io.StringIO()
        words = ["bisect", name, "--good", good, "--bad", bad]
        with mock.patch.object(sys, "argv", words), contextlib.redirect_stdout(output):
            self.assertEqual(cmd_bisect.main(), 0)
        return output.getvalue()


class Search(Repository):
    def test_the_first_bad_one_is_found_wherever_it_is(self):
        for at in range(1, 8):
            with self.subTest(at):
                names = self.commits(*["100"] * at, *["101"] * (8 - at))
                told = self.bisect(names[0], names[-1])
                self.assertIn(f"The first bad commit is\n{names[at][:7]}", told)
                self.assertIn(f"change {at}", told)
                self.assertIn("100 before, 101 with it", told)

    def test_less_than_one_more_is_not_bad(self):
        names = self.commits("100", "100.2", "100.1", "101.1", "101.1")
        self.assertIn("change 3", self.bisect(names[0], names[-1]))

    def test_commits_that_cannot_be_built_are_skipped(self):
        names = self.commits("100", "100", "broken", "100", "101", "101", "101")
        told = self.bisect(names[0], names[-1])
        self.assertIn("change 4", told)

    def test_if_only_such_are_left_they_are_named(self):
        names = self.commits("100", "100", "broken", "broken", "101")
        with self.assertRaisesRegex(runs.Failed, names[2]):
            self.bisect(names[0], names[-1])

    def test_ends_that_are_not_so(self):
        names = self.commits("100", "100", "100")
        with self.assertRaisesRegex(runs.Failed, "that is not worse"):
            self.bisect(names[0], names[-1])
        with self.assertRaises(Usage):
            self.bisect(names[-1], names[0])
        with self.assertRaises(Usage):
            self.bisect("nowhere", names[0])

    def test_the_checkout_is_left_as_it_is(self):
        names = self.commits("100", "100", "100", "101", "101")
        with open(os.path.join(self.root, "number"), "w", encoding="utf-8") as file:
            file.write("not committed\n")
        before = self.git("status", "--porcelain", "--branch")
        self.bisect(names[0], names[-1])
        self.assertEqual(self.git("status", "--porcelain", "--branch"), before)
        self.assertEqual(self.git("rev-parse", "HEAD"), names[-1])
        self.assertEqual(len(self.git("worktree", "list").splitlines()), 1)
        self.assertEqual(self.git("for-each-ref", "refs/bisect"), "")


def row(ratio, half, verdict="regressed"):
    return {"ratio": ratio, "lo": ratio - half, "hi": ratio + half, "verdict": verdict}


class Clocked(cmd_bisect.Timed):
    """By the clock, with rows in the place of what processes say."""

    ROWS = {}

    def __init__(self, name, good, seconds):  # pylint: disable=super-init-not-called
        self.name, self.seconds, self.limit = name, seconds, None

    def value(self, commit):
        return self.ROWS[builds.git("show", f"{commit}:value")]


class SearchByTheClock(Repository):
    ROWS = {"good": row(1.0, 0.02, "same"), "slow": row(1.44, 0.05), "broad": row(1.21, 0.3), "near": row(1.22, 0.05),
            "restless": row(1.0, 0.02, "unstable")}

    def clocked(self, *values):
        names = self.commits(*values)
        with mock.patch.object(cmd_bisect, "Timed", Clocked), mock.patch.object(Clocked, "ROWS", self.ROWS):
            return self.bisect(names[0], names[-1], "drain/encode/payload:32")

    def test_what_is_clear_is_found(self):
        self.assertIn("change 3", self.clocked("good", "good", "good", "slow", "slow", "slow"))

    def test_what_is_not_clear_is_skipped(self):
        for unclear in ("broad", "near", "restless"):
            with self.subTest(unclear):
                told = self.clocked("good", "good", unclear, "good", "slow", "slow")
                self.assertIn("change 4", told)
                self.assertIn("skipped: 1.", told)

    def test_and_never_blamed(self):
        with self.assertRaisesRegex(runs.Failed, "could not be judged"):
            self.clocked("good", "broad", "slow")


class Processors(unittest.TestCase):
    def test_what_is_measured_has_two_at_most_and_what_is_built_all(self):
        before, seen = os.sched_getaffinity(0), []
        with mock.patch.object(alternate, "measure_pinned", lambda *_: seen.append(os.sched_getaffinity(0))):
            alternate.measure(None, (), {}, 1, None, cmd_bisect.Progress())
        self.assertEqual(seen, [set(sorted(before)[:2])])
        self.assertEqual(os.sched_getaffinity(0), before)


class Trees(Repository):
    def test_a_revision_is_checked_out_once_and_again_if_it_is_not_whole(self):
        first, second = self.commits("1", "2")
        tree = builds.checkout(first)
        self.assertEqual(builds.git("show", "HEAD:value", root=tree), "1")
        self.assertEqual(builds.checkout(first), tree)
        os.remove(os.path.join(tree, ".whole"))
        os.remove(os.path.join(tree, "value"))
        self.assertTrue(os.path.exists(os.path.join(builds.checkout(first), "value")))
        self.assertEqual(self.git("rev-parse", "HEAD"), second)

    def test_another_compiler_is_another_tree(self):
        commit, = self.commits("1")
        compiler = os.path.join(self.root, "compiler")
        found = set()
        for version, flags in (("1.2.3", ""), ("1.2.4", ""), ("1.2.4", "-O1"), ("1.2.4", "-O1")):
            with open(compiler, "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\necho {version}\n")
            os.chmod(compiler, 0o755)
            with mock.patch.dict(os.environ, {"CC": compiler, "CFLAGS": flags}):
                found.add(builds.checkout(commit))
        with mock.patch.dict(os.environ, {"CC": "/nonexistent/compiler"}):
            found.add(builds.checkout(commit))
        self.assertEqual(len(found), 4)

    def test_trees_that_nobody_uses_are_removed(self):
        names = self.commits("1", "2", "3")
        trees = [builds.checkout(name) for name in names[:2]]
        whole = os.path.join(trees[0], ".whole")
        long_ago = os.stat(whole).st_mtime - builds.UNUSED_SECONDS - 10
        os.utime(whole, (long_ago, long_ago))
        builds.checkout(names[0])  # is used again, so that it stays
        builds.checkout(names[2])
        self.assertTrue(os.path.exists(trees[0]))
        os.utime(whole, (long_ago, long_ago))
        builds.prune(os.stat(builds.FOLDER).st_mtime)
        self.assertEqual([os.path.exists(tree) for tree in trees], [False, True])
        self.assertEqual(len(self.git("worktree", "list").splitlines()), 3)

    def test_names_of_revisions(self):
        first, second = self.commits("1", "2")
        self.assertEqual([builds.resolve("main~1"), builds.resolve(second[:9])], [first, second])
        for wrong in ("nope", "--help", "", "HEAD~9"):
            with self.subTest(wrong), self.assertRaises(Usage):
                builds.resolve(wrong)


class Words(unittest.TestCase):
    def test_wrong_words_end_with_two(self):
        for command, words in (("bisect", ["x"]), ("bisect", ["x", "--good", "HEAD", "--bad", "nowhere"]),
                               ("bisect", ["x", "--good", "HEAD", "--bad", "HEAD", "--seconds", "0"]),
                               ("ab", []), ("ab", ["--base", "nowhere"]), ("ab", ["--base", "HEAD", "--filter", "("]),
                               ("ab", ["--base", "HEAD", "--seconds", "x"])):
            with self.subTest(command=command, words=words):
                done = subprocess.run([sys.executable, "-B", os.path.join(HERE, f"cmd_{command}.py"), *words],
                                      capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    unittest.main()
