"""The requests of the released tools, as recorded, get the recorded replies. See recordings/README.md."""

import contextlib
import pathlib

import harness
import ipc

RECORDINGS = pathlib.Path(__file__).parent / "recordings"
WITHOUT_BLOCK = ("gcdump-collect", "trace-block")  # recorded with a runtime that has no Block


class Replay:
    """The tool's side of one recording."""

    def __init__(self, case, host, listener):
        self.case, self.host, self.listener = case, host, listener
        self.connections, self.names = {}, {"PID": host.pid.to_bytes(8, "little")}
        self.streams = []

    def close(self):
        for connection in self.connections.values():
            connection.close()

    def bytes_of(self, words):
        return b"".join(self.names.get(word) or bytes.fromhex(word) for word in words)

    def run(self, lines):
        steps = {">": self.request, "<": self.reply, "+": self.advertised, "~": self.stream_begins, ".": self.closed}
        for line in lines:
            words = line.split()
            if words == ["exits"]:
                self.case.assertEqual(self.host.quit(), 0)
            elif words == ["killed"]:
                self.host.process.kill()
            else:
                steps[words[1]](words[0], *words[2:])

    def advertised(self, number, magic, *_):
        self.connections[number], cookie, pid = self.listener.accept()
        self.case.assertEqual(magic, "414456525f563100")
        self.case.assertEqual((cookie, pid), (self.names.setdefault("COOKIE", cookie), self.host.pid))

    def request(self, number, *words):
        if number not in self.connections:
            self.connections[number] = ipc.dial(self.host.path)
        self.connections[number].sendall(self.bytes_of(words))

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

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.runtime = "Microsoft-Windows-DotNETRuntime"
        self.snapshots = []

    def request(self, number, *words):
        super().request(number, *words)
        if self.runtime.encode("utf-16le") in self.bytes_of(words):
            self.snapshots.append(number)

    def stream_begins(self, number):
        if number not in self.snapshots:
            super().stream_begins(number)
            return
        self.case.assertEqual(ipc.receive(self.connections[number], 8), b"Nettrace")
        self.case.assertEqual(self.host.expect("walked"), "1")

    def closed(self, number):
        if number not in self.snapshots:
            super().closed(number)
            return
        rest = ipc.receive_all(self.connections[number])
        if rest:  # otherwise the request was refused
            self.check(harness.Stream(b"Nettrace" + rest))

    def check(self, stream):
        found = {name: [event["fields"] for event in stream.events(self.runtime, name)]
                 for name in ("GCStart", "GCBulkNode", "GCBulkEdge", "GCEnd")}
        self.case.assertEqual([(e["Depth"], e["Reason"], e["Type"]) for e in found["GCStart"]], [(2, 1, 0)])
        self.case.assertEqual([e["Count"] for e in found["GCEnd"]], [found["GCStart"][0]["Count"]])
        self.case.assertEqual(sum(e["Count"] for e in found["GCBulkNode"]), self.NODES)
        self.case.assertEqual(sum(e["Count"] for e in found["GCBulkEdge"]), self.NODES - 1)
        self.case.assertEqual([e["Index"] for e in found["GCBulkNode"]], list(range(len(found["GCBulkNode"]))))
        self.case.assertEqual(stream.lost, 0)


class Recordings(harness.InDirectory):
    """One test for each file, added below."""

    def replay(self, name):
        lines = (RECORDINGS / f"{name}.txt").read_text(encoding="utf-8").splitlines()[1:]
        options = {"default": "Demo:0xff:5", **({"block_ms": 0} if name in WITHOUT_BLOCK else {})}
        if "-launch" not in name:
            with harness.Host(**options) as host, contextlib.closing(Replay(self, host, None)) as tool:
                tool.run(lines)
                return
        listener = ipc.Listener(self.place())
        self.addCleanup(listener.close)
        host = self.host({"DOTNET_DiagnosticPorts": f"{listener.path},suspend,connect"}, wait=1, **options)
        with contextlib.closing(Replay(self, host, listener)) as tool:
            tool.run(lines)
        self.assertEqual(host.expect("resumed"), "ok")


    def replay_with_heap(self, name, **options):
        lines = (RECORDINGS / f"{name}.txt").read_text(encoding="utf-8").splitlines()[1:]
        with (harness.Host(default="Demo:0xff:5", heap=ReplayOfHeap.NODES, **options) as host,
              contextlib.closing(ReplayOfHeap(self, host, None)) as tool):
            tool.run(lines)
            self.assertEqual(len(tool.snapshots), 1 + (name in WITHOUT_BLOCK))

    def test_trace_of_a_host_with_a_heap(self):
        """Which has the provider that dotnet-trace asks for, but none of the events: the default is still what it gets."""
        lines = (RECORDINGS / "trace-collect.txt").read_text(encoding="utf-8").splitlines()[1:]
        with harness.Host(default="Demo:0xff:5", heap=10) as host, contextlib.closing(Replay(self, host, None)) as tool:
            tool.run(lines)

    def test_gcdump_of_a_heap_in_block(self):
        self.replay_with_heap("gcdump-block")

    def test_gcdump_of_a_heap_without_block(self):
        self.replay_with_heap("gcdump-collect", block_ms=0)


for path in RECORDINGS.glob("*.txt"):
    def test(self, name=path.stem):
        self.replay(name)
    setattr(Recordings, f"test_{path.stem.replace('-', '_')}", test)

if __name__ == "__main__":
    harness.main()
