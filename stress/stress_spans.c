/*
 * Threads that emit records larger than a segment between ordinary ones, through budgets that hold
 * only a few such records. Each record is in the stream whole, under its number, or counted as
 * lost.
 */
#include <stdlib.h>
#include "emitter.h"
#include "harness.h"

#define SEGMENT_BYTES 4096u

static uint64_t threads = 6, events = 10000, budget;
static struct hs_trace trace;

/* One large record in `every` events, and a pause after each loss for one thread in two, so that
 * some records find room. */
static void *emit_all(void *argument)
{
    struct hs_emitter *emitter = argument;
    uint64_t every = UINT64_C(1) << emitter->index % 6; /* 1: only large records */
    for (uint64_t i = 0; i < events; i++)
        if (!hs_emit(emitter, i % every == 0 ? HS_LARGE : HS_MIX) && emitter->index & 1)
            hs_sleep_us(20);
    hs_emitter_settle(emitter, &trace);
    return NULL;
}

static void round_run(struct hs_emitter *emitters, uint64_t segments, enum hs_sink sink)
{
    pthread_t *handles = hs_allocate(threads * sizeof *handles);
    struct weir_session_config config = hs_trace_config(segments * SEGMENT_BYTES);
    uint64_t large = 0;
    config.segment_bytes = SEGMENT_BYTES;
    hs_emitters_reset(emitters, (uint32_t)threads);
    for (uint64_t i = 0; i < threads; i++)
        emitters[i].large_max = hs_large_max(config.budget_bytes, SEGMENT_BYTES);
    if (hs_trace_start(&trace, config, sink, NULL)) {
        for (uint64_t i = 0; i < threads; i++)
            hs_thread_start(&handles[i], emit_all, &emitters[i]);
        for (uint64_t i = 0; i < threads; i++)
            hs_thread_join(handles[i]);
        if (hs_trace_stop(&trace))
            hs_oracle_run(emitters, (uint32_t)threads, &trace);
    }
    for (uint64_t i = 0; i < threads; i++)
        large += emitters[i].large;
    hs_check(large > 0, "with %llu segments no large record was written",
             (unsigned long long)segments);
    hs_figure_add("large", (double)large);
    hs_trace_end(&trace);
    free(handles);
}

int main(int argc, char **argv)
{
    const struct hs_option options[] = {
        {"threads", "that emit at once", &threads, NULL},
        {"events", "per thread", &events, NULL},
        {"budget", "in segments of 4 KiB; 0: 4, 32 and 1,024 in turn", &budget, NULL},
        {NULL, NULL, NULL, NULL}};
    static const uint64_t budgets[] = {4, 32, 1024};
    hs_init(argc, argv, "Records larger than a segment: the stream must hold each one whole.",
            options);
    hs_emitters_init();
    struct hs_emitter *emitters = hs_emitters_new((uint32_t)threads, events);
    for (uint64_t i = 0; i < threads; i++)
        emitters[i].scratch = hs_allocate(HS_SCRATCH_BYTES);
    uint64_t rounds = 0;
    do {
        for (uint32_t i = 0; i < 3; i++)
            round_run(emitters, budget ? budget : budgets[i],
                      rounds & 1 ? HS_SINK_MEMORY : HS_SINK_FILE);
        rounds++;
    } while (hs_time_is_left() && hs_failures() == 0);
    for (uint64_t i = 0; i < threads; i++)
        free(emitters[i].scratch);
    hs_emitters_free(emitters, (uint32_t)threads);
    hs_figure("rounds", (double)rounds);
    return hs_finish();
}
