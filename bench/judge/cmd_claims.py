"""Measures what the project claims about its speed, in one run of at most 40 minutes.

The claims are rows of bench/claims.json: a name, a quantity over samples, a bar. Samples that several claims need are
taken once a round; rounds are interleaved, and a verdict is of their median (a bar may say otherwise). Exit codes: 0 all
that is built and applies to this machine is met, and all rounds were taken; 1 something is missed, failed or not
measured (a peer is not installed), or the time was over before the last round; 2 usage; 130 interrupted. What was
measured until then is written in any case, and says that it is partial.
"""
import difflib
import os
import shlex
import sys
import time

from bench.judge import claims, claims_judge, claims_run, command, environment, points
from bench.stress import runs

OUT = os.path.join("out", "bench", "claims.json")
MINUTES_MAX = 40.0
VERSION = 2


def usage(argv):
    parser = command.parser("claims", __doc__)
    parser.add_argument("--only", nargs="+", metavar="ID", help="these claims; --list has their names")
    parser.add_argument("--minutes", type=command.within(0.001, MINUTES_MAX), default=MINUTES_MAX,
                        help="at most, without building; if that is too short for all rounds, the report is partial "
                        "and no entry to show; default and most 40")
    parser.add_argument("--list", action="store_true", help="what is claimed, by which quantity; measures nothing")
    parser.add_argument("--json", action="store_true", help="print the report as JSON instead of the table")
    parser.add_argument("-o", "--output", default=OUT, metavar="FILE", help=f"the report; default {OUT}")
    parser.add_argument("--programs", metavar="FOLDER",
                        help="take weir-bench, weir-stress, ... from there instead of building them")
    return parser.parse_args(argv)


def choose(book, only):
    known = {claim["id"]: claim for claim in book.claims}
    for name in only or ():
        if name not in known:
            near = difflib.get_close_matches(name, known, 3)
            raise command.Usage(f"there is no claim '{name}'; {'there is ' + ', '.join(near) if near else 'see --list'}")
    return [known[name] for name in dict.fromkeys(only or known)]


def listing(chosen):
    for claim in chosen:
        yield f"{claim['id']:22}{claim['name']}"
        yield f"{'':22}" + (f"not built: {claim['not_built']}" if "not_built" in claim
                            else f"{claim['quantity']} {claims.bar_words(claim['bar'])} {claim['unit']}".rstrip())


def report_of(book, chosen, run, seconds, others, argv):
    calibrations, results = claims_judge.judge_all(book, run.measured, chosen)
    said = [run.why and f"Not all rounds: {run.why}.", runs.sentence_of_others(others)]
    return {"v": VERSION, "command": shlex.join(["./dev", "bench", "claims", *argv]),
            "commit": environment.commit(points.ROOT), "date": points.now(), "seconds": round(seconds, 1),
            "is_complete": run.is_complete, "note": " ".join(filter(None, said)),
            "environment": environment.collect(), "calibrations": calibrations, "settings": run.sources.settings,
            "claims": results}


def exit_code(report, run):
    if run.was_interrupted:
        return 130
    is_met = all(result["verdict"] in ("met", "excluded", "not_built") for result in report["claims"])
    return 0 if is_met and report["is_complete"] else 1


def main():
    argv = sys.argv[1:]
    arguments = usage(argv)
    book = claims.load()
    chosen = choose(book, arguments.only)
    if arguments.list:
        print("\n".join(listing(chosen)))
        return 0
    run = claims_run.Run(book, chosen, claims_run.Sources(arguments.programs))
    try:
        run.prepare()
        estimate = runs.duration(min(run.seconds(), arguments.minutes * 60))
        print(f"{len(run.samples)} samples, about {estimate}.", file=sys.stderr, flush=True)
        others, started = runs.Others(), time.monotonic()
        run.run(arguments.minutes * 60)
        report = report_of(book, chosen, run, time.monotonic() - started, others.processors(), argv)
    finally:
        run.sources.close()
    text = points.compact(report)
    command.write(arguments.output, text)
    print(text if arguments.json else "\n".join(claims_judge.terminal(report)), end="" if arguments.json else "\n")
    print(f"Wrote {arguments.output}.", file=sys.stderr)
    return exit_code(report, run)


if __name__ == "__main__":
    command.run("claims", main)
