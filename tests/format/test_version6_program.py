"""The program `weir` on streams of version 6."""

import json
import subprocess
import sys
import unittest

from nettrace_build import STRING, U32, U64
from nettrace6_build import LOSS6_FIELDS, Stream6, text8

WEIR = sys.argv[1]
MAIN, WORKER, DRAIN = 1 << 23, (1 << 23) + 1, (1 << 23) + 2


def run(*arguments, data=b"", code=0):
    done = subprocess.run([WEIR, *arguments], input=data, capture_output=True, check=False)
    assert done.returncode == code, f"{arguments}: exit code {done.returncode}\n{done.stdout.decode()}{done.stderr.decode()}"
    return done


def run_json(command, data, *arguments, code=0):
    return json.loads(run(command, "--json", *arguments, "-", data=data, code=code).stdout)


def rules(data, code):
    return [finding["rule"] for finding in run_json("check", data, code=code)["findings"]]


def started():
    stream = Stream6()
    stream.thread(MAIN, 5001, "main")
    stream.thread(WORKER, 5002)
    stream.thread(DRAIN, 5003, "Weir")
    return stream


class Dump(unittest.TestCase):
    def dump(self, stream, *arguments, code=0):
        return [json.loads(line) for line in run("dump", "--json", *arguments, "-", data=stream.end(), code=code).stdout.splitlines()]

    def test_threads(self):
        stream = started()
        tick = stream.define("Demo", 1, "Tick", [("n", U32)])
        stream.events((tick, MAIN, 10, 5))
        stream.events((tick, WORKER, 11, 6))
        first, second = self.dump(stream)
        self.assertEqual((first["captureThread"], first["thread"], first["threadName"]), (MAIN, 5001, "main"))
        self.assertEqual((second["captureThread"], second["thread"], "threadName" in second), (WORKER, 5002, False))
        self.assertEqual((first["number"], first["level"], first["processor"], first["fields"]), (1, 4, 3, {"n": 5}))

    def test_thread_name_event(self):
        """A name that a thread gets later takes the place of that in its row."""
        stream = started()
        tick = stream.define("Demo", 1, "Tick", [])
        name = stream.define("Weir", 4, "ThreadName", [("CaptureThread", U64), ("ThreadId", U64), ("Name", STRING)])
        stream.events((tick, MAIN, 10))
        stream.events((name, DRAIN, 11, MAIN, 5001, "renamed"))
        stream.events((tick, MAIN, 12))
        self.assertEqual([event.get("threadName") for event in self.dump(stream)], ["main", "Weir", "renamed"])

    def test_types(self):
        stream = started()
        kinds = [("u8", b"\x13\x17"), ("comm", b"\x16\x17\x08\0"), ("b", 26), ("vi", 20), ("vu", 21), ("d", b"\x19\x08"), ("bad", b"\x13\x17")]
        kind = stream.define("Demo", 1, "All", kinds)
        payload = b"\2\0\xC3\xA4sh\0\0\0\0\0\0\1\5\x80\x01\x17\0\x04\0\1\0\xFF\1\0\2\0"
        stream.events((kind, MAIN, 10, payload))
        event = self.dump(stream)[0]
        self.assertEqual(event["fields"], {"u8": "\u00E4", "comm": "sh", "b": True, "vi": -3, "vu": 128, "d": [1, 2], "bad": "\uFFFD"})
        self.assertNotIn("rest", event)
        self.assertIn('u8="\u00E4" comm="sh" b=true vi=-3 vu=128 d=[1, 2] bad="\uFFFD"', run("dump", "-", data=stream.end()).stdout.decode())

    def test_labels(self):
        stream = started()
        tick = stream.define("Demo", 1, "Tick", [])
        activity = bytes(range(16))
        stream.labels(1, [(1, activity), (3, b"\xAB" * 16), (4, b"\1" + bytes(7)), (5, text8("req") + text8("4\n2")), (6, text8("d") + b"\5"),
                          (9, b"\2")])
        stream.stacks(1, [0x1000, 0x2000])
        stream.events((tick, MAIN, 10), labels=1, stack=1)
        stream.events((tick, MAIN, 11))
        for arguments in ((), ("--last", "5")):
            first, second = self.dump(stream, "--stacks", *arguments)
            self.assertEqual(first["activityId"], "03020100-0504-0706-0809-0a0b0c0d0e0f")
            self.assertEqual((first["traceId"], first["spanId"], first["level"]), ("ab" * 16, 1, 2))
            self.assertEqual(first["labels"], [{"key": "req", "value": "4\n2"}, {"key": "d", "value": -3}])
            self.assertEqual((first["stack"], second["stack"]), ([0x1000, 0x2000], []))
            self.assertEqual((second["level"], {"labels", "traceId", "spanId", "activityId"} & set(second)), (4, set()))
        self.assertIn(r' trace=abababababababababababababababab span=1 req="4\n2" d=-3', run("dump", "-", data=stream.end()).stdout.decode())


class Losses(unittest.TestCase):
    def stream(self, told):
        """Thread MAIN loses 2 numbers before its first event, and WORKER 3 at its end."""
        stream = started()
        tick = stream.define("Demo", 1, "Tick", [("n", U32)])
        loss = stream.define("Weir", 1, "Loss", LOSS6_FIELDS)
        stream.lose(MAIN, 2)
        stream.events((tick, MAIN, 11, 5))
        stream.events((tick, WORKER, 12, 5))
        stream.lose(WORKER, 3)
        if told:
            stream.events((loss, DRAIN, 30, MAIN, 0, "FULL", 2), (loss, DRAIN, 31, WORKER, 1, "NESTED", 3))
        stream.remove(WORKER)
        stream.point(50, MAIN, DRAIN)
        return stream.end()

    def test_stat(self):
        stat = run_json("stat", self.stream(True), code=3)
        self.assertEqual((stat["lost"], stat["causes"]["FULL"], stat["causes"]["NESTED"], stat["causes"]["unknown"]), (5, 2, 3, 0))
        self.assertEqual((stat["processId"], stat["processors"], stat["definitionsWithV5Tags"]), (4242, 2, 0))
        threads = {thread["captureThread"]: thread for thread in stat["threads"]}
        self.assertEqual((threads[MAIN]["lost"], threads[WORKER]["lost"], threads[MAIN]["name"]), (2, 3, "main"))
        self.assertEqual(threads[WORKER]["thread"], 5002)
        self.assertEqual(run_json("stat", self.stream(False), code=3)["causes"]["unknown"], 5)

    def test_check(self):
        self.assertEqual(rules(self.stream(True), 3), [])
        self.assertEqual(rules(self.stream(False), 1), ["loss-count", "loss-count"])

    def test_truncated(self):
        data = self.stream(True)
        for cut in (4, 20, 70):
            self.assertEqual(rules(data[:-cut], 4), ["end-tag"])
            self.assertIsNone(run_json("stat", data[:-cut], code=4)["lost"])


class Rules(unittest.TestCase):
    def test_keys_may_be_missing(self):
        """A trace of several processes has no process id, and no key needs to be there."""
        stream = Stream6(ProcessId="0", HardwareThreadCount="0")
        self.assertEqual(rules(stream.end(), 0), [])
        stream = Stream6(ProcessId="0", HardwareThreadCount="-1")
        self.assertEqual(rules(stream.end(), 1), ["trace-object"])

    def test_undefined(self):
        stream = started()
        tick = stream.define("Weir", 9, "Tick", [])
        stream.sequence[77] = 0
        stream.events((tick, 77, 10))
        self.assertEqual(rules(stream.end(), 1), ["thread-undefined", "introduction"])

    def test_minor_and_major(self):
        data = bytearray(started().end())
        data[16] = 3
        self.assertEqual(rules(bytes(data), 0), [])
        data[12] = 7
        self.assertIn(b"version 7.3; versions 4 to 6", run("stat", "-", data=bytes(data), code=1).stderr)


class Report(unittest.TestCase):
    def test_times(self):
        stream = started()
        call, leave = (stream.define("Demo", i, name, [("FunctionId", U64)]) for i, name in ((1, "Call"), (2, "Return")))
        stream.events((call, MAIN, 1000, 7), (leave, MAIN, 5000, 7))
        provider = run_json("report", stream.end())["providers"][0]
        self.assertEqual([(f["calls"], f["exclusiveNs"]) for f in provider["functions"]], [(1, 4000)])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
