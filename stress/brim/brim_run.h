/*
 * One run of weir-stress or of a benchmark: its session, its producers, its checks, its result.
 */
#ifndef STRESS_BRIM_RUN_H
#define STRESS_BRIM_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include "brim_ceilings.h"
#include "brim_cpus.h"
#include "brim_options.h"
#include "brim_sampler.h"
#include "histogram.h"

enum brim_verified { BRIM_NOT_LOOKED, BRIM_VERIFIED, BRIM_NOT_VERIFIED };

/* Numbers that are not known are NAN. */
struct brim_result {
    const struct brim_options *options;
    uint64_t seed;
    struct brim_ceilings ceilings;
    double bound_events_per_s;

    struct weir_stats stats; /* after the stop */
    double seconds;          /* from the go until the last byte was taken */
    double cpu_seconds;      /* of the process in that time */
    struct histogram *waits;
    struct brim_fairness fairness;
    uint64_t starvation_ns;
    /* By producer, as emit returned: in OVERWRITE, some were overwritten later. */
    uint64_t written_least, written_median, written_most;
    double written_mean;
    double grant_bytes; /* mean */
    double park_law_ns;
    double wakes_per_segment;
    double sink_cost_ns; /* per event, as actually paid */
    double inversions;   /* waits that were granted before an older one */
    enum brim_verified verified;
    bool ended_early; /* the sink closed, or the file was full */
};

/* WEIR_OK, or why the run could not begin, with a sentence in `error`; WEIR_BAD_ARGUMENT is about
 * the options. Failed checks of a run that did begin are in hs_failures(). */
enum weir_result brim_run(const struct brim_options *options, const struct brim_cpus *cpus,
                          struct weir_event *event, uint64_t seed, struct brim_result *result,
                          struct weir_error *error);
void brim_result_free(struct brim_result *result);

/* Of the events written. */
double brim_events_per_s(const struct brim_result *result);
/* Processor time of the whole process, per event written. */
double brim_cpu_ns_per_event(const struct brim_result *result);
/* A percentile of the waits; NAN if too few samples are above it. */
double brim_park_ns(const struct brim_result *result, uint32_t per_mille);
uint64_t brim_lost(const struct weir_counts *counts);

#endif
