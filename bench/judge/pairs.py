"""Statistics of paired samples: Hodges-Lehmann's estimate with its interval, Wilcoxon's signed-rank test, Holm's
correction.

The samples are logarithms of ratios, so what comes out of a pair is a ratio. Nothing is assumed of the noise but that
it is as often for the one as for the other: no normal distribution, and a quarter of the pairs may be anything at all.
"""
import math

import numpy
from scipy import stats

CONFIDENCE = 0.95


def walsh_averages(samples):
    """Of each pair of samples, and of each with itself, in order."""
    samples = numpy.asarray(samples, dtype=float)
    first, second = numpy.triu_indices(len(samples))
    return numpy.sort((samples[first] + samples[second]) / 2)


def hodges_lehmann(samples):
    """(estimate, low, high): the median of the Walsh averages, and what Wilcoxon's test would not refuse."""
    averages = walsh_averages(samples)
    count = len(samples)
    spread = math.sqrt(count * (count + 1) * (2 * count + 1) / 24)
    outside = math.floor(len(averages) / 2 - stats.norm.ppf((1 + CONFIDENCE) / 2) * spread - 0.5)
    outside = min(max(outside, 0), (len(averages) - 1) // 2)
    return float(numpy.median(averages)), float(averages[outside]), float(averages[-1 - outside])


def p_value(samples):
    """Of the samples' being as often above zero as below, by as much."""
    samples = numpy.asarray(samples, dtype=float)
    if not numpy.any(samples):
        return 1.0
    return float(stats.wilcoxon(samples, zero_method="zsplit").pvalue)


def least_pairs(tests, below):
    """How many pairs the rarest outcome of so many tests needs, all of them the one way, for holm() to leave it below.
    An even number: there are two in a round."""
    count = 2
    while tests * 2 / 2 ** count >= below:
        count += 2
    return count


def holm(p_values):
    """Corrected for there being several: each as large as it must be for all of them to hold."""
    order, count = numpy.argsort(p_values), len(p_values)
    corrected = numpy.empty(count)
    corrected[order] = numpy.maximum.accumulate(numpy.arange(count, 0, -1) * numpy.take(p_values, order))
    return numpy.minimum(corrected, 1.0).tolist()
