"""The picture of what arrives: what is in the file is in it, the same each time; bad files are refused in one line."""
import os
import re
import unittest
import xml.etree.ElementTree

from bench.judge import cmd_picture, samples

ENVIRONMENT = {**samples.ENVIRONMENT, "cpu": "Some <CPU> & more"}
SHARES = {"weir:block": 1, "weir:drop": 0.25, "weir:overwrite": 0.025, "lttng:blocking": 0.8125, "lttng:discard": 0.5,
          "eventpipe:1MB": 0.0125}


def row_of(name, threads, share):
    return {"name": name, "case": "flood", "threads": threads, "emitted": 1_000_000, "delivered": 1_000_000 * share,
            "rounds": 5, "seconds": 0.0123 * threads, "skipped": None, "failed": None, "budget_bytes": 1 << 20,
            "note": "4 sub-buffers of 128 KiB for each of 2 processors" if name.startswith("lttng") else ""}


def result_of(**changes):
    rows = [row_of(name, threads, share) for name, share in SHARES.items() for threads in (1, 4, 16)]
    return {"v": 1, "commit": "0123456789ab", "environment": ENVIRONMENT, "rows": rows} | changes


class Picture(samples.Folder):
    def draw(self, content, code=0):
        """The picture, or why there is none."""
        output = self.path("delivered.svg")
        done = self.command("picture", self.write("peers.json", content), "-o", output, code=code)
        self.assertEqual(os.path.exists(output), code == 0)
        return done.stderr if code else self.text("delivered.svg")

    @staticmethod
    def words(svg):
        return [" ".join("".join(element.itertext()).split())
                for element in xml.etree.ElementTree.fromstring(svg).iter() if element.tag.endswith("}text")]

    def test_what_it_says(self):
        words = self.words(self.draw(result_of()))
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
        svg = self.draw(result_of())
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
        words = self.words(self.draw(result))
        self.assertEqual(words.count("not measured"), 3)

    def test_refused(self):
        bad_row = result_of()
        bad_row["rows"][0]["delivered"] = 2_000_000
        no_figure = result_of()
        no_figure["rows"][0]["seconds"] = None
        for content, reason in (("{", "peers.json: Expecting property name"), ([], "not of type 'object'"),
                                ('{"rows": NaN}', "not JSON"), (result_of(commit="<b>"), "commit"),
                                (result_of(rows=[]), "no flood of weir:block"),
                                (bad_row, "more was delivered than emitted"), (no_figure, "seconds: None")):
            with self.subTest(reason):
                said = self.draw(content, code=1)
                self.assertEqual(len(said.splitlines()), 1, said)
                self.assertIn(reason, said)


if __name__ == "__main__":
    unittest.main()
