"""`weir heap` on generated traces, whole and broken, and on a real heap of .NET with its report."""

import json
import pathlib
import re
import resource
import struct
import subprocess
import sys
import tempfile
import unittest

from heap_build import Heap, chain, strings
from nettrace_build import Stream

WEIR, DATA = sys.argv[1], pathlib.Path(sys.argv[2]).parent / "gcdump"


def run(*arguments, code=0):
    done = subprocess.run([WEIR, "heap", *map(str, arguments)], capture_output=True, check=False)
    assert done.returncode == code, f"{arguments}: exit code {done.returncode}\n{done.stdout.decode()}{done.stderr.decode()}"
    return done


class HeapTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weir-heap-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, heap, name="heap.nettrace", **how):
        path = self.folder / name
        path.write_bytes(heap.trace(**how))
        return path

    def report(self, heap, *options, code=0, **how):
        return json.loads(run("report", "--json", *options, self.write(heap, **how), code=code).stdout)

    def graph(self, path, *options, code=0):
        return json.loads(run("export", "--to", "json", *options, path, code=code).stdout)

    def types(self, report, *fields):
        return {t["name"]: tuple(t[f] for f in fields or ("count", "bytes")) for t in report["types"]}

    def test_whole(self):
        report = self.report(chain())
        self.assertEqual((report["complete"], report["missing"], report["objects"], report["edges"]), (True, None, 10, 10))
        self.assertEqual(self.types(report, "count", "bytes", "module"), {"A": (5, 2500, "/lib/mod.lua"), "B": (5, 3000, "/lib/mod.lua")})

    def test_any_number_of_elements(self):
        """The graph does not depend on where events end."""
        graphs = [self.graph(self.write(chain(70), each=each)) for each in (1, 2, 3, 64, 1000)]
        self.assertEqual(len(graphs[0]["objects"]), 70)
        for graph in graphs[1:]:
            self.assertEqual(graph, graphs[0])

    def test_one_lost_node_event(self):
        report = self.report(chain(), without=[(18, 1)], code=3)
        self.assertEqual((report["complete"], report["missing"]), (False, {"event": "GCBulkNode", "index": 1}))

    def test_one_lost_edge_event(self):
        report = self.report(chain(), without=[(19, 2)], code=3)
        self.assertEqual((report["complete"], report["missing"]), (False, {"event": "GCBulkEdge", "index": 2}))

    def test_last_events_lost(self):
        """No index is missing, but the nodes lack their edges; and if both are lost, the thread's numbers have a gap."""
        for without in ([(19, 3)], [(18, 3), (19, 3)], [(18, 3)]):
            self.assertFalse(self.report(chain(), without=without, code=3)["complete"])

    def test_no_end(self):
        self.assertIn("no end", self.report(chain(), end=False, code=3)["reason"])

    def test_incomplete_is_refused(self):
        path = self.write(chain(), without=[(18, 1)])
        for part in (["roots", "--type", "A"], ["export", "--to", "json"], ["diff", path]):
            self.assertIn("--incomplete", run(*part, path, code=3).stderr.decode())
            run(*part, "--incomplete", path, code=3)

    def test_unknown_type(self):
        heap = chain(2)
        heap.objects[48] = (7, 0xabc, [])
        self.assertEqual(self.types(self.report(heap))["UNKNOWN 0xabc"], (1, 7))

    def test_object_twice_and_nowhere(self):
        heap = chain(2)
        heap.objects[48] = (7, 8, [4096])
        self.assertEqual(self.report(heap)["dangling"], 1)
        heap.bulk = lambda event, each, elements: Heap.bulk(event, each, elements * (2 if event in (18, 19) else 1))
        self.assertIn("twice", self.report(heap, code=3)["reason"])

    def test_weak_roots_keep_nothing(self):
        heap = chain(4)
        heap.objects[256] = (50, 8, [])
        heap.roots.append((256, 2, 2))
        report = self.report(heap, "--retained")
        self.assertEqual(report["unreached"], 1)
        way = json.loads(run("roots", "--type", "A", "--count", 0, "--json", self.write(heap)).stdout)["ways"]
        self.assertEqual([w["root"] for w in way], [{"kind": "stack"}, {"kind": "stack"}, None])

    def test_roots_of_a_cycle(self):
        heap = chain(6)
        heap.roots, heap.statics = [], [(48, "config")]
        ways = json.loads(run("roots", "--type", "B", "--count", 0, "--json", self.write(heap)).stdout)["ways"]
        way = ways[0]["way"]  # to 0x20, which only the end of the cycle refers to
        self.assertEqual((ways[0]["root"], [int(n["address"], 16) for n in way]),
                         ({"kind": "static", "name": "config"}, [48, 64, 80, 96, 16, 32]))
        self.assertIn("there is no object of type", run("roots", "--type", "C", self.write(heap), code=1).stderr.decode())

    def test_retained(self):
        """0x10 keeps two branches that meet; the weak table keeps 0x60 as long as 0x20."""
        heap = Heap()
        heap.types[24] = "C"
        heap.objects = {0x10: (1, 8, [0x20, 0x30]), 0x20: (10, 16, [0x40]), 0x30: (100, 16, [0x40, 0x50]), 0x40: (1000, 24, []),
                        0x50: (10000, 24, []), 0x60: (100000, 24, [])}
        heap.roots, heap.weaks = [(0x10, 2, 0)], [(0x20, 0x60)]
        retained = self.types(self.report(heap, "--retained"), "retained")
        self.assertEqual(retained, {"A": (111111,), "B": (10 + 100 + 10000 + 100000,), "C": (111000,)})

    def test_several_snapshots(self):
        path = self.write(chain(), numbers=(1, 2, 7))
        for number, found in ((None, 1), (2, 2), (7, 7)):
            options = () if number is None else ("--number", number)
            self.assertEqual(json.loads(run("report", "--json", *options, path).stdout)["collection"], found)
        self.assertIn("with that number", run("report", "--number", 9, path, code=1).stderr.decode())
        self.assertIn("4294967295", run("report", "--number", 2**32 + 1, path, code=2).stderr.decode())

    def test_options_of_other_parts_are_refused(self):
        for part in (("report", "--incomplete"), ("export", "--to", "csv", "--json")):
            run(*part, self.write(chain()), code=2)

    def test_diff(self):
        paths = [self.write(chain(count), f"{count}.nettrace") for count in (2, 4, 8)]
        rows = {t["name"]: t for t in json.loads(run("diff", "--json", *paths).stdout)["types"]}
        self.assertEqual(rows["A"]["counts"], [1, 2, 4])
        self.assertEqual((rows["B"]["growth"], rows["B"]["always"]), (200 + 400 + 600 + 800 - 200, True))
        self.assertEqual(run("diff", paths[0], paths[0]).stdout.count(b"\n"), 1)

    def test_large_sizes(self):
        heap = chain(2)
        heap.objects[16] = (2**33, 8, [32])
        self.assertEqual(self.types(self.report(heap))["A"], (1, 2**33))

    def test_hostile_payloads(self):
        """Each payload cut, and counts that lie: an end, and a message or a mark."""
        for event, cut in ((1, 8), (15, 20), (16, 15), (17, 12), (18, 41), (19, 13), (38, 17), (65001, 3)):
            heap = chain()
            heap.statics, heap.weaks, heap.texts = [(16, "s")], [(16, 32)], [(16, 1, 0, b"x")]
            events = heap.events
            heap.events = lambda each: ((e, p[:cut] if e == event else p) for e, p in events(each))
            path = self.write(heap)
            done = subprocess.run([WEIR, "heap", "report", path], capture_output=True, check=False)
            self.assertIn(done.returncode, (0, 1, 3), (event, done.stderr))

    def test_no_snapshot(self):
        path = self.folder / "none.nettrace"
        path.write_bytes(Stream().end())
        self.assertIn("no snapshot of a heap", run("report", path, code=1).stderr.decode())
        run("report", self.folder / "absent", code=1)

    # Two of 100 bytes, of which the trace has 64; two that only look like these; and short ones.
    LONG = [(120, 100, 7, b"x" * 64), (128, 100, 7, b"x" * 64), (120, 100, 8, b"x" * 64), (120, 101, 7, b"x" * 64)]
    SHORT = [(32, 3, 1, b"a\0\n"), (32, 3, 1, b"a\0\n"), (32, 3, 1, b"a\0\n"), (40, 0, 0, b""), (24, 0, 0, b""), (24, 2, 3, b"\xff,"),
             (24, 2, 3, b"\xff,"), (24, 2, 4, b"\xff,"), (24, 2, 3, b"xy")]

    def test_strings(self):
        """Equal are those of one type with the same size, hash and first bytes."""
        heap = strings(*self.LONG, *self.SHORT, (1000, 100, 7, b"x" * 64))
        heap.objects[16 * len(heap.objects)] = (1000, 16, [])
        for each in (1, 3, 100):
            report = self.report(heap, "--strings", each=each)
            self.assertEqual([report[name] for name in ("complete", "strings", "duplicates", "wasted")], [True, 14, 5, 120 + 64 + 24 + 24])
            self.assertEqual([[t[name] for name in ("text", "cut", "length", "type", "copies", "bytes", "wasted")] for t in report["texts"]],
                             [["x" * 64, True, 100, "A", 2, 128, 120], ["a\ufffd\n", False, 3, "A", 3, 32, 64],
                              ["", False, 0, "A", 2, 40, 24], ["\ufffd,", False, 2, "A", 2, 24, 24]])

    def test_forms_of_strings(self):
        path = self.write(strings(*self.LONG, *self.SHORT))
        lines = run("report", "--strings", path).stdout.decode().splitlines()
        self.assertEqual(lines[:5], ["strings    13", "duplicates 5", "wasted     232", "complete   yes", ""])
        self.assertEqual([line.split() for line in lines[6:]],
                         [["120", "2", "128", "100", "A", "x" * 64 + "..."], ["64", "3", "32", "3", "A", "a\ufffd\\n"], ["24", "2", "40", "0", "A"],
                          ["24", "2", "24", "2", "A", "\ufffd,"]])
        few = run("report", "--strings", "--count", 1, path).stdout.decode().splitlines()
        self.assertEqual((few[6].split(), few[7:]), (lines[6].split(), ["", "3 more with --count 0"]))
        rows = run("report", "--strings", "--csv", "--count", 1, path).stdout.decode().split("\r\n")
        self.assertEqual(rows[:3] + rows[4:], ["text,length,type,copies,bytes,wasted", "x" * 64 + "...,100,A,2,128,120", "a\ufffd\\n,3,A,3,32,64",
                                               '"\ufffd,",2,A,2,24,24', ""])
        for options in (["--strings", "--retained"], ["--strings", "--json", "--csv"], ["--count", 3]):
            run("report", *options, path, code=2)

    def test_no_strings(self):
        out = self.folder / "out.gcdump"
        run("export", "--to", "gcdump", "-o", out, self.write(strings(*self.SHORT)))
        for path in (out, self.write(chain())):
            self.assertIn("collect --strings", run("report", "--strings", path, code=1).stderr.decode())

    def test_lost_string_events(self):
        report = self.report(strings(*self.SHORT), "--strings", without=[(65001, 1)], code=3)
        self.assertEqual((report["missing"], report["strings"]), ({"event": "HeapText", "index": 1}, 6))
        self.assertFalse(self.report(strings(*self.SHORT), "--strings", without=[(65001, 2)], code=3)["complete"])
        all_lost = self.write(strings(*self.SHORT), without=[(65001, i) for i in range(3)])
        self.assertIn("incomplete: 3 events", run("report", "--strings", all_lost, code=3).stderr.decode())

    def test_hostile_strings(self):
        """Contents of no object, twice of one, longer than the string; an event cut in its head, two texts and later; counts that lie."""
        for text, reason in (((4096, 1, 1, b"x"), "is missing"), ((16, 3, 1, b"a"), "twice"), ((32, 1, 1, b"xy"), "other bytes")):
            heap = strings((24, 3, 1, b"abc"))
            heap.objects[32] = (24, 8, [])
            heap.texts.append(text)
            self.assertIn(reason, self.report(heap, "--strings", code=3)["reason"])
        *before, (_, whole) = strings(*self.SHORT).events(100)
        broken = [whole[:size] for size in (*range(70), len(whole) - 1)] + [whole + b"x"]
        broken += [whole[:4] + struct.pack("<I", count) + whole[8:] for count in (0, 8, 10, 2**32 - 1)]
        for payload in broken:
            heap = strings()
            heap.events = lambda each, payload=payload: [*before, (65001, payload)]
            self.assertFalse(self.report(heap, code=3)["complete"])

    def test_export_forms(self):
        path = self.write(chain(3))
        self.assertEqual(run("export", "--to", "csv", path).stdout.split(b"\r\n")[1], b"16,100,A,/lib/mod.lua,1")
        self.assertIn(b"n0 -> n1", run("export", "--to", "dot", path).stdout)
        out = self.folder / "out.json"
        run("export", "--to", "json", "-o", out, path)
        self.assertEqual(len(json.loads(out.read_text())["objects"]), 3)
        run("export", "--to", "png", path, code=2)

    def test_export_that_fails(self):
        """The file that was there stays, and nothing is left beside it."""
        path, out = self.write(chain(3)), self.folder / "out.json"
        out.write_text("before")
        names = sorted(self.folder.iterdir())
        done = subprocess.run([WEIR, "heap", "export", "--to", "json", "-o", out, path], capture_output=True, check=False,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8, 8)), restore_signals=False)
        self.assertEqual((done.returncode, out.read_text(), sorted(self.folder.iterdir())), (1, "before", names))
        self.assertIn(b"cannot write", done.stderr)
        self.assertIn(b"not a regular file", run("export", "--to", "json", "-o", self.folder, path, code=1).stderr)


@unittest.skipUnless(DATA.exists(), "no data")
class DotNetTest(unittest.TestCase):
    """The report of dotnet-gcdump: its rows split types by size, and count the nodes that stand for kinds of roots."""

    def test_counts_by_type(self):
        counts = {}
        for count, name in re.findall(r"^ +[\d,]+ +([\d,]+)  (.+?)(?:  \[.*\])?$", (DATA / "small.report.txt").read_text(), re.MULTILINE):
            name = re.sub(r" \(Bytes > \w+\)", "", name)
            counts[name] = counts.get(name, 0) + int(count.replace(",", ""))
        report = json.loads(run("report", "--json", DATA / "small.nettrace").stdout)
        self.assertEqual((report["bytes"], report["complete"]), (135678, True))
        self.assertEqual({t["name"]: t["count"] for t in report["types"]}, counts)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
