"""Traces of heaps, with the events of the .NET runtime, and of Weir for the contents of strings."""

import struct

from nettrace_build import RAW, Stream, utf16

RUNTIME, RUNDOWN = "Microsoft-Windows-DotNETRuntime", "Microsoft-Windows-DotNETRuntimeRundown"
PAYLOAD = [("Values", RAW)]
MODULE = struct.pack("<QQII", 5, 5, 0, 0) + utf16("/lib/mod.lua") + utf16("") + b"\0\0"
THREAD = 3


class Heap:
    """A heap: objects {address: (size, type, [addresses])}, types {id: name}, and roots [(address, kind, flags)]."""

    def __init__(self):
        self.objects, self.types, self.roots, self.statics, self.weaks = {}, {8: "A", 16: "B"}, [], [], []
        self.texts = []  # (address, size, hash, first bytes)

    def events(self, each):
        """(event id, payload) of a walk whose events have `each` elements."""
        yield 15, struct.pack("<IH", len(self.types), 0) + b"".join(
            struct.pack("<QQIIB", number, 5, 0, 0, 18) + utf16(name) + struct.pack("<I", 0) for number, name in self.types.items())
        yield from self.bulk(16, each, [struct.pack("<QBIQ", *root, 0) for root in self.roots])
        yield from self.bulk(17, each, [struct.pack("<QQQ", *weak, 0) for weak in self.weaks])
        if self.statics:
            yield 38, struct.pack("<IQH", len(self.statics), 1, 0) + b"".join(
                struct.pack("<QQQI", 1, address, 8, 0) + utf16(name) for address, name in self.statics)
        yield from self.bulk(18, each, [struct.pack("<QQQQ", a, size, kind, len(to)) for a, (size, kind, to) in self.objects.items()])
        yield from self.bulk(19, each, [struct.pack("<QI", a, 0) for _, _, to in self.objects.values() for a in to])
        yield from self.bulk(65001, each, [struct.pack("<QQQH", *text[:3], len(text[3])) + text[3] for text in self.texts])

    @staticmethod
    def bulk(event, each, elements):
        for index, at in enumerate(range(0, len(elements), each)):
            part = elements[at:at + each]
            yield event, struct.pack("<IIH", index, len(part), 0) + b"".join(part)

    def collection(self, number=1, each=3):
        return [(1, struct.pack("<IIIIHQ", number, 2, 1, 0, 0, 0)), *self.events(each), (2, struct.pack("<IIH", number, 2, 0))]

    def trace(self, each=3, without=(), numbers=(1,), end=True):
        """`without`: (event id, index) of events that were lost."""
        stream = Stream()
        ids = {i: stream.define(RUNTIME, i, "", PAYLOAD) for i in (1, 2, 15, 16, 17, 18, 19, 38, 65001)}
        module = stream.define(RUNDOWN, 154, "", PAYLOAD)
        stream.point(0, THREAD)
        time = 0
        for number in numbers:
            seen = {}
            for event, payload in self.collection(number, each)[:None if end else -1]:
                time += 10
                seen[event] = seen.get(event, -1) + 1
                if (event, seen[event]) in without:
                    stream.lose(THREAD, 1)
                else:
                    stream.events((ids[event], THREAD, time, payload))
        stream.events((module, THREAD, time + 1, MODULE))
        stream.point(time + 2, THREAD)
        return stream.end()


def chain(count=10):
    """0x10 refers to 0x20, and so on, alternately of types A and B; the last one to the first."""
    heap = Heap()
    for i in range(1, count + 1):
        heap.objects[16 * i] = (100 * i, 8 if i % 2 else 16, [16 * (i % count + 1)])
    heap.roots = [(16, 0, 0)]
    return heap


def strings(*texts):
    """Strings of type A: (bytes of the object, length, hash, first bytes)."""
    heap = Heap()
    for i, (size, *text) in enumerate(texts, 1):
        heap.objects[16 * i] = (size, 8, [])
        heap.texts.append((16 * i, *text))
    return heap
