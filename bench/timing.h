/* Clocks, and which processor runs whom. */
#ifndef BENCH_TIMING_H
#define BENCH_TIMING_H

#include <stdint.h>
#include <time.h>
#include "kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

double bench_now_s(clockid_t clock);

/* Processor seconds that the loop takes on this thread. Not wall time: an emitter in a burst never
 * waits, so the two are equal on a machine that has nothing else to do, and elsewhere the time that
 * others take is not ours. `written` receives what the loop returns. */
double bench_timed_s(bench_kernel kernel, uint64_t count, uint64_t *written);

/* Binds the calling thread, and the threads that it starts, to one of the processors that the
 * process may use; -1: to all of these again. The first call tells which they are: on the thread
 * that the program begins with, before there are others. */
void bench_bind(int processor);

#ifdef __cplusplus
}
#endif
#endif
