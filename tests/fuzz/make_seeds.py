"""Writes seeds for the reader: make_seeds.py FOLDER TRACES

The fronts of the real traces in TRACES, and streams that hold what those do not.
"""

import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "format"))
from nettrace_build import I32, LOSS_FIELDS, STRING, U32, U64, Stream, utf16, varint  # noqa: E402

FRONT_BYTES = 48 * 1024  # of a long trace: it holds every kind of block


def losses():
    stream = Stream()
    tick = stream.define("Demo", 1, "Tick", [("n", U32), ("s", STRING), ("d", 14)])
    loss = stream.define("Weir", 1, "Loss", LOSS_FIELDS)
    stream.point(10, 1, 2, 7)
    stream.events((tick, 1, 11, 5, "five", 5.5), (tick, 2, 12, 6, "", 0.0))
    stream.lose(1, 3)
    stream.events((tick, 1, 20, 6, "\U0001F600", -1.0))
    stream.events((loss, 7, 30, 1, 2, "FULL", 3))
    stream.point(50, 1, 2, 7)
    return stream.end()


def fields_v2(stream, number, fields):
    """A definition with a V2Params tag; fields are ready-made descriptions after their names."""
    described = b""
    for name, kind in fields:
        body = utf16(name) + kind
        described += struct.pack("<i", len(body) + 4) + body
    tag = struct.pack("<i", len(fields)) + described
    payload = struct.pack("<i", number) + utf16("V2") + struct.pack("<i", 3) + utf16("Arrays")
    payload += struct.pack("<qiiii", 1, 0, 4, 0, 1) + b"\1\x0A" + struct.pack("<i", len(tag)) + b"\2" + tag
    stream.block("MetadataBlock", struct.pack("<HHqq", 20, 1, 0, 0) + b"\xC0" + varint(0) + varint(len(payload)) + payload)


def arrays():
    stream = Stream()
    inner = utf16("x") + struct.pack("<i", I32)
    nested = struct.pack("<iii", 19, 1, 1) + struct.pack("<i", len(inner) + 4) + inner
    fields_v2(stream, 1, [("v", struct.pack("<ii", 19, 6)), ("o", nested), ("s", struct.pack("<ii", 19, STRING))])
    payload = struct.pack("<H3B", 3, 1, 2, 3) + struct.pack("<Hii", 2, -1, 1) + struct.pack("<H", 2) + utf16("a") + utf16("")
    blob = b"\xCF" + varint(1) + varint(0) + varint(5) + varint(0) + varint(5) + varint(1) + varint(9) + varint(len(payload)) + payload
    stream.block("StackBlock", struct.pack("<IIIIqq", 1, 2, 0, 16, 1, 2))
    stream.block("EventBlock", struct.pack("<HHqq", 20, 1, 9, 9) + blob)
    return stream.end()


def uncompressed():
    stream = Stream()
    tick = stream.define("Demo", 1, "Tick", [("n", U64)])
    blob = struct.pack("<IIQQIIq", tick, 1, 5, 5, 0, 0, 9) + b"\0" * 32 + struct.pack("<IQ", 8, 77)
    blob = struct.pack("<I", len(blob)) + blob
    stream.block("EventBlock", struct.pack("<HHqq", 20, 0, 9, 9) + blob + blob)
    return stream.end()


def main():
    folder, traces = map(pathlib.Path, sys.argv[1:])
    folder.mkdir(parents=True, exist_ok=True)
    for path in traces.glob("*.nettrace"):
        (folder / path.name).write_bytes(path.read_bytes()[:FRONT_BYTES])
    for make in (losses, arrays, uncompressed):
        (folder / f"{make.__name__}.nettrace").write_bytes(make())


main()
