"""The dump in core/nettrace/FORMAT.md is what the writer writes today, and the names and figures there are those of
writer.c.

usage: test_document.py CORE_NETTRACE DOCUMENT_PROGRAM WEIR
"""

import json
import pathlib
import re
import subprocess
import sys
import unittest

FOLDER, PROGRAM, WEIR = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
DOCUMENT = (FOLDER / "FORMAT.md").read_text(encoding="utf-8")
LINE = re.compile(r"^([0-9A-F]{4})  ((?:[0-9A-F]{2} )*[0-9A-F]{2})(?:  |$)", re.M)


def written():
    return subprocess.run([PROGRAM], capture_output=True, check=True).stdout


def shown():
    """The bytes of the dump, in which each line begins with its offset."""
    found = bytearray()
    for offset, text in LINE.findall(DOCUMENT):
        if int(offset, 16) != len(found):
            raise AssertionError(f"the line at {offset} comes after {len(found):04X} bytes")
        found += bytes.fromhex(text)
    return bytes(found)


class Document(unittest.TestCase):
    def test_dump(self):
        self.assertEqual(shown().hex(" "), written().hex(" "))

    def test_every_line_has_a_note(self):
        for line in DOCUMENT.splitlines():
            if LINE.match(line):
                self.assertRegex(line, r"^[0-9A-F]{4}  (?:[0-9A-F]{2} )+ +\S", line)

    def test_the_tool_reads_it_so(self):
        done = subprocess.run([WEIR, "check", "--json", "-"], input=shown(), capture_output=True, check=False)
        found = json.loads(done.stdout)
        self.assertEqual((done.returncode, found["findings"], found["lost"], found["eventCount"]), (3, [], 2, 3))

    def test_names(self):
        """Each row "| `NAME` | figure | ..." is an enumerator of writer.c, and each enumerator has a row."""
        source = (FOLDER / "writer.c").read_text(encoding="utf-8")
        enum = re.search(r"^enum \{$(.*?)^\};$", source, re.M | re.S).group(1)
        theirs = {name: int(value, 0) for name, value in re.findall(r"([A-Z][A-Z0-9_]+) = (\w+),", enum)}
        ours = {name: int(value, 0) for name, value in re.findall(r"^\| `([A-Z][A-Z0-9_]+)` \| (\w+) \|", DOCUMENT, re.M)}
        self.assertGreater(len(theirs), 15)
        self.assertEqual(ours, theirs)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
