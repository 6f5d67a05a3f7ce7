#include "machine.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include "kernel.h"
#include "timing.h"

#define CHUNKS      15u
#define CHUNK_STEPS UINT64_C(12000) /* 15 us in a core of one's own */
#define BATCHES     8u
#define BATCH_TRIPS 32u
#define SPINS_MAX   UINT32_C(50000000) /* 50 ms: the partner does not get its processor */

struct partner {
    _Alignas(128) _Atomic bool has_ball;
    /* Not a third value of `has_ball`: the partner could overwrite it when the ball is given up. */
    _Alignas(128) _Atomic bool is_over;
    double step_ns;
};

static int by_size(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

/* Wall time, and the median of short chunks: a chunk during which another program ran does not
 * count, nor does what the system makes of processor time in a guest. */
static double step_ns(void)
{
    double chunks[CHUNKS];
    for (uint32_t i = 0; i < CHUNKS; i++) {
        double start_s = bench_now_s(CLOCK_MONOTONIC);
        bench_issue(CHUNK_STEPS);
        chunks[i] = (bench_now_s(CLOCK_MONOTONIC) - start_s) * 1e9 / (double)CHUNK_STEPS;
    }
    qsort(chunks, CHUNKS, sizeof *chunks, by_size);
    return chunks[CHUNKS / 2];
}

static void *play(void *argument)
{
    struct partner *partner = argument;
    partner->step_ns = step_ns();
    while (!atomic_load_explicit(&partner->is_over, memory_order_relaxed))
        if (atomic_load_explicit(&partner->has_ball, memory_order_acquire))
            atomic_store_explicit(&partner->has_ball, false, memory_order_release);
    return NULL;
}

/* False once the spins are used up. */
static bool trip(struct partner *partner, uint32_t *spins)
{
    atomic_store_explicit(&partner->has_ball, true, memory_order_release);
    while (atomic_load_explicit(&partner->has_ball, memory_order_acquire))
        if (++*spins > SPINS_MAX)
            return false;
    return true;
}

/* The least of the batches: a thread that is preempted says nothing about the distance. The first
 * trip waits until the partner plays. */
static double trip_ns(struct partner *partner)
{
    uint32_t spins = 0;
    bool is_back = trip(partner, &spins);
    double least_s = INFINITY;
    for (uint32_t i = 0; i < BATCHES && is_back; i++) {
        double start_s = bench_now_s(CLOCK_MONOTONIC);
        for (uint32_t j = 0; j < BATCH_TRIPS && is_back; j++)
            is_back = trip(partner, &spins);
        if (is_back)
            least_s = fmin(least_s, bench_now_s(CLOCK_MONOTONIC) - start_s);
    }
    return isinf(least_s) ? NAN : least_s * 1e9 / BATCH_TRIPS;
}

struct bench_machine bench_machine_take(bool is_parallel)
{
    struct partner partner = {0};
    pthread_t thread;
    bool has_partner = is_parallel && bench_start_beside(&thread, play, &partner);
    struct bench_machine machine = {.step_ns = step_ns(), .trip_ns = NAN};
    if (has_partner) {
        machine.trip_ns = trip_ns(&partner);
        atomic_store_explicit(&partner.is_over, true, memory_order_relaxed);
        pthread_join(thread, NULL);
        machine.step_ns = fmax(machine.step_ns, partner.step_ns);
    }
    if (is_parallel)
        bench_bind(-1);
    return machine;
}
