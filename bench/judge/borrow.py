"""Modules of other folders of the checkout: what stress/ knows about runs of weir-stress, and tests/ about object code
and dotnet. All that the judge takes from there comes through here."""
import importlib
import os
import sys

from points import ROOT


def module(folder, name):
    """It finds its neighbours too; ours come first, so a name that both folders have is refused."""
    path = os.path.join(ROOT, folder)
    if path not in sys.path:
        sys.path.append(path)
    found = importlib.import_module(name)
    if os.path.realpath(found.__file__) != os.path.realpath(os.path.join(path, f"{name}.py")):
        raise ImportError(f"{folder}/{name}.py cannot be imported: {found.__file__} has the same name")
    return found


runs, matrix, compare = (module("stress", name) for name in ("runs", "matrix", "compare"))
