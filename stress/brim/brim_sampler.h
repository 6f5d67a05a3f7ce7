/*
 * A thread that looks at the producers' counts every few milliseconds: how evenly they come on, and
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

    /* The sampler's until it has ended. A row is a time and the events written by each producer;
     * rows end when the first producer does. */
    uint64_t *rows;
    size_t count, capacity;
    uint64_t *written, *since_ns;          /* last seen, and since when; by producer */
    uint64_t written_seen, attempted_seen; /* of all */
    uint64_t standstill_ns_max;
};

/* Jain's index, (sum of x)^2 / (n * sum of x^2), of what the producers wrote: 1 if all wrote the
 * same, 1/n if one wrote everything. */
struct brim_fairness {
    double median, least; /* over windows; NAN if there is none */
    double window_ms;
    size_t windows;
};

/* To be called before the producers go. False if there is no memory or no thread;
 * brim_sampler_free() is due in any case. */
bool brim_sampler_start(struct brim_sampler *sampler, const struct brim_crowd *crowd);
void brim_sampler_stop(struct brim_sampler *sampler);
void brim_sampler_free(struct brim_sampler *sampler);

/* After the stop. Windows are the longer of 100 ms (10 ms in runs under two seconds) and what it
 * takes until each producer has had 20 of `grants`; a run that is shorter has none. */
struct brim_fairness brim_sampler_fairness(const struct brim_sampler *sampler, double grants);

#endif
