/*
 * Threads that run a loop at once: each warms up, all wait, and then each does its count.
 */
#ifndef BENCH_CROWD_H
#define BENCH_CROWD_H

#include "kernel.h"

struct bench_crowd {
    bench_kernel kernel;
    uint32_t threads;
    uint64_t warm_events, events; /* of each thread */
    /* Once all are warm and before they go on, on the calling thread; NULL: nothing. */
    void (*when_warm)(void *context);
    void *context;

    /* Out: */
    uint64_t written; /* events of all threads, warm ones too */
    double start_s;   /* CLOCK_MONOTONIC, when they went on */
    double cpu_s;     /* of the threads after that, the longest */
};

/* Returns when all have ended. Ends the program with a message if a thread cannot be started. */
void bench_crowd_run(struct bench_crowd *crowd);

#endif
