"""The rules of check.py for the emit function, in the instructions of aarch64."""
import re
import subprocess
import sys
import tempfile

from tests.codegen import disassembly as dis

BARRIER = re.compile(r"^(dmb|dsb|isb|sb|svc)$")
# Load-exclusive, store-exclusive, and the atomic instructions of ARMv8.1. Not ldar and stlr, which
# are a plain load and a plain store.
ATOMIC = re.compile(r"^(ldx|ldax|stx|stlx|cas|swp|(ld|st)(add|clr|set|eor|[su]max|[su]min))")
BRANCH = re.compile(r"^(b|b\..+|cbz|cbnz|tbz|tbnz)$")

CANARIES = {
    "canary_lock": "atomic instruction",
    "canary_xchg": "atomic instruction",
    "canary_mfence": "barrier",
    "canary_lfence": "barrier",
    "canary_call": "call",
    "canary_indirect_call": "call",
    "canary_tls": "call",
    "canary_leaves_elsewhere": "not a slow path",
    "canary_frame": "stack frame",
}


def target(instruction):
    """The target address of a branch, which is its last operand; otherwise None."""
    match = re.search(r"\b([0-9a-f]+)\s*$", instruction.operands)
    return int(match.group(1), 16) if match else None


def leaves(instruction, inside):
    return bool(instruction.relocations) or target(instruction) not in inside


def emit_violations(function, slow_paths):
    found = []
    inside = {instruction.address for instruction in function}
    for instruction in function:
        say = lambda what: found.append(f"{what}: {instruction.text}")
        name = instruction.name
        if ATOMIC.match(name):
            say("atomic instruction")
        if BARRIER.match(name):
            say("barrier")
        if name in ("bl", "blr"):
            say("call")
        if name == "br" or (BRANCH.match(name) and leaves(instruction, inside) and instruction.callee not in slow_paths):
            say("leaves to something that is not a slow path")
        if re.match(r"^sub sp, sp|^stp x29, x30", instruction.text.replace("\t", " ")):
            say("stack frame")
    if not any(instruction.is_return for instruction in function):
        found.append("no return: this is not the function's body")
    return found


def free_list_violations(function):
    """Checks that the value of a node is read before the head is moved past it: see free_list.c."""
    memory = [i for i in function if re.match(r"^(ld|st)", i.name) or BARRIER.match(i.name)]
    before = [memory[at - 1] for at, i in enumerate(memory) if i.name == "ldxp" and at > 0]
    if not before:
        return ["no exchange of two words: this code does not take a segment"]
    return [f"the head is moved without a barrier, after: {i.text}" for i in before if i.name != "dmb"]


def length(emulator, command):
    """The number of instructions in the last call of weir_emit_words4: qemu logs each as one translation block."""
    function = dis.functions(command[0], ("aarch64",))["weir_emit_words4"]
    start, size = function[0].address, function[-1].address + 4 - function[0].address
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as log:
        options = ["-singlestep", "-d", "exec,nochain", "-dfilter", f"{start:#x}+{size:#x}", "-D", log.name]
        if subprocess.run([*emulator.split(), *options, *command, "emit"], check=False).returncode != 0:
            sys.exit("the event was not written")
        executed = [int(text, 16) for text in re.findall(r"^Trace .*?\[\w+/(\w+)/", log.read(), re.M)]
    if executed[-1] not in {instruction.address for instruction in function if instruction.is_return}:
        sys.exit("the event left the fast path")
    return executed[::-1].index(start) + 1
