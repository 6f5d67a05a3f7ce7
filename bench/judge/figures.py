"""Tables in documents that are made from an entry of results/, so that no figure there is typed.

    <!-- figures: short ID ... from results/ENTRY -->     a line each: what, Weir, the best peer, the bar
    <!-- figures: all from results/ENTRY -->              every claim, with what stands beside it
    <!-- end -->                                          after each

The entry's claims.json is what ./dev bench claims wrote.
"""
import os
import re

from bench.judge import claims_judge, points
from bench.judge.points import Invalid

REPORT = "claims.json"
ROWS_MAX = 8  # of a short table
BLOCK = re.compile(r"<!-- figures: (?P<kind>short|all)(?P<ids>(?: [a-z0-9-]+)*?) from (?P<entry>results/[A-Za-z0-9._-]+) -->"
                   r"(?P<made>.*?)<!-- end -->", re.S)
MARK = re.compile(r"<!-- (?:figures:|end -->)")


def documents(root):
    """The documents that may have tables, relative to the root; not those of an entry, nor what is built."""
    for folder, folders, names in os.walk(root):
        relative = os.path.relpath(folder, root)
        folders[:] = sorted(name for name in folders if name[0] != "." and name not in ("build", "out", "node_modules")
                            and relative != "results")
        yield from (os.path.normpath(os.path.join(relative, name)) for name in sorted(names) if name.endswith(".md"))


def read_report(root, entry, where):
    path = os.path.join(root, entry, REPORT)
    if not os.path.isfile(path):
        raise Invalid(f"{where}: {entry} has no {REPORT}; ./dev bench claims -o makes one")
    report = points.read_json(points.read_text(path), path)
    if not isinstance(report, dict) or report.get("v") != 2:
        raise Invalid(f"{path}: not what ./dev bench claims writes")
    if not report["is_complete"]:
        raise Invalid(f"{where}: {entry}/{REPORT} is of a partial run, which shows nothing")
    return report


def chosen(report, kind, ids, where):
    by_id = {result["id"]: result for result in report["claims"]}
    unknown = [name for name in ids if name not in by_id]
    if unknown:
        raise Invalid(f"{where}: there is no claim '{unknown[0]}' in its {REPORT}")
    if (kind == "short") != bool(ids) or len(ids) > ROWS_MAX:
        raise Invalid(f"{where}: 'short' takes the names of one to {ROWS_MAX} claims, 'all' takes none")
    return [by_id[name] for name in ids] or report["claims"]


def generated(root, file, kind, ids, entry):
    report = read_report(root, entry, file)
    try:
        rows = chosen(report, kind, ids, file)
        link = os.path.relpath(entry, os.path.dirname(file) or ".")
        yield from ("", *(claims_judge.short_table(rows) if kind == "short" else claims_judge.full_table(rows)), "")
        yield (f"Measured by `./dev bench claims` on {claims_judge.machine(report)}: [{entry}]({link}). Medians of the "
               "rounds, in brackets the least and the greatest.")
        if kind == "all":
            yield f"Calibration: {claims_judge.calibration_words(report)}. {claims_judge.summary(report)}."
        yield from [report["note"]] if report["note"] else []
        yield ""
    except (AttributeError, KeyError, TypeError) as error:
        raise Invalid(f"{entry}/{REPORT}: not what ./dev bench claims writes: {type(error).__name__} {error}") from None


def renewed(root, file, text, entry=None):
    """The text with its tables made anew, from `entry` if that is given."""
    def block(match):
        ids, source = match.group("ids").split(), entry or match.group("entry")
        words = " ".join([match.group("kind"), *ids])
        made = "\n".join(generated(root, file, match.group("kind"), ids, source))
        return f"<!-- figures: {words} from {source} -->{made}<!-- end -->"
    left = MARK.search(BLOCK.sub("", text))
    if left:
        raise Invalid(f"{file}: '{left.group()}' is not '<!-- figures: short ID ... from results/ENTRY -->', the same "
                      "with 'all', or the '<!-- end -->' of one")
    return BLOCK.sub(block, text)
