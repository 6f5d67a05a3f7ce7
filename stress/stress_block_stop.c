/*
 * The end of a BLOCK session while threads are parked: all of them leave, each loses its one event,
 * and no thread waits for another that waits.
 *
 *  - a stop while the sink stands still, which ends in time or at its deadline;
 *  - a sink that fails, at its first write or later;
 *  - a reader that goes away: before the first byte, in the middle, and during the last flush;
 *  - a stop while threads are on their way into the queue.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <reader.h>
#include "emitter.h"
#include "harness.h"
#include "park.h"
#include "sink.h"

#define PARKED   32u
#define BUDGET   (256u << 10)
#define SEGMENT  4096u
#define NS_PER_S UINT64_C(1000000000)
#define FLUSH_MS 100u
#define NEVER_MS 60000u /* flush interval: the stop's flush comes first */

static uint64_t rounds = 20;
static struct hs_trace trace;

/* --- Threads that emit until an event is lost. ----------------------------------------------- */

static struct loser {
    struct hs_emitter *emitter;
    pthread_t handle;
    bool goes_on;    /* after the loss it makes more attempts */
    bool was_parked; /* when the end comes; otherwise it may also find the events off */
} losers[PARKED];

static void *emit_until_lost(void *argument)
{
    struct loser *loser = argument;
    while (hs_emit(loser->emitter, loser->emitter->attempts % 7 ? HS_FIXED : HS_BYTES)) {
    }
    hs_check(!loser->was_parked || weir_last_loss() == WEIR_LOSS_ABORTED,
             "emitter %u: the loss is %s", loser->emitter->index, weir_loss_name(weir_last_loss()));
    /* The gate closes when all events are off. A thread that was not parked may find its own event off
     * while another is still on. */
    while (loser->goes_on && !loser->was_parked && weir_event_is_enabled(&weir_events_Stress.Fixed))
        hs_sleep_us(200);
    for (int i = 0; loser->goes_on && i < 100; i++)
        hs_check(!hs_emit(loser->emitter, HS_FIXED), "an event was written after the end");
    return NULL;
}

static void losers_start(struct hs_emitter *emitters, bool go_on, bool will_park)
{
    for (uint32_t i = 0; i < PARKED; i++) {
        losers[i] =
            (struct loser){.emitter = &emitters[i], .goes_on = go_on, .was_parked = will_park};
        hs_thread_start(&losers[i].handle, emit_until_lost, &losers[i]);
    }
}

static void losers_join(void)
{
    for (uint32_t i = 0; i < PARKED; i++)
        hs_thread_join(losers[i].handle);
    hs_progress();
}

/* --- Stop while the sink stands still. ------------------------------------------------------- */

static bool stand_still(struct hs_sink_gate *gate, enum weir_wake wake, uint32_t stop_ms)
{
    struct weir_session_config config = hs_block_config(wake, BUDGET, SEGMENT);
    hs_gate_init(gate, NULL);
    config.sink.write = hs_gate_write;
    config.sink.context = gate;
    config.stop_ms_max = stop_ms;
    if (!hs_trace_start(&trace, config, HS_SINK_MEMORY, NULL))
        return false;
    hs_gate_close(gate);
    return true;
}

struct stop {
    pthread_t handle;
    uint64_t took_ns;
    enum weir_result result;
};

static void *stop_run(void *argument)
{
    struct stop *stop = argument;
    uint64_t start_ns = hs_now_ns();
    stop->result = weir_session_stop(trace.session, NULL);
    stop->took_ns = hs_now_ns() - start_ns;
    return NULL;
}

/* All of them were in the queue: each loses one event, the last of its thread. */
static void aborted_check(enum weir_wake wake, struct hs_emitter *emitters)
{
    uint64_t aborted = trace.stats.counts.lost[WEIR_LOSS_ABORTED];
    hs_check(aborted == PARKED && hs_lost(&trace.stats.counts) == PARKED,
             "%s: %u threads were parked; %llu events are counted as ABORTED, %llu as lost",
             hs_wake_name(wake), PARKED, (unsigned long long)aborted,
             (unsigned long long)hs_lost(&trace.stats.counts));
    hs_check(trace.stats.parked_now == 0, "%llu threads are still parked",
             (unsigned long long)trace.stats.parked_now);
    hs_oracle_run(emitters, PARKED, &trace);
}

static void stop_while_parked(enum weir_wake wake)
{
    struct hs_emitter *emitters = hs_emitters_new(PARKED, 1000000);
    struct hs_sink_gate gate;
    struct stop stop = {.result = WEIR_OK};
    if (!stand_still(&gate, wake, 60000))
        return;
    losers_start(emitters, false, true);
    hs_wait_parked(trace.session, PARKED);
    uint64_t start_ns = hs_now_ns();
    hs_thread_start(&stop.handle, stop_run, &stop);
    losers_join(); /* the sink still stands still */
    hs_figure("left_after_ms", (double)(hs_now_ns() - start_ns) / 1e6);
    hs_gate_open(&gate);
    hs_thread_join(stop.handle);
    hs_figure("stop_ms", (double)stop.took_ns / 1e6);
    hs_check(stop.result == WEIR_OK, "stop: %s", weir_result_text(stop.result));
    hs_trace_stop(&trace);
    hs_gate_finish(&gate, &trace);
    aborted_check(wake, emitters);
    hs_trace_end(&trace);
    hs_emitters_free(emitters, PARKED);
}

/* The first stop gives up at its deadline; the next one completes the stream. */
static void stop_at_deadline(enum weir_wake wake)
{
    struct hs_emitter *emitters = hs_emitters_new(PARKED, 1000000);
    struct hs_sink_gate gate;
    struct stop stop = {.result = WEIR_OK};
    if (!stand_still(&gate, wake, 300))
        return;
    losers_start(emitters, false, true);
    hs_wait_parked(trace.session, PARKED);
    stop_run(&stop);
    hs_check(stop.result == WEIR_TIMEOUT, "stop while the sink stands still: %s",
             weir_result_text(stop.result));
    hs_check(stop.took_ns < 5 * NS_PER_S, "it took %llu ns", (unsigned long long)stop.took_ns);
    hs_figure("stop_at_300_ms", (double)stop.took_ns / 1e6);
    losers_join();
    hs_gate_open(&gate);
    while (weir_session_stop(trace.session, NULL) == WEIR_TIMEOUT) {
    }
    hs_trace_stop(&trace);
    hs_gate_finish(&gate, &trace);
    aborted_check(wake, emitters);
    hs_trace_end(&trace);
    hs_emitters_free(emitters, PARKED);
}

/* A thread's last attempt may have found the events off; then it does not count as an attempt. */
static void stream_check(const struct hs_emitter *emitters)
{
    struct hs_stream stream;
    const struct weir_counts *counts = &trace.stats.counts;
    uint64_t written = 0, aborted = counts->lost[WEIR_LOSS_ABORTED];
    for (uint32_t i = 0; i < PARKED; i++)
        written += emitters[i].written;
    hs_stream_read(&stream, &trace, NULL, NULL);
    hs_check(stream.events == written && counts->written == written,
             "%llu events written, %llu in the stream, %llu counted", (unsigned long long)written,
             (unsigned long long)stream.events, (unsigned long long)counts->written);
    hs_check(aborted <= PARKED && hs_lost(counts) == aborted &&
                 stream.lost_by_cause[WEIR_LOSS_ABORTED] == aborted,
             "%llu are counted as ABORTED", (unsigned long long)aborted);
    hs_figure_add("aborted_at_any_moment", (double)aborted);
    hs_stream_free(&stream);
}

/* Threads are on their way into the queue and may not have arrived: no wake may be lost. */
static void stop_at_any_moment(enum weir_wake wake, uint64_t after_us)
{
    struct hs_emitter *emitters = hs_emitters_new(PARKED, 1000000);
    struct weir_session_config config = hs_block_config(wake, 16 * SEGMENT, SEGMENT);
    if (!hs_trace_start(&trace, config, HS_SINK_MEMORY, NULL))
        return;
    losers_start(emitters, false, false);
    hs_sleep_us(after_us);
    uint64_t start_ns = hs_now_ns();
    hs_trace_stop(&trace);
    uint64_t took_ns = hs_now_ns() - start_ns;
    hs_check(took_ns < 20 * NS_PER_S, "%s: a stop took %llu ns", hs_wake_name(wake),
             (unsigned long long)took_ns);
    losers_join();
    stream_check(emitters);
    hs_figure_add("stops_at_any_moment", 1);
    hs_trace_end(&trace);
    hs_emitters_free(emitters, PARKED);
}

/* The same while the sink stands still, at the moment at which threads queue: a thread that entered
 * the queue after the others were sent away would stay there, because no segment comes back. */
static void stop_when_they_queue(enum weir_wake wake, uint64_t parked)
{
    struct hs_emitter *emitters = hs_emitters_new(PARKED, 1000000);
    struct hs_sink_gate gate;
    struct stop stop = {.result = WEIR_OK};
    if (!stand_still(&gate, wake, 60000))
        return;
    losers_start(emitters, false, false);
    while (hs_stats(trace.session).parked_now < parked) {
    }
    uint64_t start_ns = hs_now_ns();
    hs_thread_start(&stop.handle, stop_run, &stop);
    losers_join();
    uint64_t took_ns = hs_now_ns() - start_ns;
    hs_check(took_ns < 20 * NS_PER_S, "%s: it took %llu ns until all had left", hs_wake_name(wake),
             (unsigned long long)took_ns);
    hs_gate_open(&gate);
    hs_thread_join(stop.handle);
    hs_trace_stop(&trace);
    hs_gate_finish(&gate, &trace);
    stream_check(emitters);
    hs_trace_end(&trace);
    hs_emitters_free(emitters, PARKED);
}

/* --- A sink that fails. ---------------------------------------------------------------------- */

/* Takes a given number of bytes, stands still until it may fail, and fails. What it took is
 * kept. */
static struct failing {
    uint64_t takes;
    unsigned char *bytes;
    uint64_t taken;
    bool stands_still; /* ANY */
    bool may_fail;     /* ANY */
    uint64_t told;     /* ANY: calls of on_error */
} failing;

static bool take_some(void *context, const void *bytes, size_t count)
{
    struct failing *sink = context;
    if (sink->taken + count <= sink->takes) {
        memcpy(sink->bytes + sink->taken, bytes, count);
        sink->taken += count;
        return true;
    }
    __atomic_store_n(&sink->stands_still, true, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&sink->may_fail, __ATOMIC_ACQUIRE))
        hs_sleep_us(200);
    return false;
}

static void on_error(void *context, enum weir_result result, const char *text)
{
    struct failing *sink = context;
    hs_check(result == WEIR_IO && strstr(text, "returned false"), "on_error: %s",
             weir_result_text(result));
    hs_check(weir_session_stop(trace.session, NULL) == WEIR_BAD_STATE, "a stop in on_error");
    __atomic_fetch_add(&sink->told, 1, __ATOMIC_RELEASE);
}

static void count_event(void *context, const struct wt_event *event)
{
    if (strcmp(event->metadata->provider_name, "Stress") == 0)
        ++*(uint64_t *)context;
}

/* The events that are whole in the bytes that the sink took. */
static uint64_t events_taken(void)
{
    uint64_t events = 0;
    struct wt_memory_source memory = {.bytes = failing.bytes, .size = failing.taken};
    struct wt_source source = wt_source_memory(&memory);
    struct wt_handlers handlers = {.event = count_event};
    struct wt_reader *reader;
    if (!hs_check(wt_reader_create(&reader, &source, NULL, &handlers, &events) == WT_OK, "reader"))
        return 0;
    enum wt_status status = wt_reader_run(reader);
    hs_check(failing.taken == 0 || status == WT_TRUNCATED, "what was taken: %s",
             wt_reader_error(reader)->text);
    wt_reader_destroy(reader);
    return events;
}

/* `written`: by the emitters. */
static void delivered_check(uint64_t written)
{
    const struct weir_counts *counts = &trace.stats.counts;
    hs_check(counts->written == events_taken(), "%llu events in the sink, %llu counted as written",
             (unsigned long long)events_taken(), (unsigned long long)counts->written);
    hs_check(counts->written + counts->lost[WEIR_LOSS_SINK_FAILED] == written,
             "%llu recorded; %llu counted as written, %llu as not delivered",
             (unsigned long long)written, (unsigned long long)counts->written,
             (unsigned long long)counts->lost[WEIR_LOSS_SINK_FAILED]);
}

static void failure_check(const struct hs_emitter *emitters)
{
    uint64_t attempts = 0, written = 0;
    const struct weir_counts *counts = &trace.stats.counts;
    for (uint32_t i = 0; i < PARKED; i++) {
        attempts += emitters[i].attempts;
        written += emitters[i].written;
    }
    hs_check(failing.told == 1, "on_error was called %llu times", (unsigned long long)failing.told);
    /* Their later attempts found the events off. */
    hs_check(counts->attempted == written + PARKED && attempts == written + PARKED * 101,
             "%llu attempts, %llu written, %llu counted as attempts", (unsigned long long)attempts,
             (unsigned long long)written, (unsigned long long)counts->attempted);
    delivered_check(written);
    hs_check(counts->lost[WEIR_LOSS_ABORTED] == PARKED, "%llu are counted as ABORTED",
             (unsigned long long)counts->lost[WEIR_LOSS_ABORTED]);
}

static bool start_failing(enum weir_wake wake, uint64_t takes, bool fails_at_once,
                          uint32_t flush_ms)
{
    struct weir_session_config config = hs_block_config(wake, BUDGET, SEGMENT);
    unsigned char *bytes = failing.bytes ? failing.bytes : hs_allocate(8u << 20);
    failing = (struct failing){.takes = takes, .bytes = bytes, .may_fail = fails_at_once};
    config.flush_ms = flush_ms;
    config.sink.write = take_some;
    config.sink.context = &failing;
    config.on_error = on_error;
    config.on_error_context = &failing;
    return hs_trace_start(&trace, config, HS_SINK_MEMORY, NULL);
}

static void stop_failed(void)
{
    enum weir_result result = weir_session_stop(trace.session, NULL);
    hs_check(result == WEIR_IO, "stop after the sink failed: %s", weir_result_text(result));
    trace.stats = (struct weir_stats)WEIR_STATS_INIT;
    hs_check(weir_session_stats(trace.session, &trace.stats) == WEIR_OK, "stats");
}

static void fail_while_parked(enum weir_wake wake, uint64_t takes)
{
    struct hs_emitter *emitters = hs_emitters_new(PARKED, 1000000);
    if (!start_failing(wake, takes, false, FLUSH_MS))
        return;
    losers_start(emitters, true, true);
    while (!__atomic_load_n(&failing.stands_still, __ATOMIC_ACQUIRE))
        hs_sleep_us(200);
    hs_wait_parked(trace.session, PARKED);
    __atomic_store_n(&failing.may_fail, true, __ATOMIC_RELEASE);
    losers_join(); /* the session has not been stopped yet */
    hs_check(!weir_event_is_enabled(&weir_events_Stress.Fixed), "an event is still enabled");
    stop_failed();
    failure_check(emitters);
    hs_trace_end(&trace);
    hs_emitters_free(emitters, PARKED);
}

/* The very first write fails, at about the time at which the start enables the events. */
static void fail_at_once(enum weir_wake wake, uint64_t random)
{
    struct hs_emitter *emitter = hs_emitters_new(1, 1000000);
    if (!start_failing(wake, 0, true, FLUSH_MS))
        return;
    hs_sleep_us(random % 200);
    while (weir_event_is_enabled(&weir_events_Stress.Fixed))
        hs_emit(emitter, HS_FIXED);
    hs_check(!hs_emit(emitter, HS_FIXED), "an event was written after the end");
    stop_failed();
    hs_check(failing.told == 1, "on_error was called %llu times", (unsigned long long)failing.told);
    hs_check(trace.stats.counts.written == 0, "an event counts as written, but the sink took none");
    hs_trace_end(&trace);
    hs_emitters_free(emitter, 1);
    hs_progress();
}

/* --- A reader that goes away. ---------------------------------------------------------------- */

static void on_broken_pipe(void *context, enum weir_result result, const char *text)
{
    hs_check(result == WEIR_IO && strstr(text, "Broken pipe"), "on_error: %s", text);
    __atomic_fetch_add((uint64_t *)context, 1, __ATOMIC_RELEASE);
}

/* The pipe holds 64 KiB: the drain is in the middle of a block when its reader goes. */
static void reader_leaves(enum weir_wake wake, bool while_parked)
{
    struct hs_emitter *emitters = hs_emitters_new(PARKED, 1000000);
    struct weir_session_config config = hs_block_config(wake, BUDGET, SEGMENT);
    uint64_t told = 0;
    int ends[2];
    if (!hs_check(pipe(ends) == 0, "no pipe"))
        return;
    config.sink.descriptor = ends[1];
    config.on_error = on_broken_pipe;
    config.on_error_context = &told;
    trace = (struct hs_trace){.session = NULL};
    if (!hs_check(weir_session_create(&config, &trace.session, NULL) == WEIR_OK &&
                      weir_session_start(trace.session, NULL) == WEIR_OK,
                  "start"))
        return;
    if (!while_parked)
        close(ends[0]);
    losers_start(emitters, true, while_parked);
    if (while_parked) {
        hs_wait_parked(trace.session, PARKED);
        close(ends[0]);
    }
    losers_join();
    stop_failed();
    hs_check(told == 1, "on_error was called %llu times", (unsigned long long)told);
    hs_trace_end(&trace);
    close(ends[1]);
    hs_emitters_free(emitters, PARKED);
}

/* Only the flush of the stop is left. */
static void reader_leaves_at_the_end(void)
{
    struct hs_emitter *emitter = hs_emitters_new(1, 100);
    if (!start_failing(WEIR_WAKE_RELAY, 2000, true, NEVER_MS))
        return;
    for (int i = 0; i < 100; i++)
        hs_emit(emitter, HS_FIXED);
    stop_failed();
    hs_check(failing.told == 1, "on_error was called %llu times", (unsigned long long)failing.told);
    delivered_check(emitter->written); /* the drain's first look may deliver some */
    hs_trace_end(&trace);
    hs_emitters_free(emitter, 1);
}

int main(int argc, char **argv)
{
    const struct hs_option options[] = {{"rounds", "stops at random moments", &rounds, NULL},
                                        {NULL, NULL, NULL, NULL}};
    uint64_t random = 1;
    hs_init(argc, argv, "BLOCK sessions end while threads are parked.", options);
    hs_emitters_init();
    do {
        for (int i = 0; i < HS_WAKES; i++) {
            enum weir_wake wake = (enum weir_wake)i;
            stop_while_parked(wake);
            stop_at_deadline(wake);
            fail_while_parked(wake, 0);
            fail_while_parked(wake, 4u << 20);
            reader_leaves(wake, false);
            reader_leaves(wake, true);
            for (uint64_t round = 0; round < rounds; round++) {
                stop_at_any_moment(wake, hs_next(&random) % 2000);
                stop_when_they_queue(wake, 1 + hs_next(&random) % (PARKED - 1));
                fail_at_once(wake, hs_next(&random));
            }
        }
        reader_leaves_at_the_end();
    } while (hs_time_is_left() && hs_failures() == 0);
    free(failing.bytes);
    return hs_finish();
}
