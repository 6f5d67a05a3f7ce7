"""Builds nettrace V4 streams for tests of the program `weir`."""

import struct

STRING, U32, U64, I32 = 18, 10, 12, 9
RAW = None  # bytes that the definition does not describe


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def utf16(text):
    return text.encode("utf-16-le", "surrogatepass") + b"\0\0"


def value_bytes(kind, value):
    if kind is RAW:
        return value
    if isinstance(kind, list):  # an object
        return b"".join(value_bytes(inner, part) for (_, inner), part in zip(kind, value))
    if kind == STRING:
        return utf16(value)
    return struct.pack({3: "<I", 6: "<B", U32: "<I", U64: "<Q", I32: "<i", 13: "<f", 14: "<d"}[kind], value)


def description(fields):
    """V1 fields: their number, and type and name of each."""
    described = [field for field in fields if field[1] is not RAW]
    out = struct.pack("<i", len(described))
    for name, kind in described:
        out += struct.pack("<i", 1) + description(kind) if isinstance(kind, list) else struct.pack("<i", kind)
        out += utf16(name)
    return out


class Stream:
    def __init__(self):
        self.bytes = bytearray(b"Nettrace" + struct.pack("<i", 20) + b"!FastSerialization.1")
        self._type("Trace", 4)
        self.bytes += struct.pack("<8h", 2026, 1, 4, 15, 12, 30, 45, 500)
        self.bytes += struct.pack("<qqiiii", 0, 1_000_000_000, 8, 4242, 2, 1_000_000) + b"\6"
        self.definitions = {}
        self.sequence = {}

    def _type(self, name, version):
        self.bytes += b"\5\5\1" + struct.pack("<iii", version, version, len(name)) + name.encode() + b"\6"

    def block(self, name, body):
        self._type(name, 2)
        self.bytes += struct.pack("<i", len(body))
        self.bytes += b"\0" * (-len(self.bytes) % 4)
        self.bytes += body + b"\6"

    def define(self, provider, event_id, name, fields, version=0):
        """fields: [(name, type code)]; for an object a list of its fields as type code. Returns the metadata id."""
        number = len(self.definitions) + 1
        self.definitions[number] = fields
        payload = struct.pack("<i", number) + utf16(provider) + struct.pack("<i", event_id) + utf16(name)
        payload += struct.pack("<qii", 1, version, 4) + description(fields)
        blob = b"\xC0" + varint(0) + varint(len(payload)) + payload
        self.block("MetadataBlock", struct.pack("<HHqq", 20, 1, 0, 0) + blob)
        return number

    def events(self, *events):
        """events: (metadata id, capture thread, time, values...); numbers continue per thread, from 2."""
        body = struct.pack("<HHqq", 20, 1, min(e[2] for e in events), max(e[2] for e in events))
        sequence = time = 0
        for metadata, thread, at, *values in events:
            number = self.sequence.get(thread, 1) + 1
            self.sequence[thread] = number
            payload = b"".join(value_bytes(kind, value) for (_, kind), value in zip(self.definitions[metadata], values))
            body += b"\xC7" + varint(metadata) + varint((number - sequence - 1) % 2**32) + varint(thread) + varint(0)
            body += varint(thread) + varint(at - time) + varint(len(payload)) + payload
            sequence, time = number, at
        self.block("EventBlock", body)

    def lose(self, thread, count):
        self.sequence[thread] = self.sequence.get(thread, 1) + count

    def point(self, time, *threads):
        """A sequence point for these threads, with their last numbers; a new thread is introduced with 1."""
        body = struct.pack("<qi", time, len(threads))
        for thread in threads:
            body += struct.pack("<QI", thread, self.sequence.setdefault(thread, 1))
        self.block("SPBlock", body)

    def end(self):
        self.bytes += b"\1"
        return bytes(self.bytes)


LOSS_FIELDS = [("CaptureThread", U64), ("After", U32), ("Cause", STRING), ("Count", U64)]
