"""Each case of the table of errors has its code, as an error of 24 bytes, and leaves the server as it was."""

import struct
import unittest
from random import Random

import harness
import ipc
from ipc import (BAD_ENCODING, COLLECT, COLLECT2, COLLECT3, COLLECT4, COLLECT5, COLLECT6, DUMP, EVENTPIPE, FAIL, PROCESS,
                 PROFILER, STOP, UNKNOWN_COMMAND, UNKNOWN_MAGIC, collect, message, provider)

VERSIONS = (COLLECT, COLLECT2, COLLECT3, COLLECT4, COLLECT5, COLLECT6)


def start(id_=COLLECT2, **more):
    return message(EVENTPIPE, id_, collect(id_, **more))


def start_provider(data, **more):
    return start(providers=[data], **more)


def raw_string(count, units=b""):
    return struct.pack("<I", count) + units


DEMO = "Demo\0".encode("utf-16-le")
HEAD = struct.pack("<QI", 1, 4)
NONE = ipc.string("")

# name, code, request
TABLE = [
    ("another_magic", UNKNOWN_MAGIC, message(PROCESS, 0, magic=b"DOTNET_IPC_V2\0")),
    ("magic_of_another_protocol", UNKNOWN_MAGIC, b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"),
    ("set_0", UNKNOWN_COMMAND, message(0, 1)),
    ("set_5", UNKNOWN_COMMAND, message(5, 1)),
    ("set_of_replies", UNKNOWN_COMMAND, message(0xFF, 0)),
    ("eventpipe_0", UNKNOWN_COMMAND, message(EVENTPIPE, 0)),
    ("eventpipe_8", UNKNOWN_COMMAND, message(EVENTPIPE, 8)),
    ("process_9", UNKNOWN_COMMAND, message(PROCESS, 9)),
    ("dump", UNKNOWN_COMMAND, message(DUMP, 1, ipc.string("/tmp/core") + struct.pack("<II", 1, 0))),
    ("dump_2", UNKNOWN_COMMAND, message(DUMP, 2)),
    ("dump_3", UNKNOWN_COMMAND, message(DUMP, 3)),
    ("attach_profiler", UNKNOWN_COMMAND, message(PROFILER, 1, bytes(20) + ipc.string("p.so") + bytes(4))),
    ("startup_profiler", UNKNOWN_COMMAND, message(PROFILER, 2, bytes(16) + ipc.string("p.so"))),
    ("set_environment_variable", UNKNOWN_COMMAND, message(PROCESS, 3, ipc.string("A") + ipc.string("1"))),
    ("perf_map", UNKNOWN_COMMAND, message(PROCESS, 5, struct.pack("<I", 1))),
    ("no_perf_map", UNKNOWN_COMMAND, message(PROCESS, 6)),
    ("startup_hook", UNKNOWN_COMMAND, message(PROCESS, 7, ipc.string("hook.dll"))),
    ("size_0", BAD_ENCODING, message(PROCESS, 0, size=0)),
    ("size_19", BAD_ENCODING, message(PROCESS, 0, size=19)),
    ("size_larger_than_what_comes", BAD_ENCODING, message(EVENTPIPE, COLLECT2, collect(), size=200)),
    ("size_65535_and_little_comes", BAD_ENCODING, message(EVENTPIPE, COLLECT2, collect(), size=65535)),
    ("header_is_cut", BAD_ENCODING, message(PROCESS, 0)[:19]),
    ("string_longer_than_the_rest", BAD_ENCODING, start_provider(HEAD + raw_string(6, DEMO))),
    ("string_of_4_gigabytes", BAD_ENCODING, start_provider(HEAD + raw_string(0xFFFFFFFF, DEMO))),
    ("string_whose_bytes_overflow", BAD_ENCODING, start_provider(HEAD + raw_string(0x80000005, DEMO) + NONE)),
    ("string_of_half_units", BAD_ENCODING, start_provider(HEAD + ipc.string("Demo") + raw_string(2, b"a\0\0"))),
    ("string_without_end", BAD_ENCODING, start_provider(HEAD + raw_string(4, DEMO[:8]) + NONE)),
    ("arguments_without_end", BAD_ENCODING, start_provider(HEAD + ipc.string("Demo") + raw_string(1, b"a\0"))),
    ("no_providers", BAD_ENCODING, start(providers=[])),
    ("providers_1001", BAD_ENCODING, start(providers=[provider("D")] * 1001)),
    ("providers_4_billion", BAD_ENCODING, message(EVENTPIPE, COLLECT2, struct.pack("<IIBI", 1, 1, 0, 0xFFFFFFFF) + provider())),
    ("empty_name", BAD_ENCODING, start(providers=[provider("")])),
    ("absent_name", BAD_ENCODING, start_provider(HEAD + raw_string(0) + NONE)),
    ("level_6", BAD_ENCODING, start(providers=[provider(level=6)])),
    ("level_of_the_second_provider", BAD_ENCODING, start(providers=[provider(), provider("Other", level=6)])),
    ("no_buffer", BAD_ENCODING, start(megabytes=0)),
    ("format_2", BAD_ENCODING, start(format_=2)),
    ("session_type_2", BAD_ENCODING, start(COLLECT6, session_type=2)),
    ("mode_2", BAD_ENCODING, start(COLLECT6, mode=2)),
    ("filter_longer_than_the_rest", BAD_ENCODING, start(COLLECT5, filters=[struct.pack("<BII", 1, 2, 7)])),
    ("filter_of_4_billion", BAD_ENCODING, start(COLLECT5, filters=[struct.pack("<BII", 1, 0xFFFFFFFF, 7)])),
    ("no_id", BAD_ENCODING, message(EVENTPIPE, STOP)),
    ("half_an_id", BAD_ENCODING, message(EVENTPIPE, STOP, bytes(4))),
    ("unknown_id", FAIL, message(EVENTPIPE, STOP, struct.pack("<Q", 0x123456789ABC))),
    ("id_0", FAIL, message(EVENTPIPE, STOP, bytes(8))),
    ("id_of_all_ones", FAIL, message(EVENTPIPE, STOP, b"\xFF" * 8)),
    ("netperf", FAIL, start(format_=0)),
    ("user_events", FAIL, message(EVENTPIPE, COLLECT6, struct.pack("<IQI", 1, 0, 1) + provider() + ipc.event_filter() +
                                  ipc.string("point") + struct.pack("<I", 0))),
]


class Table(unittest.TestCase):
    """One test for each row, added below; all ask the same server."""

    @classmethod
    def setUpClass(cls):
        cls.host = harness.Host()
        cls.addClassCleanup(cls.host.close)

    def tearDown(self):
        self.assertEqual(ipc.info(self.host.path)["pid"], self.host.pid)
        self.assertEqual((self.host.status.sessions, self.host.complaints), (0, []))

    def refused(self, code, data):
        self.assertEqual(f"{ipc.code_of(ipc.send_raw(self.host.path, data, half_close=True)):#x}", f"{code:#x}")

    def test_each_cut(self):
        """A message that ends before its payload does, with the size that it has."""
        for id_ in VERSIONS:
            whole = collect(id_, filters=[ipc.event_filter([1, 2])])
            for cut in range(len(whole)):
                with self.subTest(id=id_, cut=cut):
                    self.refused(BAD_ENCODING, message(EVENTPIPE, id_, whole[:cut]))

    def test_mutants(self):
        """Valid requests of which some bytes are others: any answer will do."""
        random = Random(1)
        whole = [start(id_, filters=[ipc.event_filter([1, 2])]) for id_ in VERSIONS]
        whole += [message(PROCESS, id_) for id_ in range(9)] + [message(EVENTPIPE, STOP, bytes(8))]
        for _ in range(500):
            data = bytearray(random.choice(whole))
            for _ in range(random.randint(1, 4)):
                data[random.randrange(14, len(data))] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))
            with ipc.dial(self.host.path) as connection:
                connection.sendall(data)
                connection.shutdown(ipc.socket.SHUT_WR)
                ipc.receive(connection, 24)
        self.host.none_left()

    def test_stop_again(self):
        """Of a session that has ended."""
        trace = ipc.Trace(self.host.path)
        trace.stop(self.host.path)
        ipc.stop(self.host.path, trace.session)


for name, code, request in TABLE:
    def test(self, code=code, request=request):
        self.refused(code, request)
    setattr(Table, f"test_{name}", test)


class Accepted(unittest.TestCase):
    """At the edge of the table."""

    @classmethod
    def setUpClass(cls):
        cls.host = harness.Host()
        cls.addClassCleanup(cls.host.close)

    def traced(self, id_=COLLECT2, **more):
        trace = ipc.Trace(self.host.path, id_, **more)
        self.host.emit(3)
        return harness.Stream(trace.stop(self.host.path))

    def test_thousand_providers(self):
        stream = self.traced(providers=[provider(), *(provider("D") for _ in range(999))])
        self.assertEqual(stream.demo("Tick"), 3)

    def test_absent_arguments(self):
        """Count 0, which the specification allows and no tool sends."""
        self.assertEqual(self.traced(providers=[HEAD + ipc.string("Demo") + raw_string(0)]).demo("Tick"), 3)

    def test_bytes_after_the_payload(self):
        for id_ in VERSIONS:
            data = message(EVENTPIPE, id_, collect(id_) + b"more")
            with self.subTest(id=id_), ipc.dial(self.host.path) as connection:
                connection.sendall(data)
                self.assertEqual(len(ipc.read_reply(connection)), 8)
        self.host.none_left()

    def test_message_of_65535(self):
        payload = collect(providers=[provider()])
        with ipc.dial(self.host.path) as connection:
            connection.sendall(message(EVENTPIPE, COLLECT2, payload + bytes(65535 - 20 - len(payload))))
            self.assertEqual(len(ipc.read_reply(connection)), 8)
        self.host.none_left()

    def test_byte_by_byte(self):
        with ipc.dial(self.host.path) as connection:
            for byte in message(PROCESS, ipc.INFO3):
                connection.sendall(bytes([byte]))
            self.assertEqual(ipc.Fields(ipc.read_reply(connection)).take("I"), 1)

    def test_second_request(self):
        """On one connection: it is not answered."""
        reply = ipc.send_raw(self.host.path, message(PROCESS, ipc.RESUME) * 2)
        self.assertEqual(reply, message(0xFF, ipc.OK, bytes(4)))

    def test_silent_visitor(self):
        """Tools connect and close to see whether somebody is there."""
        for _ in range(50):
            ipc.dial(self.host.path).close()
        self.host.none_left()
        self.assertEqual(self.host.complaints, [])


class Limits(unittest.TestCase):
    def test_block_is_off(self):
        with harness.Host(block_ms=0) as host:
            reply = ipc.send_raw(host.path, start(COLLECT6, mode=ipc.BLOCK))
            self.assertEqual(ipc.code_of(reply), UNKNOWN_COMMAND)
            ipc.Trace(host.path, COLLECT6, mode=ipc.DROP).stop(host.path)

    def test_sessions_max(self):
        with harness.Host(sessions=2) as host:
            traces = [ipc.Trace(host.path) for _ in range(2)]
            self.assertEqual(ipc.code_of(ipc.send_raw(host.path, start())), FAIL)
            traces.pop().stop(host.path)
            ipc.until(lambda: host.status.sessions < 2)
            traces.append(ipc.Trace(host.path))
            for trace in traces:
                trace.stop(host.path)

    def test_connections_max(self):
        """The next one waits, or is refused; it is served once there is room."""
        with harness.Host(connections=4, sessions=3) as host:
            silent = [ipc.dial(host.path) for _ in range(4)]
            ipc.until(lambda: host.status.connections == 4)
            late = ipc.dial(host.path)
            silent.pop().close()
            for connection in silent:
                connection.close()
            late.close()
            host.none_left()
            self.assertEqual(ipc.info(host.path)["pid"], host.pid)

    def test_stop_beside_all_sessions(self):
        """There is always a connection for it."""
        with harness.Host(connections=3, sessions=2) as host:
            traces = [ipc.Trace(host.path) for _ in range(2)]
            for trace in traces:
                harness.Stream(trace.stop(host.path))
        with harness.Host(connections=2, sessions=2) as host:
            self.assertRegex(host.ready, "^bad argument: connections_max is 2; it must be from 3 to 1024")

    def test_request_ms_max(self):
        """A client that says nothing, or only half, is let go."""
        with harness.Host(request_ms=200) as host:
            with ipc.dial(host.path) as silent, ipc.dial(host.path) as half:
                half.sendall(message(PROCESS, ipc.INFO)[:10])
                ipc.receive_all(silent)
                ipc.receive_all(half)
            host.none_left()


if __name__ == "__main__":
    harness.main()
