"""Filters, `weir diff`, `weir schema` and `weir cut`, on generated streams and real traces."""

import csv
import io
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

from nettrace6_build import LOSS6_FIELDS, Stream6, row16, text8
from nettrace_build import I32, LOSS_FIELDS, STRING, U32, U64, Stream

WEIR, DATA = sys.argv[1], pathlib.Path(sys.argv[2])
NAME_FIELDS = [("CaptureThread", U64), ("ThreadId", U64), ("Name", STRING)]
ENUM_FIELDS = [("Provider", STRING), ("EventId", U32), ("Version", U32), ("Field", STRING), ("Enum", STRING), ("Values", STRING)]
BOOLEAN8 = 6
STRIDE = int(os.environ.get("STRIDE", "1"))  # of the places where a stream is damaged


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

        self.assertEqual(ids("--provider", "oTHER"), [("Other", "One", 2), ("Other", "One", 1)])
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
        for command in ("stat", "dump", "report"):
            self.assertIn(b"one of --json and --csv", run(command, "--json", "--csv", self.trace, code=2).stderr)

    def test_csv_of_events(self):
        """The last column is what the text has behind the event's name; RFC 4180 puts each quote twice."""
        arguments = ("--event", "Tock", "--event", "ThreadName")
        text = run("dump", "--csv", *arguments, self.trace, code=3).stdout.decode()
        self.assertEqual(text.split("\r\n")[:2], ["ns,provider,event,id,version,capture_thread,thread,thread_name,number,fields",
                                                 '11,Weir,ThreadName,4,0,7,7,,2,"CaptureThread=1 ThreadId=1 Name=""main"""'])
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
        events = dump(*arguments, self.trace, code=3)
        self.assertEqual([(int(row["ns"]), row["event"], int(row["number"]), row["thread_name"]) for row in rows],
                         [(event["ns"], event["name"], event["number"], event.get("threadName", "")) for event in events])
        lines = run("dump", *arguments, self.trace, code=3).stdout.decode().splitlines()
        self.assertEqual([row["fields"] for row in rows], [line.split(") ", 1)[1] for line in lines])
        last = run("dump", "--csv", "--last", "1", *arguments, self.trace, code=3).stdout.decode()
        self.assertEqual(last.splitlines(), [text.splitlines()[0], text.splitlines()[-1]])

    def test_last(self):
        """Of the events that dump prints, with and without other options that choose."""
        for choice in ([], ["--event", "Tick"], ["--thread", "main", "--from", "0.000000012"]):
            for last in (0, 1, 3, 1000):
                stat = run_json("stat", "--last", last, *choice, self.trace, code=3)
                events = dump("--last", last, *choice, self.trace, code=3)
                self.assertEqual((stat["eventCount"], sum(row["count"] for row in stat["events"])), (len(events), len(events)))
                self.assertEqual(sum(row["events"] for row in stat["threads"]), len(events))
                self.assertEqual(stat["payloadBytes"], sum(event["payloadBytes"] for event in events))
                if events:
                    times = [event["ticks"] for event in events]
                    self.assertEqual((stat["firstTicks"], stat["lastTicks"]), (min(times), max(times)))
                self.assertEqual(stat["lost"], run_json("stat", *choice, self.trace, code=3)["lost"])
        self.assertIn(b"events     2, the last of 6 that pass the filters, 8 payload", run("stat", "--last", "2", "--event", "Tick", self.trace, code=3).stdout)


class Diff(Case):
    def stream(self, values=(1, 2, 3), lost=0, kind=U32, extra=False, threads=(1, 2), address=5):
        stream = Stream()
        tick = stream.define("Demo", 1, "Tick", [("n", kind), ("Address", U64)])
        other = stream.define("Demo", 2, "Other", []) if extra else None
        name = stream.define("Weir", 4, "ThreadName", NAME_FIELDS)
        stream.point(1, *threads)
        stream.events(*((name, threads[1], 2, thread, 0, f"thread {i}") for i, thread in enumerate(threads)))
        stream.events(*((tick, threads[0], 10 + i, value, address) for i, value in enumerate(values)))
        stream.events((tick, threads[1], 50, 9, address))
        if extra:
            stream.events((other, threads[1], 60))
        stream.lose(threads[0], lost)
        stream.point(70, *threads)
        return stream.end()

    def diff(self, one, other, *arguments, code):
        return run_json("diff", *arguments, self.write("a", one), self.write("b", other), code=code)

    def test_same(self):
        self.assertTrue(self.diff(self.stream(), self.stream(threads=(9, 3)), "--events", code=0)["same"])
        self.assertIn(b"\nthe same\n", run("diff", "--events", self.folder / "a", self.folder / "b").stdout)
        self.assertTrue(self.diff(self.stream(lost=3), self.stream(lost=3), code=3)["same"])
        self.assertTrue(self.diff(self.stream(), self.stream()[:-1], code=4)["same"])

    def test_counts(self):
        found = self.diff(self.stream(), self.stream(values=(1, 2), extra=True), code=5)
        self.assertEqual([(row["name"], row["a"], row["b"]) for row in found["events"]], [("Tick", 4, 3), ("Other", 0, 1)])
        self.assertEqual((found["same"], found["schemas"], found["losses"], found["threads"]), (False, [], [], []))
        text = run("diff", self.folder / "a", self.folder / "b", code=5).stdout.decode()
        self.assertRegex(text, r"\nDemo +Tick +1 +0 +4 +3 +-1\nDemo +Other +2 +0 +0 +1 +added\n")
        self.assertEqual(self.diff(self.stream(extra=True), self.stream(), "--event", "Tick", code=0)["same"], True)

    def test_schemas_and_losses(self):
        found = self.diff(self.stream(), self.stream(kind=U64, lost=2), "--events", code=5)
        self.assertEqual([row["message"] for row in found["schemas"]], ["field n changed from uint32 to uint64"])
        self.assertEqual(found["losses"], [{"cause": "unknown", "a": 0, "b": 2}])
        self.assertEqual(found["threads"], [], "the numbers are the same")

    def test_events(self):
        found = self.diff(self.stream(), self.stream(values=(1, 7, 3, 4), threads=(4, 5)), "--events", code=5)
        [thread] = found["threads"]
        self.assertEqual((thread["name"], thread["at"], thread["a"]["events"], thread["b"]["events"]), ("thread 0", 1, 3, 4))
        self.assertEqual((thread["a"]["event"]["fields"]["n"], thread["b"]["event"]["fields"]["n"]), (2, 7))
        [thread] = self.diff(self.stream(), self.stream(values=(1, 2)), "--events", code=5)["threads"]
        self.assertEqual((thread["at"], thread["a"]["event"]["fields"]["n"], thread["b"]["event"]), (2, 3, None))
        text = run("diff", "--events", self.folder / "a", self.folder / "b", code=5).stdout.decode()
        self.assertRegex(text, r"\nthread 1 and 1 \[thread 0\]: event 3 is the first that differs\n"
                               r"  A .* Demo/Tick\(1\) n=3 Address=5\n  B .*\(no more events\)\n")

    def test_ignored_fields(self):
        two = self.stream(), self.stream(address=77)
        self.assertEqual(len(self.diff(*two, "--events", code=5)["threads"]), 2)
        self.assertTrue(self.diff(*two, "--events", "--ignore", "Address", code=0)["same"])

    def version6(self, text="a", raw="ff", lists=3):
        stream = Stream6()
        stream.thread(8, 5001, "main")
        enum = stream.define("Weir", 5, "Enum", ENUM_FIELDS)
        tick = stream.define("Demo", 1, "Tick", [("s", b"\x13\x17"), ("fixed", b"\x16\x08" + struct.pack("<H", lists)), ("v", 20)])
        stream.events((enum, 8, 1, "Demo", 1, 0, "Data", "raw", ""))
        for at in (10, 11):
            payload = struct.pack("<H", len(text)) + text.encode() + bytes(2 * lists) + b"\5" + bytes.fromhex(raw)
            stream.events((tick, 8, at, payload))
        return stream.end()

    def test_version6(self):
        self.assertTrue(self.diff(self.version6(), self.version6(), "--events", code=0)["same"])
        for changes, field in (({"text": "b"}, "s"), ({"raw": "fe"}, "Data")):
            [thread] = self.diff(self.version6(), self.version6(**changes), "--events", code=5)["threads"]
            one, other = (thread[side]["event"]["fields"] for side in "ab")
            self.assertEqual([name for name in one if one[name] != other[name]], [field])
        found = self.diff(self.version6(), self.version6(lists=4), code=5)
        self.assertEqual([row["message"] for row in found["schemas"]],
                         ["field fixed changed from fixedarray[3] of uint16 to fixedarray[4] of uint16"])

    def test_usage(self):
        self.write("a", self.stream())
        for arguments in ([], ["a"], ["a", "b", "c"], ["-", "-"], ["--events", "-", "a"], ["--odd", "a", "b"]):
            self.assertTrue(run("diff", *arguments, code=2).stderr)
        run("diff", self.folder / "a", "/no/such/file", code=1)
        run("diff", self.folder / "a", self.write("odd", "text"), code=1)


class Schema(Case):
    FIELDS = [("a", U32), ("b", STRING), ("c", U64)]

    def trace(self, fields=None, version=0, name="Tick", names="0=Off;1=On", event_id=1, empty=False):
        stream = Stream()
        stream.define("Weir", 5, "Enum", ENUM_FIELDS)
        if not empty:
            stream.define("Demo", event_id, name, self.FIELDS if fields is None else fields, version=version)
            stream.point(1, 7)
            stream.events((1, 7, 2, "Demo", event_id, version, "a", "E", names)) if fields is None else None
        return self.write("t.nettrace", stream.end())

    def test_text(self):
        schema = json.loads(run("schema", "--provider", "Demo", self.trace()).stdout)
        field = {"name": "a", "type": "uint32", "values": {"0": "Off", "1": "On"}}
        self.assertEqual(schema, {"schema": 1, "events": [{"provider": "Demo", "id": 1, "version": 0, "name": "Tick", "level": 4,
                         "keywords": "0x1", "fields": [field, {"name": "b", "type": "string"}, {"name": "c", "type": "uint64"}]}]})

    def test_order(self):
        """The order of definitions does not matter, nor does a repeated one."""
        texts = set()
        for order in ((1, 2, 3), (3, 1, 2, 1)):
            stream = Stream()
            for event_id in order:
                stream.define("Demo", event_id, f"E{event_id}", [])
            texts.add(run("schema", self.write("t.nettrace", stream.end())).stdout)
        self.assertEqual(len(texts), 1)

    def against(self, *arguments, code, **changes):
        """The messages that a change from self.FIELDS brings: findings, notes."""
        schema = self.write("p.json", run("schema", "--provider", "Demo", self.trace()).stdout)
        done = subprocess.run([WEIR, "schema", "--json", "--provider", "Demo", "--against", schema, *arguments, self.trace(**changes)],
                              capture_output=True, check=False)
        if b"built without" in done.stderr:
            self.skipTest("weir was built without a library for JSON")
        self.assertEqual(done.returncode, code, done)
        found = json.loads(done.stdout)
        return tuple([remark["message"] for remark in found[kind]] for kind in ("findings", "notes"))

    def test_changes(self):
        a, b, c = self.FIELDS
        d = ("d", U32)
        for fields, findings, notes in (
                ([a, b], ["field c went away"], []),
                ([a, b, ("c", U32)], ["field c changed from uint64 to uint32"], []),
                ([a, ("x", STRING), c], ["field b was renamed to x"], []),
                ([b, a, c], ["field b moved before a"], []),
                ([d, a, b, c], ["field d was added before a"], []),
                ([a, b, c, d], [], ["field d was added at the end"])):
            found = self.against(fields=fields, code=1 if findings else 0)
            values = ["the values of field a have other names"]  # the trace of changed fields has no Weir/Enum
            self.assertEqual(found, (findings, values + notes), fields)
        self.assertEqual(self.against(fields=[a], version=1, code=0), ([], ["version 0 gave way to version 1", "is a new version"]))
        self.assertEqual(self.against(names="0=Off;1=Out", code=0), ([], ["the values of field a have other names"]))
        self.assertEqual(self.against(name="Tack", code=0), ([], ["was called Tick"]))
        self.assertEqual(self.against(event_id=2, code=1), (["is gone"], ["is new"]))
        self.assertEqual(self.against(empty=True, code=1), (["is gone"], []))
        self.assertEqual(self.against(code=0), ([], []))

    def test_real(self):
        """Arrays, objects and thousands of definitions are printed and read again."""
        for trace in sorted(DATA.glob("*.nettrace")):
            schema = self.write("p.json", run("schema", trace).stdout)
            done = subprocess.run([WEIR, "schema", "--json", "--against", schema, trace], capture_output=True, check=False)
            if b"built without" in done.stderr:
                self.skipTest("weir was built without a library for JSON")
            self.assertEqual(done.returncode, 0, done.stderr)
            found = json.loads(done.stdout)
            self.assertEqual((found["findings"], found["notes"]), ([], []), trace)

    def shapes(self, fields=(), raw="Data", flag=b"\x1A"):
        """Shapes that only version 6 has, nested, and a value of variable size with names."""
        stream = Stream6()
        stream.thread(8, 5001, "main")
        enum = stream.define("Weir", 5, "Enum", ENUM_FIELDS)
        part = row16(text8("x") + b"\x07") + row16(text8("y") + b"\x13\x17")
        stream.define("Demo", 1, "Shapes", [("list", b"\x13\x01" + struct.pack("<H", 2) + part), ("fixed", b"\x16\x17\x08\x00"),
                                            ("there", b"\x18\x08"), ("v", 20), ("flag", flag), *fields])
        names = [(enum, 8, 1, "Demo", 1, 0, "v", "V", "-1=Minus;300=Big")] + [(enum, 8, 2, "Demo", 1, 0, raw, "raw", "")] * bool(raw)
        if flag == b"\x06":
            names.append((enum, 8, 3, "Demo", 1, 0, "flag", "bool8", "0=false;1=true"))
        stream.events(*names)
        return stream.end()

    def test_version6(self):
        trace = self.write("t.nettrace", self.shapes())
        [event] = json.loads(run("schema", "--provider", "Demo", trace).stdout)["events"]
        element = {"type": "object", "fields": [{"name": "x", "type": "int16"}, {"name": "y", "type": "array", "element": {"type": "utf8"}}]}
        self.assertEqual((event["raw"], event["fields"]), ("Data", [
            {"name": "list", "type": "array", "element": element},
            {"name": "fixed", "type": "fixedarray", "count": 8, "element": {"type": "utf8"}},
            {"name": "there", "type": "relloc", "element": {"type": "uint16"}},
            {"name": "v", "type": "varint", "values": {"-1": "Minus", "300": "Big"}}, {"name": "flag", "type": "boolean8"}]))
        schema = self.write("p.json", run("schema", "--provider", "Demo", trace).stdout)
        for changes, findings, notes in (({}, [], []), ({"flag": b"\x06"}, [], []), ({"raw": "More"}, ["raw bytes Data were renamed to More"], []),
                                         ({"raw": None}, ["raw bytes Data went away"], []),
                                         ({"fields": [("w", 21)]}, ["field w was added before the raw bytes"], [])):
            trace = self.write("t.nettrace", self.shapes(**changes))
            done = subprocess.run([WEIR, "schema", "--json", "--provider", "Demo", "--against", schema, trace], capture_output=True, check=False)
            if b"built without" in done.stderr:
                self.skipTest("weir was built without a library for JSON")
            found = json.loads(done.stdout)
            self.assertEqual(tuple([row["message"] for row in found[kind]] for kind in ("findings", "notes")), (findings, notes), changes)

    def test_bad_files(self):
        trace = self.trace()
        good = json.loads(run("schema", trace).stdout)
        if b"built without" in subprocess.run([WEIR, "schema", "--against", self.write("p", json.dumps(good)), trace],
                                              capture_output=True, check=False).stderr:
            self.skipTest("weir was built without a library for JSON")
        nested = {"name": "a", "type": "uint32"}
        for _ in range(200):
            nested = {"name": "a", "type": "object", "fields": [nested]}

        def changed(**members):
            return {"schema": 1, "events": [{**good["events"][0], **members}]}

        for bad in ("", "{", "[]", "{}", '{"schema": 2, "events": []}', '{"schema": 1, "events": [1]}', "[" * 100000,
                    changed(id="1"), changed(keywords=1), changed(keywords="x"), changed(fields=None), changed(name=None),
                    changed(fields=[1]), changed(fields=[nested]), changed(fields=[{"name": "a", "type": "odd"}]),
                    changed(fields=[{"name": "a", "type": "array"}]), changed(fields=[{"name": "a", "type": "relloc"}]), changed(level=2**40),
                    changed(fields=[{"name": "a", "type": "fixedarray", "element": {"type": "byte"}}]), changed(raw=1),
                    changed(fields=[{"name": "a", "type": "string", "values": {"1": "x"}}]),
                    changed(fields=[{"name": "a", "type": "byte", "values": {"x": "x"}}])):
            text = bad if isinstance(bad, str) else json.dumps(bad)
            done = run("schema", "--against", self.write("p.json", text), trace, code=1)
            self.assertIn(b"p.json", done.stderr, text[:100])
        self.assertIn(b"No such file", run("schema", "--against", self.folder / "none", trace, code=1).stderr)


class Cut(Case):
    SAME = ("ticks", "ns", "provider", "name", "id", "version", "level", "keywords", "opcode", "captureThread", "thread",
            "threadName", "processor", "stack", "activityId", "relatedActivityId", "payloadBytes", "fields", "payload", "rest")

    def cut(self, trace, *arguments, code=0, findings=()):
        out = self.folder / "out.nettrace"
        run("cut", *arguments, trace, "-o", out, code=code)
        self.assertEqual(rules(out, 1 if findings and code != 4 else code), list(findings))
        self.assertEqual([path.name for path in self.folder.glob("out*")], ["out.nettrace"])
        return out

    def events(self, trace, *arguments, code):
        return [{key: event.get(key) for key in self.SAME} for event in dump(*arguments, trace, code=code) if event.get("provider") != "Weir"]

    def counts(self, trace, *arguments, code):
        stat = run_json("stat", *arguments, trace, code=code)
        threads = {row["captureThread"]: (row["name"], row["events"], row["lost"], row["causes"]) for row in stat["threads"]}
        return stat["lost"], stat["causes"], threads

    def test_filters(self):
        trace = self.write("in.nettrace", threads_stream().end())
        for filters in ([], ["--provider", "Demo"], ["--event", "Tick"], ["--event", "Tock"], ["--provider", "Other"], ["--thread", "main"],
                        ["--thread", "2", "--event", "Tick"], ["--thread", "1", "--event", "One"]):
            with self.subTest(filters):
                out = self.cut(trace, *filters, code=3)
                self.assertEqual(self.events(out, *filters, code=3), self.events(trace, *filters, code=3))
                self.assertEqual(self.events(out, code=3), self.events(trace, *filters, code=3))
                own = [*filters, "--thread", "1", "--thread", "2"] if "--thread" not in filters else filters
                self.assertEqual(self.counts(out, *own, code=3), self.counts(trace, *own, code=3))

    def test_losses_move(self):
        """Each Loss event names the number before its gap, as the events are numbered now."""
        out = self.cut(self.write("in.nettrace", threads_stream().end()), "--event", "Tick", code=3)
        losses = [(f["CaptureThread"], f["After"], f["Cause"], f["Count"]) for f in
                  (event["fields"] for event in dump("--event", "Loss", out, code=3))]
        self.assertEqual(losses, [(1, 2, "FULL", 3), (1, 7, "NESTED", 1), (1, 8, "FULL", 1), (2, 2, "DEADLINE", 4)])
        numbers = [event["number"] for event in dump("--event", "Tick", "--thread", "1", out, code=3)]
        self.assertEqual(numbers, [2, 6, 7, 10])

    def test_nothing_lost_by_filtering(self):
        stream = Stream()
        kinds = [stream.define("Demo", i, f"E{i}", [("n", U32)]) for i in (1, 2, 3)]
        stream.define("Weir", 1, "Loss", LOSS_FIELDS)
        stream.point(1, 1, 2)
        for at in range(60):
            stream.events((kinds[at % 3], 1 + at % 2, 10 + at, at))
        trace = self.write("in.nettrace", stream.end())
        self.assertEqual([event["fields"]["n"] for event in dump(self.cut(trace, "--event", "2"))], list(range(1, 60, 3)))

    def test_window(self):
        trace = self.write("in.nettrace", threads_stream().end())
        out = self.cut(trace, "--from", "0.00000002", "--to", "0.000000026", code=3)  # 20 to 25: the first gap of thread 1
        self.assertEqual([event["ticks"] for event in self.events(out, code=3)], [20, 21, 22, 24, 25])
        lost, causes, threads = self.counts(out, code=3)
        self.assertEqual((lost, causes["FULL"], sorted(threads)), (3, 3, [1, 7]))
        stat = run_json("stat", out, code=3)
        self.assertGreaterEqual(stat["firstTicks"], 20)
        self.assertLessEqual(stat["lastTicks"], 25)
        out = self.cut(trace, "--to", "0.000000016")
        self.assertEqual(len(self.events(out, code=0)), 4)
        out = self.cut(trace, "--from", "0.000000026", code=3)
        self.assertEqual((self.counts(out, code=3)[0], len(self.events(out, code=3))), (6, 2))

    def test_enums(self):
        stream = Stream()
        stream.define("Weir", 5, "Enum", ENUM_FIELDS)
        kinds = []
        stream.point(1, 1, 7)
        for i in range(8):
            kinds.append(stream.define("Demo", i + 1, f"E{i + 1}", [("Cause", U32), ("Flag", BOOLEAN8)]))
            stream.events((1, 7, 2 + i, "Demo", i + 1, 0, "Cause", "Causes", f"1=One{i}"), (1, 7, 2 + i, "Demo", i + 1, 0, "Flag", "bool8", "0=false;1=true"))
        stream.events(*((kind, 1, 20 + i, 1, 1) for i, kind in enumerate(kinds)))
        trace = self.write("in.nettrace", stream.end())
        for filters in ([], ["--event", "3", "--event", "8"], ["--from", "0.00000002"]):
            out = self.cut(trace, *filters)
            wanted = [event["fields"] for event in self.events(trace, *[f for f in filters if f[:3] not in ("--f", "0.0")], code=0)]
            self.assertEqual([event["fields"] for event in self.events(out, code=0)], wanted)
            self.assertTrue(all(fields["Flag"] is True and fields["Cause"].startswith("One") for fields in wanted))

    def test_unfinished(self):
        """What is unknown in the one is unknown in the other."""
        whole = threads_stream().bytes
        for cut in (len(whole), bytes(whole).rindex(b"SPBlock") + 20):
            trace = self.write("in.nettrace", bytes(whole[:cut]))
            out = self.cut(trace, "--provider", "Demo", code=4, findings=["end-tag"])
            both = [run_json("stat", path, code=4) for path in (trace, out)]
            self.assertEqual(*((stat["lost"], stat["lost_at_least"], stat["lost_unknown_after_ns"]) for stat in both))
        self.cut(trace, "--to", "0.000000022", code=3)  # the next point shows all of it

    def test_real(self):
        """Stacks, arrays, activities, and provider and thread of the runtime's own traces."""
        for name, filters in (("eventpipe-dotnetcore3.0-win-x64-objver4", ["--event", "10", "--event", "81"]),
                              ("eventpipe-dotnetcore5.0-win-x64-arraytypes", []),
                              ("eventpipe-dotnetcore6.0-win-x64-executioncheckpoints", []),
                              ("only_managed_samples", ["--provider", "Microsoft-DotNETCore-SampleProfiler"])):
            with self.subTest(name):
                trace = DATA / f"{name}.nettrace"
                out = self.cut(trace, *filters)
                events = self.events(trace, *filters, code=0)
                self.assertTrue(events)
                self.assertEqual(self.events(out, code=0), events)
                self.assertEqual(run("dump", "--sorted", out).stdout.count(b"\n"), len(events))

    def version6(self, level=4):
        """Threads 8 "main" and 9 without a name, and 10, the drain. Names of 8 and 10 come with them, and 8 gets another one. 9
        loses 3 before its end, and 8 loses 2 before its first event."""
        stream = Stream6()
        stream.thread(8, 5001, "main")
        stream.thread(9, 5002)
        stream.thread(10, 5003, "Weir")
        enum = stream.define("Weir", 5, "Enum", ENUM_FIELDS)
        name = stream.define("Weir", 4, "ThreadName", NAME_FIELDS)
        loss = stream.define("Weir", 1, "Loss", LOSS6_FIELDS)
        tick = stream.define("Demo", 1, "Tick", [("n", U32)])
        tock = stream.define("Demo", 2, "Tock", [("list", b"\x13\x08")])
        new = stream.define("Demo", 3, "New", [("u", b"\x13\x17")])
        stream.events((enum, 10, 5, "Demo", 1, 0, "Data", "raw", ""), (enum, 10, 5, "Demo", 1, 0, "n", "E", "1=One"))
        stream.labels(1, [(1, bytes(range(16))), (2, b"\2" * 16)], [(1, b"\1" * 16), (5, text8("k") + text8("v")), (9, bytes([level]))])
        stream.stacks(1, [0x1000, 0x2000])
        stream.lose(8, 2)
        stream.events((tick, 8, 10, b"\1\0\0\0\xFF\xFE"), (tick, 8, 11, 2), labels=1, stack=1)
        stream.events((tock, 9, 12, b"\2\0\1\0\2\0"), (tock, 9, 13, b"\0\0"))
        stream.events((name, 10, 14, 8, 5001, "renamed"))
        stream.events((tick, 8, 15, 3), labels=2)
        stream.events((new, 9, 16, b"\1\0x"))
        stream.lose(9, 3)
        stream.events((loss, 10, 30, 8, 0, "FULL", 2), (loss, 10, 31, 9, 3, "NESTED", 3))
        stream.remove(9)
        stream.point(40, 8, 10)
        stream.events((tick, 8, 41, 1))
        stream.point(50, 8, 10)
        return self.write("in.nettrace", stream.end())

    def test_version6(self):
        """A trace of version 6 becomes one of version 5, with all that it can say."""
        trace = self.version6()
        old = [["--event", "Tick", "--event", "Tock"], ["--event", "Tick"], ["--thread", "5002", "--event", "Tock"], ["--thread", "8"],
               ["--thread", "main"], ["--thread", "renamed", "--event", "1"]]
        for filters in old:
            with self.subTest(filters):
                out = self.cut(trace, *filters, code=3)
                self.assertEqual(self.events(out, *filters, code=3), self.events(trace, *filters, code=3))
                self.assertEqual(self.events(out, code=3), self.events(trace, *filters, code=3))
                own = [*filters, "--provider", "Demo", *(["--thread", "8", "--thread", "9"] if "--thread" not in filters else [])]
                self.assertEqual(self.counts(out, *own, code=3), self.counts(trace, *own, code=3))
        [first, *_, last] = dump("--event", "Tick", self.cut(trace, "--event", "Tick", code=3), code=3)
        self.assertEqual((first["threadName"], last["threadName"], first["number"]), ("main", "renamed", 5))
        self.assertEqual((first["fields"], first["stack"]), ({"n": "One", "Data": "fffe"}, [0x1000, 0x2000]))
        out = self.cut(trace, "--from", "0.000000012", "--to", "0.000000016")
        self.assertEqual([event["ticks"] for event in self.events(out, code=0)], [12, 13, 15])
        out = self.cut(trace, "--from", "0.00000004", code=3)  # the removal of 9 shows at the point
        self.assertEqual((self.counts(out, code=3)[0], self.events(out, code=3)[0]["threadName"]), (3, "renamed"))

    def test_many_threads_and_points(self):
        """As many points as threads, which are about none of these: each looks at those that it is about only."""
        stream, count = Stream(), 20_000
        tick = stream.define("Demo", 1, "Tick", [])
        for first in range(0, count, 1000):
            stream.events(*((tick, thread, 10 + thread) for thread in range(first, first + 1000)))
        stream.point(10 * count)
        start = len(stream.bytes)
        stream.point(10 * count)
        stream.bytes += stream.bytes[start:] * count  # the same again, also in its alignment
        trace, out = self.write("in.nettrace", stream.end()), self.folder / "out"
        done = subprocess.run([WEIR, "cut", trace, "-o", out], capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(run_json("stat", out)["eventCount"], count)

    def test_version6_only(self):
        """What versions 4 and 5 cannot say is left out with a message, or there is no file."""
        trace, out = self.version6(), self.folder / "out"
        done = run("cut", "--event", "Tick", trace, "-o", out, code=3)
        self.assertIn(b" 1 events have labels", done.stderr)
        self.assertEqual(run_json("cut", "--event", "Tick", trace, "-o", out, code=3)["labelled"], 1)
        out.unlink()
        self.assertIn(b"Demo/New has fields that versions 4 and 5 of the format lack", run("cut", trace, "-o", out, code=1).stderr)
        self.assertIn(b"Demo/Tick another level", run("cut", "--event", "Tick", self.version6(level=2), "-o", out, code=1).stderr)
        stream = Stream6(ProcessId="0")
        self.assertIn(b"does not name its process", run("cut", self.write("in.nettrace", stream.end()), "-o", out, code=1).stderr)
        stream = Stream6()
        tick = stream.define("Demo", 1, "Tick", [])
        for at in (10, 20):
            stream.thread(8, 5001, "main")
            stream.events((tick, 8, at))
            stream.point(at + 1, 8, flags=1)
        self.assertIn(b"an index for two threads", run("cut", self.write("in.nettrace", stream.end()), "-o", out, code=1).stderr)
        self.assertFalse(out.exists())

    def test_nothing_matches(self):
        trace = self.write("in.nettrace", threads_stream().end())
        done = run("cut", "--provider", "Nobody", trace, "-o", self.folder / "out", code=3)
        self.assertIn(b"nothing matches", done.stderr)
        self.assertEqual(run_json("stat", self.folder / "out", code=3)["lost"], 9)
        done = run("cut", "--provider", "Weir", trace, "-o", self.folder / "out", code=3)
        self.assertEqual(done.stderr, b"")

    def test_failures(self):
        trace = self.write("in.nettrace", threads_stream().end())
        out = self.write("out", "as it was")
        for arguments in ([trace], ["-", "-o", out], [trace, "-o", trace], ["--from", "x", trace, "-o", out], ["--from", "2", "--to", "1", trace, "-o", out],
                          ["--to", "1e3", trace, "-o", out], ["--to", "1.", "-o", out]):
            self.assertTrue(run("cut", *arguments, code=2).stderr)
        data = trace.read_bytes()
        for bad in (b"", b"text", data[:40], data[:-40] + b"\7" * 40):
            run("cut", self.write("bad", bad), "-o", out, code=1)
        self.assertIn(b"not a regular file", run("cut", trace, "-o", "/dev/null", code=1).stderr)
        self.assertIn(b"cannot write", run("cut", trace, "-o", self.folder / "none/out", code=1).stderr)
        slow = bytearray(data)
        slow[0x4D:0x55] = struct.pack("<q", 0)
        self.assertIn(b"frequency", run("cut", "--to", "1", self.write("bad", bytes(slow)), "-o", out, code=1).stderr)
        self.assertEqual(out.read_text(), "as it was")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["bad", "in.nettrace", "out"])

    def test_damage(self):
        """Whatever the bytes, there is a result or a message."""
        for data, at in ((data, at) for data in (threads_stream().end(), self.version6().read_bytes()) for at in range(0, len(data), 7 * STRIDE)):
            trace = self.write("in.nettrace", data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1:])
            for command in (["cut", trace, "-o", self.folder / "out"], ["schema", trace], ["diff", "--events", trace, trace]):
                done = subprocess.run([WEIR, *map(str, command)], capture_output=True, check=False)
                self.assertIn(done.returncode, (0, 1, 3, 4), (at, command))
                self.assertTrue(done.returncode != 1 or done.stderr.startswith(b"weir: "), (at, command, done.stderr))


class Help(unittest.TestCase):
    def test_exit_codes(self):
        for command in ("diff", "schema", "cut"):
            text = " ".join(run(command, "--help").stdout.decode().split())
            self.assertIn(f"usage: weir {command} ", text)
            self.assertIn("Exit codes: 0 ", text)
        self.assertIn("5 different (diff)", " ".join(run("--help").stdout.decode().split()))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
