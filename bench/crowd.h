/*
 * Threads that run a loop at the same time: each warms up, all wait for each other, and then each
 * runs its count.
 */
#ifndef BENCH_CROWD_H
#define BENCH_CROWD_H

#include "kernel.h"

struct bench_crowd {
    bench_kernel kernel;
    uint32_t threads;
    uint64_t warm_events, events; /* of each thread */
    /* Called on the calling thread when all are warm, before they continue; may be NULL. */
    void (*when_warm)(void *context);
    void *context;

    /* Out: */
    uint64_t written; /* events of all threads, warm ones too */
    double start_s;   /* CLOCK_MONOTONIC, when they continued */
    double cpu_s;     /* processor time after that, of the slowest thread */
};

/* Returns when all have ended. Ends the program with a message if a thread cannot be started. */
void bench_crowd_run(struct bench_crowd *crowd);

#endif
