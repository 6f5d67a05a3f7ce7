/*
 * What all stress programs share: options, random numbers, verdicts, figures and a watchdog.
 *
 * A program checks with hs_check(), reports figures with hs_figure(), and ends with hs_finish(),
 * which prints a table or one JSON object and returns the exit status: 0 all checks held, 1 a check
 * failed. Wrong usage exits with 2.
 */
#ifndef STRESS_HARNESS_H
#define STRESS_HARNESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* An option of one program: a number, or a text if `text` is set. */
struct hs_option {
    const char *name;
    const char *help;
    uint64_t *number;
    const char **text;
};

/* The options of every program. */
struct hs_common {
    uint64_t seconds; /* repeat rounds for so long; 0: one round */
    uint64_t seed;
    bool json;
};
extern struct hs_common hs_common;

/* Parses the options, and starts the watchdog and the clock of hs_time_is_left(). `options` is NULL
 * or ends with a row whose name is NULL. */
void hs_init(int argc, char **argv, const char *purpose, const struct hs_option *options);

/* True until the time of --seconds has passed. Always false without --seconds. */
bool hs_time_is_left(void);

/* Counts a failed check and prints the first few. Any thread. Returns `holds`. */
bool hs_check(bool holds, const char *format, ...) __attribute__((format(printf, 2, 3)));
uint64_t hs_failures(void);

/* A row of the result: the last value reported under a name, or the sum of all. */
void hs_figure(const char *name, double value);
void hs_figure_add(const char *name, double value);
int hs_finish(void);

/* Reports progress to the watchdog: after 30 s without it the program prints all stacks and
 * aborts. */
void hs_progress(void);

/* Prints all stacks of this process or of its child, if gdb is installed. */
void hs_stacks_print(pid_t process);

uint64_t hs_now_ns(void);
/* Processor time of the calling thread. */
uint64_t hs_thread_cpu_ns(void);
void hs_sleep_us(uint64_t us);

/* A number that depends only on its arguments and the seed. */
uint64_t hs_random(uint64_t a, uint64_t b);
/* The next number of a sequence. */
uint64_t hs_next(uint64_t *state);

#define HS_CHECKSUM_START UINT64_C(14695981039346656037)
uint64_t hs_checksum(uint64_t sum, const void *bytes, size_t count);

/* Zeroed memory whose pages are resident from the start. If there is none, hs_allocate() ends the
 * program and hs_try_allocate() returns NULL. */
void *hs_allocate(size_t bytes);
void *hs_try_allocate(size_t bytes);

void hs_thread_start(pthread_t *thread, void *(*run)(void *), void *argument);
void hs_thread_join(pthread_t thread);

/* Resident memory of this process. */
uint64_t hs_resident_bytes(void);

#endif
