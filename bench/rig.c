#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <weir/session.h>
#include "gate.h"
#include "session.h"
#include "timing.h"
#include "tmpfs.h"

#define DRAIN_SECONDS_MAX 10
#define BLOCK_NS_MAX      (UINT64_C(10) * 1000000000)

struct held {
    struct weir_session *session;
    int fd; /* -1: the sink discards */
    struct gate gate;
    bool is_refused; /* DRAIN, read after the stop: a write to the file failed */
};

struct bench_rig {
    struct held held[BENCH_RIG_SESSIONS_MAX];
    uint32_t sessions;
    bool has_failed;              /* after one failure nothing is waited for any more */
    struct bench_emitted emitted; /* ANY, relaxed; read when no thread emits */
};

/* The sink: on the drain thread. */
static bool take(void *context, const void *bytes, size_t count)
{
    struct held *held = context;
    bool is_taken = held->fd < 0 || bench_tmpfs_write(held->fd, bytes, count);
    held->is_refused |= !is_taken;
    gate_pass(&held->gate, count);
    return is_taken;
}

static bool drain(struct held *held, uint64_t bytes, struct bench_drained *drained)
{
    struct gate_span span;
    if (!gate_let(&held->gate, bytes, DRAIN_SECONDS_MAX, &span))
        return false;
    drained->wall_s += (double)span.wall_ns * 1e-9;
    drained->cpu_s += (double)span.cpu_ns * 1e-9;
    drained->bytes += span.bytes;
    if (held->fd >= 0)
        bench_tmpfs_clear(held->fd);
    return true;
}

bool bench_rig_drain(struct bench_rig *rig, uint64_t bytes, struct bench_drained *drained)
{
    struct bench_drained sum = {0, 0, 0};
    for (uint32_t i = 0; i < rig->sessions && !rig->has_failed; i++)
        rig->has_failed = !drain(&rig->held[i], bytes, &sum);
    if (drained && !rig->has_failed)
        *drained = sum;
    return !rig->has_failed;
}

static void session_start(struct held *held, const struct bench_rig_options *options, bool blocks)
{
    struct weir_session_config config = WEIR_SESSION_CONFIG_INIT;
    gate_init(&held->gate); /* open while it starts and writes the stream's header */
    held->fd = options->to_tmpfs ? bench_tmpfs_open() : -1;
    config.sink.write = take;
    config.sink.context = held;
    config.budget_bytes = options->budget_bytes;
    config.segment_bytes = options->segment_bytes;
    config.mode = blocks                ? WEIR_MODE_BLOCK
                  : options->overwrites ? WEIR_MODE_OVERWRITE
                                        : WEIR_MODE_DROP;
    config.format = options->format;
    config.stack_bytes = 1u << 20;
    if (blocks)
        config.max_block_ns = BLOCK_NS_MAX;
    /* For bursts after which the drain does not come back by itself. */
    config.flush_ms = 10;
    held->session = bench_session_start(&config);
}

static void hold(struct bench_rig *rig)
{
    for (uint32_t i = 0; i < rig->sessions; i++)
        gate_close(&rig->held[i].gate);
    uint64_t written;
    bench_rig_timed_s(rig, bench_emit_32, 1, &written); /* brings the drains to their gates */
    for (uint32_t i = 0; i < rig->sessions; i++) {
        if (!gate_wait(&rig->held[i].gate, DRAIN_SECONDS_MAX)) {
            fprintf(stderr, "weir-bench: the drain thread did not write\n");
            exit(1);
        }
    }
}

struct bench_rig *bench_rig_start(const struct bench_rig_options *options)
{
    struct bench_rig *rig = calloc(1, sizeof *rig);
    if (!rig) {
        fprintf(stderr, "weir-bench: no memory\n");
        exit(1);
    }
    rig->sessions = options->sessions ? options->sessions : 1;
    for (uint32_t i = 0; i < rig->sessions; i++)
        session_start(&rig->held[i], options, options->blocks && i + 1 == rig->sessions);
    if (!options->is_open)
        hold(rig);
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

static bool session_stop(struct held *held, struct bench_emitted emitted)
{
    gate_open(&held->gate);
    struct weir_stats stats;
    bool is_whole = bench_session_stop(held->session, emitted, &stats) && !held->is_refused;
    weir_session_destroy(held->session);
    if (held->fd >= 0)
        close(held->fd);
    gate_fini(&held->gate);
    return is_whole;
}

bool bench_rig_stop(struct bench_rig *rig)
{
    bool is_whole = true;
    for (uint32_t i = 0; i < rig->sessions; i++)
        is_whole &= session_stop(&rig->held[i], rig->emitted);
    free(rig);
    return is_whole;
}
