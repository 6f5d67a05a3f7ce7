"""`weir collect` on a real .NET process, which also sends what other servers would not: a rundown, stacks, samples."""

import contextlib
import json
import pathlib
import subprocess
import tempfile
import time

from readers import Failed, call, tail


class Traced:
    def __init__(self, readers, weir, folder):
        self.readers, self.weir, self.file = readers, weir.resolve(), pathlib.Path(folder) / "collected.nettrace"
        self.env = {**readers.env, "DOTNET_EnableDiagnostics": "1", "TMPDIR": folder}
        self.command = [readers.dotnet, readers.traced_dll]

    def collect(self, *arguments, code=0):
        done = call([self.weir, "collect", "-o", self.file, *arguments], 120, env=self.env)
        if done.returncode != code:
            raise Failed(f"exit status {done.returncode} instead of {code}:\n    {tail(done)}")
        return done

    def compare(self, done):
        """TraceEvent must have what weir has counted, and something of the runtime."""
        ours, theirs = json.loads(done.stdout), self.readers.summary(self.file)
        if (theirs["events"], theirs["events_lost"]) != (ours["eventCount"], ours["lost"]):
            raise Failed(f"TraceEvent has {theirs['events']} events and {theirs['events_lost']} lost, weir {ours['eventCount']} and {ours['lost']}")
        if not any(row["provider"] == "Microsoft-Windows-DotNETRuntime" for row in theirs["counts"]):
            raise Failed(f"no event of the runtime among {theirs['events']}")
        return f"{ours['command']}, {theirs['events']} events, {theirs['events_lost']} lost"

    @contextlib.contextmanager
    def process(self):
        process = subprocess.Popen([str(c) for c in [*self.command, 60, 0]], env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            end = time.monotonic() + 60
            while not any(p["pid"] == process.pid for p in json.loads(call([self.weir, "ps", "--json"], 60, env=self.env).stdout)["processes"]):
                if process.poll() is not None or time.monotonic() > end:
                    raise Failed("weir ps does not list the process")
                time.sleep(0.05)
            yield process
        finally:
            process.kill()
            process.wait()

    def attach(self, *arguments):
        with self.process() as process:
            return self.compare(self.collect("-p", process.pid, "--duration", "1", "--json", *arguments))

    def refuse_block(self):
        """Until a .NET that has CollectTracing6."""
        with self.process() as process:
            if int(self.readers.sdk.split(".")[0]) >= 11:
                return self.compare(self.collect("-p", process.pid, "--duration", "1", "--json", "--mode", "block"))
            said = self.collect("-p", process.pid, "--mode", "block", code=1).stderr
            if "does not support --mode block" not in said or self.file.exists():
                raise Failed(said)
            return said.splitlines()[0]

    def launch(self):
        return self.compare(self.collect("--json", "--", *self.command, 1, 7, code=7))

    def interrupt(self):
        """SIGKILL leaves a file that can be read as far as it goes."""
        with self.process() as process:
            collecting = subprocess.Popen([str(c) for c in [self.weir, "collect", "-p", process.pid, "-o", self.file]], env=self.env,
                                          stderr=subprocess.PIPE, text=True)
            end = time.monotonic() + 60
            while time.monotonic() < end and not (self.file.exists() and self.file.stat().st_size > 1000):
                time.sleep(0.05)
            process.kill()
            said = collecting.communicate(timeout=60)[1]
        if collecting.returncode != 4 or "lost unknown after" not in said:
            raise Failed(f"exit status {collecting.returncode} instead of 4: {said}")
        return said.splitlines()[-1].split(": ", 2)[-1]


def run_collect(readers, args):
    checks = {"-p": lambda traced: traced.attach(), "with chosen rundown": lambda traced: traced.attach("--rundown", "1"),
              "without rundown": lambda traced: traced.attach("--rundown", "0"), "--mode block": Traced.refuse_block,
              "-- COMMAND": Traced.launch, "of a process that is killed": Traced.interrupt}
    for name, check in checks.items():
        def checked(check=check):
            with tempfile.TemporaryDirectory(prefix="weir-") as folder:
                return check(Traced(readers, args.weir, folder))
        yield f"weir collect {name}", checked
