/*
 * The producers: threads that emit at the same time, at a rate or flat out, and each one's record.
 *
 *     create -> all threads are ready -> go -> each emits and ends -> release: they exit
 *
 * A producer that has ended stays until the release, so that the session still has its thread's
 * statistics.
 */
#ifndef STRESS_BRIM_CROWD_H
#define STRESS_BRIM_CROWD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <weir/session.h>
#include "brim_kernel.h"
#include "brim_options.h"
#include "histogram.h"

struct brim_order;

struct brim_producer {
    struct brim_emitter emitter;
    struct brim_crowd *crowd;
    pthread_t thread;
    uint64_t thread_id;  /* the system's */
    uint32_t is_resting; /* ANY, relaxed: nothing is due */
    uint32_t has_ended;  /* ANY, relaxed */

    /* Waits for room; on separate cache lines, because each wait writes them. */
    _Alignas(128) struct histogram *waits;
    char padding[120];
};

struct brim_crowd {
    /* CONST */
    const struct brim_options *options;
    struct brim_producer *producers;
    uint32_t count;
    uint32_t batch;           /* events between two checks of `must_end` */
    uint64_t work_steps;      /* of a thread between two of its events */
    struct brim_order *order; /* NULL: not checked */
    uint64_t start_ns;        /* of all producers, before the first event */

    uint32_t must_end; /* ANY, relaxed */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t ready, ended;  /* LOCK */
    bool may_go, may_leave; /* LOCK */
};

/* Starts the threads, which then wait. NULL if there is no memory or a thread cannot be started. */
struct brim_crowd *brim_crowd_new(const struct brim_options *options, struct weir_event *event,
                                  uint64_t seed, struct brim_order *order);
void brim_crowd_go(struct brim_crowd *crowd);
/* Asks them to end after their current batch. Any thread. */
void brim_crowd_end(struct brim_crowd *crowd);
/* Waits up to `ns`; true if all have ended. */
bool brim_crowd_wait(struct brim_crowd *crowd, uint64_t ns);
/* Lets them exit, and joins them. */
void brim_crowd_release(struct brim_crowd *crowd);
/* The same, but before they were started: none of them emits. */
void brim_crowd_dismiss(struct brim_crowd *crowd);
void brim_crowd_free(struct brim_crowd *crowd);

/* For on_park, which runs on the thread that waited: one of these producers. */
void brim_crowd_on_park(void *unused, const struct weir_park *park);

/* Sums the waits of all producers. After the release. */
void brim_crowd_waits(const struct brim_crowd *crowd, struct histogram *all);

static inline bool brim_producer_has_ended(const struct brim_producer *producer)
{
    return __atomic_load_n(&producer->has_ended, __ATOMIC_RELAXED) != 0;
}

static inline bool brim_producer_is_resting(const struct brim_producer *producer)
{
    return __atomic_load_n(&producer->is_resting, __ATOMIC_RELAXED) != 0;
}

#endif
