/*
 * weir-stress: floods a session through a budget that is too small, holds what comes out against
 * what went in, and measures throughput, losses, waits and fairness.
 */
#include <signal.h>
#include <stdio.h>
#include "brim_kernel.h"
#include "brim_options.h"
#include "brim_report.h"
#include "brim_run.h"
#include "harness.h"

static void one(const struct brim_options *options, const struct brim_cpus *cpus,
                struct weir_event *event, uint64_t seed)
{
    struct brim_result result;
    brim_run(options, cpus, event, seed, &result);
    if (options->json)
        brim_report_json(&result, cpus);
    else
        brim_report_text(&result, cpus);
    brim_result_free(&result);
}

int main(int argc, char **argv)
{
    struct brim_options options;
    struct brim_cpus cpus;
    brim_options_parse(argc, argv, &options);
    brim_cpus_get(&cpus);
    if (options.pins && cpus.count < 2) {
        fprintf(stderr, "weir-stress: --pin needs two processors, and this process may use one; "
                        "leave --pin out\n");
        return 2;
    }
    hs_common.seed = options.seed;
    hs_init(1, argv, "", NULL); /* the name and the watchdog; the options are ours */
    struct weir_event *event = brim_event_define(options.payload_bytes, options.seed);
    for (uint64_t i = 0; i < options.repeat && hs_failures() == 0; i++)
        one(&options, &cpus, event, options.seed + i);
    hs_check(fflush(stdout) == 0 && !ferror(stdout), "the report cannot be written");
    return hs_failures() == 0 ? 0 : 1;
}
