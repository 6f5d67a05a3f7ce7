/*
 * Whole sessions, from the first event to the last byte, each of which is one measurement. All end
 * the program with a message if a session, a thread or memory cannot be had.
 */
#ifndef BENCH_SESSIONS_H
#define BENCH_SESSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Producers flat out, mode BLOCK, the default budget, into a tmpfs: after each producer has gone
 * once around the budget, so that its pages are there, and all of that is written.
 */
struct bench_sustained {
    double wall_s;                  /* from the first event to the last byte */
    double producer_s;              /* processor time of the producer that took longest */
    uint64_t events, bytes, pieces; /* warm ones too */
    uint64_t lost;
    bool is_whole; /* all that was emitted is accounted for */
};
struct bench_sustained bench_sustain(uint32_t producers, uint64_t events_each);

/* A stream that the library wrote to memory, of so many threads. To be freed with free(). */
struct bench_recording {
    void *bytes;
    size_t count;
    uint64_t events; /* of ours; others introduce threads and tell of losses */
};
struct bench_recording bench_record(bench_kernel kernel, uint32_t threads, uint64_t events_each);

/*
 * Threads that live for one to five events, one after the other, in mode BLOCK, and as many that
 * emit nothing. Memory is looked at before there is a session, after the first tenth of the
 * threads, after the last, and when the session is gone.
 */
struct bench_lives {
    double traced_ns, plain_ns; /* of a thread, by the wall, its start and its end included */
    int64_t growth_bytes;       /* of resident memory, from the first tenth to the last thread */
    int64_t left_bytes;         /* of it, from before the session to after */
    uint64_t events, lost;
    bool is_whole; /* each thread and each event accounted for */
};
struct bench_lives bench_lives_run(uint32_t threads);

/*
 * A stop that finds all producers parked, in mode BLOCK with a sink that stands still until the
 * stop has sent the last of them away. Seconds until the stop has returned and all producers have
 * ended; 0 if not each of them was sent away, or what they emitted is not accounted for.
 */
double bench_stop_parked_s(uint32_t producers);

#ifdef __cplusplus
}
#endif
#endif
