"""LTTng-UST's environment: our own session daemon, a session for each run, and the count of delivered events.

The daemon's sockets are in LTTNG_HOME, unless it runs as root: then they are the system's. So root
starts all of this as the user nobody, and does not disturb a daemon that the machine already runs.
"""
import contextlib
import glob
import os
import re
import shutil
import time

from bench.peers import rig
from bench.judge.command import last_lines
from bench.peers.rig import Failed, Missing

SUB_BUFFERS = 4
START_S = 20
COMMAND_S = 60
PAGE_BYTES = 4096
COUNT_WRAP = 1 << 63  # version 2.13 sometimes adds this to the count of discarded events


def possible():
    """Processors that the kernel may ever have: LTTng has buffers for each, even if no thread may run on it."""
    with open("/sys/devices/system/cpu/possible", encoding="ascii") as file:
        return int(re.split("[-,]", file.read().strip())[-1]) + 1


def processors():
    """Processors that the emitting threads may run on: only their buffers are written."""
    return len(os.sched_getaffinity(0))


def sub_buffer_bytes(case, budget_bytes):
    """A power of two. Buffers belong to processors, not threads: in a flood they share the budget, otherwise each has
    4 MiB, like a thread's buffer in other peers."""
    if case != "flood":
        return 1 << 20
    share = budget_bytes // processors() // SUB_BUFFERS
    return max(PAGE_BYTES, 1 << max(share, 1).bit_length() - 1)


def note_of(sub_buffer):
    each = SUB_BUFFERS * sub_buffer
    return (f"{SUB_BUFFERS} sub-buffers of {sub_buffer >> 10} KiB for each of {processors()} processors, "
            f"{each * processors() >> 10} KiB; for all that the machine may ever have, {each * possible() >> 10} KiB")


class Lttng:
    def __init__(self, workplace, program):
        rig.need("lttng-sessiond", "lttng", package="lttng-tools")
        rig.need("babeltrace2", package="babeltrace2")
        self.workplace, self.runs = workplace, 0
        is_root = os.geteuid() == 0
        self.owner = rig.NOBODY if is_root else None
        self.waits = set(glob.glob("/dev/shm/lttng-ust-wait-*"))
        self.home = workplace.make_folder("lttng", self.owner)
        self.program = shutil.copy(program, workplace.make_program_folder())  # where the user nobody may run it
        os.chmod(self.program, 0o755)
        self.options = {"cwd": self.home, "env": workplace.environment(
            {"HOME": self.home, "LTTNG_HOME": self.home, "TMPDIR": self.home, "LTTNG_UST_ALLOW_BLOCKING": "1"})}
        if is_root:
            self.options |= {"user": self.owner, "group": self.owner, "extra_groups": []}
        workplace.callback(self.end)
        self.daemon = None
        self.start()

    def start(self):
        log = open(os.path.join(self.home, "daemon.log"), "w", encoding="utf-8")
        with log:
            command = ["lttng-sessiond", "--no-kernel"]
            self.daemon = self.workplace.start(command, stdout=log, stderr=log, **self.options)
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            if self.daemon.poll() is not None:
                break
            with contextlib.suppress(Failed):
                self.command("list")
                return
            time.sleep(0.05)
        with open(log.name, encoding="utf-8", errors="replace") as file:
            raise Missing(f"lttng-sessiond does not start: {last_lines(file.read()) or 'no output'}")

    def command(self, *words):
        return self.workplace.run(["lttng", "--no-sessiond", *words], COMMAND_S, **self.options)

    def end(self):
        """Ends the daemon, then removes the files in shared memory that LTTng leaves behind for each user."""
        if self.daemon:
            self.workplace.end(self.daemon)
        for path in set(glob.glob("/dev/shm/lttng-ust-wait-*")) - self.waits:
            with contextlib.suppress(OSError):
                if os.stat(path).st_uid in (os.geteuid(), self.owner):
                    os.remove(path)

    def bind(self, processor):
        """Binds the daemons' threads; the consumer's exist only once a session has started."""
        for process in rig.members(self.daemon.pid):
            with contextlib.suppress(OSError):
                for thread in os.listdir(f"/proc/{process}/task"):
                    os.sched_setaffinity(int(thread), processor)

    def run(self, arguments, case, budget_bytes, variant, drain_set, timeout_s):
        """The program's output, and what is known from outside, by reading the trace back."""
        self.runs += 1
        name, trace = f"run{self.runs}", os.path.join(self.home, f"trace{self.runs}")
        sub_buffer = sub_buffer_bytes(case, budget_bytes)
        note = note_of(sub_buffer)
        try:
            self.session(name, trace, sub_buffer, variant == "blocking")
            self.bind(drain_set)
            out = self.workplace.run([self.program, *arguments], timeout_s, **self.options)
            self.command("stop", name)
            lost = re.search(r"<discarded_events>(\d+)<", self.command("--mi", "xml", "list", name))
            self.command("destroy", name)
            known = {"delivered": rig.ctf_events(self.workplace, trace, timeout_s),
                     "told_lost": int(lost[1]) % COUNT_WRAP if lost else None,
                     "bytes": rig.trace_bytes(trace, "channel_"),
                     "buffer_bytes": sub_buffer * SUB_BUFFERS * processors(),
                     "note": note}
        finally:
            with contextlib.suppress(Failed):
                self.command("destroy", name)
            shutil.rmtree(trace, ignore_errors=True)
        return out, known

    def session(self, name, trace, sub_buffer, is_blocking):
        blocking = ["--blocking-timeout=inf"] if is_blocking else []
        self.command("create", name, f"--output={trace}")
        self.command("enable-channel", "--userspace", "--session", name, "--buffers-uid", "--discard",
                     f"--subbuf-size={sub_buffer}", f"--num-subbuf={SUB_BUFFERS}", *blocking, "channel")
        self.command("enable-event", "--userspace", "--session", name, "--channel", "channel", "peer:event")
        self.command("start", name)
