"""Where peers run: a folder in memory, the processes that were started, and the end of both, whatever happens."""
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time

from bench.judge.command import last_lines

BYTES_NEEDED = 2 << 30  # a long run's trace, with room
GRACE_S = 3
NOBODY = 65534


class Failed(Exception):
    """What went wrong with one run, in a line."""


class Missing(Exception):
    """Why a peer cannot run on this machine."""


def in_memory():
    """A folder for what is delivered, so that no disk is measured; the usual one where there is none or it is small."""
    with contextlib.suppress(OSError):
        if shutil.disk_usage("/dev/shm").free >= BYTES_NEEDED and os.access("/dev/shm", os.W_OK):
            return "/dev/shm"
    return tempfile.gettempdir()


def members(group):
    """Process ids of a process group, without those that have ended and that nobody has asked after."""
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                state, _parent, its_group = file.read().rpartition(")")[2].split()[:3]
                if int(its_group) == group and state != "Z":
                    yield int(name)


class Workplace(contextlib.ExitStack):
    """A context: its folder and all that was started in it are gone when it ends. Others add to that with callback().

    Each process leads a group of its own, so that those it starts in turn are ended with it.
    """

    def __enter__(self):
        super().__enter__()
        self.groups = []
        self.folder = tempfile.mkdtemp(prefix="weir-peers-", dir=in_memory())
        self.callback(self.clean)
        os.chmod(self.folder, 0o711)  # LTTng runs as somebody else, in a folder of its own
        return self

    def clean(self):
        for process in reversed(self.groups.copy()):
            self.end(process)
        shutil.rmtree(self.folder, ignore_errors=True)

    def make_folder(self, name, owner=None):
        path = os.path.join(self.folder, name)
        os.mkdir(path, 0o700)
        if owner is not None:
            os.chown(path, owner, owner)
        return path

    def make_program_folder(self):
        """On a disk: what is in memory often may not be run. For all users to enter."""
        path = tempfile.mkdtemp(prefix="weir-peers-")
        self.callback(shutil.rmtree, path, ignore_errors=True)
        os.chmod(path, 0o711)
        return path

    def environment(self, more=None):
        """What programs leave in temporary folders belongs to this one."""
        return {**os.environ, "TMPDIR": self.folder, "RUNTIME_DIRECTORY": self.folder, **(more or {})}

    def start(self, command, **options):
        options.setdefault("env", self.environment())
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, text=True, start_new_session=True, **options)
        except OSError as error:
            raise Failed(f"{command[0]}: {error.strerror}") from None
        self.groups.append(process)
        return process

    def end(self, process):
        """Asks first. The group may outlive its leader."""
        self.groups.remove(process)
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, number)
            if self.has_ended(process):
                return

    @staticmethod
    def has_ended(process):
        deadline = time.monotonic() + GRACE_S
        while time.monotonic() < deadline:
            if not any(members(process.pid)):
                process.wait()
                return True
            time.sleep(0.01)
        return False

    def run(self, command, timeout_s, **options):
        """Its standard output; Failed if it fails or takes longer."""
        process = self.start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        try:
            out, err = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            raise Failed(f"not done after {timeout_s:.0f} s: {os.path.basename(command[0])}") from None
        finally:
            self.end(process)
            process.stdout.close()
            process.stderr.close()
        if process.returncode != 0:
            said = last_lines(err) or last_lines(out) or "said nothing"
            raise Failed(f"{os.path.basename(command[0])}: exit code {process.returncode}: {said}")
        return out


def need(*programs, package):
    """Missing unless all of them are on the path."""
    for program in programs:
        if not shutil.which(program):
            raise Missing(f"there is no {program} (Debian: {package})")


def trace_bytes(folder, prefix):
    """Of the files of a CTF trace whose names begin so: its streams, without metadata and index."""
    return sum(os.path.getsize(os.path.join(root, name)) for root, folders, names in os.walk(folder)
               for name in names if name.startswith(prefix) and os.path.basename(root) != "index")


def ctf_events(workplace, folder, timeout_s):
    """How many events babeltrace2 finds in the traces below a folder."""
    out = workplace.run(["babeltrace2", folder, "-c", "sink.utils.counter", "--params=step=+0"], timeout_s)
    for line in out.splitlines():
        words = line.split()
        if words[1:] == ["Event", "messages"]:
            return int(words[0])
    raise Failed("babeltrace2 did not say how many events there are")
