"""The gate is red at once for one planted instruction, one lock prefix, one fence, one call and one allocation in the
emit path, and for one instruction more in the drain: the sources are copied, edited, built, and counted beside the build
that WEIR_BENCH is of.
"""
import os
import platform
import re
import tempfile
import unittest

from bench.judge import count, gate, plant, process

BUILD = os.path.dirname(os.path.dirname(os.environ.get("WEIR_BENCH", "")))
EMIT, DRAIN = "emit/enabled/payload:32/", "drain/encode/payload:32/"


def cached(name):
    """Of the build's cache: so that the copy is built by the same compiler."""
    with open(os.path.join(BUILD, "CMakeCache.txt"), encoding="utf-8") as file:
        match = re.search(rf"^{name}:\w+=(.*)$", file.read(), re.MULTILINE)
    return match.group(1) if match else ""


@unittest.skipUnless(platform.machine() == "x86_64", "the plants are of x86-64")
@unittest.skipUnless(os.path.exists(os.path.join(BUILD, "bin", count.PROGRAMS[0])),
                     "WEIR_BENCH names no build that counts")
@unittest.skipUnless(BUILD and cached("CMAKE_BUILD_TYPE") == "Release", "the build is not optimized")
class Planted(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="weir-planted-")
        cls.addClassCleanup(folder.cleanup)
        cls.tree = folder.name
        plant.copy_tree(cls.tree)
        cls.build = os.path.join(cls.tree, "build", "bench")
        process.output(["cmake", "--preset", "bench", f"-DCMAKE_C_COMPILER={cached('CMAKE_C_COMPILER')}",
                        f"-DCMAKE_CXX_COMPILER={cached('CMAKE_CXX_COMPILER')}"], cwd=cls.tree)
        cls.base = count.measure(BUILD)
        if cls.base.note:
            raise unittest.SkipTest(cls.base.note)

    def red(self, name):
        """What the gate says is worse, with its change."""
        undo = plant.plant(self.tree, name)
        try:
            process.output(["cmake", "--build", self.build, "--target", *count.TARGETS], cwd=self.tree)
            rows = gate.compare(self.base, count.measure(self.build), is_baseline=False)
        finally:
            undo()
        return {row["name"]: row["head"] - row["base"] for row in rows if row["verdict"] == "regressed"}

    def test_one_instruction(self):
        red = self.red("instruction")
        self.assertAlmostEqual(red[EMIT + "instructions"], 1, delta=0.01)
        self.assertNotIn(EMIT + "locked", red)
        self.assertNotIn(DRAIN + "instructions", red)

    def test_one_lock_prefix(self):
        red = self.red("lock")
        self.assertAlmostEqual(red[EMIT + "locked"], 1, delta=0.01)
        self.assertEqual(red["code/weir_emit/locked"], 1)

    def test_one_fence(self):
        red = self.red("fence")
        self.assertEqual(red["code/weir_emit/fences"], 1)
        self.assertAlmostEqual(red[EMIT + "instructions"], 1, delta=0.01)

    def test_one_call(self):
        red = self.red("call")
        self.assertAlmostEqual(red[EMIT + "calls"], 1, delta=0.01)
        self.assertEqual(red["code/weir_emit/calls"], 1)

    def test_one_allocation(self):
        red = self.red("allocation")
        self.assertAlmostEqual(red[EMIT + "allocations"], 1e6, delta=1)

    def test_one_instruction_more_in_the_drain(self):
        red = self.red("drain instructions")
        self.assertAlmostEqual(red[DRAIN + "instructions"], 1, delta=0.01)
        self.assertNotIn(EMIT + "instructions", red)


class Places(unittest.TestCase):
    def test_all_plants_have_their_place(self):
        with tempfile.TemporaryDirectory(prefix="weir-planted-") as tree:
            plant.copy_tree(tree)
            for name in plant.PLANTS:
                plant.plant(tree, name)()


if __name__ == "__main__":
    unittest.main()
