/*
 * A flight recorder: threads emit flat out into a session of mode OVERWRITE while snapshots are
 * taken. Each file is compared with the threads' own counts:
 *
 *  - everything that a thread attempted before the call is in the file, as an event or as a loss,
 *    and nothing that it began after the call returned;
 *  - every event that a thread wrote, up to the file's last number, is there or is reported as
 *    OVERWRITTEN. The first file has no gaps after its first event. Later files may have some:
 *    while a snapshot is written, the segments that are recycled are younger than those that it
 *    holds;
 *  - no event is older than requested, and each is intact;
 *  - records never take more than the budget.
 *
 * One round has few threads. In another, every eighth record takes several segments. Two have many
 * more threads than segments: before their snapshots, each thread must write something in every
 * second, and the least and the largest share are reported. In one round threads come and go.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "emitter.h"
#include "harness.h"

#define SNAPSHOTS_MAX 64u
#define ATTEMPTS_MIN  100u  /* shows that a thread had a processor: lost events, 2 us each */
#define SLICES_MIN    2500u /* shows that it had more than a time slice */
#define GROWTH_MAX    (1u << 20)
#define CHURN_GROUP   8u
#define CHURN_EVENTS  5u
#define LARGE_EVERY   8u

typedef unsigned long long ull;

static uint64_t run_ms = 1500, churn_threads = 4000;
static struct hs_trace trace;
static bool is_over, is_stopped; /* ANY */
static uint32_t finished;        /* ANY: threads that emit no more */

/* One thread's counts, published for the thread that takes snapshots. */
struct progress {
    uint64_t begun;
    uint64_t done;
    uint64_t written;
    uint64_t capture;
};

struct round {
    const char *name, *least_name, *most_name;
    uint32_t threads;
    uint64_t budget;
    bool is_crowded;        /* more threads than segments */
    uint32_t segment_bytes; /* 0: the usual; else every eighth record is of any size, most take
                               several */
    uint32_t snapshots;     /* at most; 0: as many as there is time for */
    struct hs_emitter *emitters;
    struct progress *progress;
};

static struct round current;

static uint64_t load(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void store(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* --- Threads. -------------------------------------------------------------------------------- */

/* A lost event costs so little that a thread would use up its capacity within milliseconds: it
 * spins for a while instead, and keeps its processor. */
static void emit_once(struct hs_emitter *emitter, struct progress *progress)
{
    bool is_large = current.segment_bytes && emitter->attempts % LARGE_EVERY == 0;
    store(&progress->begun, emitter->attempts + 1);
    if (!hs_emit(emitter, is_large ? HS_LARGE : HS_MIX))
        for (uint64_t until = hs_now_ns() + 2000; hs_now_ns() < until;) {
        }
    store(&progress->written, emitter->written);
    store(&progress->done, emitter->attempts);
}

static void *emit_flat_out(void *argument)
{
    struct hs_emitter *emitter = argument;
    struct progress *progress = &current.progress[emitter->index];
    emit_once(emitter, progress);
    emitter->capture = hs_trace_self(&trace, NULL);
    store(&progress->capture, emitter->capture);
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE) && emitter->attempts < emitter->capacity)
        emit_once(emitter, progress);
    __atomic_fetch_add(&finished, 1, __ATOMIC_RELEASE);
    /* The statistics have no row for a thread that has exited. */
    while (!__atomic_load_n(&is_stopped, __ATOMIC_ACQUIRE))
        hs_sleep_us(1000);
    return NULL;
}

/* --- A file. --------------------------------------------------------------------------------- */

struct snapshot {
    char path[300];
    uint64_t last_ns;
    uint64_t *done;  /* per thread, before the call */
    uint64_t *begun; /* per thread, after it */
};

static struct snapshot snapshots[SNAPSHOTS_MAX];

struct reading {
    uint64_t *first, *events; /* per thread: the first event in the file, and their number */
    int64_t oldest;
};

static void on_event(void *context, const struct hs_event *event)
{
    struct reading *reading = context;
    uint32_t index = hs_event_emitter(event);
    uint64_t counter = hs_event_counter(event);
    if (!hs_check(index < current.threads && counter < current.emitters[index].attempts,
                  "an event of emitter %u, number %llu, which was never emitted", index,
                  (ull)counter))
        return;
    hs_check(hs_event_is_intact(event), "emitter %u: event %llu is not intact", index,
             (ull)counter);
    hs_check(current.emitters[index].is_written[counter / 64] >> counter % 64 & 1,
             "emitter %u: event %llu is in the file, but emit returned false", index, (ull)counter);
    hs_check(event->number == counter + 2, "emitter %u: event %llu has number %llu", index,
             (ull)counter, (ull)event->number);
    /* If a thread was preempted inside an emit, that event may be older than requested. */
    if (reading->events[index] && event->time < reading->oldest)
        reading->oldest = event->time;
    if (reading->events[index]++ == 0)
        reading->first[index] = counter;
}

/* How many of the attempts from `first` up to `end` were written. */
static uint64_t written_between(const struct hs_emitter *emitter, uint64_t first, uint64_t end)
{
    uint64_t count = 0;
    for (uint64_t at = first; at < end; at++)
        count += emitter->is_written[at / 64] >> at % 64 & 1;
    return count;
}

static void thread_verify(const struct hs_stream *stream, const struct reading *reading, uint32_t i,
                          const struct snapshot *snapshot)
{
    const struct hs_emitter *emitter = &current.emitters[i];
    const struct hs_capture *capture = hs_stream_capture(stream, emitter->capture);
    uint64_t done = snapshot->done[i], begun = snapshot->begun[i];
    bool is_first = snapshot == &snapshots[0] && !current.is_crowded && done;
    if (!capture) {
        hs_check(done == 0, "emitter %u has %llu attempts, but its thread is not in the file", i,
                 (ull)done);
        return;
    }
    uint64_t attempts = capture->last_number - 1, events = reading->events[i];
    hs_check(attempts >= done && attempts <= begun,
             "emitter %u: %llu attempts in the file; %llu were done before, %llu begun after", i,
             (ull)attempts, (ull)done, (ull)begun);
    hs_check(capture->events + capture->lost == attempts, "emitter %u: %llu + %llu are not %llu", i,
             (ull)capture->events, (ull)capture->lost, (ull)attempts);
    uint64_t overwritten = capture->lost_by_cause[WEIR_LOSS_OVERWRITTEN];
    uint64_t written = written_between(emitter, 0, attempts);
    hs_check(events + overwritten == written,
             "emitter %u: %llu events and %llu overwritten in the file, but it wrote %llu", i,
             (ull)events, (ull)overwritten, (ull)written);
    /* A thread that did not run for a while may have no events left. */
    hs_check(!is_first || written_between(emitter, reading->first[i], attempts) == events ||
                 events == 0,
             "emitter %u: of its %llu newest events, from %llu on, only %llu are in the file", i,
             (ull)written_between(emitter, reading->first[i], attempts), (ull)reading->first[i],
             (ull)events);
}

static struct hs_trace file_trace(const char *path)
{
    struct hs_trace file = {.keeps_file = true};
    struct stat status = {0};
    hs_check(strlen(path) < sizeof file.path && stat(path, &status) == 0, "no file %s", path);
    memcpy(file.path, path, strnlen(path, sizeof file.path - 1));
    file.stats.bytes_sent = (uint64_t)status.st_size;
    return file;
}

static void file_verify(const struct snapshot *snapshot, bool is_last)
{
    struct hs_trace file = file_trace(snapshot->path);
    struct hs_stream stream;
    struct reading reading = {.oldest = INT64_MAX};
    reading.first = hs_allocate(current.threads * sizeof *reading.first);
    reading.events = hs_allocate(current.threads * sizeof *reading.events);
    hs_stream_read(&stream, &file, on_event, &reading);
    for (uint32_t i = 0; i < current.threads; i++)
        thread_verify(&stream, &reading, i, snapshot);
    double last_ticks = (double)snapshot->last_ns * 1e-9 * (double)stream.frequency;
    hs_check(!snapshot->last_ns || reading.oldest == INT64_MAX ||
                 (double)(stream.point_time - reading.oldest) <= last_ticks + 1,
             "an event is %lld ticks older than requested",
             (long long)(stream.point_time - reading.oldest));
    hs_check(stream.events || snapshot->last_ns || current.is_crowded, "the file has no events");
    const struct weir_counts *counts = &trace.stats.counts;
    for (unsigned cause = 0; is_last && cause < WEIR_LOSS_COUNT; cause++)
        hs_check(counts->lost[cause] == stream.lost_by_cause[cause],
                 "lost by %s: %llu in the last stream, %llu counted",
                 weir_loss_name((enum weir_loss)cause), (ull)stream.lost_by_cause[cause],
                 (ull)counts->lost[cause]);
    hs_check(!is_last || counts->written == stream.events, "%llu written, %llu in the last stream",
             (ull)counts->written, (ull)stream.events);
    hs_figure_add("events_in_files", (double)stream.events);
    hs_stream_free(&stream);
    free(reading.first);
    free(reading.events);
}

/* --- Snapshots. ------------------------------------------------------------------------------ */

static void snapshot_prepare(struct snapshot *snapshot, uint32_t index)
{
    const char *folder = getenv("TMPDIR");
    snprintf(snapshot->path, sizeof snapshot->path, "%s/stress-overwrite-%d-%u.nettrace",
             folder ? folder : "/tmp", (int)getpid(), index);
    snapshot->done = hs_allocate(current.threads * sizeof *snapshot->done);
    snapshot->begun = hs_allocate(current.threads * sizeof *snapshot->begun);
}

static void snapshot_forget(struct snapshot *snapshot)
{
    unlink(snapshot->path);
    free(snapshot->done);
    free(snapshot->begun);
    snapshot->done = NULL;
}

/* Nothing can be looked up for a thread whose capture id is not known yet. */
static void progress_note(struct snapshot *snapshot, bool is_before)
{
    for (uint32_t i = 0; i < current.threads; i++) {
        if (is_before)
            snapshot->done[i] =
                load(&current.progress[i].capture) ? load(&current.progress[i].done) : 0;
        else
            snapshot->begun[i] = load(&current.progress[i].begun);
    }
}

static void snapshot_take(struct snapshot *snapshot, uint64_t last_ns)
{
    struct weir_sink sink = WEIR_SINK_INIT;
    struct weir_error error = {""};
    sink.file = snapshot->path;
    snapshot->last_ns = last_ns;
    progress_note(snapshot, true);
    uint64_t begin = hs_now_ns();
    enum weir_result result = weir_session_snapshot(trace.session, &sink, last_ns, &error);
    hs_figure("snapshot_ms", (double)(hs_now_ns() - begin) / 1e6);
    progress_note(snapshot, false);
    hs_check(result == WEIR_OK, "snapshot: %s: %s", weir_result_text(result), error.text);
    hs_figure_add("snapshots", 1);
}

static void budget_check(void)
{
    struct weir_stats stats = WEIR_STATS_INIT;
    hs_check(weir_session_stats(trace.session, &stats) == WEIR_OK, "stats");
    hs_check(stats.budget_bytes_used <= stats.budget_bytes, "%llu bytes of a budget of %llu",
             (ull)stats.budget_bytes_used, (ull)stats.budget_bytes);
    hs_check(stats.counts.attempted == stats.counts.written + hs_lost(&stats.counts),
             "%llu attempts are not %llu written and %llu lost", (ull)stats.counts.attempted,
             (ull)stats.counts.written, (ull)hs_lost(&stats.counts));
}

/* Has the recorder stood still? While the thread that holds the mode's lock does not run, no other
 * thread gets a segment. */
static bool is_still(const uint64_t *written, const uint64_t *done)
{
    uint64_t events = 0, attempts = 0;
    for (uint32_t i = 0; i < current.threads; i++) {
        events += load(&current.progress[i].written) - written[i];
        attempts += load(&current.progress[i].done) - done[i];
    }
    return events < current.threads && attempts >= SLICES_MIN;
}

/* Each thread that could emit in the last second has written something. Part of one time slice does
 * not count as such: the thread may have written in the other part, in the second before. Under a
 * sanitizer a thread holds a borrowed segment so much longer that it is preempted with it and
 * others get none: there, such threads are only counted. */
static void progress_check(uint64_t *written, uint64_t *done, bool is_judged)
{
    uint32_t without = 0;
    for (uint32_t i = 0; i < current.threads; i++) {
        uint64_t now = load(&current.progress[i].written);
        uint64_t attempts = load(&current.progress[i].done) - done[i];
        without += now == written[i] && attempts >= ATTEMPTS_MIN;
        hs_check(!is_judged || now > written[i] || attempts < SLICES_MIN,
                 "%s: thread %u wrote nothing in a second with %llu attempts", current.name, i,
                 (ull)attempts);
        written[i] = now;
        done[i] += attempts;
    }
    hs_figure_add("seconds_without", without);
}

/* --- Rounds. --------------------------------------------------------------------------------- */

/* At least two whole seconds; one where nothing is judged. The recorder may stand still in one. */
static void progress_run(void)
{
#ifdef STRESS_SANITIZED
    const bool is_judged = false;
    uint64_t seconds = 1;
#else
    const bool is_judged = true;
    uint64_t seconds = 2 + run_ms / 1000;
#endif
    uint64_t *written = hs_allocate(current.threads * sizeof *written);
    uint64_t *done = hs_allocate(current.threads * sizeof *done);
    uint32_t still = 0;
    for (uint64_t i = 0; i < seconds; i++) {
        for (int j = 0; j < 20; j++) {
            hs_sleep_us(50000);
            budget_check();
        }
        bool is_quiet = is_still(written, done);
        still += is_quiet;
        progress_check(written, done, is_judged && !is_quiet);
    }
    hs_check(!is_judged || still <= 1, "%s: the recorder stood still in %u of %llu seconds",
             current.name, still, (ull)seconds);
    hs_figure_add("seconds_still", still);
    free(written);
    free(done);
}

static uint32_t snapshots_run(void)
{
    uint64_t end = hs_now_ns() + run_ms * 1000000;
    uint32_t count = 0, most = current.snapshots ? current.snapshots : SNAPSHOTS_MAX - 1;
    while (hs_now_ns() < end && count < most) {
        hs_sleep_us(20000);
        budget_check();
        snapshot_prepare(&snapshots[count], count);
        snapshot_take(&snapshots[count], count % 3 == 2 ? 3000000 : 0);
        count++;
    }
    return count;
}

static void last_verify(uint32_t index)
{
    struct snapshot *last = &snapshots[index];
    snapshot_prepare(last, index);
    last->last_ns = 0;
    progress_note(last, true);
    progress_note(last, false);
    snprintf(last->path, sizeof last->path, "%s", trace.path);
    file_verify(last, true);
}

static void shares_tell(void)
{
    uint64_t least = UINT64_MAX, most = 0;
    for (uint32_t i = 0; i < current.threads; i++) {
        uint64_t written = current.emitters[i].written;
        least = written < least ? written : least;
        most = written > most ? written : most;
    }
    hs_figure(current.least_name, (double)least);
    hs_figure(current.most_name, (double)most);
}

static void round_verify(uint32_t count)
{
    uint64_t attempts = 0;
    for (uint32_t i = 0; i < current.threads; i++)
        attempts += current.emitters[i].attempts;
    hs_check(trace.stats.counts.attempted == attempts, "%llu attempts, the statistics say %llu",
             (ull)attempts, (ull)trace.stats.counts.attempted);
    for (uint32_t i = 0; i < count; i++)
        file_verify(&snapshots[i], false);
    last_verify(count);
    hs_figure_add("attempts", (double)attempts);
    hs_figure_add("overwritten", (double)trace.stats.counts.lost[WEIR_LOSS_OVERWRITTEN]);
    hs_figure_add("full", (double)trace.stats.counts.lost[WEIR_LOSS_FULL]);
    shares_tell();
}

static void large_prepare(const struct round *round)
{
    for (uint32_t i = 0; i < round->threads; i++) {
        current.emitters[i].scratch = hs_allocate(HS_SCRATCH_BYTES);
        current.emitters[i].large_max = hs_large_max(round->budget, round->segment_bytes);
    }
}

static void large_finish(const struct round *round)
{
    uint64_t large = 0;
    for (uint32_t i = 0; i < round->threads; i++) {
        large += current.emitters[i].large;
        free(current.emitters[i].scratch);
    }
    hs_check(large > 0, "no large record was written");
    hs_figure("large", (double)large);
}

static void round_run(struct round round, uint64_t capacity)
{
    current = round;
    current.emitters = hs_emitters_new(round.threads, capacity);
    current.progress = hs_allocate(round.threads * sizeof *current.progress);
    pthread_t *handles = hs_allocate(round.threads * sizeof *handles);
    struct weir_session_config config = hs_trace_config(round.budget);
    config.mode = WEIR_MODE_OVERWRITE;
    if (round.segment_bytes) {
        config.segment_bytes = round.segment_bytes;
        large_prepare(&round);
    }
    __atomic_store_n(&is_over, false, __ATOMIC_RELEASE);
    __atomic_store_n(&is_stopped, false, __ATOMIC_RELEASE);
    __atomic_store_n(&finished, 0, __ATOMIC_RELEASE);
    if (hs_trace_start(&trace, config, HS_SINK_FILE, NULL)) {
        for (uint32_t i = 0; i < round.threads; i++)
            hs_thread_start(&handles[i], emit_flat_out, &current.emitters[i]);
        if (round.is_crowded)
            progress_run();
        uint32_t count = snapshots_run();
        __atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
        while (__atomic_load_n(&finished, __ATOMIC_ACQUIRE) < round.threads)
            hs_sleep_us(1000);
        bool is_whole = hs_trace_stop(&trace);
        __atomic_store_n(&is_stopped, true, __ATOMIC_RELEASE);
        for (uint32_t i = 0; i < round.threads; i++)
            hs_thread_join(handles[i]);
        if (is_whole)
            round_verify(count);
        for (uint32_t i = 0; i <= count; i++)
            if (snapshots[i].done)
                snapshot_forget(&snapshots[i]);
    }
    hs_trace_end(&trace);
    if (round.segment_bytes)
        large_finish(&round);
    hs_emitters_free(current.emitters, round.threads);
    free(current.progress);
    free(handles);
}

/* --- Threads that come and go. --------------------------------------------------------------- */

static void *emit_few(void *argument)
{
    struct hs_emitter *emitter = argument;
    for (uint32_t i = 0; i < CHURN_EVENTS; i++)
        hs_emit(emitter, HS_FIXED);
    return NULL;
}

static void churn_group(struct hs_emitter *emitters)
{
    pthread_t handles[CHURN_GROUP];
    for (uint32_t i = 0; i < CHURN_GROUP; i++)
        hs_thread_start(&handles[i], emit_few, &emitters[i]);
    for (uint32_t i = 0; i < CHURN_GROUP; i++)
        hs_thread_join(handles[i]);
}

/* The events of exited threads cannot be attributed to each, so only the sum is checked. */
static void churn_verify(const char *path, uint64_t attempts)
{
    struct hs_trace file = file_trace(path);
    struct hs_stream stream;
    hs_stream_read(&stream, &file, NULL, NULL);
    uint64_t lost = 0;
    for (unsigned cause = 0; cause < WEIR_LOSS_COUNT; cause++)
        lost += stream.lost_by_cause[cause];
    hs_check(stream.events + lost == attempts, "%llu events and %llu lost of %llu attempts",
             (ull)stream.events, (ull)lost, (ull)attempts);
    hs_stream_free(&stream);
}

static void churn_run(void)
{
    struct weir_session_config config = hs_trace_config(1u << 20);
    config.mode = WEIR_MODE_OVERWRITE;
    config.flush_ms = 20;
    current = (struct round){.name = "churn", .threads = (uint32_t)churn_threads};
    current.emitters = hs_emitters_new(current.threads, CHURN_EVENTS);
    if (!hs_trace_start(&trace, config, HS_SINK_FILE, NULL))
        return;
    uint64_t before = 0;
    for (uint32_t at = 0; at + CHURN_GROUP <= current.threads; at += CHURN_GROUP) {
        churn_group(current.emitters + at);
        if (at <= 800)
            before = hs_resident_bytes();
        if (at % 800)
            continue;
        struct snapshot snapshot = {.done = NULL};
        struct weir_sink sink = WEIR_SINK_INIT;
        snprintf(snapshot.path, sizeof snapshot.path, "%s.snapshot", trace.path);
        sink.file = snapshot.path;
        hs_check(weir_session_snapshot(trace.session, &sink, 0, NULL) == WEIR_OK, "snapshot");
        churn_verify(snapshot.path, (uint64_t)(at + CHURN_GROUP) * CHURN_EVENTS);
        unlink(snapshot.path);
        budget_check();
    }
    int64_t growth = (int64_t)(hs_resident_bytes() - before);
    if (hs_trace_stop(&trace))
        churn_verify(trace.path, churn_threads / CHURN_GROUP * CHURN_GROUP * CHURN_EVENTS);
    uint64_t reserved = trace.stats.reserved_bytes;
#ifndef STRESS_SANITIZED
    hs_check(growth <= GROWTH_MAX, "resident memory grew by %lld bytes", (long long)growth);
#endif
    hs_check(reserved < 2u << 20, "%llu bytes beside the budget", (ull)reserved);
    hs_figure("churn_growth_bytes", (double)growth);
    hs_figure("churn_reserved_bytes", (double)reserved);
    hs_trace_end(&trace);
    hs_emitters_free(current.emitters, current.threads);
}

int main(int argc, char **argv)
{
    const struct hs_option options[] = {
        {"ms", "length of a round", &run_ms, NULL},
        {"churn-threads", "threads that come and go", &churn_threads, NULL},
        {NULL, NULL, NULL, NULL}};
    const struct round few = {"few", "few_least", "few_most", .threads = 6, .budget = 4u << 20};
    /* So large that some segments are still unused at the first snapshot: while it holds the
     * others, only those are available. */
    const struct round spans = {"spans",       "spans_least",       "spans_most",
                                .threads = 4,  .budget = 32u << 20, .segment_bytes = 4096,
                                .snapshots = 6};
    const struct round many = {"many",        "many_least",       "many_most",
                               .threads = 64, .budget = 1u << 20, .is_crowded = true};
    const struct round crowd = {"crowd",        "crowd_least",        "crowd_most",
                                .threads = 200, .budget = 256u << 10, .is_crowded = true};
    hs_init(argc, argv, "A flight recorder: snapshots while threads emit flat out.", options);
    hs_emitters_init();
    do {
        round_run(few, 4000000);
        round_run(spans, 2000000);
        round_run(many, 1000000);
        round_run(crowd, 1000000);
        churn_run();
    } while (hs_time_is_left() && hs_failures() == 0);
    return hs_finish();
}
