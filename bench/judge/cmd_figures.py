"""Makes the figures in README and docs from an entry of results/, and checks that no figure there is anybody's word.

Blocks between <!-- figures: claims-table from results/ENTRY --> and <!-- end --> are written anew (claims-table
[ID ...], value ID, verdicts, peers-table [CASE ...]). With --check nothing is written or measured; it fails if a block is not what its entry
makes, if a sentence with a figure of speed (a number and a unit of time, rate or ratio) stands in README, docs or a
header and in no claim of bench/claims/, or if a claim names words that are gone. A figure that claims nothing, a
default or a deadline, is put into bench/claims/no_claims.json. Exit codes: 0, 1 a check failed, 2 usage.
"""
import argparse
import os
import sys

import claims
import command
import figures
import figures_sentences
import points


def usage(argv):
    parser = argparse.ArgumentParser(prog="./dev bench figures", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only see whether all is as it should be")
    parser.add_argument("--entry", metavar="results/ENTRY", help="make all blocks from this one from now on")
    parser.add_argument("--root", default=points.ROOT, help=argparse.SUPPRESS)  # for tests
    arguments = parser.parse_args(argv)
    if arguments.check and arguments.entry:
        parser.error("--check looks at what is there; --entry changes it")
    return arguments


def entry_of(arguments):
    """As blocks write it: relative to the checkout."""
    if not arguments.entry:
        return None
    entry = os.path.relpath(os.path.join(arguments.root, arguments.entry), arguments.root).rstrip("/")
    if os.path.dirname(entry) != "results" or not os.path.isdir(os.path.join(arguments.root, entry)):
        raise command.Usage(f"--entry: '{arguments.entry}' is no folder in results/")
    return entry


def texts_of(root):
    for file in figures_sentences.documents(root):
        if file.endswith(".md"):
            yield file, points.read_text(os.path.join(root, file))


def check(root):
    """What is wrong, a line each."""
    for file, text in texts_of(root):
        try:
            if figures.renewed(root, file, text) != text:
                yield f"{file}: a block of figures is not what its entry makes; ./dev bench figures writes it anew"
        except points.Invalid as error:
            yield str(error)
    yield from figures_sentences.check(root, claims.load(os.path.join(root, "bench", "claims")))


def write(root, entry):
    for file, text in texts_of(root):
        made = figures.renewed(root, file, text, entry)
        if made != text:
            command.write(os.path.join(root, file), made)
            print(f"Wrote {file}.")


def main(argv=None):
    arguments = usage(argv)
    if not arguments.check:
        write(arguments.root, entry_of(arguments))
        return 0
    wrong = list(check(arguments.root))
    for line in wrong:
        print(line, file=sys.stderr)
    if wrong:
        print("A sentence about speed needs a claim in bench/claims/ (its words in 'where'), or, if it claims nothing, "
              "a line in bench/claims/no_claims.json.", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    command.run("figures", main)
