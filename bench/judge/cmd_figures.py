"""Makes the tables of figures in documents from an entry of results/.

What stands between <!-- figures: short ID ... from results/ENTRY --> (or: all from results/ENTRY) and <!-- end --> is
written anew from the entry's claims.json. With --check nothing is written or measured; it fails if a table is not what
its entry makes. Exit codes: 0, 1 a check failed, 2 usage.
"""
import argparse
import os
import sys

from bench.judge import command, figures, points


def usage(argv):
    parser = command.parser("figures", __doc__)
    parser.add_argument("--check", action="store_true", help="only see whether all is as it should be")
    parser.add_argument("--entry", metavar="results/ENTRY", help="make all tables from this one from now on")
    parser.add_argument("--root", default=points.ROOT, help=argparse.SUPPRESS)  # for tests
    arguments = parser.parse_args(argv)
    if arguments.check and arguments.entry:
        parser.error("--check looks at what is there; --entry changes it")
    return arguments


def entry_of(arguments):
    """As documents write it: relative to the checkout."""
    if not arguments.entry:
        return None
    entry = os.path.relpath(os.path.join(arguments.root, arguments.entry), arguments.root).rstrip("/")
    if os.path.dirname(entry) != "results" or not os.path.isdir(os.path.join(arguments.root, entry)):
        raise command.Usage(f"--entry: '{arguments.entry}' is no folder in results/")
    return entry


def main(argv=None):
    arguments = usage(argv)
    entry = entry_of(arguments)
    texts = {file: points.read_text(os.path.join(arguments.root, file)) for file in figures.documents(arguments.root)}
    made = {file: figures.renewed(arguments.root, file, text, entry) for file, text in texts.items()}
    changed = [file for file in texts if made[file] != texts[file]]
    for file in changed:
        if arguments.check:
            print(f"{file}: a table of figures is not what its entry makes; ./dev bench figures writes it anew",
                  file=sys.stderr)
        else:
            command.write(os.path.join(arguments.root, file), made[file])
            print(f"Wrote {file}.")
    return 1 if arguments.check and changed else 0


if __name__ == "__main__":
    command.run("figures", main)
