/*
 * Fixes for counting what differs between two runs: the clock and the thread's number. Otherwise
 * the bytes that they take in the stream, and the instructions that encode them, would vary from
 * run to run. The build includes this file before each source of the library `weir_counted`.
 */
#ifndef BENCH_COUNT_FIXED_H
#define BENCH_COUNT_FIXED_H

#include <stdint.h>

/* Advances by the same step with each reading. A load, an addition and a store, so that the code
 * around it is the same as around the real clock. */
#define COUNT_TICKS_PER_READING 40
extern uint64_t count_ticks;

void count_clock_pass(uint64_t ns);

#if defined(__x86_64__)
#define __rdtsc() (count_ticks += COUNT_TICKS_PER_READING)
#endif

#endif
