"""A host in C++20 with strict warnings, without exceptions and RTTI; it needs no C++ runtime for the library."""
import shutil

FLAGS = "-std=c++20 -Wall -Wextra -Wold-style-cast -Werror -fno-exceptions -fno-rtti"


def use(at):
    program = (at.folder / "app.c").read_text(encoding="utf-8")
    at.write("app.cc", program.replace("(uint64_t)n", "uint64_t{n}"))
    for compiler in {at.cxx, *filter(shutil.which, ("g++", "clang++"))}:
        at.run(f"{compiler} {FLAGS} app.cc -I{at.prefix}/include {at.library}/libweir.a -pthread -o app")
        at.trace("../app")
    at.run(f"{at.cxx} {FLAGS} -c app.cc -I{at.prefix}/include && {at.cc} app.o {at.library}/libweir.a -pthread -o app")
    at.expect(at.needed("app") == {"libc"}, f"app needs {at.needed('app')}")
