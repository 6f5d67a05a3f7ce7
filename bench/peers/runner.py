"""The same events through this library and through others: what one event costs, how many arrive.

Each measurement is a process of bench/peers/. They run in turn, A B C ... A B C ..., so that other
load on the machine affects all of them. Figures are medians over the rounds, with the least and the
greatest; ratios are taken within a round. Where there is a trace to read, a reader counts the
events that a program says it delivered. bench/peers/README.md has each peer's configuration.

The state of the machine (bench/judge/state.py) is measured before and after each process. Medians
are of runs in one state, and so are ratios: a peer has a row for each state.

    rows = peers.measure(["burst", "flood"], rounds=5, names=["weir", "lttng:blocking"])
"""
import contextlib
import dataclasses
import json
import os
import shutil
import statistics
import subprocess
import time

import jsonschema
from bench.peers import eventpipe_program, lttng, rig
from bench.stress import runs
from bench.peers.rig import Failed, Missing
from bench.judge import state
from bench.judge.points import ROOT

FOLDER = os.path.join(ROOT, "build", "bench")
MIB = 1 << 20
TIMEOUT_S = 120
FLOOR = "floor"
WITHOUT_BUDGET = (FLOOR, "lttng")  # refuse a budget: the floor has no reader, LTTng's session sets its own

# The figures of each peer: medians over the rounds.
FIGURES = ("ns_per_event", "cpu_ns_per_event", "seconds", "seconds_delivered", "delivered", "lost", "told_lost",
           "bytes_per_event", "of_floor", "of_weir")


@dataclasses.dataclass(frozen=True)
class Case:
    kind: str
    threads: int
    events: int  # per thread
    budget: int  # for all threads together


@dataclasses.dataclass(frozen=True)
class Peer:
    """`variant` is the user's word, `option` the program's; `budget` is set if it differs from the case's."""
    program: str
    variant: str
    kinds: tuple
    option: str = None
    budget: int = None

    @property
    def name(self):
        return self.program if self.program == FLOOR else f"{self.program}:{self.variant}"

    @property
    def waits(self):
        return self.variant in ("block", "blocking", "wait")


ALL = ("burst", "sustained", "flood")
PEERS = (
    Peer("floor", "unread", ALL),
    Peer("weir", "drop", ("burst", "flood")),
    Peer("weir", "block", ALL),
    Peer("weir", "overwrite", ("flood",)),
    Peer("lttng", "discard", ALL),
    Peer("lttng", "blocking", ALL),
    Peer("dpdk", "overwrite", ALL),
    Peer("dpdk", "discard", ("flood",)),
    Peer("ck-ring", "drop", ("burst", "flood")),
    Peer("ck-ring", "wait", ("sustained", "flood")),
    Peer("boost", "drop", ("burst", "flood")),
    Peer("boost", "wait", ("sustained", "flood")),
    Peer("eventpipe", "1MB", ("flood",), "nostack", MIB),
    Peer("eventpipe", "1MB+stack", ("flood",), "stack", MIB),
    Peer("eventpipe", "256MB", ALL, "nostack", 256 * MIB),
    Peer("eventpipe", "256MB+stack", ALL, "stack", 256 * MIB),
)

COUNT = {"type": "integer", "minimum": 0}
COUNT_OR_NULL = {"type": ["integer", "null"], "minimum": 0}
NUMBER = {"type": "number", "minimum": 0}
NUMBER_OR_NULL = {"type": ["number", "null"], "minimum": 0}
RUN = {
    "title": "What a program of bench/peers/ prints",
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "peer": {"type": "string"}, "variant": {"type": "string"}, "version": {"type": "string", "minLength": 1},
        "case": {"enum": list(ALL)}, "threads": COUNT, "payload_bytes": {"const": 32}, "events": COUNT,
        "emitted": COUNT, "delivered": COUNT_OR_NULL, "lost": COUNT_OR_NULL, "told_lost": COUNT_OR_NULL,
        "ns_per_event": NUMBER, "cpu_ns_per_event": NUMBER, "seconds": NUMBER, "seconds_delivered": NUMBER_OR_NULL,
        "budget_bytes": COUNT, "buffer_bytes": COUNT_OR_NULL, "bytes_per_event": NUMBER_OR_NULL,
        "pinned": {"type": "boolean"}, "note": {"type": "string"}},
}
RUN["required"] = list(RUN["properties"])


# --- Cases and peers.
# ----------------------------------------------------------------------------------------


def case(kind, threads, events=None, budget=None):
    """A case of its usual size: 31 bursts; 3,000,000 events per thread; 1,000,000 in total through 1 MiB."""
    usual = {"burst": (310_000, 4 * MIB * threads), "sustained": (3_000_000, 4 * MIB * threads),
             "flood": (max(1, 1_000_000 // threads), MIB)}[kind]
    return Case(kind, threads, events or usual[0], budget or usual[1])


def usual_cases(kinds=ALL, threads=None):
    usual_threads = {"burst": (1,), "sustained": (1, 2), "flood": (1, 4, 16)}
    return [case(kind, count) for kind in kinds for count in threads or usual_threads[kind]]


def select(names=None):
    """The peers with these names: "weir" for all variants, or "weir:block". Raises ValueError for an unknown name."""
    programs = list(dict.fromkeys(peer.program for peer in PEERS))
    for name in names or ():
        if not any(name in (peer.name, peer.program) for peer in PEERS):
            raise ValueError(f"'{name}' is not a peer; known are {', '.join(programs)}, and with variants "
                             f"{', '.join(peer.name for peer in PEERS if ':' in peer.name)}")
    return [peer for peer in PEERS if not names or peer.name in names or peer.program in names]


# --- Building. -------------------------------------------------------------------------------------------------


def build():
    """Builds the peers whose libraries are installed; peers.json says why others are not. Raises Failed with the end of
    the output."""
    for command in (["cmake", "--preset", "bench"],
                    ["cmake", "--build", "--preset", "bench", "--target", "peers", "weir_tool", "weir-machine"]):
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            end = "\n".join((done.stdout + done.stderr).splitlines()[-25:])
            raise Failed(f"{' '.join(command)} failed:\n{end}")


def program_of(folder, name):
    """The program's path. Raises Missing with the reason if it was not built."""
    listed = os.path.join(folder, "bench", "peers", "peers.json")
    try:
        with open(listed, encoding="utf-8") as file:
            reason = json.load(file).get(name, {"missing": f"it is not in {listed}"})["missing"]
    except OSError:
        raise Missing(f"the peers are not built: there is no {listed}") from None
    if reason:
        raise Missing(reason)
    return os.path.join(folder, "bin", f"peer-{name}")


# --- Running. --------------------------------------------------------------------------------------------------


class Runner:
    """Runs peers in a workplace. The environment of one (a daemon, a build) is set up when it is first needed."""

    def __init__(self, workplace, pins=False, timeout_s=TIMEOUT_S, folder=FOLDER):
        self.workplace, self.pins, self.timeout_s, self.folder = workplace, pins, timeout_s, folder
        self.surroundings = {}

    def surrounding(self, name, make):
        """Sets up an environment once; if that fails, it is missing from then on."""
        if name not in self.surroundings:
            try:
                self.surroundings[name] = make()
            except Missing as missing:
                self.surroundings[name] = missing
        if isinstance(self.surroundings[name], Missing):
            raise self.surroundings[name]
        return self.surroundings[name]

    def prepare(self, peer):
        """Raises Missing if the peer cannot run here."""
        if peer.program == "eventpipe":
            return self.surrounding("eventpipe", lambda: eventpipe_program.EventPipe(self.workplace))
        program = program_of(self.folder, peer.program)
        if peer.program == "lttng":
            return self.surrounding("lttng", lambda: lttng.Lttng(self.workplace, program))
        return program

    def arguments(self, peer, of):
        words = ["--case", of.kind, "--events", of.events, "--threads", of.threads, "--json",
                 "--variant", peer.option or peer.variant, *(["--pin"] if self.pins else []),
                 *(["--budget", peer.budget or of.budget] if peer.program not in WITHOUT_BUDGET else [])]
        return [str(word) for word in words]

    def run(self, peer, of):
        """Runs one process. Returns its report, with what reading the trace and the state of the machine add. Raises
        Missing or Failed."""
        place = self.prepare(peer)
        machine = os.path.join(self.folder, "bin", "weir-machine")
        try:
            return state.around(machine, lambda: self.run_in(place, peer, of))
        except (Failed, runs.Failed) as error:
            raise Failed(f"{peer.name}, {of.kind}, threads {of.threads}: {error}") from None

    def run_in(self, place, peer, of):
        arguments = self.arguments(peer, of)
        if peer.program == "lttng":
            out, known = place.run(arguments, of.kind, of.budget, peer.variant, self.drain_set(of), self.timeout_s)
        else:
            out, known = self.run_into_folder(peer, place, arguments)
        if peer.program in WITHOUT_BUDGET:
            known["budget_bytes"] = of.budget
        return self.report(peer, out, known)

    def drain_set(self, of):
        """Processors for the draining thread: with --pin, the last one if no thread emits there."""
        allowed = sorted(os.sched_getaffinity(0))
        return {allowed[-1]} if self.pins and of.threads < len(allowed) else set(allowed)

    def run_into_folder(self, peer, place, arguments):
        folder = self.workplace.make_folder("output")
        try:
            if peer.program == FLOOR:
                return self.workplace.run([place, *arguments], self.timeout_s), {}
            arguments = [*arguments, "--output", folder]
            if peer.program == "eventpipe":
                return self.workplace.run([*place.command, *arguments], self.timeout_s, env=place.environment), {}
            return self.workplace.run([place, *arguments], self.timeout_s), self.read_back(peer, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def read_back(self, peer, folder):
        """The events that an independent reader finds."""
        if peer.program == "weir":
            return {"read": self.weir_events(os.path.join(folder, "weir.nettrace"))}
        if peer.program == "dpdk":
            if not shutil.which("babeltrace2"):
                return {"note": "the number of delivered events is unknown: babeltrace2 is not installed"}
            return {"delivered": rig.ctf_events(self.workplace, folder, self.timeout_s),
                    "bytes": rig.trace_bytes(folder, "channel")}
        return {}

    def weir_events(self, path):
        """Our events in a trace. `weir stat` exits with 3 if some were lost, which is not a failure here."""
        tool = os.path.join(self.folder, "bin", "weir")
        out = self.workplace.run(["sh", "-c", '"$0" stat --json "$1" || [ $? -eq 3 ]', tool, path], self.timeout_s)
        return sum(event["count"] for event in json.loads(out)["events"] if event["provider"] == "WeirBench")

    @staticmethod
    def report(peer, out, known):
        try:
            run = json.loads(out)
            delivered = known.get("delivered", run["delivered"])
            run |= {name: known[name] for name in ("delivered", "told_lost", "budget_bytes", "buffer_bytes", "note")
                    if name in known}
            run["lost"] = None if delivered is None else run["emitted"] - delivered
            if known.get("bytes") is not None and delivered:
                run["bytes_per_event"] = known["bytes"] / delivered
            jsonschema.validate(run, RUN)
        except (ValueError, KeyError, TypeError, jsonschema.ValidationError) as error:
            what = error.message if isinstance(error, jsonschema.ValidationError) else error
            raise Failed(f"it printed no valid report: {what}") from None
        if known.get("read", delivered) != delivered:
            raise Failed(f"it reports {delivered} delivered events, but the trace has {known['read']}")
        return run | {"variant": peer.variant}


# --- Rounds. ---------------------------------------------------------------------------------------------------


def reference(peer, of):
    """Our variant that does the same as this peer: the one that waits, or the one that drops."""
    return "weir:block" if peer.waits or of.kind == "sustained" else "weir:drop"


def add_ratios(round_of):
    """`round_of` maps (peer, case) to the reports of one round. Only what ran in the same state is compared."""
    by_name = {(peer.name, of, run["state"]): run for (peer, of), run in round_of.items()}
    for (peer, of), run in round_of.items():
        for name, other in (("of_floor", FLOOR), ("of_weir", reference(peer, of))):
            base = by_name.get((other, of, run["state"]), {}).get("ns_per_event")
            run[name] = run["ns_per_event"] / base if base and run["state"] != state.MIXED else None


def row_of(peer, of, where, found, reason):
    """One peer in one case and state. `found` has its reports; if there are none, `skipped` or `failed` says why."""
    row = {"name": peer.name, "peer": peer.program, "variant": peer.variant, "case": of.kind, "threads": of.threads,
           "state": where, "skipped": None, "failed": None, "rounds": len(found), "events": of.events,
           "emitted": of.events * of.threads, "budget_bytes": peer.budget or of.budget}
    if reason is not None:
        row["skipped" if isinstance(reason, Missing) else "failed"] = str(reason)
    if found:
        row |= {name: found[-1][name] for name in ("version", "payload_bytes", "buffer_bytes", "pinned", "note")}
    for name in FIGURES:
        values = [run[name] for run in found if run[name] is not None]
        row[name] = statistics.median(values) if values else None
        row.setdefault("least", {})[name] = min(values, default=None)
        row.setdefault("greatest", {})[name] = max(values, default=None)
    return row | {"runs": found}


class Rounds:
    def __init__(self, runner, peers, cases, show):
        self.runner, self.show = runner, show
        self.plan = [(peer, of) for of in cases for peer in peers if of.kind in peer.kinds]
        self.found, self.reasons = [], {}  # a mapping for each round; why one is not run any more
        self.done = 0

    def go(self):
        """One round. A peer that is missing or has failed is not run again."""
        round_of = {}
        for number, (peer, of) in enumerate(self.plan, 1):
            self.show(f"round {self.done + 1}: {number}/{len(self.plan)} {peer.name}, {of.kind}, threads {of.threads}")
            if (peer, of) in self.reasons:
                continue
            try:
                round_of[peer, of] = self.runner.run(peer, of)
            except (Missing, Failed) as reason:
                self.reasons[peer, of] = reason
        self.found.append(round_of)
        self.done += 1

    def rows(self):
        least_ns = state.fastest(state.taken(run) for round_of in self.found for run in round_of.values())
        for round_of in self.found:
            for run in round_of.values():
                run["state"] = state.of(state.taken(run), least_ns)
            add_ratios(round_of)
        return [row for step in self.plan for row in self.rows_of(*step, least_ns)]

    def rows_of(self, peer, of, least_ns):
        """A row for each state; one without figures if there is none."""
        found = [round_of[peer, of] for round_of in self.found if (peer, of) in round_of]
        by_state = state.split(found, state.taken, least_ns) or {"": []}
        return [row_of(peer, of, where, some, self.reasons.get((peer, of))) for where, some in by_state.items()]


def measure(cases, rounds, names=None, *, threads=None, pins=False, seconds=None, show=None, builds=True):
    """Rows of all peers with these names in these cases: "burst", "sustained" or "flood" of the usual size, or a Case.

    A row's figures are medians over the rounds in its state, None where a peer has no such figure; row["least"]
    and row["greatest"] have the same names. row["skipped"] says why a peer is missing on this
    machine, row["failed"] what went wrong; otherwise they are None. Rounds end after `seconds`, but
    at least one is run. Raises Failed if the programs cannot be built, ValueError for an unknown
    name.
    """
    wanted = [of if isinstance(of, Case) else usual for of in cases
              for usual in ([of] if isinstance(of, Case) else usual_cases([of], threads))]
    peers = select(names)
    if builds:
        build()
    started_s, longest_s = time.monotonic(), 0
    with contextlib.ExitStack() as stack:
        workplace = stack.enter_context(rig.Workplace())
        going = Rounds(Runner(workplace, pins), peers, wanted, show or (lambda _text: None))
        while going.done < rounds:
            before_s = time.monotonic()
            if seconds and going.done and before_s - started_s + longest_s > seconds:
                break
            going.go()
            longest_s = max(longest_s, time.monotonic() - before_s)
        return going.rows()


# --- Words. ----------------------------------------------------------------------------------------------------


def spread(row, name):
    """20.1 (18.5..24.0)"""
    if row[name] is None:
        return "-"
    middle, least, greatest = map(runs.significant, (row[name], row["least"][name], row["greatest"][name]))
    return middle if row["rounds"] == 1 else f"{middle} ({least}..{greatest})"


def share_lost(row):
    return "-" if row["lost"] is None else f"{100 * row['lost'] / row['emitted']:.1f} %"


def cells(row):
    count = "-" if row["delivered"] is None else f"{row['delivered']:,.0f}"
    return [row["name"], row["state"], spread(row, "ns_per_event"), runs.significant(row["cpu_ns_per_event"]),
            spread(row, "of_floor"), spread(row, "of_weir"), count, share_lost(row),
            runs.significant(row["bytes_per_event"])]


HEAD = ["peer", "machine", "ns/event", "cpu ns", "x floor", "x weir", "delivered", "lost", "bytes/event"]


def tables(rows):
    """Lines: a table for each case, and below it why a peer is missing."""
    for (kind, threads), members in runs.group(rows, lambda row: (row["case"], row["threads"])).items():
        first = members[0]
        yield (f"{kind}, threads {threads}, {first['emitted']:,} events, budget {runs.size(first['budget_bytes'])}, "
               f"rounds {max(row['rounds'] for row in members)}")
        yield from runs.table([HEAD, *(cells(row) for row in members if row["rounds"])])
        for word in ("skipped", "failed"):
            yield from (f"{row['name']} {word}: {row[word]}" for row in members if row[word])
        yield ""
