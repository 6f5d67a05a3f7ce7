/*
 * Work that is counted instead of timed, under callgrind: bench/judge/count.py runs these programs
 * and reads its profiles. The same work counts the same wherever it runs, so one instruction more
 * is one instruction more.
 *
 * Each work is done for N and for 2N events. What belongs to no event, such as the first call of
 * a function, is in both counts; their difference is of N events alone.
 */
#ifndef BENCH_COUNT_H
#define BENCH_COUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <weir/session.h>

/* Does something for `events` events; false if it did not go as it must for the count to mean
 * anything. */
typedef bool (*count_work)(void *context, uint64_t events);

/* Counts `work` for `events` events and for twice as many, each after an uncounted `prepare`,
 * which may be NULL. The profiles are named "NAME events:N". Ends the program with a message if
 * either fails. */
void count_twice(const char *name, uint64_t events, count_work prepare, count_work work,
                 void *context);

/* The N of the command line; what the figures are of goes to the standard output. Ends the program
 * if the arguments are wrong. */
uint64_t count_begin(int argc, char **argv);

/* A started session; `budget_bytes` and `segment_bytes` replace what `config` says. Ends the
 * program with a message if it cannot be had. */
struct weir_session *count_session(struct weir_session_config config, uint64_t budget_bytes,
                                   uint32_t segment_bytes);

/* Ends the program with a message. */
_Noreturn void count_fail(const char *what, const char *why);

/* An event with a text of 32 bytes, of the provider WeirCount. Returns how many were written. */
bool count_events_register(void);
uint64_t count_emit_text(uint64_t count);

#endif
