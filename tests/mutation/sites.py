"""Finds mutants of C sources (libclang), and writes the sources with each mutant behind a switch.

A mutant is identified by its file, its function, its kind and the text of its site, not by its line.
"""
import bisect
import hashlib
import re
from dataclasses import dataclass, field

from clang.cindex import CursorKind, Index, TypeKind

DROP, SWAP, NEGATE, OFF_BY_ONE = "drop", "swap", "negate", "off-by-one"

BINARY = (CursorKind.BINARY_OPERATOR, CursorKind.COMPOUND_ASSIGNMENT_OPERATOR)
RELATIONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "==", "!=": "!="}
LOOPS = (CursorKind.WHILE_STMT, CursorKind.DO_STMT, CursorKind.FOR_STMT)
# Statements that are not mutated; a swap skips them. A switch around a compiler barrier would keep
# the same order, so tests/codegen checks the barriers. The others are only for the model, or only
# for speed.
PASSED = re.compile(r"(wr_compiler_barrier|wr_data_(written|read)|wr_pause|__tsan_\w+)\b")
KEPT = re.compile(r"(WR_CHECK|va_start|va_end)\b|\(void\)")
# Calls that access nothing that another thread or a signal handler may read.
PURE = re.compile(r"\b(wr_(commit|record|span_segments|max_u|round|place_of|lane_(is_)?revoked|pin_is|container)\w*|mem\w+|strlen"
                  r"|__builtin_\w+|offsetof|WR_CONTAINER)\s*\(")
CALL = re.compile(r"\b[a-z_]\w*\s*\(")
ATOMIC = re.compile(r"\bwr_(?:u32|u64|ptr|mask)_(load|store|exchange|cas|add)_(acquire|release|acq_rel|seq_cst)\(")


@dataclass
class Mutant:
    file: str
    function: str
    kind: str
    text: str
    line: int
    number: int = 0
    key: str = ""

    def rank(self, seed):
        return hashlib.sha256(f"{seed} {self.key}".encode()).hexdigest()


@dataclass
class Edit:
    """Replaces the bytes from start to end by what `render` returns for the rendered bytes inside."""
    start: int
    end: int
    render: object
    inner: list = field(default_factory=list)


@dataclass
class Statement:
    start: int
    end: int  # after the semicolon
    declared: str = ""  # the name, if it declares a variable with a value
    hoisted: str = ""  # the declaration without its value
    value_at: int = 0

    def body(self, text):
        """The statement, once its declaration precedes it."""
        return f"{self.declared} = {text[self.value_at:self.end]}" if self.declared else text[self.start:self.end]


def plain(text):
    return " ".join(re.sub(r"/\*.*?\*/", " ", text, flags=re.S).split())


class Source:
    def __init__(self, core, name, arguments):
        self.name = name
        self.text = (core / name).read_bytes().decode("latin-1")
        self.lines = [0] + [match.end() for match in re.finditer("\n", self.text)]
        # For the parser only: with the macros blanked, expressions inside them have their real positions.
        bare = re.sub(r"\bWR_(UN)?LIKELY\b", lambda match: " " * len(match.group()), self.text)
        unit = Index.create().parse(str(core / name), args=arguments, unsaved_files=[(str(core / name), bare)])
        errors = [str(diagnostic) for diagnostic in unit.diagnostics if diagnostic.severity >= 3]
        if errors:
            raise SystemExit("\n".join(errors))
        self.bare = bare
        self.mutants, self.edits, self.orders, self.function = [], [], [], ""
        for cursor in unit.cursor.get_children():
            if cursor.kind == CursorKind.FUNCTION_DECL and cursor.is_definition() and self.is_here(cursor):
                self.function = cursor.spelling
                self.find_orders(cursor)
                self.visit(list(cursor.get_children())[-1])

    def is_here(self, cursor):
        return cursor.location.file is not None and cursor.location.file.name.endswith("/" + self.name)

    def raw(self, cursor):
        return self.text[cursor.extent.start.offset:cursor.extent.end.offset]

    def line_of(self, offset):
        return bisect.bisect_right(self.lines, offset)

    def mutant(self, kind, text, offset):
        mutant = Mutant(self.name, self.function, kind, plain(text), self.line_of(offset))
        self.mutants.append(mutant)
        return mutant

    def find_orders(self, function):
        start, end = function.extent.start.offset, function.extent.end.offset
        for match in ATOMIC.finditer(self.text, start, end):
            self.orders.append((self.name, self.function, self.line_of(match.start()), match[1], match[2]))

    # --- Finding. ---

    def visit(self, cursor):
        children = list(cursor.get_children())
        if not self.is_here(cursor) or KEPT.match(self.raw(cursor)) or PASSED.match(self.raw(cursor)):
            return
        condition = self.condition_of(cursor, children)
        if condition is not None:
            self.negate(condition)
        if cursor.kind == CursorKind.BINARY_OPERATOR:
            self.off_by_one(*children)
        if cursor.kind == CursorKind.COMPOUND_STMT:
            self.statements(children)
        elif cursor.kind in (CursorKind.IF_STMT,) + LOOPS:
            for child in self.bodies_of(cursor, children, condition):
                self.drop(child)
        for child in children:
            self.visit(child)

    def condition_of(self, cursor, children):
        if cursor.kind in (CursorKind.IF_STMT, CursorKind.WHILE_STMT, CursorKind.CONDITIONAL_OPERATOR):
            return children[0]
        if cursor.kind == CursorKind.DO_STMT:
            return children[1]
        if cursor.kind == CursorKind.FOR_STMT:
            first, second = self.semicolons(cursor)
            return next((child for child in children[:-1] if first < child.extent.start.offset < second), None)
        if cursor.kind == CursorKind.RETURN_STMT and children and children[0].type.kind in (TypeKind.INT, TypeKind.BOOL):
            text = self.raw(children[0])
            return children[0] if re.search(r"[<>=!]=|[<>] |&&|\|\||^!", text) else None
        return None

    def semicolons(self, loop):
        depth, found = 0, []
        for token in loop.get_tokens():
            depth += (token.spelling == "(") - (token.spelling == ")")
            if token.spelling == ";" and depth == 1:
                found.append(token.extent.start.offset)
            if len(found) == 2:
                break
        return found

    @staticmethod
    def bodies_of(cursor, children, condition):
        if cursor.kind == CursorKind.DO_STMT:
            return children[:1]
        return children[1:] if cursor.kind == CursorKind.IF_STMT else children[-1:]

    def negate(self, condition):
        start, end = condition.extent.start.offset, condition.extent.end.offset
        text = self.text[start:end]
        mutant = self.mutant(NEGATE, text, start)
        self.edits.append(Edit(start, end, lambda inner, raw: f"({self.switch(mutant)} ? !({raw}) : !!({inner}))"))

    def off_by_one(self, left, right):
        start, end = left.extent.start.offset, right.extent.end.offset
        middle = plain(self.bare[left.extent.end.offset:right.extent.start.offset])
        kinds = {left.type.get_canonical().kind, right.type.get_canonical().kind}
        if middle not in RELATIONS or TypeKind.BOOL in kinds:
            return
        is_equality = middle in ("==", "!=")
        if is_equality and kinds & {TypeKind.POINTER, TypeKind.ENUM}:
            return
        a, b = self.raw(left), self.raw(right)
        if is_equality and (re.search(r"\b[A-Z_]{4,}\b", b) or re.search(r"& 1u?\)?$", a)):
            return  # a state or a flag has no neighbouring value
        mutated = f"({a}) {RELATIONS[middle]} ({b})" + (" + 1" if is_equality else "")
        mutant = self.mutant(OFF_BY_ONE, self.text[start:end], start)
        self.edits.append(Edit(start, end, lambda inner, raw: f"({self.switch(mutant)} ? ({mutated}) : ({inner}))"))

    @staticmethod
    def is_effect(cursor):
        if cursor.kind == CursorKind.CALL_EXPR or cursor.kind == CursorKind.COMPOUND_ASSIGNMENT_OPERATOR:
            return True
        if cursor.kind == CursorKind.UNARY_OPERATOR:
            return next(cursor.get_tokens()).spelling in ("++", "--") or list(cursor.get_tokens())[-1].spelling in ("++", "--")
        if cursor.kind == CursorKind.BINARY_OPERATOR:
            left, right = cursor.get_children()
            tokens = [token for token in cursor.get_tokens()
                      if left.extent.end.offset <= token.extent.start.offset < right.extent.start.offset]
            return any(token.spelling == "=" for token in tokens)
        return False

    def statement(self, cursor):
        """None: the statement cannot be moved."""
        start, end = cursor.extent.start.offset, cursor.extent.end.offset
        if KEPT.match(self.text[start:end]) or PASSED.match(self.text[start:end]):
            return None
        if cursor.kind == CursorKind.DECL_STMT:
            return self.declaration(cursor)
        semicolon = re.compile(r"\s*;").match(self.text, end)
        return Statement(start, semicolon.end()) if semicolon and self.is_effect(cursor) else None

    def declaration(self, cursor):
        variables = list(cursor.get_children())
        values = [child for child in variables[0].get_children() if child.kind.is_expression()] if variables else []
        if len(variables) != 1 or len(values) != 1 or values[0].kind == CursorKind.INIT_LIST_EXPR:
            return None
        text, at = self.raw(cursor), values[0].extent.start.offset
        match = re.match(r"(.*?)\s*=\s*\(?$", self.text[cursor.extent.start.offset:at], re.S)
        if not match or text.startswith("static") or "const " in text.split("*")[-1].split("=")[0]:
            return None
        at = self.text.index("=", cursor.extent.start.offset) + 1
        value = self.text[at:cursor.extent.end.offset]
        if not CALL.search(value) and (value.strip()[0] == "&" or not re.search(r"[*>.\[]", value)):
            return None  # loads nothing
        return Statement(cursor.extent.start.offset, cursor.extent.end.offset, variables[0].spelling, match[1] + ";", at)

    def drop(self, cursor):
        statement = self.statement(cursor)
        if statement is None or statement.declared:
            return
        mutant = self.mutant(DROP, self.text[statement.start:statement.end - 1], statement.start)
        self.edits.append(Edit(statement.start, statement.end,
                               lambda inner, raw: f"{{ if (!{self.switch(mutant)}) {{ {inner} }} }}"))

    def may_swap(self, one, other):
        """True if the exchange could be noticed: one side is a call, or one reads what the other writes."""
        texts = [self.text[one.start:one.end], self.text[other.start:other.end]]
        if re.search(r"^\s*#", self.text[one.end:other.start], re.M):
            return False
        if one.declared and re.search(rf"\b{one.declared}\b", texts[1]):
            return False
        if any(CALL.search(PURE.sub("", text)) or "wr_self" in text for text in texts):
            return True
        written = [re.findall(r"\w+", text.split("=")[0]) or [""] for text in texts]
        return any(re.search(rf"\b{names[-1]}\b", text) for names, text in zip(written, reversed(texts)))

    def statements(self, children):
        row = []  # neighbours that can be exchanged, and the statements passed between them
        previous = None
        for child in children:
            self.drop(child)
            statement = self.statement(child)
            if statement is not None:
                if previous is not None and self.may_swap(previous, statement):
                    row.append((previous, statement))
                else:
                    self.swaps(row)
                    row = []
                previous = statement
            elif not PASSED.match(self.raw(child)):
                self.swaps(row)
                row, previous = [], None
        self.swaps(row)

    def swaps(self, pairs):
        if not pairs:
            return
        members = [pairs[0][0]] + [pair[1] for pair in pairs]
        start, end = members[0].start, members[-1].end
        # Statements that are passed stay in place.
        gaps = [self.text[a.end:b.start] for a, b in zip(members, members[1:])] + [""]
        mutants = [self.mutant(SWAP, f"{self.text[a.start:a.end - 1]} / {self.text[b.start:b.end - 1]}", a.start)
                   for a, b in pairs]
        hoisted = " ".join(member.hoisted for member in members)

        def render(inner, _raw):
            out = hoisted
            for at, mutant in enumerate(mutants):
                order = members[:at] + [members[at + 1], members[at]] + members[at + 2:]
                body = "".join(member.body(self.text) + gap for member, gap in zip(order, gaps))
                out += f" if ({self.switch(mutant)}) {{ {body} }} else"
            return f"{out} {{ {inner} }}"

        for member in members:
            if member.declared:  # in the unmutated arm, below the hoisted declaration
                name, value_at = member.declared, member.value_at
                self.edits.append(Edit(member.start, value_at, lambda inner, raw, name=name: f"{name} ="))
        self.edits.append(Edit(start, end, render))

    # --- Writing. ---

    def switch(self, mutant):
        return f"WR_MUTANT({mutant.number})"

    def mutated(self):
        root = Edit(0, len(self.text), lambda inner, raw: inner)
        # Outer edits first; of equal ones, the last found is inside.
        ordered = sorted(enumerate(self.edits), key=lambda item: (item[1].start, -item[1].end, item[0]))
        stack = [root]
        for _, edit in ordered:
            while edit.start >= stack[-1].end:
                stack.pop()
            if edit.end > stack[-1].end:
                raise SystemExit(f"{self.name}: mutants overlap at {self.text[edit.start:edit.end]}")
            edit.inner = []
            stack[-1].inner.append(edit)
            stack.append(edit)
        return '#include "mutant.h"\n' + self.render(root)

    def render(self, edit):
        out, at = "", edit.start
        for inner in edit.inner:
            out += self.text[at:inner.start] + self.render(inner)
            at = inner.end
        return edit.render(out + self.text[at:edit.end], self.text[edit.start:edit.end])


def find(core, names, arguments):
    """The sources, with their mutants numbered from 1 and their keys set."""
    sources, counts, number = [Source(core, name, arguments) for name in names], {}, 0
    for mutant in (mutant for source in sources for mutant in source.mutants):
        number += 1
        mutant.number = number
        key = f"{mutant.file} | {mutant.function} | {mutant.kind} | {mutant.text}"
        counts[key] = counts.get(key, 0) + 1
        mutant.key = key + (f" #{counts[key]}" if counts[key] > 1 else "")
    return sources
