"""tree.py must find what it looks for: a small tree that is in order, then one thing wrong at a time."""
import sys
import tempfile
from pathlib import Path

import tree

STORE = "wr_u32_store_relaxed(&w, 1);\n"

EMIT = "WEIR_NODISCARD WEIR_API bool\nweir_emit(int event);\n"

EDGES = "| edge | what |\n|---|---|\n| PUBLISH | bytes |\n| OWN | segment |\n"
PARKING = "\nDROP\n* FIFO: the head is signaled\n"

IN_ORDER = {
    "core/ORDERING.md": f"{EDGES}{PARKING}",
    "core/wait/strategies.h": '#define LIST(X) \\\n    X(FIFO, fifo, "fifo", true)\n',
    "core/wait/wait_fifo.c": "const struct wr_gate_strategy wr_gate_fifo = {.queues_all = true};\n",
    "core/buffers/modes.h": '#define LIST(X) X(DROP, drop, "drop")\n',
    "core/buffers/mode_drop.c": "const struct wr_mode wr_mode_drop = {.take = NULL};\n",
    "core/lane/loss.h": "#define LIST(LANE, OTHER) \\\n    LANE(FULL) \\\n    OTHER(SINK_FAILED)\n",
    "tests/model/gate_models.c": "    gate_prepare(WEIR_WAKE_FIFO, 0, 1, 2);\n",
    "tools/weir/loss.h": "#define CAUSES(X) X(FULL) X(SINK_FAILED)\n",
    "README.md": "| `FULL` | x |\n| `SINK_FAILED` | x |\n",
    "tests/README.md": "| 1 | x | `unit_a`: `test_b`; `stress_c_0`, `stress_c` |\n",
    "core/HOSTS.md": "# Hosts\n\nWords.\n\n## Fork\n\n| what | shown by |\n|---|---|\n| `x` | `unit_a`: `test_b` |\n| y | `./dev bench z` |\n",
    "tests/unit/a.c": "static void test_b(void **state);\n",
    "stress/stress_c.c": "int main(void);\n",
    "core/base/atomic.h": "#include <stdatomic.h>\ntypedef _Atomic int word;\n",
    "core/include/weir/trace.h": f"static int f(int *enabled) {{ return __atomic_load_n(enabled, 0); }}\n{EMIT}",
    "core/include/weir/plugin.h": "    __typeof__(weir_emit) *emit;\n#define weir_emit weir_plugin.emit\n",
    "core/event/functions.c": "    .emit = weir_emit,\n",
    "core/include/weir/version.h": "#define V_MAJOR 0\n#define V_MINOR 5\n#define V_PATCH 0\n",
    "CHANGELOG.md": "# Changelog\n\n## 0.5.0 - 2026-11-25\n\n## 0.4.0 - 2026-11-23\n",
    "core/lane/lane.h": '#include "base/atomic.h"\n/* edges PUBLISH.release, OWN: both */\n/* not asm */\n',
    "core/buffers/buffers.c": '#include "lane/lane.h"\n#include <ck_fifo.h>\nint f(void)\n{\n    return 0;\n}\n',
    "core/event/own.c": f"/* relaxed: its own */\n{STORE}{STORE[:-1]} /* relaxed: its own */\n",
    "core/event/long.c": "/* A figure.\n * relaxed: it is read\n * later */\n"
                         "int a = f(1,\n          wr_u32_load_relaxed(&w) +\n          wr_u32_load_relaxed(&w));\n",
    "core/event/twice.c": f"/* relaxed, twice: hints */\n{STORE * 2}",
    "core/event/below.c": f"/* relaxed: figures, here and below */\n{STORE * 9}",
}

WRONG = {
    "to the right": ("core/lane/a.h", '#include "session/session.h"\n', "not to its left"),
    "to the side": ("core/lane/a.h", '#include "wait/bell.h"\n', "not to its left"),
    "new folder": ("core/misc/a.h", "\n", "no place"),
    "ck in a header": ("core/buffers/a.h", "#include <ck_fifo.h>\n", "ck stays"),
    "ck in a public header": ("core/include/weir/a.h", "#include <ck_ec.h>\n", "ck stays"),
    "_Atomic": ("core/lane/a.h", "_Atomic int word;\n", "_Atomic outside"),
    "__sync": ("core/lane/a.c", "int f(int *x) { return __sync_fetch_and_add(x, 1); }\n", "outside core/base"),
    "__atomic": ("core/event/a.c", "int f(int *x) { return __atomic_load_n(x, 5); }\n", "outside core/base"),
    "explicit": ("core/event/a.c", "int f(int *x) { return atomic_load_explicit(x, 5); }\n", "outside core/base"),
    "asm": ("core/lane/a.c", '__asm__("nop");\n', "__asm__ outside"),
    "fence": ("core/base/a.h", "atomic_thread_fence(memory_order_seq_cst);\n", "a fence"),
    "edge without a row": ("core/lane/a.h", "/* edge GONE.acquire: x */\n", "edge GONE has no row"),
    "second edge without a row": ("core/lane/a.h", "/* edges OWN.acquire,\n * GONE: x */\n", "edge GONE has no row"),
    "row without an edge": ("core/ORDERING.md", f"| PUBLISH |\n| OWN |\n| STOP | x |\n{PARKING}", "edge STOP is named nowhere"),
    "relaxed": ("core/event/a.c", f"{STORE}", "a.c:1: a relaxed access without"),
    "relaxed, of a builtin": ("core/include/weir/trace.h", f"int enabled = __atomic_load_n(&e, __ATOMIC_RELAXED);\n{EMIT}",
                              "a relaxed access without"),
    "relaxed, a word about it only": ("core/event/a.c", f"/* a relaxed store */\n{STORE}", "a.c:2: a relaxed"),
    "relaxed, the neighbour's sentence": ("core/event/a.c", f"{STORE[:-1]} /* relaxed: its own */\n{STORE}",
                                          "a.c:2: a relaxed"),
    "relaxed, once more than twice": ("core/event/a.c", f"/* relaxed, twice: hints */\n{STORE * 3}", "a.c:4: a relaxed"),
    "relaxed, in another function": ("core/event/a.c", f"/* relaxed: hints, here and below */\n{STORE}}}\n{STORE}",
                                     "a.c:4: a relaxed"),
    "relaxed, too far above": ("core/event/a.c", f"/* relaxed: its own */\nf();\n{STORE}", "a.c:3: a relaxed"),
    "strategy without a model": ("tests/model/gate_models.c", "", "FIFO needs 'WEIR_WAKE_FIFO,'"),
    "strategy without its argument": ("core/ORDERING.md", f"{EDGES}DROP FIFO\n", "FIFO needs '* FIFO:'"),
    "mode without its file": ("core/buffers/mode_drop.c", "", "DROP needs 'wr_mode_drop = {'"),
    "cause that the tool does not know": ("tools/weir/loss.h", "X(FULL)\n", "SINK_FAILED needs"),
    "cause that no page explains": ("README.md", "| `SINK_FAILED` |\n", "FULL needs"),
    "function that plug-ins cannot call": ("core/event/functions.c", "    .emit = NULL,\n", "emit needs '.emit = weir_emit,'"),
    "function without its macro": ("core/include/weir/plugin.h", "    __typeof__(weir_emit) *emit;\n",
                                   "emit needs 'weir_plugin.emit'"),
    "version that the changelog lacks": ("CHANGELOG.md", "## 0.4.0 - 2026-11-23\n", "needs '## 0.5.0 -' in CHANGELOG.md"),
    "list without rows": ("core/lane/loss.h", "", "there is no list"),
    "test that is not there": ("tests/README.md", "| `unit_b` |\n", "there is no unit_b"),
    "function that is not there": ("tests/README.md", "| `unit_a`: `test_b`, `test_c` |\n", "there is no test_c in"),
    "statement without a test": ("core/HOSTS.md", "## A\n| what | test |\n|---|---|\n| `unit_a` | `x` |\n", ":4: a statement without"),
    "statement outside of a table": ("core/HOSTS.md", "## A\nIt works (`unit_a`).\n", ":2: a statement outside"),
    "statement with a test that is not there": ("core/HOSTS.md", "## A\n| x | `package_c` |\n", "there is no package_c"),
    "statement with a function that is not there": ("core/HOSTS.md", "## A\n| x | `unit_a`: `test_c` |\n", "there is no test_c in"),
    "no page for hosts": ("core/HOSTS.md", "", "there is none"),
    "long function": ("bench/a.c", "int f(void)\n{\n" + "    f();\n" * 69 + "}\n", "71 lines; a function"),
    "long file": ("tools/a.c", "int x;\n" * 701, "701 lines; a file"),
}


def violations(files):
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            path = Path(root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tree.Tree(root).check()


def main():
    failures = [f"in order, but: {line}" for line in violations(IN_ORDER)]
    for what, (name, text, expected) in WRONG.items():
        found = violations({**IN_ORDER, name: text})
        if len(found) != 1 or expected not in found[0]:
            failures.append(f"{what}: expected one '{expected}', found {found}")
    print("\n".join(failures) or f"{len(WRONG)} violations found")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
