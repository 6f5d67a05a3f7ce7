"""Quantities as data, so that a claim says what is measured without any code that would have to be trusted.

    3.5                          a constant
    "floor.ns_per_event"         a field of a sample: the part behind the first dot, in objects "park_ns.p99"
    {"ratio": [a, b]}            and sum, product, max, min, difference (a less b), distance (never negative)

What is not known is None, and so is everything that is computed from it.
"""
import math

from points import Invalid


def quotient(above, below):
    return above / below if below else None


# Name: (fewest operands, most operands, function)
OPERATORS = {
    "ratio": (2, 2, quotient),
    "difference": (2, 2, lambda one, other: one - other),
    "distance": (2, 2, lambda one, other: abs(one - other)),
    "sum": (2, None, lambda *all_of_them: sum(all_of_them)),
    "product": (2, None, lambda *all_of_them: math.prod(all_of_them)),
    "max": (2, None, max),
    "min": (2, None, min),
}


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def check(quantity, samples, where):
    """Invalid if it is no quantity of these samples."""
    if is_number(quantity):
        return
    if isinstance(quantity, str):
        check_leaf(quantity, samples, where)
        return
    if not isinstance(quantity, dict) or len(quantity) != 1:
        raise Invalid(f"{where}: {quantity!r} is no quantity: a number, \"sample.field\" or an object of one operator")
    name, operands = next(iter(quantity.items()))
    if name not in OPERATORS:
        raise Invalid(f"{where}: there is no operator '{name}', only {', '.join(OPERATORS)}")
    least, most, _ = OPERATORS[name]
    if not isinstance(operands, list) or len(operands) < least or most and len(operands) > most:
        raise Invalid(f"{where}: '{name}' takes a list of {least}{'' if most else ' or more'} quantities")
    for operand in operands:
        check(operand, samples, where)


def check_leaf(leaf, samples, where):
    sample, dot, field = leaf.partition(".")
    if not dot or not field:
        raise Invalid(f"{where}: '{leaf}' names no field; it is written sample.field")
    if sample not in samples:
        raise Invalid(f"{where}: there is no sample '{sample}'")


def leaves(quantity):
    """The (sample, field) that it is computed from, in their order."""
    if isinstance(quantity, str):
        sample, _, field = quantity.partition(".")
        return [(sample, field)]
    if isinstance(quantity, dict):
        return [leaf for operand in next(iter(quantity.values())) for leaf in leaves(operand)]
    return []


def sample_names(quantities):
    """Of all of them, each once, in their order."""
    return list(dict.fromkeys(name for quantity in quantities for name, _ in leaves(quantity)))


def evaluate(quantity, look):
    """`look(sample, field)` is a number or None."""
    if isinstance(quantity, str):
        sample, _, field = quantity.partition(".")
        return look(sample, field)
    if not isinstance(quantity, dict):
        return quantity
    name, operands = next(iter(quantity.items()))
    values = [evaluate(operand, look) for operand in operands]
    return None if any(value is None for value in values) else OPERATORS[name][2](*values)
