/* A stop that is polled (wr_session_stop_try()): it never waits, and ends as one that does. */
#define _GNU_SOURCE
#include "unit.h"

#include <gate.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>
#include "os/os.h"
#include "session/session.h"

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

#define BUSY_EVENTS(EVENT, P) EVENT(P, Turn, 1, 0, WEIR_LEVEL_INFO, 0x1, (u64, Number))
WEIR_PROVIDER(Busy, BUSY_EVENTS)
WEIR_PROVIDER_DEFINE(Busy, BUSY_EVENTS)

static struct gate gate = GATE_INIT;

static bool pass(void *context, const void *bytes, size_t count)
{
    (void)context;
    (void)bytes;
    gate_pass(&gate, count);
    return true;
}

static struct weir_session_config gate_config(enum weir_mode mode)
{
    struct weir_session_config config = unit_config();
    config.mode = mode;
    config.segment_bytes = 4096;
    config.budget_bytes = 16 * config.segment_bytes;
    config.memory_bytes_max = 0;
    config.sink.write = pass;
    config.flush_ms = 1;
    config.stop_ms_max = 60000;
    return config;
}

static struct weir_session *start_stuck(enum weir_mode mode)
{
    struct weir_session_config config = gate_config(mode);
    gate_close(&gate);
    return unit_start(&config);
}

/* Far away: a try that waits for it fails the test. */
static uint64_t deadline_ns(void)
{
    return wr_os_monotonic_ns() + UINT64_C(300000) * WR_NS_PER_MS;
}

static enum weir_result try_until_over(struct weir_session *session)
{
    uint64_t until_ns = deadline_ns();
    enum weir_result result;
    while ((result = wr_session_stop_try(session, until_ns, NULL)) == WEIR_BUSY)
        usleep(200);
    return result;
}

static uint64_t lost(const struct weir_counts *counts)
{
    uint64_t sum = 0;
    for (uint32_t cause = 0; cause < WEIR_LOSS_COUNT; cause++)
        sum += counts->lost[cause];
    return sum;
}

/* --- A sink that blocks. --------------------------------------------------------------------- */

static __thread bool is_poller;
static unsigned hooked_pollers;
static sem_t has_waited;

static void on_before(void *context)
{
    (void)context;
    hooked_pollers += is_poller;
    if (!is_poller)
        sem_post(&has_waited);
}

static void on_after(void *context)
{
    (void)context;
}

static void test_stuck_sink(void **state)
{
    (void)state;
    const struct weir_park_hooks hooks = {sizeof hooks, on_before, on_after, NULL};
    struct weir_session *session = start_stuck(WEIR_MODE_DROP);
    assert_true(WEIR_EMIT(Unit, Plain));
    assert_int_equal(weir_park_hooks_set(&hooks), WEIR_OK);
    is_poller = true;
    uint64_t until_ns = deadline_ns();
    for (int i = 0; i < 100; i++)
        assert_int_equal(wr_session_stop_try(session, until_ns, NULL), WEIR_BUSY);
    assert_false(weir_event_is_enabled(&weir_events_Unit.Plain));
    assert_int_equal(weir_session_start(session, NULL), WEIR_BAD_STATE);
    gate_open(&gate);
    assert_int_equal(try_until_over(session), WEIR_OK);
    assert_true(wr_os_monotonic_ns() < until_ns);
    assert_int_equal(wr_session_stop_try(session, 0, NULL), WEIR_OK); /* it stays over */
    assert_int_equal(hooked_pollers, 0);
    is_poller = false;
    assert_int_equal(weir_park_hooks_set(NULL), WEIR_OK);
    assert_int_equal(unit_counts(session).written, 1);
    assert_int_equal(weir_session_destroy(session), WEIR_OK);
}

/* It gives up, and either kind of stop goes on. */
static void test_deadline(void **state)
{
    (void)state;
    for (int is_polled = 0; is_polled < 2; is_polled++) {
        struct weir_session *session = start_stuck(WEIR_MODE_DROP);
        struct weir_error error = {""};
        assert_true(WEIR_EMIT(Unit, Plain));
        assert_int_equal(wr_session_stop_try(session, deadline_ns(), NULL), WEIR_BUSY);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(wr_session_stop_try(session, 1, &error), WEIR_TIMEOUT);
            assert_non_null(strstr(error.text, "the drain is not done"));
        }
        assert_int_equal(wr_session_stop_try(session, deadline_ns(), NULL), WEIR_BUSY);
        assert_int_equal(wr_session_stop_try(session, 1, NULL), WEIR_TIMEOUT);
        gate_open(&gate);
        assert_int_equal(is_polled ? try_until_over(session) : weir_session_stop(session, NULL),
                         WEIR_OK);
        assert_int_equal(unit_counts(session).written, 1);
        assert_int_equal(weir_session_destroy(session), WEIR_OK);
    }
}

static void test_not_started(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    struct weir_session *session;
    assert_int_equal(weir_session_create(&config, &session, NULL), WEIR_OK);
    assert_int_equal(wr_session_stop_try(session, deadline_ns(), NULL), WEIR_BAD_STATE);
    weir_session_destroy(session);
}

/* --- Beside another thread's stop. ----------------------------------------------------------- */

static void *stop_id(void *id)
{
    return (void *)(uintptr_t)weir_session_stop_id(*(uint64_t *)id, NULL);
}

/* Whichever of the two begins, the other has the same result. */
static void test_stop_of_another_thread(void **state)
{
    (void)state;
    const struct weir_park_hooks hooks = {sizeof hooks, on_before, on_after, NULL};
    for (int is_first = 0; is_first < 2; is_first++) {
        struct weir_session *session = start_stuck(WEIR_MODE_DROP);
        uint64_t id = weir_session_id(session);
        pthread_t other;
        void *result;
        assert_true(WEIR_EMIT(Unit, Plain));
        assert_int_equal(sem_init(&has_waited, 0, 0), 0);
        assert_int_equal(weir_park_hooks_set(&hooks), WEIR_OK);
        is_poller = true;
        if (is_first)
            assert_int_equal(wr_session_stop_try(session, deadline_ns(), NULL), WEIR_BUSY);
        assert_int_equal(pthread_create(&other, NULL, stop_id, &id), 0);
        sem_wait(&has_waited); /* it is in its stop */
        assert_int_equal(wr_session_stop_try(session, deadline_ns(), NULL), WEIR_BUSY);
        gate_open(&gate);
        assert_int_equal(try_until_over(session), WEIR_OK);
        pthread_join(other, &result);
        assert_int_equal((uintptr_t)result, WEIR_OK);
        assert_int_equal(hooked_pollers, 0);
        is_poller = false;
        assert_int_equal(weir_park_hooks_set(NULL), WEIR_OK);
        assert_int_equal(unit_counts(session).written, 1);
        assert_int_equal(weir_session_destroy(session), WEIR_OK);
    }
}

/* --- Emitters. ------------------------------------------------------------------------------- */

/* Until it is parked, and then aborted. */
static void *emit_until_off(void *emitted)
{
    uint64_t *count = emitted;
    while (WEIR_EMIT(Unit, Pair, *count, 0))
        ++*count;
    return NULL;
}

static void test_parked_threads_go_on(void **state)
{
    (void)state;
    struct weir_session *session = start_stuck(WEIR_MODE_BLOCK);
    pthread_t threads[3];
    uint64_t emitted[3] = {0};
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, emit_until_off, &emitted[i]), 0);
    while (unit_stats(session).parked_now < 3)
        usleep(1000);
    assert_int_equal(wr_session_stop_try(session, deadline_ns(), NULL), WEIR_BUSY);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    gate_open(&gate);
    assert_int_equal(try_until_over(session), WEIR_OK);
    struct weir_counts counts = unit_counts(session);
    assert_int_equal(counts.written, emitted[0] + emitted[1] + emitted[2]);
    assert_int_equal(counts.lost[WEIR_LOSS_ABORTED], 3);
    assert_int_equal(counts.attempted, counts.written + 3);
    weir_session_destroy(session);
}

#define EMITTERS 4

static uint32_t may_end; /* ANY */

static void *emit_busily(void *written)
{
    for (uint64_t i = 0; !__atomic_load_n(&may_end, __ATOMIC_RELAXED); i++) {
        WEIR_EMIT(Busy, Turn, i);
        *(uint64_t *)written += WEIR_EMIT(Unit, Pair, i, 0);
    }
    return NULL;
}

/* The threads are in their pins for another session most of the time, and go on there. */
static void test_busy_emitters(void **state)
{
    (void)state;
    struct weir_session_config config = gate_config(WEIR_MODE_DROP);
    pthread_t threads[EMITTERS];
    uint64_t emitted[EMITTERS] = {0}, written = 0, all = 0;
    config.providers = "Busy";
    struct weir_session *busy = unit_start(&config);
    __atomic_store_n(&may_end, 0, __ATOMIC_RELAXED);
    for (int i = 0; i < EMITTERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, emit_busily, &emitted[i]), 0);
    config.providers = "Unit";
    for (unsigned round = 0; round < 60; round++) {
        config.mode = (enum weir_mode)(round % 2);
        struct weir_session *session = unit_start(&config);
        usleep(round % 7 * 300);
        assert_int_equal(try_until_over(session), WEIR_OK);
        struct weir_counts counts = unit_counts(session);
        assert_int_equal(counts.attempted, counts.written + lost(&counts));
        written += counts.written;
        assert_int_equal(weir_session_destroy(session), WEIR_OK);
    }
    __atomic_store_n(&may_end, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < EMITTERS; i++) {
        pthread_join(threads[i], NULL);
        all += emitted[i];
    }
    assert_int_equal(written, all);
    weir_session_destroy(busy);
}

/* --- Providers. ------------------------------------------------------------------------------ */

static unsigned calls;
static bool is_on;

static void on_change(void *context, bool is_enabled, uint8_t level, uint64_t keywords)
{
    (void)context;
    (void)level;
    (void)keywords;
    is_on = is_enabled;
    calls++;
}

/* A try calls none: the destroy does. */
static void test_callbacks_come_later(void **state)
{
    (void)state;
    struct weir_provider *provider;
    struct weir_session_config config = unit_config();
    assert_int_equal(weir_provider_create("Asked", on_change, NULL, &provider, NULL), WEIR_OK);
    config.providers = "Asked";
    struct weir_session *session = unit_start(&config);
    assert_true(is_on);
    assert_int_equal(try_until_over(session), WEIR_OK);
    assert_int_equal(calls, 1);
    assert_int_equal(weir_session_destroy(session), WEIR_OK);
    assert_int_equal(calls, 2);
    assert_false(is_on);
    weir_provider_destroy(provider);
}

static int setup(void **state)
{
    return weir_provider_register(&weir_provider_Busy, NULL, NULL, NULL, NULL) == WEIR_OK
               ? unit_setup(state)
               : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stuck_sink),           cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_not_started),          cmocka_unit_test(test_stop_of_another_thread),
        cmocka_unit_test(test_parked_threads_go_on), cmocka_unit_test(test_busy_emitters),
        cmocka_unit_test(test_callbacks_come_later),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
