/*
 * An exhaustive explorer for small concurrent programs under the C11 memory model.
 *
 * A model is a few functions, one per thread, that run the product's own headers compiled with
 * WR_MODEL. Every atomic operation calls model_operation(). The explorer runs the model from its
 * start again and again (stateless search) until it has tried
 *
 *   - every order in which the threads' atomic operations can follow each other,
 *   - every store that each load may read, and
 *   - every place of each store in its word's modification order.
 *
 * memory.c defines what the memory model allows, and states where it is exact, weaker or stronger
 * than C11. explorer.c explains how the search avoids equivalent schedules.
 *
 * Rules for a model:
 *
 *   - All shared data lies in memory from model_memory() or model_lend(). That memory is zeroed and
 *     handed out again for each execution, only in setup().
 *   - Threads communicate through wr_ words. A plain variable may be written by one thread and read
 *     in finish(). An assertion must not use a plain variable to compare what two threads did in
 *     real time, because equivalent schedules are explored only once. Use data that must not race
 *     instead (poison, free).
 *   - The number of steps is bounded. A loop that waits uses model_wait_until() or model_pause().
 */
#ifndef MODEL_EXPLORER_H
#define MODEL_EXPLORER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODEL_THREADS_MAX 4
#define MODEL_SET_WORDS   4 /* of a set of models: up to 256 */

enum model_order {
    MODEL_RELAXED,
    MODEL_ACQUIRE,
    MODEL_RELEASE,
    MODEL_ACQ_REL,
    MODEL_SEQ_CST,
};

enum model_kind {
    MODEL_LOAD,
    MODEL_STORE,
    MODEL_EXCHANGE,
    MODEL_ADD,
    MODEL_CAS,
    MODEL_LOCK,
    MODEL_WAIT,
    MODEL_MEMBARRIER,
    MODEL_PAUSE,
    MODEL_FUTEX_WAIT,
    MODEL_FUTEX_SLEEP,
    MODEL_FUTEX_WAKE,
    MODEL_DATA_WRITE,
    MODEL_DATA_READ,
};

/* One operation in the source. Two translation units that include the same header have one site
 * each for the same line; `first` represents both. */
struct model_site {
    const char *file;
    const char *function;
    int line;
    enum model_kind kind;
    uint32_t size;                    /* of the word; known once the site has run */
    bool met;                         /* set when it runs */
    uint64_t met_by[MODEL_SET_WORDS]; /* for the sweep: the set of models that met it */
    enum model_order order;           /* as written; of a CAS, on success */
    enum model_order failure;         /* of a CAS, on failure */
    /* The orders in force: the sweep weakens them; otherwise they equal those above. */
    enum model_order order_now;
    enum model_order failure_now;
    bool removed;
    struct model_site *first;
    struct model_site *next;
};

enum model_sleep {
    MODEL_SLEEP_LONG,  /* ends only when its condition holds */
    MODEL_SLEEP_TIMED, /* may end by itself at any time; futexes only */
    MODEL_SLEEP_LAZY,  /* ends by itself once no other thread can go on, with all stores visible;
                        * waits only */
};

struct model_request {
    struct model_site *site;
    void *cell;
    uint32_t size;
    uint64_t value;     /* to store, to add, or to exchange for */
    uint64_t *expected; /* CAS */
    bool (*until)(uint64_t value, uint64_t argument);
    uint64_t argument;
    enum model_sleep sleep;
};

/* Runs one operation of the calling thread. Returns the value read; for a CAS, whether it
 * succeeded. */
uint64_t model_operation(const struct model_request *request);

/* A full barrier in every other thread, at some point within the call. */
void model_membarrier_at(struct model_site *site);

/* As on Linux: sleeps if the word is `expected`, until a later wake. Wake and sleep do not
 * synchronize. They promise only this: a thread that is woken, or that waits after the wake, reads
 * no value of that word older than the waker knew. A wake may pick any sleeper. Returns true if the
 * sleep ended by itself. If a thread would sleep for ever, the explorer reports a deadlock. */
bool model_futex_wait_at(struct model_site *site, const void *word, uint32_t expected,
                         enum model_sleep sleep);
void model_futex_wake_at(struct model_site *site, const void *word, uint32_t count);

/* Accesses plain bytes, which are checked for races: in units of four bytes, or one by one if a
 * single byte is named. */
void model_data_at(struct model_site *site, const void *bytes, uint32_t count);
/* Marks a word whose existence matters but not its value: not a step. */
void model_count_at(struct model_site *site, const void *word, uint32_t size);

/* From here on no thread may touch the bytes in this execution. */
void model_free(const void *bytes, uint32_t count);

void *model_memory(uint32_t size);
/* Makes the product's static memory part of the model, zeroed. Call in setup(), each time. */
void model_lend(void *bytes, uint32_t size);
void model_name(const void *word, const char *name);
uint32_t model_self(void);
/* Called before another thread or the search (MODEL_THREADS_MAX) continues, so that the model can
 * swap the product's thread-local variables. */
extern void (*model_on_switch)(uint32_t from, uint32_t to);
bool model_owns(const void *bytes);

/* Adds a clock. Call in setup(). `values` are what it shows in turn, at most MODEL_CLOCK_MAX of
 * them: the first until the threads start, the last in finish(). memory.c defines which one a
 * thread may read. */
#define MODEL_CLOCK_MAX 4
void model_clock(const uint64_t *values, uint32_t count);
uint64_t model_clock_at(struct model_site *site);
/* The two fences that order a clock reading on x86. mfence makes the thread's stores visible.
 * lfence waits for everything before it, readings too, and is a full fence if all stores are
 * visible by then. */
void model_mfence_at(struct model_site *site);
void model_lfence_at(struct model_site *site);

/* Installs a signal handler for the thread. Call in setup(). The handler runs at most once, on the
 * thread's own stack, before any of its operations or where it calls model_interrupt(). */
void model_handler(uint32_t thread, void (*handler)(void));
void model_interrupt(void);

/* For a thread that found nothing to do. It goes on once another thread has stored something since
 * this thread's last pause, or since its start. */
void model_pause(void);

/* Fails the execution unless `condition` holds. */
#define model_check(condition) \
    ((condition) ? (void)0 : model_fail("%s:%d: %s", __FILE__, __LINE__, #condition))
__attribute__((format(printf, 1, 2))) void model_fail(const char *format, ...);

/* Ends this execution without a verdict: the model does not follow it further. */
void model_abandon(void);

/* Records that some execution ended with this outcome; 0 <= outcome < 64. */
void model_outcome(uint32_t outcome);

struct model {
    const char *name;
    const char *about;
    uint32_t threads;
    void (*setup)(void);
    void (*run[MODEL_THREADS_MAX])(void);
    void (*finish)(void); /* may be NULL */
    /* Relies on release sequences of C11 and C17; see memory.c. */
    bool c17_sequences;
};

struct model_options {
    bool quiet;              /* no trace of a failing execution */
    bool bounded;            /* at most `preemptions` switches away from a runnable thread */
    uint32_t preemptions;    /* valid if `bounded` */
    uint64_t random_seed;    /* not 0: random schedules instead of all */
    uint64_t executions_max; /* 0: no limit */
    double seconds_max;      /* 0: no limit */
};

struct model_result {
    uint64_t executions; /* that ran to their end */
    uint64_t redundant;  /* cut, because an equivalent one had been run */
    uint64_t abandoned;
    uint64_t steps;
    uint64_t outcomes; /* set of model_outcome() */
    double seconds;
    bool complete; /* all executions within the bound were tried */
    bool failed;
    char failure[512];
};

struct model_result model_explore(const struct model *model, const struct model_options *options);
void model_print_result(const struct model *model, const struct model_result *result);

/* Sites met so far, by file and line. model_sites_restore() undoes what a sweep has weakened. */
struct model_site *model_sites(void);
void model_sites_restore(void);
const char *model_site_text(const struct model_site *site);
const char *model_order_text(enum model_order order);

#endif
