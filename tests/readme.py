"""The programs of the README, and how to build them."""
import pathlib
import re

TEXT = pathlib.Path(__file__).parents[1].joinpath("README.md").read_text(encoding="utf-8")
TEN_LINES, PROGRAM = (re.search(rf"```c\n(#include[^`]*\b{function}\([^`]*)```", TEXT).group(1)
                      for function in ("weir_configure", "weir_session_create"))
COMMAND = re.search(r"^cc app\.c (.*?) -o app && \./app$", TEXT, re.M).group(1)
EVENTS = [("MyVM", "GCStart", 1000)]


def ways(row):
    """The code in the row of that name in the table of build systems."""
    return re.findall(r"`(.*?)`", re.search(rf"^\| {re.escape(row)} \| (.*) \|$", TEXT, re.M).group(1))
