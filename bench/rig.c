#include "rig.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <weir/session.h>
#include "session.h"
#include "timing.h"
#include "tmpfs.h"

#define DRAIN_SECONDS_MAX 10
#define BLOCK_NS_MAX      (UINT64_C(10) * 1000000000)

struct bench_rig {
    struct weir_session *session;
    int fd; /* -1: the sink discards */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* LOCK */
    bool is_open;    /* the session starts or stops: the sink holds nobody */
    bool is_held;    /* the drain is in the sink */
    bool has_failed; /* once is enough: nothing is waited for any more */
    bool is_refused; /* the file took no more */
    uint64_t wanted; /* bytes that pass before the drain is held again */
    struct bench_drained drained;
    double opened_wall_s, opened_cpu_s;
    struct bench_emitted emitted; /* ANY, relaxed; read when nobody emits */
};

static void hold_locked(struct bench_rig *rig)
{
    rig->drained.wall_s = bench_now_s(CLOCK_MONOTONIC) - rig->opened_wall_s;
    rig->drained.cpu_s = bench_now_s(CLOCK_THREAD_CPUTIME_ID) - rig->opened_cpu_s;
    rig->is_held = true;
    pthread_cond_broadcast(&rig->changed);
    while (rig->is_held && !rig->is_open)
        pthread_cond_wait(&rig->changed, &rig->lock);
    rig->opened_wall_s = bench_now_s(CLOCK_MONOTONIC);
    rig->opened_cpu_s = bench_now_s(CLOCK_THREAD_CPUTIME_ID);
}

/* The sink: on the drain thread. */
static bool take(void *context, const void *bytes, size_t count)
{
    struct bench_rig *rig = context;
    bool is_taken = rig->fd < 0 || bench_tmpfs_write(rig->fd, bytes, count);
    pthread_mutex_lock(&rig->lock);
    rig->drained.bytes += count;
    rig->is_refused |= !is_taken;
    if (!rig->is_open && rig->drained.bytes >= rig->wanted)
        hold_locked(rig);
    pthread_mutex_unlock(&rig->lock);
    return is_taken;
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
    if (is_held && rig->fd >= 0)
        bench_tmpfs_clear(rig->fd);
    return is_held;
}

static void gate_set(struct bench_rig *rig, bool is_open)
{
    pthread_mutex_lock(&rig->lock);
    rig->is_open = is_open;
    pthread_cond_broadcast(&rig->changed);
    pthread_mutex_unlock(&rig->lock);
}

static void session_start(struct bench_rig *rig, const struct bench_rig_options *options)
{
    struct weir_session_config config = WEIR_SESSION_CONFIG_INIT;
    config.sink.write = take;
    config.sink.context = rig;
    config.budget_bytes = options->budget_bytes;
    config.segment_bytes = options->segment_bytes;
    config.mode = options->blocks ? WEIR_MODE_BLOCK : WEIR_MODE_DROP;
    if (options->blocks)
        config.max_block_ns = BLOCK_NS_MAX;
    /* The gate wakes the drain; the timer is for bursts that are too small to. */
    config.flush_ms = 10;
    rig->session = bench_session_start(&config);
}

struct bench_rig *bench_rig_start(const struct bench_rig_options *options)
{
    struct bench_rig *rig = calloc(1, sizeof *rig);
    if (!rig || pthread_mutex_init(&rig->lock, NULL) || pthread_cond_init(&rig->changed, NULL)) {
        fprintf(stderr, "weir-bench: no memory\n");
        exit(1);
    }
    rig->is_open = true; /* nobody is held while it starts and writes the stream's header */
    rig->fd = options->to_tmpfs ? bench_tmpfs_open() : -1;
    session_start(rig, options);
    gate_set(rig, false);
    uint64_t written;
    bench_rig_timed_s(rig, bench_emit_32, 1, &written); /* so that the drain comes to the gate */
    if (!bench_rig_drain(rig, 1, NULL)) {
        fprintf(stderr, "weir-bench: the drain thread does not write\n");
        exit(1);
    }
    return rig;
}

double bench_rig_timed_s(struct bench_rig *rig, bench_kernel kernel, uint64_t count,
                         uint64_t *written)
{
    double seconds = bench_timed_s(kernel, count, written);
    __atomic_fetch_add(&rig->emitted.attempted, count, __ATOMIC_RELAXED);
    __atomic_fetch_add(&rig->emitted.written, *written, __ATOMIC_RELAXED);
    return seconds;
}

bool bench_rig_stop(struct bench_rig *rig)
{
    gate_set(rig, true);
    struct weir_stats stats;
    bool is_whole = bench_session_stop(rig->session, rig->emitted, &stats) && !rig->is_refused;
    weir_session_destroy(rig->session);
    if (rig->fd >= 0)
        close(rig->fd);
    pthread_cond_destroy(&rig->changed);
    pthread_mutex_destroy(&rig->lock);
    free(rig);
    return is_whole;
}
