#include "histogram.h"

#include <stdlib.h>

#define PER_POWER (UINT64_C(1) << HISTOGRAM_BITS)

struct histogram *histogram_new(void)
{
    return calloc(1, sizeof(struct histogram));
}

/* From HISTOGRAM_EXACT on, a value is known by its highest bit and the HISTOGRAM_BITS below it. */
static uint64_t bin_of(uint64_t value)
{
    if (value < HISTOGRAM_EXACT)
        return value;
    unsigned shift = 63u - (unsigned)__builtin_clzll(value) - HISTOGRAM_BITS;
    return HISTOGRAM_EXACT + (shift - 1) * PER_POWER + ((value >> shift) - PER_POWER);
}

uint64_t histogram_bin_end(uint64_t bin)
{
    if (bin < HISTOGRAM_EXACT)
        return bin;
    uint64_t shift = (bin - HISTOGRAM_EXACT) / PER_POWER + 1;
    uint64_t highest = PER_POWER + (bin - HISTOGRAM_EXACT) % PER_POWER;
    return (highest << shift) + (UINT64_C(1) << shift) - 1;
}

static void widen(struct histogram *histogram, uint64_t least, uint64_t most)
{
    if (histogram->count == 0 || least < histogram->least_bin)
        histogram->least_bin = least;
    if (histogram->count == 0 || most > histogram->most_bin)
        histogram->most_bin = most;
}

void histogram_add(struct histogram *histogram, uint64_t value)
{
    uint64_t bin = bin_of(value);
    widen(histogram, bin, bin);
    histogram->bins[bin]++;
    histogram->count++;
    histogram->sum += (double)value;
    if (value > histogram->max)
        histogram->max = value;
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
    if (from->count == 0)
        return;
    widen(into, from->least_bin, from->most_bin);
    for (uint64_t bin = from->least_bin; bin <= from->most_bin; bin++)
        into->bins[bin] += from->bins[bin];
    into->count += from->count;
    into->sum += from->sum;
    if (from->max > into->max)
        into->max = from->max;
}

bool histogram_percentile(const struct histogram *histogram, uint32_t per_mille, uint64_t *value)
{
    uint64_t rank =
        (histogram->count / 1000) * per_mille + (histogram->count % 1000 * per_mille + 999) / 1000;
    if (histogram->count - rank < HISTOGRAM_ABOVE_MIN)
        return false;
    uint64_t bin = histogram->least_bin, seen = histogram->bins[bin];
    while (seen < rank)
        seen += histogram->bins[++bin];
    uint64_t end = histogram_bin_end(bin);
    *value = end < histogram->max ? end : histogram->max;
    return true;
}
