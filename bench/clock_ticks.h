/* The clock of the floor and of the queues: the processor's counter where there is one. */
#ifndef BENCH_CLOCK_TICKS_H
#define BENCH_CLOCK_TICKS_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
#endif
}

#endif
