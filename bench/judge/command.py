"""What all commands do alike: reasons as one line, exit codes, progress on a terminal, a file that is whole or not
there."""
import argparse
import contextlib
import os
import re
import sys

from bench.judge import points
from bench.stress import runs  # how commands end, and what they show meanwhile

Progress = runs.Progress


class Usage(Exception):
    """The words of the command are off; it ends with exit code 2."""


def run(name, main):
    """Calls a command's main function, which returns its exit code; 1 with the reason, 2 for its words, 130 if
    interrupted."""
    def guarded():
        try:
            return main()
        except Usage as error:
            print(f"{name}: {error}\nTry ./dev bench {name} --help.", file=sys.stderr)
            return 2
        except points.Invalid as error:
            raise runs.Failed(str(error)) from error
        except OSError as error:
            raise runs.Failed(f"{error.filename or name}: {error.strerror or error}") from error
    runs.run_command(name, guarded)


def parser(name, text):
    """Of the command's words; the text is that of its --help."""
    return argparse.ArgumentParser(prog=f"./dev bench {name}", description=text,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)


def within(low, high):
    """For argparse: a number from low to high."""
    def number(text):
        value = float(text)
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"'{text}' is not from {low:g} to {high:g}")
        return value
    return number


def regular_expression(text):
    """For argparse."""
    try:
        re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"'{text}' is no regular expression: {error}") from error
    return text


def last_lines(text, count=1):
    """The end of what a program said, without empty lines."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return "\n".join(lines[-count:]).strip()


def write(path, text):
    """The whole file or the old one, also if we are interrupted; its folder is made."""
    folder = os.path.dirname(path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    part = f"{path}.part"
    try:
        with open(part, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.replace(part, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(part)
