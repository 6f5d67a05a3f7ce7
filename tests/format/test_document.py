"""The dumps in core/nettrace/FORMAT.md are what the writer writes today, and the names and figures there are those of
its files.

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
VERSIONS = ("4", "5", "6")
EVENTS_AND_LOSSES = {"4": (2, 0), "5": (4, 2), "6": (4, 2)}


def written(version):
    return subprocess.run([PROGRAM, version], capture_output=True, check=True).stdout


def shown():
    """{version: the bytes of its dump}. In a dump each line begins with its offset."""
    found = []
    for offset, text in LINE.findall(DOCUMENT):
        if int(offset, 16) == 0:
            found.append(bytearray())
        if int(offset, 16) != len(found[-1]):
            raise AssertionError(f"the line at {offset} comes after {len(found[-1]):04X} bytes")
        found[-1] += bytes.fromhex(text)
    return dict(zip(VERSIONS, map(bytes, found), strict=True))


class Document(unittest.TestCase):
    def test_dump(self):
        for version, dump in shown().items():
            self.assertEqual(dump.hex(" "), written(version).hex(" "))

    def test_every_line_has_a_note(self):
        for line in DOCUMENT.splitlines():
            if LINE.match(line):
                self.assertRegex(line, r"^[0-9A-F]{4}  (?:[0-9A-F]{2} )+ +\S", line)

    def test_the_tool_reads_it_so(self):
        for version, dump in shown().items():
            events, lost = EVENTS_AND_LOSSES[version]
            done = subprocess.run([WEIR, "check", "--json", "-"], input=dump, capture_output=True, check=False)
            found = json.loads(done.stdout)
            self.assertEqual((done.returncode, found["findings"], found["lost"], found["eventCount"]), (3 if lost else 0, [], lost, events))
            done = subprocess.run([WEIR, "stat", "--json", "-"], input=dump, capture_output=True, check=False)
            self.assertEqual(json.loads(done.stdout)["definitionsWithV5Tags"], 2 if version == "5" else 0)

    def test_names(self):
        """Each row "| `NAME` | figure | ..." is an enumerator of the writer's files, and each enumerator has a row."""
        sources = [(FOLDER / name).read_text(encoding="utf-8") for name in ("put.h", "writer.c", "writer_v6.c")]
        enum = "".join(re.search(r"^enum \{$(.*?)^\};$", source, re.M | re.S).group(1) for source in sources)
        theirs = {name: int(value, 0) for name, value in re.findall(r"([A-Z][A-Z0-9_]+) = (\w+),", enum)}
        ours = {name: int(value, 0) for name, value in re.findall(r"^\| `([A-Z][A-Z0-9_]+)` \| (\w+) \|", DOCUMENT, re.M)}
        self.assertGreater(len(theirs), 15)
        self.assertEqual(ours, theirs)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
