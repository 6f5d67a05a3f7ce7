#!/usr/bin/python3.11
"""cost.py [--rounds N]: what a session costs a loop that does nothing but call, of what an empty profile function of C costs.

PYTHONPATH is the folder with the package weir. In one process, in turn in each round: plain Python, an empty profile
function, a session in DROP and one in BLOCK, both into a file on /dev/shm. Prints medians, with the least and the greatest,
and ratios of each round. Of a machine that does other work meanwhile, the ratios still say something; the times do not."""
import argparse
import ctypes
import os
import statistics
import subprocess
import sys
import tempfile
import time

import weir

CALLS = 300_000


def called(number):
    return number


def loop():
    for number in range(CALLS):
        called(number)


def empty_profile():
    """Returns a function that sets a profile function of C that does nothing."""
    with tempfile.TemporaryDirectory() as folder:
        library = os.path.join(folder, "empty.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-x", "c", "-", "-o", library], check=True,
                       input=b"int empty(void *o, void *f, int w, void *a) { (void)o, (void)f, (void)w, (void)a; return 0; }")
        empty = ctypes.CDLL(library).empty
    return lambda: ctypes.pythonapi.PyEval_SetProfile(empty, None)


def timed(begin=lambda: None, end=lambda: None):
    begin()
    start = time.perf_counter_ns()
    loop()
    spent = time.perf_counter_ns() - start
    end()
    return spent / CALLS


def traced(mode):
    session = weir.session("/dev/shm/weir-cost.nettrace", mode=mode)
    spent = timed(session.start, session.stop)
    if session.stats()["lost"]:
        sys.exit(f"cost.py: {mode} lost events; the loop is too long for the budget")
    return spent


def shown(numbers, unit):
    return f"{statistics.median(numbers):8.2f} {unit} ({min(numbers):.2f} to {max(numbers):.2f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    set_empty = empty_profile()
    ways = {"plain Python": timed,
            "empty profile function": lambda: timed(set_empty, lambda: sys.setprofile(None)),
            "session, drop": lambda: traced("drop"),
            "session, block": lambda: traced("block")}
    times = {way: [] for way in ways}
    for _ in range(rounds):
        for way, run in ways.items():
            times[way].append(run())
    for way in ways:
        print(f"{way:24}{shown(times[way], 'ns a call')}")
    for way, base in ("empty profile function", "plain Python"), ("session, drop", "empty profile function"), \
            ("session, block", "empty profile function"):
        ratios = [one / other for one, other in zip(times[way], times[base])]
        print(f"{way} of {base}: {shown(ratios, 'x')}")


if __name__ == "__main__":
    main()
