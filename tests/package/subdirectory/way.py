"""add_subdirectory(weir) builds the library alone, in C, and changes no setting of the project around it."""


def use(at):
    at.quotes("CMake, from the sources", "CMakeLists.txt")
    (at.folder / "weir").symlink_to(at.source)
    at.project()
    at.trace("../build/app")
    built = {path.name for path in at.folder.glob("build/**/*") if path.suffix in (".a", ".so")}
    at.expect(built == {"libweir.a", "libweir_ck.a"}, f"built {sorted(built)}")
