"""The state of the machine that a figure was taken in. In a guest it changes within a second, and a figure of one state
does not compare with one of another: they are neither compared nor pooled.

Two things are measured before and after each group of figures (bench/machine.h), and must agree:

    own core     sixteen independent additions took at most 1.1 times as long as the fastest of the run: the core's other
                 hardware thread was idle, and what a figure says is the program's
    shared core  they took longer: some tenant of the host was busy there
    one cache    a line came back from another processor within 300 ns; two caches: it took longer. Only measured where a
                 figure depends on two processors; then the additions are those of the slower of the two

"own core" is a state, and so is "own core, one cache". Where before and after differ the figure is "mixed": it belongs
to no state, is shown and is compared with nothing. The state of a figure that was taken without these measurements is "".
"""
import json
import math
from typing import NamedTuple

from bench.judge import process

CORES = OWN, SHARED = "own core", "shared core"
MIXED = "mixed"
OWN_MOST = 1.1  # of the fastest step of the run
# One EPYC takes 90 ns within a cache and 350 to 600 between two; the one cache of a Xeon takes 135 to 275, with its load.
NEAR_MOST_NS = 300
FIELDS = ("step_before_ns", "step_after_ns", "trip_before_ns", "trip_after_ns")


class Reading(NamedTuple):
    steps: tuple  # before and after
    trips: tuple  # the same; None where there is no other processor


def taken(row):
    """The reading in what a program printed; None if there is none."""
    values = [row.get(name) for name in FIELDS]
    return None if None in values[:2] else Reading(tuple(values[:2]), tuple(values[2:]))


def around(program, run):
    """What `run` returns, with the fields of a reading that `program`, a weir-machine, takes before and after it."""
    take = lambda: json.loads(process.output([program]))
    before, fields, after = take(), run(), take()
    steps, trips = zip(*((one["step_ns"], one["trip_ns"]) for one in (before, after)))
    return fields | dict(zip(FIELDS, (*steps, *trips)))


def fastest(readings):
    """The step that all readings of a run are held against."""
    return min((step for one in readings if one for step in one.steps), default=math.nan)


def of(reading, least_ns):
    """Its state."""
    if reading is None:
        return ""
    cores = {OWN if step <= OWN_MOST * least_ns else SHARED for step in reading.steps}
    places = {trip and ("one cache" if trip <= NEAR_MOST_NS else "two caches") for trip in reading.trips}
    return MIXED if len(cores | places) > 2 else ", ".join(filter(None, (*cores, *places)))


def split(things, reading_of, least_ns):
    """{state: things}, in the order of rank()."""
    found = {}
    for one in things:
        found.setdefault(of(reading_of(one), least_ns), []).append(one)
    return {name: found[name] for name in sorted(found, key=rank)}


def rank(name):
    """For order: no state, own cores, shared ones, mixed."""
    order = ("", OWN, SHARED, MIXED)
    return order.index(core(name)) if core(name) in order else len(order), name


def core(name):
    """"own core" of "own core, one cache"."""
    return name.partition(",")[0]


def labelled(text, name):
    """"emit/disabled, own core" """
    return f"{text}, {name}" if name else text
