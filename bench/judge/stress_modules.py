"""What stress/ knows about runs of weir-stress, for use here: `runs`, `matrix` and `compare` of that folder."""
import importlib.util
import os

from command import runs  # makes the modules of stress/ importable
from points import ROOT

import matrix


def load(name):
    """By its path: a module of that name may stand in this folder too."""
    path = os.path.join(ROOT, "stress", f"{name}.py")
    specification = importlib.util.spec_from_file_location(f"stress_{name}", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


compare = load("compare")
__all__ = ["compare", "matrix", "runs"]
