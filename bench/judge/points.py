"""Points of history: one metric of one benchmark at one commit, one line of JSON. results/schema.json is the rule.

Everything that is read is validated, whoever wrote it: a history that holds one bad line draws a wrong graph.
"""
import datetime
import functools
import json
import os

import jsonschema

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCHEMA = os.path.join(ROOT, "results", "schema.json")
HISTORY = os.path.join(ROOT, "results", "history")

FILE_BYTES_MAX = 32 << 20
DATE = "%Y-%m-%dT%H:%M:%SZ"


class Invalid(Exception):
    """What is wrong, and where; for a person."""


@functools.lru_cache(maxsize=None)
def validator(kind):
    """Of one of the definitions of the schema."""
    with open(SCHEMA, encoding="utf-8") as file:
        schema = json.load(file)
    return jsonschema.Draft202012Validator({**schema, "$ref": f"#/$defs/{kind}"})


def validate(kind, value, where):
    """`kind`: one of the schema's definitions, such as point or report."""
    errors = sorted(validator(kind).iter_errors(value), key=lambda error: list(map(str, error.path)))
    for error in errors[:1]:
        field = "/".join(str(part) for part in error.absolute_path)
        raise Invalid(f"{where}: {field + ': ' if field else ''}{error.message[:300]}")
    if kind == "point":
        check_date(value["date"], where)
    return value


def check_date(text, where):
    """The schema's pattern takes the 39th of a 13th month."""
    try:
        datetime.datetime.strptime(text, DATE)
    except ValueError as error:
        raise Invalid(f"{where}: date: there is no '{text}'") from error


def refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def read_json(text, where):
    """Python's reader takes NaN and Infinity, which are no JSON."""
    try:
        return json.loads(text, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        raise Invalid(f"{where}: {error}") from error


def rounded(value):
    """Nine digits, which is more than any clock here is worth."""
    if isinstance(value, dict):
        return {name: rounded(part) for name, part in value.items()}
    if isinstance(value, list):
        return [rounded(part) for part in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def compact(value, width=1000):
    """JSON for a person and for git: whatever fits into a line is one line."""
    def lines(value, indent):
        one = json.dumps(value)
        if len(one) + indent <= width or not isinstance(value, (dict, list)) or not value:
            return one
        is_object = isinstance(value, dict)
        parts = [json.dumps(name) + ": " + lines(part, indent + 1) for name, part in value.items()] if is_object else \
            [lines(part, indent + 1) for part in value]
        inner = ",\n".join(" " * (indent + 1) + part for part in parts)
        return ("{\n%s\n%s}" if is_object else "[\n%s\n%s]") % (inner, " " * indent)
    return lines(rounded(value), 0) + "\n"


def read_text(path):
    """The whole of a file that somebody else may have written: not larger than the limit, and UTF-8."""
    try:
        with open(path, "rb") as file:
            content = file.read(FILE_BYTES_MAX + 1)
        if len(content) > FILE_BYTES_MAX:
            raise Invalid(f"{path}: larger than {FILE_BYTES_MAX} bytes")
        return content.decode("utf-8")
    except OSError as error:
        raise Invalid(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Invalid(f"{path}: not UTF-8: {error.reason} at byte {error.start}") from error


def read(path):
    """The points of a file of history, in its order."""
    lines = [(f"{path}:{number}", line) for number, line in enumerate(read_text(path).split("\n"), 1)]
    return [validate("point", read_json(line, where), where) for where, line in lines if line.strip()]


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime(DATE)


def make(environment, *, commit, suite, bench, metric, unit, better, value, tool, lo=None, hi=None, n=1, cal_ns=None,
         date=None, state=""):
    """A valid point, or Invalid."""
    point = {"v": 1, "commit": commit, "date": date or now(), "suite": suite, "bench": bench, "metric": metric,
             "unit": unit, "better": better, "value": value, "lo": lo, "hi": hi, "n": n,
             "runner": environment["runner"], "cpu": environment["cpu"], "kernel": environment["kernel"],
             "compiler": environment["compiler"], "cal_ns": cal_ns, "tool": tool, **({"state": state} if state else {})}
    point.update((name, environment[name]) for name in ("load", "clock_source", "governor") if name in environment)
    return validate("point", point, f"{bench} {metric}")
