#include "weir_stress.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include "brim_kernel.h"

/* Percentiles and other figures of the waits; NAN if too few samples are above. */
struct waits {
    double p50, p99, p999, max, mean;
};

static struct waits waits_of(const struct brim_result *result)
{
    const struct histogram *waits = result->waits;
    bool any = waits->count > 0;
    return (struct waits){.p50 = brim_park_ns(result, 500),
                          .p99 = brim_park_ns(result, 990),
                          .p999 = brim_park_ns(result, 999),
                          .max = any ? (double)waits->max : NAN,
                          .mean = any ? waits->sum / (double)waits->count : NAN};
}

static double per_second(double ns)
{
    return ns > 0 ? 1e9 / ns : NAN;
}

/* The figure that the law predicts: it counts grants, many of which need no wait. */
static double wait_per_grant_ns(const struct brim_result *result)
{
    double grants = (double)result->stats.grants;
    return grants > 0 ? result->waits->sum / grants : NAN;
}

/* A producer's events, relative to an equal share. */
static double share(const struct brim_result *result, uint64_t written)
{
    return result->written_mean > 0 ? (double)written / result->written_mean : NAN;
}

/* --- JSON. ----------------------------------------------------------------------------------- */

static void json_name(const char *name)
{
    printf("\"%s\": ", name);
}

static void json_count(const char *name, uint64_t value)
{
    json_name(name);
    printf("%" PRIu64 ", ", value);
}

static void json_number(const char *name, double value, const char *end)
{
    json_name(name);
    if (isfinite(value))
        printf("%.10g%s", value, end);
    else
        printf("null%s", end);
}

static void json_text(const char *name, const char *text)
{
    json_name(name);
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            putchar('\\');
        if ((unsigned char)*text >= 0x20)
            putchar(*text);
    }
    printf("\", ");
}

static void json_bool(const char *name, bool value)
{
    json_name(name);
    printf("%s, ", value ? "true" : "false");
}

static void json_lost(const struct weir_counts *counts)
{
    json_name("lost");
    for (unsigned cause = 0; cause < WEIR_LOSS_COUNT; cause++)
        printf("%s\"%s\": %" PRIu64, cause ? ", " : "{", weir_loss_name((enum weir_loss)cause),
               counts->lost[cause]);
    printf("}, ");
}

static void json_waits(const struct brim_result *result)
{
    struct waits waits = waits_of(result);
    json_name("park_ns");
    putchar('{');
    json_number("p50", waits.p50, ", ");
    json_number("p99", waits.p99, ", ");
    json_number("p999", waits.p999, ", ");
    json_number("max", waits.max, ", ");
    json_number("mean", waits.mean, ", ");
    printf("\"count\": %" PRIu64 "}, ", result->waits->count);
}

static void json_bins(const struct histogram *waits)
{
    const char *comma = "";
    json_name("park_bins");
    putchar('[');
    for (uint64_t bin = waits->least_bin; waits->count && bin <= waits->most_bin; bin++) {
        if (waits->bins[bin] == 0)
            continue;
        printf("%s[%" PRIu64 ", %" PRIu64 "]", comma, histogram_bin_end(bin), waits->bins[bin]);
        comma = ", ";
    }
    printf("], ");
}

static void json_load(const struct brim_result *result)
{
    const struct brim_options *options = result->options;
    bool is_block = options->mode == WEIR_MODE_BLOCK;
    json_text("mode", brim_mode_word(options->mode));
    if (is_block)
        json_text("wake", brim_wake_word(options->wake));
    else
        printf("\"wake\": null, ");
    json_count("wake_flags", options->wake_flags);
    json_count("producers", options->threads);
    json_count("emitted", result->stats.counts.attempted);
    json_count("written", result->stats.counts.written);
    json_lost(&result->stats.counts);
    json_number("seconds", result->seconds, ", ");
    json_number("events_per_s", brim_events_per_s(result), ", ");
    json_bool("ended_early", result->ended_early);
}

static void json_brim(const struct brim_result *result)
{
    const struct weir_stats *stats = &result->stats;
    json_waits(result);
    if (result->options->bins)
        json_bins(result->waits);
    json_number("wakes_per_segment", result->wakes_per_segment, ", ");
    json_count("wakes", stats->wakes);
    json_count("drain_wakes", stats->drain_wakes);
    json_count("parks", stats->parks);
    json_count("grants", stats->grants);
    json_number("grant_bytes", result->grant_bytes, ", ");
    json_count("grant_bytes_now", stats->grant_bytes_now);
    json_number("park_law_ns", result->park_law_ns, ", ");
    json_number("wait_per_grant_ns", wait_per_grant_ns(result), ", ");
    json_number("inversions", result->inversions, ", ");
    json_number("jain", result->fairness.median, ", ");
    json_number("jain_least", result->fairness.least, ", ");
    json_number("jain_window_ms", result->fairness.window_ms, ", ");
    json_count("jain_windows", result->fairness.windows);
    json_count("starvation_ns", result->starvation_ns);
    json_number("share_min", share(result, result->written_least), ", ");
    json_number("share_median", share(result, result->written_median), ", ");
    json_number("share_max", share(result, result->written_most), ", ");
    json_count("written_by_one_min", result->written_least);
}

static void json_speed(const struct brim_result *result)
{
    json_number("cpu_ns_per_event", brim_cpu_ns_per_event(result), ", ");
    json_number("drain_ceiling_events_per_s", per_second(result->ceilings.drain_ns), ", ");
    json_number("producer_ceiling_events_per_s", per_second(result->ceilings.producer_ns), ", ");
    json_number("bound_events_per_s", result->bound_events_per_s, ", ");
    json_number("sink_cost_ns_per_event", result->sink_cost_ns, ", ");
    json_count("bytes_sent", result->stats.bytes_sent);
    json_count("late_records", result->stats.late_records);
}

static void json_settings(const struct brim_result *result, const struct brim_cpus *cpus)
{
    const struct brim_options *options = result->options;
    char cpu[128];
    struct utsname system;
    brim_cpus_name(cpu, sizeof cpu);
    json_count("payload", options->payload_bytes);
    json_count("record_bytes", brim_record_bytes(options->payload_bytes));
    json_count("segment_bytes", options->segment_bytes);
    json_count("budget_bytes", options->budget_bytes);
    json_text("sink", options->sink_text);
    json_count("rate", options->rate);
    json_count("work_ns", options->work_ns);
    json_bool("no_yield", options->no_yield);
    json_bool("pin", options->pins);
    json_count("seed", result->seed);
    json_text("cpu", cpu);
    json_count("cores", cpus->count);
    json_text("kernel", uname(&system) == 0 ? system.release : "unknown");
    json_text("commit", BRIM_COMMIT);
}

void brim_report_json(const struct brim_result *result, const struct brim_cpus *cpus)
{
    static const char *const verified[] = {"null", "true", "false"};
    putchar('{');
    json_load(result);
    json_brim(result);
    json_speed(result);
    json_settings(result, cpus);
    printf("\"verified\": %s}\n", verified[result->verified]);
    fflush(stdout);
}

/* --- Text. ----------------------------------------------------------------------------------- */

static void field(const char *name)
{
    printf("  %-21s ", name);
}

/* Prints "12.3", or a dash. */
static void figure(double value, double unit, int digits)
{
    if (isfinite(value))
        printf("%.*f", digits, value / unit);
    else
        putchar('-');
}

static void text_head(const struct brim_result *result)
{
    const struct brim_options *options = result->options;
    bool is_block = options->mode == WEIR_MODE_BLOCK;
    printf("%s%s%s, %" PRIu64 " threads, payload %" PRIu64 " bytes, %" PRIu64
           " bytes in segments of %" PRIu64 ", sink %s%s, seed %" PRIu64 "\n",
           brim_mode_word(options->mode), is_block ? " " : "",
           is_block ? brim_wake_word(options->wake) : "", options->threads, options->payload_bytes,
           options->budget_bytes, options->segment_bytes, options->sink_text,
           options->pins ? ", pinned" : "", result->seed);
}

static void text_counts(const struct brim_result *result)
{
    const struct weir_counts *counts = &result->stats.counts;
    double emitted = (double)counts->attempted;
    field("emitted");
    printf("%" PRIu64 " in %.3f s%s\n", counts->attempted, result->seconds,
           result->ended_early ? ", ended early by the sink" : "");
    field("written");
    printf("%" PRIu64 "\n", counts->written);
    for (unsigned cause = 0; cause < WEIR_LOSS_COUNT; cause++) {
        if (counts->lost[cause] == 0)
            continue;
        field("lost");
        printf("%" PRIu64 " (%.3f %%) by %s\n", counts->lost[cause],
               100 * (double)counts->lost[cause] / emitted, weir_loss_name((enum weir_loss)cause));
    }
}

static void text_speed(const struct brim_result *result)
{
    field("written per second");
    figure(brim_events_per_s(result), 1e6, 2);
    printf(" million, ");
    figure(100 * brim_events_per_s(result) / result->bound_events_per_s, 1, 1);
    printf(" %% of the bound ");
    figure(result->bound_events_per_s, 1e6, 2);
    putchar('\n');
    field("ceilings");
    printf("drain ");
    figure(per_second(result->ceilings.drain_ns), 1e6, 2);
    printf(", one producer ");
    figure(per_second(result->ceilings.producer_ns), 1e6, 2);
    printf(" million per second\n");
    field("processor time");
    figure(brim_cpu_ns_per_event(result), 1, 1);
    printf(" ns per event written\n");
    if (isfinite(result->sink_cost_ns)) {
        field("cost in the sink");
        printf("%.2f ns per event written\n", result->sink_cost_ns);
    }
}

static void text_waits(const struct brim_result *result)
{
    struct waits waits = waits_of(result);
    field("parked, us");
    printf("p50 ");
    figure(waits.p50, 1e3, 1);
    printf("  p99 ");
    figure(waits.p99, 1e3, 1);
    printf("  p99.9 ");
    figure(waits.p999, 1e3, 1);
    printf("  max ");
    figure(waits.max, 1e3, 1);
    printf("  mean ");
    figure(waits.mean, 1e3, 1);
    printf("  (%" PRIu64 " waits)\n", result->waits->count);
    field("waited per grant, us");
    figure(wait_per_grant_ns(result), 1e3, 1);
    printf(", by the law ");
    figure(result->park_law_ns, 1e3, 1);
    putchar('\n');
    field("grants");
    printf("%" PRIu64 " of ", result->stats.grants);
    figure(result->grant_bytes, 1, 0);
    printf(" bytes, ");
    figure(result->wakes_per_segment, 1, 4);
    printf(" wakes per segment, ");
    figure(result->inversions, 1, 0);
    printf(" out of order\n");
}

static void text_fairness(const struct brim_result *result)
{
    field("fairness");
    printf("Jain ");
    figure(result->fairness.median, 1, 4);
    printf(" (median), ");
    figure(result->fairness.least, 1, 4);
    printf(" (least) of %zu windows of ", result->fairness.windows);
    figure(result->fairness.window_ms, 1, 0);
    printf(" ms\n");
    field("written by one");
    printf("least %" PRIu64 ", median %" PRIu64 ", most %" PRIu64 "\n", result->written_least,
           result->written_median, result->written_most);
    field("longest starvation");
    printf("%.3f ms\n", (double)result->starvation_ns / 1e6);
}

void brim_report_text(const struct brim_result *result, const struct brim_cpus *cpus)
{
    static const char *const verified[] = {"not checked", "verified by the reader",
                                           "does NOT match what was emitted"};
    char cpu[128];
    brim_cpus_name(cpu, sizeof cpu);
    text_head(result);
    text_counts(result);
    text_speed(result);
    if (result->options->mode == WEIR_MODE_BLOCK)
        text_waits(result);
    text_fairness(result);
    field("stream");
    printf("%" PRIu64 " bytes, %s\n", result->stats.bytes_sent, verified[result->verified]);
    field("machine");
    printf("%s, %u cores; commit %s\n", cpu, cpus->count, BRIM_COMMIT);
    fflush(stdout);
}
