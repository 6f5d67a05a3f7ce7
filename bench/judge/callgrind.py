"""Runs a counting program under callgrind and reads its profiles: what was executed, not how long it took.

Besides instructions a profile tells, of each work: the locked instructions, calls and readings of the processor's
counter among them, the calls of the allocator, and the system calls.
"""
import functools
import glob
import os
import re
import shutil
import tempfile

from bench.judge import process
from bench.judge.command import runs

from tests.codegen import check, disassembly

# The C library has several memcpy and takes the one for the processor; here it takes the same one everywhere.
HWCAPS = ("AVX", "AVX2", "AVX512F", "AVX512VL", "AVX512BW", "AVX_Fast_Unaligned_Load", "ERMS", "FSRM", "BMI1", "BMI2",
          "LZCNT", "MOVBE", "RTM", "SSE4_1", "SSE4_2", "SSSE3", "Fast_Unaligned_Copy", "Prefer_No_VZEROUPPER")
TUNABLES = ("glibc.cpu.hwcaps=" + ",".join("-" + name for name in HWCAPS) +
            ":glibc.cpu.x86_non_temporal_threshold=0xc0000:glibc.cpu.x86_rep_movsb_threshold=0x800"
            ":glibc.cpu.x86_rep_stosb_threshold=0x800")
ALLOCATORS = re.compile(r"^(malloc|calloc|realloc|reallocarray|aligned_alloc|memalign|posix_memalign|valloc)(@|$)")
TRIGGER = re.compile(r"^desc: Trigger: Client Request: (\S+) events:(\d+)$")
SPECIAL = re.compile(r"\b(lock|xchg\w?|call\w?|syscall|rdtscp?)\b")
SECONDS_MAX = 120


def words(program, arguments, pattern):
    """Without randomized addresses; symbols are bound before anything is counted."""
    return ["setarch", "-R", "valgrind", "--quiet", "--tool=callgrind", "--instr-atstart=no", "--dump-instr=yes",
            "--dump-line=no", "--separate-threads=yes", "--compress-strings=no", "--compress-pos=no",
            "--callgrind-out-file=" + pattern, program, *arguments]


def environment():
    return {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LD_BIND_NOW": "1", "GLIBC_TUNABLES": TUNABLES,
            "LC_ALL": "C"}


def run(program, events):
    """What the program prints, and its profiles: {work: {events: {figure: count}}}."""
    for needed in ("valgrind", "setarch"):
        if not shutil.which(needed):
            raise runs.Failed(f"{needed} is not installed; ./dev deps bench installs it")
    with tempfile.TemporaryDirectory(prefix="weir-count-") as folder:
        pattern = os.path.join(folder, "profile")
        told = process.output(words(program, [str(events)], pattern), SECONDS_MAX, env=environment())
        return told, read_all(glob.glob(pattern + ".*"), program)


def read_all(paths, program):
    found = {}
    for path in paths:
        with open(path, encoding="utf-8", errors="replace") as file:
            profile = read(file)
        if profile:
            found.setdefault(profile["work"], {})[profile["events"]] = profile
    if not found:
        raise runs.Failed(f"{os.path.basename(program)} wrote no profile: was it built without valgrind's headers?")
    return found


def special_addresses(path):
    """Where an object has locked instructions, calls, system calls and clock readings: {address: which}."""
    try:
        status = os.stat(path)
    except OSError:
        return {}  # such as the kernel's own page
    return read_special_addresses(path, status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=None)
def read_special_addresses(path, *_version):
    found = {}
    listing = disassembly.output_of([disassembly.tool("objdump"), "-d", "--no-show-raw-insn", "-w", path])
    for line in filter(SPECIAL.search, listing.splitlines()):
        match = disassembly.INSTRUCTION.match(line)
        if match:
            instruction = disassembly.parse(match.group(2), int(match.group(1), 16))
            kind = kind_of(instruction)
            if kind:
                found[instruction.address] = kind
    return found


def kind_of(instruction):
    if check.is_locked(instruction):
        return "locked"
    if instruction.is_call:
        return "calls"
    return {"syscall": "system_calls", "rdtsc": "clock_readings", "rdtscp": "clock_readings"}.get(instruction.name)


def read(lines):
    """One profile; None for one that no work triggered. After a "calls=" line stands what the callee has taken."""
    profile = {"instructions": 0, "system_calls": 0, "allocations": 0, "locked": 0, "calls": 0, "clock_readings": 0,
               "functions": set()}
    special, callee, is_callees = {}, "", False
    for line in lines:
        if line.startswith("0x") and not is_callees:
            add_cost(profile, line.split(), special)
        elif line.startswith("0x"):
            is_callees = False
        elif line.startswith("ob="):
            special = special_addresses(line[3:].strip())
        elif line.startswith("fn="):
            profile["functions"].add(line[3:].strip())
        elif line.startswith("cfn="):
            callee = line[4:].strip()
        elif line.startswith("calls="):
            is_callees = True
            if ALLOCATORS.match(callee):
                profile["allocations"] += int(line[6:].split()[0])
        elif line.startswith("thread:") and line.split()[1] != "1":
            return None  # of those that are put to sleep meanwhile
        elif line.startswith("desc:"):
            match = TRIGGER.match(line.strip())
            if match:
                profile["work"], profile["events"] = match.group(1), int(match.group(2))
    return profile if "work" in profile else None


def add_cost(profile, words, special):
    """An address, and how often what is there was executed; without a number, never."""
    address, times = int(words[0], 16), int(words[1]) if len(words) > 1 else 0
    profile["instructions"] += times
    if address in special:
        profile[special[address]] += times
