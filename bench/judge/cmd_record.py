"""./dev bench record: keeps what was measured. Appends points to results/history/, and with --name makes an entry in
results/.

An entry has the figures of the FILES as one line each in points.ndjson, which is what its tables are made of; a report of
./dev bench claims or peers that is attached keeps what README's figures and pictures read. The history keeps of each
series the newest 200 points, and of older ones the last of each month.

FILES are what weir-bench (--benchmark_out, or ./dev bench quick's out/bench/quick.json) and ./dev bench count --json
wrote; which of them each is shows in it.
"""
import argparse
import os
import sys

from bench.judge import command, convert, entries, points, series
from bench.judge.points import Invalid


def usage(argv):
    parser = command.parser("record", __doc__)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--name", help="make an entry results/DATE-CPU-NAME/ too: small letters, digits and '-'")
    parser.add_argument("--note", help="what the entry shows; its first line goes to the index")
    parser.add_argument("--command", help="what was run, for the entry, where the files do not tell")
    parser.add_argument("--attach", action="append", default=[], metavar="FILE", help="a further file for the entry: claims.json, peers.json, a picture")
    parser.add_argument("--no-history", action="store_true",
                        help="the entry only: for conditions that are not those of the history, as a busy machine")
    parser.add_argument("--allow-dirty", action="store_true",
                        help="take figures of uncommitted or unknown code; the points say so")
    parser.add_argument("--results", default=entries.RESULTS, help=argparse.SUPPRESS)  # for tests
    arguments = parser.parse_args(argv)
    if arguments.name is None and (arguments.no_history or arguments.attach or arguments.command or arguments.note):
        parser.error("--note, --command, --attach and --no-history are about an entry, which needs --name")
    return arguments


def check_commits(sources, allow_dirty):
    """One commit for all, and one that anybody can get."""
    commits = sorted({source.commit for source in sources})
    if len(commits) > 1:
        raise Invalid(f"the files are of different commits: {', '.join(commits)}")
    if not allow_dirty and (commits[0] == "unknown" or commits[0].endswith("-dirty")):
        raise Invalid(f"measured on commit '{commits[0]}', which nobody can get again; commit, build and measure, "
                      "or --allow-dirty")
    return commits[0]


def identity(point):
    return (*convert.identity(point), *(point[name] for name in ("commit", "date", "runner")))


def check_new(found, history):
    """A file that is recorded twice would count twice."""
    if len({identity(point) for point in found}) < len(found):
        raise Invalid("the files hold the same figure twice")
    for suite in sorted({point["suite"] for point in found}):
        path = os.path.join(history, f"{suite}.ndjson")
        known = {identity(point) for point in points.read(path)} if os.path.exists(path) else set()
        again = next((point for point in found if point["suite"] == suite and identity(point) in known), None)
        if again:
            raise Invalid(f"{path}: {again['bench']} of {again['date']} is recorded already")


def command_of(arguments, sources):
    if arguments.command:
        return arguments.command
    told = [str(source.command) for source in sources]
    if "None" in told:
        raise Invalid("the files do not tell what was run; say it with --command, so that the entry can be repeated")
    return "\n".join(dict.fromkeys(told))


def main(argv=None):
    arguments = usage(argv)
    sources = [convert.read(path) for path in arguments.files]
    found = [point for source in sources for point in source.points]
    for name, reason in (pair for source in sources for pair in source.skipped):
        print(f"record: {name}: not measured: {reason}", file=sys.stderr)
    if not found:
        raise Invalid("there is no figure in these files")
    kept = convert.for_history(found)
    commit, history = check_commits(sources, arguments.allow_dirty), os.path.join(arguments.results, "history")
    if not arguments.no_history:
        check_new(kept, history)
    if arguments.name is not None:
        name = entries.entry_name(max(point["date"] for point in found), sources[0].environment["cpu"], arguments.name)
        folder = entries.make(name, note=arguments.note, sources=sources, files=arguments.attach,
                              repeat=command_of(arguments, sources), environment=sources[0].environment, commit=commit,
                              dirty_allowed=arguments.allow_dirty, results=arguments.results)
        print(f"Made {os.path.relpath(folder)} with {len(found)} figures, and its line in {entries.INDEX}.")
    if not arguments.no_history:
        for suite, some in series.append(kept, history).items():
            print(f"Added {len(some)} points to {os.path.relpath(os.path.join(history, suite))}.ndjson.")
    return 0


if __name__ == "__main__":
    command.run("record", main)
