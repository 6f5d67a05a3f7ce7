#!/usr/bin/env python3
"""Runs Spin over the models in this folder: each must hold or fail as the table says.

    check.py [GROUP ...] [--list] [--only TEXT] [--trail] [--work FOLDER]

A run is one search, exhaustive within the model's bound. A search with bit-state hashing, or one that stopped at its
depth or its memory, does not count. A property is checked under weak fairness (-f), together with the model's
assertions. "-" searches for violated assertions and for states in which all processes are stuck.

Expected failures are results too: a row with a mutant shows that the property notices it; a row with a property
never_... shows that what the other rows rely on does occur.

Exit status: 0 all as expected, 1 not as expected, 77 Spin or gcc is not installed.
"""
import argparse
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).resolve().parent
SKIPPED = 77
MEGABYTES_MAX = 3072
SECONDS_MAX = 600  # allows for a busy machine; on a quiet one, no run takes 120
DEEP = 16_000_000  # steps; the search's stack then takes 850 MB

HOLDS, CYCLE, ASSERT, END, CLAIM = "holds", "cycle", "assertion", "end state", "claim"
FAILURES = {CYCLE: "acceptance cycle", ASSERT: "assertion violated", END: "invalid end state",
            CLAIM: "assertion violated"}
INCOMPLETE = ("search depth too small", "out of memory", "not completed", "too many processes", "pan: error", "aborted")


class Run(NamedTuple):
    group: str
    what: str
    model: str
    defines: str  # "A B=2" gives -DA -DB=2; MUTANT= takes a name that the model defines
    property: str  # an ltl name of the model; "-": assertions and end states
    expected: str
    depth: int = 1_000_000


def rows(group, model, common, *lines):
    return [Run(group, what, model, f"{common} {defines}".strip(), prop, expected, *depth)
            for what, defines, prop, expected, *depth in lines]


WORDS = rows(
    "words", "grant_word.pml", "",
    ("grant word: a parked waiter comes back", "", "wakes", HOLDS),
    ("grant word: no process is stuck", "", "-", HOLDS),
    ("grant word: a test and a store instead of an exchange", "MUTANT=GRANT_LOOKS_FIRST", "wakes", CYCLE),
    ("grant word: asleep by a plain store", "MUTANT=SLEEP_BY_STORE", "wakes", CYCLE),
    ("grant word: the futex does not compare", "MUTANT=SLEEP_UNCOMPARED", "wakes", CYCLE),
    ("grant word: rule 3 by a plain store", "MUTANT=KEEP_BY_STORE", "wakes", CYCLE),
    ("grant word: rule 3 without its wake", "MUTANT=KEEP_WITHOUT_WAKE", "wakes", CYCLE),
    ("grant word: timed out and granted, no lock", "MUTANT=TIMEOUT_UNLOCKED", "wakes", ASSERT),
    ("grant word: timed out and granted, popped", "MUTANT=TIMEOUT_POPPED", "wakes", ASSERT),
    ("grant word: aborted and granted", "MUTANT=ABORT_UNPOPPED", "wakes", ASSERT),
    ("grant word: exchange before the list", "MUTANT=GRANT_UNWRITTEN", "wakes", ASSERT),
    ("grant word: the waiter is granted in its sleep", "", "never_granted_asleep", CLAIM),
    ("grant word: the waiter is kept awake in its sleep", "", "never_kept", CLAIM),
) + rows(
    "words", "signal_word.pml", "",
    ("signal word: a parked waiter comes back", "", "wakes", HOLDS),
    ("signal word: no process is stuck", "", "-", HOLDS),
    ("signal word: set without the lock", "MUTANT=SIGNAL_UNLOCKED", "wakes", CYCLE),
    ("signal word: asleep by a plain store", "MUTANT=SLEEP_BY_STORE", "wakes", CYCLE),
    ("signal word: the futex does not compare", "MUTANT=SLEEP_UNCOMPARED", "wakes", CYCLE),
    ("signal word: a mark from the last wait", "MUTANT=STALE_SIGNAL", "wakes", CYCLE),
    ("signal word: a try keeps its mark", "MUTANT=SIGNAL_KEPT", "wakes", CYCLE),
    ("signal word: a try overwrites an abort", "MUTANT=TRY_BY_STORE", "wakes", CYCLE),
    ("signal word: a signal to itself is dropped", "MUTANT=SIGNAL_SELF_LOST", "wakes", CYCLE),
    ("signal word: the waiter is signaled in its sleep", "", "never_signaled_asleep", CLAIM),
    ("signal word: the waiter sleeps with half of its units", "", "never_half", CLAIM),
)

RELAY = rows(
    "relay", "gate.pml", "WAKE=RELAY",
    ("order, budget, no leak, no process stuck", "", "-", HOLDS),
    ("all are served: the first thread", "WHO=0", "served", HOLDS),
    ("fewer segments than threads that idle", "UNITS=2", "served", HOLDS),
    ("several events to a segment, timed sweeps", "ROOM=2 TIMED", "served", HOLDS, 4_000_000),
    ("no thread is ever seen to rest: running is a hint", "MUTANT=NO_REST", "served", HOLDS),
    ("without passing on (a setting)", "MUTANT=NO_HAND_ON", "served", HOLDS),
    ("no thread may use the drain's processor", "BOUND", "served", HOLDS),
    ("a turn goes on after its grant", "TURN=2 BOUND PRODUCERS=2", "served", HOLDS),
    ("no thread waits for ever while the drain is in the sink", "SINK GRANT=2", "not_kept", HOLDS, 4_000_000),
    ("stop ends while the drain is in the sink", "STOP SINK DEADLINE FINE PRODUCERS=2", "stops", HOLDS),
    ("all threads do wait", "", "never_all_wait", CLAIM),
    ("the drain does get stuck", "UNITS=2", "never_stuck", CLAIM),
) + rows(
    "relay_long", "gate.pml", "WAKE=RELAY",
    ("all are served: the second", "WHO=1", "served", HOLDS),
    ("all are served: the third", "WHO=2", "served", HOLDS),
    ("grants of two", "UNITS=4 GRANT=2", "served", HOLDS, DEEP),
    ("grants of two, threads exit, events are disabled", "GRANT=2 EXIT UNWANTED", "served", HOLDS, DEEP),
    ("a turn goes on after its grant, while two threads wait", "TURN=2 BOUND", "served", HOLDS, DEEP),
    ("a turn, with records of two segments", "TURN=2 BOUND LARGE UNITS=4 PRODUCERS=2", "served", HOLDS, DEEP),
    ("a turn, with deadlines", "TURN=2 BOUND DEADLINE PRODUCERS=2", "served", HOLDS, DEEP),
    ("words set after the lock", "FINE GRANT=2", "served", HOLDS, DEEP),
    ("deadlines", "DEADLINE", "served", HOLDS, DEEP),
    ("records of two segments", "LARGE UNITS=4", "served", HOLDS, DEEP),
    ("stop: counted once, nothing kept", "STOP", "-", HOLDS),
    ("stop ends, with deadlines and exits", "STOP DEADLINE EXIT GRANT=2 FINE PRODUCERS=2", "stops", HOLDS),
) + rows(
    "relay_mutants", "gate.pml", "WAKE=RELAY",
    ("without rule 5", "MUTANT=NO_RULE_5", "served", CYCLE),
    ("rule 5 that obeys the cap", "MUTANT=IDLE_OBEYS_CAP", "served", CYCLE),
    ("without rule 6", "MUTANT=NO_RULE_6", "-", ASSERT),
    ("idle holders, nothing revoked", "MUTANT=NO_REVOCATION UNITS=2", "served", CYCLE),
    ("idle holders, only grants revoked", "MUTANT=GRANTS_ONLY UNITS=2", "served", CYCLE),
    ("idle holders, only segments revoked", "MUTANT=SEGMENTS_ONLY UNITS=4 GRANT=3 LARGE", "served", CYCLE),
    ("a grant revoked before its first use", "MUTANT=CREDIT_WHOLE", "served", CYCLE),
    ("a resting thread does not serve", "MUTANT=UNSERVED_REST EXIT", "-", ASSERT),
    ("a giving thread does not serve", "MUTANT=UNSERVED_GIVE", "-", ASSERT),
    ("a parking thread does not ring", "MUTANT=NO_RING", "served", CYCLE),
    ("only the last thread to park rings", "MUTANT=RING_IF_LAST", "served", CYCLE),
    ("no timer while a thread waits", "MUTANT=UNTIMED_SLEEP GRANT=2", "served", CYCLE),
    ("whole grants only beyond the cap", "MUTANT=WHOLE_GRANTS GRANT=2", "served", CYCLE),
    ("a turn that does not end", "MUTANT=ENDLESS_TURN TURN=2 BOUND", "served", CYCLE),
    ("a ticket after the look", "MUTANT=EARLY_SLEEP", "served", CYCLE),
    ("barging", "MUTANT=BARGE", "-", ASSERT),
    ("the youngest is served first", "MUTANT=LIFO", "-", ASSERT),
    ("no hand-over before the sink", "MUTANT=NO_HAND_OVER SINK GRANT=2", "not_kept", CYCLE),
    ("no thread looks while the drain is in the sink", "MUTANT=NO_RECHECK SINK", "not_kept", CYCLE),
    ("a thread that gives up does not serve", "MUTANT=UNSERVED_TIMEOUT DEADLINE LARGE UNITS=4", "-", ASSERT),
    ("timed out and granted", "MUTANT=LATE_TIMEOUT DEADLINE FINE", "-", ASSERT),
    ("a thread that gives up keeps what it gathered", "MUTANT=KEPT_GATHERED DEADLINE LARGE UNITS=2", "-", ASSERT),
    ("a late grant is kept", "MUTANT=KEPT_UNWANTED UNWANTED", "-", ASSERT),
    ("a late grant is sent back, and counts", "MUTANT=RUNS_UNWANTED UNWANTED", "-", ASSERT),
    ("an exiting thread keeps its grant", "MUTANT=KEPT_ON_EXIT EXIT GRANT=2", "-", ASSERT),
    ("aborted and granted", "MUTANT=ABORT_UNPOPPED STOP PRODUCERS=2", "-", ASSERT),
    ("parking at a closed gate", "MUTANT=PARK_WHEN_CLOSED STOP SINK PRODUCERS=2", "stops", CYCLE),
)

FIFO = rows(
    "fifo", "gate.pml", "WAKE=FIFO",
    ("order, budget, no leak, no process stuck", "", "-", HOLDS),
    ("all are served: the first thread", "WHO=0", "served", HOLDS),
    ("fewer segments than threads that idle", "UNITS=2", "served", HOLDS),
    ("threads exit, events are disabled, timed sweeps", "EXIT UNWANTED TIMED PRODUCERS=2 UNITS=2", "served", HOLDS),
    ("deadlines, and records of two segments", "DEADLINE LARGE PRODUCERS=2 UNITS=2", "served", HOLDS),
    ("no thread waits for ever while the drain is in the sink", "SINK UNITS=2", "not_kept", HOLDS),
    ("stop ends while the drain is in the sink", "STOP SINK UNITS=2 PRODUCERS=2", "stops", HOLDS),
    ("all threads do wait", "", "never_all_wait", CLAIM),
    ("the drain does get stuck", "UNITS=2", "never_stuck", CLAIM),
) + rows(
    "fifo_long", "gate.pml", "WAKE=FIFO",
    ("all are served: the second", "WHO=1", "served", HOLDS),
    ("all are served: the third", "WHO=2", "served", HOLDS),
    ("deadlines", "DEADLINE UNITS=2", "-", HOLDS, 4_000_000),
    ("stop: counted once, nothing kept", "STOP UNITS=2", "-", HOLDS),
    ("stop ends, with deadlines and exits", "STOP DEADLINE EXIT UNITS=2 PRODUCERS=2", "stops", HOLDS),
) + rows(
    "fifo_mutants", "gate.pml", "WAKE=FIFO",
    ("idle holders, nothing revoked", "MUTANT=NO_REVOCATION UNITS=2", "served", CYCLE),
    ("no timer while a thread waits", "MUTANT=UNTIMED_SLEEP UNITS=2", "served", CYCLE),
    ("a grant revoked before its first use", "MUTANT=CREDIT_WHOLE", "served", CYCLE),
    ("a giving thread does not serve", "MUTANT=UNSERVED_GIVE", "-", ASSERT),
    ("barging", "MUTANT=BARGE", "-", ASSERT),
    ("the head does not signal the next", "MUTANT=ONE_SIGNAL", "-", ASSERT),
    ("a mark from the last wait", "MUTANT=STALE_SIGNAL DEADLINE PRODUCERS=2", "served", CYCLE),
    ("a signal after the lock undoes an abort", "MUTANT=SIGNAL_UNLOCKED FINE STOP PRODUCERS=2", "stops", CYCLE),
    ("a thread that gives up does not serve", "MUTANT=UNSERVED_TIMEOUT DEADLINE PRODUCERS=2", "-", ASSERT),
    ("parking at a closed gate", "MUTANT=PARK_WHEN_CLOSED STOP SINK PRODUCERS=2", "stops", CYCLE),
)

AUTO_RESET = rows(
    "auto_reset", "gate.pml", "WAKE=AUTO_RESET",
    ("a thread starves", "PRODUCERS=2 UNITS=2", "served", CYCLE),
    ("a thread starves, of three", "UNITS=2", "served", CYCLE),
    ("some thread is served if all need it", "PRODUCERS=2 UNITS=2", "served_some", HOLDS),
    ("some thread is served, records of two segments", "PRODUCERS=2 UNITS=4 LARGE", "served_some", HOLDS),
    ("the last thread is served, records of two segments", "PRODUCERS=2 UNITS=4 LARGE", "served_last", HOLDS),
    ("stop ends while the drain is in the sink", "PRODUCERS=2 UNITS=1 STOP SINK", "stops", HOLDS),
    ("all threads do wait", "UNITS=2", "never_all_wait", CLAIM),
) + rows(
    "auto_reset_long", "gate.pml", "WAKE=AUTO_RESET",
    ("budget, no leak, no process stuck", "", "-", HOLDS, 2_000_000),
    ("the last thread that needs it is served", "UNITS=2", "served_last", HOLDS, 2_000_000),
    ("deadlines, events set after the lock", "PRODUCERS=2 UNITS=2 DEADLINE FINE", "-", HOLDS),
    ("stop ends", "PRODUCERS=2 UNITS=2 STOP FINE", "stops", HOLDS),
) + rows(
    "auto_reset_mutants", "gate.pml", "WAKE=AUTO_RESET",
    ("idle holders, nothing revoked", "MUTANT=NO_REVOCATION PRODUCERS=2 UNITS=1", "served_last", CYCLE),
    ("no timer while a thread waits", "MUTANT=UNTIMED_SLEEP PRODUCERS=2 UNITS=1", "served_last", CYCLE),
    ("a thread that takes a unit does not set the event again", "MUTANT=EVENT_ONCE", "served_some", CYCLE),
    ("an aborted thread resets the event of another", "MUTANT=EVENT_REOPENED PRODUCERS=2 STOP", "stops", CYCLE),
    ("parking at a closed gate", "MUTANT=PARK_WHEN_CLOSED STOP SINK PRODUCERS=2 UNITS=1", "stops", CYCLE),
)

RUNS = WORDS + RELAY + FIFO + AUTO_RESET
GROUPS = list(dict.fromkeys(run.group for run in RUNS))


def defines_of(run):
    return ["-D" + define for define in run.defines.split()]


def output_of(command, folder):
    """The exit status and the output; None and a reason if it took too long."""
    try:
        done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=SECONDS_MAX, check=False)
    except subprocess.TimeoutExpired:
        return None, f"{command[0]}: not completed in {SECONDS_MAX} s"
    return done.returncode, done.stdout


def search(run, folder):
    """The whole output of Spin, or of the step that failed."""
    status, said = output_of(["spin", "-a", *defines_of(run), str(FOLDER / run.model)], folder)
    if status != 0 or not (folder / "pan.c").exists():
        return f"spin failed:\n{said}"
    flags = ["-DSAFETY", "-DNOCLAIM"] if run.property == "-" else ["-DNFAIR=3"]
    # The compiler takes longer than it saves in words, and in a search that ends at the first failure.
    flags.append("-O2" if run.model == "gate.pml" and run.expected == HOLDS else "-O0")
    status, said = output_of(["gcc", "-w", f"-DMEMLIM={MEGABYTES_MAX}", *flags, "-o", "pan", "pan.c"], folder)
    if status != 0:
        return f"gcc failed:\n{said}"
    options = [] if run.property == "-" else ["-a", "-f", "-N", run.property]
    return output_of(["./pan", f"-m{run.depth}", *options], folder)[1]


def verdict(said):
    """HOLDS, one of the failures, or None if the search is inconclusive."""
    errors = re.search(r"errors: (\d+)", said)
    if not errors:
        return None
    if errors.group(1) != "0":
        return next((kind for kind, text in FAILURES.items() if text in said), None)
    return None if any(text in said for text in INCOMPLETE) else HOLDS


def states(said):
    found = re.search(r"(\d+) states, stored", said)
    return int(found.group(1)) if found else 0


def trail(run, folder):
    return output_of(["spin", "-t", "-p", "-g", *defines_of(run), str(FOLDER / run.model)], folder)[1]


def processor_seconds():
    """Of the programs that have ended: a busy machine does not change it."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def check(run, work, with_trail):
    with tempfile.TemporaryDirectory(dir=work) as name:
        folder = Path(name)
        start = processor_seconds()
        said = search(run, folder)
        seconds = processor_seconds() - start
        found = verdict(said)
        is_right = found == run.expected or (found == ASSERT and run.expected == CLAIM)
        print(f"{'ok  ' if is_right else 'FAIL'} {run.group}: {run.what} [{run.defines or 'as is'}; {run.property}]: "
              f"{found or 'no result'}{'' if is_right else f', expected: {run.expected}'}, "
              f"{states(said):,} states, {seconds:.1f} s", flush=True)
        if not is_right:
            print("\n".join("    " + line for line in said.splitlines()[-60:]))
        if with_trail and found not in (None, HOLDS):
            print(trail(run, folder))
        return is_right


def untold_mutants():
    """Mutants that a model defines and that no row runs."""
    told = {(run.model, define) for run in RUNS for define in run.defines.split()}
    return [f"{model}: {name}" for model in sorted({run.model for run in RUNS})
            for name in re.findall(r"^#define (\w+) +[1-9]\d* +/\*", mutants_of(model), re.M)
            if (model, f"MUTANT={name}") not in told]


def mutants_of(model):
    """The part of the model that defines its mutants."""
    return re.search(r"#define NONE .*?#ifndef MUTANT", (FOLDER / model).read_text(encoding="utf-8"), re.S).group(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"of {', '.join(GROUPS)}; default: all")
    parser.add_argument("--list", action="store_true", help="print the table and run nothing")
    parser.add_argument("--only", metavar="TEXT", default="", help="run only rows whose line contains TEXT")
    parser.add_argument("--trail", action="store_true", help="print the steps of each counter-example")
    parser.add_argument("--work", metavar="FOLDER", help="build folder")
    options = parser.parse_args()
    unknown = [group for group in options.groups if group not in GROUPS]
    if unknown:
        parser.error(f"no such group: {', '.join(unknown)}")
    chosen = [run for run in RUNS if (not options.groups or run.group in options.groups)
              and options.only in f"{run.group}: {run.what} [{run.defines}; {run.property}]"]
    if not chosen:
        parser.error("no such row")
    if options.list:
        for run in chosen:
            print(f"{run.group}: {run.what} [{run.defines or 'as is'}; {run.property}]: {run.expected}")
        return 0
    for tool in ("spin", "gcc"):
        if not shutil.which(tool):
            print(f"skipped: {tool} is not installed (Debian: apt-get install {tool})")
            return SKIPPED
    untold = untold_mutants()
    if untold:
        print("no row for " + ", ".join(untold))
        return 1
    wrong = [run for run in chosen if not check(run, options.work, options.trail)]
    print(f"{len(chosen) - len(wrong)} of {len(chosen)} as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
