"""Plants slow-downs in a copy of the sources, for tests: if the gate or the clock is not red then, it guards nothing.

The plants are edits of lines that must be there; where the code has moved, the test fails and says so.
"""
import os
import shutil

from bench.judge.points import ROOT

EMIT, DRAIN = "core/event/emit.c", "core/session/read.c"
IN_EMIT = "    WR_CHECK(event->record_bytes == bytes);\n"
BEFORE_EMIT = "WR_INLINE bool emit("
IN_RUN = "        least = ticks;\n"
BEGIN_OF_READ = "    struct wr_segment *segment = lane->oldest;\n    struct record record = {0};\n"
END_OF_READ = "    bool is_stopped = offset < end;\n"

# Time, whatever the processor: three tenths of what reading a segment took. Meanwhile the processor gets on with what
# it had begun, and there is more to a drain than this, so that the drain becomes about a fifth slower.
SPIN = """    uint64_t planted = __builtin_ia32_rdtsc() - planted_start;
    for (uint64_t from = __builtin_ia32_rdtsc(); __builtin_ia32_rdtsc() - from < planted * 3 / 10;) {
    }
"""

CALLED = """static __attribute__((noinline)) void planted(void)
{
    __asm__ volatile("");
}

"""

# name: edits of (file, what stands there, what is put before it, what is put after it).
PLANTS = {
    "instruction": [(EMIT, IN_EMIT, "", '    __asm__ volatile("nop");\n')],
    # Of about 80 that an event takes.
    "5 percent": [(EMIT, IN_EMIT, "", '    __asm__ volatile("nop; nop; nop; nop");\n')],
    "lock": [(EMIT, IN_EMIT, "", '    __asm__ volatile("lock; addl $0, -8(%%rsp)" : : : "memory", "cc");\n')],
    "fence": [(EMIT, IN_EMIT, "", '    __asm__ volatile("lfence" : : : "memory");\n')],
    "call": [(EMIT, BEFORE_EMIT, CALLED, ""),
             (EMIT, IN_EMIT, "", "    planted();\n")],
    "allocation": [(EMIT, BEFORE_EMIT, "void *malloc(unsigned long);\nvoid free(void *);\n\n", ""),
                   (EMIT, IN_EMIT, "", "    void *volatile planted = malloc(1);\n    free(planted);\n")],
    # The compiler makes up for one of them with an instruction less in the rest of the loop.
    "drain instructions": [(DRAIN, IN_RUN, "", '        __asm__ volatile("nop; nop");\n')],
    "slow drain": [(DRAIN, BEGIN_OF_READ, "    uint64_t planted_start = __builtin_ia32_rdtsc();\n", ""),
                   (DRAIN, END_OF_READ, SPIN, "")],
}


class Moved(Exception):
    """What was to be edited is not there any more."""


def copy_tree(target):
    """The sources as they are, committed or not."""
    skipped = shutil.ignore_patterns(".git", "build", "out", "node_modules", "__pycache__")
    shutil.copytree(ROOT, target, ignore=skipped, symlinks=True, dirs_exist_ok=True)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def plant(tree, name):
    """Edits the tree; returns what undoes it."""
    edits = PLANTS[name]
    before = {os.path.join(tree, path): read(os.path.join(tree, path)) for path, _, _, _ in edits}
    for path, line, put_before, put_after in edits:
        full = os.path.join(tree, path)
        text = read(full)
        if text.count(line) != 1:
            raise Moved(f"{path} has {text.count(line)} times '{line.strip()}', expected once: the code has moved; "
                        "see PLANTS in bench/judge/plant.py")
        write(full, text.replace(line, put_before + line + put_after))
    return lambda: [write(path, text) for path, text in before.items()]
