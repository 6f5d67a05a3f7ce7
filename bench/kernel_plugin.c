/* A plug-in's side of the benchmarks: the same event as in kernel_emit.c, through the table. */
#define WEIR_PLUGIN
#include "events.h"

#include "kernel.h"

WEIR_PLUGIN_DEFINE

bool bench_plugin_begin(void)
{
    return weir_plugin_init(weir_functions_get(), sizeof(struct weir_functions), NULL) == WEIR_OK;
}

uint64_t bench_emit_32_plugin(uint64_t count)
{
    uint64_t written = 0;
    for (uint64_t i = 0; i < count; i++)
        written += WEIR_EMIT(WeirBench, Bytes32, i, 2, i * 3, i ^ 0x5555);
    return written;
}
