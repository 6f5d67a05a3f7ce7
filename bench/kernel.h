/*
 * The measured loops. Each does `count` of the same thing and nothing else; the callers time them.
 *
 * They are compiled as C in files of their own, so that the compiler sees a host's code and no
 * more.
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

/* An iteration with nothing in it, and one with an event that no session wants. */
uint64_t bench_empty(uint64_t count);
uint64_t bench_disabled(uint64_t count);

/*
 * The floor: what no tracer with a clock per event can be under on the same machine. A call that
 * finds its thread's ring, tests for room against a cached tail, reads the clock, writes a header
 * of eight bytes and a payload of 32, and publishes them with a release store. Nobody reads the
 * ring.
 */
uint64_t bench_floor(uint64_t count);
uint64_t bench_floor_no_clock(uint64_t count);

/*
 * What times are held against where machines differ: a chain of arithmetic, the floor's clock, a
 * copy of 64 bytes into a ring that the first-level cache holds, an addition with a lock prefix on
 * a line of the thread's own, and a word that goes to a sleeping thread on another processor and
 * comes back.
 */
uint64_t bench_arithmetic(uint64_t count);
uint64_t bench_clock(uint64_t count);
uint64_t bench_copy_64(uint64_t count);
uint64_t bench_lock_add(uint64_t count);
/* Seconds that so many trips take, at most 2^30; negative if there can be no second thread. */
double bench_futex_round_trips_s(uint64_t count);

/* An enabled event of so many bytes of payload in the stream, through the library. Up to 128 it is
 * fields of eight bytes; 1024 is four of these and an array of bytes. */
uint64_t bench_emit_0(uint64_t count);
uint64_t bench_emit_8(uint64_t count);
uint64_t bench_emit_16(uint64_t count);
uint64_t bench_emit_32(uint64_t count);
uint64_t bench_emit_128(uint64_t count);
uint64_t bench_emit_1024(uint64_t count);

/* The library's own emit function with the clock taken out: on processors whose clock hides all
 * that surrounds it, only this shows what surrounds it. */
uint64_t bench_emit_32_no_clock(uint64_t count);

/* Registers the providers of these events; false with a message on stderr if that fails. */
bool bench_events_register(void);

#ifdef __cplusplus
}
#endif
#endif
