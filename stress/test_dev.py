"""What ./dev says to wrong options: exit code 2 and a line that names the option, before anything is built."""
import subprocess
import unittest
from pathlib import Path

DEV = Path(__file__).resolve().parent.parent / "dev"


class Usage(unittest.TestCase):
    def dev(self, *arguments):
        return subprocess.run([DEV, *arguments], capture_output=True, text=True, check=False, timeout=30)

    def test_wrong(self):
        for words, named in (("nonsense", "nonsense"), ("run x", "run"), ("stress --bogus", "--bogus"), ("stress x", "'x'"),
                             ("stress --seconds", "--seconds"), ("stress --seconds 0", "'0'"), ("stress --seconds -3", "'-3'"),
                             ("stress --seconds 1.5", "'1.5'"), ("stress --seed", "--seed"), ("stress --seed x", "'x'"),
                             ("stress --quick --long", "--quick"), ("stress --quick --seconds 3", "--quick"),
                             ("stress --compare --seconds 3", "--compare"), ("stress --long --programs", "--programs"),
                             ("deps nothing", "nothing"), ("test --only", "--only"), ("tidy x", "tidy")):
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


if __name__ == "__main__":
    unittest.main()
