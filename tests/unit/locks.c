/*
 * A thread that holds a lock of the library and does not run, as if stopped by a debugger: the
 * test's thread takes the lock itself and sleeps. Meanwhile others emit, and the session is
 * stopped. No timing decides the result: an emit that waited for the lock would never return.
 */
#define _GNU_SOURCE
#include "unit.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "buffers/modes.h"
#include "buffers/place.h"
#include "wait/strategies.h"
#include "session/session.h"

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

#define EVENTS  2000u
#define WRITTEN UINT32_MAX

/* --- The thread that holds a lock. ----------------------------------------------------------- */

struct holder {
    pthread_t thread;
    pthread_mutex_t *lock; /* NULL: the registry's, by a fork */
    sem_t holds, lets_go;
};

static struct holder *forking;

static void *hold(void *argument)
{
    struct holder *holder = argument;
    pthread_mutex_lock(holder->lock);
    sem_post(&holder->holds);
    while (sem_wait(&holder->lets_go) != 0) {
    }
    pthread_mutex_unlock(holder->lock);
    return NULL;
}

/* Registered before the library's own, so it is called after that one and holds its lock. */
static void before_fork(void)
{
    if (!forking)
        return;
    sem_post(&forking->holds);
    while (sem_wait(&forking->lets_go) != 0) {
    }
}

static void *hold_by_fork(void *argument)
{
    forking = argument;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    forking = NULL;
    return NULL;
}

static void hold_begin(struct holder *holder, pthread_mutex_t *lock)
{
    holder->lock = lock;
    sem_init(&holder->holds, 0, 0);
    sem_init(&holder->lets_go, 0, 0);
    assert_int_equal(pthread_create(&holder->thread, NULL, lock ? hold : hold_by_fork, holder), 0);
    while (sem_wait(&holder->holds) != 0) {
    }
}

static void hold_end(struct holder *holder)
{
    sem_post(&holder->lets_go);
    pthread_join(holder->thread, NULL);
}

/* --- Sessions. ------------------------------------------------------------------------------- */

static struct weir_session_config config_of(enum weir_mode mode)
{
    struct weir_session_config config = unit_config();
    config.mode = mode;
    config.budget_bytes = 64u << 10;
    config.segment_bytes = 4096;
    config.stop_ms_max = 300;
    return config;
}

/* A stop reports what it could not do; a stop after the lock is released finds everything. */
static void stop_twice(struct weir_session *session, struct holder *holder)
{
    assert_int_equal(weir_session_stop(session, NULL), WEIR_TIMEOUT);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_TIMEOUT);
    hold_end(holder);
    enum weir_result result;
    while ((result = weir_session_stop(session, NULL)) == WEIR_TIMEOUT) {
    }
    assert_int_equal(result, WEIR_OK);
}

static void *first_event(void *loss)
{
    *(uint32_t *)loss = WEIR_EMIT(Unit, Pair, 1, 2) ? WRITTEN : (uint32_t)weir_last_loss();
    return NULL;
}

static uint32_t loss_of_first_event(void)
{
    uint32_t loss;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, first_event, &loss), 0);
    pthread_join(thread, NULL);
    return loss;
}

static void check_counts(struct weir_session *session, uint64_t attempted, uint64_t lost,
                         enum weir_loss cause)
{
    struct weir_counts counts = unit_counts(session);
    assert_int_equal(counts.attempted, attempted);
    assert_int_equal(counts.lost[cause], lost);
}

/* --- The tests. ------------------------------------------------------------------------------ */

/* Emits `count` events. Returns how many were lost, all of them for `cause`. */
static uint64_t emit(uint64_t count, enum weir_loss cause)
{
    uint64_t lost = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (WEIR_EMIT(Unit, Pair, i, i))
            continue;
        assert_int_equal(weir_last_loss(), cause);
        lost++;
    }
    return lost;
}

static void test_overwrite(void **state)
{
    (void)state;
    struct weir_session_config config = config_of(WEIR_MODE_OVERWRITE);
    struct weir_session *session = unit_start(&config);
    struct holder holder;
    static char large[10000];
    memset(large, 'x', sizeof large - 1);
    assert_true(WEIR_EMIT(Unit, Plain)); /* makes pairs leave room for a plain one */
    hold_begin(&holder, &session->buffers.overwrite.lock);
    assert_int_equal(loss_of_first_event(), WEIR_LOSS_NO_SEGMENT);
    uint64_t lost = emit(EVENTS, WEIR_LOSS_FULL);
    assert_in_range(lost, 1, EVENTS - 1); /* its own segment takes some of them */
    uint64_t more = emit(10, WEIR_LOSS_FULL);
    assert_int_equal(more, 10);
    assert_false(WEIR_EMIT(Unit, Plain)); /* it would fit, but it follows a loss */
    more++;
    assert_false(WEIR_EMIT(Unit, Text, large)); /* needs several segments */
    assert_int_equal(weir_last_loss(), WEIR_LOSS_FULL);
    struct weir_stats stats = WEIR_STATS_INIT;
    assert_int_equal(weir_session_stats(session, &stats), WEIR_TIMEOUT);
    hold_end(&holder);
    /* The drain has waited for the lock, too, and may have it now; an event that does not wait is
     * lost. After one that is recorded, events wait again. */
    uint64_t after = emit(10, WEIR_LOSS_FULL);
    assert_in_range(after, 0, 9);
    more += after;
    assert_int_equal(emit(10, WEIR_LOSS_FULL), 0);
    check_counts(session, 1 + 1 + EVENTS + 11 + 1 + 20, lost + more + 1, WEIR_LOSS_FULL);
    hold_begin(&holder, &session->buffers.overwrite.lock);
    stop_twice(session, &holder);
    check_counts(session, 1 + 1 + EVENTS + 11 + 1 + 20, lost + more + 1, WEIR_LOSS_FULL);
    weir_session_destroy(session);
}

/* The lock of a session: no emit takes it, not even a thread's first one in that session. */
static void check_session_lock(enum weir_mode mode)
{
    struct weir_session_config config = config_of(mode);
    struct weir_session *session = unit_start(&config);
    struct holder holder;
    struct weir_stats stats = WEIR_STATS_INIT;
    assert_true(WEIR_EMIT(Unit, Pair, 0, 0));
    hold_begin(&holder, &session->buffers.take_lock);
    assert_int_equal(loss_of_first_event(), WRITTEN);
    hold_end(&holder);
    hold_begin(&holder, &session->buffers.lock);
    assert_int_equal(loss_of_first_event(), WRITTEN);
    assert_true(WEIR_EMIT(Unit, Pair, 1, 1));
    assert_int_equal(weir_session_stats(session, &stats), WEIR_TIMEOUT);
    stop_twice(session, &holder);
    check_counts(session, 4, 0, WEIR_LOSS_NO_SEGMENT);
    weir_session_destroy(session);
}

static void test_session_lock(void **state)
{
    (void)state;
    for (int mode = 0; mode < WR_MODE_COUNT; mode++)
        check_session_lock((enum weir_mode)mode);
}

/* The lock of the process: no emit takes it, not even a thread's very first one; a stop does. */
static void test_process_locks(void **state)
{
    (void)state;
    struct weir_session_config config = config_of(WEIR_MODE_DROP);
    struct weir_session *session = unit_start(&config);
    struct holder holder;
    assert_int_equal(loss_of_first_event(), WRITTEN);
    hold_begin(&holder, NULL);
    assert_int_equal(loss_of_first_event(), WRITTEN);
    stop_twice(session, &holder);
    check_counts(session, 2, 0, WEIR_LOSS_NO_SEGMENT);
    weir_session_destroy(session);
}

static void *emit_until_lost(void *loss)
{
    while (WEIR_EMIT(Unit, Pair, 1, 2)) {
    }
    *(uint32_t *)loss = weir_last_loss();
    return NULL;
}

static bool stand_still(void *context, const void *bytes, size_t count)
{
    (void)bytes;
    (void)count;
    pthread_mutex_lock(context);
    pthread_mutex_unlock(context);
    return true;
}

static struct weir_session *block_session(pthread_mutex_t *sink, enum weir_wake wake,
                                          uint64_t max_block_ns)
{
    struct weir_session_config config = config_of(WEIR_MODE_BLOCK);
    config.memory_bytes_max = 0;
    config.sink.write = stand_still;
    config.sink.context = sink;
    config.wake = wake;
    config.max_block_ns = max_block_ns;
    config.flush_ms = 5;
    return unit_start(&config);
}

/* `parks` counts waits that are over, too: this thread may not have run for a while. */
static void await_park(struct weir_session *session)
{
    while (unit_stats(session).parks == 0) {
    }
}

/* A thread that asks for room, one that already waits, and one that may not wait. */
static void check_block(enum weir_wake wake)
{
    static pthread_mutex_t sink = PTHREAD_MUTEX_INITIALIZER;
    struct weir_session *session = block_session(&sink, wake, 200000000);
    struct holder holder;
    uint32_t losses[2];
    pthread_t threads[2];
    pthread_mutex_lock(&sink);
    assert_int_equal(pthread_create(&threads[0], NULL, emit_until_lost, &losses[0]), 0);
    await_park(session);
    hold_begin(&holder, &session->buffers.gate.lock);
    assert_int_equal(pthread_create(&threads[1], NULL, emit_until_lost, &losses[1]), 0);
    weir_no_block_begin();
    assert_false(WEIR_EMIT(Unit, Pair, 3, 4));
    assert_in_range(weir_last_loss(), WEIR_LOSS_FULL, WEIR_LOSS_NO_SEGMENT);
    weir_no_block_end();
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(losses[i], WEIR_LOSS_DEADLINE);
    }
    pthread_mutex_unlock(&sink);
    stop_twice(session, &holder);
    struct weir_counts counts = unit_counts(session);
    assert_int_equal(counts.lost[WEIR_LOSS_DEADLINE], 2);
    assert_int_equal(counts.attempted, counts.written + 3);
    struct weir_stats stats = unit_stats(session);
    assert_int_equal(stats.budget_bytes_used, 0);
    assert_int_equal(stats.parked_now, 0);
    weir_session_destroy(session);
}

static void test_block(void **state)
{
    (void)state;
    for (int wake = 0; wake < WR_WAKE_COUNT; wake++)
        check_block((enum weir_wake)wake);
}

/* A thread with a grant returns from its hook while the gate's lock is held. */
static sem_t is_granted, hook_ends;
static bool hook_waits;

static void hook_before(void *context)
{
    (void)context;
}

static void hook_after(void *context)
{
    (void)context;
    if (!__atomic_load_n(&hook_waits, __ATOMIC_ACQUIRE))
        return;
    sem_post(&is_granted);
    while (sem_wait(&hook_ends) != 0) {
    }
}

static void check_hook(enum weir_wake wake)
{
    static pthread_mutex_t sink = PTHREAD_MUTEX_INITIALIZER;
    const struct weir_park_hooks hooks = {
        .size = sizeof hooks, .before = hook_before, .after = hook_after};
    struct weir_session *session = block_session(&sink, wake, 1000000000);
    struct holder holder;
    uint32_t loss;
    pthread_t thread;
    pthread_mutex_lock(&sink);
    assert_int_equal(weir_park_hooks_set(&hooks), WEIR_OK);
    assert_int_equal(pthread_create(&thread, NULL, emit_until_lost, &loss), 0);
    await_park(session);
    __atomic_store_n(&hook_waits, true, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&sink);
    while (sem_wait(&is_granted) != 0) {
    }
    __atomic_store_n(&hook_waits, false, __ATOMIC_RELEASE);
    assert_int_equal(weir_park_hooks_set(NULL), WEIR_OK);
    hold_begin(&holder, &session->buffers.gate.lock);
    sem_post(&hook_ends);
    pthread_join(thread, NULL);
    assert_int_equal(loss, WEIR_LOSS_DEADLINE);
    stop_twice(session, &holder);
    struct weir_counts counts = unit_counts(session);
    assert_int_equal(counts.attempted, counts.written + 1);
    struct weir_stats stats = unit_stats(session);
    assert_int_equal(stats.budget_bytes_used, 0);
    weir_session_destroy(session);
}

static void test_hook(void **state)
{
    (void)state;
    sem_init(&is_granted, 0, 0);
    sem_init(&hook_ends, 0, 0);
    for (int wake = 0; wake < WR_WAKE_COUNT; wake++)
        check_hook((enum weir_wake)wake);
}

int main(void)
{
    pthread_atfork(before_fork, NULL, NULL); /* before the library's: see before_fork() */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_overwrite),     cmocka_unit_test(test_session_lock),
        cmocka_unit_test(test_process_locks), cmocka_unit_test(test_block),
        cmocka_unit_test(test_hook),
    };
    return cmocka_run_group_tests(tests, unit_setup, NULL);
}
