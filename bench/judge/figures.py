"""Blocks of README and docs that are made from an entry of results/, so that no figure there is typed.

    <!-- figures: claims-table [ID ...] from results/ENTRY -->     a table of these claims, or of all
    <!-- figures: value ID from results/ENTRY -->                  what one claim measured, within a line
    <!-- figures: verdicts from results/ENTRY -->                  "12 met, 1 missed", within a line
    <!-- end -->                                                   after each

The entry's claims.json is what ./dev bench claims wrote.
"""
import os
import re
from typing import NamedTuple

import claims
import claims_text
import points
from points import Invalid

REPORT = "claims.json"
BEGIN = re.compile(r"<!-- figures:(?P<words>[^\n]*?)-->")
MARK = re.compile(r"<!-- (?:figures:[^\n]*?|end )-->")
END = "<!-- end -->"
WORDS = re.compile(r"\s*(?P<kind>claims-table|value|verdicts)(?P<ids>(?: [a-z0-9-]+)*?) "
                   r"from (?P<entry>results/[A-Za-z0-9._-]+)\s*")


class Block(NamedTuple):
    kind: str
    ids: list
    entry: str
    start: int  # of what is generated
    end: int
    mark: int  # where the first marker begins
    where: str


# --- Finding blocks. -----------------------------------------------------------------------------------------


def blocks_of(text, file):
    """The blocks of a file; Invalid with the line of a marker that makes no sense."""
    opened = None
    for match in MARK.finditer(text):
        where = f"{file}:{text.count(chr(10), 0, match.start()) + 1}"
        if match.group() == END:
            if opened is None:
                raise Invalid(f"{where}: '{END}' ends nothing; '<!-- figures: ... -->' belongs before it")
            yield opened._replace(end=match.start())
            opened = None
            continue
        if opened:
            raise Invalid(f"{opened.where}: the block is not ended by '{END}' before the next begins")
        opened = begin(match, where)
    if opened:
        raise Invalid(f"{opened.where}: the block is not ended by '{END}'")


def begin(match, where):
    words = WORDS.fullmatch(BEGIN.fullmatch(match.group()).group("words"))
    if not words:
        raise Invalid(f"{where}: '{match.group()}' is not 'claims-table [ID ...]', 'value ID' or 'verdicts', "
                      "and 'from results/ENTRY'")
    ids = words.group("ids").split()
    if words.group("kind") != "claims-table" and len(ids) != (words.group("kind") == "value"):
        raise Invalid(f"{where}: 'value' takes the name of one claim, 'verdicts' none")
    return Block(words.group("kind"), ids, words.group("entry"), match.end(), match.end(), match.start(), where)


# --- What belongs into one. ----------------------------------------------------------------------------------


def read_report(root, entry, where):
    path = os.path.join(root, entry, REPORT)
    if not os.path.isfile(path):
        raise Invalid(f"{where}: {entry} has no {REPORT}; ./dev bench claims -o makes one")
    report = claims.validate("report", points.read_json(points.read_text(path), path), path)
    if not report["is_complete"] or report["is_quick"]:
        kind = "quick" if report["is_quick"] else "partial"
        raise Invalid(f"{where}: {entry}/{REPORT} is of a {kind} run, which shows nothing")
    return report


def chosen(report, block):
    by_id = {result["id"]: result for result in report["claims"]}
    for name in block.ids:
        if name not in by_id:
            raise Invalid(f"{block.where}: there is no claim '{name}' in {block.entry}/{REPORT}")
    return [by_id[name] for name in block.ids] or report["claims"]


def table(report, block, file):
    link = os.path.relpath(block.entry, os.path.dirname(file) or ".")
    yield from ("", *claims_text.markdown(report, chosen(report, block)), "")
    yield f"Measured by `./dev bench claims` on {claims_text.machine(report)}: [{block.entry}]({link})."
    calibrations = claims_text.calibration_words(report).capitalize()
    yield f"{calibrations}. Medians of the rounds, in brackets the least and the greatest."
    if report["note"]:
        yield report["note"]
    yield ""


def generated(root, block, file):
    report = read_report(root, block.entry, block.where)
    if block.kind == "claims-table":
        return "\n".join(table(report, block, file))
    if block.kind == "verdicts":
        return claims_text.summary(report)
    result = chosen(report, block)[0]
    if not result["cells"] or all(cell["measured"] is None for cell in result["cells"]):
        raise Invalid(f"{block.where}: {block.entry}/{REPORT} has no figure of '{result['id']}'")
    return claims_text.measured_words(result)


# --- Files. --------------------------------------------------------------------------------------------------


def renewed(root, file, text, entry=None):
    """The text with its blocks made anew, from `entry` if that is given."""
    parts, at = [], 0
    for block in blocks_of(text, file):
        block = block._replace(entry=entry or block.entry)
        words = " ".join([block.kind, *block.ids])
        parts += [text[at:block.mark], f"<!-- figures: {words} from {block.entry} -->", generated(root, block, file)]
        at = block.end
    return "".join([*parts, text[at:]])
