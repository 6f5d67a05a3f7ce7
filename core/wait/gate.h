/*
 * The gate of a BLOCK session: free capacity, and the threads that wait for it.
 *
 * Capacity comes in units of one size, cut from one area: segments, whose first word the gate uses
 * as a link while they are free. One decision, under one mutex with a bounded spin, either gives a
 * thread its units or queues it, so no thread takes units while an older one waits (in AUTO_RESET,
 * while an older one waits for several; in RELAY, unless its turn goes on). A strategy defines how a waiting thread gets units:
 * strategies.h lists them, each in a file wait_*.c, and strategy.h has what they share.
 *
 * Life of a wait:
 *
 *     wr_gate_ask() --PARKED--> [the caller leaves its pin] wr_gate_wait() --GRANTED, ABORTED,
 *     DEADLINE--> [it pins again, writes or counts the loss] wr_gate_unpark()
 *
 * Between PARKED and wr_gate_unpark() the thread is counted in `parked`, and the gate and its
 * session must stay: wr_gate_wait_unparked() waits for that count.
 *
 * If the host has set hooks (event/hooks.h), a granted thread has one more stage:
 *
 *     GRANTED --> wr_gate_step_out(), wr_gate_unpark() [the host's hook, for as long as it likes]
 *     --> [it pins again, if there is still a session] wr_gate_step_in()
 *
 * Outside, the thread is in no count and keeps nothing alive: the session may be stopped and freed,
 * and the gate may take the units back.
 *
 * The word of a waiter:
 *
 *     AWAKE ──waiter──> ASLEEP ──granter──> GRANTED   (or ABORTED, by the closer)
 *       ^                 │ v
 *       └──── to spin ────┘
 *
 * To grant, a thread writes the units and then exchanges the word to GRANTED (edge GRANT). It makes
 * a system call only if the word was ASLEEP. The waiter sets ASLEEP by compare-and-swap and sleeps
 * only while the word is ASLEEP, so it never sleeps through a grant.
 *
 * A waiter whose deadline has passed takes itself out of the queue. If it cannot get the lock for
 * that, because the thread that holds it does not run, it sets its word to LEFT by compare-and-swap
 * and goes. Whoever finds that word, in the queue or in the exchange of a grant, does the rest for
 * it (edge LEAVE). A thread that comes back from its hook and cannot get the lock leaves in the
 * same way. A closer first sets CLOSING, from which no waiter can leave, so that the loss is
 * counted once.
 */
#ifndef WR_WAIT_GATE_H
#define WR_WAIT_GATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/atomic.h"
#include "base/compiler.h"

struct wr_gate_strategy;

/* A unit that is free or was just granted. */
struct wr_unit {
    struct wr_unit *next;
};

enum wr_waiter_word {
    WR_WAITER_AWAKE,
    WR_WAITER_ASLEEP,
    WR_WAITER_GRANTED,
    WR_WAITER_CLOSING, /* ABORTED follows */
    WR_WAITER_ABORTED,
    WR_WAITER_LEFT, /* its thread has gone; the waiter may still be in a list */
};

/* A closed event stays closed: a waiter that resets it must not keep others asleep. */
enum wr_gate_event {
    WR_GATE_EVENT_RESET,
    WR_GATE_EVENT_SET,
    WR_GATE_EVENT_CLOSED,
};

/* One per lane, in memory that stays mapped as long as the gate. */
struct wr_waiter {
    struct wr_u32 word;                /* edge GRANT */
    uint32_t thread_id;                /* of the system; CONST */
    struct wr_waiter *next, *previous; /* LOCK(gate): the queue, or the list of those outside */
    struct wr_unit *units;             /* LOCK(gate) while it waits or is outside; otherwise its
                                        * thread's (GRANT) */
    uint32_t unit_count;               /* of `units` */
    uint32_t needed;                   /* units for the record that waits */
    uint32_t turn_units;               /* LOCK(gate): of its last grant, and taken since */
    uint32_t running_since; /* LOCK(gate): `epoch` at its grant; another one, or 0: it rests */
    uint64_t queue_number;  /* its place among all waits of the gate, from 1 */
    uint64_t grant_number;  /* its place among all grants to waiters, from 1; 0: none yet. Once the
                             * waiter's thread has LEFT, only a granter may use it */
    uint64_t parked_at_ns;  /* monotonic */
    uint64_t parked_ns;     /* length of the last wait, once it is over */
    uint64_t granted_at_ns; /* for RELAY; written before GRANT */
    bool is_handed_on;      /* for RELAY, before GRANT: by a thread that parked while none ran */
    bool must_ring;         /* its own: what it waits for is the drain's to find */
    bool may_spin;          /* its own: was the head when it parked, and no thread ran */
    bool has_taken;         /* its own: FIFO, AUTO_RESET: has taken what it needs */
    bool has_quit;          /* its own: has taken itself out of the queue, or has LEFT */
    bool is_queued;         /* LOCK(gate) */
    bool is_signaled;       /* LOCK(gate): FIFO: the head has an unused signal */
    /* LOCK(gate), both, so they may share a byte: a lane is full. */
    bool is_outside : 1; /* in the list of those outside */
    bool is_swept : 1;   /* was outside at the last sweep, too */
};

struct wr_gate_figures {
    uint64_t parks;
    uint64_t parked_ns; /* of waits that are over */
    uint64_t parked_ns_max;
    uint64_t parked_now;
    uint64_t grants;
    uint64_t grant_bytes;
    uint64_t grant_bytes_now;
    uint64_t wakes;
    uint64_t free_bytes;
};

#define WR_GATE_IS_AWAITED UINT32_C(0x80000000) /* in `parked`: a stopper waits for 0 */

struct wr_gate {
    /* CONST after init */
    const struct wr_gate_strategy *strategy;
    unsigned char *area;
    uint32_t unit_bytes;
    uint32_t unit_count;
    uint32_t flags;       /* enum wr_wake_flags; CONST after the first use */
    uint32_t grant_fixed; /* units; 0: found at run time */
    uint32_t cap;         /* how many granted threads should run at once */
    uint32_t process_id;
    bool head_spins;     /* the head of the queue spins while no granted thread runs */
    bool blocks_signals; /* a waiting thread blocks signals while it has the lock */

    WR_ALIGNED_LINE pthread_mutex_t lock;
    struct wr_unit *free;           /* LOCK: first in, first out, see unit_push() */
    struct wr_unit *free_last;      /* LOCK: valid if `free` is not NULL */
    uint32_t free_count;            /* LOCK: in the list, or not yet cut from the area */
    uint32_t carved;                /* LOCK: units cut from the area so far */
    struct wr_waiter *head, *tail;  /* LOCK: the queue, oldest first */
    struct wr_waiter *outside;      /* LOCK: granted, and in the host's hook; youngest first */
    uint32_t waiting;               /* LOCK: waiters in the queue */
    uint32_t large;                 /* LOCK: of these, those that need more than one unit */
    uint32_t running;               /* LOCK: waiters that have a grant and are not known to rest */
    uint32_t epoch;                 /* LOCK: from 1; they are `running_since` this one */
    uint32_t grant_units;           /* LOCK: units in a grant, unless the record needs more */
    bool is_closing;                /* LOCK: the gate is closed */
    uint64_t queue_numbers;         /* LOCK: waits so far */
    uint64_t grant_numbers;         /* LOCK: grants to waiters so far */
    uint64_t grants, granted_units; /* LOCK: with and without a wait */
    struct wr_u32 left;             /* ANY: counts waiters that LEFT; 0 once they are cleared */
    struct wr_u64 parked_ns, parked_ns_max, wakes; /* ANY: figures */
    struct wr_u64 away_since_ns; /* ANY: when the drain went into the sink, a hint; 0: it is not */
    struct wr_u64 granted_at_ns; /* ANY: when a waiter was last granted, a hint */
    struct wr_u64 hand_off_ns;   /* ANY: median time from a grant until its thread runs; a hint */
    uint64_t drained_bytes, drained_ns; /* DRAIN: since the grant size was last computed */
    uint64_t drained_at_ns;             /* DRAIN: when a look last found something */
    uint64_t grant_bytes;               /* DRAIN: the grant size found at run time; a mean */

    WR_ALIGNED_LINE struct wr_u32 parked; /* edge UNPARK; with WR_GATE_IS_AWAITED */
    struct wr_u32 event;                  /* AUTO_RESET's: enum wr_gate_event */
    struct wr_u32 is_short; /* ANY: threads wait, and less than a grant is free; a hint */
};

enum wr_asked {
    WR_ASKED_GRANTED, /* waiter->units has what was needed, or more */
    WR_ASKED_FULL,    /* too little is free, or the lock is taken, and the caller may not wait */
    WR_ASKED_LATE,    /* no lock within the limit, or a granter still uses the waiter (LEFT) */
    WR_ASKED_PARKED,  /* in the queue: wr_gate_wait() must follow */
    WR_ASKED_ABORTED, /* the gate is closed */
};

enum wr_waited {
    WR_WAITED_GRANTED,
    WR_WAITED_ABORTED, /* the gate is closed; after a wait, the closer has counted the loss */
    WR_WAITED_DEADLINE,
};

enum wr_stepped {
    WR_STEPPED_IN,     /* waiter->units has what was needed, or nothing: then it must ask again */
    WR_STEPPED_AWAY,   /* the caller no longer wanted the units; they are free */
    WR_STEPPED_CLOSED, /* the gate is closed, and the closer has counted the loss */
    WR_STEPPED_LATE,   /* no lock within the limit: the waiter has LEFT */
};

/* What the drain may do next. */
enum wr_gate_state {
    WR_GATE_QUIET,  /* no thread waits, or those that may take what is free run, or will soon */
    WR_GATE_SERVED, /* a waiter was served: there may be work soon */
    WR_GATE_STUCK,  /* a thread waits, and too little is free */
};

struct wr_gate_config {
    uint32_t wake;        /* enum weir_wake */
    uint32_t grant_units; /* 0: found at run time */
    uint32_t processors;
    bool blocks_signals;
};

/* `gate` is zeroed; the area has unit_count units of unit_bytes. */
void wr_gate_init(struct wr_gate *gate, const struct wr_gate_config *config, unsigned char *area,
                  uint32_t unit_bytes, uint32_t unit_count);
void wr_gate_fini(struct wr_gate *gate);

/* --- Emitting threads. ----------------------------------------------------------------------- */

/* `limit_ns` is how long a call waits for the lock, which a thread that does not run may hold (0:
 * one try; UINT64_MAX: no limit). A caller that wants signals blocked meanwhile blocks them before
 * the call. Only wr_gate_wait() and wr_gate_cancel() block them themselves, while they have the
 * lock, if the gate is configured so. */

/* Takes units for one record: `needed` of them, at most half of all. Called inside the pin. If too
 * little is free, a caller with limit 0 gets FULL; any other is PARKED. */
enum wr_asked wr_gate_ask(struct wr_gate *gate, struct wr_waiter *waiter, uint32_t needed,
                          uint64_t limit_ns);
/* Would this thread's request for one unit be met at this moment? A hint; false while the lock is held. */
bool wr_gate_has_room(struct wr_gate *gate, const struct wr_waiter *waiter);
/* Sleeps until the wait is over, at most until `deadline_ns` (monotonic; UINT64_MAX: no deadline).
 * Called outside the pin. DEADLINE: gathered units are free again, or the waiter has LEFT; then the
 * caller must ring the drain, which frees them. */
enum wr_waited wr_gate_wait(struct wr_gate *gate, struct wr_waiter *waiter, uint64_t deadline_ns);
/* Ends a wait that a signal handler has jumped out of, wherever in the wait that was. */
enum wr_waited wr_gate_cancel(struct wr_gate *gate, struct wr_waiter *waiter);
/* Called when the wait is over and its loss, if any, is counted. The caller must not touch the gate
 * afterwards. */
void wr_gate_unpark(struct wr_gate *gate);

/* Called after a grant and before wr_gate_unpark(), by a thread that goes into the host's hook.
 * ABORTED: the gate is closed, the units are free again, and the caller counts the loss. DEADLINE:
 * no lock within the limit; the caller keeps the units. */
enum wr_waited wr_gate_step_out(struct wr_gate *gate, struct wr_waiter *waiter, uint64_t limit_ns);
/* Called when the thread is back, inside a pin that keeps the gate. If its units were taken back,
 * it gets others at once, ahead of the queue, as long as enough are free or with threads that are
 * still outside: it was granted before those that wait, and can use them now. */
enum wr_stepped wr_gate_step_in(struct wr_gate *gate, struct wr_waiter *waiter, bool is_wanted,
                                uint64_t limit_ns);

/* --- Threads that have units to give: the drain, an exiting thread. -------------------------- */

/* Puts the units, if any, on the free list and serves the queue, in one critical section. False:
 * the units still belong to the caller. */
bool wr_gate_give(struct wr_gate *gate, struct wr_unit *units, uint64_t limit_ns);
/* Says that the waiter's thread has no units left, or rests: another thread may run in its place. A
 * hint, which is dropped if there is no lock within the limit. */
void wr_gate_rest(struct wr_gate *gate, struct wr_waiter *waiter, uint64_t limit_ns);
/* May another thread use the waiter of an exited one? Not while a grant is on its way to it. Called
 * after wr_gate_rest() without a limit. */
bool wr_gate_is_done_with(const struct wr_waiter *waiter);

/* --- The drain. ------------------------------------------------------------------------------ */

/* Called when the drain has nothing else to do. Serves the queue, perhaps even above the cap. */
enum wr_gate_state wr_gate_idle(struct wr_gate *gate);
/* One sweep, called while others wait: takes back the units of threads that were outside at the
 * last sweep, too. True if there were any. */
bool wr_gate_sweep_outside(struct wr_gate *gate);
/* Says that the drain has just read `bytes` in `ns`: the grant size follows, and no thread rests. */
void wr_gate_tune(struct wr_gate *gate, uint64_t bytes, uint64_t ns);
/* The drain enters a call that may block, or is back from it. Meanwhile it serves no waiter. */
void wr_gate_drain_leaves(struct wr_gate *gate);
void wr_gate_drain_returns(struct wr_gate *gate);
/* Units in a grant, unless the record needs more. Called by the drain. */
uint32_t wr_gate_grant_units(const struct wr_gate *gate);
/* Is this a forked child of the process that made the gate? A signal handler may have forked in the
 * middle of a wait. Here no thread will ever grant anything, and the lock may be held by a thread
 * that does not exist. */
bool wr_gate_is_inherited(const struct wr_gate *gate);
/* How many threads are parked? A hint. */
static inline uint32_t wr_gate_parked(const struct wr_gate *gate)
{
    return wr_u32_load_relaxed(&gate->parked) & ~WR_GATE_IS_AWAITED; /* relaxed: a hint */
}

/* Do threads wait, with less than a grant free for them? A hint, also for emitting threads. */
static inline bool wr_gate_is_short(const struct wr_gate *gate)
{
    return wr_u32_load_relaxed(&gate->is_short) != 0; /* relaxed: a hint */
}

/* --- The end. -------------------------------------------------------------------------------- */

/* Closes the gate: from here on wr_gate_ask() returns ABORTED. Calls `lose`, under the lock, for
 * each waiter that is outside and has not LEFT. `waiters` receives the waiters of the queue that
 * have not LEFT, and can no longer, linked by `next`. For each the caller counts the loss and then
 * calls wr_gate_abort(). False: nothing has changed. */
bool wr_gate_close(struct wr_gate *gate, uint64_t limit_ns, void (*lose)(struct wr_waiter *waiter),
                   struct wr_waiter **waiters);
void wr_gate_abort(struct wr_gate *gate, struct wr_waiter *waiter);
/* Waits until no thread is parked. False if the deadline (monotonic) passed first. */
bool wr_gate_wait_unparked(struct wr_gate *gate, uint64_t deadline_ns);

/* Is no waiter outside? A thread that was parked is outside before it is unparked. False also if the
 * lock is not free within the limit. The caller blocks signals. */
bool wr_gate_has_none_outside(struct wr_gate *gate, uint64_t limit_ns);

bool wr_gate_figures(struct wr_gate *gate, struct wr_gate_figures *figures, uint64_t limit_ns);

#endif
