"""find_package(weir CONFIG), statically and shared; a plug-in that links the library statically stays loaded."""


def use(at):
    at.quotes("CMake", "CMakeLists.txt")
    at.project()
    at.trace("../build/app")
    at.trace("../build/app_shared")
    at.expect("libweir" in at.needed("build/app_shared"), "app_shared is linked statically")
    at.expect("libweir" not in at.needed("build/app"), "app is not linked statically")
    at.expect(at.stays_loaded("build/libplugin.so"), "the plug-in can be unloaded")
