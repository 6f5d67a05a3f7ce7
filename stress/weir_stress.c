/*
 * weir-stress: floods a session through a budget that is too small, compares what comes out with
 * what went in, and measures throughput, losses, waits and fairness.
 */
#include <signal.h>
#include <stdio.h>
#include "brim_kernel.h"
#include "harness.h"
#include "weir_stress.h"

/* The exit status: 2 if the options make no sense. */
static int give_up(enum weir_result result, const char *what, const struct weir_error *error)
{
    fprintf(stderr, "weir-stress: %s: %s: %s\n", what, weir_result_text(result), error->text);
    if (result == WEIR_BAD_ARGUMENT)
        fprintf(stderr, "Try `weir-stress --help' for more information.\n");
    return result == WEIR_BAD_ARGUMENT ? 2 : 1;
}

static int one(const struct brim_options *options, const struct brim_cpus *cpus,
               struct weir_event *event, uint64_t seed)
{
    struct brim_result result;
    struct weir_error error = {""};
    enum weir_result failure = brim_run(options, cpus, event, seed, &result, &error);
    if (failure != WEIR_OK)
        return give_up(failure, "the run cannot begin", &error);
    if (options->json)
        brim_report_json(&result, cpus);
    else
        brim_report_text(&result, cpus);
    brim_result_free(&result);
    return 0;
}

int main(int argc, char **argv)
{
    struct brim_options options;
    struct brim_cpus cpus;
    brim_options_parse(argc, argv, &options);
    brim_cpus_get(&cpus);
    if (options.pins && cpus.count < 2) {
        fprintf(stderr,
                "weir-stress: --pin needs two processors, and this process may use only one; "
                "leave --pin out\n");
        return 2;
    }
    hs_common.seed = options.seed;
    hs_init(1, argv, "", NULL); /* the name and the watchdog; the options are ours */
    struct weir_error error = {""};
    struct weir_event *event = brim_event_define(options.payload_bytes, options.seed, &error);
    if (!event)
        return give_up(WEIR_NO_MEMORY, "the event cannot be defined", &error);
    for (uint64_t i = 0; i < options.repeat && hs_failures() == 0; i++) {
        int status = one(&options, &cpus, event, options.seed + i);
        if (status != 0)
            return status;
    }
    hs_check(fflush(stdout) == 0 && !ferror(stdout), "the report cannot be written");
    return hs_failures() == 0 ? 0 : 1;
}
