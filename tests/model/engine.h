/*
 * Shared by the parts of the explorer: explorer.c (search), memory.c (what a load may read),
 * shadow.c (races on plain bytes), report.c (traces and sites), switch.c (threads).
 */
#ifndef MODEL_ENGINE_H
#define MODEL_ENGINE_H

#include "explorer.h"

#define ARENA_BYTES   (256u * 1024u)
#define ARENA_UNIT    4u
#define ARENA_UNITS   (ARENA_BYTES / ARENA_UNIT)
#define LOCATIONS_MAX 192u
#define MESSAGES_MAX  2048u
#define HISTORY_MAX   256u /* stores to one word */
#define ORDERED_MAX   64u  /* seq_cst accesses: a set of them is one 64-bit word */
#define LENT_MAX      24u  /* static regions of the product in use by a model */
#define EVENTS_MAX    4096u
#define NODES_MAX     4096u

/* What a thread knows, or what a store passes on: for each word, the earliest store that may still
 * be read (a stamp in its modification order); for each thread, how far it has come
 * (happens-before). */
struct view {
    uint32_t locations; /* later locations have stamp 0 */
    uint32_t clock[MODEL_THREADS_MAX];
    uint32_t stamp[LOCATIONS_MAX];
};

/* One store. Its index in the pool grows in execution order; its stamp grows in modification order.
 * `taken`: a read-modify-write has read it and directly follows it. */
struct message {
    uint64_t value;
    uint32_t stamp;
    uint32_t writer;
    bool taken;
    bool mixed; /* carries what another thread has released */
    struct view view;
};

struct location {
    uint32_t unit; /* its place in the arena */
    uint32_t count;
    uint32_t woken;              /* the latest stamp known to any futex wake */
    uint16_t order[HISTORY_MAX]; /* messages by stamp */
};

struct operation {
    struct model_request request;
    enum model_kind kind;
    enum model_order order;
    enum model_order failure;
    uint32_t location;
    uint32_t unit;
    uint32_t target;        /* of a membarrier: the thread that passes the barrier */
    bool is_private;        /* no other thread can tell when it happens */
    enum model_sleep sleep; /* of a wait or a futex sleep */
};

enum thread_state { THREAD_NEW, THREAD_READY, THREAD_DONE };

struct thread {
    enum thread_state state;
    struct operation pending;
    /* In the sleep set: its next step was explored from an equivalent state, except that it may now
     * read messages from `horizon` on. */
    bool asleep;
    uint32_t horizon;
    uint32_t barriers;
    uint32_t iteration_start; /* number of messages at its last pause */
    uint32_t iteration_own;   /* messages that it has stored since */
    bool stale;               /* has read a message other than the newest since */
    bool woken;               /* its futex sleep is over */
    bool stores_are_visible;  /* set by a fence, until the next store */
    void (*handler)(void);    /* NULL once it has run */
    struct view current;
    struct view acquired; /* what an acquire fence would add */
    struct view released; /* what relaxed stores pass on, since the last release fence */
};

struct event {
    const struct model_site *site;
    uint32_t thread;
    uint32_t unit;
    uint64_t read;
    uint64_t written;
    bool wrote;
    bool stale;
    bool is_private;
};

struct engine {
    bool running;
    bool quiet;
    bool c17_sequences;
    bool ended; /* this execution has its verdict */
    uint32_t threads;
    uint32_t self;
    uint32_t preemptions;
    uint32_t sleeps_ended; /* because no other thread could go on */
    uint64_t execution;

    uint32_t arena_used;
    uint32_t locations;
    uint32_t messages;
    uint32_t events;
    uint32_t clock;     /* location of the clock + 1; 0: no clock */
    struct view fences; /* what barriers have made known */
    struct thread thread[MODEL_THREADS_MAX];
    struct location location[LOCATIONS_MAX];
    struct message message[MESSAGES_MAX];
    struct event event[EVENTS_MAX];
    struct model_result result;
};

extern struct engine engine;

/* memory.c */
void memory_reset(void);
extern _Alignas(128) unsigned char memory_arena[ARENA_BYTES];
uint32_t memory_offset_lent(const void *bytes);
uint32_t memory_unit(const void *cell);
uint32_t memory_location(const struct model_request *request);
uint32_t memory_readable(const struct thread *thread, const struct operation *operation,
                         uint16_t *list);
uint32_t memory_only_fresh(const struct thread *thread, uint16_t *list, uint32_t count);
uint64_t memory_execute(struct thread *thread, struct operation *operation);
void memory_barrier(struct thread *thread);
void memory_wake(const struct thread *thread, uint32_t location);
void memory_settle(struct thread *thread);
bool memory_is_clock(uint32_t unit);
void memory_woken(struct thread *thread, uint32_t location);
uint64_t memory_direct(const struct model_request *request);

/* Where the bytes are in the arena; ARENA_BYTES: not there. */
static inline uint32_t memory_offset(const void *bytes)
{
    uintptr_t offset = (uintptr_t)bytes - (uintptr_t)memory_arena;
    return offset < ARENA_BYTES ? (uint32_t)offset : memory_offset_lent(bytes);
}

/* order.c */
void order_reset(void);
bool order_allows(const struct thread *thread, uint32_t location, const struct message *message,
                  bool is_store);
void order_add(const struct thread *thread, uint32_t location, const struct message *message,
               bool is_store);

/* shadow.c */
void shadow_reset(void);
void shadow_atomic(uint32_t unit, uint32_t size, bool writes, const struct model_site *site);
/* Of bytes in the arena, at least one. */
void shadow_plain(const struct model_site *site, uint32_t offset, uint32_t count, bool writes);

/* explorer.c */
uint32_t search_choose(uint32_t count);

/* report.c */
void report_trace(void);
void report_event(const struct operation *operation, uint64_t read, uint64_t written, bool wrote,
                  bool stale);
const char *report_name(uint32_t unit);
void report_register(struct model_site *site);

/* switch.c: entry() runs on the thread's own stack. */
void switch_prepare(uint32_t thread, void (*entry)(void));
void switch_to_thread(uint32_t from, uint32_t to);
void switch_to_search(uint32_t from);
void switch_from_search(uint32_t to);

#endif
