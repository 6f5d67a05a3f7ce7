#!/usr/bin/env python3
"""The README's program is compiled as the README says, without a warning, its trace is read, and it handles the errors
that the README says it handles.

usage: python3 -m tests.api.test_readme COMPILER INCLUDE_DIRECTORY LIBRARY WEIR
"""
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import unittest

from tests import readme

COMPILER, INCLUDE, LIBRARY, WEIR = sys.argv[1:] if len(sys.argv) == 5 else sys.exit(__doc__)
WARNINGS = ("-std=c11", "-Wall", "-Wextra", "-Wunused-result", "-Werror")


class Readme(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        known = {"-Icore/include": f"-I{INCLUDE}", "build/release/core/libweir.a": LIBRARY}
        flags = [known.get(flag, flag) for flag in readme.COMMAND.split()]
        cls.environments = re.findall(r"^((?:WEIR|DOTNET)_.*) \./app$", readme.TEXT, re.M)
        cls.directory = tempfile.TemporaryDirectory()
        server = re.search(r"```c\n( *struct weir_server_config .*?)```", readme.TEXT, re.S).group(1)
        loop = readme.PROGRAM.index("    for (")
        for name, source in (("ten", readme.TEN_LINES), ("app", readme.PROGRAM), ("served", readme.PROGRAM[:loop] + server + readme.PROGRAM[loop:])):
            pathlib.Path(cls.directory.name, f"{name}.c").write_text(source, encoding="utf-8")
            subprocess.run([COMPILER, *WARNINGS, f"{name}.c", *flags, "-o", name], cwd=cls.directory.name, check=True)

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def run_app(self, prepare=lambda folder: None, name="app"):
        """In a directory where nothing has run yet: (exit code, stderr, the directory)."""
        folder = tempfile.mkdtemp(dir=self.directory.name)
        prepare(folder)
        done = subprocess.run([f"../{name}"], cwd=folder, capture_output=True, text=True, check=False)
        return done.returncode, done.stderr, folder

    def check_file(self, file):
        stat = subprocess.run([WEIR, "stat", "--json", file], check=True, capture_output=True)
        events = [(e["provider"], e["name"], e["count"]) for e in json.loads(stat.stdout)["events"]
                  if e["name"] != "ThreadName"]
        self.assertEqual(events, readme.EVENTS)

    def test_traces(self):
        code, errors, folder = self.run_app()
        self.assertEqual((code, errors), (0, ""))
        self.check_file(pathlib.Path(folder, "myvm.nettrace"))

    def test_ten_lines(self):
        """Ten are Weir's. They trace, and say what is wrong, when the session begins and when it ends."""
        lines = [line for line in readme.TEN_LINES.splitlines() if re.search(r"weir|WEIR|EVENT|error", line)]
        self.assertEqual(len(lines), 10)
        code, errors, folder = self.run_app(name="ten")
        self.assertEqual((code, errors), (0, ""))
        self.check_file(pathlib.Path(folder, "myvm.nettrace"))
        for prepare, said in ((lambda folder: pathlib.Path(folder, "myvm.nettrace").mkdir(), r"^cannot trace: .*myvm\.nettrace"),
                              (lambda folder: pathlib.Path(folder, "myvm.nettrace").symlink_to("/dev/full"), "No space left on device")):
            code, errors, _ = self.run_app(prepare, "ten")
            self.assertEqual(code, 0)
            self.assertRegex(errors, said)

    def test_environment(self):
        """Each of the README's lines traces the program a second time, into a file with the process's id in its name."""
        self.assertEqual(len(self.environments), 2)
        for line in self.environments:
            folder = pathlib.Path(tempfile.mkdtemp(dir=self.directory.name))
            line = line.replace("/tmp/", f"{folder}/")
            done = subprocess.run(f"{line} ../app & wait $!; echo $!", shell=True, cwd=folder, capture_output=True, text=True, check=True)
            self.assertEqual(done.stderr, "")
            self.check_file(folder / f"vm-{done.stdout.strip()}.nettrace")

    def test_serves_tools(self):
        """With the server's lines, a tool that listens is dialed, and the program waits until it resumes it."""
        folder = tempfile.mkdtemp(dir=self.directory.name)
        with socket.socket(socket.AF_UNIX) as tool:
            tool.settimeout(60)
            tool.bind(f"{folder}/tool")
            tool.listen()
            environment = {**os.environ, "TMPDIR": folder, "DOTNET_DiagnosticPorts": f"{folder}/tool,suspend"}
            with subprocess.Popen(["../served"], cwd=folder, env=environment, stderr=subprocess.PIPE, text=True) as app:
                connection, _ = tool.accept()
                self.assertEqual(connection.recv(34, socket.MSG_WAITALL)[:8], b"ADVR_V1\0")
                self.assertEqual(len(list(pathlib.Path(folder).glob(f"dotnet-diagnostic-{app.pid}-*-socket"))), 1)
                self.assertIsNone(app.poll())
                connection.sendall(b"DOTNET_IPC_V1\0" + bytes((20, 0, 4, 1, 0, 0)))  # ResumeRuntime
                self.assertEqual((app.communicate(timeout=60)[1], app.returncode), ("", 0))
                connection.close()
        self.check_file(pathlib.Path(folder, "myvm.nettrace"))
        self.assertEqual(list(pathlib.Path(folder).glob("*-socket")), [])

    def test_cannot_trace(self):
        """A directory stands where the file is to be."""
        code, errors, _ = self.run_app(lambda folder: pathlib.Path(folder, "myvm.nettrace").mkdir())
        self.assertEqual(code, 1)
        self.assertRegex(errors, r"^cannot trace: .*myvm\.nettrace")

    def test_trace_is_not_whole(self):
        """The disk fills: every write fails."""
        code, errors, _ = self.run_app(lambda folder: pathlib.Path(folder, "myvm.nettrace").symlink_to("/dev/full"))
        reason = "the sink failed after 0 bytes: No space left on device"
        self.assertEqual((code, errors), (1, f"the file is not complete: {reason}\n"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
