/*
 * A clock that is moved back by a microsecond, by a second, by a month, and forward by hours, for
 * all threads or for one of them: while segments are half full, while all are full and threads are
 * parked, while the drain is in its sink. Whatever the clock does, no event is lost and no thread
 * waits for the clock. Each thread's events are there in order, with stamps that do not fall and
 * keep advancing. Sequence points are correct (stream.c), snapshots hold everything, and
 * Weir/ClockStep events report the steps.
 *
 * The library is weir_moved_clock. The harness uses the system's clock.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "emitter.h"
#include "harness.h"
#include "moved_clock.h"
#include "os/clock.h"
#include "park.h"
#include "sink.h"

#define THREADS_MAX  4u
#define UNTIL_PARKED 4u /* rounds: more events than the budget and the drain's buffers hold */
#define HOUR         INT64_C(3600000000000)
#define START_NS     (48000 * HOUR) /* so that it can be moved back by months */
#define SECOND       INT64_C(1000000000)

typedef unsigned long long ull;

struct moved_clock moved_clock_of_all;
__thread struct moved_clock moved_clock_of_thread;
__thread uint64_t moved_clock_readings;

static uint64_t round_events = 1500, are_stamping;
static const char *file;
static double ticks_per_ns = 1;
static bool has_counter;

/* --- Moves. ---------------------------------------------------------------------------------- */

/* A step back is either longer than the time between two looks of the drain, or so small that only
 * the threads can see it. 30 hours are more ticks than a record has room for. */
static const int64_t moves[] = {-1000,     -SECOND, -720 * HOUR, 5 * HOUR, -5 * HOUR,
                                30 * HOUR, -1000,   -30 * HOUR,  -SECOND};
enum { MOVES = sizeof moves / sizeof moves[0] };

#if defined(__x86_64__)
struct reading {
    uint64_t ticks, ns;
};

/* The shortest of many attempts: if the thread were preempted between the two readings, the rate
 * would be off by hours over the moves. */
static struct reading read_both(void)
{
    struct reading best = {0, 0};
    uint64_t least = UINT64_MAX;
    for (int attempt = 0; attempt < 64; attempt++) {
        uint64_t before = __builtin_ia32_rdtsc(), ns = hs_now_ns();
        uint64_t ticks = __builtin_ia32_rdtsc() - before;
        if (ticks < least)
            best = (struct reading){before + ticks / 2, ns};
        least = ticks < least ? ticks : least;
    }
    return best;
}
#endif

/* Ticks of the counter, whether or not stamps come from it. */
static int64_t counter_of(int64_t ns)
{
    return (int64_t)((double)ns * ticks_per_ns);
}

static void move_all(int64_t ns)
{
    __atomic_fetch_add(&moved_clock_of_all.ns, ns, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&moved_clock_of_all.ticks, counter_of(ns), __ATOMIC_SEQ_CST);
}

static void clock_start(void)
{
    __atomic_store_n(&moved_clock_of_all.ns, START_NS, __ATOMIC_SEQ_CST);
    __atomic_store_n(&moved_clock_of_all.ticks, counter_of(START_NS), __ATOMIC_SEQ_CST);
}

static void move_own(int64_t ns)
{
    moved_clock_of_thread.ns += ns;
    moved_clock_of_thread.ticks += counter_of(ns);
}

void __real_wr_clock_init(void);
void __wrap_wr_clock_init(void);

/* Both clocks in turn; the library chooses one for its process. */
static uint64_t without_counter;
void __wrap_wr_clock_init(void)
{
    __real_wr_clock_init();
#if defined(__x86_64__) /* the counter that moved_clock.h moves */
    has_counter = wr_clock.is_counter && !without_counter;
#endif
    wr_clock.is_counter = has_counter;
}

/* --- Threads. -------------------------------------------------------------------------------- */

struct run {
    const char *name;
    enum weir_mode mode;
    enum weir_wake wake;
    uint32_t threads;
    uint64_t budget;
    uint32_t parity; /* of the threads whose events have an activity */
};

static struct run run;
static struct hs_trace trace;
static struct hs_sink_gate gate;
static struct hs_emitter *emitters;

/* One round: each thread emits `events` events, and `mover` moves its own clock in the middle. */
static struct {
    uint64_t number; /* ANY; the other fields are written before it */
    uint64_t events;
    uint32_t mover;
    int64_t move_ns;
    uint64_t done[THREADS_MAX]; /* ANY */
    uint64_t lost;              /* ANY */
    bool is_over;
} order;

static uint64_t load(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void store(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* A flight recorder loses an event if a thread that holds its lock has not run for a millisecond:
 * as NO_SEGMENT if the thread has not held a segment yet. */
static void emit_one(struct hs_emitter *emitter, enum hs_shape shape)
{
    if (hs_emit(emitter, shape))
        return;
    enum weir_loss loss = weir_last_loss();
    hs_check(
        run.mode == WEIR_MODE_OVERWRITE &&
            (loss == WEIR_LOSS_FULL || (loss == WEIR_LOSS_NO_SEGMENT && emitter->written == 0)),
        "emitter %u: event %llu was lost: %s", emitter->index, (ull)emitter->attempts,
        weir_loss_name(loss));
    __atomic_fetch_add(&order.lost, 1, __ATOMIC_ACQ_REL);
}

static void obey(struct hs_emitter *emitter)
{
    emitter->is_stamping = are_stamping != 0;
    uint64_t events = order.events; /* the next round may begin with the last of them */
    uint64_t move_at = order.mover == emitter->index ? events / 2 + 1 : 0;
    int64_t move_ns = order.move_ns;
    for (uint64_t i = 1; i <= events; i++) {
        if (i == move_at)
            move_own(move_ns);
        emit_one(emitter, i % 8 ? HS_FIXED : HS_TEXT);
        store(&order.done[emitter->index], i);
    }
}

static void *work(void *argument)
{
    struct hs_emitter *emitter = argument;
    bool is_in_activity = emitter->index % 2 == run.parity;
    if (is_in_activity)
        hs_activity_begin();
    for (uint64_t number = 0;; number++) {
        while (load(&order.number) == number)
            hs_sleep_us(50);
        if (order.is_over)
            break;
        obey(emitter);
    }
    if (is_in_activity)
        hs_activity_end();
    hs_emitter_settle(emitter, &trace);
    store(&order.done[emitter->index], 1);
    return NULL;
}

static void round_begin(uint64_t events, uint32_t mover, int64_t move_ns)
{
    order.events = events;
    order.mover = mover;
    order.move_ns = move_ns;
    for (uint32_t i = 0; i < run.threads; i++)
        store(&order.done[i], 0);
    store(&order.number, order.number + 1);
}

/* The watchdog ends a wait that never ends. */
static void wait_done(uint64_t events)
{
    for (uint32_t i = 0; i < run.threads; i++)
        while (load(&order.done[i]) < events)
            hs_sleep_us(50);
}

/* --- Looks. ---------------------------------------------------------------------------------- */

static void wait_point(void)
{
    uint64_t points = hs_stats(trace.session).sequence_points;
    round_begin(1, UINT32_MAX, 0);
    wait_done(1);
    while (hs_stats(trace.session).sequence_points == points)
        hs_sleep_us(50);
}

static uint64_t attempts_so_far(void)
{
    uint64_t attempts = 0;
    for (uint32_t i = 0; i < run.threads; i++)
        attempts += emitters[i].attempts;
    return attempts;
}

struct figures {
    struct hs_oracle oracle;
    uint64_t same; /* events with the time of the previous one */
    int64_t last[THREADS_MAX];
    int64_t first, latest;
};

static void on_event(void *context, const struct hs_event *event)
{
    struct figures *figures = context;
    uint32_t index = hs_event_emitter(event);
    if (figures->oracle.emitters)
        hs_oracle_event(&figures->oracle, event);
    if (index >= run.threads)
        return;
    figures->same += figures->last[index] == event->time;
    figures->last[index] = event->time;
    if (!figures->first || event->time < figures->first)
        figures->first = event->time;
    if (event->time > figures->latest)
        figures->latest = event->time;
}

/* All emitters stand still. */
static void snapshot_check(uint64_t last_ns, uint64_t at_least)
{
    struct hs_trace copy = {.keeps_file = true};
    struct weir_sink sink = WEIR_SINK_INIT;
    struct weir_error error = {""};
    struct stat status = {0};
    struct hs_stream stream;
    struct figures figures = {0};
    snprintf(copy.path, sizeof copy.path, "%.240s.snapshot", gate.path);
    sink.file = copy.path;
    enum weir_result result = weir_session_snapshot(trace.session, &sink, last_ns, &error);
    hs_check(result == WEIR_OK, "snapshot: %s: %s", weir_result_text(result), error.text);
    stat(copy.path, &status);
    copy.stats.bytes_sent = (uint64_t)status.st_size;
    hs_stream_read(&stream, &copy, on_event, &figures);
    uint64_t most = attempts_so_far();
    hs_check(stream.events >= at_least && stream.events <= most,
             "%s: %llu events in a snapshot of at least %llu and at most %llu", run.name,
             (ull)stream.events, (ull)at_least, (ull)most);
    hs_stream_free(&stream);
    unlink(copy.path);
}

/* Waits until the drain has certainly looked since the last move. */
static void wait_looks(void)
{
    if (run.mode == WEIR_MODE_OVERWRITE) {
        snapshot_check(0, attempts_so_far() - load(&order.lost));
        snapshot_check((uint64_t)(HOUR / 60), run.threads);
        return;
    }
    wait_point();
    wait_point();
}

/* --- Rounds. --------------------------------------------------------------------------------- */

static void move_in_the_middle(int64_t ns)
{
    round_begin(round_events, UINT32_MAX, 0);
    while (load(&order.done[0]) < round_events / 2)
        hs_sleep_us(10);
    move_all(ns);
    wait_done(round_events);
    wait_looks();
}

static void move_between(int64_t ns)
{
    round_begin(20, UINT32_MAX, 0);
    wait_done(20);
    move_all(ns);
    round_begin(20, UINT32_MAX, 0);
    wait_done(20);
    wait_looks();
}

/* The drain is in its sink. In BLOCK all threads are parked; in the other modes all have
 * emitted. */
static void move_while_it_stands(int64_t ns)
{
    uint64_t events = run.mode == WEIR_MODE_BLOCK ? UNTIL_PARKED * round_events : round_events;
    hs_gate_close(&gate);
    round_begin(events, UINT32_MAX, 0);
    if (run.mode == WEIR_MODE_BLOCK)
        hs_check(hs_wait_parked(trace.session, run.threads), "%s: not all threads are parked",
                 run.name);
    else
        wait_done(events);
    move_all(ns);
    hs_gate_open(&gate);
    wait_done(events);
    wait_looks();
}

static void move_one(int64_t ns, uint32_t mover)
{
    round_begin(round_events, mover, ns);
    wait_done(round_events);
    wait_looks();
}

/* --- A session. ------------------------------------------------------------------------------ */

static void expect_steps(const struct hs_stream *stream, uint32_t times)
{
    uint64_t large = 0, steps = 0;
    int64_t sum = 0;
    for (uint32_t i = 0; i < MOVES; i++) {
        steps += moves[i] < 0;
        large += moves[i] <= -HOUR;
        sum -= moves[i] < 0 ? times * (has_counter ? counter_of(moves[i]) : moves[i]) : 0;
    }
    /* The drain may look too late to see a small step. */
    hs_check(stream->steps >= large * times && stream->steps <= steps * times,
             "%s: %llu steps are reported; %llu were made, %llu of them large", run.name,
             (ull)stream->steps, (ull)steps * times, (ull)large * times);
    double off = (double)((int64_t)stream->step_ticks - sum) / (double)stream->frequency;
    hs_check(off > -120 && off < 120, "%s: the reported steps are %.3f s more than those made",
             run.name, off);
}

/* Time in the stream advances: it includes the leaps forward of all threads, but no step back and
 * no thread's skew. */
static void expect_duration(const struct hs_stream *stream, const struct figures *figures,
                            uint32_t times)
{
    int64_t leaps = 0;
    for (uint32_t i = 0; i < MOVES; i++)
        leaps += moves[i] > 0 ? times * moves[i] : 0;
    double off = (double)(figures->latest - figures->first) / (double)stream->frequency -
                 (double)leaps / 1e9;
    hs_check(off > -600 && off < 600, "%s: the stream lasts %.3f s longer than it should", run.name,
             off);
}

static void verify(uint32_t times)
{
    struct hs_stream stream;
    struct figures figures = {.oracle = {emitters, run.threads}};
    hs_stream_read(&stream, &trace, on_event, &figures);
    hs_oracle_verify(&figures.oracle, &stream, &trace);
    hs_check(hs_lost(&trace.stats.counts) == load(&order.lost), "%s: %llu lost", run.name,
             (ull)hs_lost(&trace.stats.counts));
    expect_steps(&stream, times);
    expect_duration(&stream, &figures, times);
    /* Odd stamps get the time of another event. */
    hs_check(are_stamping || figures.same * 2 < stream.events,
             "%s: %llu of %llu events have the same time as the previous one", run.name,
             (ull)figures.same, (ull)stream.events);
    hs_figure_add("events", (double)stream.events);
    hs_figure_add("late_records", (double)trace.stats.late_records);
    hs_figure_add("same_time", (double)figures.same);
    hs_figure_add("steps", (double)stream.steps);
    hs_figure_add("steps_of_threads", (double)stream.steps_of_threads);
    hs_stream_free(&stream);
}

static struct weir_session_config configuration(void)
{
    struct weir_session_config config = hs_trace_config(run.budget);
    config.segment_bytes = 4096;
    config.flush_ms = 5;
    config.mode = run.mode;
    config.wake = run.wake;
    config.sink.write = hs_gate_write;
    config.sink.context = &gate;
    return config;
}

static void rounds(void)
{
    for (uint32_t i = 0; i < MOVES; i++) {
        move_between(moves[i]);
        move_in_the_middle(moves[i]);
        if (run.mode != WEIR_MODE_OVERWRITE) /* its drain is in no sink */
            move_while_it_stands(moves[i]);
        move_one(moves[i], i % run.threads);
    }
}

static void session_run(void)
{
    pthread_t handles[THREADS_MAX];
    memset(&order, 0, sizeof order);
    clock_start();
    hs_gate_init(&gate, file);
    hs_emitters_reset(emitters, THREADS_MAX);
    if (hs_trace_start(&trace, configuration(), HS_SINK_MEMORY, NULL)) {
        for (uint32_t i = 0; i < run.threads; i++)
            hs_thread_start(&handles[i], work, &emitters[i]);
        rounds();
        order.is_over = true;
        round_begin(1, UINT32_MAX, 0);
        wait_done(1);
        for (uint32_t i = 0; i < run.threads; i++)
            hs_thread_join(handles[i]);
        hs_trace_stop(&trace);
        hs_gate_finish(&gate, &trace);
        verify(run.mode == WEIR_MODE_OVERWRITE ? 2 : 3);
    }
    hs_trace_end(&trace);
}

int main(int argc, char **argv)
{
    const struct hs_option options[] = {
        {"events", "per thread and round", &round_events, NULL},
        {"file", "in which to keep the last session's stream", NULL, &file},
        {"stamps", "1: half of the events have stamps of the caller's, of which many are odd",
         &are_stamping, NULL},
        {"without-counter", "1: stamps come from CLOCK_MONOTONIC", &without_counter, NULL},
        {NULL, NULL, NULL, NULL}};
#define BLOCK_RUN(name, table, word, is_ordered) \
    {"BLOCK, " #name, WEIR_MODE_BLOCK, WEIR_WAKE_##name, 0, 32u << 10, 0},
    static const struct run runs[] = {{"DROP", WEIR_MODE_DROP, 0, 0, 64u << 20, 0},
                                      WR_WAKE_STRATEGIES(BLOCK_RUN) /* */
                                      {"OVERWRITE", WEIR_MODE_OVERWRITE, 0, 0, 64u << 20, 0}};
#undef BLOCK_RUN
    hs_init(argc, argv, "A clock that steps breaks nothing.", options);
#if defined(__x86_64__)
    struct reading start = read_both();
    hs_sleep_us(20000);
    struct reading end = read_both();
    ticks_per_ns = (double)(end.ticks - start.ticks) / (double)(end.ns - start.ns);
#endif
    clock_start();
    hs_emitters_init();
    emitters = hs_emitters_new(THREADS_MAX, MOVES * ((UNTIL_PARKED + 2) * round_events + 100));
    do {
        for (uint32_t i = 0; i < 2 * sizeof runs / sizeof runs[0]; i++) {
            run = runs[i / 2];
            run.threads = i % 2 ? THREADS_MAX : 1;
            run.parity = i / 2 % 2;
            session_run();
        }
    } while (hs_time_is_left());
    hs_emitters_free(emitters, THREADS_MAX);
    return hs_finish();
}
