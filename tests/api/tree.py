"""The rules of the tree that no compiler checks: who includes whom, where atomics may stand, that each
relaxed access says why it may be relaxed, that each named edge is in core/ORDERING.md, that each row of
a list is known wherever it must be, that the tests which pages name exist, and how long functions and files may be.

    tree.py ROOT     prints each violation as FILE:LINE: what; fails if there is one
"""
import re
import sys
from pathlib import Path

# A folder may include from those of a lower rank and from itself. All may include <weir/...>.
RANKS = {"include": -1, "base": 0, "os": 1, "wait": 2, "lane": 2, "stream": 2, "buffers": 3, "nettrace": 3,
         "event": 4, "session": 5, "runtime": 6, "server": 7, "null": 8}

# The model explorer of tests/model/ takes the place of the atomics where WR_MODEL is defined.
FROM_ANYWHERE = ("model_atomic.h",)

FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 700
SIZED_FOLDERS = ("core", "tools", "examples", "stress", "bench")

ATOMICS = re.compile(r"\b(_Atomic|__sync_\w+|__atomic_\w+|atomic_\w+_explicit|__asm__|asm|stdatomic\.h)\b")
# The enabled word and a provider's status are in public structs, so they cannot be wrapped words; hosts read them inline.
# They also wait inline for earlier loads, before an event that is declared ordered.
PUBLIC_WORD = ("core/include/weir/trace.h",)
INLINE_IN_HOSTS = ("enabled", "status->", "dsb ishld")
FENCE = re.compile(r"\b(__)?atomic_thread_fence\b")
# A relaxed access has its owner's sentence: "relaxed: only this thread stores it" in a comment in the statement's lines or
# directly above them. "relaxed, twice: hints" is for the next access of the function too, "relaxed: figures, here and
# below" for all that follow in it.
WRAPPERS = ("core/base/atomic.h",)
RELAXED = re.compile(r"\bwr_\w+_relaxed\(|\b__ATOMIC_RELAXED\b|\bmemory_order_relaxed\b")
SENTENCE = re.compile(r"\brelaxed(?:, twice|, three times)?:")
MORE = {"twice": 2, "three times": 3, "below": sys.maxsize}
COMMENT = re.compile(r"/\*.*?\*/", re.S)
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]')
EDGE = re.compile(r"\bedges?:?\s+([A-Z][A-Z_]+(?:\.\w+)?(?:(?:,| and|, and)\s+[A-Z][A-Z_]+(?:\.\w+)?)*)")
EDGE_NAME = re.compile(r"[A-Z][A-Z_]+")
ROW = re.compile(r"^\|\s*`?([A-Z][A-Z_]+)`?\s*\|")

# Lists that others must follow: the list, one of its rows, and what each row needs, in which file. {0} is the row's name,
# {1} its second column; of the version, {0} to {2} are its numbers.
LISTS = (
    ("core/lane/loss.h", re.compile(r"^    (?:LANE|OTHER)\((\w+)()\)", re.M),
     (("tools/weir/loss.h", "X({0})"), ("README.md", "| `{0}` |"))),
    ("core/wait/strategies.h", re.compile(r"^    X\((\w+), (\w+),", re.M),
     (("core/wait/wait_{1}.c", "wr_gate_{1} = {{"), ("core/ORDERING.md", "\n* {0}: "),
      ("tests/model/gate_models.c", "WEIR_WAKE_{0},"))),
    ("core/buffers/modes.h", re.compile(r"\bX\(([A-Z]\w+), (\w+),"),
     (("core/buffers/mode_{1}.c", "wr_mode_{1} = {{"), ("core/ORDERING.md", "{0}"))),
    ("core/include/weir/trace.h", re.compile(r"^(?:WEIR_NODISCARD )?WEIR_API\b[^;{]*?\bweir_(\w+)()\(", re.M),
     (("core/include/weir/plugin.h", "__typeof__(weir_{0}) *{0};"), ("core/include/weir/plugin.h", " weir_plugin.{0}\n"),
      ("core/event/functions.c", ".{0} = weir_{0},"))),
    ("core/include/weir/version.h", re.compile(r"_MAJOR (\d+)\n.*_MINOR (\d+)\n.*_PATCH (\d+)\n"),
     (("CHANGELOG.md", "\n## {0}.{1}.{2} - "),)),
)


# Pages that say in tables which tests show what: `unit_locks`, `stress_clock_steps_1` (a run of stress_clock_steps), and
# after a test's name and a colon the functions in it. Other words in backquotes are not names of tests.
TESTS, HOSTS = "tests/README.md", "core/HOSTS.md"
SOURCES = ((re.compile(r"^unit_(\w+?)(_\d+)?$"), "tests/unit/{}.c"), (re.compile(r"^(stress_\w+?)(_\d+)?$"), "stress/{}.c"),
           (re.compile(r"^format_(\w+?)(_long)?$"), "tests/format/test_{}.*"), (re.compile(r"^package_(\w+?)(_long)?$"), "tests/package/{}/way.py"),
           (re.compile(r"^(lua-host|python-host)$"), "examples/{}/tests/test_*.py"))
NAMED = re.compile(r"`([^`]*)`(:?)")
# On the second page, all that follows the first heading is rows, and each names a test in its last cell, or a command that
# measures it.
MEASURED = "`./dev bench "


def c_files(folder):
    return sorted(path for path in folder.rglob("*") if path.suffix in (".c", ".h", ".cc"))


def without_comments(text):
    """The same lines without comments, strings kept."""
    blank = lambda match: re.sub(r"[^\n]", " ", match.group(0)) if match.group(0).startswith("/") else match.group(0)
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)


def relaxed_sentences(text):
    """How many accesses each sentence is for, by the last line of its comment."""
    found = {}
    for comment in COMMENT.finditer(text):
        if SENTENCE.search(comment.group()):
            accesses = [count for word, count in MORE.items() if word in comment.group()]
            found[text.count("\n", 0, comment.end()) + 1] = max(accesses, default=1)
    return found


def sentence_of(code, sentences, number):
    """Where the sentence of this line's statement ends: in its lines, or above them on lines of its own; or None.
    `code` has no comments."""
    first = last = number
    while first > 1 and not re.search(r"(^|[;{}:])\s*$", code[first - 2]):
        first -= 1
    while last < len(code) and not re.search(r"[;{}]\s*$", code[last - 1]):
        last += 1
    above = first - 1 if first > 1 and not code[first - 2].strip() else first
    return next((at for at in range(above, last + 1) if at in sentences), None)


def source_of(name):
    """Where the test of that name is; None if it is no name of a test."""
    return next((place.format(match.group(1)) for pattern, place in SOURCES if (match := pattern.match(name))), None)


def last_cell(row):
    return row.rstrip("| ").rsplit("|", 1)[-1]


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
            self.relaxed(path, text)
        self.edges()
        self.lists()
        self.tests(TESTS)
        self.tests(HOSTS)
        self.statements()
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
        return name in PUBLIC_WORD and any(word in line for word in INLINE_IN_HOSTS)

    # --- Relaxed accesses. -----------------------------------------------------------------------------------

    def relaxed(self, path, text):
        if path.relative_to(self.root).as_posix() in WRAPPERS:
            return
        code, sentences = without_comments(text).splitlines(), relaxed_sentences(text)
        current, owed = None, 0  # the last sentence, and how many more accesses it is for
        for number, line in enumerate(code, 1):
            owed = 0 if line.startswith("}") else owed
            for _ in RELAXED.finditer(line):
                own = sentence_of(code, sentences, number)
                if own and own != current:
                    current, owed = own, sentences[own]
                if not own and owed <= 0:
                    self.say(path, number, "a relaxed access without a sentence that says why it may be relaxed")
                owed -= 1

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

    # --- Lists. ---------------------------------------------------------------------------------------------

    def lists(self):
        for name, row, places in LISTS:
            path, text = self.root / name, self.text(name)
            rows = list(row.finditer(text))
            if not rows:
                self.found.append(f"{name}: there is no list")
            for match in rows:
                line = text.count("\n", 0, match.start()) + 1
                for place, what in places:
                    place, what = place.format(*match.groups()), what.format(*match.groups())
                    if what not in self.text(place):
                        self.say(path, line, f"{match.group(1)} needs '{what.strip()}' in {place}")

    def text(self, name):
        """Of a file, or of all that fit the name."""
        return "".join(path.read_text(encoding="utf-8") for path in sorted(self.root.glob(name)))

    # --- Tests. -----------------------------------------------------------------------------------------------

    def tests(self, page):
        for number, line in enumerate(self.text(page).splitlines(), 1):
            if not line.startswith("|"):
                continue
            source = None
            for name, colon in NAMED.findall(line):
                found = source_of(name)
                if found:
                    if not self.text(found):
                        self.say(self.root / page, number, f"there is no {name}")
                    source = found if colon else None
                elif name.startswith("./"):
                    source = None
                elif source and not re.search(rf'\b{re.escape(name)}\(|"{re.escape(name)}"', self.text(source)):
                    self.say(self.root / page, number, f"there is no {name} in {source}")

    def statements(self):
        lines = self.text(HOSTS).splitlines()
        if not lines:
            self.found.append(f"{HOSTS}: there is none")
        first = next((at for at, line in enumerate(lines) if line.startswith("## ")), len(lines))
        for at in range(first, len(lines)):
            line, is_head = lines[at], lines[at + 1: at + 2] and lines[at + 1].startswith("|---")
            if not line or line.startswith(("#", "|---")) or is_head:
                continue
            if not line.startswith("|"):
                self.say(self.root / HOSTS, at + 1, "a statement outside of a table, without its test")
            elif not any(source_of(name) for name, _ in NAMED.findall(last_cell(line))) and MEASURED not in last_cell(line):
                self.say(self.root / HOSTS, at + 1, "a statement without its test")

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
