"""One command, without a build system; a program needs the C library only, and so does libweir.so."""


def use(at):
    at.run(f"{at.cc} app.c -I{at.prefix}/include {at.library}/libweir.a -pthread -o app")
    at.trace("../app")
    for program in ("app", at.library / "libweir.so"):
        needed = at.needed(program)
        at.expect(needed == {"libc"}, f"{program} needs {needed}")
