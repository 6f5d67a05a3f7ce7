"""`weir heap` on .gcdump files: one of .NET, those that it writes, and broken ones. The decoder below is written from the format's page."""

import collections
import json
import pathlib
import random
import resource
import struct
import subprocess
import sys
import tempfile
import unittest

from heap_build import Heap, chain
from test_heap import DATA, WEIR, run

REAL, TRACE = DATA / "small.gcdump", DATA / "small.nettrace"


class Gcdump:
    """Nodes are (type, module, size, children); types are names; roots are the nodes that stand for some, by name."""

    def __init__(self, data):
        self.data, self.at = data, 0
        assert self.text() == "!FastSerialization.1"
        self.begin("GCHeapDump", 10, 8)
        self.begin("Graphs.MemoryGraph", 1, 0)
        self.bytes, self.root, count = self.take("qii")
        self.types = [(self.text(), self.take("i")[0], self.text()) for _ in range(count)]
        self.labels = self.take(f"{self.take('i')[0]}I")
        nodes = self.take(f"{self.take('i')[0]}s")[0]
        self.addresses = self.take(f"{self.take('i')[0]}Q")
        assert self.take("BBB") == (8, 1, 6)
        self.nodes = [self.node(nodes, i, label) for i, label in enumerate(self.labels)]
        self.end()

    def take(self, form):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values

    def text(self):
        units = self.take("i")[0]
        if units < 0:
            return None
        at, value = self.at, []
        for _ in range(units):
            width = 1 if self.data[at] < 0x80 else 2 if self.data[at] < 0xE0 else 3
            value.append(self.data[at:at + width].decode("utf-8", "surrogatepass"))
            at += width
        self.at = at
        return "".join(value).encode("utf-16", "surrogatepass").decode("utf-16")

    def begin(self, name, version, needs):
        assert self.take("BBBii") == (4, 4, 1, version, needs) and self.text() == name and self.take("B") == (6,)

    def end(self):
        assert self.take("BffBB") == (1, 1.0, 1.0, 1, 1)
        self.log = self.text()
        assert self.take("q") and self.text() is None and self.text() is None
        self.take("iqqi")
        assert self.take("BiB") == (12, 0, 1)
        skipped = self.at
        assert self.take("B") == (13,)
        self.tool = self.text()
        assert self.take("BB") == (6, 6)
        table = self.at
        assert self.take("iI") == (1, skipped)
        trailer = self.at
        assert self.take("II") == (table, trailer) and self.at == len(self.data)

    @staticmethod
    def packed(nodes, at):
        value = (nodes[at] & 0x7F) - (128 if nodes[at] & 0x40 else 0)
        while nodes[at] & 0x80:
            at += 1
            value = value << 7 | nodes[at] & 0x7F
        return value, at + 1

    def node(self, nodes, number, at):
        kind, at = self.packed(nodes, at)
        name, size, module = self.types[kind >> 1]
        if kind & 1:
            size, at = self.packed(nodes, at)
        count, at = self.packed(nodes, at)
        children = []
        for _ in range(count):
            child, at = self.packed(nodes, at)
            children.append(number + child)
        return name, module, size, children

    def is_root(self, number):
        return self.addresses[number] == 0 and self.nodes[number][0][0] == "["

    def objects(self):
        """By address; UNDEFINED objects have none that matters."""
        def address(number):
            return self.addresses[number] if self.nodes[number][0] != "UNDEFINED" else None
        return {self.addresses[i]: (name, module, size, [address(c) for c in children])
                for i, (name, module, size, children) in enumerate(self.nodes) if not self.is_root(i) and name != "UNDEFINED"}

    def roots(self):
        """Ways by name to the addresses of objects."""
        found, todo = collections.Counter(), [(self.root, ())]
        while todo:
            number, above = todo.pop()
            way = *above, self.nodes[number][0]
            for child in self.nodes[number][3]:
                if self.is_root(child):
                    todo.append((child, way))
                elif self.nodes[child][0] != "UNDEFINED":
                    found[(*way, self.addresses[child])] += 1
        return found


def ended(whole):
    """With the trailer of a file of this length."""
    return bytes(whole[:-4]) + struct.pack("<I", len(whole) - 8)


class GcdumpTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weir-gcdump-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def export(self, source, *options, code=0):
        """What weir writes of a heap, or of a file, and the path of that."""
        if isinstance(source, Heap):
            path = self.folder / "heap.nettrace"
            path.write_bytes(source.trace())
            source = path
        out = self.folder / f"{source.stem}.out.gcdump"
        run("export", "--to", "gcdump", "-o", out, *options, source, code=code)
        return Gcdump(out.read_bytes()), out

    def graph(self, path):
        """Nothing but the contents: objects by address, roots, edges of weak tables as those of their keys."""
        graph = json.loads(run("export", "--to", "json", path).stdout)
        objects, types = graph["objects"], graph["types"]
        weak = collections.defaultdict(list)
        for entry in graph["weak"]:
            weak[entry["key"]].append(entry["value"])
        edges = [[None if e is None else objects[e]["address"] for e in o["edges"] + weak[i]] for i, o in enumerate(objects)]
        return ({o["address"]: (o["size"], types[o["type"]]["name"], types[o["type"]]["module"], e) for o, e in zip(objects, edges)},
                collections.Counter((r["kind"], r["flags"], r["name"], objects[r["object"]]["address"]) for r in graph["roots"]
                                    if not r["flags"] & 2 or r["kind"] == "static"))

    def report(self, path, code=0):
        return json.loads(run("report", "--json", path, code=code).stdout)

    def test_report_of_a_real_file(self):
        real, trace = self.report(REAL), self.report(TRACE)
        self.assertEqual(real["types"], trace["types"])
        self.assertEqual([real[k] for k in ("objects", "bytes", "edges", "complete", "collection")], [2223, 135678, 2220, True, None])

    def test_graph_of_a_real_file(self):
        self.assertEqual(self.graph(REAL), self.graph(TRACE))

    def test_export_is_what_dotnet_gcdump_makes_of_the_trace(self):
        ours, theirs = self.export(TRACE)[0], Gcdump(REAL.read_bytes())
        self.assertEqual((ours.objects(), ours.roots(), ours.bytes), (theirs.objects(), theirs.roots(), theirs.bytes))
        self.assertEqual((ours.tool, theirs.tool), ("weir", "dotnet-gcdump"))

    def test_export_reads_back(self):
        out = self.export(TRACE)[1]
        self.assertEqual(self.graph(out), self.graph(TRACE))
        with open(out, "rb") as file:
            piped = subprocess.run([WEIR, "heap", "report", "--json", "-"], stdin=file, capture_output=True, check=True).stdout
        self.assertEqual(json.loads(piped)["types"], self.report(out)["types"])

    def test_each_kind_of_root(self):
        heap = chain(8)
        heap.roots = [(16, 0, 0), (32, 1, 0), (48, 2, 0), (64, 2, 1), (80, 2, 8), (96, 5, 0), (112, 2, 2)]
        heap.statics = [(128, "a.b")]
        ours, out = self.export(heap)
        names = {way[-2]: way[-1] for way in ours.roots()}
        self.assertEqual(names, {"[local vars]": 16, "[finalizer Handles]": 32, "[strong Handles]": 48, "[pinning Handles]": 64,
                                 "[COM/WinRT Objects]": 80, "[other Handles]": 96, "[static var A.a.b]": 128})
        kinds = {(r["kind"], r["flags"]) for r in json.loads(run("export", "--to", "json", out).stdout)["roots"]}
        self.assertEqual(kinds, {("stack", 0), ("finalizer", 0), ("handle", 0), ("handle", 1), ("handle", 8), ("other", 0), ("static", 0)})

    def test_sizes(self):
        """Types are split by size, and are one again; what 31 bits cannot have is cut, with a message."""
        sizes = [0, 1000, 1001, 9999, 10000, 99999, 10**5, 10**6, 10**7, 10**8, 2**31 - 1, 2**31, 2**40]
        classes = ["", "", "1K", "1K", "10K", "10K", "100K", "1M", "10M", "100M", "100M", "100M", "100M"]
        heap = Heap()
        heap.objects = {16 * (i + 1): (size, 8, []) for i, size in enumerate(sizes)}
        heap.roots = [(16, 0, 0)]
        ours, out = self.export(heap)
        written = [(name.partition(" (")[2], size) for name, _, size, _ in (ours.objects()[a] for a in heap.objects)]
        self.assertEqual(written, [(f"Bytes > {c})" if c else "", min(s, 2**31 - 1)) for s, c in zip(sizes, classes)])
        self.assertEqual([(t["name"], t["count"]) for t in self.report(out)["types"]], [("A", len(sizes))])
        path = self.folder / "heap.nettrace"
        self.assertIn("2147483647 bytes: 2", run("export", "--to", "gcdump", path).stderr.decode())

    def test_weak_tables_names_and_absent_objects(self):
        heap = chain(4)
        heap.types[8] = "Ä\u20ac\U0001f600"
        heap.objects[16] = (1, 8, [32, 4096, 48])
        heap.weaks = [(32, 64), (32, 16)]
        ours, out = self.export(heap)
        self.assertEqual(ours.objects()[16], (heap.types[8], "/lib/mod.lua", 1, [32, None, 48]))
        self.assertEqual(sorted(ours.objects()[32][3]), [16, 48, 64])
        report = self.report(out)
        self.assertEqual((report["dangling"], report["edges"], {t["name"] for t in report["types"]}), (1, 8, {heap.types[8], "B"}))

    def test_incomplete_stays_so(self):
        path = self.folder / "part.nettrace"
        path.write_bytes(chain().trace(without=[(18, 1)]))
        ours, out = self.export(path, "--incomplete", code=3)
        reasons = [self.report(file, code=3)["reason"] for file in (path, out)]
        self.assertEqual((ours.log, reasons[1]), (f"incomplete: {reasons[0]}", reasons[0]))

    def test_long_reason(self):
        """One line, cut between characters."""
        path = self.folder / "part.nettrace"
        path.write_bytes(chain().trace(without=[(18, 1)]))
        ours, out = self.export(path, "--incomplete", code=3)
        long = "incomplete: \n\x9b" + "\u20ac" * 300
        text = struct.pack("<i", len(ours.log)) + ours.log.encode()
        self.assertIn(text, out.read_bytes())
        path = self.folder / "long.gcdump"
        path.write_bytes(ended(out.read_bytes().replace(text, struct.pack("<i", len(long)) + long.encode())))
        reason = self.report(path, code=3)["reason"]
        self.assertEqual(reason, "???" + "\u20ac" * 65)
        self.assertEqual(self.export(path, "--incomplete", code=3)[0].log, f"incomplete: {reason}")

    def test_numbers_are_refused(self):
        self.assertIn("without a number", run("report", "--number", 1, REAL, code=1).stderr.decode())

    def test_a_small_file_makes_no_large_graph(self):
        """All nodes in the place of the one with most children."""
        whole = bytearray(REAL.read_bytes())
        dump = Gcdump(bytes(whole))
        at = whole.index(struct.pack("<5I", *dump.labels[:5]))
        most = max(range(len(dump.nodes)), key=lambda n: len(dump.nodes[n][3]))
        for number in range(len(dump.nodes)):
            struct.pack_into("<I", whole, at + 4 * number, dump.labels[most])
        path = self.folder / "large.gcdump"
        path.write_bytes(whole)
        self.assertIn("more children than there is room for", run("report", path, code=1).stderr.decode())

    def test_a_long_name_of_many_roots(self):
        """The variable's node is another one at the end, with 100,000 times the same object."""
        heap = chain(4)
        heap.statics = [(16, 2000 * "\u20ac")]
        dump, out = self.export(heap)
        whole, variable = bytearray(out.read_bytes()), next(i for i, n in enumerate(dump.nodes) if n[0].startswith("[static var "))
        labels = whole.index(struct.pack(f"<{len(dump.labels)}I", *dump.labels))
        nodes = labels + 4 * len(dump.labels)
        size = struct.unpack_from("<i", whole, nodes)[0]
        struct.pack_into("<I", whole, labels + 4 * variable, size)
        many = bytes([*whole[nodes + 4 + dump.labels[variable]:][:1], 0x86, 0x8D, 0x20]) + 100000 * bytes([dump.nodes[variable][3][0] - variable])
        whole[nodes:nodes + 4 + size] = struct.pack("<i", size + len(many)) + whole[nodes + 4:nodes + 4 + size] + many
        path = self.folder / "long.gcdump"
        path.write_bytes(ended(whole))
        self.assertEqual(self.report(path)["roots"], 100001)
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, 200_000)

    def test_what_is_refused(self):
        """A newer version, and a root that is not there; other commands say what the file is."""
        dump, out = self.export(chain())
        path = self.folder / "other.gcdump"
        for at, value, why in ((31, 11, "newer than known"), (92, len(dump.nodes), "root is not there")):
            broken = bytearray(out.read_bytes())
            struct.pack_into("<i", broken, at, value)
            path.write_bytes(broken)
            self.assertIn(why, run("report", path, code=1).stderr.decode())
        stat = subprocess.run([WEIR, "stat", out], capture_output=True, check=False)
        self.assertEqual(stat.returncode, 1)
        self.assertIn("this is a .gcdump", stat.stderr.decode())

    def test_damage(self):
        """Cut anywhere it is refused; changed anywhere, read or refused."""
        whole, path, dice = self.export(chain())[1].read_bytes(), self.folder / "broken.gcdump", random.Random(17)
        for size in (*dice.sample(range(24, len(whole)), 30), *range(len(whole) - 40, len(whole))):
            path.write_bytes(whole[:size])
            self.assertIn("cannot read this .gcdump", run("report", path, code=1).stderr.decode(), size)
        for _ in range(120):
            broken = bytearray(whole)
            for _ in range(dice.choice((1, 1, 4))):
                broken[dice.randrange(24, len(whole))] = dice.choice((0, 1, 0x40, 0x7F, 0x80, 0xFF, dice.randrange(256)))
            path.write_bytes(broken)
            done = subprocess.run([WEIR, "heap", "report", "--retained", path], capture_output=True, check=False)
            self.assertIn(done.returncode, (0, 1), (bytes(broken), done.stderr))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
