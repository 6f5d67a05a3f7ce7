/*
 * Holds the drain still: the sink's function passes a gate on the drain thread. While the gate is
 * closed the drain sleeps there. Nothing is recycled, and the drain neither uses processor time nor
 * takes cache lines from the threads that emit.
 */
#ifndef STRESS_GATE_H
#define STRESS_GATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the drain did from its release until it was held again. */
struct gate_span {
    uint64_t bytes;
    uint64_t wall_ns;
    uint64_t cpu_ns; /* processor time of the drain thread */
};

struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* LOCK */
    bool is_closed;
    bool is_held;    /* the drain is inside */
    uint64_t wanted; /* bytes that pass a closed gate before the drain is held */
    struct gate_span span;
    uint64_t let_wall_ns, let_cpu_ns; /* when the drain was released */
};

/* For a static gate, which needs no init and no fini. */
#define GATE_INIT                                                              \
    {                                                                          \
        .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER \
    }

/* Open. */
void gate_init(struct gate *gate);
void gate_fini(struct gate *gate);
void gate_close(struct gate *gate);
void gate_open(struct gate *gate);

/* In the sink, on the drain thread: `bytes` arrived; waits while the drain is to be held. */
void gate_pass(struct gate *gate, uint64_t bytes);

/* Waits until the drain is held; false after `seconds`. */
bool gate_wait(struct gate *gate, unsigned seconds);
/* Releases the drain from a closed gate until `bytes` have passed and it is held again; false after
 * `seconds`. `span` may be NULL. */
bool gate_let(struct gate *gate, uint64_t bytes, unsigned seconds, struct gate_span *span);

#ifdef __cplusplus
}
#endif
#endif
