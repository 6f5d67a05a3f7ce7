"""The metrics of points: their units, and which way is better. What weir-bench's counters are called is what they are.
"""
import math
from typing import NamedTuple


class Metric(NamedTuple):
    unit: str
    better: str  # less or more


TIME = "ns_per_event"
RATIOS = ("ratio", "difference_ns")  # their benchmark's time is of both sides together, and means nothing

TABLE = {
    TIME: Metric("ns", "less"),
    "events_per_s": Metric("events/s", "more"),
    "loss": Metric("lost/attempted", "less"),
    "park_p50_ns": Metric("ns", "less"),
    "park_p99_ns": Metric("ns", "less"),
    "park_p999_ns": Metric("ns", "less"),
    "wakes_per_segment": Metric("wakes/segment", "less"),
    "jain": Metric("index", "more"),
    "cpu_ns_per_event": Metric("ns", "less"),
    "bytes_per_event": Metric("bytes", "less"),
    "ratio": Metric("x", "less"),
    "difference_ns": Metric("ns", "less"),
    "of_bound": Metric("delivered/bound", "more"),
    "bytes_per_s": Metric("bytes/s", "more"),
}


def split(name):
    """(benchmark, metric) of a figure of ./dev bench count: "emit/dropped/calls" is metric calls of emit/dropped. What
    an event takes in the lane or in the file is one figure of each size, which ends its name."""
    if name.startswith("bytes/"):
        return name, "bytes_per_event"
    bench, _, metric = name.rpartition("/")
    return bench, metric


# For people: from which size on a unit is told in a larger one.
SCALES = {
    "ns": ((1e9, "s"), (1e6, "ms"), (1e3, "µs")),
    "events/s": ((1e9, "G events/s"), (1e6, "M events/s"), (1e3, "k events/s")),
    "bytes/s": ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")),
    "bytes": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")),
}


def significant(value, digits=3):
    """12345.6 as 12,346, 0.01234 as 0.0123: so many digits, but never fewer than the whole part has."""
    if value is None or not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    places = max(digits - 1 - math.floor(math.log10(abs(value))), 0)
    if places > 9:
        return f"{value:.{digits - 1}e}"
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if value == round(value) and "." in text else text


def exact(value):
    """Counts are told in full: one instruction more is the news."""
    return "–" if value is None else f"{value:,.10g}"


def scale(value, unit):
    """The factor to divide by and the unit to write, for a value as large as this."""
    for factor, name in SCALES.get(unit, ()):
        if value is not None and abs(value) >= factor:
            return factor, name
    return 1.0, unit


def told(value, unit, spread=None):
    """A figure with its unit, and the ends of its spread if they differ from it."""
    factor, name = scale(value, unit)
    ends = [end for end in spread or () if end is not None]
    if value is not None and abs(value) < 1e-6 * max(map(abs, ends), default=0):
        value = 0  # what rounding has left of a difference
    text = f"{significant(None if value is None else value / factor)} {name}"
    if len(ends) == 2 and (ends[0] != value or ends[1] != value):
        text += f" ({significant(ends[0] / factor)}–{significant(ends[1] / factor)})"
    return text
