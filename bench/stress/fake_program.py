"""Stands in for weir-stress in the tests of the Python files: prints runs as on a machine that obeys a formula.

    fake_program.py [options of weir-stress] --json

The environment variable FAKE selects one kind of misbehaviour.
"""
import json
import os
import sys

from bench.stress import runs

WAKES = list(runs.WAKES.values())
# The first is the best: of the bound, and of the median.
BOUND = {wake: 0.95 if number == 0 else 0.9 - 0.1 * number for number, wake in enumerate(WAKES)}
TAIL = {wake: 1.4 if number == 0 else 2.0 * number for number, wake in enumerate(WAKES)}
PRODUCER = 40e6  # events/s of one producer alone


def run(mode="block", wake=WAKES[0], threads=8, sink="fast", segment_kib=32, pin=False, seed=1, seconds=0.5, **changes):
    """The JSON object of one run."""
    drain = 1e9 / (1e9 / 100e6 + (int(sink.partition(":")[2]) if sink.startswith("cost") else 0))
    bound = min(drain, PRODUCER)
    noise = 1 + 0.01 * (seed * 7919 % 5 - 2)
    rate = bound * noise * (1 if mode == "drop" else BOUND[wake])
    written = int(rate * seconds)
    lost = {"FULL": int(PRODUCER * 1.5 * seconds)} if mode == "drop" else {}
    law = 1000.0 * threads * 32768 * 1e6 / rate
    waits = {"p50": law, "p99": law * TAIL.get(wake, 1), "p999": law * 2 * TAIL.get(wake, 1), "max": law * 20, "mean": law, "count": 5000}
    if mode == "drop":
        waits = dict.fromkeys(waits) | {"count": 0}
    made = {"mode": mode, "wake": None if mode == "drop" else wake, "producers": threads, "emitted": written + sum(lost.values()),
            "written": written, "lost": lost, "seconds": seconds, "events_per_s": rate, "park_ns": waits, "wakes_per_segment": 0.5,
            "wait_per_grant_ns": None if mode == "drop" else law,
            "jain": 0.995, "jain_window_ms": 100, "starvation_ns": 1000, "grant_bytes": None if mode == "drop" else 65536,
            "cpu_ns_per_event": 50, "drain_ceiling_events_per_s": drain, "producer_ceiling_events_per_s": PRODUCER,
            "bound_events_per_s": bound, "park_law_ns": None if mode == "drop" else law, "payload": 32, "record_bytes": 40,
            "segment_bytes": segment_kib << 10, "budget_bytes": 1 << 20, "sink": sink, "pin": pin, "seed": seed, "cpu": "A < B & C",
            "kernel": "6.1.0", "commit": "0123abc", "verified": None}
    return made | changes


def main(words):
    options, flags = {}, set()
    while words:
        word = words.pop(0)[2:]
        if word in ("json", "verify", "bins", "pin"):
            flags.add(word)
        else:
            options[word] = words.pop(0)
    fake = os.environ.get("FAKE", "")
    made = run(options["mode"], options.get("wake", WAKES[0]), int(options["threads"]), options["sink"],
               int(options.get("segment", "32K")[:-1]), "pin" in flags, int(options["seed"]), float(options.get("seconds", 0.2)))
    if "verify" in flags or made["sink"] == "pipe":
        made["verified"] = fake != "unverified"
    if "bins" in flags and fake != "no bins":
        made["park_bins"] = [[1000, 100], [2000, 100 * made["seed"]]] if made["mode"] == "block" else []
    if fake == "lossy" and made["mode"] == "block":
        made |= {"emitted": made["emitted"] + 1, "lost": {"ABORTED": 1}}
    if fake == "miscounts":
        made["emitted"] += 1
    if fake == "fails":
        print("weir-stress: no such luck", file=sys.stderr)
        return 1
    print("{" if fake == "broken" else json.dumps(made))
    if fake == "talks":
        print("and more")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
