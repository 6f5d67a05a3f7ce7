"""Headers of a version to come: each public struct that may grow has grown, and there is one more cause of losses,
which lanes count. With --table only the table of functions for plug-ins has grown.

usage: grow.py CORE_DIRECTORY OUTPUT_DIRECTORY [--table]
"""
import re
import sys
from pathlib import Path

# Grow at the end; those with counts, which stay last, in front of them.
TABLE = ("weir_functions",)
AT_END = (*TABLE, "weir_session_config", "weir_park", "weir_park_hooks", "weir_thread_table", "weir_schema", "weir_field",
          "weir_object", "weir_enum", "weir_enum_value", "weir_event", "weir_provider_declaration", "weir_value", "weir_server_config",
          "weir_server_info")
BEFORE_COUNTS = ("weir_stats", "weir_thread_stats")


def once(pattern, replacement, text):
    grown, count = re.subn(pattern, replacement, text, flags=re.S)
    if count != 1:
        sys.exit(f"grow.py: {pattern}: {count} places")
    return grown


def grow_at_end(text, names):
    for name in names:
        if f"struct {name} {{" in text:
            text = once(rf"(struct {name} \{{.*?)\n\}};", r"\1\n    uint64_t grown[2];\n};", text)
    return text


def grow(text):
    if "enum weir_loss {" in text:
        text = once(r"    WEIR_LOSS_COUNT\n", "    WEIR_LOSS_OF_LATER,\n    WEIR_LOSS_COUNT\n", text)
    text = grow_at_end(text, AT_END)
    for name in BEFORE_COUNTS:
        if f"struct {name} {{" in text:
            text = once(rf"(struct {name} \{{.*?)(    struct weir_counts counts;)", r"\1    uint64_t grown[2];\n\2", text)
            if name == "weir_stats":
                text = once(r"\{0, 0, \{0\}\}", "{0, 0}, {0, 0, {0}}", text)
    return text


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main(core, output, is_table):
    for header in Path(core, "include/weir").glob("*.h"):
        text = header.read_text(encoding="utf-8")
        write(Path(output, "weir", header.name), grow_at_end(text, TABLE) if is_table else grow(text))
    if is_table:
        return
    causes = Path(core, "lane/loss.h").read_text(encoding="utf-8")
    write(Path(output, "lane/loss.h"), once(r"(\n    (?:LANE|OTHER)\(\w+\))\n\n", r"\1 LANE(OF_LATER)\n\n", causes))


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[3:] not in ([], ["--table"]):
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], len(sys.argv) > 3)
