/*
 * What differs between two runs, held fixed for counting: the clock and the thread's number. How
 * many bytes they take in the stream, and so how many instructions their encoding, would otherwise
 * be the machine's mood. Included by the compiler before each source of the library `weir_counted`.
 */
#ifndef BENCH_COUNT_FIXED_H
#define BENCH_COUNT_FIXED_H

#include <stdint.h>

/* Advances by the same step with each reading. A load, an addition and a store, so that the code
 * around it is what it is around the real one. */
#define COUNT_TICKS_PER_READING 40
extern uint64_t count_ticks;

void count_clock_pass(uint64_t ns);

#if defined(__x86_64__)
#define __rdtsc() (count_ticks += COUNT_TICKS_PER_READING)
#endif

#endif
