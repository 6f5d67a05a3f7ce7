/*
 * A session whose drain stands still while something is measured.
 *
 * Its sink discards what it gets. While the gate is closed the drain thread is inside the sink's
 * function, asleep: it neither takes processor time nor pulls cache lines from under the emitters.
 * bench_rig_drain() opens the gate, waits until all that was emitted is encoded and the drain
 * stands in the sink again, and tells how long the encoding took.
 */
#ifndef BENCH_RIG_H
#define BENCH_RIG_H

#include <stdbool.h>
#include <stdint.h>
#include "kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bench_rig; /* opaque */

/* From the opening of the gate to the arrival of the last byte. */
struct bench_drained {
    double wall_s;
    double cpu_s; /* of the drain thread */
    uint64_t bytes;
};

/* Starts a session with a closed gate. Ends the program with a message if that fails. */
struct bench_rig *bench_rig_start(uint64_t budget_bytes, uint32_t segment_bytes);
/* Stops and frees it; false if what it has written and lost does not add up. */
bool bench_rig_stop(struct bench_rig *rig);

/* Drains at least `bytes`; false if they do not come within two seconds: events were lost. */
bool bench_rig_drain(struct bench_rig *rig, uint64_t bytes, struct bench_drained *drained);

/* Processor seconds that the loop takes on this thread. Not wall time: an emitter in a burst never
 * waits, so the two are equal on a machine that has nothing else to do, and elsewhere the time that
 * others take is not ours. `written` receives what the loop returns. */
double bench_timed_s(bench_kernel kernel, uint64_t count, uint64_t *written);

/* Binds the calling thread, and the threads that it starts, to a processor; -1: to all again. */
void bench_bind(int processor);

#ifdef __cplusplus
}
#endif
#endif
