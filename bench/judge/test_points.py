"""The history's schema: what is written is valid, and nothing that is not gets in, however it is spelled."""
import json
import os
import unittest

import points
import reports
import samples
from samples import clock_row, gate_row


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
        for text in ("a\x00b", "a\nb", "a\n", "a\x7fb", "", "x" * 201):
            self.refused(self.changed(cpu=text), "cpu: ")
        for name in ("../x", "a b", "<b>", "a|b", "a\n", "-a", "a`b", "", "x" * 121, "ä"):
            self.refused(self.changed(bench=name), "bench: ")

    def test_fields(self):
        whole = samples.point()
        for name in whole:
            if name not in ("load", "clock_source", "governor"):
                self.refused(json.dumps({key: value for key, value in whole.items() if key != name}),
                             f"'{name}' is a required")
        self.refused(self.changed(extra=1), "extra")
        self.refused(self.changed(v=2), "v: ")
        self.refused(self.changed(n=0), "n: ")
        for commit in ("HEAD", "91d52fe\n", "unknown\n"):
            self.refused(self.changed(commit=commit), "commit: ")
        self.refused(self.changed(date=samples.date(0) + "\n"), "date: ")
        for date in ("yesterday", "2026-13-39T29:59:69Z", "2026-02-30T00:00:00Z", "2026-01-01T00:00:60Z"):
            self.refused(self.changed(date=date), "date: ")
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
            reports.read(path)

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
        self.refused("missing/0", missing=[{"name": "emit/x"}])
        self.refused("missing/0/reason", missing=[{"name": "emit/x", "reason": "a\nb"}])

    def test_verdicts_are_those_of_the_figures(self):
        for row in (gate_row(base=30.0, head=90.0), gate_row(base=30.0, head=30.6),
                    gate_row(base=30.0, head=90.0, verdict="improved"), gate_row("emit/new/figure", 1.0, 1.6),
                    gate_row("bytes/file/payload:32", 34.0, 34.2),
                    gate_row(base=30.0, head=29.0, verdict="regressed"),
                    gate_row(base=30.0, head=90.0, verdict="not_compared"), gate_row(base=None, verdict="improved"),
                    gate_row("emit/enabled/system_calls", 5.0, 5.0), gate_row("code/libweir/exports", 20, 21)):
            self.refused(f"{row['name']}: '{row['verdict']}' with", gate=[row])
        for row in (clock_row(ratio=3.0, verdict="improved"), clock_row(ratio=3.0, p=0.001),
                    clock_row(ratio=0.5, verdict="regressed"), clock_row(ratio=1.0, verdict="regressed"),
                    clock_row(ratio=3.0, better="more", verdict="regressed"),
                    clock_row(ratio=3.0, verdict="unstable", p=0.001)):
            self.refused("where the figures say", clock=[row])
        self.refused("do not fit a ratio", clock=[clock_row(base=30.0, head=90.0)])
        self.refused("more than nothing", clock=[clock_row(base=0.0)])

    def test_verdicts_that_are(self):
        gate = [gate_row(base=30.0, head=30.4), gate_row(base=30.0, head=31.0, verdict="regressed"),
                gate_row(base=30.0, head=29.0, verdict="improved"), gate_row(base=None, verdict="not_compared"),
                gate_row(head=None, verdict="regressed"), gate_row("code/libweir/text", 100, 200),
                gate_row("code/libweir/exports", 20, 20, "regressed"), gate_row("reader/x", 1.0, 9.0),
                gate_row("emit/enabled/system_calls", 5.0, 5.0, "regressed"),
                gate_row("emit/new/figure", None, 5.0, "not_compared")]
        clock = [clock_row(), clock_row(ratio=3.0, verdict="regressed"),
                 clock_row(ratio=0.5, better="more", verdict="regressed"),
                 clock_row(ratio=0.5, verdict="improved"), clock_row(half=0.3, verdict="unstable"),
                 clock_row(base=10.0, head=11.0)]
        path = self.write("report.json", samples.report(gate, clock, missing=[{"name": "emit/x", "reason": "none"}]))
        self.assertEqual(len(reports.read(path)["gate"]), len(gate))

    def test_size(self):
        path = self.write("report.json", " " * (points.FILE_BYTES_MAX + 1))
        with self.assertRaisesRegex(points.Invalid, "larger than"):
            reports.read(path)
        with self.assertRaisesRegex(points.Invalid, "No such file"):
            reports.read(self.path("none.json"))


if __name__ == "__main__":
    unittest.main()
