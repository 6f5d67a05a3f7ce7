"""Where a series changes its level: E-divisive means (Matteson and James, 2014), with a permutation test for each.

The statistic compares distances between the points of two neighbouring stretches with the distances within them; it
asks for no distribution. What it finds in shuffled copies of the series is what chance finds. The series is cut in two
at the greatest one that chance does not reach, and the parts are searched again.

Hundreds of series are looked through at once, and chance is to find something in one of twenty such looks: so the
level of each test is that share divided by the number of series (Bonferroni), and with it goes the number of copies.

A test asks whether the order matters, so slow drift and host weather are found too. Hence each change point says what
it is: a step of the code's, a drift, or the host's, if the calibration loop or the kernel changed at the same place.
"""
import functools
import math
from typing import NamedTuple, Optional

import numpy

LEVEL = 0.05  # of all series that are looked at together
COPIES_MIN = 999  # shuffled, for a series alone: a level of 0.001
COUNTED = "count"  # the suite of figures that are exact
STRETCH_MIN = 3  # points before and after; fewer are outliers
CHANGE_MIN = 0.02  # of a figure that has noise at all; smaller ones are not worth a look
NEAR = 10  # points: the farthest apart that the marks of one change in two series are looked for
TOLD_APART = 6.0  # of twice the logarithm of likelihood: less, and the figures do not tell two places apart


class Change(NamedTuple):
    at: int  # the first point of the new level
    before: float  # median of the stretch before
    after: float
    kind: str  # step, drift or host
    why: Optional[str]  # for the host


def copies_for(together):
    """How many shuffled copies a cut is to beat in each of so many series: the fewest that can reach the level. The
    first that does as well ends the test."""
    return max(COPIES_MIN, math.ceil(together / LEVEL) - 1)


class Statistic:
    """The energy of [0, i) against [i, j) in a series of n values, for each cut i and end j: the distances between the
    two stretches less those within them. It is taken a thousand times of each series, so it keeps its memory: fresh
    pages would cost more than the arithmetic."""

    def __init__(self, n):
        first, second = numpy.arange(n + 1)[:, None], numpy.arange(n + 1)[None, :] - numpy.arange(n + 1)[:, None]
        allowed = (first >= STRETCH_MIN) & (second >= STRETCH_MIN)  # 0 where a stretch would be too short
        first, second = numpy.where(allowed, first, 2), numpy.where(allowed, second, 2)
        share = numpy.where(allowed, first * second / (first + second), 0)
        between, left, right = 2 * share / (first * second), share / (first * (first - 1)), share / (second * (second - 1))
        # With sums over [0, i) x [0, j): the distances between are of_both - of_left, those on the right
        # of_all + of_left - 2 * of_both.
        self.of_both, self.of_left, self.of_all = between + 2 * right, between + left + right, right
        self.sums, self.energy = numpy.zeros((n + 1, n + 1)), numpy.empty((n + 1, n + 1))

    def __call__(self, values):
        """Good until the next call."""
        distance = self.sums[1:, 1:]
        numpy.abs(numpy.subtract(values[:, None], values[None, :], out=distance), out=distance)
        numpy.cumsum(distance, 0, out=distance)
        numpy.cumsum(distance, 1, out=distance)
        squares = self.sums.diagonal()
        numpy.multiply(self.sums, self.of_both, out=self.energy)
        self.energy -= self.of_left * squares[:, None]
        self.energy -= self.of_all * squares[None, :]
        return self.energy


statistic_of = functools.lru_cache(maxsize=8)(Statistic)


def tested_cut(values, random, copies):
    """The strongest cut, or None if chance finds one as strong. Ends other than the last let it see a bump that goes
    back."""
    if len(values) < 2 * STRETCH_MIN or numpy.ptp(values) == 0:
        return None
    statistic = statistic_of(len(values))
    energy = statistic(values)
    cut, _ = numpy.unravel_index(numpy.argmax(energy), energy.shape)
    strength = energy.max()
    if strength <= 0:
        return None
    for _ in range(copies):
        if statistic(random.permutation(values)).max() >= strength * (1 - 1e-9):
            return None
    return int(cut)


def cuts(values, copies=COPIES_MIN, seed=1):
    """The first points of new levels in order, found by halving."""
    values = numpy.asarray(values, dtype=float)
    random, found, open_parts = numpy.random.default_rng(seed), [], [(0, len(values))]
    while open_parts:
        start, end = open_parts.pop()
        cut = tested_cut(values[start:end], random, copies)
        if cut is not None:
            found.append(start + cut)
            open_parts += [(start, start + cut), (start + cut, end)]
    return sorted(found)


def levels_of(values, places):
    """The medians of the stretches between these places."""
    ends = [0, *places, len(values)]
    return [float(numpy.median(values[start:end])) for start, end in zip(ends, ends[1:])]


def is_drift(values, places):
    """A line explains the values better than levels that change at these places, for the parameters that each needs."""
    n, at = len(values), numpy.arange(len(values))
    line = values - numpy.polyval(numpy.polyfit(at, values, 1), at)
    levels = numpy.concatenate([part - part.mean() for part in numpy.split(values, places)])
    cost = lambda rest, parameters: n * numpy.log(max((rest**2).sum(), 1e-300) / n) + parameters * numpy.log(n)
    return cost(line, 2) < cost(levels, 2 * len(places) + 1)


def merge_drifts(values, places):
    """(cuts, is drift): neighbouring changes of one direction are one if they are the stairs of a slope."""
    ends = [0, *places, len(values)]
    levels = levels_of(values, places)
    merged, first = [], 0
    while first < len(places):
        last = first
        rises = levels[first + 1] > levels[first]
        while last + 1 < len(places) and (levels[last + 2] > levels[last + 1]) == rises:
            last += 1
        span = values[ends[first]:ends[last + 2]]
        run = places[first:last + 1]
        if is_drift(span, [place - ends[first] for place in run]):
            merged.append((run, True))
        else:
            merged += [([place], False) for place in run]
        first = last + 1
    return merged


def is_small(before, after):
    """A figure without noise may change by one; one with noise not by less than is worth a look."""
    has_noise = numpy.ptp(before) > 0 or numpy.ptp(after) > 0
    low, high = sorted([abs(numpy.median(before)), abs(numpy.median(after))])
    return has_noise and high - low < CHANGE_MIN * high and numpy.median(before) * numpy.median(after) > 0


def host_changes(series):
    """{place: why} where what is not our code changed: the calibration loop, or the kernel. Exact counts are no matter
    of the host."""
    found = {}
    if all(point["suite"] == COUNTED for point in series):
        return found
    calibration = [point["cal_ns"] for point in series]
    if None not in calibration:
        places = cuts(calibration)
        levels = levels_of(calibration, places)
        for at, before, after in zip(places, levels, levels[1:]):
            found[at] = f"the calibration loop went from {before:.3g} to {after:.3g} ns"
    for at in range(1, len(series)):
        if series[at]["kernel"] != series[at - 1]["kernel"]:
            found[at] = f"the kernel went from {series[at - 1]['kernel']} to {series[at]['kernel']}"
    return found


def rest(values, at):
    """What is left of the variation when the values are two levels with this step."""
    return sum(float(((part - part.mean()) ** 2).sum()) for part in (values[:at], values[at:]))


def host_place(values, at, places):
    """The host's change that a step in these values at this place may as well be, or None."""
    here = max(rest(values, at), 1e-300)
    fitting = [place for place in places if 0 < place < len(values) and abs(place - at) <= NEAR
               and len(values) * numpy.log(max(rest(values, place), 1e-300) / here) < TOLD_APART]
    return min(fitting, key=lambda place: abs(place - at), default=None)


def find(series, together=1):
    """The changes of a series: points of history, in order. `together`: how many series are looked at with it."""
    values = numpy.array([point["value"] for point in series], dtype=float)
    places = cuts(values, copies_for(together))
    if not places:
        return []
    host = host_changes(series)
    ends, changes = [0, *places, len(values)], []
    for run, is_slope in merge_drifts(values, places):
        first, last = ends.index(run[0]), ends.index(run[-1])
        before, after = values[ends[first - 1]:run[0]], values[run[-1]:ends[last + 1]]
        at = run[len(run) // 2]
        if is_small(before, after):
            continue
        start = ends[first - 1]
        place = host_place(values[start:ends[last + 1]], at - start, [place - start for place in host])
        kind = "host" if place is not None else "drift" if is_slope else "step"
        changes.append(Change(at, float(numpy.median(before)), float(numpy.median(after)), kind,
                              None if place is None else host[start + place]))
    return changes


def worse(change, better):
    """True, False, or None where neither way is better."""
    return None if better == "none" else (change.after > change.before) == (better == "less")
