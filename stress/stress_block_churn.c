/*
 * BLOCK sessions while other things happen:
 *
 *  - sessions that start and stop while threads emit, park, and come and go;
 *  - signal handlers that emit, in threads that emit and in threads that are parked;
 *  - forks while others are parked: by a thread that also emits, by a handler that interrupts a
 *    parked thread, and by on_park.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include "child.h"
#include "emitter.h"
#include "harness.h"
#include "park.h"
#include "session/ablation.h"
#include "sink.h"

#define SLOTS       6u
#define LIFE_EVENTS 2000u
#define SEGMENT     4096u
#define ERRNO_MARK  123
#define CHILD_MS    20000

static uint64_t run_ms = 2000, sessions_at_once = 3, forks = 24;
static bool is_over; /* ANY */

/* --- Threads that come and go. --------------------------------------------------------------- */

static struct hs_emitter slots[SLOTS];

/* Each thread uses a single event: a start or stop switches events one by one, and the numbers are
 * compared below. */
static void *live(void *argument)
{
    static const enum hs_shape shapes[] = {HS_FIXED, HS_TEXT, HS_BYTES};
    struct hs_emitter *emitter = argument;
    for (uint32_t i = 0; i < LIFE_EVENTS; i++)
        hs_emit(emitter, shapes[emitter->index % 3]);
    return NULL;
}

static void *lives_run(void *argument)
{
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
        pthread_t thread;
        hs_thread_start(&thread, live, argument);
        hs_thread_join(thread);
    }
    return NULL;
}

/* --- Sessions that come and go. -------------------------------------------------------------- */

/* Each attempt while the session runs takes a number, so numbers and counters advance together. */
struct watch {
    uint64_t capture[SLOTS], number[SLOTS], counter[SLOTS];
};

static void on_event(void *context, const struct hs_event *event)
{
    struct watch *watch = context;
    uint32_t slot = hs_event_emitter(event);
    uint64_t counter = hs_event_counter(event);
    if (!hs_check(slot < SLOTS && hs_event_is_intact(event), "an event is not intact"))
        return;
    hs_check(watch->capture[slot] != event->capture->id ||
                 counter - watch->counter[slot] == event->number - watch->number[slot],
             "slot %u: from event %llu to %llu, but the numbers are %llu and %llu", slot,
             (unsigned long long)watch->counter[slot], (unsigned long long)counter,
             (unsigned long long)watch->number[slot], (unsigned long long)event->number);
    watch->capture[slot] = event->capture->id;
    watch->number[slot] = event->number;
    watch->counter[slot] = counter;
}

/* Nothing is lost except at the end, or by the deadline if there is one. */
static void stream_check(const struct hs_trace *trace, bool has_deadline)
{
    struct watch watch = {{0}, {0}, {0}};
    struct hs_stream stream;
    const struct weir_counts *counts = &trace->stats.counts;
    uint64_t expected =
        counts->lost[WEIR_LOSS_ABORTED] + (has_deadline ? counts->lost[WEIR_LOSS_DEADLINE] : 0);
    hs_stream_read(&stream, trace, on_event, &watch);
    hs_check(stream.events == counts->written, "%llu events in the stream, %llu counted as written",
             (unsigned long long)stream.events, (unsigned long long)counts->written);
    hs_check(hs_lost(counts) == expected, "%llu events were lost, %llu of them as ABORTED",
             (unsigned long long)hs_lost(counts),
             (unsigned long long)counts->lost[WEIR_LOSS_ABORTED]);
    for (unsigned cause = 0; cause < WEIR_LOSS_COUNT; cause++)
        hs_check(stream.lost_by_cause[cause] == counts->lost[cause],
                 "lost by %s: %llu in the stream, %llu counted",
                 weir_loss_name((enum weir_loss)cause),
                 (unsigned long long)stream.lost_by_cause[cause],
                 (unsigned long long)counts->lost[cause]);
    hs_figure_add("sessions", 1);
    hs_figure_add("session_parks", (double)trace->stats.parks);
    hs_figure_add("session_written", (double)counts->written);
    hs_stream_free(&stream);
}

static void session_run(uint64_t random)
{
    struct hs_trace trace;
    enum weir_wake wake = (enum weir_wake)(random % HS_WAKES);
    struct weir_session_config config =
        hs_block_config(wake, (random & 64 ? 64u : 512u) << 10, random & 128 ? 4096 : 32768);
    config.flush_ms = (uint32_t)(1 + random % 30);
    config.max_block_ns = random & 256 ? 100000 : 0;
    if (!hs_trace_create(&trace, config, random & 1024 ? HS_SINK_FILE : HS_SINK_MEMORY, NULL))
        return;
    if (wake == WEIR_WAKE_RELAY)
        wr_session_ablate(trace.session, random >> 9 & 7);
    if (!hs_trace_begin(&trace))
        return;
    hs_sleep_us(random >> 16 & 0x3FFF);
    if (hs_trace_stop(&trace))
        stream_check(&trace, config.max_block_ns != 0);
    hs_trace_end(&trace);
    hs_progress();
}

static void *control(void *argument)
{
    uint64_t random = hs_random(21, (uint64_t)(uintptr_t)argument);
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE))
        session_run(hs_next(&random));
    return NULL;
}

static void sessions_run(void)
{
    pthread_t threads[SLOTS], controllers[16];
    __atomic_store_n(&is_over, false, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < SLOTS; i++) {
        slots[i] = (struct hs_emitter){.index = i, .capacity = UINT64_MAX};
        hs_thread_start(&threads[i], lives_run, &slots[i]);
    }
    for (uint64_t i = 0; i < sessions_at_once && i < 16; i++)
        hs_thread_start(&controllers[i], control, (void *)(uintptr_t)i);
    hs_sleep_us(run_ms * 1000);
    __atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
    for (uint64_t i = 0; i < sessions_at_once && i < 16; i++)
        hs_thread_join(controllers[i]);
    for (uint32_t i = 0; i < SLOTS; i++)
        hs_thread_join(threads[i]);
}

/* --- Signal handlers. ------------------------------------------------------------------------ */

enum { SOURCE_NORMAL, SOURCE_HANDLER, SOURCES };
#define SHOT_AT 4u

static struct hs_trace *signals_trace;
static __thread struct hs_emitter *own; /* the first of SOURCES emitters */
static __thread bool is_parked;         /* the state that the handler should find */
static uint64_t shots_at_parked;        /* ANY */

static void handler(int signal)
{
    (void)signal;
    int saved = errno;
    struct hs_emitter *mine = own;
    if (mine) {
        errno = ERRNO_MARK;
        bool is_written = hs_emit(&mine[SOURCE_HANDLER], HS_FIXED);
        hs_check(errno == ERRNO_MARK, "emit in a handler changed errno to %d", errno);
        hs_check(is_written || weir_last_loss() == WEIR_LOSS_NESTED,
                 "a handler's event was lost: %s", weir_loss_name(weir_last_loss()));
        __atomic_fetch_add(&shots_at_parked, is_parked, __ATOMIC_RELAXED);
    }
    errno = saved;
}

static void *emit_and_be_shot(void *argument)
{
    own = argument;
    for (uint64_t i = 0; !__atomic_load_n(&is_over, __ATOMIC_ACQUIRE); i++) {
        errno = ERRNO_MARK;
        is_parked = true;
        hs_check(hs_emit(&own[SOURCE_NORMAL], i % 9 ? HS_FIXED : HS_TEXT), "an event was lost: %s",
                 weir_loss_name(weir_last_loss()));
        is_parked = false;
        hs_check(errno == ERRNO_MARK, "emit changed errno to %d", errno);
    }
    struct hs_emitter *mine = own;
    own = NULL;
    /* The handler's events may all be nested; then the stream does not show which thread lost
     * them. */
    hs_emitter_settle(&mine[SOURCE_HANDLER], signals_trace);
    return NULL;
}

static void shoot(const pthread_t *threads, uint64_t rounds, uint64_t pause_us)
{
    for (uint64_t i = 0; i < rounds; i++) {
        for (uint32_t k = 0; k < SHOT_AT; k++)
            pthread_kill(threads[k], SIGUSR1);
        hs_sleep_us(pause_us);
    }
}

/* At first all are parked, until the gate opens; then they emit. A handler mostly interrupts the
 * library, and its event is counted as NESTED. */
static void signals_run(enum weir_wake wake)
{
    struct hs_emitter *emitters = hs_emitters_new(SHOT_AT * SOURCES, 4000000);
    struct weir_session_config config = hs_block_config(wake, 16 * SEGMENT, SEGMENT);
    struct hs_sink_gate gate;
    struct hs_trace trace;
    pthread_t threads[SHOT_AT];
    hs_gate_init(&gate, NULL);
    config.sink.write = hs_gate_write;
    config.sink.context = &gate;
    signals_trace = &trace;
    __atomic_store_n(&is_over, false, __ATOMIC_RELEASE);
    __atomic_store_n(&shots_at_parked, 0, __ATOMIC_RELAXED);
    if (!hs_trace_start(&trace, config, HS_SINK_MEMORY, NULL))
        return;
    hs_gate_close(&gate);
    for (uint32_t i = 0; i < SHOT_AT; i++) {
        emitters[i * SOURCES].is_shared = emitters[i * SOURCES + 1].is_shared = true;
        hs_thread_start(&threads[i], emit_and_be_shot, &emitters[i * SOURCES]);
    }
    hs_gate_wait(&gate);
    hs_wait_parked(trace.session, SHOT_AT);
    uint64_t nested = hs_stats(trace.session).counts.lost[WEIR_LOSS_NESTED];
    hs_check(nested == 0, "%llu nested events without a signal", (unsigned long long)nested);
    shoot(threads, 100, 100);
    hs_sleep_us(10000);
    uint64_t shots = __atomic_load_n(&shots_at_parked, __ATOMIC_RELAXED);
    nested = hs_stats(trace.session).counts.lost[WEIR_LOSS_NESTED];
    hs_check(shots > 0 && nested == shots, "%llu signals to parked threads, %llu nested events",
             (unsigned long long)shots, (unsigned long long)nested);
    hs_check(hs_stats(trace.session).parked_now == SHOT_AT, "a signal ended a wait");
    hs_gate_open(&gate);
    shoot(threads, run_ms, 100);
    __atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < SHOT_AT; i++)
        hs_thread_join(threads[i]);
    hs_trace_stop(&trace);
    hs_gate_finish(&gate, &trace);
    hs_oracle_run(emitters, SHOT_AT * SOURCES, &trace);
    hs_check(hs_lost(&trace.stats.counts) == trace.stats.counts.lost[WEIR_LOSS_NESTED],
             "an event was lost that is not nested");
    hs_figure_add("nested", (double)trace.stats.counts.lost[WEIR_LOSS_NESTED]);
    hs_trace_end(&trace);
    hs_emitters_free(emitters, SHOT_AT * SOURCES);
}

/* --- Forks. ---------------------------------------------------------------------------------- */

#define PARKED 6u

static struct forking {
    struct hs_emitter *emitters;
    uint64_t handler_forks, park_forks; /* ANY */
    bool forks_in_park;                 /* ANY */
    pid_t children[PARKED];
} forking;

static __thread bool is_victim;     /* its handler forks */
static __thread bool is_child_here; /* in the child of such a handler */

static enum hs_child_end child_end(uint64_t i)
{
#ifdef STRESS_SANITIZED /* as in stress_sessions */
    return i % 2 ? HS_CHILD_LEAVE : HS_CHILD_EXEC;
#else
    return (enum hs_child_end)(i % HS_CHILD_ENDS);
#endif
}

/* The child returns to where the handler was called: into the wait. */
static void fork_in_handler(int signal)
{
    (void)signal;
    int saved = errno;
    if (is_victim) { /* one at a time */
        pid_t child = fork();
        is_child_here = child == 0;
        uint64_t at = __atomic_load_n(&forking.handler_forks, __ATOMIC_RELAXED);
        forking.children[at % PARKED] = child;
        __atomic_store_n(&forking.handler_forks, at + 1, __ATOMIC_RELEASE);
    }
    errno = saved;
}

/* In the child the event is not written, and the emit returns. */
static void *emit_and_fork(void *argument)
{
    struct hs_emitter *emitter = argument;
    is_victim = true;
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
        bool is_written = hs_emit(emitter, HS_FIXED);
        if (is_child_here)
            _exit(is_written || weir_event_is_enabled(&weir_events_Stress.Fixed) ? 7 : 0);
        hs_check(is_written, "an event was lost: %s", weir_loss_name(weir_last_loss()));
    }
    return NULL;
}

static void on_park(void *context, const struct weir_park *park)
{
    (void)context;
    (void)park;
    if (!__atomic_exchange_n(&forking.forks_in_park, false, __ATOMIC_ACQ_REL))
        return;
    pid_t child = fork();
    if (child == 0)
        is_child_here = true; /* continues out of the wait and out of the emit */
    else
        hs_child_wait(child, CHILD_MS, "a child forked in on_park");
    __atomic_fetch_add(&forking.park_forks, child != 0, __ATOMIC_RELAXED);
}

static void fork_while_others_are_parked(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        enum hs_child_end end = child_end(i);
        pid_t child = fork();
        if (child == 0)
            hs_child_end(end);
        hs_child_wait(child, CHILD_MS, "child %llu, which ends in way %d", (unsigned long long)i,
                      (int)end);
        hs_figure_add("forks", 1);
    }
}

static void fork_in_handlers(const pthread_t *threads)
{
    for (uint32_t i = 0; i < PARKED; i++) {
        pthread_kill(threads[i], SIGUSR2);
        for (int ms = 0; ms < CHILD_MS; ms++) {
            if (__atomic_load_n(&forking.handler_forks, __ATOMIC_ACQUIRE) > i)
                break;
            hs_sleep_us(1000);
        }
        uint64_t failures = hs_failures();
        hs_child_wait(forking.children[i], CHILD_MS, "a child forked in a parked thread's handler");
        if (hs_failures() > failures)
            return;
        hs_progress();
    }
}

static void forks_run(enum weir_wake wake)
{
    struct hs_emitter *emitters = hs_emitters_new(PARKED, 100000000); /* a fork may take long */
    struct weir_session_config config = hs_block_config(wake, 16 * SEGMENT, SEGMENT);
    struct hs_sink_gate gate;
    struct hs_trace trace;
    pthread_t threads[PARKED];
    hs_gate_init(&gate, NULL);
    config.sink.write = hs_gate_write;
    config.sink.context = &gate;
    config.on_park = on_park;
    forking = (struct forking){.emitters = emitters};
    __atomic_store_n(&is_over, false, __ATOMIC_RELEASE);
    if (!hs_trace_start(&trace, config, HS_SINK_MEMORY, NULL))
        return;
    hs_gate_close(&gate);
    for (uint32_t i = 0; i < PARKED; i++)
        hs_thread_start(&threads[i], emit_and_fork, &emitters[i]);
    hs_gate_wait(&gate);
    hs_wait_parked(trace.session, PARKED);
    fork_while_others_are_parked(forks / HS_WAKES / 2);
    fork_in_handlers(threads);
    hs_check(hs_stats(trace.session).parked_now == PARKED, "a fork ended a wait");
    hs_gate_open(&gate);
    fork_while_others_are_parked(forks / HS_WAKES / 2); /* some are, all the time */
    for (int i = 0; i < 3; i++) {
        __atomic_store_n(&forking.forks_in_park, true, __ATOMIC_RELEASE);
        hs_sleep_us(50000);
    }
    __atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < PARKED; i++)
        hs_thread_join(threads[i]);
    hs_check(forking.park_forks > 0, "on_park did not fork");
    hs_figure_add("forks_in_handlers", (double)forking.handler_forks);
    hs_figure_add("forks_in_on_park", (double)forking.park_forks);
    hs_trace_stop(&trace);
    hs_gate_finish(&gate, &trace);
    hs_oracle_run(emitters, PARKED, &trace);
    hs_trace_end(&trace);
    hs_emitters_free(emitters, PARKED);
}

int main(int argc, char **argv)
{
    const struct hs_option options[] = {{"ms", "length of each part", &run_ms, NULL},
                                        {"sessions", "at once", &sessions_at_once, NULL},
                                        {"forks", "by a thread that is not parked", &forks, NULL},
                                        {NULL, NULL, NULL, NULL}};
    hs_init(argc, argv,
            "BLOCK sessions among threads, sessions, signals and forks that come and go.", options);
    hs_emitters_init();
    struct sigaction shot = {.sa_handler = handler, .sa_flags = SA_RESTART};
    struct sigaction forks_there = {.sa_handler = fork_in_handler, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &shot, NULL);
    sigaction(SIGUSR2, &forks_there, NULL);
    do {
        sessions_run();
        for (int wake = 0; wake < HS_WAKES; wake++) {
            signals_run((enum weir_wake)wake);
            forks_run((enum weir_wake)wake);
        }
    } while (hs_time_is_left() && hs_failures() == 0);
    return hs_finish();
}
