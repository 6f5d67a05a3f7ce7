#include "kernel.h"

#include "events.h"

#define STACKS    1000u
#define ADDRESSES 8u

static const uint64_t (*stacks(void))[ADDRESSES]
{
    static uint64_t all[STACKS][ADDRESSES];
    for (uint64_t i = 0; all[0][0] == 0 && i < STACKS * ADDRESSES; i++)
        all[STACKS - 1 - i / ADDRESSES][i % ADDRESSES] = 0x400000 + i * 16; /* the first one last */
    return (const uint64_t(*)[ADDRESSES])all;
}

uint64_t bench_emit_32_stack(uint64_t count)
{
    const uint64_t(*all)[ADDRESSES] = stacks();
    struct weir_context context = WEIR_CONTEXT_INIT;
    uint64_t written = 0;
    context.stack_count = ADDRESSES;
    for (uint64_t i = 0; i < count; i++) {
        context.stack = all[i % STACKS];
        written += WEIR_EMIT_WITH(&context, WeirBench, Bytes32, i, 2, i * 3, i ^ 0x5555);
    }
    return written;
}

uint64_t bench_emit_32_activity(uint64_t count)
{
    struct weir_activity activity = WEIR_ACTIVITY_INIT;
    weir_activity_start(&activity);
    uint64_t written = bench_emit_32(count);
    weir_activity_stop(&activity);
    return written;
}
