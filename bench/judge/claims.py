"""The claims of bench/claims/: what README, docs and the architecture page say about speed, as data.

schema.json there says what each file looks like; what a schema cannot say (names that are used twice, or that nothing
has) is checked here. Nothing in this file measures.
"""
import itertools
import json
import os
import string

import jsonschema

import claims_quantity
import points
from points import Invalid

FOLDER = os.path.join(points.ROOT, "bench", "claims")
SAMPLES, NO_CLAIMS, SCHEMA = "samples.json", "no_claims.json", "schema.json"
ROUNDS_DEFAULT = 5
TIME_UNITS = ("ns", "us", "ms", "s")


class Unavailable(Exception):
    """Why there is no such figure on this machine."""


def validate(kind, value, where):
    """By bench/claims/schema.json; the message is about the innermost thing that is wrong."""
    validator = points.validator(kind, os.path.join(FOLDER, SCHEMA))
    error = jsonschema.exceptions.best_match(validator.iter_errors(value))
    if error:
        raise points.told(error, where)
    return value


def place_of(path):
    return os.path.relpath(path, points.ROOT) if path.startswith(points.ROOT + os.sep) else path


def read(path, kind):
    return validate(kind, points.read_json(points.read_text(path), place_of(path)), place_of(path))


# --- A sample in a cell of a claim's grid. -------------------------------------------------------------------


def bound(value, cell, where):
    """With each $name of a text replaced by the cell's value."""
    if isinstance(value, dict):
        return {name: bound(part, cell, where) for name, part in value.items()}
    if not isinstance(value, str):
        return value
    try:
        return string.Template(value).substitute(cell)
    except (KeyError, ValueError) as error:
        raise Invalid(f"{where}: '{value}': there is no {error} in the grid of the claim") from None


def key_of(sample):
    """What tells a sample with its grid's values from another."""
    return json.dumps(sample, sort_keys=True)


def rounds_wanted(sample):
    return sample.get("rounds", ROUNDS_DEFAULT)


def cells_of(claim):
    """The grid's cells; one without names if there is no grid."""
    grid = claim.get("each", {})
    cells = [dict(zip(grid, values)) for values in itertools.product(*grid.values())]
    left_out = lambda cell: any(without.items() <= cell.items() for without in claim.get("but", []))
    return [cell for cell in cells if not left_out(cell)]


# --- All of them. --------------------------------------------------------------------------------------------


class Book:
    """The claims, the samples and calibrations that they use, and the words that claim nothing."""

    def __init__(self, claims, samples, calibrations, no_claims=()):
        self.claims, self.samples, self.calibrations, self.no_claims = claims, samples, calibrations, list(no_claims)

    def sample(self, name, cell, where):
        return bound(self.samples[name], cell, f"{where}: sample '{name}'")

    def quantities_of(self, claim):
        """Those of the claim itself, without what its bar is scaled by."""
        yield claim["measure"]
        if "when" in claim:
            yield claim["when"]["measure"]
        yield from (one["measure"] for one in claim.get("beside", []))

    def samples_of(self, claim, cell):
        """The samples that the claim needs in that cell, each once, in the order in which it names them."""
        names = claims_quantity.sample_names(self.quantities_of(claim))
        return [self.sample(name, cell, claim["id"]) for name in names]

    def calibration_samples(self):
        names = claims_quantity.sample_names(one["measure"] for one in self.calibrations.values())
        return [self.sample(name, {}, "calibration") for name in names]

    def check(self, where):
        seen = set()
        for name, one in self.calibrations.items():
            claims_quantity.check(one["measure"], self.samples, f"calibration {name}")
        self.calibration_samples()
        for claim in self.claims:
            if claim["id"] in seen:
                raise Invalid(f"{where}: two claims are called '{claim['id']}'")
            seen.add(claim["id"])
            if claim["state"] == "built":
                self.check_claim(claim, f"claim {claim['id']}")
        self.check_use(where)
        return self

    def check_claim(self, claim, where):
        for quantity in self.quantities_of(claim):
            claims_quantity.check(quantity, self.samples, where)
        if not claims_quantity.leaves(claim["measure"]):
            raise Invalid(f"{where}: nothing is measured")
        cells = cells_of(claim)
        if not cells:
            raise Invalid(f"{where}: no cell of its grid is left")
        for cell in cells:
            self.samples_of(claim, cell)
        scale = claim["bar"].get("scaled_by")
        if not scale:
            return
        if scale["calibration"] not in self.calibrations:
            raise Invalid(f"{where}: there is no calibration '{scale['calibration']}'")
        if claim["unit"] not in TIME_UNITS and not claim["unit"].endswith("/s"):
            raise Invalid(f"{where}: only a time or a rate can be scaled, not '{claim['unit']}'")

    def check_use(self, where):
        built = [claim for claim in self.claims if claim["state"] == "built"]
        quantities = [one["measure"] for one in self.calibrations.values()]
        quantities += [quantity for claim in built for quantity in self.quantities_of(claim)]
        unused = sorted(set(self.samples) - set(claims_quantity.sample_names(quantities)))
        if unused:
            raise Invalid(f"{where}: no claim uses the sample '{unused[0]}'")


def load(folder=FOLDER):
    """All of a folder, checked."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json"))
    except OSError as error:
        raise Invalid(f"{folder}: {error.strerror}") from None
    samples = read(os.path.join(folder, SAMPLES), "samples_file")
    no_claims = read(os.path.join(folder, NO_CLAIMS), "no_claims_file")["no_claims"]
    files = [name for name in names if name not in (SAMPLES, NO_CLAIMS, SCHEMA)]
    found = [claim for name in files for claim in read(os.path.join(folder, name), "claims_file")["claims"]]
    return Book(found, samples["samples"], samples["calibrations"], no_claims).check(place_of(folder))
