"""A client of the Diagnostics IPC protocol, as .NET's tools are, that can also send what they never would.

A message: magic, u16 size of all, u8 set, u8 id, u16 0, payload. One request on a connection, one reply;
after the reply to a start, the stream.
"""

import contextlib
import os
import re
import socket
import struct
import threading
import time

MAGIC = b"DOTNET_IPC_V1\0"
HEADER = struct.Struct("<14sHBBH")
ADVERTISE = struct.Struct("<8s16sQH")

DUMP, EVENTPIPE, PROFILER, PROCESS = 1, 2, 3, 4
STOP, COLLECT, COLLECT2, COLLECT3, COLLECT4, COLLECT5, COLLECT6 = range(1, 8)
INFO, RESUME, ENVIRONMENT, INFO2, INFO3 = 0, 1, 2, 4, 8
OK, ERROR = 0x00, 0xFF

FAIL, BAD_ENCODING, UNKNOWN_COMMAND, UNKNOWN_MAGIC = 0x80004005, 0x80131384, 0x80131385, 0x80131386

RUNDOWN = 0x80020139  # what a bool that asks for rundown means
DROP, BLOCK = 0, 1
SECONDS = 20  # nothing takes so long, on a busy machine either


# --- Messages. ---------------------------------------------------------------------------------------------

def message(set_, id_, payload=b"", size=None, magic=MAGIC):
    return HEADER.pack(magic, HEADER.size + len(payload) if size is None else size, set_, id_, 0) + payload


def string(text):
    units = (text + "\0").encode("utf-16-le")
    return struct.pack("<I", len(units) // 2) + units


def provider(name="Demo", keywords=0xFF, level=5, arguments=""):
    return struct.pack("<QI", keywords, level) + string(name) + string(arguments)


def event_filter(ids=(), enable=False):
    return struct.pack("<BI", enable, len(ids)) + b"".join(struct.pack("<I", id_) for id_ in ids)


def array(elements):
    return struct.pack("<I", len(elements)) + b"".join(elements)


def collect(id_=COLLECT2, *, megabytes=16, format_=1, rundown=0, providers=None, filters=None, mode=DROP,
            session_type=0):
    """The payload of one of the six requests that start a session; `rundown` is keywords."""
    providers = [provider()] if providers is None else providers
    payload = struct.pack("<I", session_type) if id_ >= COLLECT5 else b""
    payload += struct.pack("<II", megabytes, format_)
    if id_ >= COLLECT4:
        payload += struct.pack("<Q", rundown)
    elif id_ >= COLLECT2:
        payload += struct.pack("<B", rundown != 0)
    if id_ >= COLLECT3:
        payload += b"\1"  # stacks
    if id_ >= COLLECT5:
        filters = [event_filter()] * len(providers) if filters is None else filters
        providers = [a + b for a, b in zip(providers, filters)]
    payload += array(providers)
    return payload + struct.pack("<I", mode) if id_ >= COLLECT6 else payload


class Refused(Exception):
    def __init__(self, code):
        super().__init__(f"0x{code:08X}")
        self.code = code


class Fields:
    """Reads a payload from its start."""

    def __init__(self, payload):
        self.rest = payload

    def take(self, layout):
        size = struct.calcsize("<" + layout)
        values, self.rest = struct.unpack("<" + layout, self.rest[:size]), self.rest[size:]
        return values[0]

    def string(self):
        units = self.take("I")
        text, self.rest = self.rest[:units * 2].decode("utf-16-le"), self.rest[units * 2:]
        assert text.endswith("\0"), text
        return text[:-1]

    def strings(self):
        return [self.string() for _ in range(self.take("I"))]


# --- Connections. ------------------------------------------------------------------------------------------

def find(directory, pid):
    """The socket that the tools use for a process, or None."""
    names = [n for n in os.listdir(directory) if re.fullmatch(rf"dotnet-diagnostic-{pid}-(\d+)-socket", n)]
    paths = [os.path.join(directory, name) for name in names]
    return max(paths, key=lambda path: os.stat(path, follow_symlinks=False).st_mtime_ns, default=None)


def dial(path):
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(SECONDS)
    try:
        connection.connect(path)
    except BaseException:
        connection.close()
        raise
    return connection


def receive(connection, size):
    """Up to so many bytes; fewer only at the end."""
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            break
        data += part
    return data


def receive_all(connection):
    parts = []
    try:
        while part := connection.recv(1 << 16):
            parts.append(part)
    except ConnectionResetError:  # it has closed with bytes of ours unread
        pass
    return b"".join(parts)


def read_reply(connection):
    """The id and the payload of a reply, exactly as long as its header says."""
    header = receive(connection, HEADER.size)
    magic, size, set_, id_, reserved = HEADER.unpack(header)
    assert (magic, set_, reserved) == (MAGIC, 0xFF, 0), header
    payload = receive(connection, size - HEADER.size)
    assert len(payload) == size - HEADER.size, (size, payload)
    if id_ == ERROR:
        assert size == 24, size
        raise Refused(struct.unpack("<I", payload)[0])
    assert id_ == OK, id_
    return payload


def ask(connection, set_, id_, payload=b""):
    """The reply's payload and what follows until the server closes. `connection` may be a path."""
    if isinstance(connection, str):
        connection = dial(connection)
    with connection:
        connection.sendall(message(set_, id_, payload))
        return read_reply(connection), receive_all(connection)


def send_raw(path, data, half_close=False):
    """All that comes back for any bytes."""
    with dial(path) as connection:
        try:
            connection.sendall(data)
            if half_close:
                connection.shutdown(socket.SHUT_WR)
        except (BrokenPipeError, ConnectionResetError):  # it has answered before it had read all
            pass
        return receive_all(connection)


def code_of(reply):
    """The code of an error reply, which must be exactly that."""
    magic, size, set_, id_, reserved, code = struct.unpack("<14sHBBHI", reply)
    assert (magic, size, set_, id_, reserved) == (MAGIC, 24, 0xFF, 0xFF, 0), reply
    return code


# --- Requests. ---------------------------------------------------------------------------------------------

def resume(connection):
    return ask(connection, PROCESS, RESUME)


def info(connection, id_=INFO3):
    payload, rest = ask(connection, PROCESS, id_)
    assert not rest
    fields, found = Fields(payload), {}
    if id_ == INFO3:
        found["layout"] = fields.take("I")
    found.update(pid=fields.take("Q"), cookie=fields.take("16s"), command_line=fields.string(), os=fields.string(),
                 arch=fields.string())
    if id_ != INFO:
        found.update(entrypoint=fields.string(), version=fields.string())
    if id_ == INFO3:
        found["rid"] = fields.string()
    assert not fields.rest, fields.rest
    return found


def environment(connection):
    payload, rest = ask(connection, PROCESS, ENVIRONMENT)
    size, zero = struct.unpack("<IH", payload)
    assert (size, zero) == (len(rest), 0), (size, zero, len(rest))
    fields = Fields(rest)
    found = fields.strings()
    assert not fields.rest
    return dict(entry.split("=", 1) for entry in found)


def stop(connection, session):
    payload, rest = ask(connection, EVENTPIPE, STOP, struct.pack("<Q", session))
    assert (payload, rest) == (struct.pack("<Q", session), b"")


class Trace:
    """A session. Reads its stream on a thread, unless it is told not to."""

    def __init__(self, connection, id_=COLLECT2, reads=True, **more):
        self.connection = dial(connection) if isinstance(connection, str) else connection
        self.parts, self.thread = [], None
        try:
            self.connection.sendall(message(EVENTPIPE, id_, collect(id_, **more)))
            self.session = struct.unpack("<Q", read_reply(self.connection))[0]
        except BaseException:
            self.connection.close()
            raise
        self.connection.settimeout(None)
        if reads:
            self.read()

    def read(self):
        self.thread = threading.Thread(target=self.read_all, daemon=True)
        self.thread.start()

    def read_all(self):
        try:
            while part := self.connection.recv(1 << 18):
                self.parts.append(part)
        except OSError:
            pass

    @property
    def so_far(self):
        return b"".join(self.parts)

    def end(self):
        """All of the stream, once the server has closed it."""
        if not self.thread:
            self.read()
        self.thread.join(SECONDS)
        is_whole = not self.thread.is_alive()
        self.leave()
        assert is_whole, "the server has not closed the stream"
        return self.so_far

    def stop(self, connection):
        """As the tools do it: over another connection, while the stream is read."""
        if not self.thread:
            self.read()
        stop(connection, self.session)
        return self.end()

    def leave(self):
        """Without a word. A shutdown first: the thread that reads would keep the socket open."""
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
        if self.thread:
            self.thread.join(SECONDS)
        self.connection.close()


# --- Ports that the process dials. -------------------------------------------------------------------------

class Listener:
    """A tool that waits for processes."""

    def __init__(self, path):
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(path)
        self.socket.listen(64)
        self.socket.settimeout(SECONDS)

    def accept(self, seconds=SECONDS):
        """A connection, the cookie and the pid of its process. The tools allow 0.25 s for them."""
        self.socket.settimeout(seconds)
        connection, _ = self.socket.accept()
        connection.settimeout(0.25)
        magic, cookie, pid, zero = ADVERTISE.unpack(receive(connection, ADVERTISE.size))
        assert (magic, zero) == (b"ADVR_V1\0", 0), magic
        connection.settimeout(SECONDS)
        return connection, cookie, pid

    def close(self):
        self.socket.close()
        if os.path.exists(self.path):
            os.unlink(self.path)


# --- Waiting. ----------------------------------------------------------------------------------------------

def until(condition, seconds=SECONDS, what="it"):
    """Waits until the condition holds; how long that took."""
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < seconds, f"{what}: not within {seconds} s"
        time.sleep(0.005)
    return time.monotonic() - start
