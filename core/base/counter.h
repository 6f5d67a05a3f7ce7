/*
 * The processor's counter: time that a thread reads without a system call. WR_HAS_COUNTER says that
 * there is one; whether it may be used is found at run time (os/clock.c).
 *
 * Reading it is no memory access. Processors do it early, before older loads have their values and
 * while older stores still wait in a buffer, and no order of base/atomic.h holds it back. The
 * ordered read waits for all that came before it, and what comes after it waits for the read.
 */
#ifndef WR_BASE_COUNTER_H
#define WR_BASE_COUNTER_H

#include <stdint.h>
#include "base/compiler.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#define WR_HAS_COUNTER 1

WR_INLINE uint64_t wr_counter_read(void)
{
    return __rdtsc();
}

/* mfence empties the store buffer; lfence waits for what is before it and holds what is behind. */
WR_INLINE uint64_t wr_counter_read_ordered(void)
{
    _mm_mfence();
    _mm_lfence();
    uint64_t ticks = __rdtsc();
    _mm_lfence();
    return ticks;
}

#elif defined(__aarch64__)
#define WR_HAS_COUNTER 1

WR_INLINE uint64_t wr_counter_read(void)
{
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}

/* A dmb would order memory accesses with each other only. dsb waits until they are done, and stores
 * visible to the other processors; the first isb keeps the read from being executed before that,
 * the second one what follows from being executed before the read. */
WR_INLINE uint64_t wr_counter_read_ordered(void)
{
    uint64_t ticks;
    __asm__ volatile("dsb ish\n\tisb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(ticks) : : "memory");
    return ticks;
}

#else
#define WR_HAS_COUNTER 0

WR_INLINE uint64_t wr_counter_read(void)
{
    return 0;
}

WR_INLINE uint64_t wr_counter_read_ordered(void)
{
    return 0;
}
#endif

#endif
