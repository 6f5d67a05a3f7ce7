"""The options of `weir` that choose a part of a trace, on files and on pipes."""

import json
import subprocess
import sys
import tempfile
import unittest

from nettrace_build import STRING, U32, U64, Stream
from nettrace6_build import Stream6

WEIR = sys.argv[1]
MS = 1_000_000
PAYLOAD = "x" * 30


def run(*arguments, code=0, **options):
    done = subprocess.run([WEIR, *arguments], capture_output=True, check=False, **options)
    assert done.returncode == code, f"{arguments}: exit code {done.returncode}\n{done.stdout.decode()}{done.stderr.decode()}"
    return done


def build(stream):
    """A hundred rounds of 10 ms, in each a block of two threads, and a name every 20 rounds; a point every 5 rounds."""
    if isinstance(stream, Stream6):
        for thread in (1, 2, 7):
            stream.thread(thread, 5000 + thread)
    tick = stream.define("Demo", 1, "Tick", [("n", U32), ("s", STRING)])
    name = stream.define("Weir", 4, "ThreadName", [("CaptureThread", U64), ("ThreadId", U64), ("Name", STRING)])
    for i in range(100):
        start = 10 * i * MS
        if i % 5 == 0:
            stream.point(start, 1, 2, 7)
        if i % 20 == 0:
            stream.events((name, 7, start, 1 + i // 20 % 2, 5001, f"name {i}"))
        for thread in (1, 2):
            stream.events(*((tick, thread, start + thread + j * 100_000, 100 * i + j, PAYLOAD) for j in range(100)))
    return stream.end()


class Case(unittest.TestCase):
    def write(self, data=b""):
        file = tempfile.NamedTemporaryFile(suffix=".nettrace")  # pylint: disable=consider-using-with
        self.addCleanup(file.close)
        file.write(data)
        file.flush()
        return file.name


class Window(Case):
    def setUp(self):
        self.files = [self.write(build(stream)) for stream in (Stream(), Stream6())]

    def dump(self, *arguments, **options):
        return [json.loads(line) for line in run("dump", "--json", *arguments, **options).stdout.splitlines()]

    def test_events(self):
        for path in self.files:
            whole = self.dump(path)
            for start, end in ((0.2, 0.2105), (0, 0.00000001), (0.985, 5), (-1, 0.011), (5, 6), (0.25, 0.250000003)):
                wanted = [event for event in whole if start * 1e9 <= event["ns"] < end * 1e9]
                arguments = [f"--from={start:.9f}", f"--to={end:.9f}"]
                self.assertEqual(self.dump(*arguments, path), wanted, (start, end))
                with open(path, "rb") as file:
                    piped = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE)  # pylint: disable=consider-using-with
                    self.assertEqual(self.dump(*arguments, "-", stdin=piped.stdout), wanted, (start, end))
                    piped.stdout.close()
                    piped.wait()
                with open(path, "rb") as file:
                    self.assertEqual(self.dump(*arguments, "-", stdin=file), wanted)
            self.assertEqual(self.dump("--from", "0.99", path), [event for event in whole if event["ns"] >= 990 * MS])
            self.assertEqual(self.dump("--to", "0.01", path), [event for event in whole if event["ns"] < 10 * MS])

    def test_bytes_read(self):
        for path in self.files:
            whole = json.loads(run("stat", "--json", path).stdout)
            self.assertGreaterEqual(whole["bytes_read"], whole["bytes"])
            part = json.loads(run("stat", "--json", "--from", "0.501", "--to", "0.509", path).stdout)
            self.assertEqual(part["eventCount"], 160)
            self.assertEqual((part["status"], part["lost"]), ("complete", 0))
            self.assertLess(part["bytes_read"], 0.05 * whole["bytes"])
            self.assertIsNone(part["bytesPerEvent"])
            text = run("stat", "--from", "0.501", "--to", "0.509", path).stdout.decode()
            self.assertIn(f"{part['bytes']} bytes up to the end of the part, {part['bytes_read']} read\n", text)

    def test_usage(self):
        for arguments in (["--from", "x"], ["--from", ""], ["--to", "1."], ["--to", "1e3"], ["--to", "1.0000000001"], ["--to", "99999999999"],
                          ["--from", "2", "--to", "1"], ["--from", "1", "--to", "1.0"]):
            for command in ("dump", "stat", "report"):
                run(command, *arguments, self.files[0], code=2)


def build_calls(stream):
    """Forty rounds of 10 ms: in each, threads 1 and 2 call two of five functions, one in the other, and function 9 runs all the
    time. In round 22, numbers of thread 1 are missing. All names are in the first block."""
    if isinstance(stream, Stream6):
        for thread in (1, 2):
            stream.thread(thread, 5000 + thread)
    call, back = (stream.define("Lua", i + 1, name, [("FunctionId", U64)]) for i, name in enumerate(("Call", "Return")))
    name = stream.define("Lua", 3, "Function", [("FunctionId", U64), ("Name", STRING)])
    stream.point(0, 1, 2)
    stream.events(*((name, 1, 1 + i, i, f"f{i}") for i in range(10)), (call, 1, 20, 9))
    for i in range(40):
        start = 10 * i * MS + 1000
        if i % 5 == 0:
            stream.point(start - 500, 1, 2)
        outer, inner = i % 5, (i + 2) % 5
        for thread in (1, 2):
            at = start + thread * MS
            stream.events((call, thread, at, outer), (call, thread, at + MS, inner), (back, thread, at + 3 * MS, inner))
            if i == 22 and thread == 1:
                stream.lose(1, 2)
            stream.events((back, thread, at + 6 * MS, outer))
    stream.events((back, 1, 400 * MS, 9))
    return stream.end()


class Report(Case):
    def report(self, *arguments, names=True, code=0, **options):
        """Without what is about the whole file, and without names if they are not to be compared."""
        report = json.loads(run("report", "--json", *arguments, code=code, **options).stdout)
        for function in report["providers"][0]["functions"]:
            if not names:
                function["name"] = ""
        return report["providers"], report["lost"]

    def test_cut(self):
        """As of what weir cut writes of the same part, and functions keep their names."""
        for data in (build_calls(stream) for stream in (Stream(), Stream6())):
            trace, part = self.write(data), self.write()
            for window, code in ((["--from", "0.123"], 3), (["--to", "0.1555"], 0), (["--from", "0.1035", "--to", "0.2065"], 0),
                                 (["--from", "0.2215", "--to", "0.2315"], 3), (["--from", "0.1035", "--to", "0.2065", "--thread", "2"], 0)):
                with self.subTest(window):
                    run("cut", *window, trace, "-o", part, code=code)
                    providers, lost = self.report(*window, trace, code=code)
                    self.assertTrue(all(row["name"] == f"f{row['id']}" for row in providers[0]["functions"]), providers)
                    self.assertEqual(self.report(*window, trace, names=False, code=code), self.report(part, names=False, code=code))
                    with open(trace, "rb") as file:
                        self.assertEqual(self.report(*window, "-", names=False, stdin=file, code=code)[0], self.report(part, names=False, code=code)[0])

    def test_calls_across_the_edges(self):
        """Function 1 of round 6 begins before the part and that of round 11 ends after it."""
        providers, _ = self.report("--thread", "2", "--from", "0.064", "--to", "0.115", self.write(build_calls(Stream())))
        self.assertEqual([providers[0][key] for key in ("calls", "returns", "unmatchedReturns", "closedAtEnd")], [10, 10, 2, 2])
        rows = {row["id"]: (row["calls"], row["inclusiveNs"]) for row in providers[0]["functions"]}
        self.assertEqual(rows[1], (2, 2 * MS + 2 * MS), "inside function 4 of round 9, and from its call at 112 ms to the last event, at 114 ms")

    def test_last(self):
        """As of the time from the first of these events on."""
        trace = self.write(build_calls(Stream()))
        last, losing = self.report("--last", "40", trace, code=3)
        events = run("dump", "--json", "--last", "40", trace, code=3).stdout.splitlines()
        start = json.loads(events[0])["ns"]
        self.assertEqual(last, self.report("--from", f"{start / 1e9:.9f}", trace)[0])
        self.assertEqual(losing, 2)
        few = self.report("--last", "3", "--event", "Call", "--thread", "2", trace, code=3)[0][0]
        self.assertEqual((few["calls"], few["returns"]), (3, 0))
        self.assertEqual(self.report("--last", "100000", trace, code=3), self.report(trace, code=3))
        self.assertIn("no calls among", run("report", "--last", "0", trace, code=3).stdout.decode())

    def test_gap_in_the_last(self):
        """The gap of round 22 ends the frames of its thread: its last call, and the function that runs all the time."""
        trace = self.write(build_calls(Stream()))
        for last in ("1000", "145", "144"):
            provider, = self.report("--last", last, trace, code=3)[0]
            self.assertEqual(provider["closedByGap"], {"1000": 2, "145": 1, "144": 0}[last], last)

    def test_blocks_before_the_part(self):
        """They are not read, unless a name is needed, and what is wrong there is not the part's."""
        data = bytearray(build_calls(Stream()))
        block = data.index(b"EventBlock", data.index(b"EventBlock") + 1)
        data[block + 50: block + 60] = b"\xFF" * 10
        trace = self.write(bytes(data))
        run("report", trace, code=1)
        providers, _ = self.report("--from", "0.301", trace)
        self.assertEqual({row["name"] for row in providers[0]["functions"]}, {f"f{i}" for i in range(5)})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
