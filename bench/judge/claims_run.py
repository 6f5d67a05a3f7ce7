"""Taking the samples of claims: each once a round, rounds interleaved, within a time."""
import time

import claims
import claims_judge
from points import Invalid
from borrow import matrix, runs

QUICK_ROUNDS = 1
QUICK_SAMPLE_S = 5  # what takes longer has no place in a quick run


def needs_of(book, chosen):
    """The samples that are needed, as one list for the calibrations' each and one for each cell of each claim."""
    yield from ([sample] for sample in book.calibration_samples())
    for claim in chosen:
        if claim["state"] == "built":
            yield from (book.samples_of(claim, cell) for cell in claims.cells_of(claim))


def groups_of(needs):
    """Keys in groups that are taken next to each other: those that one claim compares in one cell, and with them
    whatever shares one of them."""
    groups = []
    for keys in ([claims.key_of(sample) for sample in samples] for samples in needs):
        shared = [group for group in groups if any(key in group for key in keys)]
        joined = list(dict.fromkeys([key for group in shared for key in group] + keys))
        groups = [group for group in groups if group not in shared] + [joined]
    return groups


class Plan:
    """What is to be taken, how often, and how long that may take."""

    def __init__(self, book, chosen, sources, is_quick=False):
        needs = list(needs_of(book, chosen))
        self.samples = {claims.key_of(sample): sample for samples in needs for sample in samples}
        self.groups, self.sources = groups_of(needs), sources
        self.is_quick = is_quick
        self.too_long = {key: f"takes {self.takes(key):.0f} s, too long for --quick" for key in self.samples
                         if is_quick and self.takes(key) > QUICK_SAMPLE_S}

    def source(self, key):
        return self.sources[self.samples[key]["source"]]

    def takes(self, key):
        return self.source(key).takes(self.samples[key])

    def rounds(self, key):
        wanted = claims.rounds_wanted(self.samples[key])
        return min(wanted, QUICK_ROUNDS) if self.is_quick else wanted

    def taken(self):
        return [key for key in self.samples if key not in self.too_long]

    def seconds(self):
        return sum(self.rounds(key) * self.takes(key) for key in self.taken())

    def prepare(self):
        for name, source in self.sources.items():
            source.prepare([self.samples[key] for key in self.taken() if self.samples[key]["source"] == name])

    def settings(self):
        """What sources found out before the first round."""
        return {name: value for source in self.sources.values() for name, value in source.settings().items()}

    def close(self):
        for source in self.sources.values():
            source.close()

    def order(self, index):
        """The keys of a round, groups shuffled and another member of each first every time."""
        keys = matrix.order(self.groups, index, 1)
        return [key for key in keys if key not in self.too_long and self.rounds(key) > index]


class Run:
    """The rounds of a plan. `is_complete` turns false if not all of them were taken."""

    def __init__(self, plan, seconds_max, clock=time.monotonic, progress=None):
        self.plan, self.seconds_max, self.clock = plan, seconds_max, clock
        self.progress = progress or runs.Progress()
        self.measured, self.spent = claims_judge.Measured(), {}
        self.is_complete, self.why, self.was_interrupted = True, "", False
        self.started = clock()

    def left(self):
        return self.seconds_max - (self.clock() - self.started)

    def expected(self, keys):
        """Seconds that a round takes, as the last one told."""
        return sum(self.spent.get(key, self.plan.takes(key)) for key in keys)

    def take(self, key, index):
        started, sample = self.clock(), self.plan.samples[key]
        try:
            self.measured.add(key, self.plan.source(key).take(sample, index + 1))
        except claims.Unavailable as error:
            self.measured.skipped[key] = str(error)
        except (runs.Failed, Invalid, OSError) as error:
            self.measured.failed[key] = " ".join(str(error).split())
        self.spent[key] = self.clock() - started

    def end_early(self, why):
        """What has no figure yet is skipped; what has some keeps them."""
        self.is_complete, self.why = False, why
        for key in self.plan.taken():
            if self.measured.count(key) == 0 and key not in self.measured.failed and key not in self.measured.skipped:
                self.measured.skipped[key] = why

    def round(self, index, last):
        """False if the time is over."""
        given_up = self.measured.skipped | self.measured.failed
        keys = [key for key in self.plan.order(index) if key not in given_up]
        if index and self.expected(keys) > self.left():
            return False
        for number, key in enumerate(keys):
            if self.left() <= 0:
                return False
            self.progress.show(f"round {index + 1} of {last}: {number} of {len(keys)} runs, "
                               f"at most {runs.duration(self.left())} left")
            self.take(key, index)
        return True

    def rounds(self):
        self.measured.skipped |= self.plan.too_long
        last = max((self.plan.rounds(key) for key in self.plan.taken()), default=0)
        for index in range(last):
            if not self.round(index, last):
                self.end_early(f"the time was over in round {index + 1} of {last}")
                return

    def run(self):
        try:
            self.rounds()
        except (KeyboardInterrupt, SystemExit):
            self.was_interrupted = True
            self.end_early("interrupted")
        finally:
            self.progress.end()
        return self.measured
