/*
 * The measured loops. Each does one thing `count` times and nothing else; the callers time them.
 *
 * They are compiled as C in separate files, so that the compiler sees what it would see in a host
 * and no more.
 */
#ifndef BENCH_KERNEL_H
#define BENCH_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns how many events were written; loops without events return `count`. */
typedef uint64_t (*bench_kernel)(uint64_t count);

/* An empty iteration, and one with an event that no session has enabled. */
uint64_t bench_empty(uint64_t count);
uint64_t bench_disabled(uint64_t count);

/*
 * The floor: no tracer that reads a clock per event can be faster on the same machine. A call that
 * finds its thread's ring, tests for room against a cached tail, reads the clock, writes a header
 * of eight bytes and a payload of 32, and publishes them with a release store. The ring has no
 * reader.
 */
uint64_t bench_floor(uint64_t count);
uint64_t bench_floor_no_clock(uint64_t count);

/* Events of one moment: how many share a reading of the clock. The floor for them reads it as
 * often. */
#define BENCH_BATCH 16u
uint64_t bench_floor_batch(uint64_t count);

/*
 * References that make times of different machines comparable: a chain of arithmetic, sixteen
 * independent additions, the floor's clock, a copy of 64 bytes into a ring that fits the first-level
 * cache, an addition with a lock prefix on a line that only this thread uses, and a round trip to a
 * sleeping thread on another processor.
 */
uint64_t bench_arithmetic(uint64_t count);
uint64_t bench_issue(uint64_t count);
uint64_t bench_clock(uint64_t count);
uint64_t bench_copy_64(uint64_t count);
uint64_t bench_lock_add(uint64_t count);
/* Seconds for `count` round trips, at most 2^30; negative if a second thread cannot be started. */
double bench_futex_round_trips_s(uint64_t count);

/* An enabled event through the library, with this many bytes of payload in the stream. Up to 128,
 * fields of eight bytes; 1024 is four of these and an array of bytes. */
uint64_t bench_emit_0(uint64_t count);
uint64_t bench_emit_8(uint64_t count);
uint64_t bench_emit_16(uint64_t count);
uint64_t bench_emit_32(uint64_t count);
uint64_t bench_emit_128(uint64_t count);
uint64_t bench_emit_1024(uint64_t count);

/* As bench_emit_32(): an event that is declared ordered; one with a stamp that the caller has
 * already; and events of which each BENCH_BATCH have a stamp that was read for them. */
uint64_t bench_emit_32_ordered(uint64_t count);
uint64_t bench_emit_32_at(uint64_t count);
uint64_t bench_emit_32_batch(uint64_t count);
/* bench_emit_32() as a plug-in that is not linked with the library does it: through its table. */
uint64_t bench_emit_32_plugin(uint64_t count);

/* As bench_emit_32() with more than the payload: each of 1,000 stacks of eight addresses in turn; and
 * all in one activity. */
uint64_t bench_emit_32_stack(uint64_t count);
uint64_t bench_emit_32_activity(uint64_t count);

/* The library's emit function without the clock. On some processors reading the clock overlaps all
 * the work around it, and only this shows what that work costs. */
uint64_t bench_emit_32_no_clock(uint64_t count);

/* Registers the providers of these events; false with a message on stderr if that fails. */
bool bench_events_register(void);
/* Takes the table for bench_emit_32_plugin(); false if the library's is too short. */
bool bench_plugin_begin(void);

#ifdef __cplusplus
}
#endif
#endif
