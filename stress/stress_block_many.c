/*
 * More threads than segments, in DROP, in OVERWRITE, and in BLOCK under each strategy. All emit as
 * fast as they can, or at a pace that keeps the segments moving between them. Segments are shared,
 * and memory stays within the budget.
 *
 * The verdict counts turns and rounds and does not measure time. A thread that was refused, or that
 * waited in BLOCK, has had its turn when one of its events is written again. With N threads, a round
 * is any N turns. A run ends after some rounds or after a while: a
 * machine that seldom runs the threads judges fewer rounds.
 */
#include <stdio.h>
#include <stdlib.h>
#include "emitter.h"
#include "harness.h"
#include "park.h"
#include "pipe.h"

#define PACE_US    300u
#define PASSED_MAX 8u /* rounds in which a thread asked and had no turn */
/* In OVERWRITE a thread without a segment borrows one for a record. A sanitizer makes that so slow
 * that the thread is preempted while it holds the segment, and others get none. */
#ifdef STRESS_SANITIZED
#define PASSED_BORROWING UINT64_MAX
#else
#define PASSED_BORROWING PASSED_MAX
#endif
#define RUNS         3
#define ROUNDS_MIN   8u
#define JAIN_MIN     0.9
#define STACK_BYTES  (64u << 10)
#define OTHERS_BYTES (4u << 20) /* other memory of the process: the reader, the C library */

static uint64_t run_ms = 3000, rounds_wanted = 10;
static uint64_t turns;          /* ANY: of all threads */
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
    const struct setting *setting;
    uint64_t parks; /* BLOCK */
    uint64_t turns;
    bool waits;           /* it was refused and has not had its turn yet */
    uint64_t asked_round; /* the last one in which it asked */
    uint64_t passed;      /* of this wait: rounds that ended after it had asked in them */
    uint64_t passed_most; /* of all waits */
};

static __thread struct member *own;

/* --- Threads. -------------------------------------------------------------------------------- */

static uint64_t turns_now(void)
{
    return __atomic_load_n(&turns, __ATOMIC_RELAXED);
}

/* An event was refused or waits; `now` is the number of turns so far. */
static void note_asked(struct member *member, uint64_t now)
{
    uint64_t round = now / member->setting->threads;
    member->passed = member->waits ? member->passed + (round != member->asked_round) : 0;
    member->waits = true;
    member->asked_round = round;
    if (member->passed > member->passed_most)
        member->passed_most = member->passed;
}

static void note_written(struct member *member)
{
    if (!member->waits)
        return;
    member->waits = false;
    member->turns++;
    __atomic_add_fetch(&turns, 1, __ATOMIC_RELAXED);
}

/* The gate numbers waits and grants: the difference is what it granted to later waits, however long
 * the thread then took to run. */
static void note_parked(void *context, const struct weir_park *park)
{
    (void)context;
    struct member *member = own;
    if (!member || park->grant_number == 0)
        return;
    uint64_t behind = park->grant_number - park->queue_number;
    uint64_t passed =
        park->grant_number > park->queue_number ? behind / member->setting->threads : 0;
    member->parks++;
    if (passed > member->passed_most)
        member->passed_most = passed;
}

static void emit_one(struct member *member)
{
    uint64_t parks = member->parks;
    bool is_written = hs_emit(member->emitter, HS_FIXED);
    if (member->parks != parks)
        note_asked(member, turns_now());
    if (is_written)
        note_written(member);
    else
        note_asked(member, turns_now());
}

static void *emit_until_over(void *argument)
{
    struct member *member = argument;
    /* Threads that already run would keep the others from being created. */
    while (!__atomic_load_n(&has_begun, __ATOMIC_ACQUIRE))
        hs_sleep_us(1000);
    own = member;
    while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
        emit_one(member);
        if (member->setting->is_paced)
            hs_sleep_us(PACE_US);
    }
    return NULL;
}

static struct member *members_new(const struct setting *setting)
{
    struct member *members = hs_allocate(setting->threads * sizeof *members);
    struct hs_emitter *emitters = hs_allocate(setting->threads * sizeof *emitters);
    for (uint32_t i = 0; i < setting->threads; i++) {
        emitters[i] = (struct hs_emitter){.index = i, .capacity = UINT64_MAX};
        members[i] = (struct member){.emitter = &emitters[i], .setting = setting};
    }
    return members;
}

static void members_free(struct member *members)
{
    free(members[0].emitter);
    free(members);
}

/* Lets the threads run for a while and checks memory meanwhile. */
static void members_run(struct member *members, const struct setting *setting,
                        struct weir_session *session)
{
    uint64_t before = hs_resident_bytes();
    turns = 0;
    __atomic_store_n(&is_over, false, __ATOMIC_RELAXED);
    __atomic_store_n(&has_begun, false, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < setting->threads; i++)
        hs_thread_start(&members[i].handle, emit_until_over, &members[i]);
    uint64_t end_ns = hs_now_ns() + run_ms * 1000000;
    __atomic_store_n(&has_begun, true, __ATOMIC_RELEASE);
    while (hs_now_ns() < end_ns && turns_now() < rounds_wanted * setting->threads) {
        struct weir_stats stats = hs_stats(session);
        hs_check(stats.budget_bytes_used <= setting->budget, "%llu bytes of the budget are in use",
                 (unsigned long long)stats.budget_bytes_used);
        hs_sleep_us(20000);
    }
    uint64_t growth = hs_resident_bytes() - before, reserved = hs_stats(session).reserved_bytes;
#ifndef STRESS_SANITIZED
    hs_check(growth <= setting->budget + reserved + setting->threads * STACK_BYTES + OTHERS_BYTES,
             "%s: resident memory grew by %llu bytes", setting->name, (unsigned long long)growth);
#endif
    (void)growth;
    (void)reserved;
    __atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < setting->threads; i++)
        hs_thread_join(members[i].handle);
    hs_progress();
}

/* --- Verdict. -------------------------------------------------------------------------------- */

static double written_of(const struct member *member)
{
    return (double)member->emitter->written;
}

static double turns_of(const struct member *member)
{
    return (double)member->turns;
}

/* Jain's index: 1 if all have the same, 1/n if one has all. */
static double fairness(const struct member *members, double (*share_of)(const struct member *))
{
    double sum = 0, squares = 0;
    uint32_t count = members->setting->threads;
    for (uint32_t i = 0; i < count; i++) {
        double share = share_of(&members[i]);
        sum += share;
        squares += share * share;
    }
    return squares > 0 ? sum * sum / ((double)count * squares) : 0;
}

/* In a few rounds, one turn more or less means nothing, and a busy machine starts some threads only
 * after the first round. */
static bool has_fair_shares(const struct member *members)
{
    return turns_now() < (uint64_t)ROUNDS_MIN * members->setting->threads ||
           fairness(members, turns_of) >= JAIN_MIN;
}

/* Returns in how many rounds a thread asked and had no turn. */
static uint64_t verdict(const struct member *members, const struct setting *setting,
                        const char *mode, uint64_t passed_max, bool is_ordered)
{
    uint64_t least = UINT64_MAX, most = 0, all = 0, passed = 0;
    uint64_t turns_least = UINT64_MAX, turns_most = 0;
    for (uint32_t i = 0; i < setting->threads; i++) {
        uint64_t written = members[i].emitter->written;
        least = written < least ? written : least;
        most = written > most ? written : most;
        all += written;
        turns_least = members[i].turns < turns_least ? members[i].turns : turns_least;
        turns_most = members[i].turns > turns_most ? members[i].turns : turns_most;
        passed = members[i].passed_most > passed ? members[i].passed_most : passed;
    }
    if (!hs_common.json)
        printf("%-38s %-10s %9llu written, %7llu to %7llu each, Jain %.3f; %6llu turns, %4llu to "
               "%4llu each, Jain %.3f, passed over %llu\n",
               setting->name, mode, (unsigned long long)all, (unsigned long long)least,
               (unsigned long long)most, fairness(members, written_of),
               (unsigned long long)turns_now(), (unsigned long long)turns_least,
               (unsigned long long)turns_most, fairness(members, turns_of),
               (unsigned long long)passed);
    hs_check(passed <= passed_max, "%s, %s: a thread asked in %llu rounds and had no turn",
             setting->name, mode, (unsigned long long)passed);
    hs_check(!is_ordered || has_fair_shares(members),
             "%s, %s: %llu turns are not shared: each thread had %llu to %llu", setting->name, mode,
             (unsigned long long)turns_now(), (unsigned long long)turns_least,
             (unsigned long long)turns_most);
    hs_figure_add("turns", (double)turns_now());
    return passed;
}

/* --- Runs. ----------------------------------------------------------------------------------- */

static bool discard(void *context, const void *bytes, size_t count)
{
    (void)context;
    (void)bytes;
    (void)count;
    return true;
}

/* In DROP a thread that is not running cannot take its turn, which goes to the next one. Of threads
 * that emit as fast as they can, most are not running. False if a thread was passed over too often; in
 * the last run that is a failure. */
static bool drop_once(const struct setting *setting, bool is_last)
{
    uint64_t passed_max = is_last ? PASSED_MAX : UINT64_MAX, passed;
    struct member *members = members_new(setting);
    struct weir_session_config config = hs_trace_config(setting->budget);
    struct hs_trace trace;
    uint64_t written = 0, attempts = 0;
    config.segment_bytes = setting->segment;
    config.sink.write = discard;
    if (!hs_trace_start(&trace, config, HS_SINK_MEMORY, NULL))
        return true;
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
    passed = verdict(members, setting, "DROP", passed_max, setting->is_paced);
    hs_trace_end(&trace);
    members_free(members);
    return passed <= PASSED_MAX;
}

/* Every event is written, and takes the place of older ones. False if a thread was passed over too often;
 * in the last run that is a failure. */
static bool overwrite_once(const struct setting *setting, bool is_last)
{
    uint64_t passed_max = is_last ? PASSED_BORROWING : UINT64_MAX, passed;
    struct member *members = members_new(setting);
    struct weir_session_config config = hs_trace_config(setting->budget);
    struct hs_trace trace;
    uint64_t attempts = 0;
    config.mode = WEIR_MODE_OVERWRITE;
    config.segment_bytes = setting->segment;
    if (!hs_trace_start(&trace, config, HS_SINK_MEMORY, NULL))
        return true;
    members_run(members, setting, trace.session);
    hs_trace_stop(&trace);
    for (uint32_t i = 0; i < setting->threads; i++)
        attempts += members[i].emitter->attempts;
    hs_check(trace.stats.counts.attempted == attempts, "%llu attempts; the statistics say %llu",
             (unsigned long long)attempts, (unsigned long long)trace.stats.counts.attempted);
    passed = verdict(members, setting, "OVERWRITE", passed_max, false);
    hs_trace_end(&trace);
    members_free(members);
    return passed <= PASSED_BORROWING;
}

/* A thread that the system does not run is passed over, too. If the mode starves it, it does so each
 * time. */
static void run_until_fair(const struct setting *setting, const char *mode,
                           bool (*once)(const struct setting *, bool))
{
    int left = RUNS;
    while (!once(setting, left == 1) && --left > 0)
        fprintf(stderr, "%s, %s: a thread was passed over more than %u times; again\n",
                setting->name, mode, PASSED_MAX);
}

/* A strategy without an order promises no thread its share. */
static void block_run(const struct setting *setting, enum weir_wake wake)
{
    struct member *members = members_new(setting);
    struct hs_pipe pipe = {.is_non_blocking = false};
    struct weir_session_config config = hs_block_config(wake, setting->budget, setting->segment);
    config.on_park = note_parked;
    if (hs_pipe_start(&pipe, config, setting->threads)) {
        members_run(members, setting, pipe.session);
        hs_pipe_stop(&pipe, members[0].emitter);
        bool is_ordered = hs_wake_is_ordered(wake);
        verdict(members, setting, hs_wake_name(wake), is_ordered ? PASSED_MAX : UINT64_MAX,
                is_ordered);
        hs_figure_add("events", (double)pipe.events);
        hs_figure_add("parks", (double)pipe.stats.parks);
    }
    members_free(members);
}

static void setting_run(const struct setting *setting)
{
    run_until_fair(setting, "DROP", drop_once);
    run_until_fair(setting, "OVERWRITE", overwrite_once);
    for (int wake = 0; wake < setting->wakes; wake++)
        block_run(setting, (enum weir_wake)wake);
}

int main(int argc, char **argv)
{
    const struct hs_option options[] = {
        {"rounds", "of each run: mean turns per thread", &rounds_wanted, NULL},
        {"ms", "after which a run ends in any case", &run_ms, NULL},
        {NULL, NULL, NULL, NULL}};
    hs_init(argc, argv, "More threads than segments: each thread gets its share.", options);
    hs_emitters_init();
    do {
        for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
            setting_run(&settings[i]);
    } while (hs_time_is_left() && hs_failures() == 0);
    return hs_finish();
}
