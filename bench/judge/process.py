"""Other programs, as all commands call them: what they print, or one reason."""
import shlex
import subprocess

from bench.judge.command import last_lines, runs
from bench.judge.points import ROOT


def call(words, seconds=None, **where):
    """How it ended, and what it printed. It does not outlive this call."""
    try:
        return subprocess.run(words, capture_output=True, text=True, errors="replace", check=False, timeout=seconds, **where)
    except OSError as error:
        raise runs.Failed(f"{words[0]}: {error.strerror}") from error
    except subprocess.TimeoutExpired:
        raise runs.Failed(f"{words[0]}: not done in {seconds:g} s: {shlex.join(words)}") from None


def output(words, seconds=None, good=(0,), lines=3, **where):
    """What it prints; runs.Failed with the last lines of what it says if it does not end well."""
    done = call(words, seconds, **where)
    if done.returncode not in good:
        said = last_lines(done.stderr, lines) or last_lines(done.stdout, lines) or "it says nothing"
        raise runs.Failed(f"exit code {done.returncode}: {shlex.join(words)}: {said}")
    return done.stdout


def git(*arguments, root=None):
    """What it prints, without the end of the line."""
    return output(["git", "-C", root or ROOT, *arguments]).strip()
