/* Clocks, and binding threads to processors. */
#ifndef BENCH_TIMING_H
#define BENCH_TIMING_H

#include <pthread.h>
#include <stdbool.h>
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

/* Binds the calling thread to the processor that it is on, and starts a thread that is bound to
 * another one; false if there is none. bench_bind(-1) frees the caller again. */
bool bench_start_beside(pthread_t *thread, void *(*run)(void *), void *argument);

#ifdef __cplusplus
}
#endif
#endif
