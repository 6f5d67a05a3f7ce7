"""WEIR_DISABLE: a program without the library, and without a trace of its events; their arguments are still checked."""


def use(at):
    (at.folder / "WEIR").symlink_to(at.source)
    said = at.run(at.readme("Compiled out")[0] + " && ! ./app")
    at.expect("compiled with WEIR_DISABLE and traces nothing" in said, f"the README's program says: {said}")
    for level in ("-O0", "-O2"):
        for compiler in (at.cc, f"{at.cxx} -x c++"):
            compiled = f"{compiler} -DWEIR_DISABLE -Wall -Wextra -Werror {level} -I{at.prefix}/include"
            at.run(f"{compiled} {at.source}/tests/package/null/host.c -o host && ./host")
            at.run(f"{compiled} -c sites.c && ! {compiled} -DWRONG -c sites.c -o wrong.o")
    at.write("empty.c", "unsigned turn(unsigned);\nunsigned turn(unsigned count) { return count; }\n")
    at.run(f"{at.cc} -DWEIR_DISABLE -O2 -I{at.prefix}/include -c sites.c empty.c")
    empty, sites = (at.run(f"nm {name}.o; size -A {name}.o | grep -E '^\\.(text|data|bss|rodata)'") for name in ("empty", "sites"))
    at.expect(sites == empty, f"the events have left something behind: {sites}")
    at.expect(not list(at.folder.glob("*.nettrace")), "there is a trace")
