"""Builds the consumer project of one way to get the library, as its user would, and runs its program.

A way is a folder with the project's files and a way.py, whose function use(at) builds and checks; `at` is a Place. CMake
finds the folder: a new way needs nothing else. With --long it is use_long(at), which CMakeLists.txt lists. A tool that is missing skips the test.
"""
import argparse
import importlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from tests import readme

SOURCE = pathlib.Path(__file__).parents[2]
SKIPPED = 77


class Place:
    """An empty folder with the README's program in app.c and the project's files, and what is there to build them."""

    def __init__(self, options):
        self.source = SOURCE
        self.folder = pathlib.Path(options.folder)
        self.prefix = pathlib.Path(options.prefix)
        self.build = pathlib.Path(options.build)
        self.cc, self.cxx, self.cmake = options.cc, options.cxx, options.cmake
        self.emulator, self.toolchain = options.emulator, options.toolchain
        self.library = next(self.prefix.glob("lib*/**/libweir.a")).parent
        self.weir = self.prefix / "bin/weir"
        self.environment = {**os.environ, "PKG_CONFIG_PATH": f"{self.library}/pkgconfig"}
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(SOURCE / "tests/package" / options.way, self.folder, ignore=shutil.ignore_patterns("way.py", "__pycache__"))
        self.write("app.c", readme.PROGRAM)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def need(self, *tools):
        for tool in tools:
            if not shutil.which(tool):
                self.skip(f"{tool} is not installed")

    def skip(self, why):
        print(f"skipped: {why}")
        sys.exit(SKIPPED)

    def need_checkout(self):
        """The sources are not from an archive, and git works on them."""
        self.need("git")
        done = subprocess.run(["git", "-C", self.source, "ls-files"], check=False, text=True, capture_output=True)
        if done.returncode != 0:
            self.skip(done.stderr)

    def readme(self, row):
        """The README's code in that row of its table; cc is the compiler of this build."""
        return [re.sub(r"^cc ", f"{self.cc} ", code) for code in readme.ways(row)]

    def quotes(self, row, file):
        """The project's file contains what README has in that row."""
        text = (self.folder / file).read_text(encoding="utf-8")
        for code in readme.ways(row):
            self.expect(code in text, f"README has '{code}', and {file} has not")

    def run(self, *command, **environment):
        """In the folder; its output. A string is a line for the shell."""
        shell = len(command) == 1
        done = subprocess.run(command[0] if shell else command, shell=shell, cwd=self.folder, check=False, text=True,
                              env={**self.environment, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            sys.exit(f"{command[0] if shell else ' '.join(map(str, command))}: {done.returncode}\n{done.stdout}")
        return done.stdout

    def project(self, *options):
        """Configures and builds the folder's CMake project in build/; what the build printed."""
        self.run(self.cmake, "-S", ".", "-B", "build", f"-DCMAKE_C_COMPILER={self.cc}", f"-DCMAKE_CXX_COMPILER={self.cxx}",
                 f"-DCMAKE_PREFIX_PATH={self.prefix}",
                 *([f"-DCMAKE_TOOLCHAIN_FILE={self.toolchain}"] if self.toolchain else []), *options)
        return self.run(self.cmake, "--build", "build")

    def trace(self, *command, files=None, **environment):
        """Runs the program in an empty folder. The files that it writes there must be in order, and have these events in any
        order: {"myvm.nettrace": README's} unless given."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            self.run(f"cd {folder} && {self.emulator} {' '.join(map(str, command))}", **environment)
            for file, events in (files or {"myvm.nettrace": None}).items():
                self.run(f"{self.emulator} {self.weir} check {folder}/{file}")
                stat = json.loads(self.run(f"{self.emulator} {self.weir} stat --json {folder}/{file}"))
                found = [(event["provider"], event["name"], event["count"]) for event in stat["events"]
                         if event["name"] != "ThreadName"]
                self.expect(sorted(found) == (events or readme.EVENTS), f"{' '.join(map(str, command))}: {file} has {found}")

    def expect(self, holds, otherwise):
        if not holds:
            sys.exit(otherwise)

    def needed(self, program):
        """The shared libraries that a program or library asks the loader for, without the loader itself."""
        names = re.findall(r"\(NEEDED\).*\[(.*?)\.so", self.run("readelf", "-dW", program))
        return {name for name in names if not name.startswith("ld-")}

    def stays_loaded(self, library):
        return "NODELETE" in self.run("readelf", "-dW", library)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("way", help="name of a folder")
    for option in ("--folder", "--prefix", "--build", "--cc", "--cxx", "--cmake"):
        parser.add_argument(option, required=True)
    parser.add_argument("--long", action="store_true", help="call use_long() instead")
    parser.add_argument("--emulator", default="", help="command that runs programs of a cross build")
    parser.add_argument("--toolchain", default="", help="toolchain file of a cross build")
    options = parser.parse_args()
    way = importlib.import_module(f"tests.package.{options.way}.way")
    (way.use_long if options.long else way.use)(Place(options))


if __name__ == "__main__":
    main()
