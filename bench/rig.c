#include "rig.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <weir/session.h>

#define DRAIN_SECONDS_MAX 2

struct bench_rig {
    struct weir_session *session;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* LOCK */
    bool is_open;    /* the session starts or stops: the sink holds nobody */
    bool is_held;    /* the drain is in the sink */
    bool has_failed; /* once is enough: nothing is waited for any more */
    uint64_t wanted; /* bytes that pass before the drain is held again */
    struct bench_drained drained;
    double opened_wall_s, opened_cpu_s;
};

static double now_s(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

double bench_timed_s(bench_kernel kernel, uint64_t count, uint64_t *written)
{
    double start_s = now_s(CLOCK_THREAD_CPUTIME_ID);
    *written = kernel(count);
    return now_s(CLOCK_THREAD_CPUTIME_ID) - start_s;
}

static void hold_locked(struct bench_rig *rig)
{
    rig->drained.wall_s = now_s(CLOCK_MONOTONIC) - rig->opened_wall_s;
    rig->drained.cpu_s = now_s(CLOCK_THREAD_CPUTIME_ID) - rig->opened_cpu_s;
    rig->is_held = true;
    pthread_cond_broadcast(&rig->changed);
    while (rig->is_held && !rig->is_open)
        pthread_cond_wait(&rig->changed, &rig->lock);
    rig->opened_wall_s = now_s(CLOCK_MONOTONIC);
    rig->opened_cpu_s = now_s(CLOCK_THREAD_CPUTIME_ID);
}

/* The sink: on the drain thread. */
static bool discard(void *context, const void *bytes, size_t count)
{
    struct bench_rig *rig = context;
    (void)bytes;
    pthread_mutex_lock(&rig->lock);
    rig->drained.bytes += count;
    if (!rig->is_open && rig->drained.bytes >= rig->wanted)
        hold_locked(rig);
    pthread_mutex_unlock(&rig->lock);
    return true;
}

static bool wait_until_held_locked(struct bench_rig *rig)
{
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += DRAIN_SECONDS_MAX;
    int failure = 0;
    while (!rig->is_held && !failure)
        failure = pthread_cond_timedwait(&rig->changed, &rig->lock, &deadline);
    return rig->is_held;
}

bool bench_rig_drain(struct bench_rig *rig, uint64_t bytes, struct bench_drained *drained)
{
    pthread_mutex_lock(&rig->lock);
    rig->wanted = bytes;
    rig->drained.bytes = 0;
    rig->is_held = false;
    pthread_cond_broadcast(&rig->changed);
    bool is_held = !rig->has_failed && wait_until_held_locked(rig);
    rig->has_failed = !is_held;
    if (drained)
        *drained = rig->drained;
    pthread_mutex_unlock(&rig->lock);
    return is_held;
}

static void gate_set(struct bench_rig *rig, bool is_open)
{
    pthread_mutex_lock(&rig->lock);
    rig->is_open = is_open;
    pthread_cond_broadcast(&rig->changed);
    pthread_mutex_unlock(&rig->lock);
}

static enum weir_result session_start(struct bench_rig *rig, uint64_t budget_bytes,
                                      uint32_t segment_bytes, struct weir_error *error)
{
    struct weir_session_config config = WEIR_SESSION_CONFIG_INIT;
    config.providers = "WeirBench";
    config.write = discard;
    config.write_context = rig;
    config.budget_bytes = budget_bytes;
    config.segment_bytes = segment_bytes;
    /* The gate wakes the drain; the timer is for bursts that are too small to. */
    config.flush_ms = 10;
    enum weir_result result = weir_session_create(&config, &rig->session, error);
    return result == WEIR_OK ? weir_session_start(rig->session, error) : result;
}

struct bench_rig *bench_rig_start(uint64_t budget_bytes, uint32_t segment_bytes)
{
    struct bench_rig *rig = calloc(1, sizeof *rig);
    struct weir_error error = {"no memory"};
    if (rig)
        rig->is_open = true; /* a start waits for the stream's header */
    if (!rig || pthread_mutex_init(&rig->lock, NULL) || pthread_cond_init(&rig->changed, NULL) ||
        session_start(rig, budget_bytes, segment_bytes, &error) != WEIR_OK) {
        fprintf(stderr, "weir-bench: %s\n", error.text);
        exit(1);
    }
    gate_set(rig, false);
    bench_emit_32(1); /* something to write, so that the drain comes to the gate */
    if (!bench_rig_drain(rig, 1, NULL)) {
        fprintf(stderr, "weir-bench: the drain thread does not write\n");
        exit(1);
    }
    return rig;
}

bool bench_rig_stop(struct bench_rig *rig)
{
    gate_set(rig, true);
    bool is_whole = weir_session_stop(rig->session) == WEIR_OK;
    struct weir_stats stats = {.size = sizeof stats};
    is_whole &= weir_session_stats(rig->session, &stats) == WEIR_OK;
    uint64_t accounted = stats.counts.written;
    for (unsigned cause = 0; cause < WEIR_LOSS_COUNT; cause++)
        accounted += stats.counts.lost[cause];
    weir_session_destroy(rig->session);
    pthread_cond_destroy(&rig->changed);
    pthread_mutex_destroy(&rig->lock);
    free(rig);
    return is_whole && accounted == stats.counts.attempted;
}

void bench_bind(int processor)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    size_t count = (size_t)sysconf(_SC_NPROCESSORS_ONLN);
    for (size_t i = 0; i < count; i++)
        if (processor < 0 || i == (size_t)processor % count)
            CPU_SET(i, &set);
    /* A system that refuses gives noisier figures, not wrong ones. */
    (void)sched_setaffinity(0, sizeof set, &set);
}
