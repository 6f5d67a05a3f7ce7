/*
 * Many threads flat out through a budget that is too small: every attempt is written or lost, and
 * the stream shows exactly which, where and why.
 */
#include <stdlib.h>
#include "emitter.h"
#include "harness.h"

static uint64_t threads = 8, events = 1000000, budget = 1u << 20;
static struct hs_trace trace;

static void *emit_all(void *argument)
{
    struct hs_emitter *emitter = argument;
    for (uint64_t i = 0; i < events; i++)
        hs_emit(emitter, HS_MIX);
    hs_emitter_settle(emitter, &trace);
    return NULL;
}

/* Every second event is refused although there is room, which puts far more loss marks into a
 * segment than the drain reports at a time. */
static void *emit_half_refused(void *argument)
{
    struct hs_emitter *emitter = argument;
    for (uint64_t i = 0; i < events / 100; i++)
        hs_emit(emitter, i & 1 ? HS_TOO_LARGE : HS_FIXED);
    hs_emitter_settle(emitter, &trace);
    return NULL;
}

static void *emit_stamped(void *argument)
{
    struct hs_emitter *emitter = argument;
    emitter->is_stamping = true;
    for (uint64_t i = 0; i < events / 10; i++)
        hs_emit(emitter, HS_MIX);
    hs_emitter_settle(emitter, &trace);
    return NULL;
}

static void *emit_in_activity(void *argument)
{
    struct hs_emitter *emitter = argument;
    hs_activity_begin();
    for (uint64_t i = 0; i < events / 10; i++)
        hs_emit(emitter, HS_FIXED);
    hs_activity_end();
    hs_emitter_settle(emitter, &trace);
    return NULL;
}

static void round_run(struct hs_emitter *emitters, void *(*body)(void *), enum hs_sink sink)
{
    pthread_t *handles = hs_allocate(threads * sizeof *handles);
    hs_emitters_reset(emitters, (uint32_t)threads);
    if (hs_trace_start(&trace, hs_trace_config(budget), sink, NULL)) {
        for (uint64_t i = 0; i < threads; i++)
            hs_thread_start(&handles[i], body, &emitters[i]);
        for (uint64_t i = 0; i < threads; i++)
            hs_thread_join(handles[i]);
        if (hs_trace_stop(&trace))
            hs_oracle_run(emitters, (uint32_t)threads, &trace);
    }
    hs_trace_end(&trace);
    free(handles);
}

int main(int argc, char **argv)
{
    const struct hs_option options[] = {{"threads", "that emit at once", &threads, NULL},
                                        {"events", "per thread", &events, NULL},
                                        {"budget", "bytes", &budget, NULL},
                                        {NULL, NULL, NULL, NULL}};
    hs_init(argc, argv, "Threads emit flat out; the stream must account for every attempt.",
            options);
    hs_emitters_init();
    struct hs_emitter *emitters = hs_emitters_new((uint32_t)threads, events);
    uint64_t rounds = 0;
    do {
        round_run(emitters, emit_all, rounds++ & 1 ? HS_SINK_MEMORY : HS_SINK_FILE);
        round_run(emitters, emit_half_refused, HS_SINK_MEMORY);
        round_run(emitters, emit_stamped, HS_SINK_MEMORY);
        round_run(emitters, emit_in_activity, HS_SINK_MEMORY);
    } while (hs_time_is_left() && hs_failures() == 0);
    hs_emitters_free(emitters, (uint32_t)threads);
    hs_figure("rounds", (double)rounds);
    return hs_finish();
}
