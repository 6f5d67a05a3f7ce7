#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "session.h"
#include "sessions.h"
#include "timing.h"

#define EVENTS_MAX    5u
#define BUDGET_BYTES  (UINT64_C(1) << 20)
#define RESIDENT_WORD "/proc/self/statm"

struct life {
    uint64_t events;
    uint64_t written; /* after it has ended */
};

static bool discard(void *context, const void *bytes, size_t count)
{
    (void)context;
    (void)bytes;
    (void)count;
    return true;
}

static void *live(void *argument)
{
    struct life *life = argument;
    life->written = bench_emit_32(life->events);
    return NULL;
}

static struct bench_emitted lives_run(uint32_t threads, bool are_traced)
{
    struct bench_emitted emitted = {0, 0};
    for (uint32_t i = 0; i < threads; i++) {
        struct life life = {.events = are_traced ? 1 + i % EVENTS_MAX : 0};
        pthread_t thread;
        if (pthread_create(&thread, NULL, live, &life) != 0) {
            fprintf(stderr, "weir-bench: a thread cannot be started\n");
            exit(1);
        }
        pthread_join(thread, NULL);
        emitted.attempted += life.events;
        emitted.written += life.written;
    }
    return emitted;
}

static int64_t resident_bytes(void)
{
    long long total = 0, resident = 0;
    FILE *file = fopen(RESIDENT_WORD, "re");
    if (!file || fscanf(file, "%lld %lld", &total, &resident) != 2) {
        fprintf(stderr, "weir-bench: %s cannot be read\n", RESIDENT_WORD);
        exit(1);
    }
    fclose(file);
    return resident * sysconf(_SC_PAGESIZE);
}

struct bench_lives bench_lives_run(uint32_t threads)
{
    struct weir_session_config config = WEIR_SESSION_CONFIG_INIT;
    config.mode = WEIR_MODE_BLOCK;
    config.sink.write = discard;
    config.budget_bytes = BUDGET_BYTES;
    config.flush_ms = 20;
    uint32_t warm = threads / 10, rest = threads - warm;
    struct bench_lives result = {.is_whole = false};
    lives_run(warm, false); /* memory that any thread takes, such as the C library's stacks */
    int64_t without_session = resident_bytes();
    struct weir_session *session = bench_session_start(&config);
    struct weir_stats stats;
    struct bench_emitted first = lives_run(warm, true);
    int64_t before = resident_bytes();
    double start_s = bench_now_s(CLOCK_MONOTONIC);
    struct bench_emitted emitted = lives_run(rest, true);
    double between_s = bench_now_s(CLOCK_MONOTONIC);
    result.growth_bytes = resident_bytes() - before;
    emitted.attempted += first.attempted;
    emitted.written += first.written;
    result.is_whole = bench_session_stop(session, emitted, &stats);
    result.is_whole &= stats.threads_seen == threads;
    result.events = emitted.attempted;
    result.lost = bench_lost(&stats);
    weir_session_destroy(session);
    result.left_bytes = resident_bytes() - without_session;
    double plain_s = bench_now_s(CLOCK_MONOTONIC);
    lives_run(rest, false);
    result.plain_ns = (bench_now_s(CLOCK_MONOTONIC) - plain_s) * 1e9 / rest;
    result.traced_ns = (between_s - start_s) * 1e9 / rest;
    return result;
}
