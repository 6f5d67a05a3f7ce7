#include "gate.h"

#include <string.h>
#include <time.h>

static uint64_t now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

void gate_init(struct gate *gate)
{
    memset(gate, 0, sizeof *gate);
    pthread_mutex_init(&gate->lock, NULL);
    pthread_cond_init(&gate->changed, NULL);
}

void gate_fini(struct gate *gate)
{
    pthread_cond_destroy(&gate->changed);
    pthread_mutex_destroy(&gate->lock);
}

static void gate_set(struct gate *gate, bool is_closed)
{
    pthread_mutex_lock(&gate->lock);
    gate->is_closed = is_closed;
    gate->wanted = 0;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

void gate_close(struct gate *gate)
{
    gate_set(gate, true);
}

void gate_open(struct gate *gate)
{
    gate_set(gate, false);
}

static void hold_locked(struct gate *gate)
{
    gate->span.wall_ns = now_ns(CLOCK_MONOTONIC) - gate->let_wall_ns;
    gate->span.cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - gate->let_cpu_ns;
    gate->is_held = true;
    pthread_cond_broadcast(&gate->changed);
    while (gate->is_held && gate->is_closed)
        pthread_cond_wait(&gate->changed, &gate->lock);
    gate->is_held = false;
    gate->let_wall_ns = now_ns(CLOCK_MONOTONIC);
    gate->let_cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
}

void gate_pass(struct gate *gate, uint64_t bytes)
{
    pthread_mutex_lock(&gate->lock);
    gate->span.bytes += bytes;
    if (gate->is_closed && gate->span.bytes >= gate->wanted)
        hold_locked(gate);
    pthread_mutex_unlock(&gate->lock);
}

static bool wait_locked(struct gate *gate, unsigned seconds)
{
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += seconds;
    int failure = 0;
    while (!gate->is_held && !failure)
        failure = pthread_cond_timedwait(&gate->changed, &gate->lock, &deadline);
    return gate->is_held;
}

bool gate_wait(struct gate *gate, unsigned seconds)
{
    pthread_mutex_lock(&gate->lock);
    bool is_held = wait_locked(gate, seconds);
    pthread_mutex_unlock(&gate->lock);
    return is_held;
}

bool gate_let(struct gate *gate, uint64_t bytes, unsigned seconds, struct gate_span *span)
{
    pthread_mutex_lock(&gate->lock);
    gate->wanted = bytes;
    gate->span.bytes = 0;
    gate->is_held = false;
    pthread_cond_broadcast(&gate->changed);
    bool is_held = wait_locked(gate, seconds);
    if (span)
        *span = gate->span;
    pthread_mutex_unlock(&gate->lock);
    return is_held;
}
