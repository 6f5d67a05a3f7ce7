/*
 * Threads hold room without using it while others wait: the others must still be served.
 *
 *  - computing: most of the budget, and more grants than there are processors, is held until the
 *    others have emitted all they want, by one thread that computes and by others that sleep;
 *  - idle: sleeping threads hold all segments, partly used, and the drain sleeps; then one thread
 *    needs room: one segment, or half of the budget;
 *  - no-block scope: threads that may not wait do not drop for ever because idle threads hold
 *    unused room.
 */
#include <stdlib.h>
#include <string.h>
#include "emitter.h"
#include "harness.h"
#include "park.h"

#define SEGMENT_BYTES 4096u
#define SEGMENTS      16u
#define HOLDERS       12u
#define PRODUCERS     4u
#define EVENTS        20000u
#define LARGE_BYTES   28000u /* half of the budget */
#define BURST_EVENTS  400u   /* a third of the budget */
#define NEVER_MS      60000u /* the drain's timer must not help */

static struct hs_trace trace;
static bool may_exit; /* ANY */
static unsigned char data[LARGE_BYTES];
static uint64_t data_sum;

static struct weir_session_config config_of(enum weir_wake wake, uint64_t grant_segments)
{
    struct weir_session_config config =
        hs_block_config(wake, (uint64_t)SEGMENTS * SEGMENT_BYTES, SEGMENT_BYTES);
    config.grant_bytes = wake == WEIR_WAKE_RELAY ? grant_segments * SEGMENT_BYTES : 0;
    config.flush_ms = NEVER_MS;
    return config;
}

/* --- Holders. -------------------------------------------------------------------------------- */

static struct holder {
    struct hs_emitter *emitter;
    pthread_t handle;
    bool computes; /* after its first event; otherwise it sleeps */
    bool holds;    /* ANY */
} holders[SEGMENTS];

static void *hold(void *argument)
{
    struct holder *holder = argument;
    hs_emit(holder->emitter, HS_FIXED);
    __atomic_store_n(&holder->holds, true, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&may_exit, __ATOMIC_ACQUIRE))
        if (!holder->computes)
            hs_sleep_us(1000);
    hs_emit(holder->emitter, HS_FIXED); /* continues with the right number */
    return NULL;
}

/* Returns once the holder has room. */
static void holder_start(uint32_t i, struct hs_emitter *emitters, bool computes)
{
    holders[i] = (struct holder){.emitter = &emitters[i], .computes = computes};
    hs_thread_start(&holders[i].handle, hold, &holders[i]);
    while (!__atomic_load_n(&holders[i].holds, __ATOMIC_ACQUIRE))
        hs_sleep_us(100);
}

static void holders_end(uint32_t count)
{
    __atomic_store_n(&may_exit, true, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < count; i++)
        hs_thread_join(holders[i].handle);
    __atomic_store_n(&may_exit, false, __ATOMIC_RELEASE);
}

/* --- Computing. ------------------------------------------------------------------------------ */

static void *produce(void *argument)
{
    struct hs_emitter *emitter = argument;
    while (emitter->attempts < EVENTS)
        hs_emit(emitter, HS_FIXED);
    return NULL;
}

/* Returns when each producer has emitted its events. If one waits for ever, the watchdog barks. */
static void producers_run(struct hs_emitter *emitters)
{
    pthread_t producers[PRODUCERS];
    for (uint32_t i = 0; i < PRODUCERS; i++)
        hs_thread_start(&producers[i], produce, &emitters[i]);
    for (uint32_t i = 0; i < PRODUCERS; i++)
        hs_thread_join(producers[i]);
}

/* The producers emit a hundred times what the unheld room takes, so they wait again and again. No
 * holder does anything before they are done. */
static void computing_run(enum weir_wake wake, uint64_t grant_segments)
{
    struct hs_emitter *emitters = hs_emitters_new(HOLDERS + PRODUCERS, EVENTS);
    uint32_t count = HOLDERS / (uint32_t)grant_segments;
    if (!hs_trace_start(&trace, config_of(wake, grant_segments), HS_SINK_FILE, NULL))
        return;
    for (uint32_t i = 0; i < count; i++)
        holder_start(i, emitters, i == 0);
    producers_run(emitters + HOLDERS);
    holders_end(count);
    if (hs_trace_stop(&trace))
        hs_oracle_run(emitters, HOLDERS + PRODUCERS, &trace);
    hs_check(trace.stats.parks > 0, "%s: no thread waited", hs_wake_name(wake));
    hs_check(hs_lost(&trace.stats.counts) == 0, "%s: events were lost", hs_wake_name(wake));
    hs_figure_add("computing_wait_ms_max", (double)trace.stats.parked_ns_max / 1e6);
    hs_trace_end(&trace);
    hs_emitters_free(emitters, HOLDERS + PRODUCERS);
}

/* --- Idle. ----------------------------------------------------------------------------------- */

struct needy {
    struct hs_emitter *emitter;
    bool is_large; /* its event takes half of the budget */
};

static void *need_room(void *argument)
{
    const struct needy *needy = argument;
    struct hs_emitter *emitter = needy->emitter;
    if (!needy->is_large) {
        hs_check(hs_emit(emitter, HS_FIXED), "an event was not written");
        return NULL;
    }
    emitter->attempts = 1;
    emitter->written = Stress_Bytes(emitter->index, 0, LARGE_BYTES, data_sum, data, LARGE_BYTES);
    emitter->is_written[0] = emitter->written;
    hs_check(emitter->written, "a large event was not written: %s",
             weir_loss_name(weir_last_loss()));
    return NULL;
}

/* The drain has no other work for a minute: only the waiting thread can wake it. */
static void idle_run(enum weir_wake wake, bool needs_large)
{
    struct hs_emitter *emitters = hs_emitters_new(SEGMENTS + 1, 4);
    pthread_t handle;
    uint32_t count = 0;
    if (!hs_trace_start(&trace, config_of(wake, 0), HS_SINK_MEMORY, NULL))
        return;
    uint64_t budget = (uint64_t)SEGMENTS * SEGMENT_BYTES;
    while (count < SEGMENTS && hs_stats(trace.session).budget_bytes_used < budget)
        holder_start(count++, emitters, false);
    hs_check(hs_stats(trace.session).budget_bytes_used == budget, "there is room left");
    hs_sleep_us(20000);
    struct needy needy = {&emitters[SEGMENTS], needs_large};
    hs_thread_start(&handle, need_room, &needy);
    hs_thread_join(handle); /* if it does not return, the watchdog ends the program */
    uint64_t waited_ns = hs_stats(trace.session).parked_ns_max;
    hs_check(hs_stats(trace.session).parks > 0, "no thread waited, so nothing was tested");
    holders_end(count);
    if (hs_trace_stop(&trace))
        hs_oracle_run(emitters, SEGMENTS + 1, &trace);
    hs_figure(needs_large ? "idle_large_wait_ms" : "idle_wait_ms", (double)waited_ns / 1e6);
    hs_trace_end(&trace);
    hs_emitters_free(emitters, SEGMENTS + 1);
    hs_progress();
}

/* --- No-block. ------------------------------------------------------------------------------- */

/* Bursts of a third of the budget, with time for the drain between them, until a whole burst is
 * written. */
static void *burst(void *argument)
{
    struct hs_emitter *emitter = argument;
    uint64_t lost = 1;
    weir_no_block_begin();
    for (int round = 0; round < 100 && lost; round++) {
        uint64_t until = emitter->attempts + BURST_EVENTS;
        for (lost = 0; emitter->attempts < until;)
            lost += !hs_emit(emitter, HS_FIXED);
        hs_sleep_us(20000);
    }
    weir_no_block_end();
    hs_check(!lost, "a no-block scope never got room although the budget is unused");
    return NULL;
}

/* Four holders have a quarter of the budget each, and use it for one event. */
static void no_block_run(void)
{
    struct hs_emitter *emitters = hs_emitters_new(5, 100000);
    struct weir_session_config config = config_of(WEIR_WAKE_RELAY, 4);
    pthread_t handle;
    config.flush_ms = 10;
    if (!hs_trace_start(&trace, config, HS_SINK_MEMORY, NULL))
        return;
    for (uint32_t i = 0; i < 4; i++)
        holder_start(i, emitters, false);
    hs_thread_start(&handle, burst, &emitters[4]);
    hs_thread_join(handle);
    holders_end(4);
    if (hs_trace_stop(&trace))
        hs_oracle_run(emitters, 5, &trace);
    hs_check(trace.stats.parks == 0, "a thread in a no-block scope was parked");
    hs_figure("no_block_written", (double)emitters[4].written);
    hs_figure("no_block_lost", (double)(emitters[4].attempts - emitters[4].written));
    hs_trace_end(&trace);
    hs_emitters_free(emitters, 5);
}

int main(int argc, char **argv)
{
    hs_init(argc, argv, "Threads that hold unused room must not keep others waiting.", NULL);
    hs_emitters_init();
    data_sum = hs_checksum(HS_CHECKSUM_START, data, sizeof data);
    do {
        for (int wake = 0; wake < HS_WAKES; wake++) {
            computing_run((enum weir_wake)wake, 1);
            for (int i = 0; i < 10; i++)
                idle_run((enum weir_wake)wake, i % 2 == 1);
        }
        computing_run(WEIR_WAKE_RELAY, 4);
        no_block_run();
    } while (hs_time_is_left() && hs_failures() == 0);
    return hs_finish();
}
