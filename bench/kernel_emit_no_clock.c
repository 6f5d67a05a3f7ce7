/* The loop of bench_emit_32() around the emit function of emit_no_clock.c; in a separate file, so
 * that the call is not inlined. */
#define weir_emit_words4 bench_without_clock_4
#include "events.h"

#include "kernel.h"

uint64_t bench_emit_32_no_clock(uint64_t count)
{
    uint64_t written = 0;
    for (uint64_t i = 0; i < count; i++)
        written += WEIR_EMIT(WeirBench, Bytes32, i, 2, i * 3, i ^ 0x5555);
    return written;
}
