"""Compares the counts of `weir stat` in real traces with TraceEvent's; the traces break no rule."""

import json
import pathlib
import subprocess
import sys
import unittest

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


class RealTraces(unittest.TestCase):
    def test_counts(self):
        for name, total in TOTALS.items():
            with self.subTest(name):
                stat = json.loads(weir("stat", "--json", trace(name)))
                self.assertEqual((stat["status"], stat["eventCount"], stat["lost"]), ("complete", total, 0))
                self.assertEqual(sum(thread["events"] for thread in stat["threads"]), total)
                theirs = json.loads((DATA / f"{name}.counts.json").read_text(encoding="utf-8"))
                self.assertEqual(theirs["events"], total)
                wanted = {(row["provider"], row["event_id"]): row["count"] for row in theirs["counts"]}
                counts = {}
                for row in stat["events"]:
                    key = row["provider"], row["id"]
                    counts[key] = counts.get(key, 0) + row["count"]
                self.assertEqual(counts, wanted)

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
