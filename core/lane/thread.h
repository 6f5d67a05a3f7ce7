/*
 * What a thread keeps while it traces: its pin and its lanes, one per session slot.
 *
 * The pin is a sequence, odd while the thread is inside emit. It is stored with plain stores; the
 * side that waits for it issues wr_os_membarrier() between its own store and the load of the pin
 * (edges QUIESCE and REVOKE), which gives the store-then-load order that plain stores lack. Where
 * membarrier is missing, and under ThreadSanitizer, both sides use seq_cst accesses instead; so do
 * sessions that start after membarrier has failed (a sandbox may forbid it at any time).
 *
 * Thread records are never freed, only reused, so that a pin may be read at any time.
 */
#ifndef WR_LANE_THREAD_H
#define WR_LANE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/atomic.h"
#include "base/compiler.h"

#define WR_SESSIONS_MAX 64

struct wr_lane;
struct weir_event;

struct wr_thread {
    WR_ALIGNED_LINE struct wr_u64 pin; /* WRITER; edges QUIESCE, REVOKE */

    /* The writer attaches a lane inside a pin; the stopper clears the word after QUIESCE. */
    WR_ALIGNED_LINE struct wr_ptr lanes[WR_SESSIONS_MAX]; /* ANY(QUIESCE) */

    WR_ALIGNED_LINE struct wr_thread *next; /* ANY(RECORD): all records, never shortened */
    struct wr_thread *free_next;            /* ANY(THREAD) */
    uint64_t id;                            /* of the system */
    struct wr_u32 lane_count;
};

/*
 * Per thread of the process, in static TLS (initial-exec), which a load reaches without a call. A
 * plug-in that links the library statically therefore takes its whole TLS segment, its own
 * variables too, from the little that the C library keeps free for dlopen(): 1,664 bytes in glibc
 * 2.36 (26 such plug-ins, measured), more by glibc.rtld.optional_static_tls. What does not fit is
 * not loaded: "cannot allocate memory in static TLS block".
 */
struct wr_self {
    /* The thread's record while it is outside the library; NULL inside, before the first event, and
     * in processes that cannot use the fast path. One load therefore tells the fast path that it
     * may go on, and a signal handler that it interrupted us. WRITER (and its signal handlers). */
    struct wr_thread *ready;
    struct wr_thread *thread;
    uint32_t depth;   /* calls of the library on this thread's stack, except the fast path */
    uint64_t pending; /* with a depth: slots for which the event is neither written nor counted */
    /* The drain thread during the rundown: events go to `capture` instead of a lane. */
    bool (*capture)(void *context, const struct weir_event *event, const void *payload);
    void *capture_context;
    uint32_t last_loss;   /* enum weir_loss */
    uint32_t no_block;    /* scopes that the thread is in */
    uint64_t patience_ns; /* what this event may still wait for locks: see wr_self_lock() */
    void *callbacks;      /* providers whose callbacks it is in, the innermost first */
    /* The buffers of the session that the thread is parked in, its on_park included: a stop of that
     * session would wait for this thread. */
    const void *parked_in;
    bool is_drain;   /* a session's own thread */
    bool has_let_go; /* between the host's hooks */
    bool fork_is_nested;
    /* From before a fork to after it, as fork_is_nested. */
    struct wr_thread *fork_ready;
    uint32_t fork_depth;
};
_Static_assert(sizeof(struct wr_self) <= 128, "a plug-in takes it from what glibc keeps free");

extern __thread struct wr_self wr_self __attribute__((tls_model("initial-exec")));

/* True when plain-store pins and the raw counter may be used. Constant after wr_threads_init(). */
extern bool wr_thread_fast;

/* Once per process; before any other call. */
void wr_threads_init(void);

/* The calling thread's record, made at first use; NULL if there is no memory. Slow path; never
 * the host's allocator. */
struct wr_thread *wr_thread_attach(void);

/* A lane of the thread went back to its session. */
void wr_thread_lane_released(struct wr_thread *thread);

/* Set by the buffers: retires the lanes of a thread that exits. */
extern void (*wr_thread_on_exit)(struct wr_thread *thread);

/* Walks all thread records, without a lock: not those that are added meanwhile. */
void wr_threads_each(void (*visit)(struct wr_thread *thread, void *context), void *context);

/* Waits until no thread is inside a pin that it entered before this call; false if `deadline_ns`
 * (monotonic) passed first, or if the barrier has failed. Edge QUIESCE: what the caller stored
 * before is seen by every later pin, and what was written inside earlier pins is seen by the
 * caller.
 */
bool wr_threads_quiesce(bool has_plain_pins, uint64_t deadline_ns);

/* The barrier of the edges QUIESCE and REVOKE, where emitters may have plain pins; nothing, and
 * true, where all are seq_cst. False: there is no membarrier any more. A thread may be inside
 * although its pin looks even: nothing may be concluded from a pin. */
bool wr_threads_barrier(bool has_plain_pins);

/* The system's error number of the first membarrier that failed; 0 before. It stays. */
int wr_threads_membarrier_error(void);

/* Set by the registry: called once, by the thread whose membarrier was the first to fail. */
extern void (*wr_threads_on_membarrier_error)(void);

/* After fork, in the child: forgets the inherited threads. */
void wr_threads_after_fork(void);

/* Enters and leaves the library on a thread that may have no record: from here on, events of signal
 * handlers on this thread are counted as nested and touch nothing that we may have locked. */
static inline void wr_self_enter(void)
{
    wr_self.depth++;
    wr_self.ready = NULL;
    wr_compiler_barrier();
}

static inline void wr_self_leave(void)
{
    wr_compiler_barrier();
    if (--wr_self.depth == 0 && wr_thread_fast)
        wr_self.ready = wr_self.thread;
}

/* Is this thread in the library? On the fast path the mark is that `ready` is NULL though the
 * thread has a record. */
static inline bool wr_self_is_inside(void)
{
    return wr_self.depth > 0 || (wr_thread_fast && wr_self.thread && !wr_self.ready);
}

/* Takes a lock that an emitting thread needs, and another one may hold that does not run: one that
 * a debugger or a freezer has stopped. All such waits of one event end after WR_PATIENCE_NS
 * (`patience_ns`, which the event's beginning sets). False: it is not held.
 *
 * `is_stuck` is the lock's: some thread has waited in vain. Until a thread has it again, nobody
 * waits for it any more, and each event tries once. */
#define WR_PATIENCE_NS 1000000u
bool wr_self_lock(pthread_mutex_t *mutex, struct wr_u32 *is_stuck);

/* --- Pins. ----------------------------------------------------------------------------------- */

static inline uint64_t wr_pin_load(const struct wr_thread *thread)
{
    /* edges QUIESCE.acquire, REVOKE.acquire; seq_cst where membarrier is missing */
    return wr_u64_load_seq_cst(&thread->pin);
}

static inline bool wr_pin_is_inside(uint64_t pin)
{
    return (pin & 1) != 0;
}

#endif
