/*
 * The processor's time counter, which a thread reads without a system call. WR_HAS_COUNTER says
 * that the architecture has one; os/clock.c decides at run time whether to use it.
 *
 * Reading the counter is not a memory access. A processor may read it early, before older loads
 * have their values and while older stores are still in the store buffer, and no memory order of
 * base/atomic.h prevents that. The ordered read waits for everything before it, and everything
 * after it waits for the read.
 */
#ifndef WR_BASE_COUNTER_H
#define WR_BASE_COUNTER_H

#include <stdint.h>
#include "base/compiler.h"

#if defined(__x86_64__)
#define WR_HAS_COUNTER 1

/* As in <x86intrin.h>, which takes longer to compile than most sources of this project. Models and
 * tests that replace the clock define these names before. */
#ifndef __rdtsc
#define __rdtsc() __builtin_ia32_rdtsc()
#endif
#ifndef _mm_mfence
#define _mm_mfence() __builtin_ia32_mfence()
#define _mm_lfence() __builtin_ia32_lfence()
#endif

WR_INLINE uint64_t wr_counter_read(void)
{
    return __rdtsc();
}

/* mfence drains the store buffer. lfence waits for earlier instructions and holds later ones. */
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

/* A dmb would only order memory accesses among themselves. dsb waits until earlier accesses are
 * complete and earlier stores are visible to other processors. The first isb keeps the read from
 * executing before that; the second keeps later instructions from executing before the read. */
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
