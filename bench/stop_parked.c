#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "gate.h"
#include "session.h"
#include "sessions.h"
#include "timing.h"

#define BUDGET_BYTES   (UINT64_C(1) << 20)
#define BATCH_EVENTS   64u
#define PARK_LOOKS_MAX 60000 /* a minute: processors may be busy with others */
#define STILL_LOOKS    50
#define NS_PER_MS      1000000

struct crowd {
    struct gate gate;
    uint32_t must_end; /* ANY, relaxed */
    uint32_t left;     /* ANY: producers that have not ended */
};

struct producer {
    pthread_t thread;
    struct crowd *crowd;
    uint64_t written; /* after it has ended */
};

static bool take(void *context, const void *bytes, size_t count)
{
    (void)bytes;
    gate_pass(context, count);
    return true;
}

/* The last producer to end releases the drain: earlier, the drain could give room to one that
 * waits. */
static void *produce(void *argument)
{
    struct producer *producer = argument;
    struct crowd *crowd = producer->crowd;
    while (!__atomic_load_n(&crowd->must_end, __ATOMIC_RELAXED))
        producer->written += bench_emit_32(BATCH_EVENTS);
    if (__atomic_sub_fetch(&crowd->left, 1, __ATOMIC_ACQ_REL) == 0)
        gate_open(&crowd->gate);
    return NULL;
}

static void producers_start(struct producer *producers, uint32_t count, struct crowd *crowd)
{
    crowd->left = count;
    for (uint32_t i = 0; i < count; i++) {
        producers[i] = (struct producer){.crowd = crowd};
        if (pthread_create(&producers[i].thread, NULL, produce, &producers[i]) == 0)
            continue;
        fprintf(stderr, "weir-bench: a thread cannot be started\n");
        exit(1);
    }
}

/* A thread with a new grant is counted as parked until it runs, so the counts must stay unchanged for a
 * while. */
static bool wait_until_parked(struct weir_session *session, uint32_t count)
{
    const struct timespec millisecond = {.tv_nsec = NS_PER_MS};
    uint64_t parks = 0, parked_ns = 0;
    int still = 0;
    for (int look = 0; look < PARK_LOOKS_MAX && still < STILL_LOOKS; look++) {
        struct weir_stats stats = WEIR_STATS_INIT;
        nanosleep(&millisecond, NULL);
        bool is_still = weir_session_stats(session, &stats) == WEIR_OK &&
                        stats.parked_now == count && stats.parks == parks &&
                        stats.parked_ns == parked_ns;
        still = is_still ? still + 1 : 0;
        parks = stats.parks;
        parked_ns = stats.parked_ns;
    }
    return still == STILL_LOOKS;
}

/* Producers that the stop wakes continue to the end of their batch, whose events no session has
 * enabled any more: each has lost only the event that it waited with. */
static bool all_were_aborted(const struct weir_stats *stats, const struct producer *producers,
                             uint32_t count)
{
    struct bench_emitted emitted = {.attempted = count};
    for (uint32_t i = 0; i < count; i++)
        emitted.written += producers[i].written;
    emitted.attempted += emitted.written;
    return stats->parked_now == 0 && stats->counts.lost[WEIR_LOSS_ABORTED] == count &&
           bench_is_accounted_for(stats, emitted);
}

static double stop_timed_s(struct weir_session *session, struct crowd *crowd,
                           struct producer *producers, uint32_t count, bool *is_whole)
{
    struct weir_stats stats = WEIR_STATS_INIT;
    double start_s = bench_now_s(CLOCK_MONOTONIC);
    __atomic_store_n(&crowd->must_end, 1, __ATOMIC_RELAXED);
    *is_whole = weir_session_stop(session, NULL) == WEIR_OK;
    for (uint32_t i = 0; i < count; i++)
        pthread_join(producers[i].thread, NULL);
    double seconds = bench_now_s(CLOCK_MONOTONIC) - start_s;
    *is_whole &= weir_session_stats(session, &stats) == WEIR_OK &&
                 all_were_aborted(&stats, producers, count);
    return seconds;
}

double bench_stop_parked_s(uint32_t count)
{
    struct crowd crowd = {.must_end = 0};
    gate_init(&crowd.gate);
    struct producer *producers = calloc(count, sizeof *producers);
    struct weir_session_config config = WEIR_SESSION_CONFIG_INIT;
    config.mode = WEIR_MODE_BLOCK;
    config.sink.write = take;
    config.sink.context = &crowd.gate;
    config.budget_bytes = BUDGET_BYTES;
    if (!producers) {
        fprintf(stderr, "weir-bench: no memory for threads\n");
        exit(1);
    }
    struct weir_session *session = bench_session_start(&config); /* the drain writes its header */
    gate_close(&crowd.gate);
    producers_start(producers, count, &crowd);
    bool is_whole, are_parked = wait_until_parked(session, count);
    double seconds = stop_timed_s(session, &crowd, producers, count, &is_whole);
    weir_session_destroy(session);
    gate_fini(&crowd.gate);
    free(producers);
    return are_parked && is_whole ? seconds : 0;
}
