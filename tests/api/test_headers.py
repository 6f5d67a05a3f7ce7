"""The public headers compile in any host: each alone and twice, as C11 to C23 and C++11 to C++23, with gcc and clang, with
all warnings as errors, with every name of one or two letters defined as a macro, and with and without WEIR_DISABLE.

usage: test_headers.py INCLUDE_DIRECTORY COMPILER...
"""
import itertools
import pathlib
import re
import string
import subprocess
import sys
import tempfile

STANDARDS = {"c": ("c11", "c17", "c2x"), "cc": ("c++11", "c++14", "c++17", "c++20", "c++2b")}

GCC = """-Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wcast-qual -Wcast-align=strict -Wundef -Wvla -Wformat=2
    -Wdouble-promotion -Wfloat-equal -Wredundant-decls -Wswitch-enum -Wswitch-default -Wunused-macros -Wpacked -Wlogical-op
    -Wduplicated-cond -Wduplicated-branches -Wnull-dereference -Wpointer-arith -Wmissing-declarations -Wunused""".split()
GCC_C = """-Wc++-compat -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition -Wnested-externs -Wbad-function-cast
    -Wwrite-strings -Wjump-misses-init""".split()
GCC_CXX = """-Wold-style-cast -Wzero-as-null-pointer-constant -Wuseless-cast -Wextra-semi -Wctor-dtor-privacy
    -Wstrict-null-sentinel""".split()
# What a C header cannot avoid: it is no C++98, has padding, and its types have tags. An emitter that a host does not use
# has to be marked as unused, and may be used all the same.
CLANG = """-Weverything -Wno-padded -Wno-c++98-compat -Wno-c++98-compat-pedantic -Wno-declaration-after-statement
    -Wno-used-but-marked-unused -Wno-unsafe-buffer-usage -Wno-unknown-warning-option""".split()

# Keywords, and types of the list.
NOT_DEFINED = ("if", "do", "or", "i8", "u8")

LETTERS = string.ascii_letters
NAMES = [name for name in itertools.chain(LETTERS, map("".join, itertools.product(LETTERS, LETTERS + string.digits + "_")))
         if name not in NOT_DEFINED]

# Uses every macro and type of the list. The second provider's name is itself one of the macros of two letters.
HOST = """
#define HOST_EVENTS(EVENT, P)                                                                                   \\
    EVENT(P, Bare, 1, 0, WEIR_LEVEL_INFO, 0)                                                                    \\
    EVENT(P, Numbers, 2, 0, WEIR_LEVEL_INFO, 0x1, (bool, Bool), (i8, Int8), (u8, Uint8), (i16, Int16),          \\
          (u16, Uint16), (i32, Int32), (u32, Uint32), (i64, Int64), (u64, Uint64), (f32, Float), (f64, Double), \\
          (guid, Guid), (str, Text), (enum(u8, Kind), Kind))                                                             \\
    EVENT(P, Arrays, 3, 0, WEIR_LEVEL_INFO, 0x2, (array_i8, Int8), (array_u8, Uint8), (array_i16, Int16),       \\
          (array_u16, Uint16), (array_i32, Int32), (array_u32, Uint32), (array_i64, Int64), (array_u64, Uint64))\\
    EVENT(P, Counted, 4, 0, WEIR_LEVEL_INFO, 0x4, (array_u8, Data), (u32, Data_count), (strn, Name),        \\
          (bool8, Flag), (str16, Wide), (raw, Rest))                                                            \\
    EVENT(P, Full, 5, 0, WEIR_LEVEL_INFO, 0x8, ARRAYS_OF_EIGHT(One), (opcode, 255), ARRAYS_OF_EIGHT(Two))       \\
    EVENT(P, Marked, 6, 0, WEIR_LEVEL_INFO, 0x8, (opcode, WEIR_LEVEL_ERROR))                                    \\
    EVENT(P, MarkedLast, 7, 0, WEIR_LEVEL_INFO, 0x8, (bool, Flag), (opcode, 10u))                               \\
    EVENT(P, Structs, 8, 0, WEIR_LEVEL_INFO, 0x8, (struct(Node), First), (u8, Small), (array_struct(Byte), Rest))
#define ARRAYS_OF_EIGHT(Name)                                                                                   \\
    (array_u8, Name##1), (array_u8, Name##2), (array_u8, Name##3), (array_u8, Name##4), (array_u8, Name##5),    \\
    (array_u8, Name##6), (array_u8, Name##7), (array_u8, Name##8)
#define HOST_KINDS(VALUE) VALUE(First, 0) VALUE(Last, -1) VALUE(Large, UINT64_MAX - 7)
WEIR_ENUM(Kind, HOST_KINDS)
#define HOST_NODE(FIELD) FIELD(u64, Address) FIELD(bool, Flag) FIELD(bool8, Short) FIELD(guid, Guid) FIELD(f32, Float)
WEIR_STRUCT(Node, HOST_NODE)
#define HOST_BYTE(FIELD) FIELD(u8, Value)
WEIR_STRUCT(Byte, HOST_BYTE)
WEIR_PROVIDER(Host, HOST_EVENTS)
WEIR_PROVIDER_DEFINE(Host, HOST_EVENTS)
#define VM_EVENTS(EVENT, P)                                                                                     \\
    EVENT(P, Bare, 1, 0, WEIR_LEVEL_INFO, 0) EVENT(P, Count, 2, 0, WEIR_LEVEL_INFO, 0, (u32, Count))
WEIR_PROVIDER(VM, VM_EVENTS)
WEIR_PROVIDER_DEFINE(VM, VM_EVENTS)

bool vm_emits(void);
bool vm_emits(void)
{
    return WEIR_EMIT(VM, Bare) && WEIR_EMIT_TO(1, VM, Bare) && WEIR_EMIT_AT(0, VM, Bare) && WEIR_EMIT(VM, Count, 1) &&
           WEIR_EMIT_TO(1, VM, Count, 1) && WEIR_EMIT_AT(0, VM, Count, 1) && weir_provider_VM.name &&
           weir_event_is_enabled(&weir_events_VM.Bare) && VM_Bare() && VM_Bare_at(0) && VM_Count_to(1, 2);
}

#ifdef __cplusplus
bool is_written(bool by_default = WEIR_EMIT(VM, Bare));
bool is_written(bool by_default)
{
    return by_default;
}
#endif

bool host_emits(const uint8_t *data, uint32_t count);
bool host_emits(const uint8_t *data, uint32_t count)
{
    return WEIR_EMIT(Host, Bare) && WEIR_EMIT(Host, Marked) && WEIR_EMIT(Host, MarkedLast, true) &&
           WEIR_EMIT_TO(1, Host, Marked) && WEIR_EMIT_AT(0, Host, Marked) && WEIR_EMIT_AT(0, Host, MarkedLast, true) &&
           WEIR_EMIT(Host, Counted, data, count, count, "name", 4, true, WEIR_NULL_, data, 2) &&
           WEIR_EMIT_TO(1, Host, Bare) && WEIR_EMIT_TO(1, Host, Counted, data, count, count, "n", 1, true, WEIR_NULL_, data, 2) &&
           WEIR_EMIT_AT(weir_clock(), Host, Bare) && WEIR_EMIT_AT(0, Host, Counted, data, count, count, "n", 1, true, WEIR_NULL_, data, 2) &&
           WEIR_EMIT(Host, Full, data, count, data, count, data, count, data, count, data, count, data, count,
                     data, count, data, count, data, count, data, count, data, count, data, count, data, count,
                     data, count, data, count, data, count);
}

bool host_structs(const struct weir_struct_Node *node, const struct weir_struct_Byte *data, uint32_t count);
bool host_structs(const struct weir_struct_Node *node, const struct weir_struct_Byte *data, uint32_t count)
{
    return WEIR_EMIT(Host, Structs, node, 1, data, count) && WEIR_EMIT_TO(1, Host, Structs, node, 1, data, count) &&
           WEIR_EMIT_AT(0, Host, Structs, node, 1, data, count);
}

void host_sessions(void);
void host_sessions(void)
{
    struct weir_object object = WEIR_OBJECT_INIT;
    (void)object;
    struct weir_session_config config = WEIR_SESSION_CONFIG_INIT;
    struct weir_sink sink = WEIR_SINK_INIT;
    struct weir_park_hooks hooks = WEIR_PARK_HOOKS_INIT;
    struct weir_stats stats = WEIR_STATS_INIT;
    struct weir_thread_table table = WEIR_THREAD_TABLE_INIT;
    struct weir_schema schema = WEIR_SCHEMA_INIT;
    struct weir_enable enable = WEIR_ENABLE_INIT;
    struct weir_session_table sessions = WEIR_SESSION_TABLE_INIT;
    (void)config;
    (void)enable;
    (void)sessions;
    (void)sink;
    (void)hooks;
    (void)stats;
    (void)table;
    (void)schema;
}
"""

# The same through a host's table.
PLUGIN = """
WEIR_PLUGIN_DEFINE

bool plugin_begins(const struct weir_functions *functions);
bool plugin_begins(const struct weir_functions *functions)
{
    return weir_plugin_init(functions, WEIR_FUNCTIONS_UP_TO(last_loss), WEIR_NULL_) == WEIR_OK;
}
"""

# Fields that the compiler refuses, and the one error that says why; None: one of the compiler's own.
FIELDS = [f"(u32, Field{number})" for number in range(20)]
TOO_MANY = "Host_Wrong: an event has at most 16 fields"
ONE_OPCODE = "Host_Wrong: give an event one opcode at most, a constant from 0 to 255"
REFUSED = [
    (FIELDS[:17], TOO_MANY),
    (FIELDS[:18], TOO_MANY),
    ([*FIELDS[:17], "(opcode, 1)"], TOO_MANY),
    (["(opcode, 1)", "(opcode, 1)"], ONE_OPCODE),
    (["(opcode, 1)", *FIELDS[:15], "(opcode, 2)"], ONE_OPCODE),
    (["(opcode, 256)"], ONE_OPCODE),
    ([FIELDS[0], "(opcode, -1)"], ONE_OPCODE),
    (["(opcode, host_opcode)"], None),
]


def refused_source(fields):
    return f"""#include <weir/trace.h>
extern int host_opcode;
#define HOST_EVENTS(EVENT, P) EVENT(P, Wrong, 1, 0, WEIR_LEVEL_INFO, 0, {", ".join(fields)})
WEIR_PROVIDER(Host, HOST_EVENTS)
"""


def language_of(compiler):
    return "cc" if "++" in pathlib.Path(compiler).name else "c"


def version_of(compiler):
    return subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout


def distinct(compilers):
    """Each compiler once: cc is another name of one in the list. The first word may be the name that gcc was called by."""
    return list({(language_of(compiler), version_of(compiler).split(maxsplit=1)[1]): compiler for compiler in compilers}.values())


def warnings(compiler):
    if "clang" in version_of(compiler):
        return CLANG
    return GCC + (GCC_C if language_of(compiler) == "c" else GCC_CXX)


def compile_one(compiler, standard, include, source, flags):
    command = [compiler, f"-std={standard}", "-pedantic", "-fsyntax-only", f"-I{include}", *flags, source]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def write_sources(folder, include, language):
    """Each header alone and twice, and a host that uses all."""
    folder.joinpath("letters.h").write_text("".join(f"#define {name} ) 7 (\n" for name in NAMES), encoding="utf-8")
    headers = {header.name for header in pathlib.Path(include, "weir").glob("*.h")} - {"disabled.h"} # the others include it
    sources = {header: f"#include <weir/{header}>\n" * 2 for header in headers}
    sources["host"] = "#include <weir/weir.h>\n" + HOST
    sources["plugin"] = "#define WEIR_PLUGIN\n#include <weir/weir.h>\n" + HOST + PLUGIN
    sources.update({f"disabled_{name}": f"#define WEIR_DISABLE\n{text}" for name, text in sources.items()})
    for name, text in sources.items():
        path = folder / f"{name}.{language}"
        path.write_text('#include "letters.h"\n' + text, encoding="utf-8")
        yield path


def failures_of(compiler, include):
    language = language_of(compiler)
    flags = warnings(compiler) + ["-Werror"]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        sources = list(write_sources(folder, include, language))
        for standard in STANDARDS[language]:
            for source in sources:
                run = compile_one(compiler, standard, include, source, flags)
                if run.returncode != 0:
                    yield f"{compiler} {standard} {source.name}:\n{run.stderr[:3000]}"
            yield from accepted_or_unclear(compiler, standard, include, folder / f"refused.{language}")


def accepted_or_unclear(compiler, standard, include, source):
    """Lists that must not compile, with and without WEIR_DISABLE."""
    for fields, expected in REFUSED:
        source.write_text(refused_source(fields), encoding="utf-8")
        for flags in ([], ["-DWEIR_DISABLE"]):
            run = compile_one(compiler, standard, include, source, flags)
            errors = re.findall(r"error: .*", run.stderr)
            if run.returncode == 0 or (expected and (len(errors) != 1 or expected not in errors[0])):
                yield f"{compiler} {standard} {flags}: {fields}: {run.stderr[:3000]}"


def check_canary(include, compiler):
    """A name of two letters that is no parameter must be found."""
    with tempfile.TemporaryDirectory() as name:
        copy = pathlib.Path(name, "weir")
        copy.mkdir()
        for header in pathlib.Path(include, "weir").glob("*.h"):
            text = header.read_text(encoding="utf-8").replace("uint16_t event_id;", "uint16_t id;")
            (copy / header.name).write_text(text, encoding="utf-8")
        return any(failures_of(compiler, name))


def main(include, compilers):
    compilers = distinct(compilers)
    found = list(itertools.chain.from_iterable(failures_of(compiler, include) for compiler in compilers))
    if not check_canary(include, compilers[0]):
        found.append("a struct with a member of two letters was not found")
    print("\n".join(found) or f"{len(compilers)} compilers, {len(NAMES)} macros: nothing found")
    return 1 if found else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2:]))
