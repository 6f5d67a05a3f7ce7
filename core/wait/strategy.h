/*
 * What a wake strategy is, and what the three have in common. For core/wait/ only.
 */
#ifndef WR_WAIT_STRATEGY_H
#define WR_WAIT_STRATEGY_H

#include "wait/ablation.h"
#include "wait/gate.h"

/* Waiters to be woken once the lock is free, linked by `next`; they are out of the queue. */
struct wr_wakes {
    struct wr_waiter *first, *last;
    struct wr_u32 *word; /* of the head, which stays in the queue; it is changed already */
    bool set_event;      /* AUTO_RESET's */
    bool is_served;      /* somebody was given something */
};

enum wr_serve {
    WR_SERVE_GIVE, /* units came back */
    WR_SERVE_PARK, /* a thread has queued, and no longer runs */
    WR_SERVE_IDLE, /* the drain has nothing else to do */
};

struct wr_gate_strategy {
    /* What a thread takes that finds nobody waiting, beyond what it needs. LOCK. */
    uint32_t (*grant_units)(const struct wr_gate *gate);
    /* Serves waiters with what is free. LOCK. */
    void (*serve)(struct wr_gate *gate, enum wr_serve why, struct wr_wakes *wakes);
    /* Sleeps until the waiter has what it needs or is aborted. DEADLINE: it may still be in the
     * queue. */
    enum wr_waited (*sleep)(struct wr_gate *gate, struct wr_waiter *waiter, uint64_t deadline_ns);
};

extern const struct wr_gate_strategy wr_gate_auto_reset, wr_gate_fifo, wr_gate_relay;

/* All LOCK. */
void wr_gate_unlink(struct wr_gate *gate, struct wr_waiter *waiter);
/* What the waiter has goes to the others; the caller serves them. */
void wr_gate_units_leave(struct wr_gate *gate, struct wr_waiter *waiter);
/* It runs no more: another one may, in its place. */
void wr_gate_rest_locked(struct wr_gate *gate, struct wr_waiter *waiter);
/* Unlinks it: what it was offered, or had gathered, is free for others. */
void wr_gate_remove(struct wr_gate *gate, struct wr_waiter *waiter);
/* Serves the queue, without those that have LEFT. */
void wr_gate_serve(struct wr_gate *gate, enum wr_serve why, struct wr_wakes *wakes);
/* Moves up to `count` free units to the waiter. */
void wr_gate_take(struct wr_gate *gate, struct wr_waiter *waiter, uint32_t count);
/* The waiter has what it needs: out of the queue, counted, running. */
void wr_gate_grant(struct wr_gate *gate, struct wr_waiter *waiter);
/* And it is to be told. */
void wr_gate_wake_later(struct wr_wakes *wakes, struct wr_waiter *waiter);

/* The list of those that are outside (outside.c): takes those out that have left meanwhile; closes
 * it, see wr_gate_close(). */
void wr_outside_clear_left(struct wr_gate *gate);
void wr_outside_close(struct wr_gate *gate, void (*lose)(struct wr_waiter *waiter));

/* Edge LEAVE. Its own thread, without the lock: from this word; false: it is another one by now. */
bool wr_waiter_leave(struct wr_gate *gate, struct wr_waiter *waiter, uint32_t *word);
bool wr_waiter_has_left(const struct wr_waiter *waiter);
/* Of one that has left, and is in no list any more: from here on it is its thread's, which waits
 * for that before it asks. */
void wr_waiter_release(struct wr_waiter *waiter);
/* Whoever closes the gate counts the loss of a waiter, which is out of its list: not if its thread
 * has left, and counts it. */
bool wr_waiter_stay(struct wr_waiter *waiter);

/* For a thread that waits, outside its pin: takes the lock with signals blocked, so that no handler
 * suspends the thread with it. False: not until `deadline_ns`. */
bool wr_gate_enter(struct wr_gate *gate, uint64_t deadline_ns, uint64_t *signals);
/* Opens it, wakes, and lets signals in. */
void wr_gate_leave(struct wr_gate *gate, const struct wr_wakes *wakes, uint64_t signals);

/* Without the lock. */
void wr_gate_wake_all(struct wr_gate *gate, const struct wr_wakes *wakes);
/* Sleeps on the waiter's own word. */
enum wr_waited wr_waiter_sleep(struct wr_gate *gate, struct wr_waiter *waiter,
                               uint64_t deadline_ns);
/* Changes the word, and wakes the thread if it sleeps; what the word was. */
enum wr_waiter_word wr_waiter_set(struct wr_waiter *waiter, enum wr_waiter_word word);

#endif
