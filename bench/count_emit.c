/*
 * weir-count-emit: the emitters' side, in the library as it is shipped.
 *
 * The drain thread sleeps in the sink's function from the stream's first bytes on: only the emitter
 * executes anything, and no segment comes back.
 */
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include "count.h"
#include "kernel.h"

#define BUDGET_BYTES  (UINT64_C(64) << 20)
#define SMALL_BYTES   (UINT64_C(1) << 20)
#define SEGMENT_BYTES 32768u
#define WARM_EVENTS   2000u
#define SESSIONS_MAX  8u

struct held {
    struct weir_session *session;
    sem_t arrived, may_go;
};

static struct held held[SESSIONS_MAX];

static bool hold(void *context, const void *bytes, size_t count)
{
    struct held *one = context;
    (void)bytes;
    (void)count;
    sem_post(&one->arrived);
    while (sem_wait(&one->may_go) != 0) {
    }
    sem_post(&one->may_go); /* from now on the drain is not held */
    return true;
}

static void start(struct held *one, enum weir_mode mode, uint64_t budget_bytes)
{
    struct weir_session_config config = weir_session_config_init();
    sem_init(&one->arrived, 0, 0);
    sem_init(&one->may_go, 0, 0);
    config.providers = "WeirBench,WeirCount";
    config.mode = mode;
    config.sink.write = hold;
    config.sink.context = one;
    one->session = count_session(config, budget_bytes, SEGMENT_BYTES);
    while (sem_wait(&one->arrived) != 0) {
    }
}

static void stop(struct held *one)
{
    sem_post(&one->may_go);
    weir_session_destroy(one->session);
    sem_destroy(&one->arrived);
    sem_destroy(&one->may_go);
}

static bool emit(void *context, uint64_t events)
{
    bench_kernel *kernel = context;
    return (*kernel)(events) == events;
}

static void count(const char *name, uint64_t events, bench_kernel kernel)
{
    kernel(WARM_EVENTS);
    count_twice(name, events, NULL, emit, &kernel);
}

static void count_enabled(uint64_t events)
{
    start(&held[0], WEIR_MODE_DROP, BUDGET_BYTES);
    count("emit/enabled/payload:32", events, bench_emit_32);
    count("emit/enabled/payload:0", events, bench_emit_0);
    count("emit/enabled/mixed:23", events, count_emit_mixed);
    count("emit/enabled/text:32", events, count_emit_text);
    count("emit/enabled/raw:32", events, count_emit_raw);
    count("emit/enabled/structs:32", events, count_emit_nodes);
    count("emit/ordered/payload:32", events, bench_emit_32_ordered);
    count("emit/at/payload:32", events, bench_emit_32_at);
    count("emit/batch/payload:32", events, bench_emit_32_batch);
    count("emit/plugin/payload:32", events, bench_emit_32_plugin);
    count("emit/enabled/payload:32/with:activity", events, bench_emit_32_activity);
    count("emit/enabled/payload:32/with:stack", events, bench_emit_32_stack);
    stop(&held[0]);
}

/* An event that several sessions want. */
static void count_shared(const char *name, uint64_t events, uint32_t sessions, enum weir_mode last)
{
    for (uint32_t i = 0; i < sessions; i++)
        start(&held[i], i + 1 == sessions ? last : WEIR_MODE_DROP, BUDGET_BYTES);
    count(name, events, bench_emit_32);
    for (uint32_t i = 0; i < sessions; i++)
        stop(&held[i]);
}

static void count_block(uint64_t events)
{
    start(&held[0], WEIR_MODE_BLOCK, BUDGET_BYTES);
    count("emit/block/payload:32", events, bench_emit_32);
    stop(&held[0]);
}

static bool drop(void *context, uint64_t events)
{
    (void)context;
    return bench_emit_32(events) == 0;
}

static void count_dropped(uint64_t events)
{
    start(&held[0], WEIR_MODE_DROP, SMALL_BYTES);
    bench_emit_32(SMALL_BYTES / 32); /* fills the budget */
    count_twice("emit/dropped/payload:32", events, NULL, drop, NULL);
    stop(&held[0]);
}

int main(int argc, char **argv)
{
    uint64_t events = count_begin(argc, argv);
    if (!bench_events_register() || !count_events_register() || !bench_plugin_begin())
        count_fail("providers", "they cannot be registered");
    count("floor/32", events, bench_floor);
    count("emit/disabled", events, bench_disabled);
    count_enabled(events);
    count_shared("emit/enabled/payload:32/sessions:2", events, 2, WEIR_MODE_DROP);
    count_shared("emit/enabled/payload:32/sessions:3", events, 3, WEIR_MODE_DROP);
    count_shared("emit/enabled/payload:32/sessions:8", events, SESSIONS_MAX, WEIR_MODE_DROP);
    count_shared("emit/enabled_drop_block/payload:32", events, 2, WEIR_MODE_BLOCK);
    count_block(events);
    count_dropped(events);
    return 0;
}
