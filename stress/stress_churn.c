/*
 * Threads that live for one to five events: each is accounted for, and what they leave behind is
 * reused, so resident memory does not grow.
 */
#include <stdlib.h>
#include "emitter.h"
#include "harness.h"

#define GROUP        10u
#define WARM_THREADS 1000u
#define BUDGET_BYTES (1u << 20)
/* How much of the budget the first threads touch depends on the speed of the drain; the rest may be
 * touched later. If lanes were not reused, they would take seven megabytes. */
#define GROWTH_MAX (BUDGET_BYTES + (1u << 20))
#define EVENTS_MAX 5u

static uint64_t threads = 10000, flush_ms = 20;
static struct hs_trace trace;

static void *emit_few(void *argument)
{
    struct hs_emitter *emitter = argument;
    uint64_t random = hs_random(77, emitter->index);
    for (uint64_t i = 0; i < 1 + random % EVENTS_MAX; i++)
        hs_emit(emitter, random >> 8 & 1 ? HS_TEXT : HS_FIXED);
    hs_emitter_settle(emitter, &trace);
    return NULL;
}

static void group_run(struct hs_emitter *emitters, uint32_t count)
{
    pthread_t handles[GROUP];
    for (uint32_t i = 0; i < count; i++)
        hs_thread_start(&handles[i], emit_few, &emitters[i]);
    for (uint32_t i = 0; i < count; i++)
        hs_thread_join(handles[i]);
}

/* Runs the first half one after the other, then the rest in groups. Returns how much memory grew
 * since the warm-up, which includes some groups. */
static int64_t threads_run(struct hs_emitter *emitters, uint32_t count)
{
    uint32_t at = 0;
    for (; at < WARM_THREADS && at + GROUP <= count; at += GROUP)
        group_run(emitters + at, GROUP);
    hs_sleep_us(2 * flush_ms * 1000);
    uint64_t before = hs_resident_bytes();
    for (; at < count / 2; at++)
        group_run(emitters + at, 1);
    for (; at < count; at += GROUP)
        group_run(emitters + at, count - at < GROUP ? count - at : GROUP);
    return (int64_t)(hs_resident_bytes() - before);
}

static void round_run(struct hs_emitter *emitters, uint32_t count)
{
    struct weir_session_config config = hs_trace_config(BUDGET_BYTES);
    config.flush_ms = (uint32_t)flush_ms;
    hs_emitters_reset(emitters, count);
    if (hs_trace_start(&trace, config, HS_SINK_FILE, NULL)) {
        int64_t growth = threads_run(emitters, count);
        if (hs_trace_stop(&trace))
            hs_oracle_run(emitters, count, &trace);
        hs_check(trace.stats.threads_seen == count, "%llu threads seen",
                 (unsigned long long)trace.stats.threads_seen);
#ifndef STRESS_SANITIZED
        /* A sanitizer keeps freed memory, and the shadow of threads that have exited. */
        hs_check(growth <= GROWTH_MAX, "resident memory grew by %lld bytes", (long long)growth);
#endif
        hs_figure("growth_bytes", (double)growth);
        hs_figure("reserved_bytes", (double)trace.stats.reserved_bytes);
    }
    hs_trace_end(&trace);
}

int main(int argc, char **argv)
{
    const struct hs_option options[] = {
        {"threads", "that come and go", &threads, NULL},
        {"flush-ms", "flush interval of the session", &flush_ms, NULL},
        {NULL, NULL, NULL, NULL}};
    hs_init(argc, argv, "Short-lived threads: all accounted for, memory bounded.", options);
    hs_emitters_init();
    struct hs_emitter *emitters = hs_emitters_new((uint32_t)threads, EVENTS_MAX);
    do {
        round_run(emitters, (uint32_t)threads);
    } while (hs_time_is_left() && hs_failures() == 0);
    hs_emitters_free(emitters, (uint32_t)threads);
    return hs_finish();
}
