"""The options --from and --to of `weir`, on files and on pipes."""

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


class Window(unittest.TestCase):
    def setUp(self):
        self.files = []
        for stream in (Stream(), Stream6()):
            file = tempfile.NamedTemporaryFile(suffix=".nettrace")  # pylint: disable=consider-using-with
            self.addCleanup(file.close)
            file.write(build(stream))
            file.flush()
            self.files.append(file.name)

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
            for command in ("dump", "stat"):
                run(command, *arguments, self.files[0], code=2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
