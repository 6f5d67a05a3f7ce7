"""The picture of the hosts has what their reports say; a report without calls is refused in one line."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

FUNCTION = {"name": "outer.<locals>.inner", "calls": 12345, "exclusiveNs": 250}
PROVIDER = {"totalNs": 1000, "functions": [FUNCTION], "threads": [{}, {}]}


class Picture(unittest.TestCase):
    def draw(self, report):
        with tempfile.TemporaryDirectory() as folder:
            source, output = (pathlib.Path(folder, name) for name in ("report.json", "out.svg"))
            source.write_text(json.dumps(report), encoding="utf-8")
            done = subprocess.run([sys.executable, "-B", "-m", "examples.picture", f"a <host>={source}", "-o", str(output)],
                                  check=False, capture_output=True, text=True)
            return done, output.read_text(encoding="utf-8") if output.exists() else ""

    def test_what_it_says(self):
        done, text = self.draw({"eventCount": 24690, "lost": None, "providers": [PROVIDER]})
        self.assertEqual(done.returncode, 0, done.stderr)
        for expected in ("a &lt;host&gt;", "24,690 events, unknown lost, 2 threads", "outer.inner", "25.0 %, 12,345 calls"):
            self.assertIn(expected, text)

    def test_nothing_to_show(self):
        done, text = self.draw({"eventCount": 0, "lost": 0, "providers": []})
        self.assertEqual((done.returncode, text, len(done.stderr.splitlines())), (1, "", 1))


if __name__ == "__main__":
    unittest.main()
