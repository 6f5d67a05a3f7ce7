#!/usr/bin/env python3
"""Runs the tests of lua-host: run_tests.py --host PROGRAM --sessions PROGRAM --weir PROGRAM [--lua PROGRAM] [TEST]..."""
import argparse
import os
import shutil
import sys
import unittest

sys.dont_write_bytecode = True  # the tests leave the tree unchanged
import support


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", required=True, help="lua-host")
    parser.add_argument("--sessions", required=True, help="lua-host-sessions: lua-host with the module of sessions.c")
    parser.add_argument("--weir", required=True, help="weir, to read the traces")
    parser.add_argument("--lua", default="lua5.4", help="the interpreter to compare with")
    parser.add_argument("--deferred-signals", action="store_true",
                        help="signals arrive only in calls, not in loops (ThreadSanitizer)")
    parser.add_argument("--rounds", type=int, default=1, help="how often to trace a real program (test_program)")
    arguments, rest = parser.parse_known_args()
    for name in support.programs:
        found = shutil.which(getattr(arguments, name))
        if found is None:
            sys.exit(f"run_tests.py: {getattr(arguments, name)}: no such program")
        support.programs[name] = os.path.abspath(found)
    support.deferred_signals = arguments.deferred_signals
    support.rounds = arguments.rounds
    if not any(not argument.startswith("-") for argument in rest):
        rest += ["test_attach", "test_events", "test_ends", "test_heap", "test_options", "test_plain", "test_program",
                 "test_schema", "test_serve"]
    sys.path.insert(0, support.HERE)
    unittest.main(module=None, argv=["run_tests.py", *rest])


if __name__ == "__main__":
    main()
