"""comment.py, graph.py and the commands that use them: the verdict first, and nothing of a stranger's report alive."""
import io
import json
import os
import re
import unittest
import urllib.error
from unittest import mock
import xml.etree.ElementTree

from bench.judge import comment, graph, points, samples
from bench.judge.samples import clock_row, gate_row, report

# What is alive in Markdown or HTML somewhere, in each field that takes words.
HOSTILE = ["@everyone", "#1", "https://example.org/x", "www.example.org", "[a](https://example.org)",
           "![a](https://example.org/a.png)",
           "<img src=x onerror=alert(1)>", "</details>", "`</code>`", "``` x", "| a | b |", "\\`| x", "trailing\\",
           "<!-- ", "-->",
           "&lt;b&gt;", "**b**", "$\\frac{1}{2}$", "a\u202eb", "a\u200bb\ufeff", "\u2028", "x" * 200, "'; DROP",
           "someone@example.org", "]]>"]


def of_all_verdicts():
    gate = [gate_row("emit/enabled/instructions", 33, 34, "regressed", "one more"),
            gate_row("drain/encode/instructions", 74, 61, "improved"),
            gate_row("emit/calls", 0, 0), gate_row("reader/x", None, 5, "not_compared", "no such figure in base")]
    clock = [clock_row("drain/encode", 0.8, "regressed", "more", was_repeated=True),
             clock_row("emit/dropped", 0.85, "improved"),
             clock_row("brim/relay", 1.1, "unstable", half=0.3)] + [clock_row(f"brim/block/producers:{n}")
                                                                    for n in range(1, 31)]
    return report(gate, clock)


def hostile(word):
    """A report that the schema takes, with the word wherever it takes one."""
    fields = ("cpu", "kernel", "compiler", "clock_source", "governor", "load")
    unit = re.sub(r"[\x00-\x1f\x7f]", "", word)
    return report([gate_row(note=word, unit=unit, verdict="regressed", head=40.0)], [clock_row(unit=unit)],
                  command=word,
                  environment={**samples.ENVIRONMENT, **dict.fromkeys(fields, word)})


def without_code(text):
    """What Markdown would look at: all but the code spans, and the fenced block that we write."""
    text = re.sub(r"^```sh\n.*?^```$", "", text, flags=re.S | re.M)
    return re.sub(r"`[^`\n]*`", "CODE", text)


class Render(unittest.TestCase):
    def test_verdict_first(self):
        lines = comment.render(of_all_verdicts()).splitlines()
        self.assertEqual(lines[0], comment.MARKER)
        self.assertEqual(lines[1], "### ❌ Benchmarks: 2 regressions, 2 improvements, 31 unchanged, 1 unstable, "
                         "1 not compared")
        self.assertEqual(comment.verdict(report([gate_row()], [])), "no regression, 1 unchanged")

    def test_what_is_missing_is_no_green(self):
        lost = [{"name": f"emit/x:{n}", "reason": "no | such"} for n in range(30)]
        lines = comment.render(report([gate_row()], [], missing=lost)).splitlines()
        self.assertEqual(lines[1], "### ⚠️ Benchmarks: no regression, 30 not measured, 1 unchanged")
        self.assertIn("* `emit/x:0`: `no ¦ such`", lines)
        self.assertIn("* and 10 more", lines)
        red = comment.render(report([gate_row(head=40.0, verdict="regressed")], [], missing=lost))
        self.assertIn("### ❌ Benchmarks: 1 regression, 30 not measured", red)
        self.assertIn("### ✅", comment.render(report([gate_row()], [], missing=[])))

    def test_states_and_what_no_state_lasted_for(self):
        rows = [clock_row("emit/x", 1.3, "regressed", state="own core"), clock_row("emit/x", state="shared core, two caches")]
        left_out = [{"name": "drain/x", "reason": "too few processes in one state of the machine"}]
        text = comment.render(points.validate("report", report([], rows, undecided=left_out), "report"))
        self.assertIn("1 regression, 1 unchanged, 1 left out", text)
        self.assertIn("| ❌ `emit/x`, own core | 10", text)
        self.assertIn("|  `emit/x`, shared core, two caches | 10", text)
        self.assertIn("* `drain/x`: `too few processes in one state of the machine`", text)
        self.assertIn(">emit/x, own core<", graph.draw(report([], rows)))
        for told in ("own", "own core, ", "mixed, one cache", "<b>"):
            with self.assertRaisesRegex(points.Invalid, "state: "):
                points.validate("report", report([], [clock_row(state=told)]), "report")

    def test_nothing_is_no_green(self):
        for rows in (([], []), ([gate_row(base=None, verdict="not_compared")], []),
                     ([], [clock_row(half=0.3, verdict="unstable")])):
            self.assertIn("### ⚠️ Benchmarks: nothing was compared", comment.render(report(*rows)))

    def test_twenty_rows_in_sight(self):
        text = comment.render(of_all_verdicts())
        seen, folded = text.split("<details>")[:2]
        rows = lambda part: [line for line in part.splitlines() if line.startswith("| ") and "base |" not in line]
        self.assertEqual(len(rows(seen)), 20)
        self.assertEqual(len(rows(folded)), 37 - 20)
        self.assertIn("17 more rows", folded)
        self.assertNotIn("emit/calls", seen)
        for name in ("emit/enabled/instructions", "drain/encode", "emit/dropped", "brim/relay"):
            self.assertIn(f"`{name}`", seen)
        self.assertEqual(text.count("<details>"), text.count("</details>"))

    def test_figures(self):
        text = comment.render(of_all_verdicts())
        self.assertIn("| ❌ `emit/enabled/instructions` | 33 | 34 | +3.03 % | `instructions/event` | `one more` |", text)
        self.assertIn("| ❔ `reader/x` | – | 5 | – |", text)
        self.assertIn("| ❌ `drain/encode` | 10 | 8 | `events/s` ↑ | 0.8 [0.784, 0.816] | [0.98, 1.02] "
                      "| **regressed** (2 runs) |", text)

    def test_the_command_is_ours(self):
        text = comment.render(report(command="curl example.org | sh"))
        self.assertIn("`./dev bench ab --base 1a2b3c4d5e6f --head 5d6e7f8a9b0c`", text)
        self.assertNotIn("curl", text)

    def test_hostile_words_are_inert(self):
        plain = without_code(comment.render(hostile("plain")))
        for word in HOSTILE:
            if any(ord(character) < 32 for character in word):
                continue
            self.assertEqual(without_code(comment.render(hostile(word))), plain, word)

    def test_nothing_unseen(self):
        for character in "\u202e\u200b\ufeff\u2066\x00\x1b\u2028\u00ad\U000e0041":
            self.assertNotIn(character, comment.render(hostile(f"a{character}b") if character >= " " else hostile("a")))
            self.assertEqual(comment.code(f"a{character}b"), "`a?b`")

    def test_length(self):
        rows = [clock_row(f"brim/{'x' * 100}:{n}") for n in range(500)]
        text = comment.render(report([gate_row(f"emit/{'x' * 100}:{n}", note="n" * 300) for n in range(500)], rows))
        self.assertLess(len(text), 65536)
        self.assertIn("980 more rows", text)


class Graph(samples.Folder):
    def texts(self, drawing):
        root = xml.etree.ElementTree.fromstring(drawing)
        self.assertTrue(root.tag.endswith("svg"))
        return [element.text for element in root.iter() if element.tag.endswith("}text")]

    def test_what_is_in_it(self):
        texts = self.texts(graph.draw(of_all_verdicts()))
        for expected in ("Benchmarks: 2 regressions, 2 improvements, 31 unchanged, 1 unstable, 1 not compared",
                         "10 → 8 events/s ↑ · ×0.800 · regressed", "brim/block/producers:30"):
            self.assertIn(expected, texts)

    def test_the_same_to_the_byte(self):
        self.assertEqual(graph.draw(of_all_verdicts()), graph.draw(of_all_verdicts()))

    def test_hostile_and_extreme(self):
        for word in HOSTILE:
            drawing = graph.draw(hostile(word))
            self.texts(drawing)
            self.assertNotIn("<img", drawing)
            self.assertNotIn("<script", drawing)
        tiny = clock_row(ratio=1e-6, half=0.5) | {"base": -1e18, "head": 1e18, "control_lo": 1e-9, "control_hi": 1e9}
        for made in (report(), report([gate_row()] * 500), report([], [tiny]),
                     report([gate_row(base=None, head=None)], [])):
            self.texts(graph.draw(made))
            comment.render(made)

    def test_refusals(self):
        bad = self.write("report.json", {**of_all_verdicts(), "head": "$(x)"})
        self.assertIn("head: ", self.command("plot", "--report", bad, "-o", self.path("pr"), code=1).stderr)
        self.assertFalse(os.path.exists(self.path("pr")))
        self.assertIn("No such file", self.command("plot", "--report", self.path("none"), code=1).stderr)
        self.command("plot", "--report", bad, "--last", "5", code=2)
        self.command("plot", "--graph-url", "x", code=2)


class Post(samples.Folder):
    SHA = "5d6e7f8a9b0c" + "0" * 28

    def setUp(self):
        super().setUp()
        self.asked, self.is_broken, self.comments = [], False, []
        self.pulls = [{"number": 6, "head": {"sha": "1" * 40}}, {"number": 7, "head": {"sha": self.SHA}}]
        patch = mock.patch("urllib.request.urlopen", self.answer)
        patch.start()
        self.addCleanup(patch.stop)
        self.report = self.write("report.json", of_all_verdicts())

    def answer(self, request, timeout):
        """As much of GitHub as is asked of it."""
        self.assertEqual((request.get_header("Authorization"), timeout), ("Bearer secret", 30))
        url, method = request.full_url.removeprefix("https://x.org"), request.get_method()
        self.asked.append((method, url, json.loads(request.data) if request.data else None))
        if self.is_broken:
            raise urllib.error.HTTPError(url, 403, "Forbidden", {}, None)
        found = {}
        if "/pulls?" in url:
            found = self.pulls
        elif method == "GET":
            page = int(re.search(r"[?&]page=(\d+)", url).group(1))
            found = self.comments[100 * (page - 1):100 * page]
        return io.BytesIO(json.dumps(found).encode())

    def post(self, code=0, sha=SHA, token="secret", branch="a&b=c"):
        return self.command("comment", self.report, "--repository", "weir/weir", "--head-owner", "someone",
                            "--head-branch", branch, "--head-sha", sha, code=code, GITHUB_TOKEN=token,
                            GITHUB_API_URL="https://x.org/")

    def changes(self):
        return [one for one in self.asked if one[0] != "GET"]

    def test_added_then_edited(self):
        self.assertIn("Added the comment of pull request 7", self.post().stdout)
        ((method, path, body),) = self.changes()
        self.assertEqual((method, path), ("POST", "/repos/weir/weir/issues/7/comments"))
        self.assertTrue(body["body"].startswith(comment.MARKER))
        self.assertIn("head=someone%3Aa%26b%3Dc", self.asked[0][1])
        self.asked.clear()
        others = [{"id": n, "user": {"login": "someone"}, "body": comment.MARKER} for n in range(150)]
        self.comments = others + [{"id": 777, "user": {"login": "github-actions[bot]"}, "body": comment.MARKER
                                          + "\nold"}]
        self.assertIn("Edited", self.post().stdout)
        self.assertEqual([change[:2] for change in self.changes()], [("PATCH", "/repos/weir/weir/issues/comments/777")])

    def test_a_branch_that_moved_on(self):
        self.pulls = self.pulls[:1]
        self.assertIn("nothing to comment", self.post().stdout)
        self.assertEqual(self.changes(), [])

    def test_not_measured(self):
        self.comments = [{"id": 777, "user": {"login": "github-actions[bot]"}, "body": comment.MARKER
                                 + "\n### ✅"}]
        self.report = "--not-measured"
        self.assertIn("Edited the comment of pull request 7: not measured", self.post().stdout)
        ((_, _, body),) = self.changes()
        self.assertTrue(body["body"].startswith(f"{comment.MARKER}\n### ⚠️ Benchmarks: not measured"))
        self.assertIn("`5d6e7f8a9b0c`", body["body"])
        self.assertIn("[the run](https://x.org/1)", comment.not_measured(self.SHA, "https://x.org/1"))
        self.command("comment", "--not-measured", code=2)
        self.command("comment", "--not-measured", self.path("report.json"), code=2)
        self.command("comment", code=2)

    def test_refusals(self):
        self.assertIn("the report is about", self.post(sha="2" * 40, code=1).stderr)
        self.assertIn("GITHUB_TOKEN", self.post(token="", code=1).stderr)
        self.assertEqual(self.asked, [])
        self.is_broken = True
        done = self.post(code=1)
        self.assertIn("403", done.stderr)
        self.assertNotIn("secret", done.stderr + done.stdout)
        self.post(sha="abc", code=2)


if __name__ == "__main__":
    unittest.main()
