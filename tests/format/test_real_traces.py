"""Compares the events, payloads, fields, stacks and losses of real traces with TraceEvent's; the traces break no rule."""

import json
import pathlib
import struct
import subprocess
import sys
import unittest
import zlib

WEIR, DATA = sys.argv[1], pathlib.Path(sys.argv[2])
TOTALS = {
    "eventpipe-dotnetcore3.0-win-x64-objver4": 105540,
    "eventpipe-dotnetcore5.0-win-x64-arraytypes": 1970,
    "eventpipe-dotnetcore6.0-win-x64-executioncheckpoints": 3,
    "only_managed_samples": 37603,
}


def weir(*arguments, code=0, **options):
    run = subprocess.run([WEIR, *arguments], capture_output=True, check=False, **options)
    assert run.returncode == code, f"{arguments}: exit code {run.returncode}, {run.stderr.decode()}"
    return run.stdout.decode()


def trace(name):
    return str(DATA / f"{name}.nettrace")


def dump(*arguments):
    return [json.loads(line) for line in weir("dump", "--json", *arguments).splitlines()]


def found_by_traceevent(name):
    return json.loads((DATA / f"{name}.counts.json").read_text(encoding="utf-8"))


def add_event(row, event):
    """To the members that the rows of *.counts.json have. The sums are of CRC-32s, and so do not depend on the order."""
    stack = event["stack"]
    for key, more in (("count", 1), ("payload_bytes", event["payloadBytes"]), ("payload_sum", zlib.crc32(bytes.fromhex(event.get("payload", "")))),
                      ("stacks", bool(stack)), ("frames", len(stack)), ("stack_sum", zlib.crc32(struct.pack(f"<{len(stack)}Q", *stack)))):
        row[key] = row.get(key, 0) + more


def comparable(rows, events):
    """Of TraceEvent's rows and ours, what both have. It has no stacks of some ids, and we have no bytes where there are fields."""
    for theirs in rows:
        ours = dict(events[theirs["provider"], theirs["event_id"]])
        for key in [key for key, value in theirs.items() if value is None]:
            del theirs[key], ours[key]
        if ours["payload_sum"] == 0:
            del theirs["payload_sum"], ours["payload_sum"]
        yield theirs, {"provider": theirs["provider"], "event_id": theirs["event_id"], **ours}


def as_traceevent_has_it(event):
    """An opcode without a name stands behind the event's name, and an array of characters is a text."""
    fields = {name: "".join(value) if isinstance(value, list) and isinstance(value[0], str) else value for name, value in event["fields"].items()}
    name = event["name"] + (f"/{event['opcode']}" if event.get("opcode") else "")
    return {"provider": event["provider"], "event_id": event["id"], "event_name": name, "thread": event["thread"], "fields": fields}


class RealTraces(unittest.TestCase):
    def test_counts(self):
        for name, total in TOTALS.items():
            with self.subTest(name):
                stat = json.loads(weir("stat", "--json", trace(name)))
                theirs = found_by_traceevent(name)
                self.assertEqual((stat["status"], stat["eventCount"], stat["lost"]), ("complete", total, theirs["events_lost"]))
                self.assertEqual(sum(thread["events"] for thread in stat["threads"]), total)
                self.assertEqual(theirs["events"], total)
                wanted = {(row["provider"], row["event_id"]): row["count"] for row in theirs["counts"]}
                counts = {}
                for row in stat["events"]:
                    key = row["provider"], row["id"]
                    counts[key] = counts.get(key, 0) + row["count"]
                self.assertEqual(counts, wanted)

    def test_payloads_and_stacks(self):
        for name in TOTALS:
            with self.subTest(name):
                events, described, theirs = {}, [], found_by_traceevent(name)
                for event in dump("--stacks", trace(name)):
                    add_event(events.setdefault((event["provider"], event["id"]), {}), event)
                    described += [event] if "fields" in event else []
                described.sort(key=lambda event: event["ns"])
                self.assertEqual([as_traceevent_has_it(event) for event in described], theirs["described"])
                self.assertEqual(events.keys(), {(row["provider"], row["event_id"]) for row in theirs["counts"]})
                self.assertLessEqual({row["event_id"] for row in theirs["counts"] if row["stacks"] is None}, {144, 150, 190})
                for wanted, found in comparable(theirs["counts"], events):
                    self.assertEqual(found, wanted)

    def test_no_findings(self):
        for name in TOTALS:
            with self.subTest(name):
                found = json.loads(weir("check", "--json", trace(name)))
                self.assertEqual((found["findings"], found["status"]), ([], "complete"))

    def test_pipe(self):
        name = "only_managed_samples"
        with open(trace(name), "rb") as file:
            stat = json.loads(weir("stat", "--json", "-", stdin=file))
        self.assertEqual(stat["eventCount"], TOTALS[name])

    def test_fields(self):
        events = dump("--provider", "TestEventSource0", trace("eventpipe-dotnetcore5.0-win-x64-arraytypes"))
        self.assertEqual([event["name"] for event in events], ["TestEvent1", "TestEvent2", "TestEvent3"])
        self.assertEqual(
            events[0]["fields"],
            {
                "arg0": [2032854139, 1608221689, 1470019200, 199494339, 1238846140, 1366609043],
                "arg1": [26494, 17115, -7229, 18850, 27931],
                "arg2": 2033417279,
            },
        )
        self.assertEqual(events[1]["fields"]["arg3"], [2055126903, 593325874, 2130052527, 162795177])
        self.assertEqual(len(events[2]["fields"]["arg0"]), 5)
        self.assertEqual(events[2]["opcode"], 24)
        self.assertEqual(round(events[0]["ns"] / 1e6, 4), 2420.9926)
        info = dump("--event", "ProcessInfo", trace("eventpipe-dotnetcore5.0-win-x64-arraytypes"))
        self.assertTrue(info[0]["fields"]["CommandLine"].startswith("C:\\work\\arraytypes_test\\repro\\"))

    def test_order_of_time(self):
        name = "eventpipe-dotnetcore3.0-win-x64-objver4"
        ordered = dump("--sorted", "--event", "10", trace(name))
        plain = dump("--event", "10", trace(name))
        self.assertEqual(len(ordered), 35458)
        ticks = [event["ticks"] for event in ordered]
        self.assertEqual(ticks, sorted(ticks))
        self.assertEqual({event["offset"] for event in ordered}, {event["offset"] for event in plain})

    def test_window(self):
        """Of a part, the same events and stacks as in the whole, although most of the file is not read."""
        for name, start, end in (("eventpipe-dotnetcore3.0-win-x64-objver4", 1.5, 1.75), ("only_managed_samples", 0.4, 0.5)):
            wanted = [event for event in dump("--stacks", trace(name)) if start * 1e9 <= event["ns"] < end * 1e9]
            self.assertGreater(len(wanted), 100)
            window = ["--from", str(start), "--to", str(end)]
            self.assertEqual(dump("--stacks", *window, trace(name)), wanted)
            stat = json.loads(weir("stat", "--json", *window, trace(name)))
            self.assertLess(stat["bytes_read"], (DATA / f"{name}.nettrace").stat().st_size / 5)

    def test_first_and_last(self):
        name = trace("only_managed_samples")
        everything = dump("--provider", "Microsoft-Windows-DotNETRuntimeRundown", name)
        first = dump("--provider", "Microsoft-Windows-DotNETRuntimeRundown", "--first", "3", name)
        last = dump("--provider", "Microsoft-Windows-DotNETRuntimeRundown", "--last", "3", name)
        self.assertEqual((first, last), (everything[:3], everything[-3:]))

    def test_cut(self):
        data = (DATA / "only_managed_samples.nettrace").read_bytes()
        before = known_ns = 0
        for size in range(1000, len(data), 40009):
            stat = json.loads(weir("stat", "--json", "-", input=data[:size], code=4))
            self.assertEqual((stat["status"], stat["offset"]), ("truncated", size))
            self.assertEqual((stat["lost"], stat["lost_at_least"]), (None, 0))
            self.assertGreaterEqual(stat["lost_unknown_after_ns"], known_ns)
            known_ns = stat["lost_unknown_after_ns"]
            self.assertGreaterEqual(stat["eventCount"], before)
            before = stat["eventCount"]
            found = json.loads(weir("check", "--json", "-", input=data[:size], code=4))
            self.assertEqual([finding["rule"] for finding in found["findings"]], ["end-tag"])
            self.assertEqual((found["lost"], found["lost_unknown_after_ns"]), (None, known_ns))
        self.assertGreater(known_ns, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
