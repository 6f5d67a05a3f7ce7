"""abi.py notices what is planted in a copy of the recorded ABI, and tells a break from an addition.

The copy is the earlier ABI: what is taken from it has been added since, what is put into it has been removed.
"""
import pathlib
import re
import shutil
import sys
import tempfile

import abi

BREAK, ADDITION = "This breaks hosts", "not recorded yet"


def functions(text, of, to):
    """The exported functions of that name, of all released versions, by another one."""
    return re.sub(rf"\b{of}\b", to, text)


def without_last_member(text, struct):
    """The struct as it was before its last member came, with the size it had then."""
    start = text.index(f"<class-decl name='{struct}' size-in-bits=")
    end = text.index("</class-decl>", start)
    body = text[start:end]
    offset = re.findall(r"layout-offset-in-bits='(\d+)'", body)[-1]
    body = body[:body.rindex("<data-member")]
    body = re.sub(r"size-in-bits='\d+'", f"size-in-bits='{offset}'", body, count=1)
    return text[:start] + body + text[end:]


def swapped_members(text, struct):
    """The struct with its second and third member in the other order."""
    start = text.index(f"<class-decl name='{struct}' size-in-bits=")
    end = text.index("</class-decl>", start)
    names = re.findall(r"var-decl name='(\w+)'", text[start:end])[1:3]
    turned = dict(zip(names, reversed(names)))
    body = re.sub(r"(?<=var-decl name=')\w+", lambda name: turned.get(name.group(), name.group()), text[start:end])
    return text[:start] + body + text[end:]


def retyped_member(text, struct):
    """The struct with a second member of the first one's type."""
    start = text.index(f"<class-decl name='{struct}' size-in-bits=")
    end = text.index("</class-decl>", start)
    first, second = re.findall(r"type-id='\w+'", text[start:end])[:2]
    return text[:start] + text[start:end].replace(second, first, 1) + text[end:]


def renumbered(text, enumerator):
    return re.sub(rf"(<enumerator name='{enumerator}' value=')\d+", r"\g<1>70", text)


# What has happened since, the ABI before it, and what is to be said.
CASES = [
    ("nothing", lambda text: text, None),
    ("a function is added", lambda text: without_function(text, "weir_version"), ADDITION),
    ("a function is removed", lambda text: functions(text, "weir_version", "weir_older_version"), BREAK),
    ("a function has another version", lambda text: text.replace("version='WEIR_0.3'", "version='WEIR_0.1'"), BREAK),
    ("a function returns another type", lambda text: returns_as(text, "weir_version_number", "weir_version"), BREAK),
    ("the configuration has grown", lambda text: without_last_member(text, "weir_session_config"), ADDITION),
    ("an error has grown", lambda text: without_last_member(text, "weir_error"), BREAK),
    ("the configuration has another order", lambda text: swapped_members(text, "weir_session_config"), BREAK),
    ("the configuration has another order, and has grown",
     lambda text: swapped_members(without_last_member(text, "weir_session_config"), "weir_session_config"), BREAK),
    ("a member of a field has another type", lambda text: retyped_member(text, "weir_field"), BREAK),
    ("a cause of loss has another number", lambda text: renumbered(before_loss(text), "WEIR_LOSS_FULL"), BREAK),
    ("a cause of loss is added", lambda text: before_loss(text), ADDITION),
    ("a mode has another number", lambda text: renumbered(text, "WEIR_MODE_BLOCK"), BREAK),
    ("the library has another SONAME", lambda text: text.replace("soname='libweir.so.0'", "soname='libweir.so.9'"), ADDITION),
]


def without_function(text, name):
    text = re.sub(rf"    <elf-symbol name='{name}' .*\n", "", text)
    return re.sub(rf"    <function-decl name='{name}' .*?</function-decl>\n", "", text, flags=re.S)


def returns_as(text, name, other):
    pattern = r"(<function-decl name='{}' .*?<return type-id=')(\w+)"
    kind = re.search(pattern.format(other), text, re.S).group(2)
    return re.sub(pattern.format(name), rf"\g<1>{kind}", text, count=1, flags=re.S)


def before_loss(text):
    """The last cause of loss is not there yet."""
    name, value = re.findall(r"<enumerator name='(WEIR_LOSS_\w+)' value='(\d+)'", text)[-2]
    text = re.sub(rf" *<enumerator name='{name}' .*\n", "", text)
    return re.sub(r"(<enumerator name='WEIR_LOSS_COUNT' value=')\d+", rf"\g<1>{value}", text)


def main():
    if not shutil.which("abidiff"):
        print("skipped: abidiff is not installed (Debian: abigail-tools)")
        sys.exit(abi.SKIPPED)
    recorded = abi.RECORD.read_text(encoding="utf-8")
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        old = pathlib.Path(folder, "old.abi")
        for what, plant, expected in CASES:
            planted = plant(recorded)
            old.write_text(planted, encoding="utf-8")
            said = abi.check(old, abi.RECORD)
            is_right = expected in said if expected else said == ""
            if not is_right or (planted == recorded) != (expected is None):
                wrong.append(f"{what}: expected '{expected}', and abi.py says:\n{said}")
    sys.exit("\n".join(wrong) or 0)


if __name__ == "__main__":
    main()
