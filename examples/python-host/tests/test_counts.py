"""Each function has as many calls in the trace as sys.setprofile counts."""
import json
import os

import support


class Counts(support.Case):
    def test_four_threads_in_block(self):
        """json, difflib, textwrap, tokenize and ast, 1.7 million events through 64 KiB."""
        result = support.run_python(os.path.join(support.HERE, "counted.py"), "4", "t.nettrace", cwd=self.directory)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        counts, stats = map(json.loads, result.stdout.splitlines())
        self.assertEqual(stats["lost"], 0)
        self.assertGreater(stats["parks"], 0)
        report = json.loads(self.weir("report", "--json", "--top", "0", "t.nettrace"))
        self.assertEqual(support.differences(counts, report), {})
        self.assertGreater(sum(number for _, number in counts), 500_000)
        provider = report["providers"][0]
        self.assertEqual(provider["unwoundFrames"], 0)
        # What was entered before the session returns in it, and the other way round.
        self.assertEqual(provider["calls"] + provider["unmatchedReturns"], provider["returns"] + provider["closedAtEnd"])
        self.assertLess(provider["unmatchedReturns"], 16)
        self.weir("check", "t.nettrace")
