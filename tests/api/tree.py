"""The rules of the tree that no compiler checks: who includes whom, where atomics may stand, that each
named edge is in core/ORDERING.md, and how long functions and files may be.

    tree.py ROOT     prints each violation as FILE:LINE: what; fails if there is one
"""
import re
import sys
from pathlib import Path

# A folder may include from those of a lower rank and from itself. All may include <weir/...>.
RANKS = {"include": -1, "base": 0, "os": 1, "wait": 2, "lane": 2, "stream": 2, "buffers": 3, "nettrace": 3,
         "event": 4, "session": 5, "server": 6}

# The model explorer of tests/model/ takes the place of the atomics where WR_MODEL is defined.
FROM_ANYWHERE = ("model_atomic.h",)

FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 700
SIZED_FOLDERS = ("core", "tools", "examples", "stress", "bench")

ATOMICS = re.compile(r"\b(_Atomic|__sync_\w+|__atomic_\w+|atomic_\w+_explicit|__asm__|asm|stdatomic\.h)\b")
# The enabled word is in a public struct, so it cannot be one of our wrapped words; hosts read it inline.
PUBLIC_WORD = ("core/include/weir/trace.h",)
FENCE = re.compile(r"\b(__)?atomic_thread_fence\b")
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]')
EDGE = re.compile(r"\bedges?:?\s+([A-Z][A-Z_]+(?:\.\w+)?(?:(?:,| and|, and)\s+[A-Z][A-Z_]+(?:\.\w+)?)*)")
EDGE_NAME = re.compile(r"[A-Z][A-Z_]+")
ROW = re.compile(r"^\|\s*`?([A-Z][A-Z_]+)`?\s*\|")


def c_files(folder):
    return sorted(path for path in folder.rglob("*") if path.suffix in (".c", ".h", ".cc"))


def without_comments(text):
    """The same lines without comments, strings kept."""
    blank = lambda match: re.sub(r"[^\n]", " ", match.group(0)) if match.group(0).startswith("/") else match.group(0)
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)


class Tree:
    def __init__(self, root):
        self.root = Path(root)
        self.found = []

    def say(self, path, line, what):
        self.found.append(f"{path.relative_to(self.root)}:{line}: {what}")

    def check(self):
        for path in c_files(self.root / "core"):
            text = path.read_text(encoding="utf-8")
            self.includes(path, text)
            self.atomics(path, text)
        self.edges()
        for folder in SIZED_FOLDERS:
            for path in c_files(self.root / folder):
                self.sizes(path)
        return self.found

    # --- Includes. ---------------------------------------------------------------------------------------

    def includes(self, path, text):
        folder = path.relative_to(self.root / "core").parts[0]
        if folder not in RANKS:
            self.say(path, 1, f"core/{folder} has no place in the order of folders")
            return
        for number, line in enumerate(text.splitlines(), 1):
            match = INCLUDE.match(line)
            if match:
                self.include(path, number, folder, match.group(1))

    def include(self, path, number, folder, included):
        if included.startswith("ck_") and (path.suffix == ".h" or folder == "include"):
            self.say(path, number, f"{included} in a header: ck stays in .c files")
        other = included.split("/")[0]
        if other == "weir" or included in FROM_ANYWHERE or "/" not in included or other not in RANKS:
            return
        if folder != other and RANKS[other] >= RANKS[folder]:
            self.say(path, number, f"core/{folder} may not include from core/{other}, which is not to its left")

    # --- Atomics. ------------------------------------------------------------------------------------------

    def atomics(self, path, text):
        name = path.relative_to(self.root).as_posix()
        for number, line in enumerate(without_comments(text).splitlines(), 1):
            if FENCE.search(line):
                self.say(path, number, "a fence on its own; put the order on the access")
            match = ATOMICS.search(line)
            if match and not name.startswith("core/base/") and not self.is_public_word(name, line):
                self.say(path, number, f"{match.group(1)} outside core/base")

    def is_public_word(self, name, line):
        return name in PUBLIC_WORD and "enabled" in line

    # --- Edges. ----------------------------------------------------------------------------------------------

    def edges(self):
        ordering = self.root / "core/ORDERING.md"
        if not ordering.exists():
            self.found.append("core/ORDERING.md: there is none")
            return
        rows = {}
        for number, line in enumerate(ordering.read_text(encoding="utf-8").splitlines(), 1):
            match = ROW.match(line)
            if match:
                rows.setdefault(match.group(1), number)
        named = self.edges_named()
        for name, (path, number) in sorted(named.items()):
            if name not in rows:
                self.say(path, number, f"edge {name} has no row in core/ORDERING.md")
        for name, number in sorted(rows.items()):
            if name not in named:
                self.say(ordering, number, f"edge {name} is named nowhere in core")

    def edges_named(self):
        named = {}
        for path in c_files(self.root / "core"):
            text = re.sub(r"\n\s*\*?\s*(?=\S)", lambda m: "\n", path.read_text(encoding="utf-8"))
            for match in EDGE.finditer(text):
                number = text.count("\n", 0, match.start()) + 1
                for name in EDGE_NAME.findall(match.group(1)):
                    named.setdefault(name, (path, number))
        return named

    # --- Sizes. -----------------------------------------------------------------------------------------------

    def sizes(self, path):
        lines = path.read_text(encoding="utf-8").splitlines()
        if len(lines) > FILE_LINES_MAX:
            self.say(path, len(lines), f"{len(lines)} lines; a file has up to {FILE_LINES_MAX}")
        start = None
        for number, line in enumerate(lines, 1):
            if line == "{" or (re.match(r"^[A-Za-z_].*\)\s*\{$", line) and not line.startswith("extern")):
                start = number
            elif line.startswith("}") and start:
                if number - start + 1 > FUNCTION_LINES_MAX:
                    self.say(path, start, f"{number - start + 1} lines; a function has up to {FUNCTION_LINES_MAX}")
                start = None


def main():
    found = Tree(sys.argv[1]).check()
    print("\n".join(found) or "the tree is in order")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
