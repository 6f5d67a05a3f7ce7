/* A stop of a BLOCK session that first lets the threads that wait write their events
 * (stop_serves_waiting). */
#define _GNU_SOURCE
#include "unit.h"
#include "wait/strategies.h"

#include <gate.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include "os/os.h"
#include "session/session.h"

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

#define SEGMENT 4096u
#define THREADS 4

static struct gate gate = GATE_INIT;
static uint32_t sink_fails; /* ANY */

static bool pass(void *context, const void *bytes, size_t count)
{
    (void)context;
    (void)bytes;
    gate_pass(&gate, count);
    return !__atomic_load_n(&sink_fails, __ATOMIC_ACQUIRE);
}

static struct weir_session_config linger_config(enum weir_wake wake)
{
    struct weir_session_config config = unit_config();
    config.mode = WEIR_MODE_BLOCK;
    config.wake = wake;
    config.segment_bytes = SEGMENT;
    config.budget_bytes = 16 * SEGMENT;
    config.memory_bytes_max = 0;
    config.sink.write = pass;
    config.flush_ms = 1;
    config.stop_ms_max = 60000;
    config.stop_serves_waiting = true;
    return config;
}

static uint64_t ms_since(uint64_t start_ns)
{
    return (wr_os_monotonic_ns() - start_ns) / WR_NS_PER_MS;
}

/* --- Threads that emit. ---------------------------------------------------------------------- */

static pthread_t threads[THREADS];
static uint64_t written[THREADS];

/* Until the event is off. A thread that is refused goes on, so that each loss shows. */
static void *emit_flat_out(void *count)
{
    while (weir_event_is_enabled(&weir_events_Unit.Pair))
        *(uint64_t *)count += WEIR_EMIT(Unit, Pair, *(uint64_t *)count, 0);
    return NULL;
}

static void emitters_start(void)
{
    memset(written, 0, sizeof written);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, emit_flat_out, &written[i]), 0);
}

static void emitters_join(void)
{
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static struct weir_session *start_all_parked(const struct weir_session_config *config)
{
    gate_close(&gate);
    struct weir_session *session = unit_start(config);
    emitters_start();
    while (unit_stats(session).parked_now < THREADS)
        usleep(1000);
    return session;
}

/* Ends a session that is stopped. The threads' own counts are the session's. */
static void check_counts(struct weir_session *session, uint64_t aborted)
{
    struct weir_counts counts = unit_counts(session);
    uint64_t sum = 0;
    for (int i = 0; i < THREADS; i++)
        sum += written[i];
    assert_int_equal(counts.written + counts.lost[WEIR_LOSS_SINK_FAILED], sum);
    assert_int_equal(counts.lost[WEIR_LOSS_ABORTED], aborted);
    assert_int_equal(counts.attempted, sum + aborted);
    assert_int_equal(weir_session_destroy(session), WEIR_OK);
}

/* --- Both stops. ----------------------------------------------------------------------------- */

/* A stop on its own thread. */
struct stop {
    struct weir_session *session;
    bool is_polled;
    pthread_t thread;
    enum weir_result result;
};

static void *stop_run(void *argument)
{
    struct stop *stop = argument;
    uint64_t ms = stop->session->config.stop_ms_max;
    uint64_t deadline_ns = wr_os_monotonic_ns() + ms * WR_NS_PER_MS;
    if (!stop->is_polled)
        stop->result = weir_session_stop(stop->session, NULL);
    else
        while ((stop->result = wr_session_stop_try(stop->session, deadline_ns, NULL)) == WEIR_BUSY)
            usleep(200);
    return NULL;
}

static void stop_begin(struct stop *stop, struct weir_session *session, bool is_polled)
{
    *stop = (struct stop){.session = session, .is_polled = is_polled};
    assert_int_equal(pthread_create(&stop->thread, NULL, stop_run, stop), 0);
}

static enum weir_result stop_end(struct stop *stop)
{
    pthread_join(stop->thread, NULL);
    return stop->result;
}

static void wait_until_off(void)
{
    while (weir_event_is_enabled(&weir_events_Unit.Pair))
        usleep(200);
}

/* --- The tests. ------------------------------------------------------------------------------ */

static void stop_busy_session(enum weir_wake wake, bool is_polled)
{
    struct weir_session_config config = linger_config(wake);
    struct weir_session *session = unit_start(&config);
    struct stop stop;
    emitters_start();
    while (unit_stats(session).parks < 2 * THREADS)
        usleep(1000);
    stop_begin(&stop, session, is_polled);
    assert_int_equal(stop_end(&stop), WEIR_OK);
    emitters_join();
    check_counts(session, 0);
}

static void test_busy(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++)
        for (uint32_t wake = 0; wake < WR_WAKE_COUNT; wake++)
            stop_busy_session((enum weir_wake)wake, round % 2);
}

static void on_before(void *context)
{
    (void)context;
}

/* Long enough that a stop finds all threads here, and that what they were granted goes to others. */
static void on_after(void *context)
{
    (void)context;
    usleep(3000);
}

static void test_busy_with_hooks(void **state)
{
    (void)state;
    const struct weir_park_hooks hooks = {sizeof hooks, on_before, on_after, NULL};
    assert_int_equal(weir_park_hooks_set(&hooks), WEIR_OK);
    test_busy(state);
    assert_int_equal(weir_park_hooks_set(NULL), WEIR_OK);
}

/* No new event is admitted, and another thread's stop by id has the same result. */
static void test_served_late(void **state)
{
    (void)state;
    for (int is_polled = 0; is_polled < 2; is_polled++) {
        struct weir_session_config config = linger_config(WEIR_WAKE_RELAY);
        struct weir_session *session = start_all_parked(&config);
        struct stop stop;
        uint64_t id = weir_session_id(session);
        stop_begin(&stop, session, is_polled);
        wait_until_off();
        assert_false(WEIR_EMIT(Unit, Pair, 1, 2));
        usleep(20000);
        assert_int_equal(unit_stats(session).parked_now, THREADS);
        gate_open(&gate);
        assert_int_equal(weir_session_stop_id(id, NULL), WEIR_OK);
        assert_int_equal(stop_end(&stop), WEIR_OK);
        emitters_join();
        check_counts(session, 0);
    }
}

/* The wait is over at half of stop_ms_max. */
static void test_stuck_sink(void **state)
{
    (void)state;
    for (int is_polled = 0; is_polled < 2; is_polled++) {
        struct weir_session_config config = linger_config(WEIR_WAKE_RELAY);
        config.stop_ms_max = 2000;
        struct weir_session *session = start_all_parked(&config);
        struct stop stop;
        uint64_t start_ns = wr_os_monotonic_ns();
        stop_begin(&stop, session, is_polled);
        emitters_join();
        uint64_t ms = ms_since(start_ns);
        gate_open(&gate);
        assert_int_equal(stop_end(&stop), WEIR_OK);
        assert_in_range(ms, 1000, 1900);
        check_counts(session, THREADS);
    }
}

/* A stop whose time is over does not wait, and the next one does not begin to. */
static void test_past_deadline(void **state)
{
    (void)state;
    struct weir_session_config config = linger_config(WEIR_WAKE_RELAY);
    struct weir_session *session = start_all_parked(&config);
    assert_int_equal(wr_session_stop_try(session, 1, NULL), WEIR_TIMEOUT);
    emitters_join();
    gate_open(&gate);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    check_counts(session, THREADS);
}

/* Then nobody is served any more, long before the stop's time is over. */
static void test_sink_fails(void **state)
{
    (void)state;
    for (int is_polled = 0; is_polled < 2; is_polled++) {
        struct weir_session_config config = linger_config(WEIR_WAKE_RELAY);
        struct weir_session *session = start_all_parked(&config);
        struct stop stop;
        uint64_t start_ns = wr_os_monotonic_ns();
        stop_begin(&stop, session, is_polled);
        wait_until_off();
        __atomic_store_n(&sink_fails, 1, __ATOMIC_RELEASE);
        gate_open(&gate);
        assert_int_equal(stop_end(&stop), WEIR_IO);
        emitters_join();
        __atomic_store_n(&sink_fails, 0, __ATOMIC_RELEASE);
        assert_true(ms_since(start_ns) < config.stop_ms_max / 2);
        check_counts(session, unit_counts(session).lost[WEIR_LOSS_ABORTED]);
    }
}

/* A child that is forked meanwhile serves nobody. */
static void test_fork(void **state)
{
    (void)state;
    struct weir_session_config config = linger_config(WEIR_WAKE_RELAY);
    struct weir_session *session = start_all_parked(&config);
    struct stop stop;
    stop_begin(&stop, session, false);
    wait_until_off();
    assert_int_not_equal(wr_u64_load_relaxed(&wr_slots_lingering), 0);
    pid_t child = fork();
    if (child == 0)
        _exit(wr_u64_load_relaxed(&wr_slots_lingering) == 0 ? 0 : 1);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    gate_open(&gate);
    assert_int_equal(stop_end(&stop), WEIR_OK);
    assert_int_equal(wr_u64_load_relaxed(&wr_slots_lingering), 0);
    emitters_join();
    check_counts(session, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_busy),          cmocka_unit_test(test_busy_with_hooks),
        cmocka_unit_test(test_served_late),   cmocka_unit_test(test_stuck_sink),
        cmocka_unit_test(test_past_deadline), cmocka_unit_test(test_sink_fails),
        cmocka_unit_test(test_fork),
    };
    return cmocka_run_group_tests(tests, unit_setup, NULL);
}
