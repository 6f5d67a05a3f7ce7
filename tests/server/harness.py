"""What the tests of the server share: the host that they drive, and the reader of the streams.

Each file of tests takes two arguments, the programs `server_host` and `weir`, and then those of unittest.
--long before them makes the tests that need time take it.
"""

import collections
import contextlib
import json
import os
import queue
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import unittest

import ipc

LONG = "--long" in sys.argv
HOST, WEIR = [argument for argument in sys.argv[1:] if argument != "--long"][:2]

Status = collections.namedtuple("Status", "running suspended connections sessions ports written path")


def main():
    arguments = [argument for argument in sys.argv if argument != "--long"]
    unittest.main(module="__main__", argv=[arguments[0], *arguments[3:]])


def new_directory():
    """With a short path, for sockets. Others may enter it, so that it is the socket that keeps them out."""
    directory = tempfile.mkdtemp(prefix="weir", dir="/tmp")
    os.chmod(directory, 0o755)
    return directory


class Host:
    """A process with a server, in a directory of its own or the given one. Options are those of host.c. `before`
    runs between fork and exec."""

    def __init__(self, environment=None, before=None, directory=None, **options):
        self.directory = directory or new_directory()
        self.is_owner = directory is None
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(("WEIR_", "DOTNET_"))}
        self.environment.update({"TMPDIR": self.directory}, **(environment or {}))
        self.process = subprocess.Popen(
            [HOST, *(f"{name}={value}" for name, value in options.items())], env=self.environment, preexec_fn=before,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
        self.pid, self.children = self.process.pid, []
        self.lines, self.changes, self.complaints = queue.Queue(), [], []
        self.readers = [threading.Thread(target=self.read, args=arguments, daemon=True) for arguments in (
            (self.process.stdout, self.lines.put), (self.process.stderr, self.complaints.append))]
        for reader in self.readers:
            reader.start()
        self.ready = self.expect("ready")

    @staticmethod
    def read(stream, take):
        for line in stream:
            take(line.rstrip("\n"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for pid in self.children:  # they have the pipes, too
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()
        for reader in self.readers:
            reader.join()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()
        if self.is_owner:
            shutil.rmtree(self.directory)
        report = "\n".join(self.complaints)
        assert "Sanitizer" not in report and "runtime error" not in report, report

    # --- Lines. --------------------------------------------------------------------------------------------

    def expect(self, word, seconds=ipc.SECONDS):
        """The rest of the next line that begins with the word. Others are kept for whoever wants them."""
        passed = []
        try:
            while True:
                line = self.lines.get(timeout=seconds)
                first, _, rest = line.partition(" ")
                if first == word:
                    return rest
                passed.append(line)
        except queue.Empty:
            raise AssertionError(f"no '{word}' within {seconds} s, but {passed} and {self.complaints}") from None
        finally:
            for line in passed:
                self.lines.put(line)

    def send(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def ask(self, line, word, seconds=ipc.SECONDS):
        self.send(line)
        return self.expect(word, seconds)

    def counts(self, line, word):
        """How many events were written and refused."""
        return tuple(map(int, self.ask(line, word).split()))

    def emit(self, count):
        return self.counts(f"emit {count}", "emitted")

    @property
    def status(self):
        values = dict(pair.split("=", 1) for pair in self.ask("status", "status").split(" ", 6))
        path = values.pop("path")
        return Status(path=path, **{name: int(value) for name, value in values.items()})

    def fork(self, starts=False):
        """The pid of a child, which knows that it has no server, or starts one."""
        pid = int(self.ask(f"fork {starts:d}", "forked"))
        self.children.append(pid)
        line = self.expect("child")
        assert line == f"ok running={starts:d}", line
        return pid

    def quit(self):
        """Ends as a program does; returns its exit status."""
        self.send("quit")
        return self.process.wait(ipc.SECONDS)

    # --- The process. --------------------------------------------------------------------------------------

    @property
    def path(self):
        path = ipc.find(self.directory, self.pid)
        assert path, f"{os.listdir(self.directory)}, {self.complaints}"
        return path

    @property
    def threads(self):
        return len(os.listdir(f"/proc/{self.pid}/task"))

    @property
    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    @property
    def cpu_seconds(self):
        fields = process_stat(self.pid)
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def none_left(self):
        """Waits until no tool has anything of the server; how long that took."""
        return ipc.until(lambda: self.status[2:4] == (0, 0), what="a server without connections and sessions")


def process_stat(pid):
    """The fields of its /proc/PID/stat from the third on, its state."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return file.read().rpartition(")")[2].split()


def socket_name():
    """What the server's socket is called in the calling process; also between fork and exec."""
    return f"dotnet-diagnostic-{os.getpid()}-{process_stat('self')[19]}7-socket"


def is_socket(path):
    return stat.S_ISSOCK(os.stat(path, follow_symlinks=False).st_mode)


class InDirectory(unittest.TestCase):
    """Tests that put things beside the host's socket."""

    def setUp(self):
        self.directory = new_directory()
        self.addCleanup(shutil.rmtree, self.directory)

    def place(self, name="tool.socket"):
        return os.path.join(self.directory, name)

    def host(self, environment=None, **options):
        host = Host(environment, directory=self.directory, **options)
        self.addCleanup(host.close)
        return host


# --- Streams. ----------------------------------------------------------------------------------------------

def weir(command, data, *arguments, codes):
    done = subprocess.run([WEIR, command, "--json", *arguments, "-"], input=data, capture_output=True, check=False)
    assert done.returncode in codes, f"weir {command}: {done.returncode}, {done.stdout[:2000]} {done.stderr[:2000]}"
    return done.stdout


class Stream:
    """What is in a stream that has ended as it should."""

    def __init__(self, data):
        weir("check", data, codes=(0, 3))
        self.data = data
        self.stat = json.loads(weir("stat", data, codes=(0, 3)))
        self.lost = self.stat["lost"]
        self.counts = {(event["provider"], event["name"]): event["count"] for event in self.stat["events"]}

    def demo(self, *names):
        return sum(count for (name, event), count in self.counts.items()
                   if name == "Demo" and (not names or event in names))

    def events(self, provider, name):
        """The fields of these events."""
        lines = weir("dump", self.data, codes=(0, 3)).splitlines()
        return [event for event in map(json.loads, lines) if (event["provider"], event["name"]) == (provider, name)]
