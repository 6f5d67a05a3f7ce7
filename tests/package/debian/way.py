"""The Debian packages: what is in them; and in a clean Debian 12, how they install, and what a program that uses them traces."""
import os
import re
import shutil
import sys

from tests import readme


def use(at):
    packages = build(at)
    version = at.run(at.weir, "--version").split()[-1]
    files = set()
    (at.folder / "root").mkdir()
    for name, package in packages.items():
        root = at.folder / "root" / name
        at.run(f"dpkg-deb -x {package} {root}")
        at.expect(os.listdir(root) == ["usr"], f"{name} has files outside of /usr")
        files |= {(name, file) for file in files_in(root / "usr")}
        at.run(f"cmp {root}/usr/share/doc/{name}/copyright {at.source}/packaging/debian/copyright")
        at.expect(at.run("dpkg-deb", "-f", package, "Version") == f"{version}\n", f"{name} is not of version {version}")
    installed = {(package_of(file), file) for file in files_in(at.prefix)}
    at.expect(files == installed, f"packaged or installed, but not both: {sorted(files ^ installed)}")
    needed = at.run("dpkg-deb", "-I", packages["libweir0"], "shlibs")
    at.expect(sorted(needed.splitlines()) == [f"libweir 0 libweir0 (>= {version})", f"libweir-null 0 libweir0 (>= {version})"], f"a program that was compiled with {version} needs {needed}")
    # Debian's options leave the fast path as it is.
    at.run("ar x root/libweir-dev/usr/lib/*/libweir.a emit.c.o")
    at.run(f"cd {at.source} && {sys.executable} -B -m tests.codegen.check emit {at.folder}/emit.c.o")


def build(at):
    """As README says, in a copy of this checkout, changes included, where one file is new and one is gone."""
    command, *names, folder, _ = at.readme("Debian packages")
    at.need("dpkg-buildpackage", "dh", "bash")
    at.need_checkout()
    at.run(f"git clone --quiet --shared {at.source} checkout")
    at.run("bash", "-o", "pipefail", "-c", f"cd {at.source} && git ls-files -coz --exclude-standard | "
           f"tar -c --null -T - --ignore-failed-read | tar -x -C {at.folder}/checkout")
    at.write("checkout/NEW", "")
    (at.folder / "checkout/.clang-tidy").unlink()
    printed = at.run(f"cd checkout && {command}")
    packed = f"commit {at.run('git -C checkout rev-parse --short HEAD').strip()} with changes that are not committed"
    at.expect(f"Packing {packed} ..." in printed, f"printed {printed}")
    folder = at.folder / "checkout" / folder
    found = {path.name.split("_")[0]: path for path in folder.glob("*.deb") if "-dbgsym_" not in path.name}
    at.expect(sorted(found) == sorted(names), f"built {sorted(found)}")
    at.expect(packed in at.run(f"dpkg-deb --fsys-tarfile {found['libweir0']} | tar -xO --wildcards '*/changelog.gz' | zcat"),
              "the package does not say what it was built from")
    sources = at.run(f"tar -tf {folder}/weir_*.tar.xz")
    at.expect("/NEW\n" in sources and "/.clang-tidy\n" not in sources, "what was packed is not what is checked out")
    return found


def files_in(folder):
    """Those of libweir.a, say, as lib/libweir.a, wherever this system has its libraries; without documents."""
    files = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())
    return {re.sub(r"^lib/[^/]*-linux-[^/]*/", "lib/", file).removesuffix(".gz") for file in files if "/doc/" not in file}


def package_of(file):
    if file.startswith(("lib/libweir.so.", "lib/libweir-null.so.")):
        return "libweir0"
    return "weir-tools" if file.startswith(("bin/", "share/")) else "libweir-dev"


def use_long(at):
    if os.geteuid() != 0:
        at.skip("only root can enter a chroot")
    at.need("mmdebstrap")
    packages = build(at)
    clean = at.folder / "clean"
    try:
        make_clean(at, clean)
        for package in packages.values():
            shutil.copy(package, clean)
        use_in(at, clean)
    finally:
        shutil.rmtree(clean, ignore_errors=True)


def make_clean(at, clean):
    """From the mirror of this system, and with what its apt is configured for."""
    mirror = at.run("apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Codename: bookworm' 'Created-By: Packages'")
    at.run("apt-config dump Acquire >apt.conf")
    at.run("mmdebstrap", "--quiet", "--variant=minbase", "--include=gcc,libc6-dev,libjansson4,man-db,pkgconf", "--aptopt=apt.conf",
           "bookworm", clean, *mirror.split()[:1])


def use_in(at, clean):
    def run(line):
        return at.run("chroot", clean, "sh", "-c", line, PKG_CONFIG_PATH="", MANPAGER="cat", LC_ALL="C")

    install = at.readme("Debian packages")[-1]
    run(f"{install} /*.deb")
    at.expect(run("weir --version") == at.run(at.weir, "--version"), "weir is of another version")
    at.expect("weir - read and collect traces" in run("man weir"), "man shows no page of weir")
    at.write("clean/app.c", readme.PROGRAM)
    compiled, = readme.ways("pkg-config, shared")
    stat = run(f"{compiled} && ./app && weir check myvm.nettrace && weir stat myvm.nettrace")
    for provider, name, count in readme.EVENTS:
        at.expect(re.search(rf"^{provider} +{name} .* {count} ", stat, re.M), f"weir stat has no {count} {name} in {stat}")
