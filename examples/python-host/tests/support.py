"""Shared by the tests: running Python with the module, reading a trace."""
import json
import os
import subprocess
import sys
import tempfile
import threading
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
places = {"path": None, "weir": None, "preload": None}


def add_arguments(parser):
    parser.add_argument("--path", required=True, help="the folder that has the package weir")
    parser.add_argument("--weir", required=True, help="weir, to read the traces")
    parser.add_argument("--preload", help="the library of AddressSanitizer, if the module was built with it")


def take_arguments(arguments):
    for name in places:
        places[name] = getattr(arguments, name) and os.path.abspath(getattr(arguments, name))


def environment():
    """Without variables that change how Python or the library starts."""
    result = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "WEIR_", "DOTNET_"))}
    result["PYTHONPATH"] = places["path"]
    if places["preload"]:  # what the interpreter keeps until its end is not ours
        result.update(LD_PRELOAD=places["preload"], PYTHONMALLOC="malloc",
                      ASAN_OPTIONS="detect_leaks=0:" + os.environ.get("ASAN_OPTIONS", ""))
    return result


def run_python(*arguments, cwd, env=None, under=()):
    command = [*under, sys.executable, "-B", "-X", "faulthandler", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=cwd,
                          env={**environment(), **(env or {})})


def run_weir(*arguments, cwd):
    return subprocess.run([places["weir"], *arguments], capture_output=True, text=True, timeout=600, cwd=cwd)


# Whether Thread.start() has to wait for its thread, and how often join() does, differs from run to run.
WAITING = {"lock.acquire", "lock.release", "lock.locked", "allocate_lock", "deque.append"}
# What starts and ends the counting.
COUNTING = {"setprofile", "start", "stop", "enable"}


def differences(counts, report):
    """The functions whose calls differ between what sys.setprofile counted and a report of weir."""
    expected, found = {}, {}
    for key, number in counts:
        expected[tuple(key) if isinstance(key, list) else key] = number
    for function in report["providers"][0]["functions"]:
        key = function["file"], function["line"], function["name"]
        if function["kind"] == "C":  # sys.setprofile does not tell the module
            parts = function["name"].split(".")
            key = ".".join(parts[-2:])
            if key not in expected and key not in WAITING:
                key = parts[-1]
        found[key] = found.get(key, 0) + function["calls"]

    def is_compared(key):
        if isinstance(key, tuple):
            return not key[0].startswith(places["path"]) and key[0] != threading.__file__
        return key not in WAITING | COUNTING
    return {key: (expected.get(key), found.get(key)) for key in expected.keys() | found.keys()
            if is_compared(key) and expected.get(key) != found.get(key)}


class Case(unittest.TestCase):
    """A test with a temporary directory."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="python-host-")
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def run_script(self, script, status=0, env=None):
        """Runs a script, given as text. Returns the process."""
        path = os.path.join(self.directory, "script.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(script)
        result = run_python(path, cwd=self.directory, env=env)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result

    def weir(self, *arguments, status=0):
        result = run_weir(*arguments, cwd=self.directory)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result.stdout

    def calls(self, trace, status=0):
        """Calls by the names of functions; the trace is whole and keeps the rules of the format."""
        self.weir("check", trace, status=status)
        report = json.loads(self.weir("report", "--json", "--top", "0", trace, status=status))
        counts = {}
        for provider in report["providers"]:
            for function in provider["functions"]:
                counts[function["name"]] = counts.get(function["name"], 0) + function["calls"]
        return counts

    def events(self, trace, name):
        """The fields of all events with this name."""
        lines = [json.loads(line) for line in self.weir("dump", "--json", "--sorted", trace).splitlines()]
        return [line.get("fields", {}) for line in lines if line["name"] == name]
