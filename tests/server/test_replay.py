"""The requests of the released tools, as recorded, get the recorded replies. See recordings/README.md."""

import contextlib
import pathlib

import harness
import ipc

RECORDINGS = pathlib.Path(__file__).parent / "recordings"
WITHOUT_BLOCK = ("gcdump-collect", "gcdump-mute2", "trace-block")  # recorded with a runtime that has no Block
HOST_IS_BUSY = ("gcdump-mute2",)  # recorded with a tool that saw nothing of the heap


class Replay:
    """The tool's side of one recording."""

    def __init__(self, case, host, listener):
        self.case, self.host, self.listener = case, host, listener
        self.connections, self.names = {}, {"PID": host.pid.to_bytes(8, "little")}
        self.streams, self.was_resumed = [], False

    def close(self):
        for connection in self.connections.values():
            connection.close()

    def bytes_of(self, words):
        return b"".join(self.names.get(word) or bytes.fromhex(word) for word in words)

    def run(self, lines):
        steps = {">": self.request, "<": self.reply, "!": self.refused, "+": self.advertised, "~": self.stream_begins, ".": self.closed}
        for line in lines:
            words = line.split()
            if words in (["exits"], ["killed"]):
                self.resumed()  # said by a thread of the host's, which may not get to it once the host ends
            if words == ["exits"]:
                self.case.assertEqual(self.host.quit(), 0)
            elif words == ["killed"]:
                self.host.process.kill()
            else:
                steps[words[1]](words[0], *words[2:])

    def resumed(self):
        if self.listener and not self.was_resumed:
            self.case.assertEqual(self.host.expect("resumed"), "ok")
            self.was_resumed = True

    def advertised(self, number, magic, *_):
        self.connections[number], cookie, pid = self.listener.accept()
        self.case.assertEqual(magic, "414456525f563100")
        self.case.assertEqual((cookie, pid), (self.names.setdefault("COOKIE", cookie), self.host.pid))

    def request(self, number, *words):
        if number not in self.connections:
            self.connections[number] = ipc.dial(self.host.path)
        self.connections[number].sendall(self.bytes_of(words))

    def refused(self, *_):
        """The proxy's connection, through which nothing comes."""
        ipc.dial(self.host.path).close()

    def reply(self, number, *words):
        connection = self.connections[number]
        if words == ("INFO3",):
            self.case.assertEqual(ipc.Fields(ipc.read_reply(connection)).take("I"), 1)
            return
        size = int.from_bytes(bytes.fromhex(words[0])[14:16], "little")
        received = ipc.receive(connection, size)
        if words[1:] == (f"S{number}",):  # its own session: now the id is known
            self.names[words[1]] = received[20:]
            self.case.assertNotEqual(received[20:], bytes(8))
        self.case.assertEqual(received.hex(), self.bytes_of(words).hex())

    def stream_begins(self, number):
        start = ipc.receive(self.connections[number], 8)
        self.case.assertEqual(start, b"Nettrace")
        self.streams.append(number)
        self.case.assertEqual(self.host.emit(5), (10, 0))

    def closed(self, number):
        rest = ipc.receive_all(self.connections[number])
        self.connections[number].close()
        if number not in self.streams:
            self.case.assertEqual(rest, b"")
            return
        stream = harness.Stream(b"Nettrace" + rest)
        self.case.assertEqual((stream.demo("Tick", "Word"), stream.lost), (10, 0))


class ReplayOfHeap(Replay):
    """Of a tool that wants a snapshot of the heap, from a host that has one of 3,000 objects."""
    NODES = 3000
    RUNTIME = "Microsoft-Windows-DotNETRuntime"

    def __init__(self, case, host, is_busy):
        super().__init__(case, host, None)
        self.is_busy, self.wanted, self.snapshots = is_busy, set(), 0

    def request(self, number, *words):
        super().request(number, *words)
        if self.RUNTIME.encode("utf-16le") in self.bytes_of(words):
            self.wanted.add(number)

    def stream_begins(self, number):
        if number not in self.wanted:
            super().stream_begins(number)
            return
        self.case.assertEqual(ipc.receive(self.connections[number], 8), b"Nettrace")
        if not self.is_busy:
            self.case.assertEqual(self.host.expect("walked"), "1")

    def closed(self, number):
        if number not in self.wanted:
            super().closed(number)
            return
        rest = ipc.receive_all(self.connections[number])
        if rest:  # otherwise the request was refused
            self.check(harness.Stream(b"Nettrace" + rest))

    def check(self, stream):
        self.snapshots += 1
        found = {name: [event["fields"] for event in stream.events(self.RUNTIME, name)]
                 for name in ("GCStart", "GCBulkNode", "GCBulkEdge", "GCEnd")}
        self.case.assertEqual(stream.lost, 0)
        if self.is_busy:
            self.case.assertEqual(found["GCBulkNode"], [])
            return
        self.case.assertEqual([(e["Depth"], e["Reason"], e["Type"]) for e in found["GCStart"]], [(2, 1, 0)])
        self.case.assertEqual([e["Count"] for e in found["GCEnd"]], [found["GCStart"][0]["Count"]])
        self.case.assertEqual(sum(e["Count"] for e in found["GCBulkNode"]), self.NODES)
        self.case.assertEqual(sum(e["Count"] for e in found["GCBulkEdge"]), self.NODES - 1)
        self.case.assertEqual([e["Index"] for e in found["GCBulkNode"]], list(range(len(found["GCBulkNode"]))))


class Recordings(harness.InDirectory):
    """One test for each file, and one with a heap for each of dotnet-gcdump's; added below."""

    @staticmethod
    def read(name):
        """Its lines, and the options of the host."""
        lines = (RECORDINGS / f"{name}.txt").read_text(encoding="utf-8").splitlines()[1:]
        return lines, {"default": "Demo:0xff:5", **({"block_ms": 0} if name in WITHOUT_BLOCK else {})}

    def replay(self, name):
        lines, options = self.read(name)
        if "-launch" not in name:
            with harness.Host(**options) as host, contextlib.closing(Replay(self, host, None)) as tool:
                tool.run(lines)
                return
        listener = ipc.Listener(self.place())
        self.addCleanup(listener.close)
        host = self.host({"DOTNET_DiagnosticPorts": f"{listener.path},suspend,connect"}, wait=1, **options)
        with contextlib.closing(Replay(self, host, listener)) as tool:
            tool.run(lines)
            tool.resumed()

    def replay_with_heap(self, name):
        lines, options = self.read(name)
        is_busy = name in HOST_IS_BUSY
        with (harness.Host(heap=ReplayOfHeap.NODES, busy=int(is_busy), **options) as host,
              contextlib.closing(ReplayOfHeap(self, host, is_busy)) as tool):
            tool.run(lines)
            self.assertEqual(tool.snapshots, 1)
            self.assertEqual(host.ask("walk", "walked"), "0")  # nobody waits for one any more
            host.none_left()

    def test_trace_of_a_host_with_a_heap(self):
        """Which has the provider that dotnet-trace asks for, but none of the events: the default is still what it gets."""
        lines, options = self.read("trace-collect")
        with harness.Host(heap=10, **options) as host, contextlib.closing(Replay(self, host, None)) as tool:
            tool.run(lines)


def add_test(name, replay):
    setattr(Recordings, f"test_{name.replace('-', '_')}", replay)


for path in RECORDINGS.glob("*.txt"):
    add_test(path.stem, lambda self, name=path.stem: self.replay(name))
    if path.stem.startswith("gcdump-"):
        add_test(f"{path.stem}_of_a_heap", lambda self, name=path.stem: self.replay_with_heap(name))

if __name__ == "__main__":
    harness.main()
