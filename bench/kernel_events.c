#include "events.h"

#include <stdio.h>
#include "kernel.h"

WEIR_PROVIDER_DEFINE(WeirBench, BENCH_EVENTS)
WEIR_PROVIDER_DEFINE(WeirBenchOff, BENCH_OFF_EVENTS)

bool bench_events_register(void)
{
    struct weir_error error = {""};
    if (weir_provider_register(&weir_provider_WeirBench, NULL, NULL, NULL, &error) == WEIR_OK &&
        weir_provider_register(&weir_provider_WeirBenchOff, NULL, NULL, NULL, &error) == WEIR_OK)
        return true;
    fprintf(stderr, "weir-bench: %s\n", error.text);
    return false;
}
