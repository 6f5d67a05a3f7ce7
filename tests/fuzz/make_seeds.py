"""Writes seeds: make_seeds.py FOLDER TRACES RECORDINGS HEAP

FOLDER/version6: the blocks of streams of version 6, as fuzz_version6.c reads them.
FOLDER/reader: the fronts of the real traces in TRACES, and streams that hold what those do not.
FOLDER/block, FOLDER/metadata, FOLDER/stacks: the bodies of such blocks in these, as fuzz_body.h reads them.
FOLDER/heap: the .gcdump HEAP, and walks of small heaps as fuzz_heap.c reads them.
FOLDER/client: replies of the Diagnostics IPC protocol after a byte 0, lists of providers after a byte 1.
FOLDER/command: requests that start a session, of each version, and those of RECORDINGS.
FOLDER/conversation: the recorded conversations, and a few in which tools misbehave, as fuzz_conversation.c reads them.
"""

import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "format"))
from heap_build import MODULE, Heap, chain, strings  # noqa: E402
from nettrace_build import I32, LOSS_FIELDS, RAW, STRING, U32, U64, Stream, utf16, varint  # noqa: E402
from nettrace6_build import LOSS6_FIELDS, Stream6, text8  # noqa: E402

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


def enums():
    stream = Stream()
    tick = stream.define("Demo", 1, "Tick", [("n", U32), ("flag", 6)])
    texts = [(name, STRING) for name in ("Field", "Enum", "Values")]
    enum = stream.define("Weir", 5, "Enum", [("Provider", STRING), ("EventId", U32), ("Version", U32), *texts])
    stream.point(1, 1, 7)
    stream.events((enum, 7, 2, "Demo", 1, 0, "n", "Kinds", "0=none;-1=all"), (enum, 7, 3, "Demo", 1, 0, "flag", "bool8", "0=false"))
    stream.events((tick, 1, 4, 0, 1), (tick, 1, 5, 2**32 - 1, 0))
    nodes = stream.define("Demo", 2, "Nodes", [("Count", U32), ("At", [("X", U32), ("Name", STRING)]), ("Values", RAW)])
    stream.events((enum, 7, 6, "Demo", 2, 0, "Values", "raw", ""))
    stream.events((nodes, 1, 7, 1, (2, "x"), b"\1\2\3"))
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


# --- Version 6. ------------------------------------------------------------------------------------------

def every_block():
    stream = Stream6()
    stream.thread(1, 5001, "main")
    stream.thread(1 << 23, None, None)
    loss = stream.define("Weir", 1, "Loss", LOSS6_FIELDS)
    options = b"\1\x0A\3" + bytes(8) + b"\4" + text8("{n}") + b"\5" + text8("d") + b"\6" + text8("k") + text8("v") + b"\7" + bytes(16)
    tick = stream.define("Demo", 2, "Tick", [("n", 20), ("v", 21), ("b", 26)], options + b"\x08\4\x09\1")
    stream.stacks(1, [1, 2], [])
    stream.labels(1, [(1, bytes(16)), (2, bytes(16)), (3, bytes(16)), (4, bytes(8))],
                  [(5, text8("k") + text8("v")), (6, text8("i") + b"\5"), (7, b"\1"), (8, bytes(8)), (9, b"\2"), (10, b"\3")])
    stream.events((tick, 1, 10, b"\5\x80\1\1"), (tick, 1 << 23, 11, b"\5\5\0"), labels=1, stack=1)
    stream.lose(1, 2)
    stream.events((tick, 1, 12, b"\0\0\0"), labels=2, stack=2)
    stream.events((loss, 1 << 23, 13, 1, 1, "FULL", 2))
    stream.remove(1 << 23)
    stream.point(20, 1, flags=2)
    stream.block(99, b"unknown")
    stream.point(21, flags=1)
    return stream.end()


def every_type():
    stream = Stream6()
    stream.thread(1, 5001)
    types = [b"\x13\x17", b"\x16\x17\4\0", b"\x18\x17", b"\x19\x08", b"\1\1\0\3\0\1x\7", b"\x13\1\1\0\4\0\1u\x13\x14", b"\x18\1\1\0\3\0\1x\5"]
    kind = stream.define("Demo", 1, "All", [(chr(ord("a") + i), kind) for i, kind in enumerate(types)])
    payload = b"\2\0hisome\x0F\0\2\0\x1D\0\4\0\xFF\xFF\1\0\1\0\5\4\0\2\0" + b"ok\1\0\2\0\3"
    stream.events((kind, 1, 10, payload), (kind, 1, 11, payload[:-1]))
    header = struct.pack("<HHqq", 20, 0, 12, 12)
    stream.block(2, header + struct.pack("<IIIQQIIqII", 48 + 4, kind, 3, 1, 1, 0, 0, 12, 0, 4) + b"\0\0hi")
    return stream.end()


def blocks(stream):
    """What follows the header and the Trace block."""
    return stream[24 + struct.unpack_from("<I", stream, 20)[0] % 2**24:]


def no_labels():
    """An empty label block, which a window puts off, and an event block for which it is read after all."""
    return struct.pack("<II", 8 << 24, 2 << 24 | 20) + struct.pack("<HHqq", 20, 0, -1, 1)


# --- Bodies of blocks. -----------------------------------------------------------------------------------

V6, LABELS = 1, 2  # bits of the first byte, as in fuzz_body.h


def bodies4(stream):
    """The type and the body of each whole block, by the byte that begins and the one that ends each object."""
    at = stream.index(b"!FastSerialization.1") + 20
    while stream[at: at + 3] == b"\5\5\1":
        length = struct.unpack_from("<i", stream, at + 11)[0]
        kind = stream[at + 15: at + 15 + length].decode()
        at += 16 + length
        size = 48 if kind == "Trace" else struct.unpack_from("<i", stream, at)[0]
        if kind != "Trace":
            at += 4 + -(at + 4) % 4
        yield kind, stream[at: at + size]
        at += size + 1


def bodies6(stream):
    """The number of the kind and the body of each block."""
    at = 20
    while at + 4 <= len(stream):
        head = struct.unpack_from("<I", stream, at)[0]
        size = head % 2**24
        yield head >> 24, stream[at + 4: at + 4 + size]
        at += 4 + size


def bodies(fourth, sixth):
    """By target and name. Of a long trace, the first blocks of each kind."""
    targets = {"EventBlock": ("block", 0), "MetadataBlock": ("metadata", 0), "StackBlock": ("stacks", 0),
               2: ("block", V6), 3: ("metadata", V6), 5: ("stacks", V6), 8: ("stacks", V6 | LABELS)}
    found = {"block": {}, "metadata": {}, "stacks": {}}
    for streams, split in ((fourth, bodies4), (sixth, bodies6)):
        for name, stream in streams.items():
            for i, (kind, body) in enumerate(block for block in split(stream) if block[0] in targets):
                target, flags = targets[kind]
                if i < 20 and len(body) <= 1024:
                    found[target][f"{name}_{i}"] = bytes([flags]) + body
    return found


# --- Requests. -------------------------------------------------------------------------------------------

STOP, COLLECT, PROCESS_INFO, ENVIRONMENT = (2, 1), (2, 2), (4, 0), (4, 2)


def message(command, payload=b""):
    return struct.pack("<14sHBBH", b"DOTNET_IPC_V1", 20 + len(payload), *command, 0) + payload


def text(value):
    return struct.pack("<I", len(utf16(value)) // 2) + utf16(value)


def provider(name, arguments=b"\0\0\0\0"):
    return struct.pack("<QI", 1, 4) + text(name) + arguments


def starts():
    """By name: the six versions of the request, each with all that it can say."""
    demo, buffer = provider("Fuzz"), struct.pack("<II", 16, 1)
    several = struct.pack("<I", 3) + demo + provider("\U0001F600\u20AC", text("key=value;\uD800")) + provider("*")
    filtered = struct.pack("<I", 2) + demo + struct.pack("<BIII", 1, 2, 7, 70000) + provider("B") + b"\0" * 5
    one = struct.pack("<I", 1) + demo
    fifth = b"\0" * 4 + buffer + struct.pack("<Q?", 0x80020139, False) + filtered
    payloads = [buffer + one, buffer + b"\1" + several, buffer + b"\1\0" + one,
                buffer + struct.pack("<Q?", 0, True) + one, fifth, fifth + struct.pack("<I", 1)]
    return {f"collect_{i}": message((COLLECT[0], COLLECT[1] + i - 1), payload) for i, payload in enumerate(payloads, 1)}


# --- Conversations: see fuzz_conversation.c. -------------------------------------------------------------

SEND, SEND_PIECES, SEND_STOP, END, END_OF_SENDING, AWAIT_REPLY, READ, EMIT = range(8)


def act(tool, action, payload=None):
    sent = b"" if payload is None else struct.pack("<H", len(payload)) + payload
    return bytes([tool % 4 | action << 2]) + sent


def recorded(lines):
    """What tools said and waited for, in the order in which it happened; process ids and the like are left out."""
    conversation = b""
    for line in lines:
        number, what, *words = line.split() + [""]
        if what == ">" and words[1:2] and words[1].startswith("S"):
            conversation += act(int(number), SEND_STOP)
        elif what == ">":
            conversation += act(int(number), SEND, bytes.fromhex("".join(words)))
        elif what in ("<", "."):
            conversation += act(int(number), AWAIT_REPLY if what == "<" else END)
    return conversation


def misbehaving(start):
    info = message(PROCESS_INFO)
    yield act(0, SEND_PIECES, start) + act(1, SEND, info[:10]) + act(0, AWAIT_REPLY) + act(0, EMIT) + act(1, SEND, info[10:])
    yield act(0, SEND, start + info) + act(0, END_OF_SENDING) + act(1, SEND, start) + act(0, END) + act(1, AWAIT_REPLY) + act(2, SEND_STOP)
    yield act(0, SEND, start) + act(0, AWAIT_REPLY) + act(1, SEND_STOP) + act(2, SEND_STOP) + act(0, EMIT) + act(1, AWAIT_REPLY) + act(0, READ)
    yield act(0, SEND, message(ENVIRONMENT)) + act(1, SEND, message(STOP)) + act(2, SEND, start[:-1]) + act(2, END_OF_SENDING) + act(2, AWAIT_REPLY)


# --- What `weir heap` reads. ----------------------------------------------------------------------------

def walk(heap, each):
    events = [*heap.collection(each=each), (154, MODULE)]
    return b"".join(struct.pack("<HH", event, len(payload)) + payload for event, payload in events)


def walks():
    heap = chain(5)
    heap.types[24] = "System.Collections.Generic.List`1[System.String]"
    heap.roots += [(32, 2, 2), (48, 5, 1), (64, 3, 8)]
    heap.statics, heap.weaks = [(80, "count"), (16, "cache")], [(32, 64), (64, 16)]
    texts = strings((120, 100, 7, b"x" * 64), (120, 100, 7, b"x" * 64), (32, 3, 1, b"a\0\n"))
    cut = Heap()
    cut.objects = {16: (24, 8, [32, 4096])}
    lost = walk(chain(3), 2).replace(struct.pack("<HH", 2, 10), struct.pack("<HH", 0xFFFF, 0) + struct.pack("<HH", 2, 10))
    return {"chain": walk(heap, 3), "strings": walk(texts, 2), "dangling": walk(cut, 9), "lost": lost}


# --- What the client of `weir collect` reads. ---------------------------------------------------------

def reply(command, payload, rest=b""):
    return b"\0DOTNET_IPC_V1\0" + struct.pack("<HBBH", 20 + len(payload), 0xFF, command, 0) + payload + rest


CLIENT = {
    "started": reply(0, struct.pack("<Q", 0x7F60A8001480), b"Nettrace"), "resumed": reply(0, bytes(4)), "empty": reply(0, b""),
    "refused": reply(0xFF, struct.pack("<I", 0x80131385)), "large": reply(0, bytes(40000)),
    "list": b"\1Demo:0x1:5:a=1;b=2,Other,\xc3\xa9\xf0\x9f\x98\x80::verbose", "quoted": b'\1A:1:0:"a=1,2;""b""",B:::k="1,2",C:::"k;"="1,2"',
}


# --- Files. ----------------------------------------------------------------------------------------------

def write(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)


def main():
    folder, traces, recordings, gcdump = map(pathlib.Path, sys.argv[1:])
    reader = {path.name: path.read_bytes()[:FRONT_BYTES] for path in traces.glob("*.nettrace")}
    reader.update((f"{make.__name__}.nettrace", make()) for make in (losses, enums, arrays, uncompressed))
    sixth = {f"{make.__name__}.nettrace": make() for make in (every_block, every_type)}
    write(folder / "reader", {**reader, **sixth})
    write(folder / "version6", {**{name: blocks(stream) for name, stream in sixth.items()}, "no_labels": no_labels()})
    for target, files in bodies(reader, sixth).items():
        write(folder / target, files)
    write(folder / "heap", {gcdump.name: gcdump.read_bytes(), **walks()})
    requests = starts()
    conversations = {f"misbehaving_{i}": conversation for i, conversation in enumerate(misbehaving(requests["collect_6"]))}
    for path in recordings.glob("*.txt"):
        lines = path.read_text(encoding="utf-8").splitlines()[1:]
        conversations[path.stem] = recorded(lines)
        for i, line in enumerate(line.split(">")[1] for line in lines if " > " in line and "S" not in line):
            sent = bytes.fromhex(line)
            if sent[16] == COLLECT[0]:
                requests[f"{path.stem}_{i}"] = sent
    write(folder / "client", CLIENT)
    write(folder / "command", requests)
    write(folder / "conversation", conversations)


main()
