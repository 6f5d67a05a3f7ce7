/*
 * Whole sessions, from the first event to the last byte; each is one measurement. All functions end
 * the program with a message if they cannot get a session, a thread or memory.
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
 * Producers flat out in mode BLOCK, with the default budget, into a tmpfs. Measured after each
 * producer has filled the budget once, so that its pages are resident, and all of that is written.
 */
struct bench_sustained {
    double wall_s;                  /* from the first event to the last byte */
    double producer_s;              /* processor time of the producer that took longest */
    uint64_t events, bytes, pieces; /* including the warm-up */
    uint64_t lost;
    bool is_whole; /* all emitted events are accounted for */
};
struct bench_sustained bench_sustain(uint32_t producers, uint64_t events_each);

/* A stream that the library wrote to memory, from that many threads. Free it with free(). */
struct bench_recording {
    void *bytes;
    size_t count;
    uint64_t events; /* ours; others introduce threads and report losses */
};
struct bench_recording bench_record(bench_kernel kernel, uint32_t threads, uint64_t events_each);

/*
 * Threads that live for one to five events, one after the other, in mode BLOCK, and as many that
 * emit nothing. Resident memory is read before the session is created, after the first tenth of the
 * threads, after the last, and after the session is destroyed.
 */
struct bench_lives {
    double traced_ns, plain_ns; /* wall time per thread, including its start and its end */
    int64_t growth_bytes;       /* of resident memory, from the first tenth to the last thread */
    int64_t left_bytes;         /* from before the session to after it */
    uint64_t events, lost;
    bool is_whole; /* each thread and each event accounted for */
};
struct bench_lives bench_lives_run(uint32_t threads);

/* Each call in the life of a session with the default configuration, a sink that discards, and one
 * event. */
struct bench_calls {
    double create_s, start_s, stop_s, destroy_s;
    bool is_whole; /* the event was written */
};
struct bench_calls bench_calls_run(void);

/*
 * A stop while all producers are parked, in mode BLOCK, with a sink that stands still until the
 * stop has ended the last wait. Returns the seconds until the stop has returned and all producers
 * have ended; 0 if the stop did not end every producer's wait, or their events are not accounted
 * for.
 */
double bench_stop_parked_s(uint32_t producers);

#ifdef __cplusplus
}
#endif
#endif
