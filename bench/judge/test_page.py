"""The page of the history, in a headless Chromium from file://: panels, marks, hover, filter, and not a word on the
console."""
import json
import os
import re
import unittest

import numpy

from bench.judge import page, points, samples, series
from tests import browser

OFFLINE = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH", "network")
EVIL = "</script><script>document.title='evil'</script><img src=x onerror=document.title='evil'>"

ACT = """
  const isShown = (panel) => !panel.root.hidden && !panel.root.closest("section").hidden;
  const shown = () => weirPage.panels.filter(isShown).map((panel) => panel.words);
  const filter = (words) => { by("words").value = words; input("words"); return shown().length; };
  seen.drawn = weirPage.panels.filter((panel) => panel.chart).length;
  weirPage.drawAll();
  seen.panels = weirPage.panels.map(({ chart, series, root }) => {
    const { width, height } = chart.ctx.canvas, pixels = chart.ctx.getImageData(0, 0, width, height).data;
    return { bench: series.bench, metric: series.metric, unit: chart.axes[1].label, head: root.textContent,
             ink: pixels.some((value) => value > 0), low: chart.scales.y.min, high: chart.scales.y.max,
             x: chart.data[0].length };
  });
  const over = (panel, n) => { weirPage.hover(panel, n); return by("tip").hidden ? null : by("tip").innerText; };
  if (weirPage.panels.length) {
    seen.tip = over(weirPage.panels[0], 70);
    const { over: area } = weirPage.panels[0].chart, box = area.getBoundingClientRect();
    const at = { clientX: box.left + box.width - 1, clientY: box.top + 20, bubbles: true };
    area.dispatchEvent(new MouseEvent("mouseenter"));
    area.dispatchEvent(new MouseEvent("mousemove", at));
  }
  seen.all = filter("");
  seen.relay = filter("RELAY producers:8");
  seen.none = filter("no such thing");
  seen.nothing = !by("nothing").hidden;
  filter("");
  by("changed").checked = true;
  input("changed");
  seen.changed = shown();
  by("changed").checked = false;
  input("changed");
  seen.list = [...document.querySelectorAll("#changes li")].map((item) => item.innerText);
  document.querySelector("#changes button")?.click();
  seen.found = document.querySelector(".panel.found h3")?.innerText;
  const paper = () => getComputedStyle(document.body).backgroundColor;
  seen.paper = [paper()];
  weirPage.switchTheme();
  seen.paper.push(paper());
"""
LAST = """
  seen.pointed = by("tip").hidden ? null : by("tip").innerText;
  seen.headings = [...document.querySelectorAll("h2")].map((heading) => heading.innerText);
"""


def history():
    """A step for the worse, a step of the host's, counts, words that would be markup, and a commit measured twice."""
    noise = lambda seed: 1 + 0.02 * numpy.random.default_rng(seed).standard_normal(90)
    worse, host = 10 * noise(1), 4e7 * noise(2)
    worse[70:] *= 1.2
    host[45:] /= 1.2
    spread = lambda point: {**point, "lo": point["value"] * 0.97, "hi": point["value"] * 1.04, "n": 7}
    relay = {"suite": "brim", "bench": "brim/block/relay/producers:8", "metric": "events_per_s", "unit": "events/s",
             "better": "more"}
    evil = {**samples.ENVIRONMENT, "cpu": EVIL, "kernel": EVIL, "load": EVIL}
    found = [spread(point) for point in samples.history(worse)]
    found += samples.history(host, cal_ns=lambda n: 1.9 if n < 45 else 2.3, **relay)
    found += samples.history([33.0] * 60 + [34.0] * 30, suite="count", bench="emit/enabled", metric="instructions",
                             unit="instructions/event")
    found += samples.history([0.0, 0.0, 0.0], suite="brim", bench="brim/drop", metric="loss", unit="lost/attempted")
    found += [samples.point(1.0, 5, environment=evil, bench="emit/x"),
              samples.point(1.1, 5, environment=evil, bench="emit/x", date=samples.date(6))]
    return found


class Library(unittest.TestCase):
    def test_the_lock_names_no_host(self):
        with open(os.path.join(page.FOLDER, "package-lock.json"), encoding="utf-8") as file:
            text = file.read()
        self.assertNotIn("://", text)
        packages = {name: one for name, one in json.loads(text)["packages"].items() if name}
        for one in packages.values():
            self.assertRegex(one["integrity"], "^sha512-")
            self.assertEqual(one["license"], "MIT")
            self.assertRegex(one["version"], r"^\d+\.\d+\.\d+$")


class Data(unittest.TestCase):
    def test_embedded_json_cannot_end_its_element(self):
        text = page.embedded({"a": EVIL + "<!--\u2028&"})
        self.assertFalse(set("<>&\u2028") & set(text))
        self.assertEqual(json.loads(text), {"a": EVIL + "<!--\u2028&"})
        self.assertRaises(ValueError, page.embedded, float("nan"))

    def test_places(self):
        data = page.data_of(history())
        self.assertEqual(len(data["commits"]), 90)
        self.assertEqual(len(data["places"]), 91)
        xs = [place["x"] for place in data["places"]]
        self.assertEqual(xs, sorted(set(xs)))
        relay = next(one for one in data["series"] if "relay" in one["bench"])
        self.assertEqual(relay["unit"], "M events/s")
        self.assertEqual([(c["kind"], c["worse"]) for c in relay["changes"]], [("host", True)])
        self.assertEqual(page.data_of([])["series"], [])


class Browser(samples.Folder):
    """Skipped only where there is no Chromium, or no registry for npm; a page that is wrong fails."""

    @classmethod
    def setUpClass(cls):
        if browser.CHROMIUM is None:
            raise unittest.SkipTest("there is no chromium")
        try:
            page.install()
        except points.Invalid as error:
            if any(word in str(error) for word in (*OFFLINE, "apt-get install npm")):
                raise unittest.SkipTest(str(error)) from error
            raise

    def made(self, found):
        os.mkdir(self.path("history"))
        if found:
            series.append(found, self.path("history"))
        printed = self.command("plot", "--history", self.path("history"), "-o", self.path("index.html")).stdout
        text = self.text("index.html")
        self.assertIn("The MIT License", text)
        self.assertIn("Leon Sorokin", text)
        return printed, browser.see(text, ACT, LAST)

    def test_the_page(self):
        printed, seen = self.made(history())
        self.assertIn("5 series, 3 change points", printed)
        self.assertEqual(seen["wrong"], [])
        self.assertEqual(seen["title"], "Weir: benchmarks by commit")
        self.assertEqual(seen["headings"][0].split()[0], "Changes")
        self.check_panels({(panel["bench"], panel["metric"]): panel for panel in seen["panels"]})
        self.check_hover(seen)
        self.check_filter(seen)

    def check_panels(self, panels):
        self.assertEqual(len(panels), 5)
        for panel in panels.values():
            self.assertTrue(panel["ink"], panel["bench"])
            self.assertEqual(panel["x"], 91, "all panels have the same commits on x")
            self.assertTrue(panel["low"] < panel["high"])
        relay, loss = panels["brim/block/relay/producers:8", "events_per_s"], panels["brim/drop", "loss"]
        self.assertEqual((relay["unit"], loss["unit"], loss["low"]), ("M events/s", "lost/attempted", 0))
        self.assertIn("↑ more is better", relay["head"])
        self.assertIn("↓ less is better", loss["head"])

    def check_hover(self, seen):
        self.assertEqual(seen["panels"][0]["bench"], "emit/enabled")
        for word in ("34 instructions/event", "commit", f"{0x1000000 + 70:07x}", "2026-01-03 22:00:00 UTC",
                     "AMD EPYC (family 25, model 17", "GNU 12.2.0",
                     "Linux 6.1.0", "tsc", "performance", "0.10 0.20 0.30", "1.9 ns", "test-x86_64-2cpu"):
            self.assertIn(word, seen["tip"])
        self.assertIsNotNone(seen["pointed"], "the pointer over a chart shows what is under it")
        self.assertIn(f"{0x1000000 + 89:07x}", seen["pointed"])

    def check_filter(self, seen):
        self.assertEqual((seen["all"], seen["relay"], seen["none"], seen["nothing"]), (5, 1, 0, True))
        self.assertEqual(len(seen["changed"]), 3)
        self.assertEqual(len(seen["list"]), 3)
        self.assertTrue(any("+3.03 %" in item for item in seen["list"]))
        self.assertIn("the machine's: the calibration loop", seen["list"][-1])
        self.assertIsNotNone(seen["found"])
        self.assertNotEqual(*seen["paper"])

    def test_without_history(self):
        printed, seen = self.made([])
        self.assertIn("0 series", printed)
        self.assertEqual((seen["wrong"], seen["panels"], seen["headings"][0]), ([], [], "There is no history yet"))


if __name__ == "__main__":
    unittest.main()
