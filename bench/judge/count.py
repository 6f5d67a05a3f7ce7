"""The deterministic figures of a build: what an event executes, and how large things are.

    events     instructions, locked instructions, calls, clock readings per event; allocations and system calls per
               10^6 events
    bytes      per event in the lane and in the file
    code       the emit function, the library, and a minimal program with it
    exports    the names that the shared library exports

All of it is exact: the same build counts the same, on every machine with the same C library. measure() counts
twice; a figure that differs depends on time or on other threads, and is none.
"""
import os
from dataclasses import dataclass, field

from bench.judge import callgrind
from bench.judge.callgrind import check, disassembly
from bench.judge.command import runs

TARGETS = ["weir-count"]
PROGRAMS = ("weir-count-emit", "weir-count-drain")
MINIMAL = "weir-count-minimal"  # the README's program
EVENTS = 20000

# Of each work: (figure, unit, per how many events).
FIGURES = (("instructions", "instructions/event", 1), ("locked", "locked instructions/event", 1),
           ("calls", "calls/event", 1), ("allocations", "allocations/10^6 events", 1000000),
           ("system_calls", "system calls/10^6 events", 1000000))
READER_FIGURES = FIGURES[:1]  # a reader may allocate as it likes
# Of the one program whose clock is the processor's counter.
CLOCK_FIGURES = (("clock_readings", "clock readings/event", 1),)

# Where the processor has no invariant counter, or the system no membarrier, each event takes the slow way.
SLOW_WAY = "wr_emit_slow"
NEVER_SLOW = "emit/enabled/payload:32"


@dataclass
class Figures:
    compiler: str  # "GNU 12.2.0"
    libc: str
    values: dict  # name: (value, unit)
    exports: list
    note: str = ""  # why some are missing
    differing: dict = field(default_factory=dict)  # name: what was counted the first and the second time


def family_major(compiler):
    """"GNU 12.2.0" is gnu-12: the name of its baseline."""
    family, _, version = compiler.partition(" ")
    return f"{family.lower()}-{version.split('.')[0]}"


def read_facts(text):
    """Lines of "name value"; what the program is of, and what it found without callgrind."""
    return dict(line.split(" ", 1) for line in text.splitlines() if " " in line)


def figures_of(program, work):
    if work.startswith("reader/"):
        return READER_FIGURES
    return FIGURES + CLOCK_FIGURES if program == "weir-count-emit" else FIGURES


def per_event(profiles, work, figures=FIGURES):
    """Of N events and of 2N: their difference is of N events, without what belongs to none."""
    counts = sorted(profiles.items())
    if len(counts) != 2 or counts[1][0] != 2 * counts[0][0]:
        raise runs.Failed(f"{work}: profiles for {[events for events, _ in counts]} events, expected N and 2N")
    (events, once), (_, twice) = counts
    return {f"{work}/{figure}": (round((twice[figure] - once[figure]) * scale / events, 6), unit)
            for figure, unit, scale in figures}


def executed(folder, events):
    """Figures of the programs' works, and their facts."""
    values, facts, is_slow = {}, {}, False
    for name in PROGRAMS:
        output, works = callgrind.run(os.path.join(folder, "bin", name), events)
        facts.update(read_facts(output))
        is_slow |= any(SLOW_WAY in profile["functions"] for profile in works.get(NEVER_SLOW, {}).values())
        for work, profiles in sorted(works.items()):
            values.update(per_event(profiles, work, figures_of(name, work)))
    for name, value in facts.items():
        if name.startswith("bytes/"):
            values[name] = (float(value), "bytes/event")
    if is_slow:
        values = {name: value for name, value in values.items() if not name.startswith("emit/")}
    return values, facts, is_slow


def code(folder):
    """Static figures, and the exported names."""
    library = os.path.join(folder, "core", "libweir.so")
    functions = disassembly.functions(library)
    bodies = [functions[name] for name in check.EMIT if name in functions]  # an older revision has only weir_emit
    if not bodies:
        raise runs.Failed(f"{library} has no function weir_emit")
    exports = sorted(check.names_of(library, "-D") - set(check.LINKER_SYMBOLS))
    # Of the emit functions, the one that has most.
    locked, fences = (max(sum(map(kind, body)) for body in bodies) for kind in (check.is_locked, check.is_fence))
    calls = max(sum(i.is_call for i in body) for body in bodies)
    return {"code/weir_emit/locked": (locked, "locked instructions"), "code/weir_emit/calls": (calls, "calls"),
            "code/weir_emit/fences": (fences, "fences"),
            "code/weir_emit/size": (symbol_bytes(library, "weir_emit"), "bytes"),
            "code/libweir/text": (section_bytes(library, ".text"), "bytes"),
            "code/libweir/exports": (len(exports), "names"), **minimal(folder)}, exports


def minimal(folder):
    """An older revision has no such program."""
    program = os.path.join(folder, "bin", MINIMAL)
    return {f"code/minimal/{section}": (section_bytes(program, f".{section}"), "bytes")
            for section in ("text", "bss") if os.path.exists(program)}


def symbol_bytes(path, name):
    for line in disassembly.output_of([disassembly.tool("nm"), "-S", "--defined-only", path]).splitlines():
        words = line.split()
        if len(words) == 4 and words[3] == name:
            return int(words[1], 16)
    raise runs.Failed(f"{path} does not say how large {name} is")


def section_bytes(path, section):
    for line in disassembly.output_of([disassembly.tool("size"), "-A", path]).splitlines():
        words = line.split()
        if len(words) >= 2 and words[0] == section:
            return int(words[1])
    raise runs.Failed(f"{path} has no {section}")


def measure(folder, events=EVENTS):
    """The figures of a build folder."""
    first, facts, is_slow = executed(folder, events)
    second, _, _ = executed(folder, events)
    differing = {name: (first[name][0], second[name][0])
                 for name in first.keys() & second.keys() if first[name] != second[name]}
    static, exports = code(folder)
    values = {name: value for name, value in {**first, **static}.items() if name not in differing}
    note = "this machine has no invariant counter or no membarrier: what an emit executes was not counted" if is_slow else ""
    return Figures(facts["compiler"], facts["libc"], values, exports, note, differing)
