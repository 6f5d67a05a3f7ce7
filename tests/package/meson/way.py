"""dependency('weir') finds what is installed, or builds the sources that subprojects/weir links to."""


def use(at):
    at.need("meson", "ninja", "pkg-config")
    at.run("meson setup installed && ninja -C installed", CC=at.cc)
    at.trace("../installed/app", LD_LIBRARY_PATH=str(at.library))
    (at.folder / "subprojects").mkdir()
    at.run(f"{at.readme('Meson, from the sources')[0].replace('WEIR/', f'{at.source}/')}")
    at.run("meson setup --wrap-mode=forcefallback built && ninja -C built", CC=at.cc)
    at.trace("../built/app")
    at.expect("libweir" in at.needed("installed/app"), "the installed library is not used")
    at.expect("libweir" not in at.needed("built/app"), "the sources are not used")
    at.expect(at.stays_loaded("built/libplugin.so"), "the plug-in can be unloaded")
