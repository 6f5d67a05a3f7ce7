"""The picture of what arrives: what is in the file is in it, the same each time; bad files are refused in one line."""
import contextlib
import io
import json
import os
import re
import sys
import tempfile
import unittest
from unittest import mock
import xml.etree.ElementTree

from bench.judge import cmd_picture

ENVIRONMENT = {"runner": "x", "cpu": "Some <CPU> & more", "cores": 2, "kernel": "Linux 6", "compiler": "GNU 12",
               "clock_source": "tsc", "governor": "unknown", "load": "0"}
SHARES = {"weir:block": 1, "weir:drop": 0.25, "weir:overwrite": 0.025, "lttng:blocking": 0.8125, "lttng:discard": 0.5,
          "eventpipe:1MB": 0.0125}


def row_of(name, threads, share):
    return {"name": name, "case": "flood", "threads": threads, "emitted": 1_000_000, "delivered": 1_000_000 * share,
            "rounds": 5, "seconds": 0.0123 * threads, "skipped": None, "failed": None, "budget_bytes": 1 << 20,
            "note": "4 sub-buffers of 128 KiB for each of 2 processors" if name.startswith("lttng") else ""}


def result_of(**changes):
    rows = [row_of(name, threads, share) for name, share in SHARES.items() for threads in (1, 4, 16)]
    return {"v": 1, "commit": "0123456789ab", "environment": ENVIRONMENT, "rows": rows} | changes


class Picture(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.source, self.output = os.path.join(folder.name, "peers.json"), os.path.join(folder.name, "delivered.svg")

    def run_command(self, source, output):
        """Exit code, and what it says on standard error."""
        err = io.StringIO()
        with mock.patch.object(sys, "argv", ["picture", source, "-o", output]), \
                contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err), \
                self.assertRaises(SystemExit) as ended:
            cmd_picture.command.run("picture", cmd_picture.main)
        return ended.exception.code, err.getvalue()

    def draw(self, text):
        with open(self.source, "w", encoding="utf-8") as file:
            file.write(text if isinstance(text, str) else json.dumps(text))
        return self.run_command(self.source, self.output)

    def drawn(self, result):
        self.assertEqual(self.draw(result), (0, ""))
        with open(self.output, "rb") as file:
            return file.read()

    @staticmethod
    def words(svg):
        return [" ".join("".join(element.itertext()).split())
                for element in xml.etree.ElementTree.fromstring(svg).iter() if element.tag.endswith("}text")]

    def test_what_it_says(self):
        words = self.words(self.drawn(result_of()))
        self.assertIn("1,000,000 events through 1 MiB of buffers: how many arrive", words)
        for expected in ("1 thread", "4 threads", "16 threads", *(label for _, label, _ in cmd_picture.SYSTEMS)):
            self.assertIn(expected, words)
        self.assertEqual(words.count("1,000,000 delivered, none lost"), 3)
        self.assertEqual(words.count("12,500 delivered, 98.8 % lost"), 3)
        self.assertEqual(words.count("200 ms"), 6)
        foot = " ".join(words)
        for expected in ("Some <CPU> & more", "commit 0123456789ab", "4 sub-buffers of 128 KiB", "medians of 5 rounds"):
            self.assertIn(expected, foot)

    def test_bars_have_their_lengths(self):
        """The blue bar of each cell against the whole."""
        svg = self.drawn(result_of()).decode()
        path = r'<path d="M ([\d.]+) [\d.]+ \nL ([\d.]+) [^"]*" clip-path="[^"]*" style="fill: #0072b2'
        paths = re.findall(path, svg)
        widths = [abs(float(end) - float(start)) for start, end in paths]
        self.assertEqual(len(widths), 18)
        for number, share in enumerate(SHARES.values()):
            self.assertAlmostEqual(widths[number] / widths[0], share, places=3)

    def test_missing_peers(self):
        result = result_of()
        for row in result["rows"]:
            if row["name"].startswith("eventpipe"):
                row |= {"skipped": "no .NET SDK", "delivered": None, "seconds": None, "rounds": 0}
        words = self.words(self.drawn(result))
        self.assertEqual(words.count("not measured"), 3)

    def test_refused(self):
        bad_row = result_of()
        bad_row["rows"][0]["delivered"] = 2_000_000
        no_figure = result_of()
        no_figure["rows"][0]["seconds"] = None
        for text, reason in (("{", "peers.json: Expecting property name"), ("[]", "has no rows"), ({"rows": 5}, "has no rows"),
                             ('{"rows": NaN}', "not JSON"), (result_of(commit="<b>"), "commit"),
                             (result_of(environment={}), "is a required property"),
                             (result_of(rows=[]), "no flood of weir:block"),
                             (bad_row, "more was delivered than emitted"), (no_figure, "are not there")):
            with self.subTest(reason):
                status, said = self.draw(text)
                self.assertEqual((status, len(said.splitlines())), (1, 1), said)
                self.assertIn(reason, said)
                self.assertFalse(os.path.exists(self.output))


if __name__ == "__main__":
    unittest.main()
