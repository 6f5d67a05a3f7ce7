"""Checks .NET's tools on living processes: hosts with a diagnostics server, traced by dotnet-trace and by a program on the
NETCore.Client library."""

import collections
import errno
import json
import os
import pathlib
import re
import select
import signal
import subprocess
import tempfile
import time

from readers import FOLDER, Failed, call, tail

SECONDS = 60  # for what takes a moment; only a failure takes so long
DEFAULT_RUNDOWN = "80020139"


def until(what, test):
    deadline = time.monotonic() + SECONDS
    while not (result := test()):
        if time.monotonic() > deadline:
            raise Failed(f"{what}: not within {SECONDS} s")
        time.sleep(0.01)
    return result


class Process:
    """A program whose output is read line by line. It is killed at the end of a with statement."""

    def __init__(self, command, env):
        self.name = pathlib.Path(command[0]).name
        self.output, self.rest = "", ""
        self.process = subprocess.Popen([str(c) for c in command], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT)
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with self.process:
            self.process.kill()

    def expect(self, pattern):
        """Reads until a line that begins with the pattern; returns its match."""
        deadline = time.monotonic() + SECONDS
        while not (match := re.search(rf"^{pattern}.*\n", self.rest, re.MULTILINE)):
            readable, _, _ = select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))
            if not readable or not self.read():
                raise Failed(f"{self.name} does not say '{pattern}', but:\n    {self.output[-1000:]}")
        self.rest = self.rest[match.end():]
        return match

    def read(self):
        text = os.read(self.process.stdout.fileno(), 65536).decode(errors="replace")
        self.output += text
        self.rest += text
        return text

    def ask(self, line, pattern):
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()
        return self.expect(pattern)

    def send(self, number):
        self.process.send_signal(number)

    def end(self, number=None):
        """Sends the signal, and reads the output to its end. Returns the exit status."""
        if number:
            self.send(number)
        deadline = time.monotonic() + SECONDS
        while select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))[0]:
            if not self.read():
                return self.process.wait()
        raise Failed(f"{self.name} does not end:\n    {self.output[-1000:]}")


class ServerHost(Process):
    """tests/server/host.c."""

    def status(self, name):
        return int(self.ask("status", rf"status .*\b{name}=(\d+)")[1])

    def flood(self, threads, events):
        self.ask(f"flood {threads} {events}", "flooding")

    def flooded(self, command="join"):
        """Waits for the threads: (events written, events refused)."""
        return tuple(map(int, self.ask(command, r"flooded (\d+) (\d+)").groups()))

    def rundowns(self):
        return re.findall(r"^rundown (\w+)", self.output, re.MULTILINE)


Received = collections.namedtuple("Received", "events lost summary")


class Place:
    """A folder with a host's socket and the traces of its tools."""

    def __init__(self, readers, args, folder):
        self.readers, self.args, self.folder = readers, args, pathlib.Path(folder)
        plain = {n: v for n, v in os.environ.items() if not n.startswith(("WEIR_", "DOTNET_"))}
        self.env = {**plain, "TMPDIR": folder}
        self.tool_env = {**readers.env, "TMPDIR": folder}
        del self.tool_env["DOTNET_EnableDiagnostics"]  # what the tool launches would have no server
        self.file = self.folder / "trace.nettrace"

    def lua(self):
        return Process([self.args.lua_host.resolve(), "--diagnostics", FOLDER / "chunks.lua"], self.env)

    def host(self, *options):
        host = ServerHost([self.args.server_host.resolve(), *options], {**self.env, "WEIR_INTEROP": "as it was set"})
        host.expect("ready ok")
        return host

    def collect(self, *arguments):
        """dotnet-trace collect, running. Without a session it does not say where its output goes."""
        self.file.unlink(missing_ok=True)
        tool = Process([self.readers.trace_tool, "collect", "-o", self.file, *arguments], self.tool_env)
        tool.expect("Output File")
        return tool

    def stat(self):
        """(exit status, number of Ticks) by our own reader, which also reads a file that is not whole."""
        done = call([self.args.weir.resolve(), "stat", "--json", self.file], SECONDS)
        events = json.loads(done.stdout)["events"] if done.stdout else []
        return done.returncode, sum(event["count"] for event in events if event["name"] == "Tick")

    def received(self, name=None, payloads=0):
        """A whole file, as TraceEvent sees it. Our own reader finds nothing wrong, and the same losses."""
        file = self.folder / name if name else self.file
        summary = self.readers.summary(file, payloads)
        check = call([self.args.weir.resolve(), "check", file], SECONDS)
        if check.returncode != (3 if summary["events_lost"] else 0) or f"lost {summary['events_lost']}\n" not in check.stdout:
            raise Failed(f"weir check ends with {check.returncode}, TraceEvent has {summary['events_lost']} lost: {tail(check)}")
        events = collections.Counter()
        for row in summary["counts"]:
            events[f"{row['provider']}/{row['event_name']}"] += row["count"]
        return Received(events, summary["events_lost"], summary)


def fields(received, event):
    """Those of each event of this name, up to the number of payloads asked for."""
    return [{f["name"]: f["value"] for f in e["fields"]} for e in received.summary["payloads"] if e["event_name"] == event]


def same(what, got, want):
    if got != want:
        raise Failed(f"{what}: {got}, expected {want}")


def ended(tool, number=None):
    """The tool ends without an error."""
    status = tool.end(number)
    if status or re.search("error|exception|retrying", tool.output, re.IGNORECASE):
        raise Failed(f"dotnet-trace ends with {status}:\n    {tool.output[-1000:]}")


# ---------------------------------------------------------------------------------------------------------
# lua-host

def check_ps(place):
    with place.lua() as host:
        until("socket", lambda: list(place.folder.glob(f"dotnet-diagnostic-{host.pid}-*-socket")))
        done = call([place.readers.trace_tool, "ps"], SECONDS, env=place.tool_env)
    lines = [line.split() for line in done.stdout.splitlines() if line.split()[:1] == [str(host.pid)]]
    program = place.args.lua_host.resolve()
    same("lines of ps", lines, [[str(host.pid), "lua-host", str(program), "--diagnostics", str(FOLDER / "chunks.lua")]])
    return " ".join(lines[0][1:4])


def check_duration(place, *options):
    """Ends by itself. Without --providers the tool asks for those of .NET, and gets the host's."""
    duration = "00:00:03" if place.args.long else "00:00:01"
    with place.lua() as host, place.collect("-p", host.pid, "--duration", duration, *options) as tool:
        host.ask(1000, "loaded 1000")
        ended(tool)
    events = place.received().events
    same("ChunkLoad", events["Lua/ChunkLoad"], 1000)
    return f"{events.total()} events"


def check_launch(place):
    """From the first event on, in as much memory as there may be. The tool ends with the host's exit status."""
    command = [str(place.args.lua_host.resolve()), str(FOLDER / "chunks.lua"), "7"]
    with place.collect("--providers", "Lua:0x3f:5", "--buffersize", "1000", "--", *command) as tool:
        same("exit status", tool.end(), 7)
    received = place.received(payloads=2)
    same("sessions", fields(received, "Session"), [{"Mode": "drop", "BudgetBytes": 256 << 20, "RequestedBytes": 1000 << 20}])
    same("processes", [process["CommandLine"] for process in fields(received, "ProcessInfo")], [" ".join(command)])
    same("chunks", [chunk["Name"] for chunk in fields(received, "ChunkLoad")], [str(FOLDER / "chunks.lua"), "chunk"])
    return f"{received.events.total()} events"


def check_convert(place):
    """There are no samples of stacks, so the profile is empty, but the tool reads all of the file."""
    with place.lua() as host, place.collect("-p", host.pid, "--providers", "Lua:0x3f:5") as tool:
        host.ask(1000, "loaded 1000")
        ended(tool, signal.SIGINT)
    done = place.readers.trace("convert", place.file, "--format", "Speedscope")
    if done.returncode or "Conversion complete" not in done.stdout:
        raise Failed(tail(done))
    profile = json.loads(place.file.with_suffix(".speedscope.json").read_text(encoding="utf-8-sig"))
    same("profiles", profile["profiles"], [])
    return "no samples: shows only that the tool read the file to its end"


def check_readme(place):
    """The commands of the README, as written, in a folder that looks like a checkout."""
    text = (FOLDER.parents[1] / "README.md").read_text(encoding="utf-8")
    commands = re.search(r"## Trace it with dotnet-trace\n.*?```sh\n(.*?)```", text, re.DOTALL)[1]
    (place.folder / "build/release").mkdir(parents=True)
    (place.folder / "build/release/bin").symlink_to(place.args.lua_host.resolve().parent)
    script = 'repeat load("return 1") os.execute("sleep 0.01") until os.getenv("DOTNET_DiagnosticPorts")\n'
    (place.folder / "script.lua").write_text(script, encoding="utf-8")
    env = {**place.tool_env, "PATH": f"{place.readers.trace_tool.parent}:{os.environ['PATH']}"}
    with open(place.folder / "output", "w+", encoding="utf-8") as output:
        shell = subprocess.Popen(["sh", "-ec", commands], cwd=place.folder, env=env, stdin=subprocess.DEVNULL, stdout=output,
                                 stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status = until("end of the commands", lambda: (shell.poll(),) if shell.poll() is not None else None)[0]
        finally:
            os.killpg(shell.pid, signal.SIGKILL)  # the host in the background, too
            shell.wait()
        output.seek(0)
        if status:
            raise Failed(f"exit status {status}:\n    {output.read()[-1000:]}")
    files = sorted(place.folder.glob("*.nettrace"))
    same("files", [f.name for f in files], sorted(set(re.findall(r"\w+\.nettrace", commands))))
    for file in files:
        if not place.received(file.name).events["Lua/ChunkLoad"]:
            raise Failed(f"{file.name} has no ChunkLoad")
    return f"{len(commands.splitlines())} lines, {len(files)} traces"


# ---------------------------------------------------------------------------------------------------------
# The host of tests/server, which counts its events itself

def check_rundown(place, want, *options):
    """Which rundown the tool asks for is the host's to see; Ctrl-C ends the trace."""
    with place.host("default=Demo:1:4") as host, place.collect("-p", host.pid, *options) as tool:
        same("emitted", host.ask("emit 1000", r"emitted (\d+)")[1], "1000")
        ended(tool, signal.SIGINT)
        until("end of the session", lambda: not host.status("sessions"))
        same("rundowns", host.rundowns(), want)
    events = place.received().events
    same("Tick, State", (events["Demo/Tick"], events["Demo/State"]), (1000, len(want)))
    return f"rundown {want}"


def check_block_refused(place):
    """A host that does not allow Block: the tool says what it says of a runtime that lacks it."""
    with place.host("block_ms=0") as host:
        done = call([place.readers.trace_tool, "collect", "-p", host.pid, "-o", place.file, "--buffering-mode", "Block"], SECONDS,
                    env=place.tool_env)
    if done.returncode != 1 or "does not support the 'Block' buffering mode" not in done.stderr:
        raise Failed(tail(done))
    return tail(done, 1)


def check_stopping_event(place):
    options = ["--stopping-event-provider-name", "Demo", "--stopping-event-event-name", "Tick",
               "--stopping-event-payload-filter", "Number:999"]
    with place.host() as host, place.collect("-p", host.pid, "--providers", "Demo:1:4", *options) as tool:
        host.ask("emit 999", "emitted 999")
        same("the tool has ended", tool.process.poll(), None)
        host.ask("emit 1000", "emitted 1000")
        ended(tool)
    same("Tick", place.received().events["Demo/Tick"], 1999)
    return "the tool ended by itself"


def check_target_killed(place):
    """The file has what came before."""
    with place.host() as host, place.collect("-p", host.pid, "--providers", "Demo:1:4") as tool:
        host.ask("emit 10000", "emitted 10000")
        before = until("events in the file", lambda: place.stat()[1])
        host.send(signal.SIGKILL)
        ended(tool)
    status, events = place.stat()
    if status != 4 or not before <= events <= 10000:
        raise Failed(f"weir stat ends with {status}, and there are {events} Ticks; {before} were there before")
    return f"{events} events"


def check_tool_killed(place):
    """A host whose threads wait for the tool goes on, by no time limit, and serves the next tool."""
    block = ["--providers", "Demo:1:4", "--buffering-mode", "Block", "--buffersize", "1"]
    with place.host("block_ms=600000", "stop_ms=600000") as host:
        with place.collect("-p", host.pid, *block) as tool:
            host.flood(4, 0)
            tool.send(signal.SIGSTOP)
            parked(host)
            start = time.monotonic()
            tool.send(signal.SIGKILL)
            until("end of the session", lambda: not host.status("sessions"))
            seconds = time.monotonic() - start
            host.flooded("quiet")
        with place.collect("-p", host.pid, *block) as tool:
            host.flood(1, 1000)
            same("written, refused", host.flooded(), (1000, 0))
            ended(tool, signal.SIGINT)
    same("Tick", place.received().events["Demo/Tick"], 1000)
    return f"session gone after {seconds * 1000:.0f} ms"


def parked(host):
    """Waits until no thread of the flood goes on."""
    def stands_still():
        before = host.status("written")
        time.sleep(0.2)
        return before and before == host.status("written")
    until("threads that wait for the tool", stands_still)


def check_flood(place, mode):
    """The tool stands still for a while, so that the budget is full for sure. Block: nothing is lost. Drop: what is lost
    is counted alike by the host, by TraceEvent, and in the file's events."""
    threads, events = (8, 5_000_000) if place.args.long else (4, 250_000)
    options = ["--providers", "Demo:1:4", "--buffering-mode", mode, "--buffersize", "1"]
    with place.host() as host, place.collect("-p", host.pid, *options) as tool:
        tool.send(signal.SIGSTOP)
        host.flood(threads, events)
        if mode == "Block":
            parked(host)
            tool.send(signal.SIGCONT)
        written, refused = host.flooded()
        tool.send(signal.SIGCONT)
        ended(tool, signal.SIGINT)
    received = place.received(payloads=100_000)
    reported = sum(loss["Count"] for loss in fields(received, "Loss"))
    same("written + refused", written + refused, threads * events)
    same("events refused at all", refused > 0, mode == "Drop")
    got = (received.events["Demo/Tick"], received.lost, reported)
    same("Ticks, EventsLost, sum of Weir/Loss", got, (written, refused, refused))
    return f"{written} events, {refused} lost"


# What a client can start, and the rundown that it asks for.
SESSIONS = {"CollectTracing2": DEFAULT_RUNDOWN, "CollectTracing2-no-rundown": None, "CollectTracing3": DEFAULT_RUNDOWN,
            "CollectTracing4": "8"}
NEW_SESSIONS = {"CollectTracing5": None, "CollectTracing6": "8"}


def check_client(place, program, sessions, published="True"):
    want = {"published": published, "environment": "as it was set", "resume": "ok", **dict.fromkeys(sessions, "ok"),
            "wrong-id": "ServerErrorException", "dump": "UnsupportedCommandException", "profiler": "UnsupportedCommandException"}
    with place.host() as host, Process([place.readers.dotnet, program, host.pid, place.folder], place.tool_env) as client:
        for name in sessions:
            client.expect("running")
            host.ask("emit 1000", "emitted 1000")
            client.ask("", name)
        same("exit status", client.end(), 0)
        same("results", dict(line.split(" ", 1) for line in client.output.splitlines() if " " in line), want)
        until("end of the sessions", lambda: not host.status("sessions"))
        same("rundowns", host.rundowns(), [keywords for keywords in sessions.values() if keywords])
    for name, keywords in sessions.items():
        events = place.received(f"{name}.nettrace").events
        same(f"{name}: Tick, Word, State", [events[f"Demo/{event}"] for event in ("Tick", "Word", "State")], [1000, 0, int(bool(keywords))])
    return f"{len(want)} steps"


def check_old_client(place):
    """0.2.745401 fails to list processes if it may read a kernel thread's environment, which does not exist."""
    try:
        pathlib.Path("/proc/2/environ").read_bytes()
        published = "True"
    except OSError as e:
        published = "IOException" if e.errno == errno.ESRCH else "True"
    return check_client(place, place.readers.client_dll, SESSIONS, published)


CHECKS = {
    "ps": check_ps,
    "collect -p": lambda place: check_duration(place, "--providers", "Lua"),
    "collect -p, default providers": check_duration,
    "collect --": check_launch,
    "convert": check_convert,
    "the README's commands": check_readme,
    "rundown": lambda place: check_rundown(place, [DEFAULT_RUNDOWN]),
    "--profile gc-collect": lambda place: check_rundown(place, ["1"], "--profile", "gc-collect"),
    "--rundown false": lambda place: check_rundown(place, [], "--rundown", "false"),
    "--stopping-event": check_stopping_event,
    "target killed": check_target_killed,
    "tool killed": check_tool_killed,
    "Block": lambda place: check_flood(place, "Block"),
    "Block refused": check_block_refused,
    "Drop": lambda place: check_flood(place, "Drop"),
    "NETCore.Client": check_old_client,
    "NETCore.Client with Block": lambda place: check_client(place, place.readers.block_client_dll, SESSIONS | NEW_SESSIONS),
}


def run_attach(readers, args):
    for name, check in ((n, c) for n, c in CHECKS.items() if args.only in n):
        def alone(check=check):
            with tempfile.TemporaryDirectory(prefix="weir-interop-") as folder:
                return check(Place(readers, args, folder))
        yield name, alone
