#include "kernel_brim.h"

#include <brim_kernel.h>
#include <brim_run.h>
#include <harness.h>
#include <stdio.h>
#include <stdlib.h>

#define PAYLOADS_MAX 32u

static const enum brim_sink_kind sinks[] = {
    [BENCH_BRIM_FAST] = BRIM_SINK_FAST,
    [BENCH_BRIM_COST] = BRIM_SINK_COST,
    [BENCH_BRIM_SLOW] = BRIM_SINK_SLOW,
    [BENCH_BRIM_STALL] = BRIM_SINK_STALL,
};

/* One event for each payload size in use. */
static struct weir_event *event_of(uint64_t payload_bytes, uint64_t seed)
{
    static struct {
        uint64_t payload_bytes;
        struct weir_event *event;
    } known[PAYLOADS_MAX];
    static uint32_t count;
    for (uint32_t i = 0; i < count; i++)
        if (known[i].payload_bytes == payload_bytes)
            return known[i].event;
    if (count == PAYLOADS_MAX) {
        fprintf(stderr, "weir-bench: more than %u payload sizes\n", PAYLOADS_MAX);
        exit(1);
    }
    struct weir_error error = {""};
    known[count].payload_bytes = payload_bytes;
    known[count].event = brim_event_define(payload_bytes, seed, &error);
    if (!known[count].event) {
        fprintf(stderr, "weir-bench: the event cannot be defined: %s\n", error.text);
        exit(1);
    }
    return known[count++].event;
}

static struct brim_options options_of(const struct bench_brim *brim)
{
    struct brim_options options = BRIM_OPTIONS_DEFAULT;
    options.mode = brim->mode;
    options.wake = brim->wake;
    options.threads = brim->producers;
    options.segment_bytes = brim->segment_bytes;
    options.budget_bytes = brim->budget_bytes;
    options.payload_bytes = brim->payload_bytes;
    options.rate = brim->rate;
    if (brim->rate)
        options.pattern = brim->is_bolus ? BRIM_BOLUS : BRIM_DRIP;
    options.events = brim->is_bolus ? brim->rate : 0;
    options.seconds = brim->is_bolus ? 0 : brim->seconds;
    options.pins = brim->is_pinned;
    options.sink = sinks[brim->sink];
    options.sink_amount = brim->sink_amount;
    return options;
}

static struct bench_brim_figures figures_of(const struct brim_result *result)
{
    const struct weir_counts *counts = &result->stats.counts;
    double recorded = (double)(counts->written + counts->lost[WEIR_LOSS_OVERWRITTEN]);
    uint64_t lost = brim_lost(counts) - counts->lost[WEIR_LOSS_OVERWRITTEN];
    double events_per_s = recorded / result->seconds;
    return (struct bench_brim_figures){
        .events_per_s = events_per_s,
        .ns_per_event = 1e9 / events_per_s,
        .lost = lost,
        .loss = (double)lost / (double)counts->attempted,
        .park_p50_ns = brim_park_ns(result, 500),
        .park_p99_ns = brim_park_ns(result, 990),
        .park_p999_ns = brim_park_ns(result, 999),
        .wakes_per_segment = result->wakes_per_segment,
        .jain = result->fairness.median,
        .cpu_ns_per_event = result->cpu_seconds * 1e9 / recorded,
        .of_bound = events_per_s / result->bound_events_per_s,
    };
}

bool bench_brim_can_pin(void)
{
    struct brim_cpus cpus;
    brim_cpus_get(&cpus);
    return cpus.count >= 2;
}

struct bench_brim_figures bench_brim_run(const struct bench_brim *brim)
{
    struct brim_options options = options_of(brim);
    struct brim_result result;
    struct brim_cpus cpus;
    uint64_t failures_before = hs_failures();
    brim_cpus_get(&cpus);
    struct weir_error error = {""};
    struct weir_event *event = event_of(options.payload_bytes, options.seed);
    if (brim_run(&options, &cpus, event, options.seed, &result, &error) != WEIR_OK) {
        fprintf(stderr, "weir-bench: the run cannot begin: %s\n", error.text);
        return (struct bench_brim_figures){.is_right = false};
    }
    struct bench_brim_figures figures = figures_of(&result);
    figures.is_right = hs_failures() == failures_before;
    brim_result_free(&result);
    return figures;
}
