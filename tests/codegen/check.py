"""Checks object code. The modes are at the end; each prints its findings and fails on a violation."""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

from tests.codegen import aarch64, disassembly as dis

BOTH = ("x86-64", "aarch64")
EMIT_AT = ("weir_emit_at", *(f"weir_emit_words{count}_at" for count in range(5)))
EMIT = ("weir_emit", *(f"weir_emit_words{count}" for count in range(6)), *EMIT_AT)
SLOW_PATHS = ("wr_emit_slow", "wr_emit_pinned_slow", "wr_emit_words_slow", "wr_emit_unfit",
              *(f"wr_emit_pinned_words{count}" for count in range(6)), "wr_emit_at_slow", "wr_emit_at_pinned_slow",
              "wr_emit_words_at_slow", "wr_emit_words_at_pinned_slow")
FENCES = ("mfence", "lfence", "sfence", "cpuid", "rdtscp", "syscall")
LOCKED = re.compile(r"^xchg")


# --- The emit function. ------------------------------------------------------------------------------

def is_locked(instruction):
    if "lock" in instruction.prefixes:
        return True
    return bool(LOCKED.match(instruction.name)) and "(" in instruction.operands


def is_fence(instruction):
    """A fence, or an instruction that serializes like one."""
    return instruction.name in FENCES


def emit_violations(function):
    """Violations in the body of an emit function, one line each."""
    if function[0].machine == "aarch64":
        return aarch64.emit_violations(function, SLOW_PATHS)
    found = []
    inside = {instruction.address for instruction in function}
    for instruction in function:
        say = lambda what: found.append(f"{what}: {instruction.text}")
        if is_locked(instruction):
            say("locked instruction")
        if is_fence(instruction):
            say("fence or serializing instruction")
        if any("__tls_get_addr" in symbol or "TLSGD" in kind or "TLSLD" in kind
               for kind, symbol in instruction.relocations) or "__tls_get_addr" in instruction.symbol:
            say("thread-local storage by call")
        if instruction.is_call:
            say("call")
        if instruction.name == "jmp" and leaves(instruction, inside) and instruction.callee not in SLOW_PATHS:
            say("leaves to something that is not a slow path")
        if re.match(r"^(sub|add|and)q?$", instruction.name) and instruction.operands.endswith(",%rsp"):
            say("stack frame")
    if not any(instruction.is_return for instruction in function):
        found.append("no return: this is not the function's body")
    return found + stores_before_clock(function)


def clock_readings(function):
    """An event with the caller's stamp reads no clock."""
    return [f"reads the clock: {instruction.text}" for instruction in function
            if instruction.name == "rdtsc" or "cntvct" in instruction.operands]


def stores_before_clock(function):
    """What would delay the clock's reading: see emit() in event/emit.c. The pin is entered by an addition, not a move."""
    at = next((i for i, instruction in enumerate(function) if instruction.name == "rdtsc"), 0)
    return [f"stored before the clock is read: {instruction.text}" for instruction in function[:at]
            if re.match(r"^v?mov", instruction.name) and instruction.operands.endswith(")")]


def leaves(instruction, inside):
    return bool(instruction.relocations) or instruction.target is None or instruction.target not in inside


def pushes(function):
    return sum(instruction.name.startswith("push") for instruction in function)


def check_emit(arguments):
    skip_unless_optimized(arguments)
    failures = 0
    for path in arguments.files:
        functions = dis.functions(path, BOTH)
        for name in EMIT:
            failures += report(f"{os.path.basename(path)}, {name}", emit_function_violations(functions, path, name))
        for name in EMIT_AT:
            failures += report(f"{os.path.basename(path)}, {name}", clock_readings(functions[name]))
        if functions[EMIT[0]][0].machine == "aarch64":
            take = [i for name, body in functions.items() if re.search(r"^wr_free_list_take$|dequeue$", name) for i in body]
            failures += report(os.path.basename(path), aarch64.free_list_violations(take))
    return failures


def emit_function_violations(functions, path, name):
    if name not in functions:
        sys.exit(f"{path}: no function {name}")
    body = [i for i in functions[name] if not i.is_padding]
    print(f"{os.path.basename(path)}, {name}: {len(body)} instructions in all, {pushes(body)} saved registers")
    return emit_violations(functions[name])


def skip_unless_optimized(arguments):
    if arguments.build_type not in ("Release", "RelWithDebInfo", "MinSizeRel"):
        dis.skip(f"a build of type '{arguments.build_type}' is not optimized")


def length(command):
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode == dis.SKIPPED:
        dis.skip(run.stderr.strip())
    if run.returncode != 0:
        sys.exit(run.stderr.strip())
    return int(run.stdout)


def baseline_length(arguments):
    """The number in this compiler's baseline, which ./dev bench count also compares with; None if there is none."""
    compiler, version = arguments.compiler.rsplit(" ", 1)
    path = os.path.join(arguments.baselines, f"{compiler.lower()}-{version.split('.')[0]}.json")
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return json.load(file)["emit_length"].get("aarch64" if arguments.emulator else "x86-64")


def check_length(arguments):
    """Compares the number of instructions that an event executes with the baseline."""
    skip_unless_optimized(arguments)
    count = aarch64.length(arguments.emulator, arguments.files) if arguments.emulator else length(arguments.files)
    print(f"an enabled event of 32 bytes executes {count} instructions in weir_emit_words4 ({arguments.compiler})")
    limit = baseline_length(arguments)
    if arguments.build_type != "Release" or limit is None:
        print(f"no baseline for this compiler ({arguments.build_type}); add one to emit_length in results/baseline/")
        return 0
    if count > limit:
        return report("weir_emit_words4", [f"{count} instructions, the baseline is {limit}"])
    if count < limit:
        print(f"the baseline, {limit}, can be lowered")
    return 0


# --- A site. -------------------------------------------------------------------------------------------

def path_from(function, index):
    """The instructions executed from that index up to a conditional branch (inclusive), a return, or a jump out."""
    by_address = {instruction.address: i for i, instruction in enumerate(function)}
    taken = []
    while index is not None and index < len(function) and len(taken) < 1000:
        instruction = function[index]
        if not instruction.is_padding:
            taken.append(instruction)
        if instruction.is_conditional or instruction.is_return:
            break
        if instruction.name == "jmp":
            if leaves(instruction, by_address):
                break
            index = by_address[instruction.target]
        else:
            index += 1
    return taken


def successors(function, branch):
    by_address = {instruction.address: i for i, instruction in enumerate(function)}
    next_index = by_address[branch.address] + 1
    return [path_from(function, next_index), path_from(function, by_address[branch.target])]


def transfers(path):
    """Calls, and a jump that replaces a tail call."""
    found = [i for i in path if i.is_call]
    if path and path[-1].name == "jmp":
        found.append(path[-1])
    return found


def is_frame(instruction):
    """The stack frame of the function around the site, which some compilers set up first."""
    return bool(re.match(r"^(push|pop) +%|^(sub|add) +\$\S+,%rsp$", instruction.text))


def test_violations(head):
    """Up to and including the branch: one load of the enabled word, a comparison with zero, and nothing else."""
    found = []
    loads = [i for i in head if i.reads_memory]
    if len(loads) != 1:
        found.append(f"{len(loads)} loads before the branch: " + "; ".join(i.text for i in loads))
    if any("GOT" in kind for i in head for kind, _ in i.relocations):
        found.append("the event's address comes from the GOT")
    if transfers(head):
        found.append("call before the branch: " + transfers(head)[0].text)
    rest = [i for i in head if not i.reads_memory and not i.name.startswith(("test", "cmp")) and
            not i.is_conditional and not is_frame(i)]
    if rest:
        found.append("more than load, test and branch: " + "; ".join(i.text for i in rest))
    return found


def is_plain_end(path):
    """What may follow if the event is disabled: a result of false, and the return."""
    return path and path[-1].is_return and all(
        i.is_return or is_frame(i) or re.match(r"^xor\w? +(%\w+),\1$", i.text) for i in path)


def is_table_call(path):
    """A call through a word of the plug-in's copy of the table, or through the register that it was loaded to."""
    call = transfers(path)[-1]
    register = re.match(r"^\*(%\w+)$", call.operands)
    if register:
        before = path[:path.index(call)]
        call = next((i for i in reversed(before) if i.operands.endswith("," + register.group(1))), call)
    return call.callee == "weir_plugin" and "(%rip)" in call.operands


def site_violations(function, fences=0, is_plugin=False):
    """`fences`: how many the enabled path must have."""
    head = path_from(function, 0)
    if not head or not head[-1].is_conditional:
        return ["no test before the event"]
    found = test_violations(head)
    paths = successors(function, head[-1])
    disabled = [path for path in paths if is_plain_end(path)]
    enabled = [path for path in paths if not is_plain_end(path)]
    if len(disabled) != 1 or len(enabled) != 1:
        return found + ["the branch does not lead to one way out and one way in"]
    if sum(map(is_fence, enabled[0])) != fences:
        found.append(f"an enabled event does not have {fences} fences")
    calls = [i for i in transfers(enabled[0]) if i.callee != "host_value"]
    if len(calls) != 1 or not (is_table_call(enabled[0]) if is_plugin else calls[0].callee in EMIT):
        found.append("an enabled event is not one call of weir_emit or one of its like: " +
                     "; ".join(i.text + " " + i.callee for i in calls))
    return found


def check_host(arguments, is_plugin=False):
    failures = 0
    for path in arguments.files:
        sites = {name: body for name, body in dis.functions(path).items() if name.startswith("host_site_")}
        if len(sites) < 7:
            sys.exit(f"{path}: {len(sites)} sites, expected 7")
        for name, body in sorted(sites.items()):
            failures += report(f"{os.path.basename(path)}, {name}",
                               site_violations(body, fences=name == "host_site_ordered", is_plugin=is_plugin))
        print(f"{os.path.basename(path)}: {len(sites)} sites")
    return failures


def check_plugin(arguments):
    return check_host(arguments, is_plugin=True)


# --- Symbols. --------------------------------------------------------------------------------------------

LINKER_SYMBOLS = ("_init", "_fini", "_edata", "_end", "__bss_start")


def names_of(path, *options):
    lines = dis.output_of([dis.tool("nm"), *options, "--defined-only", path]).splitlines()
    words = [line.split() for line in lines]
    return {row[2].split("@")[0] for row in words if len(row) == 3 and row[1] != "A"} # A: a version node


def exportable_of(path):
    """The symbols that a shared library or plug-in which links all of this archive would export. A symbol that one object
    declares hidden is so in the whole link."""
    lines = dis.output_of([dis.tool("readelf"), "-sW", path]).splitlines()
    rows = [row for row in (line.split() for line in lines) if len(row) == 8 and row[4] in ("GLOBAL", "WEAK")]
    hidden = {row[7] for row in rows if row[5] == "HIDDEN"}
    return {row[7].split("@")[0] for row in rows if row[7] not in hidden and row[6] not in ("UND", "Ndx")}


def declared_in(folder):
    """The functions of the public headers."""
    names = set()
    for header in pathlib.Path(folder, "weir").glob("*.h"):
        text = header.read_text(encoding="utf-8")
        names.update(re.findall(r"^(?:WEIR_NODISCARD )?WEIR_API\b[^;{]*?\b(weir_\w+)\(", text, re.M))
    return names


def check_symbols(arguments):
    archive, shared, include = arguments.files
    exported = names_of(shared, "-D") - set(LINKER_SYMBOLS)
    visible = names_of(archive, "-g")
    if not exported or not visible:
        sys.exit("no symbols found")
    declared = declared_in(include)
    found = [f"exported, but in no header: {name}" for name in sorted(exported - declared)]
    found += [f"in a header, but not exported (core/weir.map): {name}" for name in sorted(declared - exported)]
    found += [f"global: {name}" for name in sorted(visible) if not name.startswith(("weir_", "wr_"))]
    found += [f"not hidden in the archive: {name}" for name in sorted(exportable_of(archive))]
    if not exported <= exportable_of(shared):
        found.append("the exports of the shared library were not found")
    print(f"{len(exported)} exported symbols, {len(visible)} global and hidden ones in the archive")
    return report("symbols", found)


# --- Canaries. ---------------------------------------------------------------------------------------------

CANARIES = {
    "canary_lock": "locked instruction",
    "canary_xchg": "locked instruction",
    "canary_mfence": "fence",
    "canary_lfence": "fence",
    "canary_call": "call",
    "canary_indirect_call": "call",
    "canary_tls": "thread-local storage by call",
    "canary_leaves_elsewhere": "not a slow path",
    "canary_frame": "stack frame",
    "canary_store_before_clock": "stored before the clock",
    "canary_site_eager": "call before the branch",
    "canary_site_got": "GOT",
    "canary_site_two_tests": "not one call",
    "canary_site_two_calls": "not one call",
    "canary_site_no_test": "no test",
    "canary_plugin_site_direct": "not one call",
    "canary_plugin_site_pointer": "not one call",
}


def violations_of(name, body):
    return site_violations(body, is_plugin="plugin" in name) if "site" in name else emit_violations(body)


def check_canary(arguments):
    bodies = dis.functions(arguments.files[0], BOTH)
    is_aarch64 = bodies["clean_emit"][0].machine == "aarch64"
    canaries = aarch64.CANARIES if is_aarch64 else CANARIES
    failures = 0
    for name, expected in canaries.items():
        found = violations_of(name, bodies[name])
        if not any(expected in line for line in found):
            failures += report(name, [f"'{expected}' was not found; found: {found}"])
    for name in ("clean_emit",) if is_aarch64 else ("clean_emit", "clean_site"):
        failures += report(name, violations_of(name, bodies[name]))
    print(f"{len(canaries)} canaries")
    return failures


def report(where, found):
    for line in found:
        print(f"{where}: {line}", file=sys.stderr)
    return len(found)


MODES = {"host": check_host, "plugin": check_plugin, "emit": check_emit, "length": check_length, "symbols": check_symbols,
         "canary": check_canary}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mode", choices=MODES)
    parser.add_argument("--build-type", default="Release")
    parser.add_argument("--compiler", default="unknown 0")
    parser.add_argument("--baselines", help="folder of results/")
    parser.add_argument("--tools", default="", help="prefix of the names of objdump, nm and readelf")
    parser.add_argument("--emulator", default="", help="program that runs binaries for another processor")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    dis.TOOLS = arguments.tools
    sys.exit(1 if MODES[arguments.mode](arguments) else 0)


if __name__ == "__main__":
    main()
