"""Shared by the tests: the programs, running them, reading a trace."""
import json
import os
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
programs = {"host": None, "sessions": None, "weir": None, "lua": None}
deferred_signals = False
rounds = 1


def environment():
    """The environment, without variables that change how Lua starts."""
    return {k: v for k, v in os.environ.items() if not k.startswith("LUA_")}


class Case(unittest.TestCase):
    """A test with a temporary directory."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="lua-host-")
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def path(self, name):
        return os.path.join(self.directory, name)

    def run_program(self, program, *arguments, stdin="", env=None, cwd=None):
        command = [programs[program], *arguments]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=600,
                              env={**environment(), **(env or {})}, cwd=cwd or self.directory)

    def host(self, *arguments, **options):
        return self.run_program("host", *arguments, **options)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def stat(self, trace, lossless=True):
        """A trace's statistics; checks that it is whole."""
        result = self.run_program("weir", "stat", "--json", trace)
        self.assertIn(result.returncode, (0,) if lossless else (0, 3), result.stdout + result.stderr)
        return json.loads(result.stdout)

    def dump(self, trace, *options):
        result = self.run_program("weir", "dump", "--json", *options, trace)
        self.assertIn(result.returncode, (0, 3), result.stderr)
        return [json.loads(line) for line in result.stdout.splitlines()]

    def events(self, trace):
        """(name, fields) of provider Lua in the order of time. Those of the rundowns, which are all
        Function and come on another thread, are left out and given as the second result."""
        self.stat(trace)
        lines = self.dump(trace, "--sorted", "--provider", "Lua")
        thread = next((e["thread"] for e in [*(e for e in lines if e["name"] != "Function"), *lines]), None)
        pick = lambda wanted: [(e["name"], e.get("fields", {})) for e in lines
                               if (e["thread"] == thread) == wanted]
        return pick(True), pick(False)

    def trace_script(self, script, providers="Lua", status=0):
        """Runs a script of events/ with tracing. Returns its last line of output as JSON, and the events."""
        trace = self.path("t.nettrace")
        result = self.host("--trace", trace, "--providers", providers,
                           os.path.join(HERE, "events", script))
        self.assertEqual(result.returncode, status, result.stderr)
        expected = json.loads(result.stdout.splitlines()[-1])
        return expected, *self.events(trace)
