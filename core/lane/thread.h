/*
 * A thread's record: its pin, and its lanes, one per session slot.
 *
 * The pin is a sequence number, odd while the thread is inside emit. The thread stores it with
 * plain stores. The other side calls wr_os_membarrier() between its own store and its load of the
 * pin (edges QUIESCE and REVOKE), which gives the store-then-load order that plain stores lack.
 * Where membarrier is missing, and under ThreadSanitizer, both sides use seq_cst accesses instead.
 * So do sessions that start after membarrier has failed: a sandbox may forbid it at any time.
 *
 * Thread records are never freed, only reused, so a pin may be read at any time.
 */
#ifndef WR_LANE_THREAD_H
#define WR_LANE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/atomic.h"
#include "base/compiler.h"
#include "lane/name.h"

#define WR_SESSIONS_MAX 64

struct wr_lane;
struct wr_place;
struct wr_stamp;
struct weir_context;
struct weir_event;

struct wr_thread {
    /* By route: wr_thread_lane(). The writer attaches a lane inside a pin; the stopper stores
     * WR_LANE_NONE after QUIESCE. */
    WR_ALIGNED_LINE struct wr_ptr lanes[1 + WR_SESSIONS_MAX]; /* ANY(QUIESCE) */
    uint64_t id;                                              /* the system's */
    struct wr_name name; /* here because there is room: it seldom changes */

    WR_ALIGNED_LINE struct wr_u64 pin; /* WRITER; edges QUIESCE, REVOKE */
    uint32_t last_loss;                /* WRITER: enum weir_loss; see wr_self_last_loss() */
    struct weir_context *context;      /* WRITER: the newest of its chain; NULL: none */
    bool is_capturing;                 /* WRITER: it is in the host's hook for stacks */
    /* Here because who follows the list mostly reads the pins. The others change when the thread exits, or
     * when it gets or loses a lane. */
    struct wr_thread *next;      /* ANY(RECORD): all records; the list never shrinks */
    struct wr_thread *free_next; /* ANY(THREAD): free records */
    struct wr_u32 lane_count;    /* ANY(THREAD): its lanes, and 1 until it exits */
};

/* The route of an event is the index of its lane in each thread's `lanes`. No thread has a lane at
 * WR_ROUTE_NONE: it is the route of an event that no session wants, or several. */
#define WR_ROUTE_NONE 0u

static inline uint64_t wr_route(uint32_t slot)
{
    return 1 + (uint64_t)slot;
}

/* Where the thread keeps its lane in the session of `slot`. */
static inline struct wr_ptr *wr_thread_lane(struct wr_thread *thread, uint32_t slot)
{
    return &thread->lanes[wr_route(slot)];
}

/* What stands in `lanes` where there is no lane: one that has no room and never gets any, so that the
 * fast path need not ask. Nothing is written to it. It is the beginning of a place (buffers/place.h). */
extern struct wr_place wr_place_none;
#define WR_LANE_NONE ((struct wr_lane *)(void *)&wr_place_none)

/* The lane, of a word of `lanes`; NULL: none. */
static inline struct wr_lane *wr_lane_or_null(void *word)
{
    return word == WR_LANE_NONE ? NULL : word;
}

/* For a record that no other thread uses. */
static inline void wr_thread_forget_lanes(struct wr_thread *thread)
{
    for (uint32_t route = 0; route <= WR_SESSIONS_MAX; route++)
        wr_ptr_store_relaxed(&thread->lanes[route], WR_LANE_NONE); /* relaxed: not shared */
}

/* A record that belongs to no thread. Its pin is always odd. */
extern struct wr_thread wr_thread_none;

/*
 * Per-thread state, in static TLS (initial-exec), which a load reaches without a call. A plug-in
 * that links the library statically therefore takes its whole TLS segment, its own variables
 * included, from the reserve that the C library keeps for dlopen(): 1,664 bytes in glibc 2.36 (room
 * for 26 such plug-ins, measured), more with glibc.rtld.optional_static_tls. A plug-in that does
 * not fit is not loaded: "cannot allocate memory in static TLS block".
 */
struct wr_self {
    /* The thread's record, for the fast path. &wr_thread_none while the thread is inside the
     * library, except where its own pin says so all the time (`depth` is 0); before its first
     * event; while it has a context; and in processes that cannot use the fast path. So one test of this record's pin shows
     * the fast path that it may go on, and a signal handler that it interrupted the library.
     * WRITER, and its signal handlers. */
    struct wr_thread *ready;
    struct wr_thread *thread;
    uint32_t depth;   /* calls into the library on this thread's stack, except events that are
                       * inside their pin all the time */
    uint64_t pending; /* slots where the event of a slow path is neither written nor counted */
    /* During a rundown: events go to `capture` instead of a lane. */
    bool (*capture)(void *context, const struct weir_event *event, const void *payload,
                    const struct wr_stamp *stamp);
    void *capture_context;
    uint64_t capture_id;  /* of its session */
    uint32_t last_loss;   /* while there is no record: see wr_self_last_loss() */
    uint32_t no_block;    /* no-block scopes that the thread is in */
    uint64_t patience_ns; /* how long this event may still wait for locks: wr_self_lock() */
    uint64_t base_most;   /* a segment that is opened for this event begins no later; 0: now */
    void *callbacks;      /* providers whose callbacks the thread is in, innermost first */
    void *sources;        /* calls of rundown sources that the thread is in, innermost first */
    /* The buffers of the session in which the thread is parked or runs on_park. If the thread
     * stopped that session, the stop would wait for itself. */
    const void *parked_in;
    bool is_drain;       /* the thread is the drain of a session */
    bool is_configuring; /* it reads the environment: session/environment.c */
    bool has_let_go;     /* the thread is between the host's hooks */
    bool fork_is_nested; /* the fork, as below, interrupted the library */
    bool is_refused;     /* DROP has refused this event, and the thread should yield after it */
    /* From before a fork until after it. */
    struct wr_thread *fork_ready; /* `ready` as it was */
    uint32_t fork_depth;          /* forks within forks, by signal handlers */
};
_Static_assert(sizeof(struct wr_self) <= 128, "a plug-in takes it from what glibc keeps free");

extern __thread struct wr_self wr_self __attribute__((tls_model("initial-exec")));

/* Why the most recent failed emit of this thread failed. In its record, if it has one: a drop on the fast
 * path then needs no other line, and no address of wr_self. */
static inline uint32_t *wr_self_last_loss(void)
{
    return wr_self.thread ? &wr_self.thread->last_loss : &wr_self.last_loss;
}

/* True when plain-store pins and the raw counter may be used. Constant after wr_threads_init(). */
extern bool wr_thread_fast;

/* Called once per process, before any other function here. */
void wr_threads_init(void);

/* The calling thread's record, created at first use; NULL if there is no memory. For the slow path.
 * Never calls the host's allocator. */
struct wr_thread *wr_thread_attach(void);

/* To be called when a lane of the thread has gone back to its session. */
void wr_thread_lane_released(struct wr_thread *thread);

/* Set by buffers/: retires the lanes of an exiting thread. */
extern void (*wr_thread_on_exit)(struct wr_thread *thread);

/* Calls `visit` for each thread record, without a lock. Misses records added during the walk. */
void wr_threads_each(void (*visit)(struct wr_thread *thread, void *context), void *context);

/* A wait for the pins of all threads, which can be taken up again. All 0 before the first call. */
struct wr_quiesce {
    bool is_begun;
    bool is_certain;                /* the barrier has not failed */
    const struct wr_thread *thread; /* the next one whose pin is waited for; NULL: none is left */
    uint64_t noted;                 /* its pin, if that was inside; otherwise 0 */
};

/* Waits until no other thread is inside a pin that it entered before the first call with this
 * `quiesce`. False if `until_ns` (monotonic) passed first, after which the same thread may call
 * again, or if the barrier has failed. Edge QUIESCE: every later pin sees what the caller stored
 * before the first call, and the caller sees what was written inside earlier pins. */
bool wr_threads_quiesce(struct wr_quiesce *quiesce, bool has_plain_pins, uint64_t until_ns);

/* The barrier of the edges QUIESCE and REVOKE. Calls membarrier if emitters may have plain pins; if
 * all pins are seq_cst, does nothing and returns true. False: membarrier has failed. A thread may
 * then be inside although its pin looks even, so the caller must conclude nothing from a pin. */
bool wr_threads_barrier(bool has_plain_pins);

/* The system's error number of the first membarrier that failed, from then on; 0 before. */
int wr_threads_membarrier_error(void);

/* Set by the registry. Called once, by the thread whose membarrier was the first to fail. */
extern void (*wr_threads_on_membarrier_error)(void);

/* To be called in a forked child: forgets the parent's other threads. */
void wr_threads_after_fork(void);

/* Enter and leave the library, on a thread that may have no record. In between, events of signal
 * handlers on this thread are counted as nested, and touch nothing that the library may have
 * locked. */
static inline void wr_self_enter(void)
{
    wr_self.depth++;
    wr_self.ready = &wr_thread_none;
    wr_compiler_barrier();
}

static inline void wr_self_leave(void)
{
    wr_compiler_barrier();
    if (--wr_self.depth == 0 && wr_thread_fast && wr_self.thread && !wr_self.thread->context)
        wr_self.ready = wr_self.thread;
}

/* Takes a lock for an emitting thread. The thread that holds it may not be running: a signal
 * handler, a debugger or a freezer may have stopped it. All such waits of one event end after
 * WR_PATIENCE_NS in total (the event sets `patience_ns` when it begins). False: the lock is not
 * held.
 *
 * `is_stuck` belongs to the lock: some thread has waited for it in vain. Until a thread gets the
 * lock again, no thread waits for it, and each call tries once. */
#define WR_PATIENCE_NS 1000000u
bool wr_self_lock(pthread_mutex_t *mutex, struct wr_u32 *is_stuck);

/* --- Pins. ----------------------------------------------------------------------------------- */

static inline uint64_t wr_pin_load(const struct wr_thread *thread)
{
    /* edges QUIESCE.acquire, REVOKE.acquire; seq_cst for where membarrier is missing */
    return wr_u64_load_seq_cst(&thread->pin);
}

static inline bool wr_pin_is_inside(uint64_t pin)
{
    return (pin & 1) != 0;
}

/* Is this thread inside the library? In the fast path only its pin says so. */
static inline bool wr_self_is_inside(void)
{
    const struct wr_thread *thread = wr_self.thread;
    /* relaxed: this thread's own pin */
    return wr_self.depth > 0 || (thread && wr_pin_is_inside(wr_u64_load_relaxed(&thread->pin)));
}

#endif
