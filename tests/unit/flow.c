/*
 * When the drain looks: emitting threads do not wake it as long as it comes in time, and it leaves
 * idle threads their segments.
 */
#define _GNU_SOURCE
#include "unit.h"

#include <pthread.h>
#include <unistd.h>

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

#define SEGMENT            4096u
#define SEGMENTS           256u
#define EVENTS_PER_SEGMENT 160u /* of Pair: 24 bytes each, behind a header of 256 */
#define NEVER_MS           60000u
#define GIVE_UP            20000 /* looks, a millisecond apart */

static struct weir_session *start(enum weir_mode mode, uint32_t segments, uint32_t flush_ms)
{
    struct weir_session_config config = unit_config();
    config.memory_bytes_max = 0;
    config.sink.write = unit_discard;
    config.mode = mode;
    config.segment_bytes = SEGMENT;
    config.budget_bytes = (uint64_t)segments * SEGMENT;
    config.flush_ms = flush_ms;
    return unit_start(&config);
}

static void end(struct weir_session *session)
{
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    struct weir_counts counts = unit_counts(session);
    assert_int_equal(counts.written, counts.attempted);
    weir_session_destroy(session);
}

static void emit_segments(uint32_t count)
{
    for (uint32_t i = 0; i < count * EVENTS_PER_SEGMENT; i++)
        WEIR_EMIT(Unit, Pair, i, i);
}

/* Waits until segments that hold records take at most `bytes`. */
static void wait_for_use(struct weir_session *session, uint64_t bytes)
{
    int looks = 0;
    while (unit_stats(session).budget_bytes_used > bytes && looks++ < GIVE_UP)
        usleep(1000);
    assert_in_range(unit_stats(session).budget_bytes_used, 0, bytes);
}

/* The drain's timer is out of reach: whatever wakes it is the emitting thread. If the drain's first
 * look was so late that it found a part of these segments, the others are less than half. */
static void burst(enum weir_mode mode)
{
    struct weir_session *session = start(mode, SEGMENTS, NEVER_MS);
    emit_segments(SEGMENTS / 2);
    assert_int_equal(unit_stats(session).drain_wakes, 0);
    emit_segments(SEGMENTS * 3 / 8);
    wait_for_use(session, SEGMENTS * 5 / 8 * SEGMENT);
    end(session);
}

static void test_burst_below_half_wakes_nobody(void **state)
{
    (void)state;
    burst(WEIR_MODE_DROP);
    burst(WEIR_MODE_BLOCK);
}

/* A quarter of the budget takes 16 ms, so the drain may be late by as much. */
static void test_steady_flow_wakes_nobody(void **state)
{
    (void)state;
    unit_skip_under_qemu("a segment takes longer than its slice of time");
    struct weir_session *session = start(WEIR_MODE_DROP, SEGMENTS, NEVER_MS);
    for (int i = 0; i < 300; i++) {
        emit_segments(4);
        usleep(1000);
    }
    assert_in_range(unit_stats(session).drain_wakes, 0, 300 * 4 / 100);
    end(session); /* nothing was lost, so the drain has come */
}

static void *emit_and_wait(void *barrier)
{
    WEIR_EMIT(Unit, Pair, 1, 1);
    pthread_barrier_wait(barrier);
    pthread_barrier_wait(barrier);
    return NULL;
}

/* What other threads hold does not become full: the drain is called before the rest of it is. */
static void test_call_in_a_crowd(void **state)
{
    enum { FEW = 20, ALL = 32 };
    (void)state;
    struct weir_session *session = start(WEIR_MODE_DROP, ALL, NEVER_MS);
    pthread_t threads[FEW];
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, FEW + 1);
    for (int i = 0; i < FEW; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, emit_and_wait, &barrier), 0);
    pthread_barrier_wait(&barrier);
    emit_segments(8);
    wait_for_use(session, (FEW + 3) * SEGMENT);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < FEW; i++)
        pthread_join(threads[i], NULL);
    end(session);
}

/* A sixteenth of the budget is left to threads that are idle, and taken back from more. */
static void test_idle_threads(void **state)
{
    enum { FEW = SEGMENTS / 16, MANY = FEW + 1 };
    (void)state;
    struct weir_session *session = start(WEIR_MODE_DROP, SEGMENTS, 1);
    pthread_t threads[MANY];
    pthread_barrier_t few, many;
    pthread_barrier_init(&few, NULL, FEW + 1);
    pthread_barrier_init(&many, NULL, 2);
    for (int i = 0; i < FEW; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, emit_and_wait, &few), 0);
    pthread_barrier_wait(&few);
    uint64_t points = unit_stats(session).sequence_points;
    for (int looks = 0; looks < GIVE_UP && unit_stats(session).sequence_points == points; looks++)
        usleep(1000);
    usleep(20 * 1000); /* some timed looks more */
    assert_int_equal(unit_stats(session).budget_bytes_used, FEW * SEGMENT);
    assert_int_equal(pthread_create(&threads[FEW], NULL, emit_and_wait, &many), 0);
    pthread_barrier_wait(&many);
    wait_for_use(session, 0);
    pthread_barrier_wait(&few);
    pthread_barrier_wait(&many);
    for (int i = 0; i < MANY; i++)
        pthread_join(threads[i], NULL);
    end(session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_burst_below_half_wakes_nobody),
        cmocka_unit_test(test_steady_flow_wakes_nobody),
        cmocka_unit_test(test_call_in_a_crowd),
        cmocka_unit_test(test_idle_threads),
    };
    return cmocka_run_group_tests(tests, unit_setup, NULL);
}
