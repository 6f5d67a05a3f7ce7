/*
 * A log-linear histogram: values up to 2,047 exactly, larger ones in bins that are less than a
 * thousandth of their value wide, which keeps three significant digits over all 64 bits. Adding a
 * sample is a shift and an increment; the sum of two histograms is the histogram of all samples.
 *
 * One thread at a time per histogram.
 */
#ifndef STRESS_HISTOGRAM_H
#define STRESS_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

#define HISTOGRAM_BITS  10 /* 2^10 bins for each power of two */
#define HISTOGRAM_EXACT (UINT64_C(2) << HISTOGRAM_BITS)
#define HISTOGRAM_BINS  (HISTOGRAM_EXACT + ((UINT64_C(63) - HISTOGRAM_BITS) << HISTOGRAM_BITS))

/* A percentile with fewer samples above it is noise. */
#define HISTOGRAM_ABOVE_MIN 10

/* Zeroed memory is an empty histogram. From calloc, only the pages of used bins are resident. */
struct histogram {
    uint64_t count;
    uint64_t max;
    uint64_t least_bin, most_bin; /* the first and last that are not empty, if count is not 0 */
    double sum;
    uint64_t bins[HISTOGRAM_BINS];
};

/* NULL if there is no memory. Free it with free(). */
struct histogram *histogram_new(void);

void histogram_add(struct histogram *histogram, uint64_t value);
void histogram_merge(struct histogram *into, const struct histogram *from);

/* The sample of rank per_mille/1000, rounded up to the end of its bin but not above the largest
 * sample; false if fewer than HISTOGRAM_ABOVE_MIN samples are above that rank. */
bool histogram_percentile(const struct histogram *histogram, uint32_t per_mille, uint64_t *value);

/* The largest value that falls into a bin. */
uint64_t histogram_bin_end(uint64_t bin);

#endif
