"""CMake refuses what would build and be wrong, or not build at all, and says why.

usage: test_configure.py CMAKE SOURCE
"""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CROSS = "aarch64-linux-gnu-gcc"

# A compiler for 32-bit x86 needs no libraries of that kind to be asked for the size of a pointer.
BITS_32 = ("-DCMAKE_C_FLAGS=-m32", "-DCMAKE_CXX_FLAGS=-m32", "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY")
AARCH64 = ("-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=aarch64", f"-DCMAKE_C_COMPILER={CROSS}",
           "-DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++")


def refusal(cmake, source, *options):
    """What CMake says when it refuses, on one line."""
    with tempfile.TemporaryDirectory() as build:
        run = subprocess.run([cmake, "-S", source, "-B", build, *options], capture_output=True, text=True, check=False)
    return re.sub(r"\s+", " ", run.stderr) if run.returncode != 0 else "(not refused)"


def main(cmake, source):
    found = {"32-bit x86": (refusal(cmake, source, *BITS_32), "Weir is for 64-bit processors")}
    with tempfile.TemporaryDirectory() as include:
        header = Path(include, "ck_md.h")
        options = (*AARCH64, f"-DCK_INCLUDE_DIR={include}")
        header.write_text("#define CK_MD_TSO\n", encoding="utf-8")
        found["x86's ck on aarch64"] = (refusal(cmake, source, *options), "is configured for x86 (CK_MD_TSO)")
        # The next thing that is wrong: libck.a is that of this machine.
        header.write_text("#define CK_MD_RMO\n", encoding="utf-8")
        found["aarch64's ck"] = (refusal(cmake, source, *options), "libck.a is not for aarch64")
    wrong = [f"{what}: expected '{expected}', got: {text}" for what, (text, expected) in found.items()
             if expected not in text]
    print("\n".join(wrong) or f"{len(found)} refused")
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    if not shutil.which(CROSS):
        print(f"skipped: {CROSS} is not installed")
        sys.exit(77)
    sys.exit(main(*sys.argv[1:]))
