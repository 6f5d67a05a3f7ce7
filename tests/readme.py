"""The program of the README, and how to build it."""
import pathlib
import re

TEXT = pathlib.Path(__file__).parents[1].joinpath("README.md").read_text(encoding="utf-8")
PROGRAM = re.search(r"```c\n((?:#include <.*>\n)*#include <weir/weir\.h>\n.*?)```", TEXT, re.S).group(1)
COMMAND = re.search(r"^cc app\.c (.*?) -o app && \./app$", TEXT, re.M).group(1)
EVENTS = [("MyVM", "GCStart", 1000)]


def ways(row):
    """The code in the row of that name in the table of build systems."""
    return re.findall(r"`(.*?)`", re.search(rf"^\| {re.escape(row)} \| (.*) \|$", TEXT, re.M).group(1))
