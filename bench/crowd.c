#include "crowd.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "timing.h"

struct member {
    struct bench_crowd *crowd;
    pthread_barrier_t *barrier;
    pthread_t thread;
    uint64_t written;
    double cpu_s;
};

static void *run(void *argument)
{
    struct member *member = argument;
    uint64_t written, warm = member->crowd->kernel(member->crowd->warm_events);
    pthread_barrier_wait(member->barrier); /* warm */
    pthread_barrier_wait(member->barrier); /* go */
    member->cpu_s = bench_timed_s(member->crowd->kernel, member->crowd->events, &written);
    member->written = warm + written;
    return NULL;
}

static void start(struct member *member)
{
    if (pthread_create(&member->thread, NULL, run, member) == 0)
        return;
    fprintf(stderr, "weir-bench: a thread cannot be started\n");
    exit(1);
}

static void end(struct bench_crowd *crowd, struct member *member)
{
    pthread_join(member->thread, NULL);
    crowd->written += member->written;
    if (member->cpu_s > crowd->cpu_s)
        crowd->cpu_s = member->cpu_s;
}

void bench_crowd_run(struct bench_crowd *crowd)
{
    pthread_barrier_t barrier;
    struct member *members = calloc(crowd->threads, sizeof *members);
    if (!members || pthread_barrier_init(&barrier, NULL, crowd->threads + 1) != 0) {
        fprintf(stderr, "weir-bench: no memory for threads\n");
        exit(1);
    }
    crowd->written = 0;
    crowd->cpu_s = 0;
    for (uint32_t i = 0; i < crowd->threads; i++) {
        members[i] = (struct member){.crowd = crowd, .barrier = &barrier};
        start(&members[i]);
    }
    pthread_barrier_wait(&barrier);
    if (crowd->when_warm)
        crowd->when_warm(crowd->context);
    crowd->start_s = bench_now_s(CLOCK_MONOTONIC);
    pthread_barrier_wait(&barrier);
    for (uint32_t i = 0; i < crowd->threads; i++)
        end(crowd, &members[i]);
    pthread_barrier_destroy(&barrier);
    free(members);
}
