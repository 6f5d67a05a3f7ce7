/*
 * The gate of a BLOCK session: free capacity, and the threads that wait for it.
 *
 * Capacity comes in units of one size, cut from one area: segments, whose first word the gate uses
 * as a link while they are free. Taking and queueing are one decision under one mutex with a
 * bounded spin, so that nobody takes while somebody older waits. Three strategies say how a waiting
 * thread gets units: wait_auto_reset.c, wait_fifo.c, wait_relay.c; strategy.h is what they have in
 * common.
 *
 * Life of a wait:
 *
 *     wr_gate_ask() --PARKED--> [the caller leaves its pin] wr_gate_wait() --GRANTED, ABORTED,
 *     DEADLINE--> [it pins again, writes or counts the loss] wr_gate_unpark()
 *
 * Between PARKED and wr_gate_unpark() the thread is counted in `parked`, and the gate and all that
 * it belongs to must stay: wr_gate_close() waits for that count.
 *
 * Where the host has hooks (event/hooks.h), a granted thread has one more stage:
 *
 *     GRANTED --> wr_gate_step_out(), wr_gate_unpark() [the host's hook, for as long as it likes]
 *     --> [it pins again, if there is still a session] wr_gate_step_in()
 *
 * Outside, the thread is in no count and keeps nothing: the session may be stopped and freed, and
 * the units are the gate's to take back.
 *
 * The word of a waiter:
 *
 *     AWAKE ──waiter──> ASLEEP ──granter──> GRANTED   (or ABORTED, by the closer)
 *       ^                 │ v
 *       └──── to spin ────┘
 *
 * A grant is an exchange to GRANTED after the units were written (edge GRANT), and a system call
 * only if the word was ASLEEP. The waiter sets ASLEEP by compare-and-swap and sleeps only while the
 * word is ASLEEP, so that no grant is slept through.
 *
 * A waiter whose deadline has passed takes itself out of the queue. If it cannot have the lock for
 * that, because a thread that holds it does not run, it sets its word to LEFT by compare-and-swap
 * and goes; whoever finds that word, in the queue or in the exchange of a grant, does the rest for
 * it (edge LEAVE); so does a thread that comes back from its hook and cannot have the lock. A
 * closer sets CLOSING first, from which nobody leaves, so that the loss is counted once.
 */
#ifndef WR_WAIT_GATE_H
#define WR_WAIT_GATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/atomic.h"
#include "base/compiler.h"

struct wr_gate_strategy;

/* A free unit, or one that was just granted. */
struct wr_unit {
    struct wr_unit *next;
};

enum wr_waiter_word {
    WR_WAITER_AWAKE,
    WR_WAITER_ASLEEP,
    WR_WAITER_GRANTED,
    WR_WAITER_CLOSING, /* ABORTED follows */
    WR_WAITER_ABORTED,
    WR_WAITER_LEFT, /* its thread has gone; it may still be in the queue */
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
    struct wr_waiter *next, *previous; /* LOCK(gate): the queue */
    struct wr_unit *units;             /* LOCK(gate) while it waits or is outside, else its
                                        * thread's (GRANT) */
    uint32_t unit_count;               /* of them */
    uint32_t needed;                   /* units; the record that waits is that large */
    bool is_queued;                    /* LOCK(gate) */
    bool is_running;                   /* LOCK(gate): holds a grant, and is not known to rest */
    bool is_signaled;                  /* LOCK(gate): FIFO: the head has been told to try */
    bool has_taken;         /* its own: FIFO, AUTO_RESET: it has what it needs, by itself */
    bool has_quit;          /* its own: it took itself out of the queue */
    bool is_outside;        /* LOCK(gate): in the list of those, not in the queue */
    bool is_swept;          /* LOCK(gate): it was outside at the last sweep, too */
    bool may_spin;          /* it was the head when it parked, and nobody ran */
    uint64_t queue_number;  /* its place among all waits of the gate, from 1 */
    uint64_t grant_number;  /* likewise among the grants to waiters; 0: none yet */
    uint64_t parked_at_ns;  /* monotonic */
    uint64_t parked_ns;     /* of the last wait, when it is over */
    uint64_t granted_at_ns; /* RELAY; before GRANT */
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
    bool head_spins;     /* the head of the queue waits awake while nobody runs */
    bool blocks_signals; /* of a thread that waits, while it has the lock */

    WR_ALIGNED_LINE pthread_mutex_t lock;
    struct wr_unit *free;           /* LOCK: first in, first out, see unit_push() */
    struct wr_unit *free_last;      /* LOCK: if there is a free one */
    uint32_t free_count;            /* LOCK: listed, or not yet cut from the area */
    uint32_t carved;                /* LOCK: units that have been in use, from the first on */
    struct wr_waiter *head, *tail;  /* LOCK: who waits, oldest first */
    struct wr_waiter *outside;      /* LOCK: granted, and in the host's hook: youngest first */
    uint32_t waiting;               /* LOCK */
    uint32_t large;                 /* LOCK: of them, those that need more than one unit */
    uint32_t running;               /* LOCK: see wr_waiter.is_running */
    uint32_t grant_units;           /* LOCK: what a grant gives at most */
    bool is_closing;                /* LOCK: everybody is sent away */
    uint64_t queue_numbers;         /* LOCK: waits so far */
    uint64_t grant_numbers;         /* LOCK: grants to waiters so far */
    uint64_t grants, granted_units; /* LOCK: to all */
    struct wr_u32 left; /* ANY: waiters have LEFT since the queue was last cleared of them */
    struct wr_u64 parked_ns, parked_ns_max, wakes; /* ANY: figures */
    struct wr_u64 away_since_ns; /* ANY: the drain is in the sink, a hint; 0: it is not */
    struct wr_u64 hand_off_ns;   /* ANY: from a grant to its thread's running; a mean, a hint */
    uint64_t drained_bytes, drained_ns; /* DRAIN: since the grant size was last thought over */
    uint64_t grant_bytes;               /* DRAIN: the grant size found; a mean */

    WR_ALIGNED_LINE struct wr_u32 parked; /* edge UNPARK; the high bit: somebody waits for 0 */
    struct wr_u32 event;                  /* AUTO_RESET's: enum wr_gate_event */
};

enum wr_asked {
    WR_ASKED_GRANTED, /* waiter->units has what was needed, or more */
    WR_ASKED_FULL,    /* nothing free, and the caller may not wait */
    WR_ASKED_LATE,    /* the lock could not be had in time */
    WR_ASKED_PARKED,  /* in the queue: to be followed by wr_gate_wait() */
    WR_ASKED_ABORTED, /* the gate is closed */
};

enum wr_waited {
    WR_WAITED_GRANTED,
    WR_WAITED_ABORTED, /* whoever closed the gate has been told of this waiter */
    WR_WAITED_DEADLINE,
};

enum wr_stepped {
    WR_STEPPED_IN,     /* waiter->units has what was needed, or nothing: then it has to ask again */
    WR_STEPPED_AWAY,   /* the caller did not want it any more; its units are back */
    WR_STEPPED_CLOSED, /* whoever closed the gate has counted the loss */
    WR_STEPPED_LATE,   /* not within the limit: it has LEFT */
};

/* What the drain may do next. */
enum wr_gate_state {
    WR_GATE_QUIET,  /* nobody waits, or whoever may take what is free is on its way */
    WR_GATE_SERVED, /* somebody was granted something: there may be work soon */
    WR_GATE_STUCK,  /* somebody waits, and too little is free */
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

/* `limit_ns` says how long a call waits for the lock, which a thread that does not run may hold: 0:
 * it is only tried; UINT64_MAX: no limit. Who wants signals blocked meanwhile blocks them before
 * the call, but for wr_gate_wait(), which blocks them while it has the lock, if the gate says so.
 */

/* Units for one record: `needed` of them, which is at most half of all. Inside the caller's pin. A
 * caller with the limit 0 does not wait for units either: FULL, or PARKED otherwise. */
enum wr_asked wr_gate_ask(struct wr_gate *gate, struct wr_waiter *waiter, uint32_t needed,
                          uint64_t limit_ns);
/* Would a request for one unit be met at this moment? A hint; false while the lock is held. */
bool wr_gate_has_room(struct wr_gate *gate);
/* Sleeps, outside the pin, at most until `deadline_ns` (monotonic; UINT64_MAX: no deadline). Units
 * that were gathered before the wait was given up are back at the gate, or `waiter` has LEFT: then
 * the drain is to be rung, which sees to them. */
enum wr_waited wr_gate_wait(struct wr_gate *gate, struct wr_waiter *waiter, uint64_t deadline_ns);
/* Ends a wait out of which a signal handler has jumped, wherever that was. */
enum wr_waited wr_gate_cancel(struct wr_gate *gate, struct wr_waiter *waiter);
/* The wait is over, and its loss, if any, is counted. Nothing of the gate may be touched after. */
void wr_gate_unpark(struct wr_gate *gate);

/* After a grant and before wr_gate_unpark(): the thread goes into the host's hook. ABORTED: the
 * gate is closed, the units are back, and the loss is the caller's to count. DEADLINE: not within
 * the limit; the units are the caller's. */
enum wr_waited wr_gate_step_out(struct wr_gate *gate, struct wr_waiter *waiter, uint64_t limit_ns);
/* It is back, inside a pin that keeps the gate. If its units were taken back, it gets others at
 * once, before those who wait, as long as any are free or with threads that are still outside: it
 * was granted before them, and can use them now. */
enum wr_stepped wr_gate_step_in(struct wr_gate *gate, struct wr_waiter *waiter, bool is_wanted,
                                uint64_t limit_ns);

/* --- Whoever has units to give: the drain, an exiting thread. -------------------------------- */

/* Puts them, if any, on the free list and serves the queue in the same critical section. False: the
 * units are still the caller's. */
bool wr_gate_give(struct wr_gate *gate, struct wr_unit *units, uint64_t limit_ns);
/* The waiter's thread has nothing left, or rests: another one may run in its place. A hint, which
 * is dropped at the limit. */
void wr_gate_rest(struct wr_gate *gate, struct wr_waiter *waiter, uint64_t limit_ns);
/* After that, without a limit, for a thread that is gone: may its waiter be used for another one?
 * Not while a grant is on its way to it. */
bool wr_gate_is_done_with(const struct wr_waiter *waiter);

/* --- The drain. ------------------------------------------------------------------------------ */

/* The drain has nothing else to do: going idle beats the cap. */
enum wr_gate_state wr_gate_idle(struct wr_gate *gate);
/* A sweep, while others wait: takes back the units of threads that were outside at the last one,
 * too. True if there were any. */
bool wr_gate_sweep_outside(struct wr_gate *gate);
/* The drain has read so many bytes in so many nanoseconds: the grant size follows. */
void wr_gate_tune(struct wr_gate *gate, uint64_t bytes, uint64_t ns);
/* The drain goes into a call that may block, or is back: meanwhile it serves nobody. */
void wr_gate_drain_leaves(struct wr_gate *gate);
void wr_gate_drain_returns(struct wr_gate *gate);
/* What a grant gives at most, in units. */
uint32_t wr_gate_grant_units(const struct wr_gate *gate);
/* Is this the child of a fork in the middle of a wait, by a signal handler? Then nobody will ever
 * grant anything, and the lock may be held by a thread that does not exist here. */
bool wr_gate_is_inherited(const struct wr_gate *gate);
/* Does anybody wait? A hint. */
static inline bool wr_gate_has_parked(const struct wr_gate *gate)
{
    return wr_u32_load_relaxed(&gate->parked) != 0; /* relaxed: a hint */
}

/* --- The end. -------------------------------------------------------------------------------- */

/* From here on wr_gate_ask() returns ABORTED. Calls `lose` for each waiter that is outside, under
 * the lock. `waiters` receives those that wait and will not leave by themselves, linked by `next`,
 * each to be given its loss and then to wr_gate_abort(). False: nothing has changed. */
bool wr_gate_close(struct wr_gate *gate, uint64_t limit_ns, void (*lose)(struct wr_waiter *waiter),
                   struct wr_waiter **waiters);
void wr_gate_abort(struct wr_gate *gate, struct wr_waiter *waiter);
/* Waits until no thread is parked; false if the deadline (monotonic) passed. */
bool wr_gate_wait_unparked(struct wr_gate *gate, uint64_t deadline_ns);

bool wr_gate_figures(struct wr_gate *gate, struct wr_gate_figures *figures, uint64_t limit_ns);

#endif
