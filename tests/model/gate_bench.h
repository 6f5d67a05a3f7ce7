/*
 * What the gate's models share: a BLOCK session with a few small segments, threads that ask for
 * them through buffers/mode_block.c, and a drain that gives and sees to those who wait.
 *
 * All segments are the drain's at first; what is given is what a model says. Each is free, listed
 * for a waiter, or in one hand, whose owner writes to it: two owners race.
 */
#ifndef MODEL_GATE_BENCH_H
#define MODEL_GATE_BENCH_H

#include "product.h"
#include "buffers/place.h"

#define GATE_SEGMENTS 8 /* a quarter is 2: so many free ones do not beat the cap */
#define GATE_THREADS  3
/* What a hook of the host takes: longer than any deadline. */
#define GATE_HOOK_NS (UINT64_C(1) << 40)

enum { DRAIN = 2 };

/* A thread that asks. */
struct asker {
    struct wr_place *place;
    struct wr_segment *held; /* linked by `older` */
    uint32_t got;            /* segments, ever */
    uint32_t attempts, served;
    uint64_t spent_ns; /* of the attempt: in waits, without the hooks */
};

struct gate_bench {
    struct wr_buffers *buffers;
    struct wr_segment *segment[GATE_SEGMENTS];
    struct asker asker[GATE_THREADS];
    struct wr_segment *drain_held;
    struct wr_u32 *served; /* by thread, for models that wait for it */
    uint32_t askers;
    void (*before)(void); /* the host's hooks; NULL: there are none */
    void (*after)(void);
    bool is_wanted; /* constant in an execution: what a thread finds in the mask when it is back */
};

extern struct gate_bench gate_bench;

/* In setup(): `grant` in segments. */
void gate_prepare(enum weir_wake wake, uint32_t flags, uint32_t grant, uint32_t askers);
/* In setup(): the drain sleeps until it is rung. */
void gate_bell(void);
/* In setup(): the thread has a segment already. */
void gate_hold(uint32_t thread);

/* In setup(): the hooks of the threads that call gate_get_hooked(). */
void gate_hooks(void (*before)(void), void (*after)(void));

/* One attempt of the calling thread that needs `count` segments; true if it got them. */
bool gate_get(uint32_t count);
/* The same in a no-block scope. */
bool gate_try(void);
/* The same between the host's hooks. Only for models that free nothing. */
bool gate_get_hooked(uint32_t count);
/* Gives back what the calling thread holds, as the drain would once it has read it. */
void gate_return(void);
/* The calling thread's lane exits. */
void gate_exit(void);
/* The calling thread wants nothing more, and the drain is told. */
void gate_done(void);

/* Drain: gives `count` segments at once. */
void gate_give(uint32_t count);
/* Drain: attend() of drain_thread.c until all others are done. */
void gate_attend(void);
/* Drain: two sweeps: threads in hooks give back what they have. */
void gate_sweep(void);
/* Drain: takes back all unused grants. */
void gate_revoke(void);

/* Closer: sends all away, and waits until they have left. */
void gate_abort(void);
void gate_wait_unparked(void);

/* finish(): every segment is somewhere, nobody is counted as parked, each attempt is served or
 * lost. */
void gate_check(void);

#endif
