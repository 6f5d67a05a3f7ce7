"""./dev bench figures: tables in documents that are made from an entry."""
import unittest

from bench.judge import metrics, points, samples

PEER = {"name": "DPDK", "unit": "x", "peer": True, "measured": {"median": 1.01, "least": 1, "greatest": 1, "rounds": 3}}
CELL = {"cell": {}, "verdict": "missed", "reason": "", "interval": None, "bar": 1.05, "beside": [PEER],
        "measured": {"median": 1.52, "least": 1.49, "greatest": 1.54, "rounds": 7}}
RESULT = {"id": "enabled", "name": "An event | of the floor", "unit": "x", "bar": "<= 1.05", "of": "median",
          "verdict": "missed", "reason": "", "cells": [CELL]}
LATER = RESULT | {"id": "later", "name": "Heap", "verdict": "not_built", "reason": "nobody has built it", "bar": None,
                  "cells": []}
REPORT = {"v": 2, "commit": "0123abc", "is_complete": True, "note": "", "settings": {},
          "environment": {"cpu": "A CPU", "cores": 2, "kernel": "Linux 6", "compiler": "GNU 12"},
          "calibrations": {"clock": {"name": "clock read", "measured": CELL["measured"] | {"median": 10.4}}},
          "claims": [RESULT, LATER]}
BLOCK = "<!-- figures: short enabled from results/one -->\n<!-- end -->"


class Tables(samples.Folder):
    def setUp(self):
        super().setUp()
        self.write("results/one/claims.json", points.compact(REPORT))
        self.write("results/two/claims.json", points.compact(REPORT | {"commit": "7654def"}))
        self.write("results/one/notes.md", BLOCK.replace("one", "nothing"))  # an entry is never searched

    def figures(self, *words, code=0):
        done = self.command("figures", "--root", self.folder, *words, code=code)
        return done.stdout + done.stderr

    def test_what_rounding_left_is_told_as_nothing(self):
        self.assertEqual(metrics.told(-3.5e-13, "ns", (-0.0005, 0.001)), "0 ns (-0.000500–0.00100)")
        self.assertEqual(metrics.told(3.5e-13, "ns"), "3.50e-13 ns")

    def test_made_once_then_up_to_date(self):
        self.write("README.md", f"Before.\n{BLOCK}\nAfter.\n")
        self.write("bench/README.md", BLOCK.replace("short enabled", "all"))
        self.figures("--check", code=1)
        self.figures()
        text = self.text("README.md")
        self.assertIn("| An event \\| of the floor | 1.52 x (1.49–1.54) | 1.01 x, DPDK | ≤ 1.05 x, **missed** |", text)
        self.assertIn("on A CPU, 2 cores, Linux 6, GNU 12, commit 0123abc: [results/one](results/one).", text)
        self.assertTrue(text.startswith("Before.\n") and text.endswith("<!-- end -->\nAfter.\n"))
        self.assertIn("| Heap | – | – | **not built** | nobody has built it |", self.text("bench", "README.md"))
        self.assertIn("[results/one](../results/one)", self.text("bench", "README.md"))
        self.assertEqual((self.figures("--check"), self.figures()), ("", ""))
        self.write("README.md", text.replace("1.52", "0.52"))
        self.figures("--check", code=1)

    def test_another_entry(self):
        self.write("README.md", BLOCK)
        self.figures("--entry", "results/two")
        self.assertIn("from results/two -->", self.text("README.md"))
        self.assertIn("commit 7654def", self.text("README.md"))
        for entry in ("results/three", "bench", "results"):
            self.figures("--entry", entry, code=2)

    def test_refused_and_nothing_written(self):
        self.write("AAA.md", BLOCK)
        for text, reason in ((BLOCK[:-12], "README.md: '<!-- figures:' is not"), ("<!-- end -->", "is not"),
                             (BLOCK.replace("short", "value"), "is not"), (BLOCK.replace("results/one", "bench"), "is not"),
                             (BLOCK.replace("one", "nine"), "has no claims.json"),
                             (BLOCK.replace("enabled", "gone"), "no claim 'gone'"), (BLOCK.replace(" enabled", ""), "takes"),
                             (BLOCK.replace("enabled", "enabled " * 8 + "later"), "one to 8")):
            self.write("README.md", text)
            self.assertIn(reason, self.figures(code=1))
        self.assertEqual(self.text("AAA.md"), BLOCK)

    def test_entries_that_show_nothing(self):
        self.write("README.md", BLOCK)
        for changes, reason in (({"is_complete": False}, "partial"),
                                ({"v": 1}, "not what"), ({"claims": [{"id": "enabled"}]}, "not what")):
            self.write("results/one/claims.json", points.compact(REPORT | changes))
            self.assertIn(reason, self.figures("--check", code=1))

    def test_the_projects_documents_are_up_to_date(self):
        self.command("figures", "--check")


if __name__ == "__main__":
    unittest.main()
