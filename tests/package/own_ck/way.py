"""A host with a ck of its own, here one whose functions end the program: the library must not call them, and its own
must not clash with them."""
import re


def use(at):
    functions = re.findall(r" T wr_(ck_\w+)$", at.run("nm", at.library / "libweir.a"), re.M)
    at.expect(functions, "libweir.a has no functions of ck")
    at.write("ck.c", "#include <stdlib.h>\n" + "".join(f"void {name}(void) {{ abort(); }}\n" for name in functions))
    line = f"{at.cc} -rdynamic app.c ck.c -I{at.prefix}/include -L{at.library} -pthread"
    at.run(f"{line} -l:libweir.a -o app")
    at.trace("../app")
    at.run(f"{line} -lweir -Wl,-rpath,{at.library} -o app")
    at.trace("../app")
    # The whole of the system's: nothing is defined twice.
    at.run(f"{at.cc} app.c -I{at.prefix}/include -L{at.library} -l:libweir.a -Wl,--whole-archive -l:libck.a "
           "-Wl,--no-whole-archive -pthread -o app")
    at.trace("../app")
