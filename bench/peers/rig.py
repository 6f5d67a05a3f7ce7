"""The place where peers run: a folder in memory and the processes started there, both removed whatever happens."""
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time

from bench.judge.command import last_lines

BYTES_NEEDED = 2 << 30  # more than the trace of a long run
GRACE_S = 3
NOBODY = 65534


class Failed(Exception):
    """What went wrong with one run, in one line."""


class Missing(Exception):
    """Why a peer cannot run on this machine."""


def in_memory():
    """A folder in memory for the output, so that no disk is measured; the usual temporary one if memory is short."""
    with contextlib.suppress(OSError):
        if shutil.disk_usage("/dev/shm").free >= BYTES_NEEDED and os.access("/dev/shm", os.W_OK):
            return "/dev/shm"
    return tempfile.gettempdir()


def members(group):
    """Process ids of a process group, without zombies."""
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                state, _parent, its_group = file.read().rpartition(")")[2].split()[:3]
                if int(its_group) == group and state != "Z":
                    yield int(name)


class Workplace(contextlib.ExitStack):
    """A context: when it ends, its folder and all processes started in it are gone. callback() adds more to clean up.

    Each process leads a new group, so that the processes that it starts are ended with it.
    """

    def __enter__(self):
        super().__enter__()
        self.groups = []
        self.folder = tempfile.mkdtemp(prefix="weir-peers-", dir=in_memory())
        self.callback(self.clean)
        os.chmod(self.folder, 0o711)  # LTTng runs as another user, in a folder below
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
        """A folder on disk, because folders in memory are often mounted noexec. All users may enter it."""
        path = tempfile.mkdtemp(prefix="weir-peers-")
        self.callback(shutil.rmtree, path, ignore_errors=True)
        os.chmod(path, 0o711)
        return path

    def environment(self, more=None):
        """Makes programs put their temporary files into this folder."""
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
        """Sends SIGTERM first, then SIGKILL. The group may outlive its leader."""
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
        """The command's standard output. Raises Failed if it fails or takes longer."""
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
            said = last_lines(err) or last_lines(out) or "no output"
            raise Failed(f"{os.path.basename(command[0])}: exit code {process.returncode}: {said}")
        return out


def need(*programs, package):
    """Raises Missing unless all of them are on the path."""
    for program in programs:
        if not shutil.which(program):
            raise Missing(f"there is no {program} (Debian: {package})")


def trace_bytes(folder, prefix):
    """Size of the files of a CTF trace with this prefix: its streams, without metadata and index."""
    return sum(os.path.getsize(os.path.join(root, name)) for root, folders, names in os.walk(folder)
               for name in names if name.startswith(prefix) and os.path.basename(root) != "index")


def ctf_events(workplace, folder, timeout_s):
    """The number of events that babeltrace2 finds in the traces below a folder."""
    out = workplace.run(["babeltrace2", folder, "-c", "sink.utils.counter", "--params=step=+0"], timeout_s)
    for line in out.splitlines():
        words = line.split()
        if words[1:] == ["Event", "messages"]:
            return int(words[0])
    raise Failed("babeltrace2 did not report the number of events")
