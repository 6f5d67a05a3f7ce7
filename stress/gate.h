/*
 * Holds the drain still: in the function of a session's sink, the drain thread passes a gate. While
 * the gate is closed the drain sleeps there, so that nothing is recycled, and it neither takes
 * processor time nor pulls cache lines from under the threads that emit.
 */
#ifndef STRESS_GATE_H
#define STRESS_GATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the drain did from when it was let go until it was held again. */
struct gate_span {
    uint64_t bytes;
    uint64_t wall_ns;
    uint64_t cpu_ns; /* of the drain thread */
};

struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* LOCK */
    bool is_closed;
    bool is_held;    /* the drain is inside */
    uint64_t wanted; /* bytes that pass a closed gate before the drain is held */
    struct gate_span span;
    uint64_t let_wall_ns, let_cpu_ns; /* when the drain was let go */
};

/* For a static one, which needs no init and no fini. */
#define GATE_INIT                                                              \
    {                                                                          \
        .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER \
    }

/* Open. */
void gate_init(struct gate *gate);
void gate_fini(struct gate *gate);
void gate_close(struct gate *gate);
void gate_open(struct gate *gate);

/* In the sink, on the drain thread: `bytes` came, and the drain waits if it is to be held. */
void gate_pass(struct gate *gate, uint64_t bytes);

/* Waits until the drain is held; false if that takes longer. */
bool gate_wait(struct gate *gate, unsigned seconds);
/* Lets the drain go from a closed gate until `bytes` have passed and it is held again; false if
 * that takes longer. `span` may be NULL. */
bool gate_let(struct gate *gate, uint64_t bytes, unsigned seconds, struct gate_span *span);

#ifdef __cplusplus
}
#endif
#endif
