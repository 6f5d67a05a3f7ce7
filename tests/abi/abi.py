#!/usr/bin/env python3
"""Compares the library with the ABI in recorded.abi, by libabigail (Debian: abigail-tools).

usage: abi.py check|record LIBRARY
LIBRARY has debug information. check fails if its ABI is not the recorded one; record keeps it, but refuses a break that
has no new SONAME. Functions of the version that is still being made may change until it is released.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import grow

RECORD = pathlib.Path(__file__).with_name("recorded.abi")
VERSION = pathlib.Path(__file__).parents[2] / "core/include/weir/version.h"
COMMAND = "cmake --build build/test --target abi_record"
SKIPPED = 77

# Hosts have pointers to these only.
OPAQUE = """
[suppress_type]
  name_regexp = ^(weir_session|weir_provider|wr_.*)$
  label = opaque
  drop = yes
"""

# What hosts that were compiled with earlier headers survive: core/README.md, "Hosts with earlier headers". moved() looks
# at the structs that grow at their end, since abidiff's rule for that lets through what has moved in them; for those with
# counts, which do not, the test is host_0_2.c.
COMPATIBLE = """
[suppress_type]
  type_kind = struct
  name_regexp = ^({growing})$
[suppress_type]
  type_kind = enum
  changed_enumerators = WEIR_LOSS_COUNT
[suppress_function]
  symbol_version = {unreleased}
"""


def compatible():
    major, minor = re.findall(r"#define WEIR_VERSION_(?:MAJOR|MINOR) (\d+)", VERSION.read_text(encoding="utf-8"))
    return COMPATIBLE.format(growing="|".join((*grow.AT_END, *grow.BEFORE_COUNTS, "weir_counts")),
                             unreleased=f"WEIR_{major}.{minor}")


def tool(*command):
    return subprocess.run(command, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def difference(old, new, rules, *options):
    """What abidiff reports beside these rules, or an empty string."""
    with tempfile.NamedTemporaryFile("w", suffix=".abignore") as file:
        file.write(rules)
        file.flush()
        done = tool("abidiff", "--suppr", file.name, *options, str(old), str(new))
    if done.returncode & 3: # its own errors; the other bits say what it found
        sys.exit(f"abidiff: {done.stdout}")
    return done.stdout if done.returncode else ""


def read(library):
    """Its ABI as text, without what depends on where and from which files it was built."""
    with tempfile.NamedTemporaryFile("w", suffix=".abignore") as file:
        file.write(OPAQUE)
        file.flush()
        done = tool("abidw", "--suppr", file.name, "--exported-interfaces-only", "--no-elf-needed", "--no-corpus-path",
                    "--no-comp-dir-path", "--no-show-locs", "--no-parameter-names", "--type-id-style", "hash", library)
    if done.returncode != 0 or "<abi-instr" not in done.stdout:
        sys.exit(f"abidw cannot read {library}: is it built with -g?\n{done.stdout[:1000]}")
    return re.sub(r" path='[^']*/core/", " path='core/", done.stdout)


def soname(text):
    return re.search(r"soname='([^']*)'", text).group(1)


def members(file):
    """Of each struct, by its name: the offset, name and type of each member."""
    root = xml.etree.ElementTree.parse(file).getroot()
    types = {element.get("id"): element for element in root.iter() if element.get("id")}

    def described(key):
        element = types[key]
        parts = [part.get("type-id") for part in element.iter() if part.get("type-id")]
        return f"{element.tag} {element.get('name') or [element.get('size-in-bits'), *map(described, parts)]}"

    def laid_out(member):
        return member.get("layout-offset-in-bits"), member[0].get("name"), described(member[0].get("type-id"))

    return {struct.get("name"): [laid_out(member) for member in struct.iter("data-member")]
            for struct in root.iter("class-decl") if not struct.get("is-declaration-only")}


def moved(old, new):
    """Structs that may only grow at their end, and have changed in front of it."""
    before, after = members(old), members(new)
    return "".join(f"struct {name} has changed other than at its end\n" for name in grow.AT_END
                   if name in before and before[name] != after.get(name, [])[:len(before[name])])


def breaks(old, new):
    """How the ABI in the file new breaks hosts that were linked with the one in the file old, or an empty string."""
    if soname(old.read_text(encoding="utf-8")) != soname(new.read_text(encoding="utf-8")):
        return ""
    return difference(old, new, OPAQUE + compatible(), "--no-added-syms") + moved(old, new)


def check(old, new):
    """Why the ABI in the file new is not to be shipped beside the one in the file old, or an empty string."""
    broken = breaks(old, new)
    if broken:
        return (f"{broken}\nThis breaks hosts that are linked with {soname(old.read_text(encoding='utf-8'))}. Undo it, "
                f"or give the library a new SONAME (SOVERSION in core/CMakeLists.txt), and record that: {COMMAND}")
    added = difference(old, new, OPAQUE)
    return f"{added}\nThis breaks no host, but it is not recorded yet. Commit what this changes: {COMMAND}" if added else ""


def main(command, library):
    if not shutil.which("abidiff"):
        print("skipped: abidiff is not installed (Debian: abigail-tools)")
        sys.exit(SKIPPED)
    with tempfile.NamedTemporaryFile("w", suffix=".abi") as file:
        file.write(read(library))
        file.flush()
        new = pathlib.Path(file.name)
        if command == "check" or (RECORD.exists() and breaks(RECORD, new)):
            sys.exit(check(RECORD, new) or 0)
        shutil.copyfile(new, RECORD)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("check", "record"):
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
