"""The program `weir` on generated streams: losses and their causes, rules, times of functions, usage."""

import json
import os
import struct
import subprocess
import sys
import unittest

from nettrace_build import I32, LOSS_FIELDS, RAW, STRING, U32, U64, Stream, varint

WEIR = sys.argv[1]
MS = 1_000_000
STRIDE = int(os.environ.get("STRIDE", "1"))  # of the places where a stream is cut


def run(*arguments, data=b"", code=0):
    done = subprocess.run([WEIR, *arguments], input=data, capture_output=True, check=False)
    assert done.returncode == code, f"{arguments}: exit code {done.returncode}\n{done.stdout.decode()}{done.stderr.decode()}"
    return done


def run_json(command, data, *arguments, code=0):
    return json.loads(run(command, "--json", *arguments, "-", data=data, code=code).stdout)


def rules(data, code):
    return [finding["rule"] for finding in run_json("check", data, code=code)["findings"]]


class Losses(unittest.TestCase):
    """Two threads and the drain (7). Thread 1 loses 3 and 2 numbers, thread 2 never writes an event."""

    def stream(self, losses, finish=True):
        stream = Stream()
        tick = stream.define("Demo", 1, "Tick", [("n", U32)])
        loss = stream.define("Weir", 1, "Loss", LOSS_FIELDS)
        stream.point(10, 1, 2, 7)
        stream.events((tick, 1, 11, 5))
        stream.lose(1, 3)  # 3, 4, 5
        stream.events((tick, 1, 20, 6))  # 6
        stream.lose(1, 2)  # 7, 8
        stream.lose(2, 4)  # 2 to 5
        if losses:
            stream.events(*((loss, 7, 30 + i, *values) for i, values in enumerate(losses)))
        stream.point(50, 1, 2, 7)
        return stream.end() if finish else bytes(stream.bytes)

    GOOD = [(1, 2, "FULL", 2), (1, 4, "NESTED", 1), (1, 6, "FULL", 2), (2, 1, "DEADLINE", 4)]

    def test_stat(self):
        stat = run_json("stat", self.stream(self.GOOD), code=3)
        self.assertEqual((stat["lost"], stat["eventCount"]), (9, 6))
        self.assertEqual((stat["causes"]["FULL"], stat["causes"]["NESTED"], stat["causes"]["DEADLINE"]), (4, 1, 4))
        self.assertEqual(stat["causes"]["unknown"], 0)
        threads = {thread["captureThread"]: thread for thread in stat["threads"]}
        self.assertEqual((threads[1]["lost"], threads[2]["lost"], threads[7]["lost"]), (5, 4, 0))
        self.assertEqual((threads[1]["causes"]["FULL"], threads[2]["causes"]["DEADLINE"]), (4, 4))
        self.assertEqual(threads[2]["events"], 0)

    def test_stat_without_causes(self):
        stat = run_json("stat", self.stream([]), code=3)
        self.assertEqual((stat["lost"], stat["causes"]["unknown"]), (9, 9))

    def test_check_accepts(self):
        self.assertEqual(rules(self.stream(self.GOOD), 3), [])
        # All parts of one gap may give the number before the gap.
        self.assertEqual(rules(self.stream([(1, 2, "FULL", 2), (1, 2, "NESTED", 1), *self.GOOD[2:]]), 3), [])

    def test_check_finds(self):
        self.assertEqual(rules(self.stream(self.GOOD[1:]), 1), ["loss-count"])
        self.assertEqual(rules(self.stream([*self.GOOD, (1, 2, "FULL", 1)]), 1), ["loss-count"])
        self.assertEqual(rules(self.stream([*self.GOOD, (1, 5, "FULL", 1)]), 1), ["loss-place"])
        self.assertEqual(rules(self.stream([*self.GOOD, (3, 1, "FULL", 1)]), 1), ["loss-place"])
        self.assertEqual(rules(self.stream([*self.GOOD, (1, 99, "SINK_FAILED", 1)]), 3), [])
        self.assertEqual(rules(self.stream([(1, 2, "ODD", 3), *self.GOOD[2:]]), 1), ["loss-event"])

    def test_check_truncated(self):
        """Losses that were not reported before the cut are not findings."""
        self.assertEqual(rules(self.stream(self.GOOD, finish=False), 4), ["end-tag"])
        whole = self.stream(self.GOOD)
        for cut in (10, 60, 100, 200):
            self.assertEqual(rules(whole[:-cut], 4), ["end-tag"])

    def test_known(self):
        """With its end tag, a file shows losses exactly."""
        for command in ("stat", "check", "report"):
            for losses, data in ((9, self.stream(self.GOOD)), (0, self.whole_without_losses())):
                told = run_json(command, data, code=3 if losses else 0)
                self.assertEqual(lost_of(told), (losses, losses, None))
        data = self.stream(self.GOOD)
        self.assertIn("\nlost       9\n", run("stat", "-", data=data, code=3).stdout.decode())
        self.assertIn("; lost 9\n", run("check", "-", data=data, code=3).stdout.decode())
        self.assertIn("lost              9\n", run("report", "-", data=data, code=3).stdout.decode())
        self.assertIn("lost 9; weir stat", run("dump", "-", data=data, code=3).stderr.decode())
        self.assertEqual(len(run("dump", "--json", "-", data=data, code=3).stdout.splitlines()), 6)

    @staticmethod
    def whole_without_losses():
        stream = Stream()
        tick = stream.define("Demo", 1, "Tick", [])
        stream.point(10, 1)
        stream.events((tick, 1, 11))
        return stream.end()

    def test_losses_without_weir(self):
        stream = Stream()
        tick = stream.define("Demo", 1, "Tick", [])
        stream.events((tick, 1, 11))
        stream.lose(1, 3)
        stream.events((tick, 1, 12))
        self.assertEqual(rules(stream.end(), 3), [])

    def test_introduction(self):
        stream = Stream()
        stream.define("Weir", 1, "Loss", LOSS_FIELDS)
        tick = stream.define("Demo", 1, "Tick", [])
        stream.events((tick, 1, 11))
        self.assertEqual(rules(stream.end(), 1), ["introduction"])

    def test_weir_own_thread(self):
        """Losses of threads without a lane count as numbers of the drain's own thread."""
        stream = Stream()
        loss = stream.define("Weir", 1, "Loss", LOSS_FIELDS)
        stream.point(10, 7)
        stream.lose(7, 5)
        stream.events((loss, 7, 20, 7, 1, "NO_SEGMENT", 5))
        stream.point(30, 7)
        self.assertEqual(rules(stream.end(), 3), [])


def lost_of(told):
    return told["lost"], told["lost_at_least"], told["lost_unknown_after_ns"]


class Unknown(unittest.TestCase):
    """A file without its end tag: losses are known up to its last sequence point, if at all."""

    def told_by_all(self, data, at_least, known_ns, code=4):
        """Checks what each command reports, as text and as JSON."""
        text = f"{f'at least {at_least}, ' if at_least else ''}unknown after {known_ns // MS // 1000}.{known_ns // MS % 1000:03} s"
        for command in ("stat", "check", "report"):
            told = run_json(command, data, code=code)
            self.assertEqual(lost_of(told), (None, at_least, known_ns), command)
        for arguments in (["dump", "--json"], ["dump", "--json", "--sorted"], ["dump", "--json", "--last", "1"]):
            last = json.loads(run(*arguments, "-", data=data, code=code).stdout.splitlines()[-1])
            self.assertEqual(lost_of(last), (None, at_least, known_ns))
        self.assertIn(f"\nlost       {text}\n", run("stat", "-", data=data, code=code).stdout.decode())
        self.assertIn(f"; lost {text}\n", run("check", "-", data=data, code=code).stdout.decode())
        self.assertIn(f"lost              {text}\n", run("report", "-", data=data, code=code).stdout.decode())
        where = "; weir stat reports where" if at_least else ""
        self.assertIn(f": lost {text}{where}\n", run("dump", "-", data=data, code=code).stderr.decode())

    def stream(self, losses=0):
        """Two points at 1.234567 s and 2 s, a block of events after each; losses before the second one."""
        stream = Stream()
        tick = stream.define("Demo", 1, "Tick", [("n", U32)])
        loss = stream.define("Weir", 1, "Loss", LOSS_FIELDS)
        stream.point(1_234_567_890, 1, 7)
        stream.marks = {"first point": len(stream.bytes)}
        stream.events((tick, 1, 1_300_000_000, 5), (tick, 1, 1_400_000_000, 6))
        stream.marks["events"] = len(stream.bytes)
        if losses:
            stream.lose(1, losses)
            stream.events((loss, 7, 1_500_000_000, 1, 3, "FULL", losses))
        stream.marks["losses"] = len(stream.bytes)
        stream.point(2_000_000_000, 1, 7)
        stream.marks["second point"] = len(stream.bytes)
        stream.events((tick, 1, 2_100_000_000, 7))
        stream.marks["all"] = len(stream.bytes)
        return stream

    def test_every_cut(self):
        """Cut at every byte: nothing is known before the first point, and a point counts once it is whole."""
        stream = self.stream()
        for size in range(0, len(stream.bytes) + 1, STRIDE):
            known_ns = 0
            if size >= stream.marks["first point"] - 1:  # the object's end tag is not part of the point
                known_ns = 1_234_567_890
            if size >= stream.marks["second point"] - 1:
                known_ns = 2_000_000_000
            told = run_json("stat", bytes(stream.bytes[:size]), code=4)
            self.assertEqual(lost_of(told), (None, 0, known_ns), size)
            self.assertEqual({thread["lost"] for thread in told["threads"]} - {None}, set())

    def test_cuts(self):
        stream = self.stream()
        marks, whole = stream.marks, bytes(stream.bytes)
        self.told_by_all(whole, 0, 2_000_000_000)  # no end tag
        self.told_by_all(whole[: marks["all"] - 3], 0, 2_000_000_000)  # in the middle of a block of events
        self.told_by_all(whole[: marks["second point"]], 0, 2_000_000_000)  # between blocks
        self.told_by_all(whole[: marks["second point"] - 3], 0, 1_234_567_890)  # in the middle of a point
        self.told_by_all(whole[: marks["events"]], 0, 1_234_567_890)
        self.told_by_all(whole[: marks["first point"] - 30], 0, 0)  # no point at all

    def test_nothing_but_a_header(self):
        """The file of a process that was killed before the first flush, and an empty file."""
        self.told_by_all(bytes(Stream().bytes), 0, 0)
        self.told_by_all(b"", 0, 0)

    def test_losses_that_can_be_read(self):
        stream = self.stream(losses=12)
        self.told_by_all(bytes(stream.bytes), 12, 2_000_000_000)
        # A Loss event counts before its gap is seen, and the two are not counted twice.
        self.told_by_all(bytes(stream.bytes[: stream.marks["losses"]]), 12, 1_234_567_890)
        stat = run_json("stat", bytes(stream.bytes[: stream.marks["losses"]]), code=4)
        threads = {thread["captureThread"]: (thread["lost"], thread["lost_at_least"]) for thread in stat["threads"]}
        self.assertEqual(threads, {1: (None, 12), 7: (None, 0)})
        table = run("stat", "-", data=bytes(stream.bytes), code=4).stdout.decode()
        self.assertIn("lost at least  FULL", table)

    def test_losses_seen_by_numbers_only(self):
        stream = Stream()
        tick = stream.define("Demo", 1, "Tick", [])
        stream.events((tick, 1, 11 * MS))
        stream.lose(1, 3)
        stream.events((tick, 1, 12 * MS))
        self.told_by_all(bytes(stream.bytes), 3, 0)

    def test_broken_in_the_middle(self):
        """Bytes that cannot be decoded: later losses are unknown too, but this is a failure."""
        data = bytes(self.stream().bytes)
        for command in ("stat", "check", "report"):
            self.assertEqual(lost_of(run_json(command, data + b"\7", code=1)), (None, 0, 2_000_000_000))

    def test_stopped_by_the_user(self):
        data = bytes(self.stream().bytes)
        first = run("dump", "--json", "--first", "2", "-", data=data)
        self.assertEqual((len(first.stdout.splitlines()), first.stderr), (2, b""))

    def test_help_names_the_exit_code(self):
        for arguments in (["--help"], *[["help", c] for c in ("stat", "dump", "check", "report")]):
            self.assertIn("4 truncated or unfinished", " ".join(run(*arguments).stdout.decode().split()))


class Rules(unittest.TestCase):
    def setUp(self):
        self.stream = Stream()
        self.tick = self.stream.define("Demo", 1, "Tick", [("n", U32)])

    def test_time_order(self):
        self.stream.events((self.tick, 1, 30, 0))
        self.stream.events((self.tick, 1, 20, 0))
        self.assertEqual(rules(self.stream.end(), 1), ["time-order", "sorted"])

    def test_sorted(self):
        self.stream.events((self.tick, 1, 30, 0))
        self.stream.events((self.tick, 2, 20, 0))
        self.assertEqual(rules(self.stream.end(), 1), ["sorted"])

    def test_points(self):
        self.stream.events((self.tick, 1, 30, 0))
        self.stream.point(20, 1)
        self.assertEqual(rules(self.stream.end(), 1), ["point-side"])
        self.setUp()
        self.stream.point(20)
        self.stream.point(10)
        self.stream.events((self.tick, 1, 9, 0))
        self.assertEqual(rules(self.stream.end(), 1), ["point-time", "point-side"])

    def test_numbers(self):
        self.stream.events((self.tick, 1, 30, 0))
        self.stream.sequence[1] = 1
        self.stream.events((self.tick, 1, 30, 0))
        self.assertEqual(rules(self.stream.end(), 1), ["sequence-back"])

    def test_payload(self):
        self.stream.definitions[self.tick] = []  # writes no payload
        self.stream.events((self.tick, 1, 30))
        self.stream.definitions[self.tick] = [("n", U64)]
        self.stream.events((self.tick, 1, 31, 0))
        self.assertEqual(rules(self.stream.end(), 1), ["payload-fields", "payload-fields"])

    def test_trace_object(self):
        data = bytearray(self.stream.end())
        data[0x4D:0x55] = b"\0" * 8
        data[0x59:0x5D] = b"\0" * 4
        self.assertEqual(rules(bytes(data), 1), ["trace-object", "trace-object"])
        run("stat", "-", data=bytes(data))
        run("dump", "-", data=bytes(data))

    def test_pairs(self):
        done = self.stream.define("Demo", 2, "Done", [("n", U32)])
        ticks = {1: 10, 2: 20, 3: 30, 4: 40, 5: 50}
        dones = {1: 10, 2: 25, 3: 28, 4: 31, 6: 60}
        for capture, (kind, times) in enumerate(((self.tick, ticks), (done, dones)), 1):
            self.stream.events(*((kind, capture, time, n) for n, time in sorted(times.items())))
        self.stream.events((self.tick, 1, 70, 7), (self.tick, 1, 71, 7), (done, 1, 72, 7))
        data = self.stream.end()
        found = run_json("check", data, "--pairs", "Demo/Tick,Done:n", code=1)
        pairs = [finding["message"] for finding in found["findings"] if finding["rule"] == "pair-order"]
        self.assertEqual(pairs, ["Done with n 3 is 2 ticks older than Tick", "Done with n 4 is 9 ticks older than Tick"])
        self.assertEqual({name: found["pairs"][name] for name in ("count", "reversed", "single", "repeated")},
                         {"count": 4, "reversed": 2, "single": 2, "repeated": 1})
        text = run("check", "--pairs", "Demo/Tick,Done:n", "-", data=data, code=1).stdout.decode()
        self.assertIn("4 pairs, 2 reversed, by up to ", text)
        self.assertNotIn("pairs", run_json("check", data, code=1))
        for wrong in ("Demo/Tick,Done", "Demo/Tick:n", "Tick,Done:n", "/Tick,Done:n", "Demo/Tick,Done:"):
            self.assertIn(b"PROVIDER/FIRST,SECOND:FIELD", run("check", "--pairs", wrong, "-", data=data, code=2).stderr)
        for absent in ("Demo/Tick,Gone:n", "Else/Tick,Done:n", "Demo/Tick,Done:m"):
            refused = run("check", "--json", "--pairs", absent, "-", data=data, code=1)
            self.assertIn(b"defines no event", refused.stderr)
            self.assertIsNone(json.loads(refused.stdout)["pairs"])
        self.assertEqual(run_json("check", data, "--pairs", "demo/Tick,Done:n", code=1)["pairs"], found["pairs"])
        for words in (("Demo/Tick,Tick:n",), ("Demo/Tick,Done:n", "--pairs", "Demo/Done,Tick:n")):
            run("check", "--pairs", *words, "-", data=data, code=2)

    def test_limit_option(self):
        for time in range(30, 0, -1):
            self.stream.events((self.tick, 1, time, 0))
        found = run_json("check", self.stream.end(), "--limit", "2", code=1)
        self.assertEqual(len(found["findings"]), 4)
        self.assertEqual((found["counts"]["sorted"], found["findingCount"]), (29, 58))


class Dump(unittest.TestCase):
    def test_values(self):
        stream = Stream()
        kind = stream.define("Demo", 1, "Odd \"name\"", [("s", STRING), ("d", 14), ("f", 13), ("n", 14), ("b", 3), ("u", U64)])
        text = "tab\t \u0001 quote\" back\\ \U0001F600 lone\ud800."
        stream.events((kind, 1, 5, text, 0.1, 0.1, float("nan"), 1, 2**64 - 1))
        stream.events((kind, 1, 6, "", -1e300, 16777217.0, float("-inf"), 0, 0))
        data = stream.end()
        first, second = (json.loads(line) for line in run("dump", "--json", "-", data=data).stdout.splitlines())
        self.assertEqual(first["fields"]["s"], text.replace("\ud800", "\ufffd"))
        self.assertEqual((first["fields"]["d"], first["fields"]["f"], first["fields"]["n"]), (0.1, 0.1, "NaN"))
        self.assertEqual((first["fields"]["b"], first["fields"]["u"], first["name"]), (True, 2**64 - 1, 'Odd "name"'))
        self.assertEqual((second["fields"]["d"], second["fields"]["f"], second["fields"]["n"]), (-1e300, 16777216.0, "-Infinity"))
        lines = run("dump", "-", data=data).stdout.decode().splitlines()
        self.assertEqual(len(lines), 2)
        self.assertIn(r's="tab\t \u0001 quote\" back\\ ', lines[0])
        self.assertIn("d=0.1 f=0.1 n=NaN b=true u=18446744073709551615", lines[0])

    def test_filters(self):
        stream = Stream()
        one = stream.define("A", 1, "One", [])
        two = stream.define("B", 2, "Two", [])
        stream.events((one, 1, 5), (two, 1, 6), (two, 2, 7))
        data = stream.end()

        def ids(*arguments):
            lines = run("dump", "--json", *arguments, "-", data=data).stdout.splitlines()
            return [(event["id"], event["thread"]) for event in map(json.loads, lines)]

        self.assertEqual(ids(), [(1, 1), (2, 1), (2, 2)])
        self.assertEqual(ids("--provider", "A"), [(1, 1)])
        self.assertEqual(ids("--event", "2"), [(2, 1), (2, 2)])
        self.assertEqual(ids("--event", "Two", "--thread", "2"), [(2, 2)])
        self.assertEqual(ids("--first", "0"), [])
        self.assertEqual(ids("--last", "1"), [(2, 2)])
        self.assertEqual(ids("--last", "9", "--sorted"), [(1, 1), (2, 1), (2, 2)])


    def test_versions(self):
        """Two versions of one event are read by the definition of each, and told apart."""
        stream = Stream()
        old = stream.define("A", 1, "Grown", [("N", U32)])
        new = stream.define("A", 1, "Grown", [("Text", STRING), ("N", U64)], version=2)
        stream.point(4, 1)
        stream.events((old, 1, 5, 6), (new, 1, 6, "x", 7), (old, 1, 7, 8))
        data = stream.end()
        events = [json.loads(line) for line in run("dump", "--json", "--event", "1", "-", data=data).stdout.splitlines()]
        self.assertEqual([(event["id"], event["version"], event["fields"]) for event in events],
                         [(1, 0, {"N": 6}), (1, 2, {"Text": "x", "N": 7}), (1, 0, {"N": 8})])
        text = run("dump", "-", data=data).stdout.decode().splitlines()
        self.assertEqual([line.split(" ", 1)[1] for line in map(str.strip, text)],
                         ["1 #2 A/Grown(1) N=6", '1 #3 A/Grown(1 v2) Text="x" N=7', "1 #4 A/Grown(1) N=8"])
        rows = {(row["id"], row["version"]): row["count"] for row in run_json("stat", data)["events"]}
        self.assertEqual(rows, {(1, 0): 2, (1, 2): 1})
        self.assertEqual(rules(data, 0), [])


class Objects(unittest.TestCase):
    def test_dump(self):
        stream = Stream()
        fields = [("Payload", [("Name", STRING), ("At", [("X", I32)]), ("Mean", U32)]), ("Last", U32)]
        stream.events((stream.define("A", 1, "Counters", fields), 1, 10, ("cpu", (-1,), 2), 3))
        data = stream.end()
        row = json.loads(run("dump", "--json", "-", data=data).stdout)
        self.assertEqual(row["fields"], {"Payload": {"Name": "cpu", "At": {"X": -1}, "Mean": 2}, "Last": 3})
        text = run("dump", "-", data=data).stdout.decode()
        self.assertIn('Payload={Name="cpu" At={X=-1} Mean=2} Last=3', text)
        self.assertEqual(rules(data, 0), [])


ENUM_FIELDS = [("Provider", STRING), ("EventId", U32), ("Version", U32), ("Field", STRING), ("Enum", STRING), ("Values", STRING)]


class Enums(unittest.TestCase):
    """Weir/Enum gives names to the values of fields of the events that follow it."""

    def stream(self, *enums):
        stream = Stream()
        stream.define("Demo", 1, "Old", [("Cause", U32)])
        demo = stream.define("Demo", 1, "New", [("Cause", U32), ("Flag", 6), ("Number", I32)], version=1)
        enum = stream.define("Weir", 5, "Enum", ENUM_FIELDS)
        stream.point(1, 1, 7)
        stream.events(*((enum, 7, 10 + i, *values) for i, values in enumerate(enums)))
        stream.events((demo, 1, 20, 1, 1, -1), (demo, 1, 21, 2, 0, 5))
        return stream.end()

    GOOD = [("Demo", 1, 1, "Cause", "Causes", "0=Full;1=Asked \"x\""), ("Demo", 1, 1, "Flag", "bool8", "0=false;1=true"),
            ("Demo", 1, 1, "Number", "Signs", "-1=Minus")]

    def raw(self, fields, values, *enums):
        stream = Stream()
        demo = stream.define("Demo", 1, "Nodes", fields)
        enum = stream.define("Weir", 5, "Enum", ENUM_FIELDS)
        stream.point(1, 1, 7)
        for i, names in enumerate(enums):
            stream.events((enum, 7, 10 + i, *names))
        stream.events((demo, 1, 20, *values))
        data = stream.end()
        row = json.loads(run("dump", "--json", "--provider", "Demo", "-", data=data).stdout)
        text = run("dump", "--provider", "Demo", "-", data=data).stdout.decode().split("Nodes(1)")[1].strip()
        return data, {key: row[key] for key in ("fields", "rest", "payload") if key in row}, text

    def test_raw_bytes(self):
        """The enum `raw` names the bytes behind the fields."""
        name = ("Demo", 1, 0, "Values", "raw", "")
        for count, value in ((b"\x00\xff", "00ff"), (b"", "")):
            data, row, text = self.raw([("Count", U32), ("Values", RAW)], [2, count], name, name)
            self.assertEqual((row, text), ({"fields": {"Count": 2, "Values": value}}, f"Count=2 Values=0x{value}"))
            self.assertEqual(rules(data, 0), [])
            data, row, text = self.raw([("Values", RAW)], [count], name)
            self.assertEqual((row, text), ({"fields": {"Values": value}}, f"Values=0x{value}"))
            self.assertEqual(rules(data, 0), [])
        data, row, text = self.raw([("Count", U32), ("Values", RAW)], [2, b"\x00\xff"])
        self.assertEqual((row, text), ({"fields": {"Count": 2}, "rest": "00ff"}, "Count=2 rest=0x00ff"))
        self.assertEqual(rules(data, 1), ["payload-fields"])
        data, row, text = self.raw([("Values", RAW)], [b"\x00\xff"])
        self.assertEqual((row, text), ({"payload": "00ff"}, "payload=0x00ff"))
        self.assertEqual(rules(data, 0), [])
        self.assertEqual(rules(self.raw([("Count", U32)], [2], ("Demo", 1, 1, "Values", "raw", ""))[0], 1), ["enum-event"])
        self.assertEqual(rules(self.raw([("Count", U32)], [2], ("Demo", 1, 0, "Values", "raw", "0=a"))[0], 1), ["enum-event"])

    def test_dump(self):
        data = self.stream(*self.GOOD)
        rows = [json.loads(row) for row in run("dump", "--json", "--provider", "Demo", "-", data=data).stdout.splitlines()]
        self.assertEqual([row["fields"] for row in rows], [{"Cause": 'Asked "x"', "Flag": True, "Number": "Minus"},
                                                           {"Cause": 2, "Flag": False, "Number": 5}])
        text = run("dump", "--sorted", "-", data=data).stdout.decode()
        self.assertIn("Flag=true Number=Minus", text)
        self.assertIn("Cause=2 Flag=false Number=5", text)
        self.assertEqual(rules(data, 0), [])

    def test_repeated(self):
        """Of a number with two names the first one holds, and so does the first of two enums for a field. Bytes that have the name
        of a field are none."""
        data = self.stream(("Demo", 1, 1, "Cause", "E", "1=one;2=two;1=uno;1=ein"), ("Demo", 1, 1, "Cause", "F", "1=other"))
        rows = [json.loads(row) for row in run("dump", "--json", "--provider", "Demo", "-", data=data).stdout.splitlines()]
        self.assertEqual([row["fields"]["Cause"] for row in rows], ["one", "two"])
        data, row, _ = self.raw([("Count", U32)], [2], ("Demo", 1, 0, "Count", "raw", ""))
        self.assertEqual((row["fields"], rules(data, 0)), ({"Count": 2}, []))

    def test_check(self):
        for bad in (("Demo", 1, 2, "Cause", "E", "0=a"), ("Other", 1, 1, "Cause", "E", "0=a"), ("Demo", 1, 1, "None", "E", "0=a"),
                    ("Demo", 1, 1, "Cause", "E", "0"), ("Demo", 1, 1, "Cause", "E", "=a"), ("Demo", 1, 1, "Cause", "E", "0=a;x=b"),
                    ("Demo", 1, 1, "Cause", "E", "99999999999999999999=a"), ("Demo", 1, 1, "", "raw", "0=a")):
            self.assertEqual(rules(self.stream(bad), 1), ["enum-event"], bad)
        self.assertEqual(rules(self.stream(("Weir", 5, 0, "Field", "E", "0=a")), 1), ["enum-event"], "a string")

    def test_report(self):
        stream = Stream()
        function = stream.define("Demo", 1, "Function", [("FunctionId", U64), ("Name", STRING), ("Kind", U32)])
        call = stream.define("Demo", 2, "Call", [("FunctionId", U64)])
        enum = stream.define("Weir", 5, "Enum", ENUM_FIELDS)
        stream.point(1, 1, 7)
        stream.events((enum, 7, 2, "Demo", 1, 0, "Kind", "Kinds", "3=native"))
        stream.events((function, 1, 3, 1, "main", 3), (call, 1, 4, 1), (function, 1, 5, 2, "none", 4))
        functions = run_json("report", stream.end())["providers"][0]["functions"]
        self.assertEqual([(f["name"], f["kind"]) for f in functions if f["calls"]], [("main", "native")])


NAME_FIELDS = [("CaptureThread", U64), ("ThreadId", U64), ("Name", STRING)]


class ThreadNames(unittest.TestCase):
    """Weir/ThreadName names a thread, from then on; the last name counts."""

    def stream(self, *names):
        stream = Stream()
        tick = stream.define("Demo", 1, "Tick", [("n", U32)])
        name = stream.define("Weir", 4, "ThreadName", NAME_FIELDS)
        stream.point(1, 1, 2, 7)
        if names:
            stream.events(*((name, 7, 10 + i, *values) for i, values in enumerate(names)))
        stream.events((tick, 1, 20, 5), (tick, 2, 21, 6))
        return stream.end()

    GOOD = [(7, 70, "Weir"), (1, 10, "first"), (1, 10, 'Gr\u00fc\u00dfe "\x1b[31m"'), (1, 10, "\ufffd" * 47)]

    def test_stat(self):
        stat = run_json("stat", self.stream(*self.GOOD[:3]))
        self.assertEqual([(t["captureThread"], t["name"]) for t in stat["threads"]],
                         [(1, 'Gr\u00fc\u00dfe "\x1b[31m"'), (2, None), (7, "Weir")])
        text = run("stat", "-", data=self.stream(*self.GOOD[:3])).stdout.decode()
        self.assertRegex(text, r"capture thread +OS thread +name +events")
        self.assertIn("Gr\u00fc\u00dfe", text)
        self.assertNotIn("\x1b", text)
        self.assertNotRegex(run("stat", "-", data=self.stream()).stdout.decode(), r"OS thread +name")

    def test_dump(self):
        data = self.stream(*self.GOOD[:2])
        rows = [json.loads(row) for row in run("dump", "--json", "--provider", "Demo", "-", data=data).stdout.splitlines()]
        self.assertEqual([row.get("threadName") for row in rows], ["first", None])
        lines = run("dump", "--provider", "Demo", "-", data=data).stdout.decode().splitlines()
        self.assertRegex(lines[0], r" 1(/\d+)? \[first\] #2 Demo/Tick\(1\) n=5$")
        self.assertRegex(lines[1], r" 2(/\d+)? #2 Demo/Tick\(1\) n=6$")

    def test_report(self):
        stream = Stream()
        call = stream.define("Demo", 1, "Call", [("FunctionId", U64)])
        name = stream.define("Weir", 4, "ThreadName", NAME_FIELDS)
        stream.point(1, 1, 2, 3, 7)
        stream.events((name, 7, 10, 2, 20, "worker"), (call, 1, 11, 5), (call, 2, 12, 5), (call, 2, 13, 5), (name, 7, 14, 3, 30, "idle"))
        data = stream.end()
        self.assertEqual(run_json("report", data)["providers"][0]["threads"],
                         [{"captureThread": 2, "name": "worker", "calls": 2}, {"captureThread": 1, "name": None, "calls": 1}])
        top = run("report", "--top", "1", "-", data=data).stdout.decode().splitlines()
        self.assertEqual([line.split() for line in top[-2:]], [["capture", "thread", "name", "calls"], ["2", "worker", "2"]])

    def test_check(self):
        self.assertEqual(rules(self.stream(*self.GOOD), 0), [])
        for bad in ((3, 30, "unknown thread"), (1, 10, ""), (1, 10, "x" * 142)):
            self.assertEqual(rules(self.stream(bad), 1), ["name-event"], bad)


class Report(unittest.TestCase):
    def setUp(self):
        self.stream = Stream()
        both = [("FunctionId", U64), ("Coroutine", U64)]
        self.call = self.stream.define("Lua", 1, "Call", both)
        self.back = self.stream.define("Lua", 2, "Return", both)
        self.tail = self.stream.define("Lua", 3, "TailCall", both)
        self.function = self.stream.define(
            "Lua", 4, "Function", [("FunctionId", U64), ("Name", STRING), ("File", STRING), ("Line", I32), ("Kind", STRING)]
        )
        self.create = self.stream.define("Lua", 10, "CoroutineCreate", [("Coroutine", U64)])
        self.resume = self.stream.define("Lua", 11, "CoroutineResume", [("Coroutine", U64), ("From", U64)])
        self.give = self.stream.define("Lua", 12, "CoroutineYield", [("Coroutine", U64), ("To", U64), ("Finished", 3)])
        self.stream.point(0, 1)

    def emit(self, *events):
        """Times in ms; all on thread 1."""
        for kind, time, *values in events:
            self.stream.events((kind, 1, time * MS, *values))

    def times(self, code=0, **totals):
        report = run_json("report", self.stream.end(), code=code)["providers"][0]
        for name, wanted in totals.items():
            self.assertEqual(report[name], wanted, name)
        return {
            row["id"]: (row["calls"], row["inclusiveNs"] // MS, row["exclusiveNs"] // MS) for row in report["functions"]
        }

    def test_nested(self):
        self.emit((self.call, 10, 1, 5), (self.call, 12, 2, 5), (self.back, 17, 2, 5), (self.call, 18, 2, 5))
        self.emit((self.back, 19, 2, 5), (self.back, 20, 1, 5))
        self.assertEqual(self.times(calls=3, returns=3, unmatchedReturns=0), {1: (1, 10, 4), 2: (2, 6, 6)})

    def test_recursion(self):
        self.emit((self.call, 0, 1, 5), (self.call, 2, 1, 5), (self.back, 6, 1, 5), (self.back, 10, 1, 5))
        self.assertEqual(self.times(), {1: (2, 10, 10)})

    def test_tail_call(self):
        self.emit((self.call, 0, 1, 5), (self.tail, 4, 2, 5), (self.back, 10, 2, 5), (self.back, 11, 1, 5))
        self.assertEqual(self.times(tailCalls=1, unmatchedReturns=1), {1: (1, 4, 4), 2: (1, 6, 6)})

    def test_error_unwinds(self):
        self.emit((self.call, 0, 1, 5), (self.call, 2, 2, 5), (self.call, 4, 3, 5), (self.back, 10, 1, 5))
        self.assertEqual(self.times(unwoundFrames=2), {1: (1, 10, 2), 2: (1, 8, 2), 3: (1, 6, 6)})

    def test_open_at_end(self):
        self.emit((self.call, 0, 1, 5), (self.call, 3, 2, 5), (self.function, 8, 1, "main", "a.lua", 1, "main"))
        self.assertEqual(self.times(closedAtEnd=2), {1: (1, 8, 3), 2: (1, 5, 5)})

    def test_gap(self):
        self.emit((self.call, 0, 1, 5), (self.call, 3, 2, 5), (self.function, 4, 1, "main", "a.lua", 1, "main"))
        self.stream.lose(1, 2)
        self.emit((self.back, 9, 1, 5), (self.call, 10, 3, 5), (self.back, 11, 3, 5))
        times = self.times(code=3, closedByGap=2, unmatchedReturns=1)
        self.assertEqual(times, {1: (1, 4, 3), 2: (1, 1, 1), 3: (1, 1, 1)})

    def test_coroutine(self):
        """1 resumes a coroutine that runs 2, which yields; later 2 continues and ends."""
        self.emit((self.call, 0, 1, 5), (self.create, 1, 6), (self.resume, 2, 6, 5), (self.call, 2, 2, 6))
        self.emit((self.give, 5, 6, 5, 0), (self.call, 5, 3, 5), (self.back, 7, 3, 5), (self.resume, 8, 6, 5))
        self.emit((self.back, 9, 2, 6), (self.give, 9, 6, 5, 1), (self.back, 12, 1, 5))
        times = self.times(closedAtEnd=0, unwoundFrames=0, unmatchedReturns=0)
        self.assertEqual(times, {1: (1, 12, 6), 2: (1, 4, 4), 3: (1, 2, 2)})

    def test_coroutine_dies(self):
        """An error ends a coroutine without return events; its address is reused."""
        self.emit((self.call, 0, 1, 5), (self.resume, 1, 6, 5), (self.call, 1, 2, 6), (self.give, 3, 6, 5, 1))
        self.emit((self.create, 4, 6), (self.resume, 5, 6, 5), (self.call, 5, 2, 6), (self.back, 8, 2, 6))
        self.emit((self.give, 8, 6, 5, 1), (self.back, 10, 1, 5))
        self.assertEqual(self.times(unwoundFrames=1, closedAtEnd=0), {1: (1, 10, 5), 2: (2, 5, 5)})

    def test_names_and_order(self):
        self.emit((self.call, 0, 1, 5), (self.call, 3, 2, 5), (self.back, 9, 2, 5), (self.back, 10, 1, 5))
        self.emit((self.function, 11, 1, "main", "a.lua", 7, "main"))
        data = self.stream.end()
        text = run("report", "--by", "exclusive", "-", data=data).stdout.decode()
        self.assertLess(text.index("#2 "), text.index("main "))
        self.assertIn("a.lua:7", text)
        top = run_json("report", data, "--top", "1")["providers"][0]["functions"]
        self.assertEqual([(row["id"], row["name"], row["file"], row["line"]) for row in top], [(1, "main", "a.lua", 7)])

    def test_deep_chain(self):
        """Coroutines that resume each other without an end: the first ones leave the chain, so their time stands still."""
        self.emit((self.call, 0, 1, 0))
        self.stream.events(*((self.resume, 1, i * MS, i, i - 1) for i in range(1, 300)))
        self.emit((self.call, 300, 2, 299), (self.back, 310, 2, 299), (self.back, 320, 1, 0))
        self.assertEqual(self.times(closedAtEnd=0, unmatchedReturns=0), {1: (1, 256, 256), 2: (1, 10, 10)})

    def many(self, metadata, count, payload, missing=0, threads=1):
        """A block of `count` events; before each, numbers are missing."""
        body = bytearray(struct.pack("<HHqq", 20, 1, 0, 2**40))
        for i in range(count):
            thread = varint(1 + i % threads)
            body += b"\xC7" + varint(metadata) + varint(missing) + thread + b"\0" + thread + b"\1" + varint(len(payload(i))) + payload(i)
        self.stream.block("EventBlock", body)

    def test_time_is_linear(self):
        """A chain that grows for ever, gaps with many coroutines in it, and coroutines of many threads. In quadratic time, a report
        of each would take tens of seconds, not a part of one."""
        count, mask = 100_000, 2**64 - 1
        self.many(self.resume, count, lambda i: struct.pack("<QQ", i + 1, i))
        self.many(self.call, count, lambda i: struct.pack("<QQ", 1, 1), missing=1)
        self.many(self.call, count, lambda i: struct.pack("<QQ", 1, (i * 0x9E3779B97F4A7C15) & mask), threads=count)
        done = subprocess.run([WEIR, "report", "-"], input=self.stream.end(), capture_output=True, check=False, timeout=120)
        self.assertEqual(done.returncode, 3, done.stderr)


class Usage(unittest.TestCase):
    def test_help(self):
        for arguments in (["--help"], ["help"], ["--version"], *[[c, "--help"] for c in ("stat", "dump", "check", "report")], ["help", "dump"]):
            self.assertTrue(run(*arguments).stdout)
        self.assertTrue(run("help", "heap", "report").stdout.startswith(b"usage: weir heap report"))

    def test_usage_errors(self):
        for arguments in ([], ["nothing"], ["stat"], ["stat", "a", "b"], ["dump", "--first", "x", "-"], ["report", "--by", "age", "-"], ["check", "--odd", "-"], ["help", "odd"]):
            self.assertTrue(run(*arguments, code=2).stderr)

    def test_failures(self):
        self.assertIn(b"cannot open", run("stat", "/no/such/file", code=1).stderr)
        self.assertIn(b"not a nettrace", run("stat", "-", data=b"plain text", code=1).stderr)
        version7 = b"Nettrace" + b"\0\0\0\0" + b"\7\0\0\0" + b"\0\0\0\0"
        self.assertIn(b"version 7", run("dump", "-", data=version7, code=1).stderr)
        self.assertIn(b"NetPerf", run("dump", "-", data=b"\x14\0\0\0!FastSerialization.1", code=1).stderr)
        self.assertEqual(run("stat", "-", data=b"", code=4).stderr[:5], b"weir:")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
