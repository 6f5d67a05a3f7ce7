"""pkg-config --libs weir links the shared library, --static the static one."""


def use(at):
    at.need("pkg-config")
    at.run(*at.readme("pkg-config, shared"))
    at.trace("../app", LD_LIBRARY_PATH=str(at.library))
    at.run(*at.readme("pkg-config, static"))
    at.trace("../app")
    version = at.run("pkg-config --modversion weir").strip()
    at.expect(at.run(f"{at.weir} --version").split()[-1] == version, f"weir.pc is of version {version}")
