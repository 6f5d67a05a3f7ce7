"""Generates mutants of the code that is hard to get right: a test must notice each, or reasons.txt must list it.

    mutate.py [--seed S] [--count N | --all] [--hours H] [--file PART] ...

The sources are copied to build/mutation/tree. Each file there contains all its mutants, each behind a switch (sites.py,
mutant.h), and is built once. A survey runs every unit test, model and stress program once and records which sites it
reaches. Then each drawn mutant is run against the programs that reach its site, the cheapest first, until one fails.

killed      a check failed (in a test, in a model, or a WR_CHECK of the library), or a program crashed
hangs       a program was ended by a time limit, ours or a watchdog's, and no other program noticed: undecided
survived    no program noticed the mutant; reasons.txt must give a reason
unreached   no program reaches its site; reasons.txt must give a reason

Exit status: 0 success, 1 a mutant survived without a reason or a row of reasons.txt is wrong, 2 wrong usage or failed
build, 77 packages are missing.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SCOPE = ("lane/*.[ch]", "wait/*.[ch]", "buffers/*.[ch]", "event/emit*.c", "event/scope.c", "event/values.c",
         "session/drain.c", "session/point.c", "session/read.c", "session/report.c", "session/snapshot.c")
COPIED = ("bench/stress", "core", "stress", "tests", "tools")
FAST_EXECUTIONS = 5_000  # of each model, with --fast
FAST_WITHOUT = ("bin/unit_single", "bin/unit_plugin")  # each builds one more copy of the library
HANGS_MAX = 2  # after these, run only models: they detect a thread that waits for ever
FAULTS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL, signal.SIGTRAP, signal.SIGFPE)
CHECK_FAILED = re.compile(r"^\[  (ERROR|FAILED)  |: FAILED: ", re.M)
TELLS = re.compile(r"(FAILED|error: |Error|ERROR|assert|: test_|deadlock|race|violat|failed|wrong)", re.I)


def say(text):
    print(text, flush=True)


# --- The tree. ------------------------------------------------------------------------------------

def write(path, data):
    """Leaves an unchanged file alone, so that it is not built again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_bytes() != data:
        path.write_bytes(data)


def make_tree(tree, sources):
    kept = set()
    files = [path for name in COPIED for path in (ROOT / name).rglob("*") if path.is_file()] + [ROOT / "CMakeLists.txt"]
    for path in files:
        is_ours = path.parent == HERE and path.name not in ("CMakeLists.txt", "mutant.h")
        if is_ours or {"__pycache__", "bin", "obj"} & set(path.parts[len(ROOT.parts):]):
            continue
        name = path.relative_to(ROOT)
        if name.parts[0] != "core" or str(name.relative_to("core")) not in sources:
            write(tree / name, path.read_bytes())
        kept.add(tree / name)
    for name, source in sources.items():
        write(tree / "core" / name, source.mutated().encode("latin-1"))
    for path in [path for path in tree.rglob("*") if path.is_file() and path not in kept]:
        path.unlink()


def digest_of(tree):
    digest = hashlib.sha256()
    for path in sorted(path for path in tree.rglob("*") if path.is_file()):
        digest.update(str(path.relative_to(tree)).encode() + path.read_bytes())
    return digest.hexdigest()


def call(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        say(done.stdout)
        say("failed: " + " ".join(map(str, command)))
        sys.exit(2)
    return done.stdout


def build(tree, out, options):
    """The programs to run: name, command, kind."""
    compiler = {"thread": ["-DCMAKE_C_COMPILER=clang", "-DCMAKE_CXX_COMPILER=clang++"]}.get(options.sanitize, [])
    call("cmake", "-G", "Ninja", "-S", tree, "-B", out, "-DWEIR_BUILD_TESTS=ON", "-DWEIR_INSTALL=OFF", *compiler,
         f"-DCMAKE_BUILD_TYPE={'RelWithDebInfo' if options.sanitize else 'Release'}", f"-DWEIR_SANITIZE={options.sanitize}",
         *["-DCMAKE_C_FLAGS_RELEASE=-O1 -DNDEBUG"] * options.fast,
         "-DWEIR_TEST_KINDS=unit;stress;model", f"-DCMAKE_C_FLAGS=-I{tree}/tests/mutation -DWR_CHECKS= -w")
    kinds = "unit" if options.fast else "unit|stress"
    targets = re.findall(rf"^(bin/(?:{kinds})_\w+):", call("ninja", "-C", out, "-t", "targets", "all"), re.M)
    targets = [target for target in targets if not options.fast or target not in FAST_WITHOUT]
    call("cmake", "--build", out, "-j", str(options.jobs), "--target", *targets, *["model_lane"] * (not options.sanitize))
    programs = []
    for test in json.loads(call("ctest", "--test-dir", out, "--show-only=json-v1"))["tests"]:
        command = test.get("command", ["none"])
        environment = [item["value"] for item in test["properties"] if item["name"] == "ENVIRONMENT"]
        if os.path.relpath(command[0], out) in targets:
            programs.append((test["name"], ["env", *sum(environment, []), *command], test["name"].split("_")[0]))
    if options.sanitize:  # the explorer is not built with sanitizers
        return programs
    model = str(out / "bin" / "model_lane")
    names = call(model, "-n", "-p").split()
    first = ["-e", str(FAST_EXECUTIONS)] * options.fast
    return programs + [(f"model_{name}", [model, *first, name], "model") for name in names]


# --- Running. -------------------------------------------------------------------------------------

def limits():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 32, 1 << 32))


def run(command, seconds, **environment):
    """The exit status (None after a time limit), the output, and the seconds it took."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                   env={**os.environ, **environment}, start_new_session=True, preexec_fn=limits)
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            status = None
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        output.seek(0)
        text = output.read(1 << 20).decode("utf-8", "replace")
    is_killed = status is not None and status < 0 and -status not in FAULTS
    if status is None or is_killed or "no progress for" in text:
        status = 1 if CHECK_FAILED.search(text) else None  # after a failed check, what is left may hang
    return status, text, time.monotonic() - begin


def told(status, text):
    """Why a program failed, in one line."""
    lines = [line.strip() for line in text.splitlines() if TELLS.search(line)]
    name = "hangs" if status is None else signal.Signals(-status).name if status < 0 else f"exit {status}"
    return f"{name}: {lines[0][:200]}" if lines else name


def survey_one(program, size):
    name, command, kind = program
    with tempfile.NamedTemporaryFile() as seen:
        seen.truncate(65536)
        for _ in range(3):  # on a busy machine a program may fail without a mutant
            status, text, seconds = run(command, 600, WR_MUTANT_SEEN=seen.name)
            if status == 0:
                break
        reached = [number for number, byte in enumerate(Path(seen.name).read_bytes()[:size + 1]) if byte]
    if status != 0:
        say(f"  {name} fails without a mutant and is left out: {told(status, text)}")
    return name, {"command": command, "kind": kind, "seconds": seconds, "reached": reached, "works": status == 0}


def survey(programs, size, path, digest, jobs):
    known = json.loads(path.read_text()) if path.exists() else {}
    known = known if known.get("digest") == digest else {"digest": digest, "programs": {}}
    missing = [program for program in programs if program[0] not in known["programs"]]
    say(f"Survey: {len(missing)} programs ...")
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for name, row in pool.map(lambda program: survey_one(program, size), missing):
            if row["works"]:
                known["programs"][name] = row
    path.write_text(json.dumps(known))
    return {name: known["programs"][name] for name, _, _ in programs if name in known["programs"]}


def try_mutant(mutant, programs, budget_s):
    """The verdict, the kind of the program that killed it, and how."""
    hung, asked, left_s = [], 0, budget_s
    among = sorted((row["seconds"], name) for name, row in programs.items() if mutant.number in row["reached"])
    for seconds, name in among:
        row = programs[name]
        if seconds > left_s or (len(hung) >= HANGS_MAX and row["kind"] != "model"):
            continue
        asked, left_s = asked + 1, left_s - seconds
        status, text, _ = run(row["command"], 8 + 8 * seconds, WR_MUTANT=str(mutant.number))
        if status is None:
            hung.append(name)
        # If the machine is too busy for the program, no check has failed.
        elif status != 0 and (row["kind"] == "model" or any(run(row["command"], 8 + 8 * seconds)[0] == 0 for _ in "123")):
            return "killed", row["kind"], f"{name}: {told(status, text)}"
    if hung:
        return "hangs", "", " ".join(hung)
    return ("survived" if among else "unreached"), "", f"{asked} of {len(among)} programs asked"


# --- Reasons. -------------------------------------------------------------------------------------

def reasons_read(path):
    """Reasons by key. A row is a line with the key, then indented lines: the verdict, a colon, the reason."""
    rows, key = {}, None
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line[0] != " ":
            key = line.strip()
            rows[key] = ""
        else:
            rows[key] = f"{rows[key]} {line.strip()}".strip()
    for key, reason in rows.items():
        if not re.match(r"(equivalent|hole|sanitizer|slow): \S", reason):
            say(f"reasons.txt: {key}: the reason must begin with a verdict and a colon")
            sys.exit(2)
    return rows


def is_wrong(row):
    """True if this verdict needs attention."""
    reason = row.get("reason", "")
    if row["verdict"] in ("survived", "unreached"):
        return not reason or reason.startswith("slow:")
    return row["verdict"] == "killed" and reason.startswith(("equivalent:", "hole:"))


# --- Orders. --------------------------------------------------------------------------------------

def orders(sources, program):
    """model_mutate weakens each order in the sources once. Lists the orders that no model reaches."""
    counts = {}
    for source in sources:
        for name, function, _, kind, order in source.orders:
            key = (Path(name).name, function, kind, order)
            counts[key] = counts.get(key, 0) + 1
    met, fates = {}, {"killed": 0, "argued": 0, "SURVIVED": 0}
    text = subprocess.run([program, "-v"], stdout=subprocess.PIPE, text=True, check=False).stdout
    for function, name, line, kind, order, fate in re.findall(
            r"^(\w+) +([\w.]+):(\d+) (load|store|exchange|add|cas) (\w+) .*?(killed|argued|SURVIVED)", text, re.M):
        met.setdefault((name, function, kind, order), set()).add(line)
        fates[fate] += (name, function, kind, order) in counts
    say(f"orders: {sum(counts.values())} that are not relaxed; model_mutate weakened them: {fates['killed']} killed, "
        f"{fates['argued']} argued, {fates['SURVIVED']} survived")
    for key, count in sorted(counts.items()):
        if len(met.get(key, ())) < count:
            say(f"  no model reaches: {key[0]} {key[1]}: {key[2]} {key[3]}")


# --- The draw. ------------------------------------------------------------------------------------

def tell(row, at, count):
    say(f"{at:4}/{count} {row['verdict']:9} {row['seconds']:6.1f} s  {row['key']}")
    for more in (row["how"], row.get("reason")):
        if more:
            say(f"          {more}")


def draw(mutants, programs, rows, options, path):
    end = time.monotonic() + options.hours * 3600 if options.hours else float("inf")
    results, lock = [], threading.Lock()

    def one(mutant):
        if time.monotonic() >= end:
            return
        begin = time.monotonic()
        is_known = options.fast and mutant.key in rows
        verdict, by, how = ("listed", "", "") if is_known else try_mutant(mutant, programs, options.budget)
        row = {"key": mutant.key, "file": mutant.file, "line": mutant.line, "kind": mutant.kind, "verdict": verdict,
               "by": by, "how": how, "seconds": round(time.monotonic() - begin, 1)}
        if mutant.key in rows:
            row["reason"] = rows[mutant.key]
        with lock:
            results.append(row)
            tell(row, len(results), len(mutants))
            path.write_text(json.dumps({"seed": options.seed, "drawn": len(results), "results": results}, indent=1))

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(one, mutants))
    return results


def conclude(results, stale):
    counts = {}
    for row in results:
        word = f"killed by {row['by']}" if row["verdict"] == "killed" else row["verdict"]
        if row["verdict"] in ("survived", "unreached", "listed") and "reason" in row:
            word = row["reason"].split(":")[0]
        counts[word] = counts.get(word, 0) + 1
    if results:
        say(f"\n{len(results)} drawn: " + ", ".join(f"{count} {word}" for word, count in sorted(counts.items())))
    wrong = [row for row in results if is_wrong(row)]
    for row in wrong:
        is_killed = row["verdict"] == "killed"
        what = "killed, but listed in reasons.txt" if is_killed else f"{row['verdict']}, no reason in reasons.txt"
        say(f"WRONG: {what}: core/{row['file']}:{row['line']}\n    {row['key']}")
    for key in stale:
        say(f"GONE: reasons.txt lists a mutant that the sources do not have:\n    {key}")
    return 1 if wrong or stale else 0


def parse():
    parser = argparse.ArgumentParser(prog="mutate", description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20, help="how many to draw")
    parser.add_argument("--all", action="store_true", help="run all mutants")
    parser.add_argument("--hours", type=float, help="stop drawing after this time")
    parser.add_argument("--file", default="", help="only mutants of files whose name contains PART", metavar="PART")
    parser.add_argument("--key", default="", help="only mutants whose key contains TEXT", metavar="TEXT")
    parser.add_argument("--fast", action="store_true",
                        help="run no stress programs, no unit tests that need another build of the library, only the first "
                        "executions of each model, and skip mutants with a reason; build with less optimization")
    parser.add_argument("--budget", type=float, default=float("inf"), metavar="SECONDS",
                        help="for each mutant, run programs that take at most SECONDS in total without it")
    parser.add_argument("--sanitize", default="", choices=["thread", "address"],
                        help="build with this sanitizer, without the models")
    parser.add_argument("--again", action="store_true", help="run the mutants that the last run did not kill")
    parser.add_argument("--jobs", type=int, default=1, help="how many programs to run in parallel")
    parser.add_argument("--list", action="store_true", help="list what would be drawn, and run nothing")
    parser.add_argument("--orders", metavar="MODEL_MUTATE", help="only compare the memory orders with its verdicts")
    parser.add_argument("--build", type=lambda path: Path(path).resolve(), default=ROOT / "build/mutation", help="build folder")
    return parser.parse_args()


def main():
    options = parse()
    try:
        import sites
    except ImportError:
        if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):  # the package is from Debian
            os.execv("/usr/bin/python3", ["/usr/bin/python3", "-B", *sys.argv])
        say("python3-clang is missing: ./dev deps test")
        sys.exit(77)
    core, result = ROOT / "core", options.build / "result.json"
    names = sorted(str(path.relative_to(core)) for part in SCOPE for path in core.glob(part))
    sources = sites.find(core, names, ["-std=c17", f"-I{core}", f"-I{core}/include", "-D_POSIX_C_SOURCE=200809L"])
    if options.orders:
        orders(sources, options.orders)
        return 0
    every = [mutant for source in sources for mutant in source.mutants]
    rows = reasons_read(HERE / "reasons.txt")
    stale = sorted(set(rows) - {mutant.key for mutant in every})
    # By a hash of each mutant, so that a change elsewhere does not change the draw.
    drawn = sorted((mutant for mutant in every if options.file in mutant.file and options.key in mutant.key),
                   key=lambda mutant: mutant.rank(options.seed))
    if options.again:
        left = {row["key"] for row in json.loads(result.read_text())["results"] if row["verdict"] != "killed"}
        drawn = [mutant for mutant in drawn if mutant.key in left]
    drawn = drawn if options.all or options.again else drawn[:options.count]
    say(f"{len(every)} mutants in {len(sources)} files; {len(drawn)} drawn with seed {options.seed}")
    if options.list:
        for mutant in drawn:
            say(f"core/{mutant.file}:{mutant.line} {mutant.number}  {mutant.key}")
        return conclude([], stale)
    tree, out = options.build / "tree", options.build / f"build{options.sanitize}"
    make_tree(tree, {source.name: source for source in sources})
    say("Building ...")
    programs = build(tree, out, options)
    programs = survey(programs, len(every), options.build / f"survey{options.sanitize}{'-fast' * options.fast}.json",
                      digest_of(tree), options.jobs)
    results = draw(drawn, programs, rows, options, result)
    return conclude(results, stale)


if __name__ == "__main__":
    sys.exit(main())
