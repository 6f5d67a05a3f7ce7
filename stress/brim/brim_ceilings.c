#include "brim_ceilings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "brim_kernel.h"
#include "brim_sink.h"
#include "gate.h"
#include "harness.h"

#define NS_PER_MS        UINT64_C(1000000)
#define MEASURE_NS       (UINT64_C(60) * NS_PER_MS)
#define ROUNDS_MIN       5u
#define ROUNDS_MAX       400u
#define WARM_UP          2u /* bursts that touch the budget's pages before anything is measured */
#define DRAIN_S_MAX      20
#define SEGMENT_OVERHEAD 256u                       /* at most: the segment's own header */
#define COST_NS_MAX      (UINT64_C(20) * NS_PER_MS) /* of one burst, in sink cost:NS */

struct rig {
    struct brim_sink sink;
    struct gate gate; /* behind the sink */
    struct weir_session *session;
};

struct rounds {
    double producer_ns[ROUNDS_MAX], drain_ns_per_byte[ROUNDS_MAX];
    uint32_t count;
};

/* --- The session. ---------------------------------------------------------------------------- */

static bool take(void *context, const void *bytes, size_t count)
{
    struct rig *rig = context;
    if (!brim_sink_write(&rig->sink, bytes, count))
        return false;
    gate_pass(&rig->gate, count);
    return true;
}

/* Lets the drain run until `wanted` bytes have arrived; false if they do not arrive. */
static bool drain(struct rig *rig, uint64_t wanted, struct gate_span *span)
{
    bool is_drained = gate_let(&rig->gate, wanted, DRAIN_S_MAX, span);
    hs_progress();
    return is_drained;
}

static bool session_start(struct rig *rig, const struct brim_options *options)
{
    struct weir_session_config config = WEIR_SESSION_CONFIG_INIT;
    config.providers = BRIM_PROVIDER_NAME;
    config.sink.write = take;
    config.sink.context = rig;
    config.budget_bytes = options->budget_bytes;
    config.segment_bytes = (uint32_t)options->segment_bytes;
    config.flush_ms = 10; /* for bursts that are too small to wake the drain */
    config.stop_ms_max = DRAIN_S_MAX * 1000;
    return weir_session_create(&config, &rig->session, NULL) == WEIR_OK &&
           weir_session_start(rig->session, NULL) == WEIR_OK;
}

/* The sink of the run, without what only takes time: that part is added by calculation, or does not
 * change what the drain costs. */
static void sink_init(struct brim_sink *sink, const struct brim_options *options,
                      double bytes_per_event)
{
    struct brim_options plain = *options;
    bool has_cost = options->sink == BRIM_SINK_COST && !isnan(bytes_per_event);
    plain.sink = has_cost ? BRIM_SINK_COST : BRIM_SINK_FAST;
    brim_sink_init(sink, &plain, options->seed, bytes_per_event);
    if (options->verifies)
        brim_sink_open_file(sink, options->trace_folder); /* the run itself reports a failure */
}

/* Events in a burst that fits: one segment is partly used, and one more is kept back. A record
 * larger than a segment spans several. */
static uint64_t burst_of(const struct brim_options *options)
{
    uint64_t segments = options->budget_bytes / options->segment_bytes;
    uint64_t room = options->segment_bytes - SEGMENT_OVERHEAD;
    uint64_t record = brim_record_bytes(options->payload_bytes);
    segments = segments > 3 ? segments - 2 : 1;
    uint64_t burst = record <= room ? segments * (room / record) : segments * room / record;
    uint64_t cost_ns = options->sink == BRIM_SINK_COST ? options->sink_amount : 1;
    return burst < COST_NS_MAX / cost_ns ? burst : COST_NS_MAX / cost_ns + 1;
}

static bool round_run(struct rig *rig, struct brim_emitter *emitter, uint64_t burst,
                      struct rounds *rounds)
{
    uint64_t start = hs_thread_cpu_ns();
    uint64_t written = brim_emit(emitter, burst);
    uint64_t producer_ns = hs_thread_cpu_ns() - start;
    struct gate_span span;
    if (written == 0 || !drain(rig, written * (emitter->payload_bytes + 2), &span))
        return false;
    rounds->producer_ns[rounds->count] = (double)producer_ns / (double)written;
    rounds->drain_ns_per_byte[rounds->count] = (double)span.cpu_ns / (double)span.bytes;
    rounds->count++;
    return true;
}

static void rounds_run(struct rig *rig, const struct brim_options *options,
                       struct weir_event *event, struct rounds *rounds)
{
    struct brim_emitter emitter = {
        .event = event, .payload_bytes = (uint32_t)options->payload_bytes, .seed = options->seed};
    uint64_t end_ns = hs_now_ns() + MEASURE_NS;
    gate_close(&rig->gate);
    /* The first burst brings the drain to the gate, which holds it from then on. */
    if (brim_emit(&emitter, 1) == 0 || !drain(rig, 1, NULL))
        return;
    for (uint32_t i = 0; i < WARM_UP; i++)
        if (!round_run(rig, &emitter, burst_of(options), rounds))
            return;
    rounds->count = 0;
    while (rounds->count < ROUNDS_MAX && (rounds->count < ROUNDS_MIN || hs_now_ns() < end_ns))
        if (!round_run(rig, &emitter, burst_of(options), rounds))
            return;
}

/* --- Figures. -------------------------------------------------------------------------------- */

static int order(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

static double median(double *values, uint32_t count)
{
    if (count < ROUNDS_MIN)
        return NAN;
    qsort(values, count, sizeof *values, order);
    return values[count / 2];
}

static void figures_take(struct rig *rig, struct rounds *rounds, struct brim_ceilings *ceilings)
{
    struct weir_stats stats = WEIR_STATS_INIT;
    if (weir_session_stop(rig->session, NULL) != WEIR_OK ||
        weir_session_stats(rig->session, &stats) != WEIR_OK || stats.counts.written == 0)
        return;
    ceilings->bytes_per_event = (double)stats.bytes_sent / (double)stats.counts.written;
    ceilings->producer_ns = median(rounds->producer_ns, rounds->count);
    ceilings->drain_ns =
        median(rounds->drain_ns_per_byte, rounds->count) * ceilings->bytes_per_event;
}

static struct brim_ceilings measure(const struct brim_options *options, struct weir_event *event,
                                    const struct brim_cpus *cpus, double bytes_per_event)
{
    struct brim_ceilings ceilings = {NAN, NAN, NAN};
    struct rig *rig = hs_try_allocate(sizeof *rig);
    struct rounds *rounds = hs_try_allocate(sizeof *rounds);
    if (!rig || !rounds) {
        free(rounds);
        free(rig);
        return ceilings;
    }
    sink_init(&rig->sink, options, bytes_per_event);
    gate_init(&rig->gate);
    if (session_start(rig, options)) {
        brim_cpus_bind_drain(&cpus->first);
        rounds_run(rig, options, event, rounds);
        gate_open(&rig->gate);
        figures_take(rig, rounds, &ceilings);
    }
    weir_session_destroy(rig->session);
    brim_sink_close(&rig->sink);
    gate_fini(&rig->gate);
    free(rounds);
    free(rig);
    return ceilings;
}

struct brim_ceilings brim_ceilings_measure(const struct brim_options *options,
                                           struct weir_event *event, const struct brim_cpus *cpus)
{
    if (options->sink == BRIM_SINK_PIPE)
        return (struct brim_ceilings){NAN, NAN, NAN};
    brim_cpus_bind_self(&cpus->others);
    struct brim_ceilings ceilings = measure(options, event, cpus, NAN);
    if (options->sink == BRIM_SINK_COST && !isnan(ceilings.bytes_per_event)) {
        double bytes_per_event = ceilings.bytes_per_event;
        ceilings = measure(options, event, cpus, bytes_per_event);
        ceilings.bytes_per_event = bytes_per_event;
    }
    brim_cpus_bind_self(&cpus->all);
    ceilings.producer_ns += (double)options->work_ns;
    double slow_ns = ceilings.bytes_per_event / (double)options->sink_amount * 1e9;
    if (options->sink == BRIM_SINK_SLOW && slow_ns > ceilings.drain_ns)
        ceilings.drain_ns = slow_ns;
    if (options->mode == WEIR_MODE_OVERWRITE)
        ceilings.drain_ns = NAN; /* OVERWRITE does not drain */
    return ceilings;
}

double brim_ceilings_bound(const struct brim_ceilings *ceilings, const struct brim_options *options,
                           const struct brim_cpus *cpus)
{
    double d = ceilings->drain_ns * 1e-9, p = ceilings->producer_ns * 1e-9;
    unsigned free_of_drain = options->pins && cpus->count > 1 ? cpus->count - 1 : cpus->count;
    double producers = fmin((double)options->threads, free_of_drain);
    bool has_bound = options->sink != BRIM_SINK_STALL && !isnan(d) && !isnan(p);
    return has_bound ? fmin(fmin(1 / d, producers / p), cpus->count / (p + d)) : NAN;
}
