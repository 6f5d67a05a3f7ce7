"""git, as all commands ask it: where, and what; what it says, or one reason."""
import subprocess

from bench.judge import command
from bench.judge.command import runs


def done(root, *arguments):
    """How it ended, whatever it says."""
    try:
        return subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True, check=False)
    except OSError as error:
        raise runs.Failed(f"git: {error.strerror}") from error


def git(root, *arguments):
    """What it prints, without the end of the line."""
    ended = done(root, *arguments)
    if ended.returncode != 0:
        raise runs.Failed(f"git {' '.join(arguments)}: {command.last_lines(ended.stderr, 3)}")
    return ended.stdout.strip()
