"""libweir-null in the place of libweir, when a program is linked and when it is started: it has the same interface, and
nothing is traced."""


def interface(at, name):
    """Names and versions."""
    return at.run(f"nm -D --defined-only {at.library}/{name} | cut -d' ' -f3 | sort")


def use(at):
    at.expect(interface(at, "libweir-null.so") == interface(at, "libweir.so"), "its interface is another one")
    at.expect(at.needed(at.library / "libweir-null.so") <= {"libc"}, "it needs a library")
    compiled = f"{at.cc} -I{at.prefix}/include -L{at.library} -Wl,-rpath,{at.library}"
    at.run(f"{compiled} host.c -lweir-null -o host && ./host")
    at.run(f"{compiled} host.c -lweir -o host && ! ./host && rm -f *.nettrace")
    preload = at.readme("Nothing is traced")[0]
    at.run(preload.replace("libweir-null.so", f"{at.library}/libweir-null.so").replace("./app", "./host"))
    at.expect(not list(at.folder.glob("*.nettrace")), "there is a trace")
