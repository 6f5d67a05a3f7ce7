"""cmd_bisect.py and builds.py on a small repository: the search, skipped commits, ends that are not as they are said to
be, and that nothing of the user's checkout moves."""
import os
import sys
from unittest import mock

from bench.judge import builds, cmd_bisect, process, samples
from bench.judge.command import Usage

# In the place of ./dev bench ab: a commit's file `value` against that of the base, one more is worse.
AB = '''import subprocess, sys
word = dict(zip(sys.argv[1::2], sys.argv[2::2]))
assert word["--figure"] == "emit/x/instructions" and word["--seconds"] == "60"
show = lambda commit: subprocess.run(["git", "-C", "{root}", "show", commit + ":value"], capture_output=True, text=True).stdout
base, head = show(word["--base"]).strip(), show(word["--head"]).strip()
sys.exit(125 if head == "broken" else int(float(head) >= float(base) + 1))
'''


class Repository(samples.Folder):
    def setUp(self):
        super().setUp()
        outside, self.folder = self.folder, os.path.join(self.folder, "checkout")
        script = self.write("../ab.py", AB.replace("{root}", self.folder))
        for patch in (mock.patch.object(process, "ROOT", self.folder),
                      mock.patch.object(builds, "FOLDER", os.path.join(outside, "builds")),
                      mock.patch.object(cmd_bisect, "TREE", os.path.join(outside, "bisect")),
                      mock.patch.object(cmd_bisect, "AB", [sys.executable, script])):
            patch.start()
            self.addCleanup(patch.stop)
        os.makedirs(self.folder, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def values(self, *values):
        """One commit each; their names."""
        names = []
        for number, value in enumerate(values):
            self.write("value", f"{value}\n")
            self.write("number", f"{number}\n")
            self.git("add", "-A")
            self.git("commit", "--quiet", "-m", f"change {number}")
            names.append(self.git("rev-parse", "HEAD"))
        return names

    def bisect(self, good, bad, code=0):
        return self.command("bisect", "emit/x/instructions", "--good", good, "--bad", bad, code=code)


class Search(Repository):
    def test_the_first_bad_one_is_found_past_those_that_cannot_be_judged(self):
        for values, expected in ((["100", "101", "101", "101"], 1), (["100", "100.2", "100.1", "100.1", "101.1"], 4),
                                 (["100", "100", "broken", "100", "101", "101", "101"], 4)):
            with self.subTest(values):
                names = self.values(*values)
                self.assertIn(f"The first bad commit is\n{names[expected][:7]}", self.bisect(names[0], names[-1]).stdout)

    def test_ends_and_searches_that_lead_nowhere(self):
        names = self.values("100", "100", "broken", "broken", "101")
        self.assertIn("could not be judged", self.bisect(names[0], names[-1], code=1).stderr)
        self.assertIn("not shown to be worse", self.bisect(names[0], names[1], code=1).stderr)
        for good, bad in ((names[-1], names[0]), ("nowhere", names[0])):
            self.bisect(good, bad, code=2)

    def test_the_checkout_is_left_as_it_is(self):
        names = self.values("100", "100", "100", "101", "101")
        self.write("number", "not committed\n")
        before = self.git("status", "--porcelain", "--branch")
        self.bisect(names[0], names[-1])
        self.assertEqual(self.git("status", "--porcelain", "--branch"), before)
        self.assertEqual(self.git("rev-parse", "HEAD"), names[-1])
        self.assertEqual(len(self.git("worktree", "list").splitlines()), 1)
        self.assertEqual(self.git("for-each-ref", "refs/bisect"), "")


class Trees(Repository):
    def test_a_revision_is_checked_out_once_for_each_compiler_and_again_if_it_is_not_whole(self):
        first, second = self.values("1", "2")
        tree = builds.checkout(first)
        self.assertEqual(process.git("show", "HEAD:value", root=tree), "1")
        self.assertEqual(builds.checkout(first), tree)
        with mock.patch.dict(os.environ, {"CFLAGS": "-O1"}):
            self.assertNotEqual(builds.checkout(first), tree)
        os.remove(os.path.join(tree, ".whole"))
        os.remove(os.path.join(tree, "value"))
        self.assertTrue(os.path.exists(os.path.join(builds.checkout(first), "value")))
        self.assertEqual(self.git("rev-parse", "HEAD"), second)

    def test_trees_that_nobody_uses_are_removed(self):
        names = self.values("1", "2", "3")
        trees = [builds.checkout(name) for name in names[:2]]
        long_ago = os.stat(trees[0]).st_mtime - builds.UNUSED_SECONDS - 10
        os.utime(trees[0], (long_ago, long_ago))
        builds.checkout(names[0])  # is used again, so that it stays
        builds.checkout(names[2])
        self.assertTrue(os.path.exists(trees[0]))
        os.utime(trees[0], (long_ago, long_ago))
        builds.prune(os.stat(builds.FOLDER).st_mtime)
        self.assertEqual([os.path.exists(tree) for tree in trees], [False, True])

    def test_names_of_revisions(self):
        first, second = self.values("1", "2")
        self.assertEqual([builds.resolve("main~1"), builds.resolve(second[:9])], [first, second])
        for wrong in ("nope", "--help", "", "HEAD~9"):
            with self.subTest(wrong), self.assertRaises(Usage):
                builds.resolve(wrong)


class Words(samples.Folder):
    def test_wrong_words_end_with_two(self):
        for name, *words in (("bisect", "x"), ("bisect", "x", "--good", "HEAD", "--bad", "nowhere"),
                             ("bisect", "x", "--good", "HEAD", "--bad", "HEAD", "--seconds", "0"), ("ab",),
                             ("ab", "--base", "nowhere"), ("ab", "--base", "HEAD", "--filter", "("),
                             ("ab", "--base", "HEAD", "--seconds", "x")):
            self.command(name, *words, code=2)


if __name__ == "__main__":
    samples.unittest.main()
