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

struct bench_rig {
    struct weir_session *session;
    int fd; /* -1: the sink discards */
    struct gate gate;
    bool has_failed;              /* after one failure nothing is waited for any more */
    bool is_refused;              /* DRAIN, read after the stop: a write to the file failed */
    struct bench_emitted emitted; /* ANY, relaxed; read when no thread emits */
};

/* The sink: on the drain thread. */
static bool take(void *context, const void *bytes, size_t count)
{
    struct bench_rig *rig = context;
    bool is_taken = rig->fd < 0 || bench_tmpfs_write(rig->fd, bytes, count);
    rig->is_refused |= !is_taken;
    gate_pass(&rig->gate, count);
    return is_taken;
}

bool bench_rig_drain(struct bench_rig *rig, uint64_t bytes, struct bench_drained *drained)
{
    struct gate_span span;
    bool is_held = !rig->has_failed && gate_let(&rig->gate, bytes, DRAIN_SECONDS_MAX, &span);
    rig->has_failed = !is_held;
    if (drained && is_held)
        *drained = (struct bench_drained){.wall_s = (double)span.wall_ns * 1e-9,
                                          .cpu_s = (double)span.cpu_ns * 1e-9,
                                          .bytes = span.bytes};
    if (is_held && rig->fd >= 0)
        bench_tmpfs_clear(rig->fd);
    return is_held;
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
    /* For bursts after which the drain does not come back by itself. */
    config.flush_ms = 10;
    rig->session = bench_session_start(&config);
}

static void hold(struct bench_rig *rig)
{
    gate_close(&rig->gate);
    uint64_t written;
    bench_rig_timed_s(rig, bench_emit_32, 1, &written); /* brings the drain to the gate */
    if (!bench_rig_drain(rig, 1, NULL)) {
        fprintf(stderr, "weir-bench: the drain thread did not write\n");
        exit(1);
    }
}

struct bench_rig *bench_rig_start(const struct bench_rig_options *options)
{
    struct bench_rig *rig = calloc(1, sizeof *rig);
    if (!rig) {
        fprintf(stderr, "weir-bench: no memory\n");
        exit(1);
    }
    gate_init(&rig->gate); /* open while it starts and writes the stream's header */
    rig->fd = options->to_tmpfs ? bench_tmpfs_open() : -1;
    session_start(rig, options);
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

bool bench_rig_stop(struct bench_rig *rig)
{
    gate_open(&rig->gate);
    struct weir_stats stats;
    bool is_whole = bench_session_stop(rig->session, rig->emitted, &stats) && !rig->is_refused;
    weir_session_destroy(rig->session);
    if (rig->fd >= 0)
        close(rig->fd);
    gate_fini(&rig->gate);
    free(rig);
    return is_whole;
}
