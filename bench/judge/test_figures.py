"""Figures in documents: blocks that are made from an entry, and sentences that no claim has."""
import contextlib
import io
import json
import os
import shutil
import tempfile
import unittest

import claims
import cmd_figures
import command
import figures
import figures_sentences
from points import Invalid

SPREAD = {"median": 1.02, "least": 0.99, "greatest": 1.04, "rounds": 7}
CELL = {"cell": {}, "verdict": "met", "reason": "", "measured": SPREAD, "interval": None, "bar": 1.05, "values": [1.02],
        "beside": []}
RESULT = {"id": "enabled", "claim": "An event costs the floor | about.", "where": [{"design": "enabled"}],
          "suite": "emit", "unit": "x",
          "bar": {"op": "<=", "value": 1.05}, "verdict": "met", "reason": "", "cells": [CELL]}
LATER = {**RESULT, "id": "later", "verdict": "not_built", "reason": "nobody has built it", "bar": None, "cells": []}
REPORT = {"v": 1, "command": "./dev bench claims", "commit": "0123abc", "date": "2026-01-01T00:00:00Z", "seconds": 1,
          "is_complete": True,
          "is_quick": False, "note": "", "environment": {"cpu": "A CPU", "cores": 2, "kernel": "Linux 6",
                                                         "compiler": "GNU 12"},
          "calibrations": {"clock": {"words": "clock read", "measured": {**SPREAD, "median": 10.4}}}, "settings": {},
          "claims": [RESULT, LATER]}
PEER = {"name": "weir:block", "case": "burst", "threads": 1, "rounds": 5, "budget_bytes": 1 << 22, "emitted": 1000,
        "ns_per_event": 20.5, "cpu_ns_per_event": 30, "of_floor": 1.1, "of_weir": 1, "delivered": 1000, "lost": 0,
        "bytes_per_event": 40.1, "skipped": None, "failed": None,
        "least": {"ns_per_event": 19, "of_floor": 1, "of_weir": 1},
        "greatest": {"ns_per_event": 22, "of_floor": 1.2, "of_weir": 1}}
NOBODY = {**PEER, "name": "nobody", "rounds": 0, "skipped": "no package <nobody>"}
PEERS = {"v": 1, "commit": "0123abc", "environment": REPORT["environment"],
         "rows": [PEER, NOBODY, {**PEER, "case": "flood", "threads": 4}]}
BLOCK = "<!-- figures: claims-table from results/one -->\n<!-- end -->"


class Tree(unittest.TestCase):
    """A checkout with a README, an entry, and one claim."""

    def setUp(self):
        self.root = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.root)
        self.write("results/one/claims.json", json.dumps(REPORT))
        self.write("results/two/claims.json", json.dumps({**REPORT, "commit": "7654def"}))
        self.write("bench/claims/samples.json", json.dumps({"calibrations": {},
                                                            "samples": {"gate": {"source": "count"}}}))
        self.write("bench/claims/no_claims.json", json.dumps({"no_claims": []}))
        self.claim("README.md", "An event costs 9 ns.")
        self.write("README.md", "# Weir\n\nAn event costs\n9 ns. It is good.\n")

    def write(self, name, text):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name):
        with open(os.path.join(self.root, name), encoding="utf-8") as file:
            return file.read()

    def claim(self, file, text):
        claim = {"id": "cost", "claim": "Cheap.", "where": [{"file": file, "text": text}], "suite": "emit",
                 "state": "built", "unit": "",
                 "measure": "gate.x", "bar": {"op": "<=", "value": 0}}
        self.write("bench/claims/all.json", json.dumps({"claims": [claim]}))

    def command(self, *words):
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            code = cmd_figures.main(["--root", self.root, *words])
        return code, said.getvalue()

    def wrong(self, words):
        code, said = self.command("--check")
        self.assertEqual(code, 1, said)
        self.assertRegex(said, words)

    def right(self):
        code, said = self.command("--check")
        self.assertEqual((code, said), (0, ""))


class Blocks(Tree):
    def test_written_then_up_to_date(self):
        self.write("README.md",
                   f"# Weir\nAn event costs 9 ns.\n{BLOCK}\n\n"
                   "It takes <!-- figures: value enabled from results/one --><!-- end -->.\n"
                   "<!-- figures: verdicts from results/one --><!-- end -->\n")
        self.wrong("README.md: a block of figures is not what its entry makes")
        self.assertEqual(self.command()[0], 0)
        text = self.read("README.md")
        self.assertIn("| An event costs the floor \\| about. | 1.02 x (0.990–1.04) | ≤ 1.05 x | met |", text)
        self.assertIn("\\| about.<br><sub>nobody has built it</sub> | – | – | **not built** |", text)
        self.assertIn("on A CPU, 2 cores, Linux 6, GNU 12, commit 0123abc: [results/one](results/one).", text)
        self.assertIn("<!-- figures: value enabled from results/one -->1.02 x (0.990–1.04)<!-- end -->.", text)
        self.assertIn("-->1 met, 1 not built<!-- end -->", text)
        self.right()
        self.assertEqual(self.command(), (0, ""))

    def test_stale(self):
        self.write("README.md", f"An event costs 9 ns.\n{BLOCK}\n")
        self.command()
        self.write("README.md", self.read("README.md").replace("1.02 x", "0.52 x"))
        self.wrong("not what its entry makes")

    def test_another_entry(self):
        self.write("README.md", f"An event costs 9 ns.\n{BLOCK}\n")
        self.command("--entry", "results/two")
        self.assertIn("<!-- figures: claims-table from results/two -->", self.read("README.md"))
        self.assertIn("commit 7654def", self.read("README.md"))
        self.right()
        for entry in ("results/three", "bench", "results"):
            with self.subTest(entry), self.assertRaises(command.Usage):
                self.command("--entry", entry)

    def test_chosen_claims_and_links_from_a_folder(self):
        self.write("bench/README.md", BLOCK.replace("claims-table", "claims-table later"))
        self.command()
        text = self.read("bench/README.md")
        self.assertNotIn("1.02", text)
        self.assertIn("[results/one](../results/one)", text)

    def test_peers(self):
        self.write("results/one/peers.json", json.dumps(PEERS))
        block = BLOCK.replace("claims-table", "peers-table burst")
        self.write("README.md", f"An event costs 9 ns.\n{block}\n")
        self.command()
        text = self.read("README.md")
        self.assertIn("| weir:block | 20.5 (19.0..22.0) | 30.0 | 1.10 (1.00..1.20) |", text)
        self.assertIn("Not measured: nobody: no package \\<nobody\\>.", text)
        self.assertIn("by `./dev bench peers` on A CPU, 2 cores", text)
        self.assertNotIn("flood", text)
        self.right()
        self.write("README.md", f"An event costs 9 ns.\n{block.replace(' burst', '')}\n")
        self.command()
        self.assertIn("flood, threads 4, budget 4 MiB", self.read("README.md"))
        self.write("README.md", f"An event costs 9 ns.\n{block.replace('burst', 'calm')}\n")
        self.wrong("there is no case 'calm'")
        for broken in ({}, [], {"rows": [{}]}):
            self.write("results/one/peers.json", json.dumps(broken))
            self.wrong("not what ./dev bench peers writes")
        os.remove(os.path.join(self.root, "results/one/peers.json"))
        self.wrong("has no peers.json; ./dev bench peers -o makes one")

    def test_markers_that_make_no_sense(self):
        for text, words in ((BLOCK.replace("<!-- end -->", ""), "README.md:2: the block is not ended"),
                            ("<!-- end -->", "README.md:2: .*ends nothing"),
                            (BLOCK.replace("<!-- end -->", BLOCK),
                             "README.md:2: the block is not ended by '<!-- end -->' before the next"),
                            (BLOCK.replace("claims-table", "everything"), "is not 'claims-table"),
                            (BLOCK.replace("results/one", "bench"), "is not 'claims"),
                            (BLOCK.replace("results/one", "results/nine"), "results/nine has no claims.json"),
                            (BLOCK.replace("claims-table", "claims-table gone"), "there is no claim 'gone'"),
                            (BLOCK.replace("claims-table", "value enabled later"),
                             "'value' takes the name of one claim"),
                            (BLOCK.replace("claims-table", "value"), "'value' takes the name of one claim"),
                            (BLOCK.replace("claims-table", "value later"), "has no figure of 'later'"),
                            (BLOCK.replace("claims-table", "verdicts later"), "'verdicts' none")):
            with self.subTest(words):
                self.write("README.md", f"An event costs 9 ns.\n{text}\n")
                self.wrong(words)
                with self.assertRaises(Invalid):
                    self.command()

    def test_entries_that_show_nothing(self):
        self.write("README.md", f"An event costs 9 ns.\n{BLOCK}\n")
        for report, words in (({**REPORT, "is_complete": False}, "partial run"),
                              ({**REPORT, "is_quick": True}, "quick run"),
                              ({**REPORT, "v": 2}, "1 was expected"), ({}, "required property")):
            with self.subTest(words):
                self.write("results/one/claims.json", json.dumps(report))
                self.wrong(words)
        self.write("results/one/claims.json", "{")
        self.wrong("results/one/claims.json: ")

    def test_nothing_is_written_if_one_block_is_wrong(self):
        text = f"An event costs 9 ns.\n{BLOCK}\n{BLOCK.replace('claims-table', 'value gone')}\n"
        self.write("README.md", text)
        with self.assertRaises(Invalid):
            self.command()
        self.assertEqual(self.read("README.md"), text)


class Sentences(Tree):
    def test_claimed_over_a_wrapped_line(self):
        self.right()

    def test_unclaimed(self):
        for sentence, figure in (("A drop takes 3.5 ns at most.", "3.5 ns"),
                                 ("It does 40 M events/s.", "40 M events/s"),
                                 ("Encodes 100 million events a second.", "100 million events a second"),
                                 ("It is 4 x as fast.", "4 x"),
                                 ("Stops within 5 ms.", "5 ms"), ("It is ten times faster.", "ten times"),
                                 ("Saves 30 % of it.", "30 %"),
                                 ("A wake costs about a microsecond.", "a microsecond"),
                                 ("The check costs nothing.", "costs nothing"),
                                 ("At most 1.05 of the floor.", "1.05 of the floor"), ("Writes 3 GB/s.", "3 GB/s"),
                                 ("It is nine tenths of it.", "nine tenths of")):
            with self.subTest(sentence):
                self.write("README.md", f"An event costs 9 ns. {sentence}\n")
                self.wrong(f"README.md:1: no claim says '{figure}' in: {sentence}")

    def test_no_figure_of_speed(self):
        self.write("README.md",
                   "An event costs 9 ns. A second stop waits for the first. Debian 12, as root; 64 threads, 32 KiB, "
                   "0x1, 65,535 bytes; seconds matter; four as in 4 as.\n```\nsleep 10 s\n```\n")
        self.right()

    def test_exceptions_need_their_words(self):
        self.write("README.md", "An event costs 9 ns. It waits 5 ms.\n")
        self.write("bench/claims/no_claims.json", json.dumps({"no_claims": [{"file": "README.md",
                                                                             "text": "It waits 5 ms.",
                                                                             "why": "a deadline"}]}))
        self.right()
        self.write("README.md", "An event costs 9 ns. It waits.\n")
        self.wrong("README.md: 'It waits 5 ms.' is gone; change or remove it in no_claims.json")

    def test_claims_whose_words_or_file_are_gone(self):
        self.write("README.md", "An event is cheap.\n")
        self.wrong("README.md: 'An event costs 9 ns.' is gone; change or remove it in claim cost")
        self.claim("GONE.md", "An event costs 9 ns.")
        self.wrong("GONE.md: there is no such file; claim cost names it")

    def test_headers(self):
        self.claim("core/include/weir/a.h", "blocks for 20 ms at most")
        self.write("README.md", "Nothing.\n")
        self.write("core/include/weir/a.h",
                   "/* It\n * blocks for 20\n * ms at most. */\nint ms_20; // waits 7 ms\nint x = 5 ms;\n")
        self.wrong("core/include/weir/a.h:4: no claim says '7 ms'")
        self.write("core/include/weir/a.h", "/* It\n * blocks for 20\n * ms at most. */\nint x = 5 ms;\n")
        self.right()

    def test_entries_and_builds_are_not_searched(self):
        for name in ("results/one/notes.md", "build/a.md", "out/a.md", "bench/page/node_modules/a.md", ".github/a.md"):
            self.write(name, "It took 9 ns.\n")
        self.right()

    def test_generated_blocks_are_not_searched(self):
        self.write("README.md", f"An event costs 9 ns.\n{BLOCK}\n")
        self.command()
        self.assertIn("10.4 ns", self.read("README.md"))
        self.right()

    def test_usage(self):
        with self.assertRaises(SystemExit) as caught, contextlib.redirect_stderr(io.StringIO()):
            cmd_figures.main(["--check", "--entry", "results/one"])
        self.assertEqual(caught.exception.code, 2)


class Project(unittest.TestCase):
    def test_finds_its_own(self):
        files = figures_sentences.documents(claims.points.ROOT)
        for name in ("README.md", "core/README.md", "bench/README.md", "core/include/weir/session.h"):
            self.assertIn(name, files)
        self.assertFalse([name for name in files if name.startswith(("build", "results/2"))])
        self.assertEqual(list(figures.blocks_of("no block", "x")), [])


if __name__ == "__main__":
    unittest.main()
