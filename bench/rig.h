/*
 * A session whose drain stands still while something is measured; or several that want the same
 * events.
 *
 * Its sink discards what it gets, or writes it to a tmpfs. While the gate is closed the drain
 * thread sleeps inside the sink's function: it neither uses processor time nor takes cache lines
 * from the emitters. bench_rig_drain() opens the gate, waits until all emitted events are encoded
 * and the drain is in the sink again, and reports how long the encoding took.
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

#define BENCH_RIG_SESSIONS_MAX 8u

/* From the opening of the gate until the drain is in the sink again; of several, the sum. */
struct bench_drained {
    double wall_s;
    double cpu_s; /* processor time of the drain thread */
    uint64_t bytes;
};

struct bench_rig_options {
    uint64_t budget_bytes;
    uint32_t segment_bytes;
    uint32_t sessions; /* at most BENCH_RIG_SESSIONS_MAX; 0: one */
    bool blocks;   /* mode BLOCK, for bursts that fit: others lose an event after 10 s. Of several
                    * sessions only the last, so that the others drop */
    bool overwrites; /* mode OVERWRITE, whose drain reads nothing: `is_open` as well */
    uint8_t format; /* enum weir_format */
    bool to_tmpfs; /* writes before the gate; the file is emptied after each drain */
    bool is_open;  /* the gate never closes: the drain works while events are emitted */
};

/* Starts a session, with a closed gate unless `is_open`. Ends the program with a message if that
 * fails. */
struct bench_rig *bench_rig_start(const struct bench_rig_options *options);
/* Stops and frees it; false if a session's counts differ from those of bench_rig_timed_s(). */
bool bench_rig_stop(struct bench_rig *rig);

/* bench_timed_s() of a kernel that emits. All events must be emitted through this; any thread. */
double bench_rig_timed_s(struct bench_rig *rig, bench_kernel kernel, uint64_t count,
                         uint64_t *written);

/* Drains at least `bytes` of each session; false if they do not arrive within ten seconds, because events were
 * lost. */
bool bench_rig_drain(struct bench_rig *rig, uint64_t bytes, struct bench_drained *drained);

#ifdef __cplusplus
}
#endif
#endif
