/* The histogram of the stress programs against sorted samples. */
#include "unit.h"

#include <stdlib.h>
#include "histogram.h"

#define SAMPLES 100000u

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

static uint64_t samples[SAMPLES];

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static int order(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* Never below the sample, and less than a thousandth above it. */
static void assert_near(uint64_t value, uint64_t sample)
{
    assert_true(value >= sample);
    assert_true(value - sample <= sample / 1000);
}

static void check_against_sorted(const struct histogram *histogram, uint64_t *sorted, size_t count)
{
    static const uint32_t ranks[] = {1, 10, 250, 500, 900, 990, 999};
    qsort(sorted, count, sizeof *sorted, order);
    assert_int_equal(histogram->count, count);
    assert_int_equal(histogram->max, sorted[count - 1]);
    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++) {
        uint64_t value = 0;
        size_t rank = (count * ranks[i] + 999) / 1000;
        bool is_known = histogram_percentile(histogram, ranks[i], &value);
        assert_int_equal(is_known, count - rank >= HISTOGRAM_ABOVE_MIN);
        if (is_known)
            assert_near(value, sorted[rank - 1]);
    }
}

/* Each power of two gets equally many samples: short waits and long ones. */
static void samples_make(uint64_t seed, size_t count)
{
    for (size_t i = 0; i < count; i++)
        samples[i] = next(&seed) >> (seed & 63);
}

static void test_sorted(void **state)
{
    (void)state;
    for (size_t count = 1; count <= SAMPLES; count = count * 7 + 3) {
        struct histogram *histogram = histogram_new();
        samples_make(count, count);
        double sum = 0;
        for (size_t i = 0; i < count; i++) {
            histogram_add(histogram, samples[i]);
            sum += (double)samples[i];
        }
        assert_true(histogram->sum == sum);
        check_against_sorted(histogram, samples, count);
        free(histogram);
    }
}

static void test_merge(void **state)
{
    (void)state;
    struct histogram *parts[4], *all = histogram_new();
    samples_make(99, SAMPLES);
    for (size_t i = 0; i < 4; i++)
        parts[i] = histogram_new();
    for (size_t i = 0; i < SAMPLES; i++)
        histogram_add(parts[i % 3], samples[i]); /* the last one stays empty */
    for (size_t i = 0; i < 4; i++) {
        histogram_merge(all, parts[i]);
        free(parts[i]);
    }
    check_against_sorted(all, samples, SAMPLES);
    free(all);
}

static void test_extremes(void **state)
{
    (void)state;
    struct histogram *histogram = histogram_new();
    uint64_t value = 0;
    assert_false(histogram_percentile(histogram, 500, &value));
    for (unsigned i = 0; i < 20; i++)
        histogram_add(histogram, i < 10 ? 0 : UINT64_MAX);
    assert_true(histogram_percentile(histogram, 500, &value));
    assert_int_equal(value, 0);
    assert_false(histogram_percentile(histogram, 501, &value)); /* nine samples are above */
    assert_true(histogram->max == UINT64_MAX);
    assert_int_equal(histogram->bins[HISTOGRAM_BINS - 1], 10);
    histogram_add(histogram, 7);
    assert_true(histogram_percentile(histogram, 500, &value));
    assert_int_equal(value, 7);
    free(histogram);
}

/* Bins are contiguous, and a value is in the first bin whose end is not below it. */
static void test_bins(void **state)
{
    (void)state;
    assert_int_equal(histogram_bin_end(0), 0);
    assert_true(histogram_bin_end(HISTOGRAM_BINS - 1) == UINT64_MAX);
    for (uint64_t bin = 1; bin < HISTOGRAM_BINS; bin++) {
        uint64_t first = histogram_bin_end(bin - 1) + 1, last = histogram_bin_end(bin);
        assert_true(first <= last && (last - first) <= first / 1000);
        if (bin % 97 && bin < HISTOGRAM_BINS - 2)
            continue;
        struct histogram *histogram = histogram_new();
        histogram_add(histogram, first);
        histogram_add(histogram, last);
        assert_int_equal(histogram->bins[bin], 2);
        free(histogram);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sorted), cmocka_unit_test(test_merge),
                                       cmocka_unit_test(test_extremes),
                                       cmocka_unit_test(test_bins)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
