/*
 * Sequence points under writers that are preempted inside an emit: many more threads than
 * processors, some of them nice, and a point each millisecond. Before a point nothing may be later
 * than it, after it nothing older (stream.c checks that). A record that comes too late for its
 * point carries the point's time and is counted as late.
 *
 * Each event carries the processor's counter, read by its thread just before the emit. So the
 * harness can check that a stamp, moved or not, lies between that reading and the one for the
 * thread's next event.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "emitter.h"
#include "harness.h"

#define EVENTS_MAX 2000000u

static uint64_t threads = 32, run_ms = 3000, flush_ms = 1;
static struct hs_trace trace;
static bool is_over; /* ANY */

struct watch {
    struct hs_oracle oracle;
    int64_t *last_time; /* of the last event of an emitter */
    uint64_t moved;     /* stamps equal to that of the point before them */
    int64_t worst_ticks;
    bool has_counter; /* stamps come from the processor's counter */
};

static void check_stamp(struct watch *watch, const struct hs_event *event, int64_t counter)
{
    int64_t *last_time = &watch->last_time[hs_event_emitter(event)];
    hs_check(event->time >= counter, "a stamp is %lld ticks older than the reading before it",
             (long long)(counter - event->time));
    hs_check(*last_time <= counter, "a stamp is %lld ticks later than the thread's next reading",
             (long long)(*last_time - counter));
    *last_time = event->time;
    if (event->time != event->point_time)
        return;
    watch->moved++;
    watch->worst_ticks =
        event->time - counter > watch->worst_ticks ? event->time - counter : watch->worst_ticks;
}

static void on_event(void *context, const struct hs_event *event)
{
    struct watch *watch = context;
    hs_oracle_event(&watch->oracle, event);
    if (watch->has_counter && hs_event_emitter(event) < threads)
        check_stamp(watch, event, (int64_t)hs_event_clocks(event).counter);
}

static void *emit_flat_out(void *argument)
{
    struct hs_emitter *emitter = argument;
    uint64_t random = hs_random(3, emitter->index);
    if (emitter->index % 3 == 1)
        hs_check(setpriority(PRIO_PROCESS, (id_t)gettid(), 10) == 0, "setpriority() failed");
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
        hs_emit(emitter, HS_CLOCK);
        if (emitter->index % 3 == 2 && hs_next(&random) % 64 == 0)
            hs_sleep_us(hs_next(&random) % 3000);
    }
    hs_emitter_settle(emitter, &trace);
    return NULL;
}

/* By the frequency in the header: a counter does not run at one tick per nanosecond. */
static bool stamps_are_counter(void)
{
    struct hs_stream stream;
    hs_stream_read(&stream, &trace, NULL, NULL);
    bool is_counter = stream.frequency != 1000000000;
    hs_stream_free(&stream);
#if !defined(__x86_64__)
    is_counter = false;
#endif
    return is_counter;
}

static void stream_check(struct hs_emitter *emitters)
{
    struct hs_stream stream;
    struct watch watch = {.oracle = {emitters, (uint32_t)threads},
                          .has_counter = stamps_are_counter()};
    watch.last_time = hs_allocate(threads * sizeof *watch.last_time);
    hs_stream_read(&stream, &trace, on_event, &watch);
    hs_oracle_verify(&watch.oracle, &stream, &trace);
    /* A stamp may equal that of the point by chance, which happens with millions of events a
     * second. */
    hs_check(!watch.has_counter || watch.moved >= trace.stats.late_records,
             "only %llu stamps equal that of the point before them, but %llu are counted as late",
             (unsigned long long)watch.moved, (unsigned long long)trace.stats.late_records);
    hs_figure_add("written", (double)trace.stats.counts.written);
    hs_figure_add("lost", (double)hs_lost(&trace.stats.counts));
    hs_figure_add("points", (double)stream.points);
    hs_figure_add("late_records", (double)trace.stats.late_records);
    hs_figure_add("stamps_of_a_point", (double)watch.moved);
    hs_figure("worst_move_us", 1e6 * (double)watch.worst_ticks / (double)stream.frequency);
    free(watch.last_time);
    hs_stream_free(&stream);
}

static void round_run(struct hs_emitter *emitters, pthread_t *handles)
{
    struct weir_session_config config = hs_trace_config(4u << 20);
    config.flush_ms = (uint32_t)flush_ms;
    hs_emitters_reset(emitters, (uint32_t)threads);
    __atomic_store_n(&is_over, false, __ATOMIC_RELEASE);
    if (hs_trace_start(&trace, config, HS_SINK_FILE, NULL)) {
        for (uint64_t i = 0; i < threads; i++)
            hs_thread_start(&handles[i], emit_flat_out, &emitters[i]);
        hs_sleep_us(run_ms * 1000);
        __atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
        for (uint64_t i = 0; i < threads; i++)
            hs_thread_join(handles[i]);
        if (hs_trace_stop(&trace))
            stream_check(emitters);
    }
    hs_trace_end(&trace);
}

int main(int argc, char **argv)
{
    const struct hs_option options[] = {
        {"threads", "many more than processors", &threads, NULL},
        {"ms", "length of a round", &run_ms, NULL},
        {"flush-ms", "flush interval of the session", &flush_ms, NULL},
        {NULL, NULL, NULL, NULL}};
    hs_init(argc, argv, "Sequence points hold under preempted writers.", options);
    hs_emitters_init();
    struct hs_emitter *emitters = hs_emitters_new((uint32_t)threads, EVENTS_MAX);
    pthread_t *handles = hs_allocate(threads * sizeof *handles);
    do {
        round_run(emitters, handles);
    } while (hs_time_is_left() && hs_failures() == 0);
    hs_emitters_free(emitters, (uint32_t)threads);
    free(handles);
    return hs_finish();
}
