"""Runs of weir-stress: starting them, reading them back from a file of one JSON object per line, pooling them.

Used by differential.py, matrix.py, plot.py and compare.py. Needs nothing but Python's own library.
"""
import json
import math
import os
import re
import signal
import statistics
import subprocess
import sys
import time

CORE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "core")


def listed(header):
    """{name: word on command lines and in results} of a list of core/, whose rows begin with X(NAME, table, "word"."""
    with open(os.path.join(CORE, header), encoding="utf-8") as file:
        return dict(re.findall(r'\bX\((\w+), \w+, "([a-z-]+)"[,)]', file.read()))


MODES, WAKES = listed("buffers/modes.h"), listed("wait/strategies.h")
BLOCKING = tuple(f"BLOCK/{name}" for name in WAKES)
STRATEGIES = ("DROP", *BLOCKING)
# The default strategy of BLOCK, and those that it is compared with.
DEFAULT, OTHERS = BLOCKING[0], BLOCKING[1:]

# A percentile with fewer samples above it is noise.
SAMPLES_ABOVE_MIN = 10
QUANTILES = (("p50", 0.5), ("p99", 0.99), ("p999", 0.999))

# Fields that a run must have; any other may be null or absent.
NUMBERS_NEEDED = ("producers", "emitted", "written", "seconds", "events_per_s")
NUMBERS = ("wakes_per_segment", "jain", "jain_window_ms", "starvation_ns", "grant_bytes", "cpu_ns_per_event",
           "drain_ceiling_events_per_s", "producer_ceiling_events_per_s", "bound_events_per_s", "park_law_ns",
           "wait_per_grant_ns", "payload", "record_bytes", "segment_bytes", "budget_bytes", "seed")
PARK_NUMBERS = ("p50", "p99", "p999", "max", "mean", "count")


class Failed(Exception):
    """What went wrong, for the user; the command ends with exit code 1."""


# --- One run. ---------------------------------------------------------------------------------------------


class Run(dict):
    """The JSON object of one run, with properties for frequent questions. Numbers may be None."""

    @property
    def strategy(self):
        mode, wake = (str(self.get(name) or "").upper().replace("-", "_") for name in ("mode", "wake"))
        return f"BLOCK/{wake}" if mode == "BLOCK" else mode

    @property
    def lost(self):
        return sum(self["lost"].values())

    @property
    def loss_share(self):
        return self.lost / self["emitted"] if self["emitted"] else None

    @property
    def pinned(self):
        return bool(self.get("pin"))

    def park(self, name):
        return (self.get("park_ns") or {}).get(name)

    def faults(self, verified_needed=False):
        """What must not happen on any machine."""
        if self["emitted"] != self["written"] + self.lost:
            yield f"{self['emitted']} events emitted, but {self['written']} written and {self.lost} lost"
        if self["mode"].upper() == "BLOCK" and self.lost:
            yield f"BLOCK lost {self.lost} events: {self['lost']}"
        if self.get("verified") is False:
            yield "the independent reader did not find what was emitted"
        elif verified_needed and self.get("verified") is not True:
            yield "the trace was not verified"


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value >= 0


def _shape_faults(run):
    for name in ("mode", "sink"):
        if not isinstance(run.get(name), str):
            yield f"'{name}' is not a text"
    for name in NUMBERS_NEEDED:
        if not _is_number(run.get(name)):
            yield f"'{name}' is not a number" if name in run else f"there is no '{name}'"
    for name in NUMBERS:
        if run.get(name) is not None and not _is_number(run[name]):
            yield f"'{name}' is neither a number nor null"
    lost = run.get("lost")
    if not isinstance(lost, dict) or not all(_is_number(count) for count in lost.values()):
        yield "'lost' is not an object of causes and counts"
    park = run.get("park_ns")
    if not isinstance(park, (dict, type(None))):
        yield "'park_ns' is not an object"
    elif park:
        for name in PARK_NUMBERS:
            if park.get(name) is not None and not _is_number(park[name]):
                yield f"'park_ns.{name}' is neither a number nor null"


def parse(line, where):
    """One line as a Run; if it is not one, the error message starts with `where`."""
    try:
        run = json.loads(line)
    except ValueError as error:
        raise Failed(f"{where}: not JSON: {error}") from None
    if not isinstance(run, dict):
        raise Failed(f"{where}: not a JSON object")
    run = Run(run)
    faults = list(_shape_faults(run))
    if not faults and run.strategy not in {*MODES, *BLOCKING} - {"BLOCK"}:
        faults.append(f"mode '{run['mode']}' with wake '{run.get('wake')}' is no strategy")
    if faults:
        raise Failed(f"{where}: {faults[0]}")
    return run


def load(path):
    """All runs of a file; at least one."""
    try:
        with open(path, encoding="utf-8") as file:
            found = [parse(line, f"{path}:{number}") for number, line in enumerate(file, 1) if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise Failed(f"{path}: {error}") from None
    if not found:
        raise Failed(f"{path}: there is no run in it")
    return found


# --- Other load on the machine.
# -----------------------------------------------------------------------------

OTHERS_MAX = 0.1  # processors; above this, the machine counts as busy


class Others:
    """How many processors other programs have kept busy since this object was created."""

    def __init__(self):
        self.started, self.busy, self.own = time.monotonic(), self._busy(), self._own()

    @staticmethod
    def _busy():
        """Busy seconds of all processors, including the time that a virtual machine's host took away."""
        with open("/proc/stat", encoding="ascii") as file:
            ticks = [int(word) for word in file.readline().split()[1:9]]
        return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")

    @staticmethod
    def _own():
        """Busy seconds of this process and of its children that have ended."""
        return sum(os.times()[:4])

    def processors(self):
        others = self._busy() - self.busy - (self._own() - self.own)
        return max(0.0, others / (time.monotonic() - self.started))


def conditions_path(path):
    return f"{path}.conditions.json"


def note_of_others(path):
    """A sentence if other programs affected the figures of this file, or None."""
    try:
        with open(conditions_path(path), encoding="utf-8") as file:
            others = json.load(file)["others_processors"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return sentence_of_others(others) if _is_number(others) else None


def sentence_of_others(others):
    if others <= OTHERS_MAX:
        return None
    return f"Measured on a busy machine: other programs used {others:.1f} processors meanwhile."


# --- Starting the program. ----------------------------------------------------------------------------------


class Program:
    """The program weir-stress."""

    def __init__(self, path):
        self.path = str(path)

    def command(self, options):
        return " ".join([self.path, *options])

    def run(self, options, timeout_s=120):
        """A Run and its printed line. Raises Failed with the command to repeat if the program fails."""
        try:
            done = subprocess.run([self.path, *options, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  timeout=timeout_s, check=False)
        except OSError as error:
            raise Failed(f"{self.path}: {error.strerror}") from None
        except subprocess.TimeoutExpired:
            raise Failed(f"not done after {timeout_s:.0f} s: {self.command(options)}") from None
        if done.returncode != 0:
            raise Failed(f"exit code {done.returncode}: {self.command(options)}\n{done.stderr.strip() or done.stdout.strip()}")
        lines = done.stdout.splitlines()
        if len(lines) != 1:
            raise Failed(f"{len(lines)} lines instead of one run: {self.command(options)}")
        return parse(lines[0], self.command(options)), lines[0]


# --- Pooling. -----------------------------------------------------------------------------------------------


def percentile(bins, share):
    """The upper end of the bin that holds the sample of that rank, from a sorted list of (upper_ns, count); None if too
    few samples are above it."""
    count = sum(number for _, number in bins)
    rank = math.ceil(share * count)
    if count - rank < SAMPLES_ABOVE_MIN:
        return None
    below = 0
    for upper, number in bins:
        below += number
        if below >= rank:
            return upper
    return None


class Pool:
    """Runs with the same settings as one: counts and times add up, percentiles come from the summed histograms. A ratio
    of one run (wakes per segment, Jain's index) is pooled as the median."""

    def __init__(self):
        self.runs = []
        self.bins = {}

    def add(self, run):
        if run["mode"].upper() == "BLOCK" and "park_bins" not in run:
            raise Failed("a run of BLOCK without 'park_bins' cannot be pooled")
        for upper, number in run.get("park_bins") or []:
            self.bins[upper] = self.bins.get(upper, 0) + number
        self.runs.append(Run({name: value for name, value in run.items() if name != "park_bins"}))

    def sum(self, name):
        return sum(run[name] for run in self.runs)

    def median(self, name):
        return median(run.get(name) for run in self.runs)

    def summary(self):
        seconds, bins = self.sum("seconds"), sorted(self.bins.items())
        longest = [run.park("max") for run in self.runs if run.park("max") is not None]
        most = max(longest, default=None)
        park = {name: percentile(bins, share) for name, share in QUANTILES}
        park = {name: value if None in (value, most) else min(value, most) for name, value in park.items()}
        park |= {"max": most, "count": sum(self.bins.values())}
        causes = sorted({cause for run in self.runs for cause in run["lost"]})
        return {"strategy": self.runs[0].strategy, "repeats": len(self.runs), "seconds": seconds, "emitted": self.sum("emitted"),
                "written": self.sum("written"), "lost": {c: sum(run["lost"].get(c, 0) for run in self.runs) for c in causes},
                "events_per_s": self.sum("written") / seconds if seconds else None, "park_ns": park,
                "wakes_per_segment": self.median("wakes_per_segment"), "jain": self.median("jain"),
                "verified": all(run.get("verified") is True for run in self.runs)}


def median(values):
    """The median of the values that are not None; None if there are none."""
    there = [value for value in values if value is not None]
    return statistics.median(there) if there else None


def group(found, key):
    groups = {}
    for run in found:
        groups.setdefault(key(run), []).append(run)
    return groups


# --- Words. -------------------------------------------------------------------------------------------------


def size(count):
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit and count % (unit // 4) == 0:
            return f"{count / unit:g} {name}"
    return f"{count:,.0f} bytes"


def significant(value, digits=3):
    """12345.6 as 12,300, 0.01234 as 0.0123; a dash for None."""
    if value is None:
        return "-"
    if value == 0:
        return "0"
    places = digits - 1 - math.floor(math.log10(abs(value)))
    return f"{round(value, places):,.{max(places, 0)}f}"


def microseconds(ns):
    return significant(None if ns is None else ns / 1000)


def millions(value):
    return significant(None if value is None else value / 1e6)


def duration(seconds):
    seconds = max(0, round(seconds))
    return f"{seconds // 60} min {seconds % 60:02} s" if seconds >= 60 else f"{seconds} s"


def machine(run):
    """The footer of a table or picture: processor, kernel, commit."""
    parts = [run.get("cpu") or "unknown processor"]
    if run.get("cores"):
        parts.append(f"{run['cores']} cores")
    kernel = str(run.get("kernel") or "unknown")
    parts.append(kernel if kernel.startswith("Linux") else f"Linux {kernel}")
    parts.append(f"commit {run.get('commit') or 'unknown'}")
    return ", ".join(parts)


def table(rows, left=1):
    """Lines of aligned columns; the first `left` columns are text, the others figures."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [text.ljust(width) if column < left else text.rjust(width) for column, (text, width) in enumerate(zip(row, widths))]
        yield "  ".join(cells).rstrip()


# --- Commands. ----------------------------------------------------------------------------------------------


class Progress:
    """A line that overwrites itself on a terminal; nothing elsewhere."""

    def __init__(self, stream=None):
        self.stream = stream or sys.stderr
        self.shown = self.stream.isatty()

    def show(self, text):
        if self.shown:
            self.stream.write(f"\r\x1b[K{text[:110]}")
            self.stream.flush()

    def end(self):
        self.show("")


def run_command(name, function):
    """Calls a command's main function: exit code 0, or 1 with the reason, or 130 if it was interrupted."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that child processes are ended
    try:
        sys.exit(function())
    except Failed as error:
        print(f"{name}: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
