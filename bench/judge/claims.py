"""The claims about speed: rows of bench/claims.json, each a name, a quantity and a bar, over samples that are commands.

A quantity is arithmetic over fields of samples, computed for each round:

    relay.events_per_s / max(auto_reset.events_per_s, fifo.events_per_s)
    count['emit/disabled/instructions']

+ - * / max min abs and numbers are all there is. A figure that is missing makes the whole quantity None, as does a
division by zero. A bar, as "<= 0.2 * copy / 1.7", may use calibrations by name: it then moves with the machine. There
may be one for each kind of state: {"own core": "<= 1.02", "shared core": "<= 1.25"}.
"""
import ast
import itertools
import math
import operator
import os
import string
from typing import NamedTuple

from bench.judge import points, state
from bench.judge.points import Invalid

FILE = os.path.join(points.ROOT, "bench", "claims.json")
FIELDS = {"id", "name", "quantity", "unit", "bar", "of", "each", "but", "when", "beside", "not_built"}
OPS = {"<=": operator.le, ">=": operator.ge}
ARITHMETIC = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
FUNCTIONS = {"max": max, "min": min, "abs": abs}


class Unavailable(Exception):
    """Why there is no such figure on this machine."""


# --- Quantities. ---------------------------------------------------------------------------------------------


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def parsed(text):
    """The expression as a tree, every node checked."""
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, TypeError, ValueError):
        raise Invalid(f"'{text}' is not arithmetic") from None
    list(leaves(tree))
    return tree


def path_of(node):
    """('relay', 'park_ns', 'p99') of relay.park_ns.p99; None if the node is no field."""
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Attribute):
        part = node.attr
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        part = node.slice.value
    else:
        return None
    rest = path_of(node.value)
    return rest and (*rest, part)


def leaves(node):
    """The fields that it reads, as paths; Invalid for anything but arithmetic."""
    if path_of(node):
        yield path_of(node)
    elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        yield from (*leaves(node.left), *leaves(node.right))
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS and node.args:
        yield from (leaf for operand in node.args for leaf in leaves(operand))
    elif not (isinstance(node, ast.Constant) and is_number(node.value)):
        raise Invalid(f"'{ast.unparse(node)}' is neither a number, a field, + - * /, max, min nor abs")


def evaluate(node, look):
    """`look(path)` is a number or None."""
    if path_of(node):
        return look(path_of(node))
    if isinstance(node, ast.Constant):
        return node.value
    operands = [node.left, node.right] if isinstance(node, ast.BinOp) else node.args
    values = [evaluate(operand, look) for operand in operands]
    if None in values or isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and values[1] == 0:
        return None
    return ARITHMETIC[type(node.op)](*values) if isinstance(node, ast.BinOp) else FUNCTIONS[node.func.id](*values)


def samples_of(*quantities):
    """The names of the samples, each once, in order."""
    return list(dict.fromkeys(path[0] for text in quantities for path in leaves(parsed(text))))


def bar_of(text):
    """(operator, tree) of "<= 1.05"."""
    op, _, value = text.partition(" ")
    if op not in OPS:
        raise Invalid(f"the bar '{text}' begins with neither <= nor >=")
    return op, parsed(value)


def bar_in(bar, name):
    """The bar in a state of the machine; None if it has none."""
    return bar.get(state.core(name)) if isinstance(bar, dict) else bar


def bar_words(bar):
    return "; ".join(f"{text} in {name}" for name, text in bar.items()) if isinstance(bar, dict) else bar


def is_least(bar):
    """Does it ask for so much at least?"""
    return (bar if isinstance(bar, str) else next(iter(bar.values()))).startswith(">=")


# --- Rows. ---------------------------------------------------------------------------------------------------


class Sample(NamedTuple):
    run: str  # the command
    rounds: int
    takes: float  # seconds


def bound(text, cell):
    """With each $name replaced by the cell's value."""
    try:
        return string.Template(text).substitute(cell)
    except (KeyError, ValueError) as error:
        raise Invalid(f"'{text}': there is no {error} in the grid of the claim") from None


def cells_of(claim):
    """The cells of the grid; one without names if there is no grid."""
    grid = claim.get("each", {})
    cells = [dict(zip(grid, values)) for values in itertools.product(*grid.values())]
    return [cell for cell in cells if not any(hole.items() <= cell.items() for hole in claim.get("but", []))]


def judged(claim):
    """The quantities that the verdict needs."""
    return [claim["quantity"], *([claim["when"]["quantity"]] if "when" in claim else [])]


class Book:
    """The claims, and the samples and calibrations that they use."""

    def __init__(self, claims, samples, calibrations):
        self.claims, self.samples, self.calibrations = claims, samples, calibrations

    def sample(self, name, cell):
        if name not in self.samples:
            raise Invalid(f"there is no sample '{name}'")
        return Sample(**{**self.samples[name], "run": bound(self.samples[name]["run"], cell)})

    def needs(self, claim, cell):
        """All that is sampled for the claim in that cell."""
        quantities = [*judged(claim), *(one["quantity"] for one in claim.get("beside", []))]
        return [self.sample(name, cell) for name in samples_of(*quantities)]

    def calibration_needs(self):
        return [self.sample(name, {}) for name in samples_of(*(one["quantity"] for one in self.calibrations.values()))]

    def check(self):
        self.calibration_needs()
        used = {path for one in self.calibrations.values() for path in samples_of(one["quantity"])}
        for claim in self.claims:
            try:
                used |= self.check_claim(claim)
            except (Invalid, KeyError, TypeError) as error:
                raise Invalid(f"claim '{claim.get('id')}': {error}") from None
        ids = [claim["id"] for claim in self.claims]
        for what, names in (("two claims are called", [name for name in ids if ids.count(name) > 1]),
                            ("no claim uses the sample", sorted(set(self.samples) - used))):
            if names:
                raise Invalid(f"{what} '{names[0]}'")
        return self

    def check_claim(self, claim):
        """The samples that it uses."""
        if set(claim) - FIELDS or not claim["name"]:
            raise Invalid(f"there is no field {', '.join(sorted(set(claim) - FIELDS))}")
        if "not_built" in claim:
            return set()
        bars = claim["bar"] if isinstance(claim["bar"], dict) else dict.fromkeys(state.CORES, claim["bar"])
        unknown = {path[0] for bar in bars.values() for path in leaves(bar_of(bar)[1])} - set(self.calibrations)
        if set(bars) != set(state.CORES) or unknown or claim.get("of", "median") not in ("median", "worst", "interval") or not cells_of(claim):
            raise Invalid(f"the bar '{claim['bar']}', its 'of' or the grid is wrong")
        if "when" in claim:
            bar_of(claim["when"]["bar"])
        for cell in cells_of(claim):
            self.needs(claim, cell)
        return set(samples_of(*judged(claim), *(one["quantity"] for one in claim.get("beside", []))))


def load(path=FILE):
    found = points.read_json(points.read_text(path), path)
    try:
        return Book(found["claims"], found["samples"], found["calibrations"]).check()
    except (AttributeError, KeyError, TypeError) as error:
        raise Invalid(f"{path}: {type(error).__name__} {error}") from None
    except Invalid as error:
        raise Invalid(f"{path}: {error}") from None
