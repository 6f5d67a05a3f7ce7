/*
 * More threads than segments, in DROP, in OVERWRITE, and in BLOCK under each strategy: every thread
 * gets an event written each second, whether all emit as fast as they can or at a pace that keeps
 * the segments of others moving. What a segment is too few of is shared; memory stays within the
 * budget.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "emitter.h"
#include "harness.h"
#include "park.h"
#include "pipe.h"

#define NS_PER_S     UINT64_C(1000000000)
#define PACE_US      300u
#define GAP_NS       UINT64_C(100000000) /* shorter ones are not looked at */
#define CHANCE_NS    UINT64_C(20000000)
#define TRIES        3u
#define CHANCES      200u
#define STACK_BYTES  (64u << 10)
#define OTHERS_BYTES (4u << 20) /* what the process needs beside: the reader, the C library */

static uint64_t run_ms = 1500, starved_ms = 1000;
static uint32_t tries_left;     /* of a run */
static bool has_begun, is_over; /* ANY */

struct setting {
    const char *name;
    uint32_t threads;
    uint64_t budget;
    uint32_t segment;
    bool is_paced;
    int wakes; /* strategies, the first ones */
};

static const struct setting settings[] = {
    {"64 threads, 1 MiB of 64 KiB", 64, 1u << 20, 65536, false, HS_WAKES},
    {"200 threads, 256 KiB of 32 KiB", 200, 256u << 10, 32768, false, HS_WAKES},
    {"200 threads, 256 KiB of 32 KiB, paced", 200, 256u << 10, 32768, true, HS_WAKES},
    {"64 threads, 2 MiB of 1 MiB, paced", 64, 2u << 20, 1u << 20, true, 1},
};

struct member {
    struct hs_emitter *emitter;
    pthread_t handle;
    bool is_paced;
    bool may_park;
    uint64_t gap_ns;       /* longest time without a written event */
    uint64_t starved_ns;   /* the same, of those in which it had its share of a processor */
    uint64_t since_ns;     /* the last written event */
    uint64_t lost, cpu_ns; /* since then: attempts; its processor time at the first */
};

/* --- Threads. -------------------------------------------------------------------------------- */

static uint64_t cpu_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * NS_PER_S + (uint64_t)used.tv_nsec;
}

/* Two hundred threads on two processors wait for one for most of a second, and a thread that does
 * not run cannot emit. So a gap in which it ran for less than a few slices, or tried less than so
 * often, is told, but is not called starvation. A parked thread needs no processor: there, all of
 * the gap counts. */
static bool had_its_chance(const struct member *member)
{
    if (member->lost == 0)
        return member->may_park;
    return member->is_paced ? member->lost >= CHANCES : cpu_ns() - member->cpu_ns >= CHANCE_NS;
}

static void gap_note(struct member *member)
{
    uint64_t gap_ns = hs_now_ns() - member->since_ns;
    if (gap_ns > member->gap_ns)
        member->gap_ns = gap_ns;
    if (gap_ns > member->starved_ns && gap_ns > GAP_NS && had_its_chance(member))
        member->starved_ns = gap_ns;
}

static void note_written(struct member *member)
{
    gap_note(member);
    member->since_ns = hs_now_ns();
    member->lost = 0;
}

static void note_lost(struct member *member)
{
    if (member->lost++ == 0)
        member->cpu_ns = cpu_ns();
}

static void *emit_until_over(void *argument)
{
    struct member *member = argument;
    /* Or those that have begun would keep the others from being created. */
    while (!__atomic_load_n(&has_begun, __ATOMIC_ACQUIRE))
        hs_sleep_us(1000);
    member->since_ns = hs_now_ns();
    while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
        if (hs_emit(member->emitter, HS_FIXED))
            note_written(member);
        else
            note_lost(member);
        if (member->is_paced)
            hs_sleep_us(PACE_US);
    }
    gap_note(member);
    return NULL;
}

static struct member *members_new(const struct setting *setting, bool may_park)
{
    struct member *members = hs_allocate(setting->threads * sizeof *members);
    struct hs_emitter *emitters = hs_allocate(setting->threads * sizeof *emitters);
    for (uint32_t i = 0; i < setting->threads; i++) {
        emitters[i] = (struct hs_emitter){.index = i, .capacity = UINT64_MAX};
        members[i] = (struct member){
            .emitter = &emitters[i], .is_paced = setting->is_paced, .may_park = may_park};
    }
    return members;
}

static void members_free(struct member *members)
{
    free(members[0].emitter);
    free(members);
}

/* The threads run for a while; meanwhile the memory is looked at. */
static void members_run(struct member *members, const struct setting *setting,
                        struct weir_session *session)
{
    uint64_t before = hs_resident_bytes();
    __atomic_store_n(&is_over, false, __ATOMIC_RELAXED);
    __atomic_store_n(&has_begun, false, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < setting->threads; i++)
        hs_thread_start(&members[i].handle, emit_until_over, &members[i]);
    uint64_t end_ns = hs_now_ns() + run_ms * 1000000;
    __atomic_store_n(&has_begun, true, __ATOMIC_RELEASE);
    while (hs_now_ns() < end_ns) {
        struct weir_stats stats = hs_stats(session);
        hs_check(stats.budget_bytes_used <= setting->budget, "%llu bytes of the budget are in use",
                 (unsigned long long)stats.budget_bytes_used);
        hs_sleep_us(20000);
    }
    uint64_t growth = hs_resident_bytes() - before, reserved = hs_stats(session).reserved_bytes;
#ifndef STRESS_SANITIZED
    hs_check(growth <= setting->budget + reserved + setting->threads * STACK_BYTES + OTHERS_BYTES,
             "%s: memory grew by %llu bytes", setting->name, (unsigned long long)growth);
#endif
    (void)growth;
    (void)reserved;
    __atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < setting->threads; i++)
        hs_thread_join(members[i].handle);
    hs_progress();
}

/* --- Verdict. -------------------------------------------------------------------------------- */

/* Jain's index of what each thread has written: 1 if all have the same, 1/n if one has all. */
static double fairness(const struct member *members, uint32_t count)
{
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < count; i++) {
        double share = (double)members[i].emitter->written;
        sum += share;
        squares += share * share;
    }
    return squares > 0 ? sum * sum / ((double)count * squares) : 0;
}

/* A machine that is busy with other things starves threads by itself: so a run may be made again.
 * Returns whether it is good. */
static bool verdict(const struct member *members, const struct setting *setting, const char *mode,
                    uint64_t gap_ms_max)
{
    uint64_t gap_ns = 0, starved_ns = 0, least = UINT64_MAX, most = 0, all = 0;
    for (uint32_t i = 0; i < setting->threads; i++) {
        uint64_t written = members[i].emitter->written;
        gap_ns = members[i].gap_ns > gap_ns ? members[i].gap_ns : gap_ns;
        starved_ns = members[i].starved_ns > starved_ns ? members[i].starved_ns : starved_ns;
        least = written < least ? written : least;
        most = written > most ? written : most;
        all += written;
    }
    bool is_good = starved_ns <= gap_ms_max * 1000000;
    hs_check(is_good || tries_left > 0,
             "%s, %s: a thread had no event written for %llu ms; each wrote %llu to %llu",
             setting->name, mode, (unsigned long long)starved_ns / 1000000,
             (unsigned long long)least, (unsigned long long)most);
    hs_figure_add("runs_again", !is_good);
    if (!hs_common.json)
        printf("%-40s %-10s %10llu written, %8llu to %8llu each, Jain %.3f, gap %6.1f ms, "
               "starved %6.1f ms\n",
               setting->name, mode, (unsigned long long)all, (unsigned long long)least,
               (unsigned long long)most, fairness(members, setting->threads), (double)gap_ns / 1e6,
               (double)starved_ns / 1e6);
    return is_good;
}

/* --- Runs. ----------------------------------------------------------------------------------- */

static bool discard(void *context, const void *bytes, size_t count)
{
    (void)context;
    (void)bytes;
    (void)count;
    return true;
}

static bool drop_run(const struct setting *setting)
{
    bool is_good = false;
    struct member *members = members_new(setting, false);
    struct weir_session_config config = hs_trace_config(setting->budget);
    struct hs_trace trace;
    uint64_t written = 0, attempts = 0;
    config.segment_bytes = setting->segment;
    config.write = discard;
    if (!hs_trace_start(&trace, config, HS_SINK_MEMORY, NULL))
        return false;
    members_run(members, setting, trace.session);
    hs_trace_stop(&trace);
    for (uint32_t i = 0; i < setting->threads; i++) {
        written += members[i].emitter->written;
        attempts += members[i].emitter->attempts;
    }
    hs_check(trace.stats.counts.written == written && trace.stats.counts.attempted == attempts,
             "%llu attempts, %llu written; the statistics say %llu and %llu",
             (unsigned long long)attempts, (unsigned long long)written,
             (unsigned long long)trace.stats.counts.attempted,
             (unsigned long long)trace.stats.counts.written);
    is_good = verdict(members, setting, "DROP", starved_ms);
    hs_trace_end(&trace);
    members_free(members);
    return is_good;
}

/* Every event is written, and takes the place of older ones. */
static bool overwrite_run(const struct setting *setting)
{
    bool is_good = false;
    struct member *members = members_new(setting, false);
    struct weir_session_config config = hs_trace_config(setting->budget);
    struct hs_trace trace;
    uint64_t attempts = 0;
    config.mode = WEIR_MODE_OVERWRITE;
    config.segment_bytes = setting->segment;
    if (!hs_trace_start(&trace, config, HS_SINK_MEMORY, NULL))
        return false;
    members_run(members, setting, trace.session);
    hs_trace_stop(&trace);
    for (uint32_t i = 0; i < setting->threads; i++)
        attempts += members[i].emitter->attempts;
    hs_check(trace.stats.counts.attempted == attempts, "%llu attempts; the statistics say %llu",
             (unsigned long long)attempts, (unsigned long long)trace.stats.counts.attempted);
    is_good = verdict(members, setting, "OVERWRITE", starved_ms);
    hs_trace_end(&trace);
    members_free(members);
    return is_good;
}

static bool block_run(const struct setting *setting, enum weir_wake wake)
{
    bool is_good = false;
    struct member *members = members_new(setting, true);
    struct hs_pipe pipe = {.is_non_blocking = false};
    struct weir_session_config config = hs_block_config(wake, setting->budget, setting->segment);
    if (hs_pipe_start(&pipe, config, setting->threads)) {
        members_run(members, setting, pipe.session);
        hs_pipe_stop(&pipe, members[0].emitter);
        /* The others hand over one by one, each time as late as the scheduler is. */
        is_good = verdict(members, setting, hs_wake_name(wake),
                          wake == WEIR_WAKE_RELAY ? starved_ms : 5 * starved_ms);
        hs_figure_add("events", (double)pipe.events);
        hs_figure_add("parks", (double)pipe.stats.parks);
    }
    members_free(members);
    return is_good;
}

static void setting_run(const struct setting *setting)
{
    for (tries_left = TRIES; tries_left-- > 0 && !drop_run(setting);) {
    }
    for (tries_left = TRIES; tries_left-- > 0 && !overwrite_run(setting);) {
    }
    for (int wake = 0; wake < setting->wakes; wake++)
        for (tries_left = TRIES; tries_left-- > 0 && !block_run(setting, (enum weir_wake)wake);) {
        }
}

int main(int argc, char **argv)
{
    const struct hs_option options[] = {
        {"ms", "of each run", &run_ms, NULL},
        {"starved-ms", "without a written event are too long", &starved_ms, NULL},
        {NULL, NULL, NULL, NULL}};
    hs_init(argc, argv, "More threads than segments: each gets its share.", options);
    hs_emitters_init();
    do {
        for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
            setting_run(&settings[i]);
    } while (hs_time_is_left() && hs_failures() == 0);
    return hs_finish();
}
