"""The page of `weir heap report --html` in a headless Chromium: the map, the table and the ways, whatever the names are."""

import json
import pathlib
import subprocess
import sys
import unittest

from heap_build import Heap
from test_heap import WEIR

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests import browser  # noqa: E402

EVIL = "</script><script>document.title='evil'</script><!--<img src=x onerror=document.title='evil'>"
STEPS = """
  const areas = () => [...document.querySelectorAll("#map button")];
  const rows = () => [...document.querySelectorAll("#types tr")].map((row) => [...row.children].map((cell) => cell.textContent));
  seen.areas = areas().map((area) => ({ text: area.textContent, size: area.offsetWidth * area.offsetHeight }));
  seen.about = by("about").textContent;
  seen.rows = rows();
  seen.sorted = [...document.querySelectorAll("th[aria-sort]")].map((head) => head.innerText);
  areas().find((area) => area.textContent.startsWith("Leaf")).click();
  seen.crumbs = by("crumbs").textContent;
  seen.focused = document.activeElement.textContent;
  seen.inside = areas().length;
  seen.details = by("details").innerText;
  seen.way = [...document.querySelectorAll("#details li")].map((step) => step.textContent);
  by("crumbs").firstChild.click();
  seen.back = areas().length;
  by("words").value = "EAF mod";
  input("words");
  seen.found = rows().map((row) => row[3]);
  by("words").value = "no such type";
  input("words");
  seen.none = [rows().length, by("more").textContent];
  by("words").value = "";
  input("words");
  document.querySelector("th.name button").click();
  seen.names = rows().map((row) => row[3]);
  document.querySelectorAll("#types tr")[0].click();
  seen.clicked = by("details").querySelector("h2").textContent;
  seen.incomplete = by("incomplete").hidden ? null : by("incomplete").textContent;
"""


def tree():
    """A root keeps 30 leaves of 100 bytes through a chain of 50 nodes, and two objects of a type with a name that is markup."""
    heap = Heap()
    heap.types = {8: "Node", 16: "Leaf", 24: EVIL}
    heap.objects = {16 * i: (10, 8, [16 * (i + 1)]) for i in range(1, 50)}
    heap.objects[16 * 50] = (10, 8, [16 * (100 + i) for i in range(30)])
    heap.objects |= {16 * (100 + i): (100, 16, []) for i in range(30)}
    heap.objects |= {16 * (200 + i): (200, 24, []) for i in range(2)}
    heap.roots, heap.statics = [(16 * 200, 0, 0), (16 * 201, 2, 0)], [(16, "list")]
    return heap


@unittest.skipUnless(browser.CHROMIUM, "there is no chromium")
class PageTest(unittest.TestCase):
    def page(self, trace, code=0):
        done = subprocess.run([WEIR, "heap", "report", "--html", "-"], input=trace, capture_output=True, check=False)
        if b"built without" in done.stderr:
            self.skipTest(done.stderr.decode())
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout.decode()

    def test_the_page(self):
        text = self.page(tree().trace())
        self.assertIn("Mike Bostock", text)
        seen = browser.see(text, STEPS)
        self.assertEqual((seen["wrong"], seen["title"], seen["incomplete"]), ([], "Heap: -", None))
        self.assertTrue(seen["about"].startswith("82 objects, 3,900 bytes, 79 references, 3 types."), seen["about"])
        self.check_map(seen)
        self.check_table(seen)

    def check_map(self, seen):
        areas = {area["text"].split("  ")[0].removesuffix(" [mod.lua]"): area["size"] for area in seen["areas"]}
        self.assertEqual(set(areas), {"Node", "Leaf", EVIL})
        self.assertGreater(areas["Node"], areas["Leaf"])
        self.assertGreater(areas["Leaf"], 4 * areas[EVIL])
        self.assertEqual((seen["crumbs"], seen["inside"], seen["back"]), ("all › Node [mod.lua] › Leaf [mod.lua]", 1, 3))
        self.assertEqual(seen["focused"], "Leaf [mod.lua]")
        self.assertIn("retained\n3,000 (76.9 %)", seen["details"])
        node = "Node [mod.lua]"
        self.assertEqual(seen["way"], ["static list", *[node] * 20, "... 11 more ...", *[node] * 19, "Leaf [mod.lua]"])

    def check_table(self, seen):
        self.assertEqual([row[:3] for row in seen["rows"]], [["3,500", "500", "50"], ["3,000", "3,000", "30"], ["400", "400", "2"]])
        self.assertEqual(seen["sorted"], ["retained"])
        self.assertEqual((seen["found"], seen["none"]), (["Leaf mod.lua"], [0, "No type has these words."]))
        self.assertEqual(seen["names"], [f"{name} mod.lua" for name in (EVIL, "Leaf", "Node")])
        self.assertEqual(seen["clicked"], f"{EVIL} [mod.lua]")

    def test_incomplete(self):
        """Without its last edges, nothing leads to the leaves."""
        seen = browser.see(self.page(tree().trace(without=[(19, 26)]), code=3), 'seen.incomplete = by("incomplete").innerText; seen.about = by("about").innerText;')
        self.assertIn("This snapshot is incomplete: ", seen["incomplete"])
        self.assertIn("No root leads to", seen["about"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
