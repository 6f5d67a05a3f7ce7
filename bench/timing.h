/* Clocks, and binding threads to processors. */
#ifndef BENCH_TIMING_H
#define BENCH_TIMING_H

#include <stdint.h>
#include <time.h>
#include "kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

double bench_now_s(clockid_t clock);

/* Processor seconds that the loop takes on this thread. An emitter in a burst never waits, so on an
 * idle machine this equals wall time; on a busy one it leaves out the time of other programs.
 * `written` receives what the loop returns. */
double bench_timed_s(bench_kernel kernel, uint64_t count, uint64_t *written);

/* Binds the calling thread, and the threads that it starts, to one of the processors that the
 * process may use; -1 binds it to all of them again. The first call finds out which they are: make
 * it on the main thread, before there are others. */
void bench_bind(int processor);

#ifdef __cplusplus
}
#endif
#endif
