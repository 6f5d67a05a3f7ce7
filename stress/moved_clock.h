/*
 * The clock of the library weir_moved_clock, which a test moves. The build includes this file
 * before each source of that library; the rest of the program keeps the system's clock.
 */
#ifndef STRESS_MOVED_CLOCK_H
#define STRESS_MOVED_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Offsets in nanoseconds and in ticks of the counter: for all threads, and for the calling one. */
struct moved_clock {
    int64_t ns;
    int64_t ticks;
};
extern struct moved_clock moved_clock_of_all; /* ANY: atomic accesses */
extern __thread struct moved_clock moved_clock_of_thread;

/* How often the calling thread has read the clock that stamps events. */
extern __thread uint64_t moved_clock_readings;

static inline int moved_clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = clock_gettime(clock, now);
    if (clock != CLOCK_MONOTONIC)
        return result;
    moved_clock_readings++;
    int64_t ns = (int64_t)now->tv_sec * 1000000000 + now->tv_nsec +
                 __atomic_load_n(&moved_clock_of_all.ns, __ATOMIC_SEQ_CST) +
                 moved_clock_of_thread.ns;
    now->tv_sec = (time_t)(ns / 1000000000);
    now->tv_nsec = (long)(ns % 1000000000);
    return result;
}
#define clock_gettime moved_clock_gettime

#if defined(__x86_64__)
static inline uint64_t moved_clock_counter(void)
{
    moved_clock_readings++;
    int64_t moved = __atomic_load_n(&moved_clock_of_all.ticks, __ATOMIC_SEQ_CST);
    return __builtin_ia32_rdtsc() + (uint64_t)(moved + moved_clock_of_thread.ticks);
}
#define __rdtsc moved_clock_counter
#endif

#endif
