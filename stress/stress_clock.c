/*
 * The stream's clock against the system's: each event carries CLOCK_MONOTONIC, read just before the
 * emit, while its thread is moved from processor to processor. Converted with the frequency in the
 * header, the stamps must agree, and no thread's stamps may fall (stream.c checks that).
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include "emitter.h"
#include "harness.h"

#define PPM_MAX     100.0
#define EVENTS_MAX  4000000u
#define PART        10 /* the first and the last tenth of the run are compared */
#define MOVE_EVENTS 256u

static uint64_t threads = 3, run_ms = 3000;
static struct hs_trace trace;
static uint64_t start_ns, end_ns;

struct watch {
    struct hs_oracle oracle;
    double ticks_per_ns;
    int64_t origin;
    double least_first, least_last; /* ns from reading to stamp, up to a constant */
    uint64_t count;
};

/* A thread may be preempted between reading and stamp, so only the least distance within a part
 * shows the difference between the clocks. */
static void on_event(void *context, const struct hs_event *event)
{
    struct watch *watch = context;
    hs_oracle_event(&watch->oracle, event);
    uint64_t ns = hs_event_clocks(event).monotonic_ns;
    double distance =
        (double)(event->time - watch->origin) / watch->ticks_per_ns - (double)(ns - start_ns);
    uint64_t part = (end_ns - start_ns) / PART;
    if (ns < start_ns + part && distance < watch->least_first)
        watch->least_first = distance;
    if (ns >= end_ns - part && distance < watch->least_last)
        watch->least_last = distance;
    watch->count++;
}

/* Moves the thread to one processor, chosen at random among those that the process may use. */
static void move(const cpu_set_t *all, uint64_t *random)
{
    cpu_set_t one;
    size_t at = 0;
    for (uint64_t skip = hs_next(random) % (uint64_t)CPU_COUNT(all); !CPU_ISSET(at, all) || skip;
         at++)
        skip -= CPU_ISSET(at, all) ? 1 : 0;
    CPU_ZERO(&one);
    CPU_SET(at, &one);
    hs_check(sched_setaffinity(0, sizeof one, &one) == 0, "sched_setaffinity: %s", strerror(errno));
}

static void *emit_and_move(void *argument)
{
    struct hs_emitter *emitter = argument;
    uint64_t random = hs_random(9, emitter->index), moves = 0;
    cpu_set_t all;
    hs_check(sched_getaffinity(0, sizeof all, &all) == 0, "sched_getaffinity: %s", strerror(errno));
    while (hs_now_ns() < end_ns) {
        move(&all, &random);
        moves++;
        for (uint32_t i = 0; i < MOVE_EVENTS; i++)
            hs_emit(emitter, HS_CLOCK);
        hs_sleep_us(500);
    }
    hs_emitter_settle(emitter, &trace);
    hs_figure_add("moves", (double)moves);
    return NULL;
}

static void stream_check(struct hs_emitter *emitters)
{
    struct hs_stream stream;
    hs_stream_read(&stream, &trace, NULL, NULL);
    struct watch watch = {.oracle = {emitters, (uint32_t)threads},
                          .least_first = 1e30,
                          .least_last = 1e30,
                          .ticks_per_ns = (double)stream.frequency / 1e9,
                          .origin = stream.sync_ticks};
    hs_stream_free(&stream);
    hs_stream_read(&stream, &trace, on_event, &watch);
    hs_oracle_verify(&watch.oracle, &stream, &trace);
    double ppm = 1e6 * (watch.least_last - watch.least_first) /
                 ((double)(end_ns - start_ns) * (PART - 1) / PART);
    hs_check(ppm > -PPM_MAX && ppm < PPM_MAX, "the stamps run %.1f ppm off the system's clock",
             ppm);
    hs_figure("ppm", ppm);
    hs_figure("frequency_hz", (double)stream.frequency);
    hs_figure_add("written", (double)trace.stats.counts.written);
    hs_figure_add("lost", (double)hs_lost(&trace.stats.counts));
    hs_stream_free(&stream);
}

/* With --seconds one trace of that length: drift shows over time. */
int main(int argc, char **argv)
{
    const struct hs_option options[] = {
        {"threads", "moved between processors", &threads, NULL},
        {"ms", "length of the trace, without --seconds", &run_ms, NULL},
        {NULL, NULL, NULL, NULL}};
    hs_init(argc, argv, "The stream's clock agrees with the system's.", options);
    hs_emitters_init();
    struct hs_emitter *emitters = hs_emitters_new((uint32_t)threads, EVENTS_MAX);
    pthread_t *handles = hs_allocate(threads * sizeof *handles);
    if (hs_trace_start(&trace, hs_trace_config(16u << 20), HS_SINK_FILE, NULL)) {
        start_ns = hs_now_ns();
        end_ns = start_ns + (hs_common.seconds ? hs_common.seconds * 1000 : run_ms) * 1000000;
        for (uint64_t i = 0; i < threads; i++)
            hs_thread_start(&handles[i], emit_and_move, &emitters[i]);
        for (uint64_t i = 0; i < threads; i++)
            hs_thread_join(handles[i]);
        if (hs_trace_stop(&trace))
            stream_check(emitters);
    }
    hs_trace_end(&trace);
    hs_emitters_free(emitters, (uint32_t)threads);
    free(handles);
    return hs_finish();
}
