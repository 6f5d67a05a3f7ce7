"""Base, head, and base against a copy of itself, from alternating processes: what is said of the clock.

    regressed  the interval lies wholly beyond the limit, and the difference is no chance. The limit is 3 %, or 1 %
               where emitter and drain share a processor in an otherwise idle core; or, if it is more, what base
               differs from itself by
    improved   the same in the other direction
    unstable   not decided, and base differs from itself by more than 10 %: the machine cannot tell
    same       the rest: if there is a difference, it is not one that this could see

There is a verdict for each state of the machine that lasted for enough pairs; see state.py.

A regression is said only after it was seen twice: see cmd_ab.py.
"""
import math
from dataclasses import dataclass

import numpy

from bench.judge import pairs

LIMIT, LIMIT_ON_ONE = 0.03, 0.01
UNSTABLE_OVER = 0.10
P_BELOW = 0.01
PAIRS_MIN = 12  # with fewer, the interval says little


@dataclass
class Samples:
    """A figure of one benchmark in one state of the machine: one value of each process; those at the same place in the
    lists are of about the same moment."""
    bench: str
    unit: str
    better: str  # less or more
    base: list
    head: list
    control: list  # a copy of base
    state: str = ""
    limit: float = LIMIT


def log_ratios(values, others):
    return numpy.log(numpy.asarray(values, dtype=float) / numpy.asarray(others, dtype=float))


def pairs_needed(benchmarks):
    """With fewer pairs nothing could be red, whatever it took: among so many, the rarest outcome is not rare enough."""
    return max(PAIRS_MIN, pairs.least_pairs(benchmarks, P_BELOW))


def control_width(low, high):
    """By how much base differs from itself at worst, as a part of one: of an interval of logarithms."""
    return math.expm1(max(abs(low), abs(high)))


def say(low, high, width, p, limit=LIMIT):
    """`low` and `high`: of the logarithm of how much slower head is."""
    limit = math.log1p(max(limit, width))
    if p < P_BELOW and low > limit:
        return "regressed"
    if p < P_BELOW and high < -limit:
        return "improved"
    return "unstable" if width > UNSTABLE_OVER else "same"


def judge(all_samples, was_repeated=False):
    """Rows as results/schema.json's clock_row, in the order of the samples. They are judged together: the more there
    are, the less a rare chance means."""
    ratios = [log_ratios(one.head, one.base) for one in all_samples]
    p_values = pairs.holm([pairs.p_value(one) for one in ratios])
    return [row(one, logs, p, was_repeated) for one, logs, p in zip(all_samples, ratios, p_values)]


def row(samples, logs, p, was_repeated):
    middle, low, high = pairs.hodges_lehmann(logs)
    _, control_low, control_high = pairs.hodges_lehmann(log_ratios(samples.control, samples.base))
    width = control_width(control_low, control_high)
    slower = (low, high) if samples.better == "less" else (-high, -low)
    told = {"state": samples.state} if samples.state else {}
    return {"bench": samples.bench, **told, "unit": samples.unit, "better": samples.better,
            "base": float(numpy.median(samples.base)), "head": float(numpy.median(samples.head)),
            "ratio": math.exp(middle), "lo": math.exp(low), "hi": math.exp(high), "p": p,
            "control_lo": math.exp(control_low), "control_hi": math.exp(control_high), "pairs": len(samples.base),
            "limit": samples.limit, "verdict": say(*slower, width, p, samples.limit), "was_repeated": was_repeated}
