"""`weir schema` of processes, against scripted servers.

usage: test_schema_process.py WEIR
"""

import json
import os
import signal
import sys
import unittest

from nettrace_build import STRING, U32, Stream
from test_collect import (DEFAULT, FAIL, NO_RUNDOWN, RESUME, STARTED, STOP, Case, ended, ending, started, wait_until)


def definitions(lost=0, fields=(("n", U32),), end=True):
    stream = Stream()
    tick = stream.define("Demo", 1, "Tick", list(fields))
    stream.define("Other", 1, "One", [])
    stream.point(10, 1)
    stream.events((tick, 1, 11, *("x" if kind == STRING else 1 for _, kind in fields)))
    stream.lose(1, lost)
    stream.point(13, 1)
    return stream.end() if end else bytes(stream.bytes)


class Process(Case):
    def schema(self, *arguments, code=0):
        out, err = self.run_weir("schema", *arguments, code=code)
        self.assertEqual(self.files(), self.kept, "no file is left")
        return out, err

    def setUp(self):
        super().setUp()
        self.kept = ["old.json", "t.nettrace"]
        (self.folder / "t.nettrace").write_bytes(definitions())
        text = self.run_weir("schema", "t.nettrace")[0]
        self.text = text
        (self.folder / "old.json").write_text(text, encoding="ascii")

    def test_same_as_of_a_file(self):
        """By each way to name a process; what is sent is what weir collect sends."""
        pid = os.getpid()
        with open("/proc/self/comm", "w", encoding="ascii") as name:
            name.write("weir fake")
        server = self.serve({0x0203: ended(definitions())}, f"dotnet-diagnostic-{pid}-5-socket")
        for process in (["-p", pid], ["-n", "weir fake"], ["--port", server.path]):
            self.assertEqual(self.schema(*process), (self.text, ""))
        self.assertEqual([request for request in server.requests if request != RESUME], 3 * [DEFAULT])
        schema = json.loads(self.schema("-p", pid, "--provider", "Demo")[0])
        self.assertEqual([event["provider"] for event in schema["events"]], ["Demo"])

    def test_session(self):
        """It ends after the duration, by default a second, or at a signal, and asks for the providers that are given."""
        server = self.serve({0x0203: started(definitions(end=False)), 0x0201: ending(b"\1")})
        providers = "Demo-Counters:0x1:5:EventCounterIntervalSec=1;foo=bar,Microsoft-Windows-DotNETRuntime:8000:Error"
        for arguments in (["--duration", "0.1", "--providers", providers], []):
            self.assertEqual(self.schema("--port", "port", *arguments), (self.text, ""))
        asked = [request for request in server.requests if request not in (RESUME, STOP)]
        self.assertEqual(asked[0][29:], NO_RUNDOWN[29:], "the same providers, after the budget and the rundown")
        self.assertEqual((asked[1], server.requests.count(STOP)), (DEFAULT, 2))
        process = self.begin("schema", "--port", "port", "--duration", "100")
        wait_until(lambda: server.requests.count(RESUME) == 3)
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process), (self.text, ""))

    def test_against(self):
        self.serve({0x0203: ended(definitions())}, "same")
        self.serve({0x0203: ended(definitions(fields=[("n", STRING)]))}, "other")
        self.assertEqual(self.schema("--port", "same", "--against", "old.json")[0], "same: 2 events against old.json: 0 findings, 0 notes\n")
        out = self.schema("--port", "other", "--against", "old.json", code=1)[0]
        self.assertIn("finding: Demo/Tick(1): ", out)
        found = json.loads(self.schema("--port", "other", "--against", "old.json", "--json", code=1)[0])
        self.assertEqual((found["process"], found["status"], len(found["findings"]), "file" in found), ("other", "complete", 1, False))

    def test_losses(self):
        self.serve({0x0203: ended(definitions(lost=5))}, "losing")
        self.assertEqual(self.schema("--port", "losing", code=3)[0], self.text)
        self.serve({0x0203: ended(definitions(end=False))}, "killed")
        self.assertEqual(self.schema("--port", "killed", code=4)[0], self.text)
        empty = Stream().end()
        self.serve({0x0203: ended(empty)}, "empty")
        out, err = self.schema("--port", "empty")
        self.assertEqual((json.loads(out)["events"], err), ([], "weir: empty: there are no definitions; a longer --duration may have some\n"))

    def test_refused(self):
        self.serve({0x0203: FAIL}, "refusing")
        self.serve({0x0203: STARTED[:10]}, "short")
        for port in ("refusing", "short", "nobody"):
            out, err = self.schema("--port", port, code=1)
            self.assertEqual(out, "")
            self.assertRegex(err, "^weir: schema: [^\n]+\n$")
        self.serve({0x0203: ended(b"<html>" + bytes(100))}, "noise")
        self.assertRegex(self.schema("--port", "noise", code=1)[1], "^weir: noise: not a nettrace stream")

    def test_no_folder(self):
        err = self.run_weir("schema", "--port", self.folder / "port", code=1, TMPDIR="/no/such")[1]
        self.assertEqual(err, "weir: schema: cannot make a file in /no/such: No such file or directory\n")

    def test_usage(self):
        for arguments, message in ((["-p", "1", "t.nettrace"], "give only one of FILE, -p"), (["-p", "1", "-n", "x"], "give only one of"),
                                   (["--duration", "1", "t.nettrace"], "are for a process"), (["--providers", "A", "-"], "are for a process"),
                                   (["-p", "0"], "-p is from 1 to"), (["--port", "x", "--providers", "A:xyz"], 'not "xyz"'),
                                   (["--port", "x", "--timeout", "0"], "--timeout is from"), (["--port", "x", "--mode", "block"], "try: weir schema --help"),
                                   ([], "no file given")):
            with self.subTest(arguments=arguments):
                self.assertIn(message, self.schema(*arguments, code=2)[1])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], warnings="ignore")  # servers leave their connections open
