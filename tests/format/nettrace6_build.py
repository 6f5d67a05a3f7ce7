"""Builds nettrace V6 streams for tests of the program `weir`."""

import struct

from nettrace_build import STRING, U32, U64, value_bytes, varint

END, TRACE, EVENT, METADATA, POINT, STACK, THREAD, REMOVE_THREAD, LABEL = range(9)


def text8(text):
    encoded = text.encode()
    return varint(len(encoded)) + encoded


def row16(row):
    return struct.pack("<H", len(row)) + row


class Stream6:
    """Times are in nanoseconds, and those of the trace start at 0."""

    def __init__(self, **keys):
        self.bytes = bytearray(b"Nettrace" + struct.pack("<III", 0, 6, 0))
        keys = {"ProcessId": "4242", "HardwareThreadCount": "2", **keys}
        body = struct.pack("<8h", 2026, 1, 4, 15, 12, 30, 45, 500) + struct.pack("<qqii", 0, 1_000_000_000, 8, len(keys))
        self.block(TRACE, body + b"".join(text8(key) + text8(value) for key, value in keys.items()))
        self.definitions = {}
        self.sequence = {}

    def block(self, kind, body):
        self.bytes += struct.pack("<I", len(body) | kind << 24) + body

    def define(self, provider, event_id, name, fields, options=b"\x08\x04"):
        """fields: [(name, type code)], or [(name, bytes of the type)]. Returns the metadata id."""
        number = len(self.definitions) + 1
        self.definitions[number] = fields
        row = varint(number) + text8(provider) + varint(event_id) + text8(name) + struct.pack("<H", len(fields))
        for field, kind in fields:
            row += row16(text8(field) + (kind if isinstance(kind, bytes) else bytes([kind])))
        self.block(METADATA, b"\0\0" + row16(row + row16(options)))
        return number

    def thread(self, index, os_id=None, name=None):
        row = varint(index)
        row += b"" if name is None else b"\1" + text8(name)
        row += b"\2" + varint(4242)
        row += b"" if os_id is None else b"\3" + varint(os_id)
        self.block(THREAD, row16(row))
        self.sequence[index] = 0

    def remove(self, index):
        self.block(REMOVE_THREAD, varint(index) + varint(self.sequence[index]))

    def labels(self, first, *lists):
        """lists: each a list of (kind, bytes)."""
        body = struct.pack("<II", first, len(lists))
        for labels in lists:
            for i, (kind, value) in enumerate(labels):
                body += bytes([kind | (0x80 if i == len(labels) - 1 else 0)]) + value
        self.block(LABEL, body)

    def stacks(self, first, *stacks):
        body = struct.pack("<II", first, len(stacks))
        for addresses in stacks:
            body += struct.pack("<I", 8 * len(addresses)) + struct.pack(f"<{len(addresses)}Q", *addresses)
        self.block(STACK, body)

    def events(self, *events, labels=0, stack=0):
        """events: (metadata id, thread index, time, values or the payload); numbers continue per thread, from 1."""
        body = struct.pack("<HHqq", 20, 1, min(e[2] for e in events), max(e[2] for e in events))
        sequence = time = 0
        for metadata, thread, at, *values in events:
            number = self.sequence[thread] = self.sequence[thread] + 1
            if values and isinstance(values[0], bytes):
                payload = values[0]
            else:
                payload = b"".join(value_bytes(kind, value) for (_, kind), value in zip(self.definitions[metadata], values))
            body += b"\xDF" + varint(metadata) + varint((number - sequence - 1) % 2**32) + varint(thread) + varint(3)
            body += varint(thread) + varint(stack) + varint(at - time) + varint(labels) + varint(len(payload)) + payload
            sequence, time = number, at
        self.block(EVENT, body)

    def lose(self, thread, count):
        self.sequence[thread] += count

    def point(self, time, *threads, flags=0):
        body = struct.pack("<qII", time, flags, len(threads))
        self.block(POINT, body + b"".join(varint(thread) + varint(self.sequence[thread]) for thread in threads))

    def end(self):
        self.block(END, b"")
        return bytes(self.bytes)


LOSS6_FIELDS = [("CaptureThread", U64), ("After", U32), ("Cause", STRING), ("Count", U64)]
