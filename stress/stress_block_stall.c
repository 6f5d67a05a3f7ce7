/*
 * A sink that stands still for a long time. In BLOCK the process then uses almost no processor
 * time; in DROP an attempt costs as much as with a healthy drain and a full budget. In both, memory
 * stays within the budget, and when the sink resumes no more is lost than was reported.
 *
 * The cost of an attempt is a figure, not a verdict: p99 over batches of 64 attempts that were all
 * dropped.
 */
#include <stdlib.h>
#include <sys/resource.h>
#include "emitter.h"
#include "harness.h"
#include "park.h"
#include "sink.h"

#define THREADS      16u
#define BUDGET       (1u << 20)
#define BATCH        64u
#define BATCH_NS_MAX 20000u
#define TURNS        20u
#define STALLED_MIN  1000u /* batches, in all turns */
#define GROWTH_MAX   (1u << 20)
#define LOOK_MS      100u /* how often a parked thread checks whether a waiter could be served */

static uint64_t stall_ms = 1000;
static bool is_over; /* ANY */
static struct hs_sink_gate gate;
static struct hs_trace trace;

static bool start(struct weir_session_config config, weir_write write)
{
    hs_gate_init(&gate, NULL);
    config.sink.write = write;
    config.sink.context = &gate;
    return hs_trace_start(&trace, config, HS_SINK_MEMORY, NULL);
}

static void end(void)
{
    hs_gate_finish(&gate, &trace);
    hs_trace_end(&trace);
    hs_progress();
}

static struct rusage used(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage;
}

static uint64_t ns_of(const struct rusage *usage)
{
    return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000000 +
           (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1000;
}

/* Reports progress, so that the watchdog does not take the wait for a hang. */
static void wait_ms(uint64_t ms)
{
    for (uint64_t end_ns = hs_now_ns() + ms * 1000000; hs_now_ns() < end_ns; hs_progress()) {
        uint64_t left_us = (end_ns - hs_now_ns()) / 1000;
        hs_sleep_us(left_us < 5000000 ? left_us + 1 : 5000000);
    }
}

/* --- BLOCK. ---------------------------------------------------------------------------------- */

static void *emit_until_over(void *argument)
{
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE))
        hs_emit(argument, HS_FIXED);
    return NULL;
}

/* The process since `before`, with all threads parked: for `passed_ns`, which a busy machine makes
 * longer than asked for. Allows twice the checks, and some more for the other threads. Under
 * sanitizers the cost of a check is not judged. */
static void check_rest(enum weir_wake wake, const struct rusage *before, uint64_t passed_ns)
{
    static double worst;
    struct rusage now = used();
    double share = (double)(ns_of(&now) - ns_of(before)) / (double)passed_ns;
    uint64_t sleeps = (uint64_t)(now.ru_nvcsw - before->ru_nvcsw);
    hs_check(sleeps <= 2 * THREADS * (passed_ns / 1000000 / LOOK_MS + 2),
             "%s: %llu sleeps while all threads are parked", hs_wake_name(wake),
             (unsigned long long)sleeps);
#ifndef STRESS_SANITIZED
    hs_check(share < 0.01, "%s: %.2f %% of a processor was used while all threads were parked",
             hs_wake_name(wake), 100 * share);
#endif
    worst = share > worst ? share : worst;
    hs_figure("block_cpu_percent", 100 * worst);
}

static void block_run(enum weir_wake wake)
{
    struct hs_emitter *emitters = hs_emitters_new(THREADS, 20000000);
    pthread_t threads[THREADS];
    __atomic_store_n(&is_over, false, __ATOMIC_RELEASE);
    if (!start(hs_block_config(wake, BUDGET, 32768), hs_gate_write))
        return;
    hs_gate_close(&gate);
    for (uint32_t i = 0; i < THREADS; i++)
        hs_thread_start(&threads[i], emit_until_over, &emitters[i]);
    hs_wait_parked(trace.session, THREADS);
    hs_gate_wait(&gate);
    hs_sleep_us(5000); /* the last thread may still be spinning */
    uint64_t memory = hs_resident_bytes();
    struct rusage before = used();
    uint64_t start_ns = hs_now_ns();
    wait_ms(stall_ms);
    check_rest(wake, &before, hs_now_ns() - start_ns);
#ifdef STRESS_SANITIZED /* what a sanitizer keeps is resident, too */
    (void)memory;
#else
    hs_check(hs_resident_bytes() <= memory + GROWTH_MAX,
             "memory grew while all threads were parked");
#endif
    hs_check(hs_stats(trace.session).parked_now == THREADS, "a thread left its wait");
    __atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
    hs_gate_open(&gate);
    for (uint32_t i = 0; i < THREADS; i++)
        hs_thread_join(threads[i]);
    hs_trace_stop(&trace);
    hs_check(hs_lost(&trace.stats.counts) == 0, "events were lost");
    hs_check(trace.stats.parked_ns_max >= stall_ms * 1000000, "the longest wait is %llu ns",
             (unsigned long long)trace.stats.parked_ns_max);
    hs_gate_finish(&gate, &trace);
    hs_oracle_run(emitters, THREADS, &trace);
    end();
    hs_emitters_free(emitters, THREADS);
}

/* --- DROP. ----------------------------------------------------------------------------------- */

/* So slow that the budget fills up, but it takes everything. */
static bool write_slowly(void *context, const void *bytes, size_t count)
{
    hs_sleep_us(3000);
    return hs_gate_write(context, bytes, count);
}

/* Durations of batches: a count for each number of nanoseconds. */
struct samples {
    uint64_t bins[BATCH_NS_MAX + 1];
    uint64_t count;
};

static void sample_add(struct samples *samples, uint64_t ns)
{
    samples->bins[ns < BATCH_NS_MAX ? ns : BATCH_NS_MAX]++;
    samples->count++;
}

/* Nanoseconds per attempt. */
static double percentile(const struct samples *samples, uint32_t per_mille)
{
    uint64_t below = samples->count * per_mille / 1000, ns = 0;
    for (uint64_t seen = samples->bins[0]; seen <= below && ns < BATCH_NS_MAX;)
        seen += samples->bins[++ns];
    return (double)ns / BATCH;
}

/* Emits for a while, and records the batches of which nothing was written: at least `least`. */
static void sample(struct samples *samples, struct hs_emitter *emitter, uint64_t ms, uint64_t least)
{
    least += samples->count;
    for (uint64_t end_ns = hs_now_ns() + ms * 1000000;
         hs_now_ns() < end_ns || samples->count < least; hs_progress()) {
        uint64_t written = 0, start_ns = hs_now_ns();
        for (uint32_t i = 0; i < BATCH; i++, emitter->attempts++)
            written += Stress_Fixed(emitter->index, emitter->attempts, 0, 0, 0, 0);
        uint64_t passed_ns = hs_now_ns() - start_ns;
        emitter->written += written;
        if (written == 0)
            sample_add(samples, passed_ns);
    }
}

/* In turns, so that other load on the machine is in both; but a long run has a single stall. */
static void turns(struct samples *stalled, struct samples *healthy, struct samples *until_full,
                  struct hs_emitter *emitter)
{
    uint64_t count = stall_ms > 10000 ? 1 : TURNS, healthy_ms = stall_ms / 2 / count;
    for (uint64_t i = 0; i < count; i++) {
        sample(healthy, emitter, healthy_ms, 0);
        hs_gate_close(&gate);
        hs_gate_wait(&gate);
        sample(until_full, emitter, 5, 1);
        sample(stalled, emitter, stall_ms / count, STALLED_MIN / count);
        hs_gate_open(&gate);
        sample(healthy, emitter, healthy_ms, 0);
    }
}

static void drop_run(void)
{
    struct hs_emitter emitter = {.index = 0, .capacity = UINT64_MAX};
    struct samples *stalled = hs_allocate(sizeof *stalled);
    struct samples *healthy = hs_allocate(sizeof *healthy);
    struct samples *until_full = hs_allocate(sizeof *until_full);
    if (!start(hs_trace_config(BUDGET), write_slowly))
        return;
    uint64_t memory = hs_resident_bytes();
    turns(stalled, healthy, until_full, &emitter);
    hs_check(hs_stats(trace.session).budget_bytes_used <= BUDGET, "more than the budget is in use");
#ifndef STRESS_SANITIZED
    hs_check(hs_resident_bytes() <= memory + BUDGET + GROWTH_MAX, "memory grew beyond the budget");
#endif
    (void)memory;
    hs_trace_stop(&trace);
    const struct weir_counts *counts = &trace.stats.counts;
    hs_check(counts->attempted == emitter.attempts && counts->written == emitter.written,
             "%llu attempts, %llu written; the statistics say %llu and %llu",
             (unsigned long long)emitter.attempts, (unsigned long long)emitter.written,
             (unsigned long long)counts->attempted, (unsigned long long)counts->written);
    hs_figure("batches_dropped_stalled", (double)stalled->count);
    hs_figure("batches_dropped_healthy", (double)healthy->count); /* none on a slow machine */
    double stalled_ns = percentile(stalled, 990), healthy_ns = percentile(healthy, 990);
    hs_figure("drop_p50_ns_stalled", percentile(stalled, 500));
    hs_figure("drop_p50_ns_healthy", percentile(healthy, 500));
    hs_figure("drop_p99_ns_stalled", stalled_ns);
    hs_figure("drop_p99_ns_healthy", healthy_ns);
    hs_figure("drop_p99_ratio", healthy_ns > 0 ? stalled_ns / healthy_ns : 0);
    end();
    free(stalled);
    free(healthy);
    free(until_full);
}

int main(int argc, char **argv)
{
    uint64_t is_long = 0;
    const struct hs_option options[] = {{"ms", "how long the sink stands still", &stall_ms, NULL},
                                        {"long", "1: for 60 s", &is_long, NULL},
                                        {NULL, NULL, NULL, NULL}};
    hs_init(argc, argv, "The cost of a sink that stands still.", options);
    stall_ms = is_long ? 60000 : stall_ms;
    hs_emitters_init();
    do {
        for (int wake = 0; wake < HS_WAKES; wake++)
            block_run((enum weir_wake)wake);
        drop_run();
    } while (hs_time_is_left() && hs_failures() == 0);
    return hs_finish();
}
