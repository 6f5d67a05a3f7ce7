/*
 * An exhaustive explorer for small concurrent programs under the C11 memory model.
 *
 * A model is a few functions, one per thread, that run the product's own headers compiled with
 * WR_MODEL. Every atomic operation goes through model_operation(). The explorer runs the model
 * again and again from its start (stateless search) until it has tried
 *
 *   - every order in which the threads' atomic operations can follow each other, and
 *   - every store that each load may read, and every place of each store in its word's
 *     modification order.
 *
 * What the memory model allows is decided in memory.c, which states where it is exact, weaker or
 * stronger than C11. How the search avoids equivalent schedules is explained in explorer.c.
 *
 * Rules for a model:
 *
 *   - Everything that threads share lies in memory from model_memory() or model_lend(), which is
 *     zeroed and handed out afresh for each execution, in setup() only.
 *   - What several threads tell each other goes through the wr_ words. A plain variable may be
 *     written by one thread and read in finish(). An assertion must not compare what two threads
 *     did in "real time" through a plain variable: equivalent schedules are explored once only. Say
 *     it with data that must not race (poison, free) instead.
 *   - The number of steps is bounded. A loop that waits uses model_wait_until() or model_pause().
 */
#ifndef MODEL_EXPLORER_H
#define MODEL_EXPLORER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODEL_THREADS_MAX 4
#define MODEL_SET_WORDS   4 /* of a set of models: up to 256 of them */

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

/* One operation in the source. Two translation units that include the same header have a site each
 * for the same line; `first` is the one that stands for both. */
struct model_site {
    const char *file;
    const char *function;
    int line;
    enum model_kind kind;
    uint32_t size;                    /* of the word; known once it has run */
    bool met;                         /* set when it runs */
    uint64_t met_by[MODEL_SET_WORDS]; /* for the sweep: the models that have met it, a set */
    enum model_order order;           /* as written; of a CAS, when it succeeds */
    enum model_order failure;         /* of a CAS, when it fails */
    /* What the sweep makes of it; equal to the above when nothing is weakened. */
    enum model_order order_now;
    enum model_order failure_now;
    bool removed;
    struct model_site *first;
    struct model_site *next;
};

enum model_sleep {
    MODEL_SLEEP_LONG,  /* ends only by what it waits for */
    MODEL_SLEEP_TIMED, /* may end by itself at any time; of a futex only */
    MODEL_SLEEP_LAZY,  /* ends by itself when nobody else can go on, and all stores have become
                        * visible by then; of a wait only */
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

/* Runs one operation of the calling thread; what it read (CAS: whether it succeeded). */
uint64_t model_operation(const struct model_request *request);

/* A full barrier in every other thread, each at some point within the call. */
void model_membarrier_at(struct model_site *site);

/* As Linux has it: sleeps if the word is `expected`, until a wake that comes after. A wake and a
 * sleep synchronize nothing; all that is promised is that who is woken by a wake, or waits after
 * it, reads nothing older of that word than what the waker knew. A wake may pick any sleeper. True
 * if the sleep ended by itself. The explorer sees a thread that would sleep for ever as a deadlock.
 */
bool model_futex_wait_at(struct model_site *site, const void *word, uint32_t expected,
                         enum model_sleep sleep);
void model_futex_wake_at(struct model_site *site, const void *word, uint32_t count);

/* Plain bytes: checked for races, in units of four bytes, or one by one where single bytes are
 * named. */
void model_data_at(struct model_site *site, const void *bytes, uint32_t count);
/* A word of which only its being there matters, not its value: no step. */
void model_count_at(struct model_site *site, const void *word, uint32_t size);

/* The bytes may not be touched again in this execution, by any thread. */
void model_free(const void *bytes, uint32_t count);

void *model_memory(uint32_t size);
/* The same for static memory of the product; zeroed as well. In setup(), each time. */
void model_lend(void *bytes, uint32_t size);
void model_name(const void *word, const char *name);
/* The calling thread. */
uint32_t model_self(void);
/* Called when another thread goes on, or the search (MODEL_THREADS_MAX): the product's thread-local
 * variables are the model's to exchange. */
extern void (*model_on_switch)(uint32_t from, uint32_t to);
bool model_owns(const void *bytes);

/* The clock: memory.c says what a thread may read of it. In setup(): the values that it shows one
 * after the other, at most so many as MODEL_CLOCK_MAX; the first one until the threads start, the
 * last one in finish(). */
#define MODEL_CLOCK_MAX 4
void model_clock(const uint64_t *values, uint32_t count);
uint64_t model_clock_at(struct model_site *site);
/* The two fences that order a reading of the clock on x86. The first makes the thread's stores
 * visible; the second waits for what comes before it, readings too, and is a full fence if all
 * stores are visible by then. */
void model_mfence_at(struct model_site *site);
void model_lfence_at(struct model_site *site);

/* In setup(): a signal handler of the thread. It runs once, on the thread's own stack, before any
 * one of its operations or where it calls model_interrupt(), or not at all. */
void model_handler(uint32_t thread, void (*handler)(void));
void model_interrupt(void);

/* The thread found nothing to do. It goes on when another thread has stored something since its
 * last pause (or its start). */
void model_pause(void);

/* Ends the execution as failed when `condition` is false. */
#define model_check(condition) \
    ((condition) ? (void)0 : model_fail("%s:%d: %s", __FILE__, __LINE__, #condition))
__attribute__((format(printf, 1, 2))) void model_fail(const char *format, ...);

/* Ends this execution without a verdict: the model does not want to follow it. */
void model_abandon(void);

/* Remembers that some execution ended so; 0 <= outcome < 64. */
void model_outcome(uint32_t outcome);

struct model {
    const char *name;
    const char *about;
    uint32_t threads;
    void (*setup)(void);
    void (*run[MODEL_THREADS_MAX])(void);
    void (*finish)(void); /* may be NULL */
    /* It rests on release sequences as C11 and C17 have them; see memory.c. */
    bool c17_sequences;
};

struct model_options {
    bool quiet;           /* no trace of a failing execution */
    bool bounded;         /* at most `preemptions` switches away from a thread that could go on */
    uint32_t preemptions; /* with `bounded` */
    uint64_t random_seed; /* not 0: random schedules instead of all */
    uint64_t executions_max; /* 0: no limit */
    double seconds_max;      /* 0: no limit */
};

struct model_result {
    uint64_t executions; /* ran to their end */
    uint64_t redundant;  /* cut, since an equivalent one had been run */
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

/* Sites met so far, by file and line; and putting back what a sweep has weakened. */
struct model_site *model_sites(void);
void model_sites_restore(void);
const char *model_site_text(const struct model_site *site);
const char *model_order_text(enum model_order order);

#endif
