/*
 * The free list of a session is first in, first out, and each segment has one owner at a time while
 * threads, and signal handlers that interrupt them, take and give.
 */
#define _GNU_SOURCE /* timers and signals */
#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include "buffers/free_list.h"

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

#define SEGMENTS 6u
#define THREADS  4u
#define HELD_MAX 3u
#define ROUNDS   400000u

static struct wr_free_list list;
static struct wr_segment segments[SEGMENTS];
static struct wr_u32 is_taken[SEGMENTS];
static struct wr_u32 shared;    /* times that a segment was taken that already had an owner */
static struct wr_u32 by_signal; /* takes in a handler that returned a segment */

static int setup(void **state)
{
    (void)state;
    memset(&list, 0, sizeof list);
    memset(segments, 0, sizeof segments);
    wr_free_list_init(&list);
    for (unsigned i = 0; i < SEGMENTS; i++)
        wr_free_list_give(&list, &segments[i]);
    return 0;
}

/* Segments come back in the order in which they were given, however often they circulate. */
static void test_order(void **state)
{
    (void)state;
    for (unsigned turn = 0; turn < 5 * SEGMENTS; turn++) {
        assert_int_equal(wr_u32_load_relaxed(&list.count), SEGMENTS);
        struct wr_segment *first = wr_free_list_take(&list);
        assert_ptr_equal(first, &segments[turn % SEGMENTS]);
        wr_free_list_give(&list, first);
    }
}

static void test_empty(void **state)
{
    (void)state;
    for (unsigned turn = 0; turn < 3; turn++) {
        for (unsigned i = 0; i < SEGMENTS; i++)
            assert_ptr_equal(wr_free_list_take(&list), &segments[i]);
        assert_null(wr_free_list_take(&list));
        assert_int_equal(wr_u32_load_relaxed(&list.count), 0);
        for (unsigned i = 0; i < SEGMENTS; i++)
            wr_free_list_give(&list, &segments[i]);
    }
}

static struct wr_segment *take(void)
{
    struct wr_segment *segment = wr_free_list_take(&list);
    if (segment && wr_u32_exchange_acq_rel(&is_taken[segment - segments], 1))
        wr_u32_add_acq_rel(&shared, 1);
    return segment;
}

static void give(struct wr_segment *segment)
{
    wr_u32_exchange_acq_rel(&is_taken[segment - segments], 0);
    wr_free_list_give(&list, segment);
}

static void on_signal(int number)
{
    (void)number;
    struct wr_segment *segment = take();
    if (!segment)
        return;
    wr_u32_add_acq_rel(&by_signal, 1);
    give(segment);
}

static void *take_and_give(void *argument)
{
    (void)argument;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct wr_segment *held[HELD_MAX];
        unsigned count = 0;
        while (count <= round % HELD_MAX && (held[count] = take()))
            count++;
        while (count > 0)
            give(held[--count]);
    }
    return NULL;
}

/* Sends a signal every 50 us to one of the threads that already run, but not to this one. */
static timer_t interrupt_others(void)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec often = {{0, 50000}, {0, 50000}};
    timer_t timer;
    assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    assert_int_equal(timer_settime(timer, 0, &often, NULL), 0);
    return timer;
}

static void assert_all_there(void)
{
    bool is_there[SEGMENTS] = {false};
    for (unsigned i = 0; i < SEGMENTS; i++) {
        struct wr_segment *segment = wr_free_list_take(&list);
        assert_non_null(segment);
        assert_false(is_there[segment - segments]);
        is_there[segment - segments] = true;
    }
    assert_null(wr_free_list_take(&list));
}

static void test_threads(void **state)
{
    (void)state;
    struct sigaction action = {.sa_handler = on_signal};
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, NULL), 0);
    timer_t timer = interrupt_others();
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    timer_delete(timer);
    assert_int_equal(wr_u32_load_relaxed(&shared), 0);
    assert_int_not_equal(wr_u32_load_relaxed(&by_signal), 0);
    assert_all_there();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_order, setup),
        cmocka_unit_test_setup(test_empty, setup),
        cmocka_unit_test_setup(test_threads, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
