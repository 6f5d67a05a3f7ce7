"""Plug-ins that are linked in each way of core/HOSTS.md, in hosts that are, with -rdynamic and without. Each copy of the
library writes the trace of its own program alone."""
import re

HOST, PLUGIN = ("Host", "Turn", 1), ("Plugin", "Step", 1)


def build_plugins(at):
    """Three are README's program as a plug-in; the first one is linked as core/HOSTS.md says."""
    text = (at.source / "core/HOSTS.md").read_text(encoding="utf-8")
    line = re.search(r"`cc (-shared [^`]*) -o plugin\.so`", text).group(1)
    static = line.replace("libweir.a", f"{at.library}/libweir.a").replace("plugin.c", "app.c -Dmain=plugin_run")
    links = {"static": static, "unmarked": static.replace("-Wl,-z,nodelete", ""),
             "shared": f"-shared -fPIC app.c -Dmain=plugin_run -L{at.library} -lweir -Wl,-rpath,{at.library}",
             "table": "-shared -fPIC table.c"}
    for name, link in links.items():
        at.run(f"{at.cc} -fvisibility=default {link} -I{at.prefix}/include -o {name}.so")
    at.expect(at.stays_loaded("static.so") and not at.stays_loaded("unmarked.so"), "the option is not what marks plug-ins")
    at.expect("libweir" not in at.needed("table.so"), "table.so is linked with the library")
    return links


def use(at):
    plugins = build_plugins(at)
    for export in ("", "-rdynamic"):
        for library in ("-l:libweir.a", f"-lweir -Wl,-rpath,{at.library}"):
            at.run(f"{at.cc} {export} host.c -I{at.prefix}/include -L{at.library} {library} -pthread -o host")
            for plugin in plugins:
                is_apart = plugin == "table"
                files = {"host.nettrace": [HOST, PLUGIN] if is_apart else [HOST]}
                if not is_apart:
                    files["myvm.nettrace"] = None
                at.trace("../host", f"../{plugin}.so", files=files)
