#!/usr/bin/python3.11
"""Runs the tests of python-host: run_tests.py --path FOLDER --weir PROGRAM [TEST]..."""
import argparse
import sys
import unittest

sys.dont_write_bytecode = True  # the tests leave the tree unchanged
import support


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    support.add_arguments(parser)
    arguments, rest = parser.parse_known_args()
    support.take_arguments(arguments)
    if not any(not argument.startswith("-") for argument in rest):
        rest += ["test_counts", "test_events", "test_sessions", "test_processes"]
    sys.path.insert(0, support.HERE)
    unittest.main(module=None, argv=["run_tests.py", *rest])


if __name__ == "__main__":
    main()
