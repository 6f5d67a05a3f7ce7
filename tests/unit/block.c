/*
 * Mode BLOCK, one property per test. "Full" means: the sink blocks, and this thread has
 * emitted in a no-block scope until an event was refused.
 */
#define _GNU_SOURCE
#include "unit.h"
#include "wait/strategies.h"

#include <errno.h>
#include <gate.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

#define SEGMENT    4096u
#define SEGMENTS   16u
#define HALF       ((SEGMENT - 256u) * SEGMENTS / 2) /* the capacity of half of the segments */
#define ERRNO_MARK 123

/* --- A session whose sink blocks. ------------------------------------------------------------ */

static struct gate gate = GATE_INIT;

static bool write_through_gate(void *context, const void *bytes, size_t count)
{
    (void)context;
    (void)bytes;
    gate_pass(&gate, count);
    return true;
}

static struct weir_session_config gate_config(enum weir_wake wake)
{
    struct weir_session_config config = unit_config();
    config.mode = WEIR_MODE_BLOCK;
    config.wake = wake;
    config.segment_bytes = SEGMENT;
    config.budget_bytes = (uint64_t)SEGMENTS * SEGMENT;
    config.memory_bytes_max = 0;
    config.sink.write = write_through_gate;
    config.flush_ms = 1;
    return config;
}

/* Returns the number of events written. The drain reads until it has to write what it has
 * encoded. */
static uint64_t fill(void)
{
    uint64_t written = 0;
    weir_no_block_begin();
    for (int quiet = 0; quiet < 20; quiet++, usleep(2000))
        for (; WEIR_EMIT(Unit, Pair, written, 0); quiet = 0)
            written++;
    weir_no_block_end();
    return written;
}

/* Returns with the gate closed. */
static struct weir_session *start_full(const struct weir_session_config *config, uint64_t *written)
{
    gate_close(&gate);
    struct weir_session *session = unit_start(config);
    *written = fill();
    assert_int_equal(unit_stats(session).budget_bytes_used, config->budget_bytes);
    return session;
}

static void stop_ok(struct weir_session *session)
{
    gate_open(&gate);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
}

static void wait_parked(struct weir_session *session, uint64_t threads)
{
    for (int ms = 0; ms < 20000 && unit_stats(session).parked_now != threads; ms++)
        usleep(1000);
    assert_int_equal(unit_stats(session).parked_now, threads);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* One event, emitted by a new thread. */
struct one {
    pthread_t thread;
    bool is_written;
    enum weir_loss loss; /* unless it is written */
    int error;
    uint64_t took_ns;
    pid_t id; /* 0 until it runs */
};

static void *emit_one(void *argument)
{
    struct one *one = argument;
    __atomic_store_n(&one->id, gettid(), __ATOMIC_RELEASE);
    uint64_t start_ns = now_ns();
    errno = ERRNO_MARK;
    one->is_written = WEIR_EMIT(Unit, Pair, 1, 2);
    one->error = errno;
    one->loss = weir_last_loss();
    one->took_ns = now_ns() - start_ns;
    return NULL;
}

/* A thread counts as parked before it sleeps, and the system call is made only to wake a
 * sleeper. */
static bool is_asleep(const struct one *one)
{
    char path[64], line[512] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat",
             (int)__atomic_load_n(&one->id, __ATOMIC_ACQUIRE));
    FILE *file = fopen(path, "re");
    const char *state = file && fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
    if (file)
        fclose(file);
    return state && state[1] == ' ' && state[2] == 'S';
}

static void wait_asleep(const struct one *one)
{
    for (int ms = 0; ms < 20000 && !is_asleep(one); ms++)
        usleep(1000);
}

static void one_start(struct one *one)
{
    assert_int_equal(pthread_create(&one->thread, NULL, emit_one, one), 0);
}

static void one_join(struct one *one)
{
    assert_int_equal(pthread_join(one->thread, NULL), 0);
}

/* --- No-block scopes. ------------------------------------------------------------------------ */

static void test_no_block_scope(void **state)
{
    (void)state;
    struct weir_session_config config = gate_config(WEIR_WAKE_RELAY);
    config.max_block_ns = 20000000;
    uint64_t written, refused = 20; /* fill() counts these */
    struct weir_session *session = start_full(&config, &written);
    weir_no_block_begin();
    weir_no_block_begin();
    assert_false(WEIR_EMIT(Unit, Pair, 1, 2));
    assert_int_equal(weir_last_loss(), WEIR_LOSS_FULL);
    weir_no_block_end();
    assert_false(WEIR_EMIT(Unit, Pair, 1, 2)); /* only one of the two scopes has ended */
    weir_no_block_end();
    assert_int_equal(unit_stats(session).parks, 0);
    assert_int_equal(unit_counts(session).lost[WEIR_LOSS_FULL] >= refused + 2, 1);
    uint64_t full = unit_counts(session).lost[WEIR_LOSS_FULL], start_ns = now_ns();
    assert_false(WEIR_EMIT(Unit, Pair, 1, 2)); /* now it waits */
    assert_int_equal(weir_last_loss(), WEIR_LOSS_DEADLINE);
    assert_true(now_ns() - start_ns >= config.max_block_ns);
    assert_int_equal(unit_stats(session).parks, 1);
    stop_ok(session);
    struct weir_counts counts = unit_counts(session);
    assert_int_equal(counts.written, written);
    assert_int_equal(counts.lost[WEIR_LOSS_FULL], full);
    assert_int_equal(counts.lost[WEIR_LOSS_DEADLINE], 1);
    assert_int_equal(counts.attempted, written + full + 1);
    weir_session_destroy(session);
}

static void *emit_in_scope(void *argument)
{
    weir_no_block_begin();
    emit_one(argument);
    weir_no_block_end();
    return NULL;
}

/* A thread that has never had a segment loses the event for another cause, but does not wait
 * either. */
static void test_no_block_scope_of_a_new_thread(void **state)
{
    (void)state;
    struct weir_session_config config = gate_config(WEIR_WAKE_FIFO);
    struct one one = {.error = 0};
    uint64_t written;
    struct weir_session *session = start_full(&config, &written);
    assert_int_equal(pthread_create(&one.thread, NULL, emit_in_scope, &one), 0);
    one_join(&one);
    assert_false(one.is_written);
    assert_int_equal(one.loss, WEIR_LOSS_NO_SEGMENT);
    assert_int_equal(unit_stats(session).parks, 0);
    stop_ok(session);
    weir_session_destroy(session);
}

/* --- Waits. ---------------------------------------------------------------------------------- */

static struct weir_park told;
static uint64_t told_count;
static bool told_emit_is_written;

static void on_park(void *context, const struct weir_park *park)
{
    assert_ptr_equal(context, &told);
    told = *park;
    told_count++;
    told_emit_is_written = WEIR_EMIT(Unit, Pair, 3, 4); /* nested: inside an emit */
    errno = EBADF;
}

/* What on_park reports about a wait, and that errno is preserved. */
static void test_a_wait(void **state)
{
    (void)state;
    for (int wake = 0; wake < WR_WAKE_COUNT; wake++) {
        struct weir_session_config config = gate_config((enum weir_wake)wake);
        struct one one = {.error = 0};
        uint64_t written;
        config.on_park = on_park;
        config.on_park_context = &told;
        told_count = 0;
        struct weir_session *session = start_full(&config, &written);
        one_start(&one);
        wait_parked(session, 1);
        usleep(50000);
        wait_asleep(&one);
        gate_open(&gate);
        one_join(&one);
        gate_close(&gate);
        assert_true(one.is_written);
        assert_int_equal(one.error, ERRNO_MARK);
        assert_int_equal(told_count, 1);
        assert_false(told_emit_is_written);
        assert_int_equal(told.queue_number, 1);
        assert_int_equal(told.grant_number, 1);
        assert_true(told.grant_bytes >= SEGMENT && told.grant_bytes <= config.budget_bytes / 4);
        assert_in_range(told.parked_ns, 45000000, one.took_ns);
        struct weir_stats stats = unit_stats(session);
        assert_int_equal(stats.parks, 1);
        assert_int_equal(stats.parked_now, 0);
        assert_int_equal(stats.parked_ns, told.parked_ns);
        assert_int_equal(stats.parked_ns_max, told.parked_ns);
        assert_true(stats.grants >= 2);
        assert_true(stats.grant_bytes >= config.budget_bytes + SEGMENT); /* all, and one more */
        stop_ok(session);
        assert_true(unit_stats(session).wakes >= 1); /* counted after the thread goes on */
        assert_int_equal(unit_counts(session).written, written + 1);
        assert_int_equal(unit_counts(session).lost[WEIR_LOSS_NESTED], 1);
        weir_session_destroy(session);
    }
}

static void test_deadline(void **state)
{
    (void)state;
    for (int wake = 0; wake < WR_WAKE_COUNT; wake++) {
        struct weir_session_config config = gate_config((enum weir_wake)wake);
        struct one one = {.error = 0};
        uint64_t written;
        config.max_block_ns = 30000000;
        struct weir_session *session = start_full(&config, &written);
        one_start(&one);
        one_join(&one);
        assert_false(one.is_written);
        assert_int_equal(one.loss, WEIR_LOSS_DEADLINE);
        assert_int_equal(one.error, ERRNO_MARK);
        assert_true(one.took_ns >= config.max_block_ns);
        assert_int_equal(unit_stats(session).parked_now, 0);
        stop_ok(session);
        assert_int_equal(unit_counts(session).written, written);
        assert_int_equal(unit_counts(session).lost[WEIR_LOSS_DEADLINE], 1);
        weir_session_destroy(session);
    }
}

/* UINT64_MAX must not wrap around when it is added to the time: the wait has no deadline. */
static void test_deadline_that_is_for_ever(void **state)
{
    (void)state;
    static const uint64_t long_ns[] = {UINT64_MAX, UINT64_MAX - 1, INT64_MAX, UINT64_MAX / 4};
    for (size_t i = 0; i < sizeof long_ns / sizeof long_ns[0]; i++) {
        struct weir_session_config config = gate_config((enum weir_wake)(i % 3));
        struct one one = {.error = 0};
        uint64_t written;
        config.max_block_ns = long_ns[i];
        struct weir_session *session = start_full(&config, &written);
        one_start(&one);
        wait_parked(session, 1);
        usleep(20000);
        assert_int_equal(unit_stats(session).parked_now, 1);
        stop_ok(session);
        one_join(&one);
        assert_int_equal(unit_counts(session).lost[WEIR_LOSS_DEADLINE], 0);
        weir_session_destroy(session);
    }
}

static uint64_t signals_written; /* ANY */

static void on_signal(int number)
{
    int saved = errno;
    (void)number;
    if (WEIR_EMIT(Unit, Pair, 5, 6))
        __atomic_fetch_add(&signals_written, 1, __ATOMIC_RELEASE);
    __atomic_fetch_add(&told_count, 1, __ATOMIC_RELEASE);
    errno = saved;
}

/* A handler on a parked thread: its event is nested, and the wait continues. */
static void test_signal_in_a_wait(void **state)
{
    (void)state;
    for (int wake = 0; wake < WR_WAKE_COUNT; wake++) {
        struct weir_session_config config = gate_config((enum weir_wake)wake);
        struct one one = {.error = 0};
        uint64_t written;
        struct sigaction action = {.sa_handler = on_signal};
        assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
        told_count = 0;
        struct weir_session *session = start_full(&config, &written);
        one_start(&one);
        wait_parked(session, 1);
        for (uint64_t i = 0; i < 10; i++) {
            pthread_kill(one.thread, SIGUSR1);
            while (__atomic_load_n(&told_count, __ATOMIC_ACQUIRE) <= i)
                usleep(100);
        }
        assert_int_equal(__atomic_load_n(&signals_written, __ATOMIC_ACQUIRE), 0);
        assert_int_equal(unit_stats(session).parked_now, 1);
        assert_int_equal(unit_counts(session).lost[WEIR_LOSS_NESTED], 10);
        gate_open(&gate);
        one_join(&one);
        assert_true(one.is_written);
        assert_int_equal(one.error, ERRNO_MARK);
        assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
        weir_session_destroy(session);
    }
}

/* --- Sizes. ---------------------------------------------------------------------------------- */

/* An event too large for any session with this budget does not wait, whether the session is full or
 * not. */
static void test_too_large_does_not_wait(void **state)
{
    (void)state;
    static uint8_t bytes[65536];
    struct weir_session_config config = gate_config(WEIR_WAKE_RELAY);
    uint64_t written;
    struct weir_session *session = start_full(&config, &written);
    assert_false(WEIR_EMIT(Unit, Bytes, bytes, HALF - 17));
    assert_int_equal(weir_last_loss(), WEIR_LOSS_TOO_LARGE);
    assert_false(WEIR_EMIT(Unit, Bytes, bytes, 65534));
    assert_int_equal(weir_last_loss(), WEIR_LOSS_TOO_LARGE);
    assert_int_equal(unit_stats(session).parks, 0);
    stop_ok(session);
    assert_int_equal(unit_counts(session).written, written);
    assert_int_equal(unit_counts(session).lost[WEIR_LOSS_TOO_LARGE], 2);
    weir_session_destroy(session);
}

static void *emit_sizes(void *argument)
{
    static const uint32_t sizes[] = {SEGMENT - 256 - 18, /* fills an empty segment */
                                     SEGMENT - 256 - 17, /* one byte too many */
                                     SEGMENT, HALF - 18, /* half of the budget exactly */
                                     1};
    static uint8_t bytes[65536];
    bool *is_written = argument;
    *is_written = true;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        *is_written &= WEIR_EMIT(Unit, Bytes, bytes, sizes[i]);
    return NULL;
}

/* Sizes around a segment and at the limit wait like all others and are written. */
static void test_sizes_that_wait(void **state)
{
    (void)state;
    for (int wake = 0; wake < WR_WAKE_COUNT; wake++) {
        struct weir_session_config config = gate_config((enum weir_wake)wake);
        pthread_t thread;
        bool is_written = false;
        uint64_t written;
        struct weir_session *session = start_full(&config, &written);
        assert_int_equal(pthread_create(&thread, NULL, emit_sizes, &is_written), 0);
        wait_parked(session, 1);
        gate_open(&gate);
        pthread_join(thread, NULL);
        assert_true(is_written);
        assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
        assert_int_equal(unit_counts(session).written, written + 5);
        weir_session_destroy(session);
    }
}

/* --- Several sessions. ----------------------------------------------------------------------- */

/* Whichever session started first, the DROP session gets the event before its thread is parked for
 * the other one, and it can be stopped meanwhile. */
static void test_drop_session_has_it_first(void **state)
{
    (void)state;
    for (int order = 0; order < 2; order++) {
        struct weir_session_config config = gate_config(WEIR_WAKE_RELAY), drop = unit_config();
        struct one one = {.error = 0};
        uint64_t written;
        struct weir_session *beside = order ? unit_start(&drop) : NULL;
        struct weir_session *session = start_full(&config, &written);
        if (!beside)
            beside = unit_start(&drop);
        uint64_t before = unit_counts(beside).written;
        one_start(&one);
        wait_parked(session, 1);
        assert_int_equal(unit_counts(beside).written, before + 1);
        assert_int_equal(unit_counts(session).written, written);
        uint64_t start_ns = now_ns();
        assert_int_equal(weir_session_stop(beside, NULL), WEIR_OK);
        assert_true(now_ns() - start_ns < UINT64_C(4000000000));
        assert_int_equal(unit_stats(session).parked_now, 1);
        gate_open(&gate);
        one_join(&one);
        assert_true(one.is_written);
        assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
        assert_int_equal(unit_counts(session).written, written + 1);
        weir_session_destroy(session);
        weir_session_destroy(beside);
    }
}

/* --- The beginning and the end. -------------------------------------------------------------- */

static void *emit_many(void *argument)
{
    uint64_t *written = argument;
    for (int i = 0; i < 100000; i++)
        *written += WEIR_EMIT(Unit, Pair, 1, 2);
    return NULL;
}

/* The first thread parks before the drain has written its header. */
static void test_parked_before_the_first_write(void **state)
{
    (void)state;
    for (int wake = 0; wake < WR_WAKE_COUNT; wake++) {
        struct weir_session_config config = gate_config((enum weir_wake)wake);
        pthread_t thread;
        uint64_t written = 0;
        gate_close(&gate);
        struct weir_session *session = unit_start(&config);
        assert_int_equal(pthread_create(&thread, NULL, emit_many, &written), 0);
        wait_parked(session, 1);
        assert_int_equal(unit_stats(session).bytes_sent, 0);
        gate_open(&gate);
        pthread_join(thread, NULL);
        assert_int_equal(written, 100000);
        assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
        assert_int_equal(unit_counts(session).written, 100000);
        weir_session_destroy(session);
    }
}

static void test_never_started(void **state)
{
    (void)state;
    struct weir_session_config config = gate_config(WEIR_WAKE_RELAY);
    struct weir_session *session;
    assert_int_equal(weir_session_create(&config, &session, NULL), WEIR_OK);
    assert_int_equal(unit_stats(session).budget_bytes_used, 0);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_BAD_STATE);
    weir_session_destroy(session);
}

/* What on_park tries in the session, with several threads in it at once. */
#define PARKED 4
static struct weir_session *own, *recorder;
static uint32_t parked_inside; /* ANY */
static struct asked {
    enum weir_result stop, start, create_other, start_other, stop_other, snapshot, stats;
    bool is_enabled; /* after the stop */
    bool are_all_inside;
} asked[PARKED];

static void ask_for_another(struct asked *to)
{
    struct weir_session_config config = unit_config();
    struct weir_session *other = NULL;
    to->create_other = weir_session_create(&config, &other, NULL);
    to->start_other = weir_session_start(other, NULL);
    to->stop_other = weir_session_stop(other, NULL);
    weir_session_destroy(other);
}

static void ask_in_park(void *context, const struct weir_park *park)
{
    (void)context;
    (void)park;
    uint32_t index = __atomic_fetch_add(&parked_inside, 1, __ATOMIC_ACQ_REL);
    if (index >= PARKED)
        return;
    struct asked *to = &asked[index];
    for (int ms = 0; ms < 20000 && __atomic_load_n(&parked_inside, __ATOMIC_ACQUIRE) < PARKED; ms++)
        usleep(1000);
    to->are_all_inside = __atomic_load_n(&parked_inside, __ATOMIC_ACQUIRE) >= PARKED;
    to->stop = weir_session_stop(own, NULL);
    weir_session_destroy(own); /* has no effect here */
    to->is_enabled = weir_event_is_enabled(&weir_events_Unit.Pair);
    to->start = weir_session_start(own, NULL);
    struct weir_stats stats = WEIR_STATS_INIT;
    to->stats = weir_session_stats(own, &stats);
    struct weir_sink sink = WEIR_SINK_INIT;
    sink.write = unit_discard;
    while ((to->snapshot = weir_session_snapshot(recorder, &sink, 0, NULL)) == WEIR_BUSY) {
    }
    ask_for_another(to);
}

/* A stop waits for all parked threads. One of them would wait for itself, so it is refused. It may
 * stop other sessions. */
static void test_calls_in_on_park(void **state)
{
    (void)state;
    struct weir_session_config config = gate_config(WEIR_WAKE_RELAY), recorded = unit_config();
    struct one ones[PARKED] = {{.error = 0}};
    uint64_t written;
    recorded.mode = WEIR_MODE_OVERWRITE;
    recorded.providers = "Other";
    recorded.unknown_providers_allowed = true;
    recorder = unit_start(&recorded);
    config.on_park = ask_in_park;
    config.stop_ms_max = 1000;
    own = start_full(&config, &written);
    for (int i = 0; i < PARKED; i++)
        one_start(&ones[i]);
    wait_parked(own, PARKED);
    gate_open(&gate);
    for (int i = 0; i < PARKED; i++) {
        one_join(&ones[i]);
        assert_true(ones[i].is_written);
    }
    for (int i = 0; i < PARKED; i++) {
        assert_true(asked[i].are_all_inside && asked[i].is_enabled);
        assert_int_equal(asked[i].stop, WEIR_BAD_STATE);
        assert_int_equal(asked[i].start, WEIR_BAD_STATE);
        assert_int_equal(asked[i].stats, WEIR_OK);
        assert_int_equal(asked[i].snapshot, WEIR_OK);
        assert_int_equal(asked[i].create_other, WEIR_OK);
        assert_int_equal(asked[i].start_other, WEIR_OK);
        assert_int_equal(asked[i].stop_other, WEIR_OK);
    }
    assert_int_equal(weir_session_stop(own, NULL),
                     WEIR_OK); /* the refusal ended with the callback */
    assert_int_equal(unit_counts(own).written, written + PARKED);
    weir_session_destroy(own);
    weir_session_destroy(recorder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_block_scope),
        cmocka_unit_test(test_no_block_scope_of_a_new_thread),
        cmocka_unit_test(test_a_wait),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_deadline_that_is_for_ever),
        cmocka_unit_test(test_signal_in_a_wait),
        cmocka_unit_test(test_too_large_does_not_wait),
        cmocka_unit_test(test_sizes_that_wait),
        cmocka_unit_test(test_drop_session_has_it_first),
        cmocka_unit_test(test_parked_before_the_first_write),
        cmocka_unit_test(test_never_started),
        cmocka_unit_test(test_calls_in_on_park),
    };
    return cmocka_run_group_tests(tests, unit_setup, NULL);
}
