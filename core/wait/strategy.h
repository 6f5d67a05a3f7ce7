/*
 * The interface of a wake strategy, and what all strategies share; strategies.h lists them. For
 * core/wait/ only.
 */
#ifndef WR_WAIT_STRATEGY_H
#define WR_WAIT_STRATEGY_H

#include "wait/ablation.h"
#include "wait/gate.h"
#include "wait/strategies.h"

/* What to wake once the lock is released. */
struct wr_wakes {
    struct wr_waiter *first, *last; /* granted waiters, out of the queue, linked by `next` */
    struct wr_u32 *word; /* of the head, which stays in the queue; it is changed already */
    bool set_event;      /* AUTO_RESET's */
    bool is_served;      /* a waiter was granted or signaled */
};

enum wr_serve {
    WR_SERVE_GIVE, /* units came back */
    WR_SERVE_PARK, /* a thread has queued, and no longer runs */
    WR_SERVE_IDLE, /* the drain has nothing else to do */
};

struct wr_gate_strategy {
    /* Nobody takes what is free while somebody waits; otherwise only while a record waits that
     * needs several units. */
    bool queues_all;
    /* GRANTED in a waiter's word says only that a try is worth while. */
    bool grants_tries;
    /* Threads sleep on the gate's event, which is closed with the gate. */
    bool has_event;
    /* The head of the queue waits awake while nobody runs. */
    bool spins;
    /* Units in a grant, unless the thread needs more. LOCK, or the drain. */
    uint32_t (*grant_units)(const struct wr_gate *gate);
    /* May a thread that has used its grant take more, although others wait? NULL: never. LOCK. */
    bool (*keeps_turn)(const struct wr_gate *gate, const struct wr_waiter *waiter);
    /* Serves waiters with what is free. LOCK. */
    void (*serve)(struct wr_gate *gate, enum wr_serve why, struct wr_wakes *wakes);
    /* Sleeps until the waiter has what it needs, or is aborted. DEADLINE: the waiter may still be
     * in the queue. */
    enum wr_waited (*sleep)(struct wr_gate *gate, struct wr_waiter *waiter, uint64_t deadline_ns);
};

#define WR_GATE_EXTERN_(name, table, word, is_ordered) \
    extern const struct wr_gate_strategy wr_gate_##table;
WR_WAKE_STRATEGIES(WR_GATE_EXTERN_)

/* All LOCK. */
void wr_gate_unlink(struct wr_gate *gate, struct wr_waiter *waiter);
/* Frees the waiter's units; the caller serves the queue. */
void wr_gate_units_leave(struct wr_gate *gate, struct wr_waiter *waiter);
/* Takes the waiter out of the queue and frees the units that it has gathered. */
void wr_gate_remove(struct wr_gate *gate, struct wr_waiter *waiter);
/* Removes the waiters that have LEFT, then serves the queue. */
void wr_gate_serve(struct wr_gate *gate, enum wr_serve why, struct wr_wakes *wakes);
/* Moves up to `count` free units to the waiter. */
void wr_gate_take(struct wr_gate *gate, struct wr_waiter *waiter, uint32_t count);
/* The waiter has what it needs: takes it out of the queue, counts the grant, marks it running. */
void wr_gate_grant(struct wr_gate *gate, struct wr_waiter *waiter);
/* The waiter's thread has a grant, and runs. */
static inline void wr_gate_run(struct wr_gate *gate, struct wr_waiter *waiter)
{
    gate->running += waiter->running_since != gate->epoch;
    waiter->running_since = gate->epoch;
}
/* It no longer runs; another may run in its place. */
static inline void wr_gate_rest_locked(struct wr_gate *gate, struct wr_waiter *waiter)
{
    gate->running -= waiter->running_since == gate->epoch;
    waiter->running_since = 0;
}
/* No thread runs. `epoch` wraps after 2^32 of these, with a grant before each; by then a sweep has put
 * the waiters of old epochs to rest one by one. */
static inline void wr_gate_all_rest(struct wr_gate *gate)
{
    gate->epoch += gate->running > 0;
    gate->running = 0;
}
/* Adds a granted waiter to those to wake. */
void wr_gate_wake_later(struct wr_wakes *wakes, struct wr_waiter *waiter);

/* The list of waiters that are outside (outside.c). The first function removes those that have
 * LEFT; the second closes the list, see wr_gate_close(). */
void wr_outside_clear_left(struct wr_gate *gate);
void wr_outside_close(struct wr_gate *gate, void (*lose)(struct wr_waiter *waiter));

/* Edge LEAVE. For the waiter's own thread, without the lock: changes the word from `*word` to LEFT.
 * False: the word is another one by now, and `*word` receives it. */
bool wr_waiter_leave(struct wr_gate *gate, struct wr_waiter *waiter, uint32_t *word);
bool wr_waiter_has_left(const struct wr_waiter *waiter);
/* For a waiter that has LEFT and is in no list any more: its thread may use it again from here on,
 * and does not ask before. */
void wr_waiter_release(struct wr_waiter *waiter);
/* For the closer of the gate, which has taken the waiter out of its list. True: the word is
 * CLOSING, and the closer counts the loss. False: the thread has LEFT, and counts it. */
bool wr_waiter_stay(struct wr_waiter *waiter);

/* For a waiting thread, outside its pin: takes the lock, with signals blocked if the gate says so,
 * so that no handler suspends the thread with the lock. False: there was no lock until
 * `deadline_ns`. */
bool wr_gate_enter(struct wr_gate *gate, uint64_t deadline_ns, uint64_t *signals);
/* Releases the lock, wakes, and restores signals. */
void wr_gate_leave(struct wr_gate *gate, const struct wr_wakes *wakes, uint64_t signals);

/* Called without the lock. */
void wr_gate_wake_all(struct wr_gate *gate, const struct wr_wakes *wakes);
/* Sleeps on the waiter's own word. */
enum wr_waited wr_waiter_sleep(struct wr_gate *gate, struct wr_waiter *waiter,
                               uint64_t deadline_ns);
/* Changes the word, wakes the thread if it sleeps, and returns the previous word. */
enum wr_waiter_word wr_waiter_set(struct wr_waiter *waiter, enum wr_waiter_word word);

#endif
