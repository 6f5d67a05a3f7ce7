"""The history's schema: what is written is valid, and nothing that is not gets in, however it is spelled."""
import json
import os
import unittest
from unittest import mock

from bench.judge import points, reports, samples, series
from bench.judge.samples import clock_row, gate_row


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
        for line in ("[" * 100000, self.changed()[:-1], "[]", '"point"'):
            self.refused(line, "")
        path = self.path("bytes.ndjson")
        with open(path, "wb") as file:
            file.write(b"\xff\xfe\n")
        with self.assertRaisesRegex(points.Invalid, "not UTF-8"):
            points.read(path)
        with mock.patch.object(points, "FILE_BYTES_MAX", 10), self.assertRaisesRegex(points.Invalid, "larger than 10"):
            points.read(self.write("long.ndjson", "x" * 11))

    def test_append_writes_all_or_nothing(self):
        good, bad = samples.point(), {**samples.point(), "suite": "drain", "n": 0}
        with self.assertRaises(points.Invalid):
            series.append([good, bad], self.path("history"))
        self.assertFalse(os.path.exists(self.path("history")))
        series.append([good], self.path("history"))
        series.append([good], self.path("history"))
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


if __name__ == "__main__":
    unittest.main()
