"""./dev with wrong options: exit code 2 and a line that names the option, before anything is built."""
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

DEV = Path(__file__).resolve().parent.parent.parent / "dev"


class Usage(unittest.TestCase):
    def dev(self, *arguments):
        return subprocess.run([DEV, *arguments], capture_output=True, text=True, check=False, timeout=30)

    def test_wrong(self):
        for words, named in (("nonsense", "nonsense"), ("run x", "run"), ("stress --bogus", "--bogus"), ("stress x", "'x'"),
                             ("stress --seconds", "--seconds"), ("stress --seconds 0", "'0'"), ("stress --seconds -3", "'-3'"),
                             ("stress --seconds 1.5", "'1.5'"), ("stress --seed", "--seed"), ("stress --seed x", "'x'"),
                             ("stress --quick --long", "--quick"), ("stress --quick --seconds 3", "--quick"),
                             ("stress --compare --seconds 3", "--compare"), ("stress --long --programs", "--programs"),
                             ("nonsense --help", "nonsense"), ("deps nothing", "nothing"), ("test --only", "--only"), ("tidy x", "tidy"),
                             ("package x", "package"), ("test --only nothing", "'nothing'"), ("fuzz", "reader"), ("fuzz nothing", "'nothing'"),
                             ("fuzz nothing", "reader"), ("fuzz reader --seconds", "--seconds"), ("fuzz reader --seconds x", "'x'"),
                             ("fuzz reader --seconds 0", "'0'"), ("fuzz --bogus", "--bogus"), ("fuzz reader x", "'x'"),
                             ("mutate --bogus", "--bogus"), ("mutate --seed", "--seed")):
            with self.subTest(words=words):
                done = self.dev(*words.split())
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(named, done.stderr.splitlines()[0])
                self.assertEqual(done.stdout, "")

    def test_nothing_and_help(self):
        self.assertEqual(self.dev().returncode, 2)
        done = self.dev("help")
        self.assertEqual(done.returncode, 0)
        for option in ("--quick", "--compare", "--segments", "--grants", "--programs", "--long"):
            self.assertIn(option, done.stdout)
        for words in ("--help", "-h", "stress --help", "run -h", "test --only unit --help", "tidy -h", "deps --help",
                      "bench --help", "bench -h"):
            with self.subTest(words=words):
                asked = self.dev(*words.split())
                self.assertEqual((asked.returncode, asked.stdout), (0, done.stdout), asked.stderr)


class Packages(unittest.TestCase):
    """Fake programs on the path report the installed packages (none) and the user (not root)."""

    def dev(self, *arguments, missing="*"):
        with tempfile.TemporaryDirectory() as folder:
            for name, does in (("id", "echo 1000"), ("apt-get", "echo apt-get >&2; exit 1"),
                               ("dpkg-query", f'case "$3" in {missing}) exit 1 ;; esac; echo installed')):
                program = Path(folder) / name
                program.write_text(f"#!/bin/sh\n{does}\n", encoding="utf-8")
                program.chmod(0o755)
            return subprocess.run([DEV, *arguments], capture_output=True, text=True, check=False, timeout=60,
                                  env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})

    def needed(self, *arguments):
        done = self.dev(*arguments)
        self.assertEqual(done.returncode, 1, done.stderr)
        return set(done.stdout.split("--no-install-recommends ")[1].split())

    def test_help_installs_nothing(self):
        for option in ("--help", "-h"):
            for what in ("count", "quick", "plot", "peers"):
                done = self.dev("bench", what, option)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(f"./dev bench {what}", done.stdout)
                self.assertNotIn("apt-get", done.stdout + done.stderr)

    def test_by_need(self):
        everything = self.needed("deps", "bench")
        self.assertLessEqual({"valgrind", "python3-matplotlib", "lttng-tools", "libbenchmark-dev"}, everything)
        self.assertLessEqual(everything | {"chromium", "spin"}, self.needed("deps", "test"))
        package = self.needed("deps", "package")
        self.assertLessEqual(package | {"reuse", "mmdebstrap"}, self.needed("deps", "test"))
        self.assertIn("debhelper", package)
        self.assertFalse({"valgrind", "ninja-build", "python3"} & package)
        measure = self.needed("bench", "count")
        self.assertLessEqual({"valgrind", "gcc", "python3-scipy", "python3-jsonschema", "libbenchmark-dev"}, measure)
        self.assertFalse({"python3-matplotlib", "chromium", "lttng-tools", "libboost-dev", "libdpdk-dev"} & measure)
        judge = self.needed("bench", "watch")
        self.assertFalse({"gcc", "valgrind", "python3-matplotlib"} & judge)
        self.assertIn("python3-matplotlib", self.needed("bench", "picture"))

    def test_peers_do_without(self):
        done = self.dev("bench", "peers", "--rounds", "none", missing="lttng-tools")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("dev: left out is what needs lttng-tools\n", done.stderr)
        self.assertIn("--rounds", done.stderr)


if __name__ == "__main__":
    unittest.main()
