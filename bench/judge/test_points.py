"""The history's schema: what is written is valid, and nothing that is not gets in, however it is spelled."""
import json
import os
import unittest

import points
import samples


class Refuses(samples.Folder):
    def refused(self, line, reason):
        path = self.write("emit.ndjson", json.dumps(samples.point()) + "\n" + line + "\n")
        with self.assertRaises(points.Invalid) as caught:
            points.read(path)
        self.assertIn(f"{path}:2: ", str(caught.exception))
        self.assertIn(reason, str(caught.exception))
        self.assertLess(len(str(caught.exception)), 600)

    def changed(self, **changes):
        return json.dumps({**samples.point(), **changes})

    def test_what_is_no_number(self):
        for text in ("NaN", "Infinity", "-Infinity"):
            self.refused(self.changed(value=0).replace('"value": 0', f'"value": {text}'), "is not JSON")
        self.refused(self.changed(value=0).replace('"value": 0', '"value": 1e999'), "value: ")
        self.refused(self.changed(value=0).replace('"value": 0', '"value": ' + "9" * 5000), "")
        for value in (1e19, -1e19, "1", None, True, [1]):
            self.refused(self.changed(value=value), "value: ")

    def test_texts(self):
        for text in ("a\x00b", "a\nb", "a\x7fb", "", "x" * 201):
            self.refused(self.changed(cpu=text), "cpu: ")
        for name in ("../x", "a b", "<b>", "a|b", "-a", "a`b", "", "x" * 121, "ä"):
            self.refused(self.changed(bench=name), "bench: ")

    def test_fields(self):
        whole = samples.point()
        for name in whole:
            if name != "load":
                self.refused(json.dumps({key: value for key, value in whole.items() if key != name}),
                             f"'{name}' is a required")
        self.refused(self.changed(extra=1), "extra")
        self.refused(self.changed(v=2), "v: ")
        self.refused(self.changed(n=0), "n: ")
        self.refused(self.changed(commit="HEAD"), "commit: ")
        self.refused(self.changed(date="yesterday"), "date: ")
        self.refused(self.changed(better="bigger"), "better: ")

    def test_lines(self):
        self.refused("[" * 100000, "")
        self.refused("x" * (10 << 20), "a line of more than")
        self.refused(self.changed()[:-1], "")
        self.refused("[]", "")
        self.refused('"point"', "")
        path = self.path("bytes.ndjson")
        with open(path, "wb") as file:
            file.write(b"\xff\xfe\n")
        with self.assertRaisesRegex(points.Invalid, "not UTF-8"):
            points.read(path)

    def test_append_writes_all_or_nothing(self):
        good, bad = samples.point(), {**samples.point(), "suite": "drain", "n": 0}
        with self.assertRaises(points.Invalid):
            points.append([good, bad], self.path("history"))
        self.assertFalse(os.path.exists(self.path("history")))
        points.append([good], self.path("history"))
        points.append([good], self.path("history"))
        self.assertEqual(points.read(self.path("history", "emit.ndjson")), [good, good])


class Reports(samples.Folder):
    def refused(self, reason, **changes):
        path = self.write("report.json", json.dumps(samples.report(**changes)))
        with self.assertRaisesRegex(points.Invalid, reason):
            points.read_report(path)

    def test_refusals(self):
        self.refused("clock/0/.*less than", clock=[samples.clock_row(ratio=0.0)])
        self.refused("clock/0/ratio", clock=[{**samples.clock_row(), "ratio": -1.0}])
        self.refused("clock/0/lo", clock=[samples.clock_row(lo=-1.0)])
        self.refused("not within", clock=[samples.clock_row(lo=1.5)])
        self.refused("not within", clock=[samples.clock_row(control_lo=1.5)])
        self.refused("gate/0/name", gate=[samples.gate_row(name="<img>")])
        self.refused("gate/0/note", gate=[samples.gate_row(note="a\nb")])
        self.refused("gate", gate=[samples.gate_row()] * 501)
        self.refused("base: ", base="--upload-pack=x")
        self.refused("extra", extra="x")

    def test_size(self):
        path = self.write("report.json", " " * (points.FILE_BYTES_MAX + 1))
        with self.assertRaisesRegex(points.Invalid, "larger than"):
            points.read_report(path)
        with self.assertRaisesRegex(points.Invalid, "No such file"):
            points.read_report(self.path("none.json"))


if __name__ == "__main__":
    unittest.main()
