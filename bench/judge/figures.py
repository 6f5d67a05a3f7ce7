"""Blocks of README and docs that are made from an entry of results/, so that no figure there is typed.

    <!-- figures: claims-table [ID ...] from results/ENTRY -->     a table of these claims, or of all
    <!-- figures: value ID from results/ENTRY -->                  what one claim measured, within a line
    <!-- figures: verdicts from results/ENTRY -->                  "12 met, 1 missed", within a line
    <!-- figures: peers-table [CASE ...] from results/ENTRY -->    tables of peers: burst, sustained, flood, or all
    <!-- end -->                                                   after each

The entry's claims.json is what ./dev bench claims wrote, its peers.json what ./dev bench peers wrote.
"""
import os
import re
from typing import NamedTuple

import claims
import claims_text
import entries
import peers
import points
from borrow import runs
from points import Invalid

REPORT, PEERS = "claims.json", "peers.json"
BEGIN = re.compile(r"<!-- figures:(?P<words>[^\n]*?)-->")
MARK = re.compile(r"<!-- (?:figures:[^\n]*?|end )-->")
END = "<!-- end -->"
WORDS = re.compile(r"\s*(?P<kind>claims-table|peers-table|value|verdicts)(?P<ids>(?: [a-z0-9-]+)*?) "
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
        raise Invalid(f"{where}: '{match.group()}' is not 'claims-table [ID ...]', 'peers-table [CASE ...]', 'value ID' or "
                      "'verdicts', and 'from results/ENTRY'")
    ids = words.group("ids").split()
    if not words.group("kind").endswith("-table") and len(ids) != (words.group("kind") == "value"):
        raise Invalid(f"{where}: 'value' takes the name of one claim, 'verdicts' none")
    return Block(words.group("kind"), ids, words.group("entry"), match.end(), match.end(), match.start(), where)


# --- What belongs into one. ----------------------------------------------------------------------------------


def read_json(root, entry, name, where):
    path = os.path.join(root, entry, name)
    if not os.path.isfile(path):
        raise Invalid(f"{where}: {entry} has no {name}; ./dev bench {name.partition('.')[0]} -o makes one")
    return points.read_json(points.read_text(path), path), path


def read_report(root, entry, where):
    report = claims.validate("report", *read_json(root, entry, REPORT, where))
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


def source(command, report, block, file):
    link = os.path.relpath(block.entry, os.path.dirname(file) or ".")
    return f"Measured by `./dev bench {command}` on {claims_text.machine(report)}: [{block.entry}]({link})."


def table(report, block, file):
    yield from ("", *claims_text.markdown(report, chosen(report, block)), "")
    yield source("claims", report, block, file)
    calibrations = claims_text.calibration_words(report).capitalize()
    yield f"{calibrations}. Medians of the rounds, in brackets the least and the greatest."
    if report["note"]:
        yield report["note"]
    yield ""


def peers_tables(report, block, file):
    """A table for each case and number of threads. A peer that was missing or failed stands below with its reason."""
    groups = runs.group(report["rows"], lambda row: (row["case"], row["threads"]))
    for name in block.ids:
        if name not in {case for case, _ in groups}:
            raise Invalid(f"{block.where}: there is no case '{name}' in {block.entry}/{PEERS}")
    yield ""
    for (case, threads), rows in groups.items():
        if block.ids and case not in block.ids:
            continue
        yield from (f"{case}, threads {threads}, budget {runs.size(rows[0]['budget_bytes'])}", "")
        there = [[entries.cell(words) for words in peers.cells(row)] for row in rows if row["rounds"]]
        yield from entries.table(peers.HEAD, there)
        reasons = [f"{row['name']}: {row['skipped'] or row['failed']}" for row in rows if not row["rounds"]]
        yield from ["", entries.cell(f"Not measured: {'; '.join(reasons)}.")] if reasons else []
        yield ""
    rounds = {row["rounds"] for row in report["rows"] if row["rounds"]}
    yield source("peers", report, block, file) + f" Medians of {min(rounds, default=0)} rounds (least..greatest)."
    yield ""


def generated_of_peers(root, block, file):
    report, path = read_json(root, block.entry, PEERS, block.where)
    try:
        return "\n".join(peers_tables(report, block, file))
    except (AttributeError, KeyError, TypeError) as error:
        raise Invalid(f"{path}: not what ./dev bench peers writes: {type(error).__name__} {error}") from None


def generated(root, block, file):
    if block.kind == "peers-table":
        return generated_of_peers(root, block, file)
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
