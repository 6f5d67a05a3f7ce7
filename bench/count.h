/*
 * Work whose instructions are counted under callgrind instead of timed: bench/judge/count.py runs
 * these programs and reads the profiles. The same work has the same count wherever it runs, so one
 * more instruction shows as exactly one more.
 *
 * Each work is done for N and for 2N events. What belongs to no event, such as the first call of a
 * function, is in both counts, so their difference is the cost of N events alone.
 */
#ifndef BENCH_COUNT_H
#define BENCH_COUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <weir/session.h>

/* Does some work for `events` events; false if it did not run in the way that the count is meant
 * for. */
typedef bool (*count_work)(void *context, uint64_t events);

/* Counts `work` for `events` events and for twice as many, each after an uncounted `prepare`,
 * which may be NULL. The profiles are named "NAME events:N". Ends the program with a message if
 * either fails. */
void count_twice(const char *name, uint64_t events, count_work prepare, count_work work,
                 void *context);

/* Returns the N of the command line, and prints the compiler and the C library. Ends the program if
 * the arguments are wrong. */
uint64_t count_begin(int argc, char **argv);

/* A started session; `budget_bytes` and `segment_bytes` replace those of `config`. Ends the program
 * with a message if that fails. */
struct weir_session *count_session(struct weir_session_config config, uint64_t budget_bytes,
                                   uint32_t segment_bytes);

/* Ends the program with a message. */
_Noreturn void count_fail(const char *what, const char *why);

/* Registers the provider WeirCount; emits its event with a text of 32 bytes, and returns how many
 * were written. */
bool count_events_register(void);
uint64_t count_emit_text(uint64_t count);
/* The same with fields of 8, 16, 32 and 64 bits and a double: 23 bytes, three words. */
uint64_t count_emit_mixed(uint64_t count);
/* The same with a field of 32 bits and 32 raw bytes. */
uint64_t count_emit_raw(uint64_t count);
/* The same with a field of 32 bits and an array of two structs of 16 bytes. */
uint64_t count_emit_nodes(uint64_t count);

#endif
