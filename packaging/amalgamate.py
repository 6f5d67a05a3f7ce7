#!/usr/bin/env python3
"""Makes weir.h and weir.c: the library as one header and one source, for a host that compiles it with its own files.

    cc app.c weir.c -lck -pthread

A host includes "weir.h" instead of the headers of weir/. The functions of the library are hidden: they are not exported
from a shared library or plug-in that contains weir.c, unless it is compiled with -DWEIR_API_EXPORTED. It may also be
compiled with -DWEIR_SINGLE_THREADED. With -DWEIR_DISABLE nothing is left of it. Concurrency Kit (ck) is used as it is installed; nothing of it is copied.
"""
import argparse
import itertools
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORE = ROOT / "core"
# emitters.h and plugin.h are included by trace.h, at their place. The others include disabled.h in parts; here it is last.
PUBLIC = ("result.h", "version.h", "context.h", "trace.h", "session.h", "server.h", "heap.h", "disabled.h")

CODE = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|[A-Za-z_]\w*|\d[\w.]*|->|[^\w]", re.S)
OURS = re.compile(r'^#include (?:<weir/(\w+\.h)>|"(\w+/\w+\.h)")[^\n]*\n', re.M)
# An include that only some builds need: all have it here.
CONDITIONAL = re.compile(r'^#if[^\n]*\n(#include (?:<weir/|")[^\n]*\n)#endif[^\n]*\n', re.M)
GUARD = re.compile(r"\A(.*?)^#ifndef (\w+_H)\n#define \2\n(.*)^#endif\n\Z", re.M | re.S)
STATIC = re.compile(r"^(?:(?:WR_COLD )?static|WR_INLINE)\b[^;={]*?\b(\w+)\s*(?:\(|\[|=|;)", re.M)
TAG = re.compile(r"^(?:struct|enum|union) (\w+) \{", re.M)
BODY = re.compile(r"(^(?:struct|union) \w+ \{\n.*?^\})", re.M | re.S)
MACRO = re.compile(r"^\s*#\s*define (\w+)", re.M)

HIDE = "#pragma GCC visibility push(hidden)\n"
SHOW = "#pragma GCC visibility push(default)\n"
POP = "#pragma GCC visibility pop\n"
BEGIN = """#ifndef WEIR_DISABLE
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifndef NDEBUG
#define NDEBUG
#endif
#ifndef WEIR_API_EXPORTED
#define WEIR_API_HIDDEN
#endif
#include "weir.h"
#pragma GCC diagnostic ignored "-Wunused-function"

"""


# --- What there is. -------------------------------------------------------------------------------------

def version():
    return ".".join(re.findall(r"define WEIR_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", read("include/weir/version.h")))


def read(name):
    return (CORE / name).read_text(encoding="utf-8")


def source_lists():
    """The lists `sources` of core/CMakeLists.txt, by their names."""
    lists = {}
    for command, body in re.findall(r"^(set|file|list)\(([^)]*)\)", re.sub(r"#.*", "", read("CMakeLists.txt")), re.M):
        words = [item for word in body.split() for item in (lists.get(word[2:-1], [word]) if word[:2] == "${" else [word])]
        if command == "set":
            lists[words[0]] = words[1:]
        elif words[0] == "GLOB":
            lists[words[1]] = sorted(path.relative_to(CORE).as_posix() for path in CORE.glob(words[-1]))
        elif words[0] == "REMOVE_ITEM":
            lists[words[1]] = [item for item in lists[words[1]] if item not in words[2:]]
    return [lists[name] for name in ("sources", "sources_threaded", "sources_single_threaded")]


# --- Names of one file. -----------------------------------------------------------------------------------

def rename(name, text):
    """Gives the functions, variables and types that are a file's own its name as a prefix, since other files, and other C
    libraries, have the same names. Members keep theirs: in the body of a struct, and after a dot or an arrow. What this
    does not understand does not compile."""
    code = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    tags, own = set(TAG.findall(code)), set(STATIC.findall(code))
    prefix = name.removesuffix(".c").replace("/", "_")
    renamed, before = [], ""
    for piece in BODY.split(text):
        is_body = BODY.fullmatch(piece)
        for token in CODE.findall(piece):
            is_tag = before in ("struct", "enum", "union")
            if token in (tags if is_tag else own) and before not in (".", "->") and (is_tag or not is_body):
                token = f"{prefix}_{token}"
            renamed.append(token)
            before = before if token.isspace() else token
    return "".join(renamed)


# --- The two files. ---------------------------------------------------------------------------------------

def headers_of(name, found):
    """Appends the internal headers that a file includes, each after those that it includes itself."""
    for _, own in OURS.findall(read(name)):
        if own and own not in found:
            headers_of(own, found)
            found.append(own)
    return found


def title(name):
    return f"/* ===== {name} {'=' * (86 - len(name))} */\n"


def inline_public(name, done):
    """A public header, with those that it includes in place of their lines."""
    done.add(name)

    def include(match):
        return "" if match.group(1) in done else inline_public(match.group(1), done)

    text = CONDITIONAL.sub(r"\1", read(f"include/weir/{name}"))
    return title(f"weir/{name}") + OURS.sub(include, text)


class Sources:
    """The text of internal files, and the headers of the system that they include."""

    def __init__(self):
        self.system = set()

    def part(self, name, text):
        """A file without its includes. Those that some builds lack, and those of ck, where a file may define something
        first, stay where they are; what they declare is not hidden."""
        lines, depth = [title(name)], 0
        for line in OURS.sub("", CONDITIONAL.sub(r"\1", text)).strip("\n").splitlines(keepends=True):
            depth += line.startswith("#if") - line.startswith("#endif")
            if not line.startswith("#include <"):
                lines.append(line)
            elif depth or line.startswith("#include <ck_"):
                lines += (SHOW, line, POP)
            else:
                self.system.add(line)
        return "".join(lines) + "\n"

    def header(self, name):
        comment, _, text = GUARD.match(read(name)).groups()
        return self.part(name, comment + text)

    def source(self, name):
        text = read(name).replace("#define _GNU_SOURCE\n", "")
        macros = dict.fromkeys(MACRO.findall(text))
        return self.part(name, rename(name, text)) + "".join(f"#undef {macro}\n" for macro in macros)


def licence():
    lines = (ROOT / "LICENSE").read_text(encoding="utf-8").rstrip().splitlines()
    return "".join(f" * {line}".rstrip() + "\n" for line in lines)


def head(what):
    return f"/*\n * Weir {version()}: {what}\n * Made by packaging/amalgamate.py.\n *\n * SPDX-License-Identifier: MIT\n *\n{licence()} */\n"


def weir_h():
    done = {"weir.h", "disabled.h"}
    parts = [inline_public(name, done) for name in PUBLIC]
    left = {path.name for path in (CORE / "include/weir").glob("*.h")} - done
    if left:
        raise SystemExit(f"weir.h lacks {', '.join(sorted(left))}: add them to PUBLIC")
    return head("all public headers.") + "#ifndef WEIR_WEIR_H\n#define WEIR_WEIR_H\n\n" + "\n".join(parts) + "\n#endif\n"


def weir_c():
    lists, headers, sources = source_lists(), [], Sources()
    for name in itertools.chain(*lists):
        headers_of(name, headers)
    declared = "\n".join(map(sources.header, headers))
    both, threaded, single = ("\n".join(map(sources.source, names)) for names in lists)
    return (head("the library, in one file.") + BEGIN + "".join(sorted(sources.system)) + "\n" + HIDE + "\n" + declared + "\n" +
            both + "\n#ifndef WEIR_SINGLE_THREADED\n" + threaded + "\n#else\n" + single + "#endif\n\n" + POP + "#endif\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="where to write weir.h and weir.c; is created")
    folder = Path(parser.parse_args().output)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "weir.h").write_text(weir_h(), encoding="utf-8")
    (folder / "weir.c").write_text(weir_c(), encoding="utf-8")


if __name__ == "__main__":
    main()
