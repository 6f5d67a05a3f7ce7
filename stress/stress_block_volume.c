/*
 * Any volume of events in BLOCK, in places where only the session itself drains:
 *
 *  - a provider's callback that emits many times the budget when the session starts, and one that
 *    is parked when its session is stopped;
 *  - a rundown of many times the budget, with events of many segments: no thread is parked, nothing
 *    is lost.
 */
#include <stdlib.h>
#include "emitter.h"
#include "harness.h"
#include "park.h"
#include "sink.h"

#define SEGMENT 4096u
#define BUDGET  ((uint64_t)16 * SEGMENT)

static uint64_t events = 100000;
static struct hs_trace trace;

/* --- A callback. ----------------------------------------------------------------------------- */

static struct hs_emitter *called;     /* emits in the callback; NULL: the callback emits nothing */
static uint64_t called_events;        /* how many */
static uint64_t calls, calls_refused; /* ANY: calls begun; events lost in them */

static void on_provider(void *context, bool enabled, uint8_t level, uint64_t keywords)
{
    (void)context;
    (void)level;
    (void)keywords;
    if (!enabled || !called)
        return;
    __atomic_fetch_add(&calls, 1, __ATOMIC_RELEASE);
    for (uint64_t i = 0; i < called_events; i++)
        if (!hs_emit(called, i % 50 ? HS_FIXED : HS_BYTES)) {
            __atomic_fetch_add(&calls_refused, 1, __ATOMIC_RELEASE);
            return;
        }
}

static struct weir_session_config config_of(enum weir_wake wake)
{
    struct weir_session_config config = hs_block_config(wake, BUDGET, SEGMENT);
    config.providers = "Stress,StressVolume";
    return config;
}

static void *start_session(void *session)
{
    enum weir_result result = weir_session_start(session, NULL);
    hs_check(result == WEIR_OK, "start: %s", weir_result_text(result));
    return NULL;
}

/* The thread that starts the session parks in the callback. The sink stands still until then, so
 * the drain's speed does not decide whether it parks. */
static bool start_parked(enum weir_wake wake, struct hs_sink_gate *gate, pthread_t *starter)
{
    struct weir_session_config config = config_of(wake);
    hs_gate_init(gate, NULL);
    hs_gate_close(gate);
    config.sink.write = hs_gate_write;
    config.sink.context = gate;
    trace = (struct hs_trace){.session = NULL};
    if (!hs_check(weir_session_create(&config, &trace.session, NULL) == WEIR_OK, "create"))
        return false;
    hs_thread_start(starter, start_session, trace.session);
    hs_wait_parked(trace.session, 1);
    hs_gate_open(gate);
    return true;
}

static void callback_emits_much(enum weir_wake wake)
{
    struct hs_emitter *emitter = hs_emitters_new(1, events);
    struct hs_sink_gate gate;
    pthread_t starter;
    called = emitter;
    called_events = events;
    __atomic_store_n(&calls_refused, 0, __ATOMIC_RELEASE);
    if (!start_parked(wake, &gate, &starter))
        return;
    hs_thread_join(starter);
    called = NULL;
    hs_check(emitter->written == events && calls_refused == 0,
             "%s: %llu of %llu events of a callback were written", hs_wake_name(wake),
             (unsigned long long)emitter->written, (unsigned long long)events);
    bool is_whole = hs_trace_stop(&trace);
    hs_gate_finish(&gate, &trace);
    if (is_whole) {
        hs_figure_add("parks", (double)trace.stats.parks);
        hs_check(hs_lost(&trace.stats.counts) == 0, "events were lost");
        hs_oracle_run(emitter, 1, &trace);
    }
    hs_trace_end(&trace);
    hs_emitters_free(emitter, 1);
    hs_progress();
}

/* --- A callback that is parked when its session is stopped. ---------------------------------- */

static void callback_is_aborted(enum weir_wake wake)
{
    struct hs_emitter *emitter = hs_emitters_new(1, 10000000);
    struct hs_sink_gate gate;
    pthread_t starter;
    called = emitter;
    called_events = UINT64_MAX;
    if (!start_parked(wake, &gate, &starter))
        return;
    /* The stop must wait for the sink, but not for the callback. */
    hs_trace_stop(&trace);
    hs_thread_join(starter);
    called = NULL;
    hs_check(trace.stats.counts.lost[WEIR_LOSS_ABORTED] <= 1 &&
                 hs_lost(&trace.stats.counts) == trace.stats.counts.lost[WEIR_LOSS_ABORTED],
             "%llu events were lost", (unsigned long long)hs_lost(&trace.stats.counts));
    hs_check(trace.stats.counts.written == emitter->written, "%llu written, %llu counted",
             (unsigned long long)emitter->written, (unsigned long long)trace.stats.counts.written);
    hs_gate_finish(&gate, &trace);
    hs_trace_end(&trace);
    hs_emitters_free(emitter, 1);
    hs_progress();
}

/* --- The rundown. ---------------------------------------------------------------------------- */

static struct hs_emitter *last; /* emits in the rundown */

/* Every eighth event is large: up to 16 segments, which is the whole budget. */
static void rundown(void *context, struct weir_session *session)
{
    (void)context;
    hs_check(hs_stats(session).parked_now == 0, "a thread is parked during a rundown");
    for (uint64_t i = 0; i < events / 8; i++)
        hs_emit(last, i % 8 ? HS_MIX : HS_LARGE);
}

static void *emit_until_refused(void *argument)
{
    while (hs_emit(argument, HS_FIXED)) {
    }
    return NULL;
}

static void large_rundown(enum weir_wake wake)
{
    struct hs_emitter *emitters = hs_emitters_new(2, 1000000);
    struct weir_session_config config = hs_block_config(wake, BUDGET, SEGMENT);
    pthread_t other;
    config.rundown = rundown;
    last = &emitters[0];
    last->scratch = hs_allocate(HS_SCRATCH_BYTES);
    if (!hs_trace_start(&trace, config, HS_SINK_FILE, NULL))
        return;
    hs_thread_start(&other, emit_until_refused, &emitters[1]);
    hs_sleep_us(2000);
    hs_trace_stop(&trace);
    hs_thread_join(other);
    const struct weir_counts *counts = &trace.stats.counts;
    uint64_t refused = last->too_large + last->mismatches;
    hs_check(last->attempts == last->written + refused,
             "%s: %llu events of the rundown, %llu written, %llu too large or mismatched",
             hs_wake_name(wake), (unsigned long long)last->attempts,
             (unsigned long long)last->written, (unsigned long long)refused);
    hs_check(last->large > 0 && trace.stats.bytes_sent > 10 * BUDGET,
             "%llu large events, %llu bytes", (unsigned long long)last->large,
             (unsigned long long)trace.stats.bytes_sent);
    /* The other thread's last attempt counts only if it found the events on. */
    emitters[1].attempts = emitters[1].written + counts->lost[WEIR_LOSS_ABORTED];
    hs_check(counts->lost[WEIR_LOSS_ABORTED] <= 1, "%llu events were aborted",
             (unsigned long long)counts->lost[WEIR_LOSS_ABORTED]);
    last->is_shared = last->is_visiting = true; /* the drain thread also has other events */
    hs_oracle_run(emitters, 2, &trace);
    hs_figure_add("rundown_events", (double)last->written);
    hs_figure_add("rundown_large", (double)last->large);
    hs_trace_end(&trace);
    free(last->scratch);
    hs_emitters_free(emitters, 2);
    hs_progress();
}

int main(int argc, char **argv)
{
    const struct hs_option options[] = {{"events", "per callback", &events, NULL},
                                        {NULL, NULL, NULL, NULL}};
    struct weir_provider *provider;
    hs_init(argc, argv, "Callbacks and rundowns that emit any volume in BLOCK.", options);
    hs_emitters_init();
    hs_check(weir_provider_create("StressVolume", on_provider, NULL, &provider, NULL) == WEIR_OK,
             "provider");
    do {
        for (int wake = 0; wake < HS_WAKES; wake++) {
            callback_emits_much((enum weir_wake)wake);
            callback_is_aborted((enum weir_wake)wake);
            large_rundown((enum weir_wake)wake);
        }
    } while (hs_time_is_left() && hs_failures() == 0);
    weir_provider_destroy(provider);
    return hs_finish();
}
