/*
 * Causes before their effects: one thread emits Send and releases a counter, the other acquires it
 * and emits Recv. An ordered Recv is not stamped before its Send, though two processors read their
 * counters. For other events this is not promised, and only the figure is reported: it may be 0.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <weir/weir.h>
#include "harness.h"
#include "stream.h"

#define ORDERED_LEVEL (WEIR_LEVEL_INFO | WEIR_EVENT_ORDERED)
#define CAUSE_EVENTS(EVENT, P)                                 \
    EVENT(P, Send, 1, 0, ORDERED_LEVEL, 0x1, (u64, Step))      \
    EVENT(P, Recv, 2, 0, ORDERED_LEVEL, 0x1, (u64, Step))      \
    EVENT(P, SendAny, 3, 0, WEIR_LEVEL_INFO, 0x1, (u64, Step)) \
    EVENT(P, RecvAny, 4, 0, WEIR_LEVEL_INFO, 0x1, (u64, Step))
WEIR_PROVIDER(Stress, CAUSE_EVENTS)
WEIR_PROVIDER_DEFINE(Stress, CAUSE_EVENTS)

#define SPINS      1000u
#define PART_STEPS 1000000u /* per trace, so that memory does not grow with --steps */

static uint64_t steps = 1000000;
static _Atomic uint64_t received; /* the last odd step */
static _Atomic uint64_t sent;     /* the even steps are Send's, the odd ones Recv's */
static bool is_ordered;
static uint64_t part_steps;
static int64_t *stamps;

static void emit(uint64_t step)
{
    if (is_ordered)
        step % 2 ? WEIR_EMIT(Stress, Recv, step) : WEIR_EMIT(Stress, Send, step);
    else
        step % 2 ? WEIR_EMIT(Stress, RecvAny, step) : WEIR_EMIT(Stress, SendAny, step);
}

/* Waits a moment for the receiver, so that one that runs meets each Send as it comes. Not longer:
 * beside other programs, one that does not run would take a time slice each. */
static void *send_all(void *unused)
{
    for (uint64_t step = 0; step < part_steps; step += 2) {
        emit(step);
        atomic_store_explicit(&sent, step + 1, memory_order_release);
        for (uint32_t spins = 0; spins < SPINS; spins++)
            if (atomic_load_explicit(&received, memory_order_acquire) > step)
                break;
    }
    return unused;
}

static void *receive_all(void *unused)
{
    for (uint64_t step = 1; step < part_steps; step += 2) {
        for (uint32_t spins = 1; atomic_load_explicit(&sent, memory_order_acquire) < step; spins++)
            if (spins % 1000 == 0)
                sched_yield();
        emit(step);
        atomic_store_explicit(&received, step, memory_order_release);
    }
    return unused;
}

static void on_event(void *context, const struct hs_event *event)
{
    uint64_t step;
    (void)context;
    memcpy(&step, event->payload, sizeof step);
    hs_check(step < part_steps && event->payload_bytes == sizeof step, "step %llu",
             (unsigned long long)step);
    if (step < part_steps)
        stamps[step] = event->time;
}

/* Returns how many effects are stamped before their cause. */
static uint64_t part_run(void)
{
    struct weir_session_config config = hs_trace_config(4u << 20);
    struct hs_trace trace;
    struct hs_stream stream;
    pthread_t threads[2];
    uint64_t reversed = 0;
    config.mode = WEIR_MODE_BLOCK;
    atomic_store(&sent, 0);
    atomic_store(&received, 0);
    if (!hs_trace_start(&trace, config, HS_SINK_FILE, NULL))
        return 0;
    hs_thread_start(&threads[0], send_all, NULL);
    hs_thread_start(&threads[1], receive_all, NULL);
    for (int i = 0; i < 2; i++)
        hs_thread_join(threads[i]);
    if (hs_trace_stop(&trace) && hs_stream_read(&stream, &trace, on_event, NULL)) {
        hs_check(stream.events == part_steps, "%llu of %llu events are in the stream",
                 (unsigned long long)stream.events, (unsigned long long)part_steps);
        for (uint64_t step = 1; step < part_steps; step += 2)
            reversed += stamps[step] < stamps[step - 1];
        hs_stream_free(&stream);
    }
    hs_trace_end(&trace);
    return reversed;
}

static uint64_t all_run(bool ordered, uint64_t count)
{
    uint64_t reversed = 0;
    is_ordered = ordered;
    for (; count > 0; count -= part_steps) {
        part_steps = count < PART_STEPS ? count : PART_STEPS;
        reversed += part_run();
        hs_progress();
    }
    return reversed;
}

int main(int argc, char **argv)
{
    const struct hs_option options[] = {{"steps", "events", &steps, NULL},
                                        {NULL, NULL, NULL, NULL}};
    hs_init(argc, argv, "An ordered event is never stamped before its cause.", options);
    struct weir_error error = {""};
    hs_check(weir_provider_register(&weir_provider_Stress, NULL, NULL, NULL, &error) == WEIR_OK,
             "%s", error.text);
    stamps = hs_allocate(PART_STEPS * sizeof *stamps);
    uint64_t reversed = all_run(true, steps);
    hs_check(reversed == 0, "%llu of %llu ordered events are stamped before their cause",
             (unsigned long long)reversed, (unsigned long long)steps);
    hs_figure("steps", (double)steps);
    hs_figure("reversed_if_not_ordered", (double)all_run(false, steps / 4));
    free(stamps);
    return hs_finish();
}
