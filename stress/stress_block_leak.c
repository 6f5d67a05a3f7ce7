/*
 * Threads that end a wait without using their grant, or exit with a grant unused: what they held or
 * were being given goes back, and the threads that wait behind them are served.
 *
 *  - deadlines that pass while the grant is on its way, and threads that exit right after it;
 *  - threads that are cancelled while they are parked;
 *  - destructors of thread-specific data that emit, and park, while their thread exits.
 */
#include <stdlib.h>
#include "emitter.h"
#include "harness.h"
#include "park.h"
#include "sink.h"

#define SEGMENT  4096u
#define SEGMENTS 16u
#define BUDGET   ((uint64_t)SEGMENTS * SEGMENT)

static uint64_t threads = 16, lives = 60;
static struct hs_trace trace;
static struct hs_sink_gate gate;

/* --- The session. ---------------------------------------------------------------------------- */

static bool write_slowly(void *context, const void *bytes, size_t count)
{
    hs_sleep_us(300);
    return hs_gate_write(context, bytes, count);
}

static bool start(enum weir_wake wake, uint64_t max_block_ns, uint64_t grant_bytes)
{
    struct weir_session_config config = hs_block_config(wake, BUDGET, SEGMENT);
    hs_gate_init(&gate, NULL);
    config.max_block_ns = max_block_ns;
    config.grant_bytes = wake == WEIR_WAKE_RELAY ? grant_bytes : 0;
    config.sink.write = write_slowly;
    config.sink.context = &gate;
    config.flush_ms = 5;
    return hs_trace_start(&trace, config, HS_SINK_MEMORY, NULL);
}

/* All threads have exited: nothing is in use any more, and a new thread gets all it needs. */
static void nothing_leaks(struct hs_emitter *last)
{
    hs_wait_used_at_most(trace.session, 0);
    hs_check(hs_stats(trace.session).parked_now == 0, "a thread is still parked");
    for (uint32_t i = 0; i < 2 * SEGMENTS; i++) /* twice the budget, at the drain's pace */
        for (uint32_t k = 0; k < SEGMENT / 48; k++)
            hs_emit(last, HS_FIXED);
    hs_check(last->attempts == last->written, "%llu of %llu events were lost at the end",
             (unsigned long long)(last->attempts - last->written),
             (unsigned long long)last->attempts);
}

static void end(struct hs_emitter *emitters, uint32_t count)
{
    hs_trace_stop(&trace);
    hs_gate_finish(&gate, &trace);
    hs_oracle_run(emitters, count, &trace);
    hs_trace_end(&trace);
    hs_progress();
}

static void *emit_some(void *argument)
{
    nothing_leaks(argument);
    return NULL;
}

static void last_run(struct hs_emitter *last)
{
    pthread_t handle;
    hs_thread_start(&handle, emit_some, last);
    hs_thread_join(handle);
    hs_wait_used_at_most(trace.session, 0);
}

/* --- Deadlines and exits. -------------------------------------------------------------------- */

static void *live(void *argument)
{
    struct hs_emitter *emitter = argument;
    uint64_t random = hs_random(31, emitter->index);
    for (uint64_t i = 0; i < emitter->capacity; i++)
        if (hs_emit(emitter, HS_FIXED) && hs_next(&random) % 200 == 0)
            break; /* exits right after an emit, perhaps with part of a grant */
    return NULL;
}

static void *live_all(void *argument)
{
    struct hs_emitter *emitters = argument;
    for (uint64_t i = 0; i < lives; i++) {
        pthread_t handle;
        hs_thread_start(&handle, live, &emitters[i]);
        hs_thread_join(handle);
    }
    return NULL;
}

/* Waits that were granted, and those whose deadlines passed. */
struct waits {
    uint64_t granted, missed;
};

static void deadline_run(enum weir_wake wake, uint64_t grant_bytes, uint64_t deadline_ns,
                         struct waits *waits)
{
    uint32_t count = (uint32_t)(threads * lives);
    struct hs_emitter *emitters = hs_emitters_new(count, 3000);
    pthread_t *handles = hs_allocate(threads * sizeof *handles);
    if (!start(wake, deadline_ns, grant_bytes))
        return;
    for (uint64_t i = 0; i < threads; i++)
        hs_thread_start(&handles[i], live_all, &emitters[i * lives]);
    for (uint64_t i = 0; i < threads; i++)
        hs_thread_join(handles[i]);
    hs_wait_used_at_most(trace.session, 0);
    struct weir_stats stats = hs_stats(trace.session);
    hs_check(stats.parked_now == 0, "%llu threads are counted as parked, but all have exited",
             (unsigned long long)stats.parked_now);
    uint64_t missed = stats.counts.lost[WEIR_LOSS_DEADLINE];
    hs_check(missed == hs_lost(&stats.counts), "%llu deadlines passed", (unsigned long long)missed);
    waits->missed += missed;
    waits->granted += stats.parks > missed ? stats.parks - missed : 0;
    hs_figure_add("deadlines", (double)missed);
    hs_figure_add("waits", (double)stats.parks);
    end(emitters, count);
    hs_emitters_free(emitters, count);
    free(handles);
}

/* A deadline so short that it passes for many waits, and so long that it does not for many others.
 * Its length depends on the machine and its load. */
static void deadlines_run(enum weir_wake wake, uint64_t grant_bytes)
{
    struct waits waits = {0, 0};
    uint64_t deadline_ns = 150000;
    for (int i = 0; i < 8 && !(waits.granted && waits.missed); i++) {
        deadline_run(wake, grant_bytes, deadline_ns, &waits);
        deadline_ns = waits.granted ? deadline_ns / 4 : deadline_ns * 4;
    }
    hs_check(waits.granted > 0 && waits.missed > 0, "%llu waits were granted, %llu missed",
             (unsigned long long)waits.granted, (unsigned long long)waits.missed);
}

/* --- Cancellation. --------------------------------------------------------------------------- */

static void *emit_for_ever(void *argument)
{
    for (;;) {
        hs_emit(argument, HS_FIXED);
        pthread_testcancel();
    }
    return NULL;
}

/* The wait is not a cancellation point: the thread ends after its emit has returned. */
static void cancel_run(enum weir_wake wake)
{
    struct hs_emitter *emitters = hs_emitters_new((uint32_t)threads + 1, 10000000);
    pthread_t *handles = hs_allocate(threads * sizeof *handles);
    if (!start(wake, 0, 0))
        return;
    hs_gate_close(&gate);
    for (uint64_t i = 0; i < threads; i++)
        hs_thread_start(&handles[i], emit_for_ever, &emitters[i]);
    hs_gate_wait(&gate);
    hs_wait_parked(trace.session, threads);
    for (uint64_t i = 0; i < threads; i++)
        pthread_cancel(handles[i]);
    hs_sleep_us(20000);
    hs_check(hs_stats(trace.session).parked_now == threads, "a cancelled thread left its wait");
    hs_gate_open(&gate);
    for (uint64_t i = 0; i < threads; i++)
        hs_thread_join(handles[i]);
    struct weir_stats stats = hs_stats(trace.session);
    hs_check(hs_lost(&stats.counts) == 0, "cancelled threads lost events");
    last_run(&emitters[threads]);
    end(emitters, (uint32_t)threads + 1);
    hs_emitters_free(emitters, (uint32_t)threads + 1);
    free(handles);
}

/* --- Destructors. ---------------------------------------------------------------------------- */

static pthread_key_t earlier_key, later_key; /* created before and after the library's key */

/* If the library's destructor has already run, this event belongs to a new capture thread. */
static void emit_and_park(void *argument)
{
    struct hs_emitter *emitter = argument;
    for (uint32_t i = 0; i < 200; i++)
        hs_check(hs_emit(emitter, HS_FIXED), "an event of a destructor was lost");
}

static void *exit_with_values(void *argument)
{
    struct hs_emitter *emitters = argument;
    hs_emit(&emitters[0], HS_FIXED);
    pthread_setspecific(earlier_key, &emitters[1]);
    pthread_setspecific(later_key, &emitters[2]);
    return NULL;
}

static void destructors_run(enum weir_wake wake)
{
    uint32_t count = (uint32_t)threads * 3;
    struct hs_emitter *emitters = hs_emitters_new(count + 1, 10000000);
    pthread_t *handles = hs_allocate(threads * sizeof *handles);
    for (uint32_t i = 0; i < count; i++)
        emitters[i].is_shared = emitters[i].is_visiting = true;
    if (!start(wake, 0, 0))
        return;
    hs_gate_close(&gate);
    for (uint64_t i = 0; i < threads; i++)
        hs_thread_start(&handles[i], exit_with_values, &emitters[i * 3]);
    hs_gate_wait(&gate);
    hs_wait_parked(trace.session, threads / 2);
    hs_gate_open(&gate);
    for (uint64_t i = 0; i < threads; i++)
        hs_thread_join(handles[i]);
    last_run(&emitters[count]);
    end(emitters, count + 1);
    hs_emitters_free(emitters, count + 1);
    free(handles);
}

int main(int argc, char **argv)
{
    const struct hs_option options[] = {
        {"threads", "that run at the same time", &threads, NULL},
        {"lives", "short-lived threads that each of them starts", &lives, NULL},
        {NULL, NULL, NULL, NULL}};
    pthread_key_create(&earlier_key, emit_and_park);
    hs_init(argc, argv, "Waits that end without using their grant leave nothing behind.", options);
    hs_emitters_init();
    pthread_key_create(&later_key, emit_and_park);
    do {
        for (int i = 0; i < HS_WAKES; i++) {
            deadlines_run((enum weir_wake)i, 0);
            cancel_run((enum weir_wake)i);
            destructors_run((enum weir_wake)i);
        }
        deadlines_run(WEIR_WAKE_RELAY, BUDGET / 4);
    } while (hs_time_is_left() && hs_failures() == 0);
    return hs_finish();
}
