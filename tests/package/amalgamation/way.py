"""weir.h and weir.c, made by packaging/amalgamate.py: they compile without a warning, with plain options; the fast path is the
library's; nothing is exported unless the host asks for it; the README's program traces."""
import itertools
import sys

from tests.codegen import check

# Each compiler, level and standard; the link-time optimizer; a host that exports the library's functions.
SOME = ("gcc -O0 -std=c2x -DWEIR_API_EXPORTED", "gcc -O1 -std=c11 -flto", "gcc -O2 -std=c11", "clang -O3 -std=c2x")
ALL = (*map(" ".join, itertools.product(("gcc", "clang"), ("-O0", "-O1", "-O2", "-O3"), ("-std=c11", "-std=c2x"))),
       "gcc -O2 -flto", "gcc -O3 -flto", "gcc -Os", "clang -O2 -DWEIR_API_EXPORTED")
STRICT = "-Wall -Wextra -Werror"


def use(at):
    make(at)
    for build in SOME:
        compile_one(at, build)
    at.run(f"gcc -fsyntax-only {STRICT} -DWEIR_SINGLE_THREADED weir.c")
    at.run(f"gcc -fsyntax-only {STRICT} -DWEIR_PLUGIN app.c")
    at.run(f"gcc -DWEIR_DISABLE {STRICT} app.c weir.c -o app && ! ./app")
    at.run(f"g++ {STRICT} -x c++ app.c -x none weir.o -lck -pthread -o app")
    at.trace("../app")


def use_long(at):
    make(at)
    for build in ALL:
        compile_one(at, build)
    aarch64(at)


def make(at):
    """As the README says. The files depend on nothing but the sources."""
    (at.folder / "WEIR").symlink_to(at.source)
    script, _, _, compiled, included = at.readme("One file")
    at.write("app.c", (at.folder / "app.c").read_text(encoding="utf-8").replace("#include <weir/weir.h>", included))
    at.run(script)
    at.run(f"cd / && PYTHONHASHSEED=1 {sys.executable} -B {at.source}/packaging/amalgamate.py -o {at.folder}/again")
    at.run("cmp weir.h again/weir.h && cmp weir.c again/weir.c")
    at.run(compiled)
    at.trace("../app")


def compile_one(at, build):
    at.need(build.split()[0])
    at.run(f"{build} {STRICT} -c weir.c -o weir.o")
    at.run(f"{build} {STRICT} app.c weir.o -lck -pthread -o app")
    at.trace("../app")
    if "-flto" in build:
        return
    exported, expected = check.exportable_of(at.folder / "weir.o"), set()
    if "EXPORTED" in build:
        expected = check.declared_in(at.source / "core/include")
    at.expect(exported == expected, f"{build}: not exported as it should be: {sorted(exported ^ expected)}")
    if "-O2" in build or "-O3" in build:
        fast_path(at)


def fast_path(at, *options):
    """By the rules of the library's."""
    at.run(f"cd {at.source} && {sys.executable} -B -m tests.codegen.check emit {' '.join(options)} {at.folder}/weir.o")


def aarch64(at):
    at.need("aarch64-linux-gnu-gcc", "qemu-aarch64")
    packages = at.build.parent / "aarch64-packages"
    at.run(at.source / "tests/aarch64/fetch.sh", packages)
    compiled = f"aarch64-linux-gnu-gcc -O2 {STRICT} -c weir.c -o weir.o"
    at.expect("ck are configured for x86" in at.run(f"! {compiled}"), "ck's headers for x86 were taken")
    at.run(f"{compiled} -isystem {packages}/usr/include")
    fast_path(at, "--tools=aarch64-linux-gnu-")
    at.run(f"aarch64-linux-gnu-gcc -static app.c weir.o -L{packages}/usr/lib/aarch64-linux-gnu -lck -pthread -o app")
    at.trace("qemu-aarch64", "../app")
