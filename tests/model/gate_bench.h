/*
 * Shared by the gate's models: a BLOCK session with a few small segments, threads that ask for them
 * through buffers/mode_block.c, and a drain that gives segments and serves waiters.
 *
 * At first the drain holds all segments; a model decides which of them it gives. A segment is free,
 * listed for a waiter, or held by one owner, which writes to it: two owners race.
 */
#ifndef MODEL_GATE_BENCH_H
#define MODEL_GATE_BENCH_H

#include "product.h"
#include "buffers/place.h"

#define GATE_SEGMENTS 8 /* three quarters are 6: so few free segments do not lift the cap */
#define GATE_THREADS  3
/* How long a host's hook takes: longer than any deadline. */
#define GATE_HOOK_NS (UINT64_C(1) << 40)

enum { DRAIN = 2 };

/* A thread that asks for segments. */
struct asker {
    struct wr_place *place;
    struct wr_segment *held; /* linked by `older` */
    uint32_t got;            /* segments, ever */
    uint32_t attempts, served;
    uint64_t spent_ns; /* of the attempt: time in waits, without the hooks */
};

struct gate_bench {
    struct wr_buffers *buffers;
    struct wr_segment *segment[GATE_SEGMENTS];
    struct asker asker[GATE_THREADS];
    struct wr_segment *drain_held;
    struct wr_u32 *served; /* by thread, for models that wait for it */
    uint32_t askers;
    void (*before)(void); /* the host's hooks; NULL: none */
    void (*after)(void);
    bool is_wanted; /* constant per execution: is the session's bit in the mask after a wait? */
};

extern struct gate_bench gate_bench;

/* Call in setup(). `grant` is in segments. */
void gate_prepare(enum weir_wake wake, uint32_t flags, uint32_t grant, uint32_t askers);
/* Call in setup(): the drain sleeps until the bell is rung. */
void gate_bell(void);
/* Call in setup(): the thread holds a segment already. */
void gate_hold(uint32_t thread);

/* Call in setup(): sets the hooks for threads that call gate_get_hooked(). */
void gate_hooks(void (*before)(void), void (*after)(void));

/* One attempt of the calling thread, which needs `count` segments; true if it got them. */
bool gate_get(uint32_t count);
/* The same in a no-block scope. */
bool gate_try(void);
/* The same between the host's hooks. Only for models that free nothing. */
bool gate_get_hooked(uint32_t count);
/* Gives back what the calling thread holds, as the drain would once it has read it. */
void gate_return(void);
/* Makes the calling thread's lane exit. */
void gate_exit(void);
/* Tells the drain that the calling thread needs nothing more. */
void gate_done(void);

/* Drain: gives `count` segments at once. */
void gate_give(uint32_t count);
/* Drain: runs attend() of drain_thread.c until all other threads are done. */
void gate_attend(void);
/* Drain: sweeps twice, so that threads in hooks give back what they were granted. */
void gate_sweep(void);
/* Drain: takes back all unused grants. */
void gate_revoke(void);

/* Closer: aborts all waits, and waits until the threads have left. */
void gate_abort(void);
void gate_wait_unparked(void);

/* Call in finish(). Every segment is accounted for, no thread counts as parked, each attempt is
 * served or lost. */
void gate_check(void);

#endif
