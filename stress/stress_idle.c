/*
 * Threads that have emitted once and now sleep hold a segment each, together more than the budget
 * has. A thread that emits must still get room: the drain takes the idle threads' segments back.
 * Their events are in the stream, and when they wake they continue with the right number.
 */
#include <stdlib.h>
#include "emitter.h"
#include "harness.h"

#define SEGMENT_BYTES 4096u
#define LOST_MAX      200000u

static uint64_t idle = 100, segments = 32, events = 100000;
static struct hs_trace trace;
static pthread_barrier_t all_hold, all_wake;
static bool is_produced; /* ANY */

/* They wake now and then during the producer's run, when their segment may have been taken or is
 * being taken. */
static void *hold(void *argument)
{
    struct hs_emitter *emitter = argument;
    uint64_t random = hs_random(5, emitter->index);
    hs_emit(emitter, HS_FIXED);
    pthread_barrier_wait(&all_hold);
    while (!__atomic_load_n(&is_produced, __ATOMIC_ACQUIRE)) {
        hs_sleep_us(1000 + hs_next(&random) % (random & 1 ? 20000 : 400000));
        for (uint64_t k = hs_next(&random) % 4; k > 0; k--)
            hs_emit(emitter, k & 1 ? HS_FIXED : HS_BYTES);
    }
    pthread_barrier_wait(&all_wake);
    hs_emit(emitter, HS_TEXT);
    hs_emitter_settle(emitter, &trace);
    return NULL;
}

/* Emits at a pace that the drain can keep up with on any machine, until enough is written. Returns
 * how long it took to get the first segment. */
static uint64_t produce(struct hs_emitter *emitter)
{
    uint64_t start = hs_now_ns(), first = 0;
    while (emitter->written < events && emitter->attempts < events + LOST_MAX) {
        bool is_written = hs_emit(emitter, HS_FIXED);
        if (is_written && !first)
            first = hs_now_ns();
        if (!is_written || emitter->attempts % 64 == 0)
            hs_sleep_us(200);
    }
    hs_emitter_settle(emitter, &trace);
    __atomic_store_n(&is_produced, true, __ATOMIC_RELEASE);
    return first ? first - start : 0;
}

static void round_run(struct hs_emitter *emitters, pthread_t *handles)
{
    struct weir_session_config config = hs_trace_config(segments * SEGMENT_BYTES);
    config.segment_bytes = SEGMENT_BYTES;
    config.flush_ms = 20;
    is_produced = false;
    hs_emitters_reset(emitters, (uint32_t)idle + 1);
    pthread_barrier_init(&all_hold, NULL, (unsigned)idle + 1);
    pthread_barrier_init(&all_wake, NULL, (unsigned)idle + 1);
    if (!hs_trace_start(&trace, config, HS_SINK_MEMORY, NULL))
        return;
    for (uint64_t i = 0; i < idle; i++)
        hs_thread_start(&handles[i], hold, &emitters[i]);
    pthread_barrier_wait(&all_hold);
    uint64_t wait_ns = produce(&emitters[idle]);
    pthread_barrier_wait(&all_wake);
    for (uint64_t i = 0; i < idle; i++)
        hs_thread_join(handles[i]);
    if (hs_trace_stop(&trace))
        hs_oracle_run(emitters, (uint32_t)idle + 1, &trace);
    const struct hs_emitter *producer = &emitters[idle];
    hs_check(producer->written == events, "the producer got room for only %llu of %llu events",
             (unsigned long long)producer->written, (unsigned long long)events);
    hs_figure("producer_written", (double)producer->written);
    hs_figure("producer_lost", (double)(producer->attempts - producer->written));
    hs_figure("first_room_ms", (double)wait_ns / 1e6);
    hs_trace_end(&trace);
    pthread_barrier_destroy(&all_hold);
    pthread_barrier_destroy(&all_wake);
}

int main(int argc, char **argv)
{
    const struct hs_option options[] = {{"idle", "threads that hold a segment", &idle, NULL},
                                        {"segments", "in the budget", &segments, NULL},
                                        {"events", "that the producer must write", &events, NULL},
                                        {NULL, NULL, NULL, NULL}};
    hs_init(argc, argv, "Idle threads hold the whole budget; a producer must still get room.",
            options);
    hs_emitters_init();
    struct hs_emitter *emitters = hs_emitters_new((uint32_t)idle + 1, events + LOST_MAX);
    pthread_t *handles = hs_allocate(idle * sizeof *handles);
    do {
        round_run(emitters, handles);
    } while (hs_time_is_left() && hs_failures() == 0);
    hs_emitters_free(emitters, (uint32_t)idle + 1);
    free(handles);
    return hs_finish();
}
