"""The report of a comparison, as ./dev bench ab writes it or somebody who says so.

Its verdicts are held against its figures: the report is made by the code that it is about, and what is said of a pull
request is not to be what the pull request says of itself. Hence the rules here are those of this checkout.
"""
import math

from bench.judge import gate, points, verdict
from bench.judge.points import Invalid

# By how much the quotient of two medians may lie outside of the interval of the pairs' quotients.
MEDIANS_FACTOR = 1.5


def read(path):
    report = points.validate("report", points.read_json(points.read_text(path), path), path)
    for row in report["gate"]:
        refuse(path, row["name"], gate_contradiction(row))
    for row in report["clock"]:
        refuse(path, row["bench"], clock_contradiction(row))
    return report


def refuse(path, name, why):
    if why:
        raise Invalid(f"{path}: {name}: {why}")


# --- Counts. ------------------------------------------------------------------------------------------------


def gate_contradiction(row):
    """Why the verdict cannot be of these figures, or None."""
    name, base, head, said = (row[key] for key in ("name", "base", "head", "verdict"))
    if head and gate.must_be_zero(name):
        possible = {"regressed"}
    elif base is None or head is None:
        possible = {"regressed", "not_compared"}
    elif name == "code/libweir/exports":  # of which the list counts
        possible = {"regressed", "same"} if base == head else {"regressed"}
    else:
        possible = {gate.compare_value(name, row["unit"], base, head)["verdict"], *(["regressed"] if head > base else [])}
    return None if said in possible else f"'{said}' with base {base} and head {head}"


# --- The clock. ---------------------------------------------------------------------------------------------


def clock_contradiction(row):
    ratio, low, high, base, head = (row[key] for key in ("ratio", "lo", "hi", "base", "head"))
    if not (low <= ratio <= high and row["control_lo"] <= row["control_hi"]):
        return "the ratio is not within its interval"
    if base <= 0 or head <= 0:
        return f"base {base} and head {head} are not both more than nothing"
    medians = math.log(head) - math.log(base)
    if not math.log(low / MEDIANS_FACTOR) <= medians <= math.log(high * MEDIANS_FACTOR):
        return f"base {base} and head {head} do not fit a ratio of {low:.3g} to {high:.3g}"
    ends = (math.log(low), math.log(high)) if row["better"] == "less" else (-math.log(high), -math.log(low))
    width = verdict.control_width(math.log(row["control_lo"]), math.log(row["control_hi"]))
    expected = verdict.say(*ends, width, row["p"], row.get("limit", verdict.LIMIT))
    if row["verdict"] == expected:
        return None
    return f"the verdict is '{row['verdict']}' where the figures say '{expected}'"
