"""The readers: restored from the machine's package sources, built and run."""

import fcntl
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

TRACEEVENT = "4.0.0"  # also in traceevent/traceevent-summary.csproj, whose version is the one used
DOTNET_TRACE = DOTNET_GCDUMP = "10.0.750501"
READER = f"Microsoft.Diagnostics.Tracing.TraceEvent {TRACEEVENT}"
CLIENT = "Microsoft.Diagnostics.NETCore.Client"
FOLDER = pathlib.Path(__file__).resolve().parent
PROJECTS = {FOLDER / "traceevent/traceevent-summary.csproj": READER, FOLDER / "client/diagnostics-client.csproj": CLIENT,
            FOLDER / "client/diagnostics-client-block.csproj": CLIENT, FOLDER / "traced/traced.csproj": "no package"}


class Skip(Exception):
    """The readers are not available, so nothing can be checked."""


class Failed(Exception):
    """A check did not hold."""


def call(command, timeout, **more):
    try:
        return subprocess.run([str(c) for c in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, errors="replace", timeout=timeout, **more)
    except subprocess.TimeoutExpired:
        raise Failed(f"{pathlib.Path(command[0]).name}: still running after {timeout} s") from None


def tail(done, lines=6):
    text = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    return "\n    ".join(text[-lines:]) or f"exit status {done.returncode}, no output"


class Readers:
    def __init__(self, cache):
        self.cache = pathlib.Path(cache).resolve()
        self.cache.mkdir(parents=True, exist_ok=True)
        self.dotnet = shutil.which("dotnet")
        if not self.dotnet:
            raise Skip("no .NET SDK: 'dotnet' is not on PATH")
        self.env = dict(
            os.environ,
            DOTNET_CLI_TELEMETRY_OPTOUT="1", DOTNET_NOLOGO="1", DOTNET_CLI_UI_LANGUAGE="en",
            DOTNET_GENERATE_ASPNET_CERTIFICATE="false",
            DOTNET_EnableDiagnostics="0",  # keeps the readers' own diagnostics sockets away from those under test
            DOTNET_CLI_USE_MSBUILD_SERVER="0", MSBUILDDISABLENODEREUSE="1",  # leave no servers behind
        )
        self.env.setdefault("NUGET_PACKAGES", str(self.cache / "packages"))
        self.sdk = self.say("--version")
        if not re.match(r"([89]|\d\d+)\.", self.sdk):
            raise Skip(f"the .NET SDK is too old or absent (8 or newer is needed): dotnet --version says '{self.sdk}'")
        # The tool's launcher looks for the runtime only in the usual places, so pass this one's
        # place.
        runtime = re.search(r"Microsoft\.NETCore\.App \S+ \[(.+)\]", self.say("--list-runtimes"))
        if runtime:
            self.env.setdefault("DOTNET_ROOT", str(pathlib.Path(runtime[1]).parents[1]))
        self.summary_dll, self.client_dll, self.block_client_dll, self.traced_dll = map(self.dll, PROJECTS)
        self.trace_tool = self.cache / "tools/dotnet-trace"

    def dll(self, project):
        return self.cache / f"artifacts/bin/{project.stem}/release/{project.stem}.dll"

    def say(self, option):
        done = call([self.dotnet, option], 60, env=self.env, cwd=self.cache)
        return done.stdout.strip() or done.stderr.strip()

    def restore(self):
        """Restores and builds once per cache; later calls find the stamp. The lock is for parallel tests."""
        sources = [FOLDER / "programs.props", *(f for p in PROJECTS for f in (p, p.parent / "Program.cs"))]
        key = hashlib.sha256(b"\0".join([f.read_bytes() for f in sources] + [f"{self.sdk} {DOTNET_TRACE} {DOTNET_GCDUMP}".encode()])).hexdigest()
        programs = [self.dll(project) for project in PROJECTS]
        stamp = self.cache / "restored"
        with open(self.cache / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if stamp.exists() and stamp.read_text() == key and all(f.exists() for f in [*programs, self.trace_tool]):
                return
            stamp.unlink(missing_ok=True)
            for project, package in PROJECTS.items():
                self.timed(f"restore {package}", self.restore_project, package, project)
                self.timed(f"build {project.stem}", self.build_project, project)
            shutil.rmtree(self.cache / "tools", ignore_errors=True)  # the installer refuses to replace a version
            self.timed("install dotnet-trace", self.install_tool, "dotnet-trace", DOTNET_TRACE)
            stamp.write_text(key)

    @staticmethod
    def timed(what, step, *args):
        start = time.monotonic()
        step(*args)
        print(f"ready  {what} ({time.monotonic() - start:.1f} s)")

    def fetch(self, what, command):
        """Runs a step that may need the network: if it takes too long, the reader counts as unavailable."""
        try:
            return call(command, 300, env=self.env, cwd=self.cache)
        except Failed as e:
            raise Skip(f"{what} cannot be restored: {e}") from None

    def restore_project(self, what, project):
        done = self.fetch(what, [self.dotnet, "restore", project, "--artifacts-path", self.cache / "artifacts"])
        if done.returncode:
            # NU11xx: package or version not found, NU13xx: source not reachable. Anything else is
            # our own mistake.
            outcome = Skip if re.search(r"\bNU1[13]\d\d\b", done.stdout + done.stderr) else Failed
            raise outcome(f"{what} cannot be restored:\n    {tail(done)}")

    def build_project(self, project):
        done = call([self.dotnet, "build", project, "--no-restore", "-c", "Release", "--artifacts-path", self.cache / "artifacts",
                     "-nodeReuse:false", "-p:UseSharedCompilation=false"], 300, env=self.env, cwd=self.cache)
        if done.returncode:
            raise Failed(f"{project.stem} does not build:\n    {tail(done, 20)}")

    def install_tool(self, name, version):
        done = self.fetch(name, [self.dotnet, "tool", "install", name, "--version", version, "--tool-path", self.cache / "tools"])
        if done.returncode:
            raise Skip(f"{name} {version} cannot be restored:\n    {tail(done)}")
        said = call([self.cache / "tools" / name, "--version"], 60, env=self.env)
        if said.returncode or not said.stdout.startswith(version):
            raise Failed(f"{name} does not start, or is not version {version}:\n    {tail(said)}")

    def gcdump(self, *arguments):
        """Runs dotnet-gcdump, which one test alone needs; its output."""
        with open(self.cache / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (self.cache / "tools/dotnet-gcdump").exists():
                self.timed("install dotnet-gcdump", self.install_tool, "dotnet-gcdump", DOTNET_GCDUMP)
        done = call([self.cache / "tools/dotnet-gcdump", *arguments], 120, env=self.env)
        if done.returncode:
            raise Failed(f"dotnet-gcdump {arguments[0]}, exit status {done.returncode}:\n    {tail(done)}")
        return done.stdout

    def summary(self, file, payloads=0, details=False):
        options = ["--payloads", payloads, *(["--details"] if details else [])]
        done = call([self.dotnet, self.summary_dll, *options, file], 300, env=self.env)
        try:
            result = json.loads(done.stdout)
        except ValueError:
            raise Failed(f"traceevent-summary printed no JSON (exit status {done.returncode}):\n    {tail(done)}") from None
        if done.returncode or "error" in result:
            raise Failed(f"TraceEvent refuses the file: {result.get('error')}")
        # TraceEvent gives the runtime's GCDynamicEvent another id and name, past its own parsers.
        renamed = sum(row["count"] for row in result["counts"] if row["event_id"] == 65524)
        if result["parsed"] + result["unhandled"] + renamed != result["events"]:
            raise Failed("TraceEvent's parsers saw {parsed} + {unhandled} events, AllEvents {events}".format(**result))
        return result

    def trace(self, *args):
        return call([self.trace_tool, *args], 300, env=self.env)
