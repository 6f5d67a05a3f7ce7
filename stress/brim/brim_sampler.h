/*
 * A thread that samples the producers' counts every few milliseconds: how evenly they progress, and
 * whether one stands still.
 */
#ifndef STRESS_BRIM_SAMPLER_H
#define STRESS_BRIM_SAMPLER_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include "brim_crowd.h"

struct brim_sampler {
    const struct brim_crowd *crowd;
    pthread_t thread;
    uint32_t must_end; /* ANY, relaxed */
    uint64_t period_ns;

    /* Owned by the sampler until it has ended. A row is a time and the events written by each
     * producer; rows end when the first producer does. */
    uint64_t *rows;
    size_t count, capacity;
    uint64_t *written, *since_ns;          /* last seen, and since when; by producer */
    uint64_t written_seen, attempted_seen; /* by all producers */
    uint64_t standstill_ns_max;
};

/* Jain's index, (sum of x)^2 / (n * sum of x^2), of what the producers wrote: 1 if all wrote the
 * same, 1/n if one wrote everything. */
struct brim_fairness {
    double median, least; /* over windows; NAN if there is none */
    double window_ms;
    size_t windows;
};

/* Call before the producers start. False if there is no memory or no thread; call
 * brim_sampler_free() in any case. */
bool brim_sampler_start(struct brim_sampler *sampler, const struct brim_crowd *crowd);
void brim_sampler_stop(struct brim_sampler *sampler);
void brim_sampler_free(struct brim_sampler *sampler);

/* After the stop. A window is the longer of 100 ms (10 ms in runs under 0.4 s) and the time
 * in which each producer gets 20 of `grants`. A shorter run has no window. */
struct brim_fairness brim_sampler_fairness(const struct brim_sampler *sampler, double grants);

#endif
