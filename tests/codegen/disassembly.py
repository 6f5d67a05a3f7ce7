"""Functions of an object file or library, as objdump prints them."""
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field

SKIPPED = 77
TOOLS = ""  # prefix of the names of binary tools, for a cross compiler
MACHINES = {"elf64-x86-64": "x86-64", "elf64-littleaarch64": "aarch64"}
FUNCTION = re.compile(r"^([0-9a-f]+) <([^>]+)>:$")
INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\s+(.*)$")
RELOCATION = re.compile(r"^\s+[0-9a-f]+: (R_\S+)\s+(\S+)$")
PREFIXES = ("lock", "rep", "repz", "repnz", "bnd", "notrack", "data16", "cs", "rex.W")


@dataclass
class Instruction:
    address: int
    text: str
    prefixes: list = field(default_factory=list)
    name: str = ""
    operands: str = ""
    relocations: list = field(default_factory=list)  # (type, symbol)
    symbol: str = ""  # <symbol> or <symbol+0x..> that objdump names
    machine: str = "x86-64"

    @property
    def is_conditional(self):
        return self.name.startswith("j") and self.name != "jmp"

    @property
    def is_call(self):
        return self.name.startswith("call")

    @property
    def is_return(self):
        return self.name.startswith("ret")

    @property
    def is_padding(self):
        return self.name.startswith("nop") or self.name == "endbr64" or self.text in ("xchg %ax,%ax", "data16")

    @property
    def target(self):
        """The address of a direct jump, otherwise None."""
        match = re.match(r"^([0-9a-f]+)\b", self.operands)
        return int(match.group(1), 16) if match and self.name.startswith("j") else None

    @property
    def reads_memory(self):
        if self.name.startswith(("lea", "nop", "j")) or self.is_call:
            return False
        return bool(re.search(r"\(|%[fg]s:", self.operands))

    @property
    def callee(self):
        """The name of the call or jump target; '' for an address in a register."""
        if self.relocations:
            return re.sub(r"[-+]0x[0-9a-f]+$", "", self.relocations[-1][1]).split("@")[0]
        return self.symbol.split("+")[0].split("@")[0]


def parse(text, address, machine="x86-64"):
    parts = text.split("#" if machine == "x86-64" else "//")[0].strip()
    symbol = re.search(r"<([^>]+)>", text)
    words = parts.split()
    instruction = Instruction(address, parts, symbol=symbol.group(1) if symbol else "", machine=machine)
    while words and words[0] in PREFIXES:
        instruction.prefixes.append(words.pop(0))
    if words:
        instruction.name = words[0]
        instruction.operands = re.sub(r"<[^>]+>", "", " ".join(words[1:])).strip()
    return instruction


def skip(reason):
    print("skipped:", reason)
    sys.exit(SKIPPED)


def tool(name):
    name = TOOLS + name
    path = shutil.which(name)
    if not path:
        skip(name + " is not installed")
    return path


def output_of(command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def functions(path, machines=("x86-64",)):
    """Maps the name of each function in a file to its list of Instruction."""
    text = output_of([tool("objdump"), "-d", "-r", "--no-show-raw-insn", "-w", path])
    found = re.search(r"file format (\S+)", text)
    machine = MACHINES.get(found.group(1) if found else "")
    if machine not in machines:
        skip(f"{path} is not " + " or ".join(machines))
    result, current = {}, None
    for line in text.splitlines():
        function = FUNCTION.match(line)
        instruction = INSTRUCTION.match(line)
        if function:
            current = result.setdefault(function.group(2), [])
        elif current is not None and instruction:
            add_line(current, int(instruction.group(1), 16), instruction.group(2), machine)
    return result


def add_line(current, address, rest, machine):
    """With -w a relocation is on the instruction's line, after a tab: '3: R_X86_64_PC32 name-0x4'."""
    parts = re.split(r"\t(?=[0-9a-f]+: R_)", rest)
    instruction = parse(parts[0], address, machine)
    for part in parts[1:]:
        match = re.match(r"[0-9a-f]+: (R_\S+)\s+(\S+)", part)
        instruction.relocations.append((match.group(1), match.group(2)))
    if instruction.name or not instruction.prefixes:
        current.append(instruction)
