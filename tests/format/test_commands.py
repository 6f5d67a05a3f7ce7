"""Filters of `weir stat`, `dump` and `report`, on generated streams and real traces."""

import csv
import io
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

from nettrace6_build import Stream6, text8
from nettrace_build import I32, LOSS_FIELDS, STRING, U32, U64, Stream

WEIR, DATA = sys.argv[1], pathlib.Path(sys.argv[2])
NAME_FIELDS = [("CaptureThread", U64), ("ThreadId", U64), ("Name", STRING)]
ENUM_FIELDS = [("Provider", STRING), ("EventId", U32), ("Version", U32), ("Field", STRING), ("Enum", STRING), ("Values", STRING)]
BOOLEAN8 = 6


def run(*arguments, code=0):
    done = subprocess.run([WEIR, *map(str, arguments)], capture_output=True, check=False)
    assert done.returncode == code, f"{arguments}: exit code {done.returncode}\n{done.stdout.decode()}{done.stderr.decode()}"
    return done


def run_json(command, *arguments, code=0):
    return json.loads(run(command, "--json", *arguments, code=code).stdout)


def dump(*arguments, code=0):
    return [json.loads(line) for line in run("dump", "--json", "--stacks", *arguments, code=code).stdout.splitlines()]


def rules(path, code):
    return [finding["rule"] for finding in run_json("check", path, code=code)["findings"]]


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weir-commands-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, data):
        path = self.folder / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path


def threads_stream():
    """Threads 1 "main" and 2 "work, \\"er\\"", and the drain, 7, which reports what 1 (5) and 2 (4) lose. Tick and Tock of
    Demo, One of Other; of thread 1, Tock surrounds each gap."""
    stream = Stream()
    tick = stream.define("Demo", 1, "Tick", [("n", U32)])
    tock = stream.define("Demo", 2, "Tock", [("s", STRING)])
    one = stream.define("Other", 1, "One", [])
    loss = stream.define("Weir", 1, "Loss", LOSS_FIELDS)
    name = stream.define("Weir", 4, "ThreadName", NAME_FIELDS)
    stream.point(10, 1, 2, 7)
    stream.events((name, 7, 11, 1, 1, "main"), (name, 7, 11, 2, 2, 'work, "er"'))
    stream.events((tick, 1, 12, 1), (tock, 1, 13, "a"), (tick, 2, 14, 2), (one, 2, 15))  # 1: 2, 3
    stream.lose(1, 3)  # 4 to 6
    stream.events((loss, 7, 16, 1, 3, "FULL", 3))
    stream.events((tock, 1, 20, "b"), (tick, 1, 21, 3), (tock, 1, 22, "c"))  # 7, 8, 9
    stream.point(23, 1, 2, 7)
    stream.events((tick, 1, 24, 4), (one, 1, 25))  # 10, 11
    stream.lose(1, 2)  # 12, 13
    stream.lose(2, 4)
    stream.events((tick, 1, 30, 5), (tick, 2, 31, 6))  # reveals the gaps before they are reported
    stream.events((loss, 7, 32, 1, 11, "NESTED", 1), (loss, 7, 33, 1, 12, "FULL", 1), (loss, 7, 34, 2, 3, "DEADLINE", 4))
    stream.point(50, 1, 2, 7)
    return stream


class Filters(Case):
    def setUp(self):
        super().setUp()
        self.trace = self.write("in.nettrace", threads_stream().end())

    def test_any_of(self):
        def ids(*arguments):
            return [(event["provider"], event["name"], event["captureThread"]) for event in dump(*arguments, self.trace, code=3)]

        self.assertEqual(ids("--provider", "Other"), [("Other", "One", 2), ("Other", "One", 1)])
        self.assertEqual(len(ids("--provider", "Other", "--provider", "Demo")), 11)
        self.assertEqual({name for _, name, _ in ids("--event", "Tock", "--event", "4")}, {"Tock", "ThreadName"})
        self.assertEqual(ids("--thread", "2", "--event", "1"), [("Demo", "Tick", 2), ("Other", "One", 2), ("Demo", "Tick", 2)])
        self.assertEqual(ids("--thread", 'work, "er"', "--event", "Tick"), 2 * [("Demo", "Tick", 2)])
        self.assertEqual(len(ids("--thread", "main", "--thread", "2")), 11)
        self.assertEqual(ids("--provider", "Demo", "--last", "1"), [("Demo", "Tick", 2)])

    def test_stat(self):
        stat = run_json("stat", "--provider", "Demo", "--event", "Tick", self.trace, code=3)
        self.assertEqual((stat["eventCount"], stat["filter"]["passed"], stat["filter"]["of"]), (6, 6, 17))
        self.assertEqual((stat["firstTicks"], stat["lastTicks"], stat["payloadBytes"]), (12, 31, 24))
        self.assertEqual([(row["name"], row["count"]) for row in stat["events"]], [("Tick", 6)])
        self.assertEqual({row["captureThread"]: row["events"] for row in stat["threads"]}, {1: 4, 2: 2, 7: 0})
        self.assertEqual((stat["lost"], stat["causes"]["FULL"]), (9, 4), "the losses are those of the file")
        self.assertNotIn("filter", run_json("stat", self.trace, code=3))

    def test_with_a_window(self):
        """--from and --to leave out events first; the filters choose among the others."""
        window = ["--from", "0.00000002", "--to", "0.00000003"]
        times = [event["ticks"] for event in dump(*window, "--event", "Tick", "--event", "One", self.trace)]
        self.assertEqual(times, [21, 24, 25])
        stat = run_json("stat", *window, "--event", "Tick", self.trace)
        self.assertEqual((stat["eventCount"], stat["filter"]["passed"], stat["filter"]["of"]), (2, 2, 5))
        self.assertEqual((stat["firstTicks"], stat["lastTicks"], stat["bytesPerEvent"]), (21, 24, None))

    def test_version6(self):
        """Threads by their index, the id of the system, or a name that comes with the thread; labels are kept for --last."""
        stream = Stream6()
        stream.thread(8, 5001, "main")
        stream.thread(9, 5002, "worker")
        tick = stream.define("Demo", 1, "Tick", [("n", U32)])
        stream.labels(1, [(5, text8("req") + text8("a")), (4, b"\1" + bytes(7))])
        stream.events((tick, 8, 10, 1), (tick, 9, 11, 2), labels=1)
        stream.events((tick, 8, 12, 3))
        trace = self.write("in.nettrace", stream.end())
        for thread in ("9", "5002", "worker"):
            [event] = dump("--thread", thread, "--last", "1", trace)
            self.assertEqual((event["fields"], event["labels"], event["spanId"]), ({"n": 2}, [{"key": "req", "value": "a"}], 1))
            self.assertEqual([row["events"] for row in run_json("stat", "--thread", thread, trace)["threads"]], [1])
        self.assertIn(b'req="a"', run("dump", "--thread", "worker", "--last", "1", trace).stdout)

    def test_losses_of_a_thread(self):
        for thread, lost, causes in (("main", 5, {"FULL": 4, "NESTED": 1}), ("2", 4, {"DEADLINE": 4}), ("7", 0, {})):
            stat = run_json("stat", "--thread", thread, self.trace, code=3)
            found = {cause: count for cause, count in stat["causes"].items() if count}
            self.assertEqual((stat["lost"], stat["lost_at_least"], found), (lost, lost, causes))
            self.assertEqual(len(stat["threads"]), 1)
            self.assertIn(f"\nlost       {lost}\n", run("stat", "--thread", thread, self.trace, code=3).stdout.decode())
        # Cut off before a gap shows: Loss events count.
        part = threads_stream().bytes
        trace = self.write("part.nettrace", bytes(part[: part.rindex(b"SPBlock") - 15]))
        stat = run_json("stat", "--thread", "2", trace, code=4)
        self.assertEqual((stat["lost"], stat["lost_at_least"]), (None, 4))

    def test_nothing_matches(self):
        for command in ("stat", "dump", "report"):
            for filters in (["--provider", "Nobody"], ["--event", "Tick", "--event", "77", "--thread", "99"]):
                if "Tick" in filters and command == "report":
                    continue
                self.assertIn(b"nothing matches the filters, of 17 events", run(command, *filters, self.trace, code=3).stderr)
        self.assertEqual(run_json("stat", "--provider", "Nobody", self.trace, code=3)["events"], [])

    def test_report(self):
        stream = Stream()
        call = stream.define("Lua", 1, "Call", [("FunctionId", U64)])
        function = stream.define("Lua", 4, "Function", [("FunctionId", U64), ("Name", STRING)])
        stream.point(0, 1, 2, 7)
        stream.events((function, 7, 1, 5, 'f,"\n'), (call, 1, 2, 5), (call, 2, 3, 5), (call, 2, 4, 6))
        trace = self.write("calls.nettrace", stream.end())
        provider = run_json("report", "--thread", "2", trace)["providers"][0]
        self.assertEqual([(row["name"], row["calls"]) for row in provider["functions"]], [('f,"\n', 1), ("", 1)])
        self.assertEqual(provider["threads"], [{"captureThread": 2, "name": None, "calls": 2}])
        text = run("report", "--csv", "--by", "calls", trace).stdout.decode()
        self.assertEqual(text.splitlines(keepends=True)[1], 'Lua,5,"f,""\n')
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
        self.assertEqual([(row["id"], row["name"], row["calls"]) for row in rows], [("5", 'f,"\n', "2"), ("6", "", "1")])
        rows = list(csv.reader(io.StringIO(run("report", "--csv=threads", trace).stdout.decode(), newline="")))
        self.assertEqual(rows, [["provider", "capture_thread", "name", "calls"], ["Lua", "2", "", "2"], ["Lua", "1", "", "1"]])

    def test_csv(self):
        text = run("stat", "--csv", "--provider", "Demo", self.trace, code=3).stdout
        self.assertEqual(text, b"provider,event,id,version,count,payload_bytes\r\nDemo,Tick,1,0,6,24\r\nDemo,Tock,2,0,3,12\r\n")
        text = run("stat", "--csv=threads", self.trace, code=3).stdout
        self.assertTrue(text.endswith(b"\r\n"))
        rows = list(csv.DictReader(io.StringIO(text.decode(), newline="")))
        self.assertEqual([(row["name"], row["events"], row["lost"], row["FULL"]) for row in rows],
                         [("main", "8", "5", "4"), ('work, "er"', "3", "4", "0"), ("", "6", "0", "0")])
        run("stat", "--csv=odd", self.trace, code=2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
