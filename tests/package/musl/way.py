"""The library and a static program for another C library than the system's."""


def use(at):
    at.need("musl-gcc")
    (at.folder / "WEIR").symlink_to(at.source)
    configure, build, link = at.readme("musl, static")
    at.run(f"{configure} -DCMAKE_BUILD_TYPE=None && {build} && {link}")
    at.trace("../app")
    at.expect(not at.needed("app"), "app is not static")
    at.run(f"{at.cmake} --install build --component tools --prefix prefix")
    at.expect(not list(at.folder.glob("prefix/bin/*")), "weir is installed, but has not been built")
