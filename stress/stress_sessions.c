/*
 * Sessions come and go, as do the threads that emit, and the process forks. Each session's stream
 * is whole, its numbers show what was attempted while it ran, and everything written before its
 * stop is in it.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "child.h"
#include "emitter.h"
#include "harness.h"

#define SLOTS_MAX   64u
#define LIFE_EVENTS 3000u
#define CHILD_MS_MAX \
    60000 /* longer than a loaded machine needs; a child that waits for a lost lock never ends */

static uint64_t slots = 4, controllers = 3, run_ms = 3000, fork_ms = 25;
static bool is_over; /* ANY */

/* A place taken by one short-lived thread after the other; its counter continues across all of
 * them.
 */
static struct slot {
    struct hs_emitter emitter;
    uint64_t attempts_done; /* ANY: one more than the last counter whose emit has returned */
    uint64_t written_done;  /* ANY: likewise, of the last one that returned true */
} all_slots[SLOTS_MAX];

/* --- Emitters. ------------------------------------------------------------------------------- */

/* One event per slot: a start or stop switches events one by one, and the numbers are compared
 * here. */
static void *live(void *argument)
{
    static const enum hs_shape shapes[] = {HS_FIXED, HS_TEXT, HS_BYTES};
    struct slot *slot = argument;
    enum hs_shape shape = shapes[slot->emitter.index % 3];
    for (uint32_t i = 0; i < LIFE_EVENTS; i++) {
        uint64_t counter = slot->emitter.attempts;
        bool is_written = hs_emit(&slot->emitter, shape);
        __atomic_store_n(&slot->attempts_done, counter + 1, __ATOMIC_RELEASE);
        if (is_written)
            __atomic_store_n(&slot->written_done, counter + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

static void *slot_run(void *argument)
{
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
        pthread_t thread;
        hs_thread_start(&thread, live, argument);
        hs_thread_join(thread);
    }
    return NULL;
}

/* --- A session. ------------------------------------------------------------------------------ */

/* What a stream must show for a capture thread: numbers and counters advance together, because each
 * attempt while the session runs takes a number. */
struct seen {
    uint64_t capture;
    uint64_t number, counter;
};

struct watch {
    struct seen last[SLOTS_MAX];
    bool has_required[SLOTS_MAX];
    uint64_t required[SLOTS_MAX]; /* the last counter that was written before the stop */
    uint64_t from[SLOTS_MAX];     /* the least counter that was certainly emitted after the start */
};

static void on_event(void *context, const struct hs_event *event)
{
    struct watch *watch = context;
    uint32_t slot = hs_event_emitter(event);
    uint64_t counter = hs_event_counter(event);
    if (!hs_check(slot < slots && hs_event_is_intact(event), "an event is not intact"))
        return;
    struct seen *last = &watch->last[slot];
    bool is_same = last->capture == event->capture->id;
    hs_check(!is_same || counter - last->counter == event->number - last->number,
             "slot %u: from event %llu to %llu, but the numbers are %llu and %llu", slot,
             (unsigned long long)last->counter, (unsigned long long)counter,
             (unsigned long long)last->number, (unsigned long long)event->number);
    *last = (struct seen){event->capture->id, event->number, counter};
    watch->has_required[slot] |= counter + 1 == watch->required[slot];
}

static void stats_agree(const struct hs_stream *stream, const struct hs_trace *trace)
{
    hs_check(stream->events == trace->stats.counts.written,
             "%llu events in the stream, %llu counted as written",
             (unsigned long long)stream->events, (unsigned long long)trace->stats.counts.written);
    for (unsigned cause = 0; cause < WEIR_LOSS_COUNT; cause++)
        hs_check(stream->lost_by_cause[cause] == trace->stats.counts.lost[cause],
                 "lost by %s: %llu in the stream, %llu counted",
                 weir_loss_name((enum weir_loss)cause),
                 (unsigned long long)stream->lost_by_cause[cause],
                 (unsigned long long)trace->stats.counts.lost[cause]);
}

static void stream_check(struct watch *watch, struct hs_trace *trace)
{
    struct hs_stream stream;
    hs_stream_read(&stream, trace, on_event, watch);
    stats_agree(&stream, trace);
    for (uint32_t i = 0; i < slots; i++)
        hs_check(watch->has_required[i] || watch->required[i] <= watch->from[i],
                 "slot %u: event %llu was written before the stop, but is not in the stream", i,
                 (unsigned long long)watch->required[i] - 1);
    hs_figure_add("sessions", 1);
    hs_figure_add("written", (double)trace->stats.counts.written);
    hs_figure_add("lost", (double)hs_lost(&trace->stats.counts));
    hs_figure_add("late_records", (double)trace->stats.late_records);
    hs_stream_free(&stream);
}

static void *stop_too(void *session)
{
    enum weir_result result = weir_session_stop(session, NULL);
    hs_check(result == WEIR_OK, "a second stop: %s", weir_result_text(result));
    return NULL;
}

/* An emit that has returned before the slots are read here has ended before the stop begins. */
static void session_run(uint64_t random, bool stops_twice)
{
    struct hs_trace trace;
    struct watch watch = {.last = {{0}}};
    pthread_t second;
    struct weir_session_config config = hs_trace_config((random & 3 ? 256u : 2048u) << 10);
    config.segment_bytes = random & 4 ? 32768 : 4096;
    config.flush_ms = (uint32_t)(1 + random % 30);
    if (!hs_trace_start(&trace, config, random & 8 ? HS_SINK_FILE : HS_SINK_MEMORY, NULL))
        return;
    /* An emit may be in progress that does not see the session. */
    for (uint32_t i = 0; i < slots; i++)
        watch.from[i] = __atomic_load_n(&all_slots[i].attempts_done, __ATOMIC_ACQUIRE) + 1;
    hs_sleep_us(random >> 8 & 1 ? random >> 16 & 0x3FFF : random >> 16 & 0xFF);
    for (uint32_t i = 0; i < slots; i++)
        watch.required[i] = __atomic_load_n(&all_slots[i].written_done, __ATOMIC_ACQUIRE);
    if (stops_twice)
        hs_thread_start(&second, stop_too, trace.session);
    if (hs_trace_stop(&trace))
        stream_check(&watch, &trace);
    if (stops_twice)
        hs_thread_join(second);
    hs_trace_end(&trace);
    hs_progress();
}

static void *control(void *argument)
{
    uint64_t random = hs_random(21, *(uint64_t *)argument);
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE))
        session_run(hs_next(&random), hs_next(&random) % 4 == 0);
    return NULL;
}

/* --- Stop from a provider's callback. -------------------------------------------------------- */

static struct weir_session *to_stop; /* ANY */
static uint64_t stops_in_callback;   /* ANY */

/* Runs on the thread that starts the session, or on one that starts or stops another at that
 * time. */
static void on_provider(void *context, bool enabled, uint8_t level, uint64_t keywords)
{
    (void)context;
    (void)level;
    (void)keywords;
    struct weir_session *session = __atomic_load_n(&to_stop, __ATOMIC_ACQUIRE);
    if (!enabled || !session)
        return;
    enum weir_result result = weir_session_stop(session, NULL);
    hs_check(result == WEIR_OK, "a stop in a callback: %s", weir_result_text(result));
    __atomic_fetch_add(&stops_in_callback, 1, __ATOMIC_RELAXED);
}

static void callback_run(void)
{
    struct weir_provider *provider;
    struct hs_trace trace = {.path = ""};
    struct watch watch = {.last = {{0}}};
    struct weir_session_config config = hs_trace_config(1u << 20);
    config.providers = "Stress,StressCalled";
    config.memory_bytes_max = 64u << 20;
    hs_check(weir_provider_create("StressCalled", on_provider, NULL, &provider, NULL) == WEIR_OK,
             "provider");
    if (!hs_check(weir_session_create(&config, &trace.session, NULL) == WEIR_OK, "create"))
        return;
    __atomic_store_n(&to_stop, trace.session, __ATOMIC_RELEASE);
    hs_check(weir_session_start(trace.session, NULL) == WEIR_OK,
             "start of a session that a callback stops");
    __atomic_store_n(&to_stop, NULL, __ATOMIC_RELEASE);
    if (hs_trace_stop(&trace))
        stream_check(&watch, &trace);
    weir_provider_destroy(provider); /* a callback may still be returning from the stop */
    hs_trace_end(&trace);
}

static void *callbacks(void *argument)
{
    (void)argument;
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
        callback_run();
        hs_sleep_us(20000);
    }
    return NULL;
}

/* --- Fork. ----------------------------------------------------------------------------------- */

/* Sanitizers do not support forks of a process with threads: AddressSanitizer leaves its
 * allocator's locks as they were, ThreadSanitizer ends a child that starts a thread, and
 * LeakSanitizer reports what other threads hold as leaked at exit(). Under them, children leave at
 * once. */
static enum hs_child_end child_end(uint64_t i)
{
#ifdef STRESS_SANITIZED
    return i % 2 ? HS_CHILD_LEAVE : HS_CHILD_EXEC;
#else
    return (enum hs_child_end)(i % HS_CHILD_ENDS);
#endif
}

static void forks_run(uint64_t until_ns)
{
    for (uint64_t i = 0; hs_now_ns() < until_ns; i++) {
        enum hs_child_end end = child_end(i);
        pid_t child = fork();
        if (child == 0)
            hs_child_end(end);
        hs_child_wait(child, CHILD_MS_MAX, "child %llu, which ends in way %d",
                      (unsigned long long)i, (int)end);
        hs_figure_add("forks", 1);
        hs_sleep_us(fork_ms * 1000);
    }
}

int main(int argc, char **argv)
{
    const struct hs_option options[] = {
        {"threads", "that emit", &slots, NULL},
        {"sessions", "at once", &controllers, NULL},
        {"ms", "length of the run, without --seconds", &run_ms, NULL},
        {"fork-ms", "time between two forks", &fork_ms, NULL},
        {NULL, NULL, NULL, NULL}};
    pthread_t threads[2 * SLOTS_MAX + 1];
    uint64_t numbers[SLOTS_MAX], count = 0;
    hs_init(argc, argv, "Sessions come and go under load; the process forks.", options);
    slots = slots > SLOTS_MAX ? SLOTS_MAX : slots;
    controllers = controllers > SLOTS_MAX ? SLOTS_MAX : controllers;
    hs_emitters_init();
    for (uint32_t i = 0; i < slots; i++) {
        all_slots[i].emitter = (struct hs_emitter){.index = i, .capacity = UINT64_MAX};
        hs_thread_start(&threads[count++], slot_run, &all_slots[i]);
    }
    for (uint64_t i = 0; i < controllers; i++) {
        numbers[i] = i;
        hs_thread_start(&threads[count++], control, &numbers[i]);
    }
    hs_thread_start(&threads[count++], callbacks, NULL);
    forks_run(hs_now_ns() + (hs_common.seconds ? hs_common.seconds * 1000 : run_ms) * 1000000);
    __atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
    for (uint64_t i = 0; i < count; i++)
        hs_thread_join(threads[i]);
    hs_figure("stops_in_callback", (double)__atomic_load_n(&stops_in_callback, __ATOMIC_RELAXED));
    return hs_finish();
}
