#include "brim_crowd.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "brim_order.h"
#include "harness.h"

#define NS_PER_S     UINT64_C(1000000000)
#define BATCH_EVENTS 256u
#define BATCH_BYTES  65536u
#define WORK_STEPS   UINT64_C(1000000) /* measured: a millisecond or less */
#define WORK_ROUNDS  5
#define REST_NS_MAX  UINT64_C(20000000) /* longest rest before it checks whether it must end */

static __thread struct brim_producer *self;

/* --- Emitting. ------------------------------------------------------------------------------- */

static bool must_end(const struct brim_crowd *crowd)
{
    return __atomic_load_n(&crowd->must_end, __ATOMIC_RELAXED) != 0;
}

static void rest_until(struct brim_producer *producer, uint64_t due_ns)
{
    uint64_t now = hs_now_ns();
    if (due_ns <= now)
        return;
    uint64_t left = due_ns - now;
    __atomic_store_n(&producer->is_resting, 1, __ATOMIC_RELAXED);
    hs_sleep_us((left < REST_NS_MAX ? left : REST_NS_MAX) / 1000 + 1);
    __atomic_store_n(&producer->is_resting, 0, __ATOMIC_RELAXED);
}

/* How many events are due by now; if there is no new one, `next_ns` is when the next is due. A
 * thread that was held up catches up: the clock sets the load, not the session. */
static uint64_t due(const struct brim_crowd *crowd, uint64_t done, uint64_t *next_ns)
{
    uint64_t rate = crowd->options->rate, elapsed = hs_now_ns() - crowd->start_ns;
    uint64_t second = elapsed / NS_PER_S, rest_ns = elapsed % NS_PER_S;
    if (crowd->options->pattern == BRIM_BOLUS) {
        *next_ns = crowd->start_ns + (second + 1) * NS_PER_S;
        return (second + 1) * rate;
    }
    *next_ns = crowd->start_ns + (done + 1) / rate * NS_PER_S + (done + 1) % rate * NS_PER_S / rate;
    return second * rate + rest_ns * rate / NS_PER_S;
}

static uint64_t batch_next(struct brim_producer *producer)
{
    const struct brim_crowd *crowd = producer->crowd;
    uint64_t done = producer->emitter.counter, next_ns = 0;
    uint64_t left = crowd->options->events ? crowd->options->events - done : UINT64_MAX;
    if (crowd->options->pattern != BRIM_FLAT_OUT) {
        uint64_t now_due = due(crowd, done, &next_ns);
        if (now_due <= done)
            rest_until(producer, next_ns);
        left = now_due > done && now_due - done < left ? now_due - done : left;
        if (now_due <= done)
            return 0;
    }
    return left < crowd->batch ? left : crowd->batch;
}

/* A loop that looked at a clock would take time off for being preempted. */
static void work(uint64_t steps)
{
    for (; steps > 0; steps--)
        __asm__ volatile("" : "+r"(steps));
}

/* By the fastest of a few rounds, since others can only slow them down. */
static uint64_t work_steps_of(uint64_t work_ns)
{
    uint64_t least_ns = UINT64_MAX;
    for (unsigned round = 0; round < WORK_ROUNDS; round++) {
        uint64_t start = hs_thread_cpu_ns();
        work(WORK_STEPS);
        uint64_t ns = hs_thread_cpu_ns() - start;
        least_ns = ns < least_ns ? ns : least_ns;
    }
    return work_ns * WORK_STEPS / (least_ns ? least_ns : 1) + 1;
}

static void step(struct brim_producer *producer)
{
    uint64_t count = batch_next(producer);
    brim_emit(&producer->emitter, count);
    work(count ? producer->crowd->work_steps : 0);
}

static void emit_all(struct brim_producer *producer)
{
    const struct brim_crowd *crowd = producer->crowd;
    uint64_t events = crowd->options->events;
    while (!must_end(crowd) && (!events || producer->emitter.counter < events))
        step(producer);
    brim_emitter_end(&producer->emitter);
}

/* --- Threads. -------------------------------------------------------------------------------- */

static void stand_ready(struct brim_crowd *crowd)
{
    pthread_mutex_lock(&crowd->lock);
    crowd->ready++;
    pthread_cond_broadcast(&crowd->changed);
    while (!crowd->may_go)
        pthread_cond_wait(&crowd->changed, &crowd->lock);
    pthread_mutex_unlock(&crowd->lock);
}

static void stay(struct brim_crowd *crowd)
{
    pthread_mutex_lock(&crowd->lock);
    crowd->ended++;
    pthread_cond_broadcast(&crowd->changed);
    while (!crowd->may_leave)
        pthread_cond_wait(&crowd->changed, &crowd->lock);
    pthread_mutex_unlock(&crowd->lock);
}

static void *produce(void *argument)
{
    struct brim_producer *producer = argument;
    self = producer;
    producer->thread_id = (uint64_t)gettid();
    stand_ready(producer->crowd);
    emit_all(producer);
    __atomic_store_n(&producer->has_ended, 1, __ATOMIC_RELAXED);
    stay(producer->crowd);
    return NULL;
}

void brim_crowd_on_park(void *unused, const struct weir_park *park)
{
    (void)unused;
    histogram_add(self->waits, park->parked_ns);
    if (self->crowd->order)
        brim_order_note(self->crowd->order, park->queue_number, park->grant_number);
}

/* malloc() aligns to less than the two cache lines that keep producers apart. */
static struct brim_producer *producers_new(uint32_t count)
{
    size_t bytes = count * sizeof(struct brim_producer);
    struct brim_producer *producers = aligned_alloc(_Alignof(struct brim_producer), bytes);
    return producers ? memset(producers, 0, bytes) : NULL;
}

static void wait_until_ready(struct brim_crowd *crowd)
{
    pthread_mutex_lock(&crowd->lock);
    while (crowd->ready < crowd->count)
        pthread_cond_wait(&crowd->changed, &crowd->lock);
    pthread_mutex_unlock(&crowd->lock);
}

static void sync_init(struct brim_crowd *crowd)
{
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&crowd->changed, &clock);
    pthread_condattr_destroy(&clock);
    pthread_mutex_init(&crowd->lock, NULL);
}

static bool producer_start(struct brim_crowd *crowd, uint32_t index, struct weir_event *event,
                           uint64_t seed)
{
    struct brim_producer *producer = &crowd->producers[index];
    producer->crowd = crowd;
    producer->is_resting = 1; /* until it may start */
    producer->waits = histogram_new();
    producer->emitter.event = event;
    producer->emitter.index = index;
    producer->emitter.payload_bytes = (uint32_t)crowd->options->payload_bytes;
    producer->emitter.seed = seed;
    return producer->waits && pthread_create(&producer->thread, NULL, produce, producer) == 0;
}

/* `count` counts the threads that run, so that they can be dismissed if another cannot be
 * started. */
static bool producers_start(struct brim_crowd *crowd, struct weir_event *event, uint64_t seed)
{
    uint32_t wanted = (uint32_t)crowd->options->threads;
    while (crowd->count < wanted && producer_start(crowd, crowd->count, event, seed))
        crowd->count++;
    wait_until_ready(crowd);
    if (crowd->count == wanted)
        return true;
    free(crowd->producers[crowd->count].waits);
    brim_crowd_dismiss(crowd);
    return false;
}

struct brim_crowd *brim_crowd_new(const struct brim_options *options, struct weir_event *event,
                                  uint64_t seed, struct brim_order *order)
{
    struct brim_crowd *crowd = hs_try_allocate(sizeof *crowd);
    if (!crowd)
        return NULL;
    sync_init(crowd);
    crowd->options = options;
    crowd->order = order;
    crowd->work_steps = options->work_ns ? work_steps_of(options->work_ns) : 0;
    crowd->batch = BATCH_BYTES / brim_record_bytes(options->payload_bytes) + 1;
    if (crowd->batch > BATCH_EVENTS)
        crowd->batch = BATCH_EVENTS;
    if (crowd->work_steps)
        crowd->batch = 1;
    crowd->producers = producers_new((uint32_t)options->threads);
    if (crowd->producers && producers_start(crowd, event, seed))
        return crowd;
    brim_crowd_free(crowd);
    return NULL;
}

void brim_crowd_dismiss(struct brim_crowd *crowd)
{
    brim_crowd_end(crowd);
    brim_crowd_go(crowd);
    brim_crowd_release(crowd);
}

void brim_crowd_go(struct brim_crowd *crowd)
{
    pthread_mutex_lock(&crowd->lock);
    crowd->start_ns = hs_now_ns();
    for (uint32_t i = 0; i < crowd->count; i++)
        __atomic_store_n(&crowd->producers[i].is_resting, 0, __ATOMIC_RELAXED);
    crowd->may_go = true;
    pthread_cond_broadcast(&crowd->changed);
    pthread_mutex_unlock(&crowd->lock);
}

void brim_crowd_end(struct brim_crowd *crowd)
{
    __atomic_store_n(&crowd->must_end, 1, __ATOMIC_RELAXED);
}

bool brim_crowd_wait(struct brim_crowd *crowd, uint64_t ns)
{
    uint64_t end_ns = hs_now_ns() + ns;
    struct timespec end = {.tv_sec = (time_t)(end_ns / NS_PER_S),
                           .tv_nsec = (long)(end_ns % NS_PER_S)};
    int error = 0;
    pthread_mutex_lock(&crowd->lock);
    while (crowd->ended < crowd->count && !error)
        error = pthread_cond_timedwait(&crowd->changed, &crowd->lock, &end);
    bool have_ended = crowd->ended == crowd->count;
    pthread_mutex_unlock(&crowd->lock);
    return have_ended;
}

void brim_crowd_release(struct brim_crowd *crowd)
{
    pthread_mutex_lock(&crowd->lock);
    crowd->may_leave = true;
    pthread_cond_broadcast(&crowd->changed);
    pthread_mutex_unlock(&crowd->lock);
    for (uint32_t i = 0; i < crowd->count; i++)
        hs_thread_join(crowd->producers[i].thread);
}

void brim_crowd_free(struct brim_crowd *crowd)
{
    for (uint32_t i = 0; i < crowd->count; i++)
        free(crowd->producers[i].waits);
    free(crowd->producers);
    pthread_cond_destroy(&crowd->changed);
    pthread_mutex_destroy(&crowd->lock);
    free(crowd);
}

void brim_crowd_waits(const struct brim_crowd *crowd, struct histogram *all)
{
    for (uint32_t i = 0; i < crowd->count; i++)
        histogram_merge(all, crowd->producers[i].waits);
}
