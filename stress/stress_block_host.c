/*
 * Hosts that a thread parked in BLOCK would hold up, with weir_park_hooks:
 *
 *  - one big lock: the emitting thread holds it, it passes from thread to thread, and the sink
 *    takes it. The same without hooks, with a deadline: no wait ends with a grant, because the
 *    waiting thread holds the lock that the sink needs;
 *  - a collector that waits until all threads are at a safe point; a wait between the hooks is one.
 *    It resumes only after a thread that it does not know has written twice the budget: room
 *    granted to the stopped threads must not stay with them.
 *
 * The hooks check that they are called in pairs, in the state in which the host was left.
 */
#include "emitter.h"
#include "harness.h"
#include "park.h"
#include "sink.h"

#define SEGMENT 4096u

static uint64_t events = 1000000, collections = 100;
static struct hs_trace trace;
static struct hs_sink_gate gate;

/* --- One big lock, handed over in the order of requests. ------------------------------------- */

static pthread_mutex_t big_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t big_changed = PTHREAD_COND_INITIALIZER;
static uint64_t big_next, big_served; /* LOCK(big_mutex): tickets */
static __thread bool has_big_lock;
static uint64_t big_calls; /* ANY: of the hooks */

static void big_take(void)
{
    pthread_mutex_lock(&big_mutex);
    for (uint64_t ticket = big_next++; big_served != ticket;)
        pthread_cond_wait(&big_changed, &big_mutex);
    pthread_mutex_unlock(&big_mutex);
    has_big_lock = true;
}

static void big_release(void)
{
    has_big_lock = false;
    pthread_mutex_lock(&big_mutex);
    big_served++;
    pthread_cond_broadcast(&big_changed);
    pthread_mutex_unlock(&big_mutex);
}

static void big_before(void *context)
{
    hs_check(context == &big_mutex, "the hooks got a wrong context");
    hs_check(has_big_lock, "a thread releases the lock, which it does not hold");
    __atomic_fetch_add(&big_calls, 1, __ATOMIC_RELAXED);
    big_release();
}

static void big_after(void *context)
{
    (void)context;
    hs_check(!has_big_lock, "a thread takes the lock back, which it already holds");
    big_take();
}

static bool is_over; /* ANY: no thread emits any more */

/* Every eighth call stands still until a thread waits for the lock. */
static bool big_write(void *context, const void *bytes, size_t count)
{
    static uint64_t writes;
    if (++writes % 8 == 0)
        while (hs_stats(trace.session).parked_now == 0 &&
               !__atomic_load_n(&is_over, __ATOMIC_ACQUIRE))
            hs_sleep_us(100);
    big_take();
    bool is_written = hs_gate_write(context, bytes, count);
    big_release();
    return is_written;
}

static void hooks_set(void (*before)(void *), void (*after)(void *))
{
    struct weir_park_hooks hooks = WEIR_PARK_HOOKS_INIT;
    hooks.before = before;
    hooks.after = after;
    hooks.context = &big_mutex;
    hs_check(weir_park_hooks_set(before ? &hooks : NULL) == WEIR_OK, "setting the hooks failed");
}

/* Emits under the lock, a random number of events in a row. */
static void *emit_locked(void *argument)
{
    struct hs_emitter *emitter = argument;
    uint64_t random = hs_random(7, emitter->index);
    while (emitter->attempts < emitter->capacity) {
        big_take();
        for (uint64_t i = hs_next(&random) % 256; i > 0; i--)
            hs_emit(emitter, i == 9 ? HS_BYTES : HS_FIXED);
        big_release();
    }
    return NULL;
}

/* Without a context, waits are served in the order of their arrival. */
static void on_park(void *context, const struct weir_park *park)
{
    hs_check(context != NULL || park->grant_number == park->queue_number,
             "wait %llu has grant %llu", (unsigned long long)park->queue_number,
             (unsigned long long)park->grant_number);
}

static bool start(enum weir_wake wake, uint64_t budget_bytes, weir_write write,
                  uint64_t max_block_ns)
{
    struct weir_session_config config = hs_block_config(wake, budget_bytes, SEGMENT);
    hs_gate_init(&gate, NULL);
    config.sink.write = write;
    config.sink.context = &gate;
    config.max_block_ns = max_block_ns;
    config.on_park = max_block_ns ? NULL : on_park;
    config.on_park_context = hs_wake_is_ordered(wake) ? NULL : &big_mutex;
    return hs_trace_start(&trace, config, HS_SINK_MEMORY, NULL);
}

static void end(struct hs_emitter *emitters, uint32_t count)
{
    hs_gate_finish(&gate, &trace);
    hs_oracle_run(emitters, count, &trace);
    hs_trace_end(&trace);
    hs_emitters_free(emitters, count);
    hs_progress();
}

/* The lock is also held during the start and the stop. */
static void lock_run(enum weir_wake wake)
{
    enum { THREADS = 8 };
    struct hs_emitter *emitters = hs_emitters_new(THREADS, events / THREADS);
    pthread_t handles[THREADS];
    uint64_t calls = big_calls;
    __atomic_store_n(&is_over, false, __ATOMIC_RELEASE);
    hooks_set(big_before, big_after);
    big_take();
    if (!start(wake, UINT64_C(1) << 20, big_write, 0))
        return;
    hs_check(big_calls <= calls + 1, "a start called the hooks %llu times",
             (unsigned long long)(big_calls - calls));
    big_release();
    for (uint32_t i = 0; i < THREADS; i++)
        hs_thread_start(&handles[i], emit_locked, &emitters[i]);
    for (uint32_t i = 0; i < THREADS; i++)
        hs_thread_join(handles[i]);
    __atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
    big_take();
    hs_trace_stop(&trace);
    big_release();
    hooks_set(NULL, NULL);
    hs_check(hs_lost(&trace.stats.counts) == 0, "%s: %llu events are lost", hs_wake_name(wake),
             (unsigned long long)hs_lost(&trace.stats.counts));
    uint64_t others = big_calls - calls - trace.stats.parks; /* of the stop, and of the start */
    hs_check(trace.stats.parks > 0 && (others == 1 || others == 2),
             "%s: %llu parks, %llu calls of the hooks", hs_wake_name(wake),
             (unsigned long long)trace.stats.parks, (unsigned long long)(big_calls - calls));
    hs_figure_add("parks_lock", (double)trace.stats.parks);
    end(emitters, THREADS);
}

/* --- Without hooks. -------------------------------------------------------------------------- */

/* The sink needs the lock that the only thread holds: once the budget is full, nothing comes back,
 * so the first wait is the last. */
static void lock_run_without_hooks(enum weir_wake wake)
{
    struct hs_emitter *emitters = hs_emitters_new(1, events);
    if (!start(wake, 16 * SEGMENT, big_write, 100000000))
        return;
    big_take();
    while (hs_emit(&emitters[0], HS_FIXED)) {
    }
    big_release();
    hs_trace_stop(&trace);
    hs_check(emitters[0].attempts < events, "the budget never filled up");
    hs_check(trace.stats.counts.lost[WEIR_LOSS_DEADLINE] == 1 && trace.stats.parks >= 1,
             "%s: %llu waits ended at their deadline", hs_wake_name(wake),
             (unsigned long long)trace.stats.counts.lost[WEIR_LOSS_DEADLINE]);
    end(emitters, 1);
}

/* --- A collector that stops the world. ------------------------------------------------------- */

static pthread_mutex_t world = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t world_changed = PTHREAD_COND_INITIALIZER;
static uint32_t world_moves;         /* LOCK(world): threads that are not at a safe point */
static bool world_is_stopped;        /* LOCK(world); ANY for polls */
static uint64_t parked_when_stopped; /* collections that found a thread in the hooks */
static uint32_t world_hooked;        /* LOCK(world): threads between the hooks */
static __thread bool is_mutator;

static void safe_enter(void)
{
    pthread_mutex_lock(&world);
    world_moves--;
    pthread_cond_broadcast(&world_changed);
    pthread_mutex_unlock(&world);
}

static void safe_leave(void)
{
    pthread_mutex_lock(&world);
    while (world_is_stopped)
        pthread_cond_wait(&world_changed, &world);
    world_moves++;
    pthread_mutex_unlock(&world);
}

static void safe_poll(void)
{
    if (!__atomic_load_n(&world_is_stopped, __ATOMIC_ACQUIRE))
        return;
    safe_enter();
    safe_leave();
}

static void world_before(void *context)
{
    (void)context;
    if (!is_mutator)
        return;
    pthread_mutex_lock(&world);
    world_hooked++;
    pthread_mutex_unlock(&world);
    safe_enter();
}

static void world_after(void *context)
{
    (void)context;
    if (!is_mutator)
        return;
    safe_leave();
    pthread_mutex_lock(&world);
    world_hooked--;
    pthread_mutex_unlock(&world);
}

/* Stops it now, or once a thread is between the hooks, where it then stays. */
static void world_stop(bool with_hooked)
{
    pthread_mutex_lock(&world);
    while (with_hooked && world_hooked == 0)
        pthread_cond_wait(&world_changed, &world);
    __atomic_store_n(&world_is_stopped, true, __ATOMIC_RELEASE);
    while (world_moves > 0)
        pthread_cond_wait(&world_changed, &world);
    parked_when_stopped += world_hooked > 0;
    pthread_mutex_unlock(&world);
}

static void world_go(void)
{
    pthread_mutex_lock(&world);
    hs_check(world_moves == 0, "%u threads are running in a stopped world", world_moves);
    __atomic_store_n(&world_is_stopped, false, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&world_changed);
    pthread_mutex_unlock(&world);
}

static void *mutate(void *argument)
{
    struct hs_emitter *emitter = argument;
    is_mutator = true;
    safe_leave();
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
        for (uint32_t i = 0; i < 16; i++)
            hs_emit(emitter, HS_FIXED);
        safe_poll();
    }
    safe_enter();
    return NULL;
}

/* The collector does not know this thread. */
static void *emit_freely(void *argument)
{
    struct hs_emitter *emitter = argument;
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
        hs_emit(emitter, HS_FIXED);
        __atomic_fetch_add(&big_calls, 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

/* Stands still now and then. */
static bool write_with_stalls(void *context, const void *bytes, size_t count)
{
    static uint64_t writes;
    if (++writes % 16 == 0)
        hs_sleep_us(2000);
    return hs_gate_write(context, bytes, count);
}

static void collect(bool with_hooked, uint64_t budget_events)
{
    world_stop(with_hooked);
    uint64_t from = __atomic_load_n(&big_calls, __ATOMIC_ACQUIRE);
    while (__atomic_load_n(&big_calls, __ATOMIC_ACQUIRE) - from < 2 * budget_events)
        hs_sleep_us(100);
    world_go();
    hs_progress();
}

static void collector_run(enum weir_wake wake)
{
    enum { THREADS = 9, SEGMENTS = 8, SEGMENT_EVENTS = SEGMENT / 48 };
    struct hs_emitter *emitters = hs_emitters_new(THREADS, 100000000);
    pthread_t handles[THREADS];
    hooks_set(world_before, world_after);
    __atomic_store_n(&is_over, false, __ATOMIC_RELEASE);
    if (!start(wake, SEGMENTS * SEGMENT, write_with_stalls, 0))
        return;
    for (uint32_t i = 0; i < THREADS; i++)
        hs_thread_start(&handles[i], i ? mutate : emit_freely, &emitters[i]);
    for (uint64_t i = 0; i < collections; i++)
        collect(i % 4 == 0, SEGMENTS * SEGMENT_EVENTS);
    __atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < THREADS; i++)
        hs_thread_join(handles[i]);
    hs_trace_stop(&trace);
    hooks_set(NULL, NULL);
    hs_check(hs_lost(&trace.stats.counts) == 0, "%s: %llu events are lost", hs_wake_name(wake),
             (unsigned long long)hs_lost(&trace.stats.counts));
    hs_check(world_moves == 0 && world_hooked == 0, "%u threads are running, %u are in hooks",
             world_moves, world_hooked);
    hs_figure_add("parks_collector", (double)trace.stats.parks);
    end(emitters, THREADS);
}

int main(int argc, char **argv)
{
    const struct hs_option options[] = {{"events", "under the big lock", &events, NULL},
                                        {"collections", "per strategy", &collections, NULL},
                                        {NULL, NULL, NULL, NULL}};
    hs_init(argc, argv, "Hosts with a big lock, or with a collector that stops the world.",
            options);
    hs_emitters_init();
    do {
        for (int wake = 0; wake < HS_WAKES; wake++) {
            lock_run((enum weir_wake)wake);
            lock_run_without_hooks((enum weir_wake)wake);
            collector_run((enum weir_wake)wake);
        }
    } while (hs_time_is_left() && hs_failures() == 0);
    hs_figure("collections_with_parked", (double)parked_when_stopped);
    return hs_finish();
}
