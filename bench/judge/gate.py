"""Compares deterministic figures with those of a baseline or of another build: rows of results/schema.json's
`gate_row`, and what may be more by how much.

The baseline of a compiler is results/baseline/FAMILY-MAJOR.json. It is changed by `./dev bench count --update` and
reviewed like code, so what it allows cannot creep: the tolerance is over it, not over the last commit.
"""
import json
import os

from bench.judge import command, count, metrics, points
from bench.judge.points import ROOT

BASELINES = os.path.join(ROOT, "results", "baseline")

# By metric: the increase that counts as a change. Something that happens once per segment, about 800 events, is below
# it; a single system call or allocation is above it. Figures of the code are compared exactly.
TOLERANCES = {"instructions": 0.5, "locked": 0.1, "calls": 0.1, "allocations": 1e-6, "system_calls": 1e-6,
              "clock_readings": 0.1, "bytes_per_event": 0.01}
# These only warn, over one part in a hundred.
WARNS = ("code/weir_emit/size", "code/libweir/text", "reader/")
WARN_OVER = 0.01
# This may be more by one part in a hundred.
MINIMAL_TEXT = "code/minimal/text"
MINIMAL_TEXT_OVER = 0.01
# An emitter that asks the system or the allocator is wrong, whatever was so before.
MUST_BE_ZERO = ("allocations", "system_calls", "code/weir_emit/locked", "code/weir_emit/calls", "code/weir_emit/fences")


def is_figure(name):
    """Is this the name of a figure, and not of a benchmark?"""
    return name.startswith("code/") or metrics.split(name)[1] in TOLERANCES


def is_warning_only(name):
    return name.startswith(WARNS)


def must_be_zero(name):
    return name.startswith(("emit/", "code/")) and name.endswith(MUST_BE_ZERO)


def tolerance(name, base):
    """Of a figure that we do not know, as a pull request may add one, as much as of any."""
    if name == MINIMAL_TEXT:
        return base * MINIMAL_TEXT_OVER
    return 0 if name.startswith("code/") else TOLERANCES.get(metrics.split(name)[1], max(TOLERANCES.values()))


def is_worse(name, base, head):
    """Would this figure make the gate red?"""
    return not is_warning_only(name) and head - base > tolerance(name, base) - 1e-9 and head > base


def row(name, unit, base, head, verdict, note=""):
    return points.validate("gate_row", {"name": name, "unit": unit, "base": base, "head": head, "verdict": verdict,
                                        "note": note[:300]}, name)


def change(base, head):
    if base == 0:
        return "was none"
    return f"{(head - base) / base:+.1%}"


def compare_warning(name, unit, base, head):
    is_over = base and head > base * (1 + WARN_OVER)
    return row(name, unit, base, head, "same", f"warning: {change(base, head)}" if is_over else "")


def compare_value(name, unit, base, head):
    if must_be_zero(name) and head > 0:
        return row(name, unit, base, head, "regressed", "there must be none")
    if is_warning_only(name):
        return compare_warning(name, unit, base, head)
    if is_worse(name, base, head):
        return row(name, unit, base, head, "regressed", f"{head - base:+.6g}")
    if is_worse(name, head, base):
        return row(name, unit, base, head, "improved", f"{head - base:+.6g}")
    return row(name, unit, base, head, "same")


def compare_exports(unit, base, head):
    new, gone = sorted(set(head) - set(base)), sorted(set(base) - set(head))
    note = "; ".join(f"{word}: {', '.join(names)}" for word, names in (("new", new), ("gone", gone)) if names)
    return row("code/libweir/exports", unit, len(base), len(head), "regressed" if note else "same", note)


def compare(base, head, is_baseline):
    """Rows of two Figures of one compiler. What a baseline has and the head has not is a guard that went missing."""
    rows = []
    for name in sorted(base.values.keys() | head.values.keys() | head.differing.keys()):
        base_value, base_unit = base.values.get(name, (None, "count"))
        value, unit = head.values.get(name, (None, base_unit))
        if value is None:
            rows.append(not_in_head(name, unit, base_value, head, is_baseline))
        elif base_value is None:
            rows.append(not_in_base(name, unit, value, "new"))
        elif name == "code/libweir/exports":
            rows.append(compare_exports(unit, base.exports, head.exports))
        else:
            rows.append(compare_value(name, unit, base_value, value))
    return rows


def not_in_base(name, unit, value, why):
    """What must be none must be none all the same."""
    is_wrong = must_be_zero(name) and value > 0
    return row(name, unit, None, value, "regressed" if is_wrong else "not_compared",
               "there must be none" if is_wrong else why)


def not_in_head(name, unit, value, head, is_baseline):
    """What counts differently each time is red if it did not before."""
    if name in head.differing:
        first, second = head.differing[name]
        return row(name, unit, value, None, "not_compared" if value is None else "regressed",
                   f"not exact: {first:.6g} and then {second:.6g}; what is counted must not depend on time or threads")
    is_red = is_baseline and not head.note
    return row(name, unit, value, None, "regressed" if is_red else "not_compared", head.note or "is not counted any more")


def not_compared(head, why):
    """Rows without a base."""
    rows = [not_in_base(name, unit, value, why) for name, (value, unit) in sorted(head.values.items())]
    return [not_in_head(name, "count", None, head, False) for name in sorted(head.differing)] + rows


def faults(figures):
    """What a baseline cannot have."""
    rows = [each for each in not_compared(figures, "") if each["note"]]
    return ([figures.note] if figures.note else []) + [f"{each['name']}: {each['note']}" for each in rows]


# --- Baselines. ------------------------------------------------------------------------------------------------------

def baseline_path(compiler):
    return os.path.join(BASELINES, count.family_major(compiler) + ".json")


def read_baseline(path):
    """Figures as write_baseline() wrote them."""
    content = points.validate("baseline", points.read_json(points.read_text(path), path), f"{path}: not a baseline")
    unknown = [name for name in content["values"] if not is_figure(name)]
    if unknown:
        raise points.Invalid(f"{path}: there is no figure {unknown[0]}; ./dev bench count --update writes a baseline")
    values = {name: tuple(value) for name, value in content["values"].items()}
    return count.Figures(content["compiler"], content["libc"], values, content["exports"])


def emit_length(path):
    """What tests/codegen steps through, by processor: it stays as it is when the counts are updated."""
    return points.read_json(points.read_text(path), path).get("emit_length", {}) if os.path.exists(path) else {}


def write_baseline(path, figures):
    content = {"compiler": figures.compiler, "libc": figures.libc,
               "values": {name: list(value) for name, value in sorted(figures.values.items())},
               "exports": figures.exports, "emit_length": emit_length(path)}
    text = json.dumps(content, indent=2)
    # One figure a line, so that a change of one is a change of one line.
    command.write(path, text.replace("[\n      ", "[ ").replace(",\n      ", ", ").replace("\n    ]", " ]") + "\n")


def why_not_comparable(baseline, figures):
    """None if the figures of the two mean the same."""
    if count.family_major(baseline.compiler) != count.family_major(figures.compiler):
        return f"the compiler is {figures.compiler}, the other figures are of {baseline.compiler}"
    if baseline.libc != figures.libc:
        return f"the C library is {figures.libc}, the other figures are with {baseline.libc}"
    return None
