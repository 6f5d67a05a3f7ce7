#!/usr/bin/env python3
"""The README's program is compiled as the README says, and its trace is read.

usage: test_readme.py README COMPILER INCLUDE_DIRECTORY LIBRARY WEIR
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile


def main(readme, compiler, include, library, weir):
    text = pathlib.Path(readme).read_text(encoding="utf-8")
    program = re.search(r"```c\n((?:#include <[a-z]+\.h>\n)*#include <weir/weir.h>.*?)```", text, re.S)
    command = re.search(r"^cc app\.c .*? -o app && \./app$", text, re.M)
    if not program or not command:
        return "the README has no program, or no command that compiles it"
    flags = command.group().split(" -o ")[0].split()[2:]
    known = {"-Icore/include": f"-I{include}", "build/release/core/libweir.a": library}
    with tempfile.TemporaryDirectory() as directory:
        pathlib.Path(directory, "app.c").write_text(program.group(1), encoding="utf-8")
        subprocess.run([compiler, "app.c", *(known.get(f, f) for f in flags), "-o", "app"], cwd=directory, check=True)
        subprocess.run(["./app"], cwd=directory, check=True)
        stat = subprocess.run([weir, "stat", "--json", "myvm.nettrace"], cwd=directory, check=True, capture_output=True)
    events = [(e["provider"], e["name"], e["count"]) for e in json.loads(stat.stdout)["events"]]
    return None if events == [("MyVM", "GCStart", 1000)] else f"the trace has {events}"


if __name__ == "__main__":
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
