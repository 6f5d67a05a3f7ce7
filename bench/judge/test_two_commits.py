"""The comment and the graph of two commits, made here as CI makes them: ./dev bench ab, then ./dev bench plot. Builds
both."""
import os
import subprocess
import sys
import unittest
import xml.etree.ElementTree

from bench.judge import points, reports, repository, samples


def git(*arguments):
    return repository.done(points.ROOT, *arguments)


def commits():
    """The last two of this checkout; the last one twice where the one before is not there."""
    names = git("rev-list", "--first-parent", "--max-count=2", "HEAD").stdout.split()
    if not names:
        return None
    return names[-1], names[0]


class TwoCommits(samples.Folder):
    def test_comment_and_graph(self):
        if commits() is None:
            self.skipTest("not a checkout")
        base, head = commits()
        path = self.path("report.json")
        # 1 is a verdict too: it is not speed that is tested here.
        done = subprocess.run([sys.executable, "-B", "-m", "bench.judge.cmd_ab", "--base", base, "--head", head,
                               "--seconds", "10",
                               "--filter", "emit/dropped", "--report", path], capture_output=True, text=True,
                              check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        self.assertTrue(os.path.exists(path), done.stderr)
        report = reports.read(path)
        self.assertEqual((report["base"], report["head"]), (base[:12], head[:12]))
        self.command("plot", "--report", path, "-o", self.path("pr"))
        comment = self.text("pr", "comment.md")
        self.assertIn(f"`{base[:12]}` → `{head[:12]}`", comment)
        self.assertIn(f"./dev bench ab --base {base[:12]} --head {head[:12]}", comment)
        texts = [element.text for element in xml.etree.ElementTree.fromstring(self.text("pr", "graph.svg")).iter()]
        for row in report["clock"]:
            self.assertIn(f"`{row['bench']}`", comment)
            self.assertIn(row["bench"], texts)
        self.assertTrue(report["clock"] or report["gate"], done.stderr)


if __name__ == "__main__":
    unittest.main()
