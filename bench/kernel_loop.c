#include "kernel.h"

#include "events.h"

/* Ends an iteration: the compiler cannot hoist anything out of the loop or merge iterations. */
#define ITERATION_END(i) __asm__ volatile("" : "+r"(i) : : "memory")

uint64_t bench_empty(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        ITERATION_END(i);
    return count;
}

uint64_t bench_disabled(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        WEIR_EMIT(WeirBenchOff, Bytes32, i, 2, i * 3, i ^ 0x5555);
        ITERATION_END(i);
    }
    return count;
}
