"""`weir ps` and `weir collect` against scripted servers: what is sent, byte for byte as .NET's tools send it, and what
comes of replies that are late, wrong or hostile.

usage: test_collect.py WEIR
"""

import contextlib
import json
import os
import pty
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

from nettrace_build import RAW, U32, Stream

WEIR = os.path.abspath(sys.argv[1])
TIMEOUT = 60

# What dotnet-trace 10.0 has sent to a .NET process, and the answers.
DEFAULT = bytes.fromhex(
    "444f544e45545f4950435f563100d50002030000000100000100000001020000001d8003001000000004000000200000004d006900630072006f0073006f0066"
    "0074002d00570069006e0064006f00770073002d0044006f0074004e0045005400520075006e00740069006d00650000000100000000000000000000f0000004"
    "000000240000004d006900630072006f0073006f00660074002d0044006f0074004e004500540043006f00720065002d00530061006d0070006c006500500072"
    "006f00660069006c00650072000000010000000000")
NO_RUNDOWN = bytes.fromhex(
    "444f544e45545f4950435f563100eb0002030000400000000100000000020000000100000000000000050000000e000000440065006d006f002d0043006f0075"
    "006e0074006500720073000000220000004500760065006e00740043006f0075006e0074006500720049006e00740065007200760061006c005300650063003d"
    "0031003b0066006f006f003d006200610072000000008000000000000002000000200000004d006900630072006f0073006f00660074002d00570069006e0064"
    "006f00770073002d0044006f0074004e0045005400520075006e00740069006d0065000000010000000000")
GC_RUNDOWN = bytes.fromhex(
    "444f544e45545f4950435f563100e30002050000000100000100000001000000000000000102000000010000000000000004000000200000004d006900630072"
    "006f0073006f00660074002d00570069006e0064006f00770073002d0044006f0074004e0045005400520075006e00740069006d006500000001000000000001"
    "0000000000000004000000270000004d006900630072006f0073006f00660074002d00570069006e0064006f00770073002d0044006f0074004e004500540052"
    "0075006e00740069006d00650050007200690076006100740065000000010000000000")
BLOCK = bytes.fromhex(
    "444f544e45545f4950435f563100ef0002070000000000000001000001000000390102800000000001020000001d800300100000000400000020000000"
    "4d006900630072006f0073006f00660074002d00570069006e0064006f00770073002d0044006f0074004e0045005400520075006e00740069006d006500"
    "000001000000000000000000000000000000f0000004000000240000004d006900630072006f0073006f00660074002d0044006f0074004e004500540043"
    "006f00720065002d00530061006d0070006c006500500072006f00660069006c00650072000000010000000000000000000001000000")
RESUME = bytes.fromhex("444f544e45545f4950435f563100140004010000")
STOP = bytes.fromhex("444f544e45545f4950435f5631001c0002010000801400a8607f0000")
STARTED = bytes.fromhex("444f544e45545f4950435f5631001c00ff000000801400a8607f0000")  # to StopTracing too
RESUMED = bytes.fromhex("444f544e45545f4950435f5631001800ff00000000000000")
MAGIC = STARTED[:14]


def refusal(code):
    return MAGIC + struct.pack("<HBBHI", 24, 0xFF, 0xFF, 0, code)


UNKNOWN_COMMAND, INVALID_ARGUMENT, FAIL, BAD_ENCODING = map(refusal, (0x80131385, 0x80070057, 0x80004005, 0x80131384))


def trace(lost=0, end=True):
    stream = Stream()
    tick = stream.define("Demo", 1, "Tick", [("n", U32)])
    stream.point(10, 1)
    stream.events((tick, 1, 11, 1))
    stream.lose(1, lost)
    stream.events((tick, 1, 12, 2))
    stream.point(13, 1)
    return stream.end() if end else bytes(stream.bytes)


def receive(connection, size):
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            break
        data += piece
    return data


def read_request(connection):
    head = receive(connection, 20)
    return head + receive(connection, struct.unpack_from("<H", head, 14)[0] - 20) if len(head) == 20 else head


class Server:
    """A process's diagnostics socket. `answers`: by set and id of the command, the bytes of the reply, or a function of the
    server and the connection. Requests are kept in order."""

    def __init__(self, path, answers=None):
        self.path = path
        self.answers = {0x0401: RESUMED, 0x0201: self.stop, **(answers or {})}
        self.requests = []
        self.stream = None
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with contextlib.suppress(OSError):  # the client may have gone
            self.answer(connection)

    def answer(self, connection):
        request = read_request(connection)
        self.requests.append(request)
        command = request[16] << 8 | request[17]
        answer = self.answers.get(command, UNKNOWN_COMMAND)
        if callable(answer):
            answer(self, connection)
        else:
            connection.sendall(answer)
            connection.close()

    @staticmethod
    def stop(server, connection, rest=b"", reply_first=False):
        if reply_first:
            connection.sendall(STARTED)
        server.stream.sendall(rest)
        server.stream.close()
        if not reply_first:
            connection.sendall(STARTED)
        connection.close()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def ending(rest, reply_first=False):
    return lambda server, connection: Server.stop(server, connection, rest, reply_first)


def started(data):
    def answer(server, connection):
        server.stream = connection
        connection.sendall(STARTED + data)
    return answer


def ended(data):
    def answer(server, connection):
        connection.sendall(STARTED + data)
        connection.close()
    return answer


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="weir-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.file = self.folder / "out.nettrace"

    def serve(self, answers, name="port"):
        server = Server(self.folder / name, answers)
        self.addCleanup(server.close)
        return server

    def begin(self, *arguments, **more):
        environment = {**os.environ, "TMPDIR": str(self.folder), **more}
        return subprocess.Popen([WEIR, *map(str, arguments)], cwd=self.folder, env=environment, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def finish(self, process, code=0):
        out, err = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, code, out + err)
        return out, err

    def run_weir(self, *arguments, code=0, **more):
        return self.finish(self.begin(*arguments, **more), code)

    def collect(self, *arguments, code=0, port="port"):
        """Of the server at self.folder/port: stdout, stderr."""
        return self.run_weir("collect", "--port", self.folder / port, "-o", self.file, *arguments, code=code)

    def files(self):
        return sorted(path.name for path in self.folder.iterdir() if not path.is_socket())


def wait_until(condition):
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.01)


class Attach(Case):
    def check_requests(self, arguments, *wanted, command, silent=()):
        server = self.serve({command: started(trace(end=False)), 0x0201: ending(b"\1")})
        err = self.collect("--duration", "0.1", *arguments)[1]
        self.assertEqual(server.requests, [*wanted, RESUME, STOP])
        self.assertEqual(err, "".join(f"weir: {self.file}: {text}\n" for text in (
            f"2 events, {len(trace())} bytes, lost 0",
            *(f"no event of provider {name}; check its name, keywords and level" for name in silent))))
        self.assertEqual(self.file.read_bytes(), trace())
        self.assertEqual(self.file.stat().st_mode & 0o777, 0o600)

    def test_default(self):
        self.check_requests([], DEFAULT, command=0x0203)

    def test_default_written_out(self):
        self.check_requests(["--rundown", "0x80020139", "--mode", "drop", "--budget", "256"], DEFAULT, command=0x0203)

    def test_no_rundown(self):
        providers = "Demo-Counters:0x1:5:EventCounterIntervalSec=1;foo=bar,Microsoft-Windows-DotNETRuntime:8000:Error"
        self.check_requests(["--rundown", "0", "--budget", "64", "--providers", providers], NO_RUNDOWN, command=0x0203,
                            silent=("Demo-Counters", "Microsoft-Windows-DotNETRuntime"))

    def test_rundown(self):
        providers = "Microsoft-Windows-DotNETRuntime:1:4,Microsoft-Windows-DotNETRuntimePrivate:0X1:informational"
        self.check_requests(["--rundown", "1", "--providers", providers], GC_RUNDOWN, command=0x0205,
                            silent=("Microsoft-Windows-DotNETRuntime", "Microsoft-Windows-DotNETRuntimePrivate"))

    def test_block(self):
        self.check_requests(["--mode", "block"], BLOCK, command=0x0207)

    def test_providers(self):
        """What is left out, other alphabets, quotes and commas in arguments."""
        server = self.serve({0x0203: ended(trace())})
        listed = [("A", "A", 2**64 - 1, 5, ""), ("\u00e9\U0001F600::2", "\u00e9\U0001F600", 2**64 - 1, 2, ""),
                  ("B:ff::x=1:2", "B", 0xFF, 5, "x=1:2"), ('C:1:0:"a=1,2;""b"""', "C", 1, 0, 'a=1,2;"b"'),
                  ('D:::k="1,2"', "D", 2**64 - 1, 5, 'k="1,2"'), ('E:::"k;"="1,2"', "E", 2**64 - 1, 5, '"k;"="1,2"')]
        self.collect("--providers", ",".join(text for text, *_ in listed))
        payload, at, found = server.requests[0][20:], 13, []

        def string():
            nonlocal at
            units = struct.unpack_from("<I", payload, at)[0]
            text = payload[at + 4:at + 2 + 2 * units].decode("utf-16-le")
            at += 4 + 2 * units
            return text
        while at < len(payload):
            keywords, level = struct.unpack_from("<QI", payload, at)
            at += 12
            found.append((string(), keywords, level, string()))
        self.assertEqual(found, [tuple(rest) for _, *rest in listed])

    def test_silent_providers(self):
        self.serve({0x0203: ended(trace())})
        came = json.loads(self.collect("--json")[0])
        self.assertEqual(came["silentProviders"], [])
        self.assertEqual(json.loads(self.collect("--json", "--providers", "DEMO,Nope")[0])["silentProviders"], ["Nope"])
        err = self.collect("--providers", "DEMO:1:4,Nope")[1]
        self.assertIn("no event of provider Nope; ", err)
        self.assertEqual(err.count("no event of provider"), 1)
        self.assertNotIn("no event of provider", self.collect("--providers", "*")[1])

    def test_orders_of_the_end(self):
        """StopTracing's reply may come before the rest of the stream, which may be large, or not at all."""
        rest = trace()[100:] + bytes(3_000_000)  # the reader stops at the end tag

        def no_reply(server, connection):
            server.stream.sendall(rest)
            server.stream.close()
            connection.close()
        for i, answer in enumerate((ending(rest), ending(rest, reply_first=True), no_reply)):
            self.serve({0x0203: started(trace()[:100]), 0x0201: answer}, f"port{i}")
            self.collect("--duration", "0.1", port=f"port{i}")
            self.assertEqual(self.file.read_bytes(), trace()[:100] + rest)

    def test_process_ends(self):
        server = self.serve({0x0203: ended(trace())})
        out, err = self.collect("--json")
        told = json.loads(out)
        self.assertEqual((told["eventCount"], told["bytes"], told["lost"], told["status"], told["failed"], told["exitCode"]),
                         (2, len(trace()), 0, "complete", False, None))
        self.assertEqual((told["file"], told["name"], told["command"], err), (str(self.file), "port", "CollectTracing2", ""))
        self.assertNotIn(STOP, server.requests)

    def test_losses(self):
        self.serve({0x0203: ended(trace(lost=5))})
        self.assertIn("2 events, ", self.collect(code=3)[1])
        self.assertIn(", lost 5\n", self.collect(code=3)[1])

    def test_killed(self):
        """What was received stays, and takes the place of an older file."""
        self.file.write_bytes(b"old")
        self.serve({0x0203: ended(trace(end=False))})
        self.assertIn("lost unknown after 0.000 s", self.collect(code=4)[1])
        self.assertEqual(self.file.read_bytes(), trace(end=False))
        self.assertEqual(self.files(), ["out.nettrace"])

    def test_signals(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            server = self.serve({0x0203: started(trace(end=False)), 0x0201: ending(b"\1")}, f"port{number}")
            process = self.begin("collect", "--port", server.path, "-o", self.file)
            wait_until(lambda: RESUME in server.requests)
            process.send_signal(number)
            self.finish(process)
            self.assertEqual(server.requests[2:], [STOP])

    def test_given_up(self):
        """A second signal does not wait for the rest."""
        server = self.serve({0x0203: started(trace(end=False)), 0x0201: lambda server, connection: None})
        process = self.begin("collect", "--port", server.path, "-o", self.file)
        wait_until(lambda: RESUME in server.requests)
        process.send_signal(signal.SIGINT)
        wait_until(lambda: STOP in server.requests)
        process.send_signal(signal.SIGINT)
        self.assertIn("given up", self.finish(process, 4)[1])
        self.assertEqual(self.file.read_bytes(), trace(end=False))

    def test_progress(self):
        """On a terminal, after two seconds, and it is gone at the end. Elsewhere all tests look at the whole of stderr."""
        server = self.serve({0x0203: started(trace(end=False)), 0x0201: ending(b"\1")})
        child, terminal = pty.fork()
        if child == 0:
            os.execv(WEIR, [WEIR, "collect", "--port", str(server.path), "-o", str(self.file), "--duration", "2.6"])
        shown = b""
        with contextlib.suppress(OSError):  # how a terminal says that nobody is there any more
            while piece := os.read(terminal, 4096):
                shown += piece
        os.close(terminal)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.assertRegex(shown, rb"^\r0\.0 MB received, 2 s.*\r {60}\rweir: [^\r]*, lost 0\r\n$")

    def test_default_name(self):
        self.serve({0x0203: ended(trace())})
        self.run_weir("collect", "--port", "port")
        self.assertRegex(self.files()[0], r"^port_\d{8}_\d{6}\.nettrace$")

    def test_by_pid_and_name(self):
        """The newest of several sockets; others' names, and what is no socket, do not count."""
        pid = os.getpid()
        Path("/proc/self/comm").write_text("weir fake", encoding="ascii")
        old = self.serve({0x0203: ended(trace())}, f"dotnet-diagnostic-{pid}-5-socket")
        os.utime(old.path, (1, 1))
        new = self.serve({0x0203: ended(trace())}, f"dotnet-diagnostic-{pid}-57-socket")
        (self.folder / f"dotnet-diagnostic-{pid}-9-socket").write_text("no socket", encoding="ascii")
        for arguments in (["-p", pid], ["-n", "weir fake"]):
            told = json.loads(self.run_weir("collect", *arguments, "-o", self.file, "--json")[0])
            self.assertEqual((told["pid"], told["name"]), (pid, "weir fake"))
        self.assertEqual((old.requests, new.requests.count(DEFAULT)), ([], 2))
        self.assertIn("no process", self.run_weir("collect", "-n", "weir fak", code=1)[1])


class Refused(Case):
    """Nothing is started: a message, exit code 1, and the file that was there stays."""

    def check(self, answer, message, *arguments, command=0x0203):
        self.file.write_bytes(b"old")
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            server = Server(Path(folder, "port"), {command: answer})
            start = time.monotonic()
            err = self.run_weir("collect", "--port", server.path, "-o", self.file, *arguments, code=1)[1]
            server.close()
        self.assertRegex(err, message)
        self.assertLess(time.monotonic() - start, 20)
        self.assertEqual(self.file.read_bytes(), b"old")
        self.assertEqual(self.files(), ["out.nettrace"])

    def test_block(self):
        for answer in (UNKNOWN_COMMAND, INVALID_ARGUMENT):
            self.check(answer, "port does not support --mode block.* use --mode drop", "--mode", "block", command=0x0207)
        self.check(BAD_ENCODING, r"^weir: collect: CollectTracing6: error 0x80131384 \(BadEncoding\)\n$", "--mode", "block", command=0x0207)

    def test_rundown(self):
        self.check(UNKNOWN_COMMAND, "does not support --rundown with these", "--rundown", "5", command=0x0205)

    def test_error(self):
        self.check(FAIL, r"^weir: collect: CollectTracing2: error 0x80004005 \(Fail\)\n$")
        self.check(refusal(0x12345678), "error 0x12345678 ")
        self.check(MAGIC + struct.pack("<HBBHQ", 28, 0xFF, 0xFF, 0, 0x80004005), "0x80004005")  # as the document has it

    def test_hostile_replies(self):
        header = struct.Struct("<HBBH")
        for reply, message in (
                (b"", "closed without a reply"),
                (STARTED[:10], "closed after 10 of 20 bytes"),
                (STARTED[:22], "closed after 22 of 28 bytes"),
                (b"HTTP/1.1 400 Bad Request\r\n\r\n", "wrong magic"),
                (b"dotnet" + STARTED[6:], "wrong magic"),
                (MAGIC + header.pack(19, 0xFF, 0, 0), "a size of 19 bytes"),
                (MAGIC + header.pack(0, 0xFF, 0, 0), "a size of 0 bytes"),
                (MAGIC + header.pack(65535, 0xFF, 0, 0) + bytes(1000), "closed after 1020 of 65535"),
                (MAGIC + header.pack(28, 4, 0, 0) + bytes(8), "neither OK nor Error: 04.00"),
                (MAGIC + header.pack(28, 0xFF, 7, 0) + bytes(8), "neither OK nor Error: ff.07"),
                (MAGIC + header.pack(20, 0xFF, 0, 0), "no session id"),
                (MAGIC + header.pack(27, 0xFF, 0, 0) + bytes(7), "no session id"),
                (MAGIC + header.pack(22, 0xFF, 0xFF, 0) + bytes(2), "an error without its code")):
            self.check(reply, message)

    def test_largest_reply(self):
        """A later version may say more in a reply; the stream follows it."""
        reply = MAGIC + struct.pack("<HBBHQ", 65535, 0xFF, 0, 0, 7) + bytes(65535 - 28)

        def answer(_, connection):
            for i in range(0, len(reply), 9999):
                connection.sendall(reply[i:i + 9999])
            connection.sendall(trace())
            connection.close()
        self.serve({0x0203: answer})
        self.collect()

    def test_nobody(self):
        self.assertIn("No such file", self.collect(code=1)[1])
        with socket.socket(socket.AF_UNIX) as gone:
            gone.bind(str(self.folder / "port"))
        self.assertIn("nobody listens there any more", self.collect(code=1)[1])
        self.assertIn("has no diagnostics socket", self.run_weir("collect", "-p", os.getpid(), code=1)[1])
        self.assertIn("there is no process", self.run_weir("collect", "-p", 2**31 - 1, code=1)[1])
        self.assertEqual(self.files(), [])

    def test_output(self):
        server = self.serve({0x0203: ended(trace())})
        for file, message in ((self.folder / "no/file", "cannot write"), (self.folder, "not a regular file")):
            self.assertIn(message, self.run_weir("collect", "--port", server.path, "-o", file, code=1)[1])
        self.assertEqual((server.requests, self.files()), ([], []))


class Later(Case):
    """The session has started, so the file has what came."""

    def test_resume(self):
        self.serve({0x0203: ended(trace()), 0x0401: UNKNOWN_COMMAND})
        self.collect()
        self.serve({0x0203: started(trace()), 0x0401: FAIL}, "port2")
        self.assertIn("ResumeRuntime: error 0x80004005 (Fail)", self.collect(port="port2", code=1)[1])
        self.assertEqual(self.file.read_bytes(), trace())

    def test_stop_refused(self):
        for i, (answer, message) in enumerate(((UNKNOWN_COMMAND, "StopTracing: error 0x80131385"), (b"x" * 20, "StopTracing: .*wrong magic"))):
            self.serve({0x0203: started(trace()), 0x0201: answer}, f"port{i}")
            self.assertRegex(self.collect("--duration", "0.1", port=f"port{i}", code=1)[1], message)
            self.assertEqual(self.file.read_bytes(), trace())

    def test_no_trace(self):
        self.serve({0x0203: ended(b"plain text, and more of it")})
        self.assertIn("not a nettrace", self.collect(code=1)[1])
        self.serve({0x0203: ended(b"")}, "port2")
        self.collect(port="port2", code=4)


class Silent(Case):
    """A process that does not answer is an error after --timeout. All wait at once."""

    def test_silent(self):
        silent = lambda server, connection: server.requests.append(connection)  # and so keeps it open

        def dribble(server, connection):
            for byte in STARTED[:-1]:
                connection.sendall(bytes([byte]))
                time.sleep(0.2)
            server.requests.append(connection)
        cases = {"collect": ({0x0203: silent}, "CollectTracing2: no answer within 3 s"),
                 "dribble": ({0x0203: dribble}, "CollectTracing2: no answer within 3 s"),
                 "resume": ({0x0203: started(trace()), 0x0401: silent}, "ResumeRuntime: no answer within 3 s"),
                 "stop": ({0x0203: started(trace()), 0x0201: silent}, "StopTracing: no answer within 3 s")}
        processes = []
        for name, (answers, _) in cases.items():
            server = self.serve(answers, name)
            processes.append(self.begin("collect", "--port", server.path, "--timeout", "3", "--duration", "0.1", "-o", self.folder / f"{name}.nettrace"))
        full = socket.socket(socket.AF_UNIX)  # its queue of connections is full, and nobody accepts
        self.addCleanup(full.close)
        full.bind(str(self.folder / "full"))
        full.listen(0)
        waiting = socket.socket(socket.AF_UNIX)
        self.addCleanup(waiting.close)
        waiting.connect(str(self.folder / "full"))
        processes.append(self.begin("collect", "--timeout", "3", "--port", "full", "-o", self.folder / "full.nettrace"))
        processes.append(self.begin("collect", "--timeout", "3", "-o", self.folder / "never.nettrace", "--", "sleep", "600"))  # it is ended
        messages = [message for _, message in cases.values()] + ["CollectTracing2: no connection within 3 s", "sleep has not connected to its port"]
        for process, message in zip(processes, messages):
            self.assertIn(message, self.finish(process, 1)[1])
        self.assertEqual(self.files(), ["resume.nettrace", "stop.nettrace"])


class HeapCollect(Case):
    def test_other_collections_do_not_end_it(self):
        """Neither one that nobody has asked for, nor one that ends within the snapshot. Then the stream stands still."""
        stream = Stream()
        start, node, end = (stream.define("Microsoft-Windows-DotNETRuntime", number, "", [("Values", RAW)]) for number in (1, 18, 2))
        stream.point(10, 1)
        stream.events((start, 1, 11, struct.pack("<IIIIHQ", 1, 0, 0, 0, 0, 0)), (end, 1, 12, struct.pack("<IIH", 1, 0, 0)),
                      (start, 1, 13, struct.pack("<IIIIHQ", 3, 2, 1, 0, 0, 0)), (end, 1, 14, struct.pack("<IIH", 2, 1, 0)))
        early = bytes(stream.bytes)
        stream.events((node, 1, 15, struct.pack("<IIHQQQQ", 0, 1, 0, 16, 24, 8, 0)), (end, 1, 16, struct.pack("<IIH", 3, 2, 0)))
        stream.point(17, 1)
        whole = stream.end()

        def answer(server, connection):
            started(early)(server, connection)
            time.sleep(0.6)  # a stream that has been still for 0.2 s is looked at
            server.is_stopped_early = STOP in server.requests
            connection.sendall(whole[len(early):-1])

        server = self.serve({0x0207: answer, 0x0201: ending(b"\1")})
        out = self.run_weir("heap", "collect", "--port", server.path, "-o", self.file, "--json")[0]
        self.assertFalse(server.is_stopped_early)
        self.assertEqual(server.requests[-1], STOP)
        self.assertEqual(self.file.read_bytes(), whole)
        self.assertEqual([json.loads(out)[name] for name in ("complete", "objects", "bytes")], [True, 1, 24])


# A process that was started to be traced: it dials, and is held until it is resumed.
DIALER = """
import os, socket, struct, sys, time
PORT = os.environ["DOTNET_DiagnosticPorts"].removesuffix(",suspend,connect")
ADVERTISE = b"ADVR_V1\\0" + b"c" * 16 + struct.pack("<QH", os.getpid(), 0)

def log(data):
    with open("log", "a") as file:
        file.write(data.hex() + "\\n")

def connect():
    c = socket.socket(socket.AF_UNIX); c.connect(PORT); return c

def dial():
    c = connect(); c.sendall(ADVERTISE[:24] + struct.pack("<QH", os.getpid(), 0)); return c

def request(c):
    head = c.recv(20, socket.MSG_WAITALL)
    size = struct.unpack_from("<H", head, 14)[0] - 20
    return head + (c.recv(size, socket.MSG_WAITALL) if size else b"")

def start(c=None):
    c = c or dial(); log(request(c)); c.sendall(STARTED); return c

def resume():
    c = dial(); log(request(c)); c.sendall(RESUMED); c.close()

"""


class Launch(Case):
    def child(self, text):
        """A script that starts with the functions below."""
        script = self.folder / "child.py"
        trace_text = repr(trace(end=False))
        script.write_text(f"STARTED, RESUMED, TRACE = {STARTED!r}, {RESUMED!r}, {trace_text}\n" + DIALER + text, encoding="ascii")
        return ["--", sys.executable, script]

    def collect_child(self, text, *arguments, code=0):
        return self.run_weir("collect", "-o", self.file, *arguments, *self.child(text), code=code)

    def log(self):
        return (self.folder / "log").read_text(encoding="ascii").split()

    def test_traced(self):
        out, err = self.collect_child("stream = start(); resume(); dial(); stream.sendall(TRACE + b'\\1'); print('hello'); sys.exit(7)", code=7)
        self.assertEqual((out, err), ("hello\n", f"weir: {self.file}: 2 events, {len(trace())} bytes, lost 0\n"))
        self.assertEqual(self.log(), [DEFAULT.hex(), RESUME.hex()])
        self.assertEqual(sorted(os.listdir(self.folder)), ["child.py", "log", "out.nettrace"])

    def test_exit_codes(self):
        told = json.loads(self.collect_child("stream = start(); resume(); stream.sendall(TRACE); os.kill(os.getpid(), 9)", "--json", code=137)[0])
        self.assertEqual((told["exitCode"], told["status"]), (137, "truncated"))
        self.collect_child("stream = start(); resume(); stream.sendall(TRACE)", code=4)

    def test_folder_is_private(self):
        err = self.collect_child("sys.exit(5 if os.stat(os.path.dirname(PORT)).st_mode & 0o777 == 0o700 else 9)", code=1)[1]
        self.assertIn("with code 5,", err)

    def test_duration(self):
        """The trace ends, the command does not. A newer connection takes the place of an unused one."""
        self.collect_child("stream = start(); resume(); old = dial(); c = dial(); stream.sendall(TRACE); log(request(c)); log(old.recv(1));"
                           "stream.sendall(b'\\1'); c.sendall(STARTED); c.close(); stream.close(); time.sleep(0.2); sys.exit(3)",
                           "--duration", "0.3", code=3)
        self.assertEqual(self.log(), [DEFAULT.hex(), RESUME.hex(), STOP.hex()])
        self.assertEqual(self.file.read_bytes(), trace())

    def test_signal_is_passed_on(self):
        """After the trace is complete; SIGTERM's default action would have cut it."""
        text = ("stream = start(); resume(); c = dial(); stream.sendall(TRACE); log(request(c)); time.sleep(0.2);"
                "stream.sendall(b'\\1'); c.sendall(STARTED); c.close(); stream.close(); time.sleep(60)")
        process = self.begin("collect", "-o", self.file, *self.child(text))
        wait_until(lambda: (self.folder / "log").exists() and len(self.log()) == 2)
        process.send_signal(signal.SIGTERM)
        self.finish(process, 128 + signal.SIGTERM)
        self.assertEqual(self.file.read_bytes(), trace())

    def test_refused(self):
        """The command is held, so it is ended."""
        text = "c = dial(); request(c); c.sendall(bytes.fromhex('%s')); c.close(); dial(); time.sleep(60)" % UNKNOWN_COMMAND.hex()
        start = time.monotonic()
        self.assertIn("use --mode drop", self.collect_child(text, "--mode", "block", code=1)[1])
        self.assertLess(time.monotonic() - start, 30)
        self.assertEqual(self.files(), ["child.py"])

    def test_never_connects(self):
        self.assertIn("has ended with code 3, and did not connect", self.collect_child("sys.exit(3)", code=1)[1])
        # qemu reports no failure of the program that a spawned process was to become.
        message = "such has ended with code 127" if "UNDER_QEMU" in os.environ else "cannot start /no/such: No such file"
        self.assertIn(message, self.run_weir("collect", "--", "/no/such", code=1)[1])
        self.assertEqual(self.files(), ["child.py"])

    def test_stranger(self):
        """What the command starts is resumed once and not traced; the command itself may be."""
        other = """
if os.fork() == 0:
    c = dial(); log(request(c)); c.sendall(RESUMED); c.close()
    c = dial(); c.settimeout(0.2)
    try:
        log(c.recv(1))
    except socket.timeout:
        log(b"held")
    os._exit(0)
os.wait()
"""
        err = self.collect_child(other, code=1)[1]
        self.assertRegex(err, r"process \d+, which it has started, did connect")
        self.assertEqual(self.log(), [RESUME.hex(), b"held".hex()])
        self.collect_child(other + "stream = start(); resume(); stream.sendall(TRACE + b'\\1')")

    def test_hostile_connections(self):
        """Before the right one: noise, half an advertise, one that has gone, and one in pieces."""
        self.collect_child("""
noise = connect(); noise.sendall(b"GET / HTTP/1.1 and so on and so forth")
half = connect(); half.sendall(ADVERTISE[:20])
dial().close()
used = connect()
for byte in ADVERTISE:
    used.sendall(bytes([byte])); time.sleep(0.002)
stream = start(used); resume(); stream.sendall(TRACE + b'\\1')
""")

    def test_folder_that_no_list_can_name(self):
        (self.folder / "a,b").mkdir()
        err = self.run_weir("collect", "--", "true", code=1, TMPDIR=str(self.folder / "a,b"))[1]
        self.assertIn("comma", err)


class Processes(Case):
    def processes(self, **more):
        return json.loads(self.run_weir("ps", "--json", **more)[0])["processes"]

    def own(self, processes):
        """Others' processes may have sockets, too."""
        return [process for process in processes if process["socket"].startswith(str(self.folder))]

    def bind(self, name):
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(str(self.folder / name))
        listener.listen()
        return listener

    def test_list(self):
        pid = os.getpid()
        listener = self.bind(f"dotnet-diagnostic-{pid}-1237-socket")
        for name in (f"dotnet-diagnostic-dsrouter-{pid}-1-socket", f"dotnet-diagnostic-{pid}-x-socket", f"dotnet-diagnostic-{pid}-1-socket-",
                     f"dotnet-diagnostic-{pid}--socket", f"dotnet-diagnostic-{2**31 - 1}-1-socket", f"dotnet-diagnostic-9{pid:020}-1-socket"):
            self.bind(name)
        process, = self.own(self.processes())
        self.assertEqual((process["pid"], process["socket"]), (pid, str(self.folder / f"dotnet-diagnostic-{pid}-1237-socket")))
        self.assertEqual(process["executable"], os.readlink("/proc/self/exe"))
        self.assertIn(Path(__file__).name, process["commandLine"])
        line, = [line for line in self.run_weir("ps")[0].splitlines() if line.split()[0] == str(pid)]
        self.assertIn(os.readlink("/proc/self/exe"), line)
        self.assertEqual(select.select([listener], [], [], 0)[0], [])  # nothing was sent

    def test_odd_texts(self):
        """What is no UTF-8 becomes U+FFFD, byte by byte; control characters stay out of the table."""
        odd = b"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80|\xff|\xc3|\xc0\x80|\xe0\x80\x80|\xed\xa0\x80|\xf4\x90\x80\x80|\xf0\x8f\xbf\xbf|\x1b[2J"
        process = subprocess.Popen(["sh", "-c", "read line", odd], env={"TMPDIR": str(self.folder)}, stdin=subprocess.PIPE)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.bind(f"dotnet-diagnostic-{process.pid}-7-socket")
        found, = [found for found in self.own(self.processes()) if found["pid"] == process.pid]
        self.assertEqual(found["commandLine"], "sh -c read line " + odd.decode(errors="replace"))
        line, = [line for line in self.run_weir("ps")[0].splitlines() if line.split()[0] == str(process.pid)]
        self.assertTrue(line.endswith(r"|\u001b[2J"), line)

    def test_other_folder(self):
        """A process whose TMPDIR is another than this one's."""
        process = subprocess.Popen(["sleep", "60"], env={"TMPDIR": f"{self.folder}/", "PATH": os.environ["PATH"]})
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        wait_until(lambda: Path(f"/proc/{process.pid}/comm").read_text(encoding="ascii") == "sleep\n")
        self.bind(f"dotnet-diagnostic-{process.pid}-7-socket")
        elsewhere = tempfile.mkdtemp(dir=self.folder)
        found, = self.own(self.processes(TMPDIR=elsewhere))
        self.assertEqual((found["pid"], found["name"], found["commandLine"]), (process.pid, "sleep", "sleep 60"))

    def test_container(self):
        """A process in another pid namespace has another pid in its socket's name."""
        process = subprocess.Popen(["unshare", "--user", "--map-root-user", "--pid", "--fork", "sleep", "60"], env={**os.environ, "TMPDIR": str(self.folder)},
                                   stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        wait_until(lambda: process.poll() is not None or children.read_text(encoding="ascii"))
        if process.poll() is not None:
            self.skipTest("this machine forbids namespaces")
        inside = int(children.read_text(encoding="ascii"))
        self.addCleanup(os.kill, inside, signal.SIGKILL)
        self.bind("dotnet-diagnostic-1-7-socket")
        found, = [found for found in self.processes(TMPDIR="/") if str(self.folder) in found["socket"]]
        self.assertEqual((found["pid"], found["socket"]), (inside, f"/proc/{inside}/root{self.folder}/dotnet-diagnostic-1-7-socket"))

    @unittest.skipIf(os.geteuid(), "only root can make a socket of somebody else's")
    def test_of_another_user(self):
        name = f"dotnet-diagnostic-{os.getpid()}-7-socket"
        self.bind(name)
        os.chown(self.folder / name, 12345, 12345)
        self.assertEqual(self.own(self.processes()), [])


class Usage(Case):
    def test_usage(self):
        port = ["--port", "port"]
        for arguments, message in (
                ([], "give one of -p"), (["-p", "1", "-n", "x"], "give only one of"), ([*port, "--", "true"], "give only one of"),
                (["true"], "write -- before a command"), ([*port, "true"], "write -- before"), (["-p", "x"], "-p needs a whole number"),
                (["-p", "0"], "-p is from 1 to"), (["--"], "give one of"), ([*port, "--mode", "never"], "--mode is drop or block"),
                ([*port, "--budget", "0"], "--budget is from 1 to"), ([*port, "--budget", "4294967296"], "--budget is from"),
                ([*port, "--rundown", "x"], "--rundown needs"), ([*port, "--rundown", ""], "--rundown needs"),
                ([*port, "--duration", "0"], "--duration needs"), ([*port, "--duration", "1s"], "--duration needs"),
                ([*port, "--duration", "nan"], "--duration needs"), ([*port, "--odd"], "try: weir collect --help"),
                ([*port, "--providers", ""], "has no name"), ([*port, "--providers", "A,,B"], "has no name"),
                ([*port, "--providers", "A:xyz"], 'not "xyz"'), ([*port, "--providers", "A:0x"], "hexadecimal"),
                ([*port, "--providers", "A:1ffffffffffffffff"], "up to 64 bits"), ([*port, "--providers", "A:1:6"], 'not "6"'),
                ([*port, "--providers", "A:1:loud"], 'not "loud"'), ([*port, "--providers", ",".join(["A"] * 1001)], "more than 1000")):
            with self.subTest(arguments=arguments):
                self.assertIn(message, self.run_weir("collect", *arguments, code=2)[1])
        self.assertIn("takes no argument", self.run_weir("ps", "1", code=2)[1])
        self.run_weir("ps", "--odd", code=2)
        for arguments in (["ps", "--help"], ["collect", "--help"], ["help", "collect"]):
            self.assertIn("Exit codes: 0 fine", self.run_weir(*arguments)[0])

    def test_what_no_request_can_hold(self):
        for providers, message in (("A" * 40000, "too long"), (b"A\xff", "not UTF-8"), (b"\xed\xa0\x80", "not UTF-8"), (b"\xc0\x80", "not UTF-8"), (b"A\xe2\x82", "not UTF-8")):
            process = subprocess.run([WEIR, "collect", "--port", "x", "--providers", providers], cwd=self.folder, capture_output=True, check=False)
            self.assertEqual(process.returncode, 1)
            self.assertIn(message, process.stderr.decode())
        self.assertIn("has up to 107 bytes", self.run_weir("collect", "--port", "x" * 108, code=1)[1])
        self.assertEqual(self.files(), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], warnings="ignore")  # silent servers leave their connections open
