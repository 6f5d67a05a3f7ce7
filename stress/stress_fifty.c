/*
 * Fifty threads one after the other through a small budget: each thread's loss count is exact, even
 * if it never got a segment. --trace keeps the stream, and --expect writes what another reader must
 * find in it, in the form that tests/interop/run.py compares.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "emitter.h"
#include "harness.h"
#include "sink.h"

#define FEEDERS 3u /* threads that come before those without a segment */

static uint64_t threads = 50, events = 20000, starved = 10;
static const char *trace_path, *expect_path;
static struct hs_trace trace;
static struct hs_sink_gate gate;

static void *emit_all(void *argument)
{
    struct hs_emitter *emitter = argument;
    for (uint64_t i = 0; i < events; i++)
        hs_emit(emitter, HS_FIXED);
    hs_emitter_settle(emitter, &trace);
    return NULL;
}

static void one_after_the_other(struct hs_emitter *emitters, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++) {
        pthread_t handle;
        hs_thread_start(&handle, emit_all, &emitters[i]);
        hs_thread_join(handle);
    }
}

/* While the sink stands still nothing is recycled: the thread after which the drain stops, or the
 * next one, takes the whole budget, and then `starved` threads never get a segment. */
static uint64_t starve(struct hs_emitter *emitters)
{
    uint64_t without = 0;
    one_after_the_other(emitters, 0, 1);
    hs_gate_close(&gate);
    one_after_the_other(emitters, 1, 2);
    hs_check(hs_gate_wait(&gate), "the drain did not write");
    one_after_the_other(emitters, 2, FEEDERS + starved);
    hs_gate_open(&gate);
    for (uint64_t i = FEEDERS; i < FEEDERS + starved; i++)
        without += emitters[i].written == 0;
    return without;
}

static void expectation_write(const struct hs_emitter *emitters, const struct hs_stream *stream)
{
    uint64_t written = 0, lost = 0;
    for (uint64_t i = 0; i < threads; i++) {
        written += emitters[i].written;
        lost += emitters[i].attempts - emitters[i].written;
    }
    FILE *file = fopen(expect_path, "we");
    if (!hs_check(file != NULL, "cannot write %s: %s", expect_path, strerror(errno)))
        return;
    fprintf(file,
            "{\"events\": {\"Stress/1\": %llu, \"Weir/1\": %llu}, \"events_lost\": %llu, "
            "\"rising\": true}\n",
            (unsigned long long)written, (unsigned long long)stream->loss_events,
            (unsigned long long)lost);
    hs_check(fclose(file) == 0, "cannot write %s", expect_path);
}

static void round_run(struct hs_emitter *emitters)
{
    hs_emitters_reset(emitters, (uint32_t)threads);
    struct weir_session_config config = hs_trace_config(1u << 20);
    hs_gate_init(&gate, trace_path);
    config.sink.write = hs_gate_write;
    config.sink.context = &gate;
    if (hs_trace_start(&trace, config, HS_SINK_MEMORY, NULL)) {
        uint64_t without = starve(emitters);
        one_after_the_other(emitters, FEEDERS + starved, threads);
        bool is_stopped = hs_trace_stop(&trace);
        hs_gate_finish(&gate, &trace);
        if (is_stopped) {
            hs_oracle_run(emitters, (uint32_t)threads, &trace);
            struct hs_stream stream;
            hs_stream_read(&stream, &trace, NULL, NULL);
            if (expect_path)
                expectation_write(emitters, &stream);
            hs_stream_free(&stream);
        }
        hs_check(without >= starved, "only %llu threads never got a segment",
                 (unsigned long long)without);
        hs_figure_add("threads_without_segment", (double)without);
    }
    hs_trace_end(&trace);
}

int main(int argc, char **argv)
{
    const struct hs_option options[] = {
        {"threads", "one after the other", &threads, NULL},
        {"starved", "of them, that never get a segment", &starved, NULL},
        {"events", "per thread", &events, NULL},
        {"trace", "file to keep the stream in", NULL, &trace_path},
        {"expect", "file for the expectation, as JSON", NULL, &expect_path},
        {NULL, NULL, NULL, NULL}};
    hs_init(argc, argv,
            "Threads one after the other, flat out through 1 MB: the loss of each is exact.",
            options);
    if (threads < starved + FEEDERS)
        threads = starved + FEEDERS;
    hs_emitters_init();
    struct hs_emitter *emitters = hs_emitters_new((uint32_t)threads, events);
    do {
        round_run(emitters);
    } while (hs_time_is_left() && hs_failures() == 0);
    hs_emitters_free(emitters, (uint32_t)threads);
    return hs_finish();
}
