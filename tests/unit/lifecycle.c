/* The life of a session: any order of calls has a defined result. */
#define _GNU_SOURCE
#include "unit.h"

#include <gate.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

static void test_created_is_inert(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    struct weir_session *session;
    assert_int_equal(weir_session_create(&config, &session, NULL), WEIR_OK);
    assert_false(weir_event_is_enabled(&weir_events_Unit.Plain));
    struct weir_error error = {""};
    assert_int_equal(weir_session_stop(session, &error), WEIR_BAD_STATE);
    assert_string_equal(error.text, "the session was not started");
    assert_int_equal(unit_counts(session).attempted, 0);
    weir_session_destroy(session);
}

static void test_start_twice_and_after_stop(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    struct weir_session *session = unit_start(&config);
    struct weir_error error = {""};
    assert_int_equal(weir_session_start(session, &error), WEIR_BAD_STATE);
    assert_non_null(strstr(error.text, "started before"));
    const void *bytes;
    uint64_t count;
    assert_int_equal(weir_session_memory(session, &bytes, &count), WEIR_BAD_STATE);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(weir_session_start(session, &error), WEIR_BAD_STATE);
    assert_int_equal(weir_session_memory(session, &bytes, &count), WEIR_OK);
    assert_true(count > 100);
    assert_memory_equal(bytes, "Nettrace", 8);
    assert_int_equal(((const unsigned char *)bytes)[count - 1], 1); /* the end tag */
    weir_session_destroy(session);
}

static void test_sixty_four_sessions(void **state)
{
    (void)state;
    struct weir_session *sessions[65];
    struct weir_session_config config = unit_config();
    config.budget_bytes = 65536;
    struct weir_error error = {""};
    for (int i = 0; i < 65; i++)
        assert_int_equal(weir_session_create(&config, &sessions[i], NULL), WEIR_OK);
    for (int i = 0; i < 64; i++)
        assert_int_equal(weir_session_start(sessions[i], NULL), WEIR_OK);
    assert_int_equal(weir_session_start(sessions[64], &error), WEIR_LIMIT);
    assert_non_null(strstr(error.text, "64"));
    assert_true(WEIR_EMIT(Unit, Pair, 1, 2));
    for (int i = 0; i < 64; i++) {
        assert_int_equal(weir_session_stop(sessions[i], NULL), WEIR_OK);
        assert_int_equal(unit_counts(sessions[i]).written, 1);
    }
    for (int i = 0; i < 65; i++)
        weir_session_destroy(sessions[i]);
}

static void *stop(void *session)
{
    return (void *)(uintptr_t)weir_session_stop(session, NULL);
}

static void test_two_stops_at_once(void **state)
{
    (void)state;
    for (int round = 0; round < 50; round++) {
        struct weir_session_config config = unit_config();
        struct weir_session *session = unit_start(&config);
        WEIR_EMIT(Unit, Plain);
        pthread_t other;
        assert_int_equal(pthread_create(&other, NULL, stop, session), 0);
        assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
        void *result;
        pthread_join(other, &result);
        assert_int_equal((uintptr_t)result, WEIR_OK);
        assert_int_equal(unit_counts(session).written, 1);
        weir_session_destroy(session);
    }
}

static void *stop_often(void *session)
{
    enum weir_result result = WEIR_OK;
    for (int i = 0; i < 20000 && result == WEIR_OK; i++)
        result = weir_session_stop(session, NULL);
    return (void *)(uintptr_t)result;
}

/* The memory of a stopped session can be read while other threads stop it again. */
static void test_memory_during_other_stops(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    struct weir_session *session = unit_start(&config);
    pthread_t other;
    void *result = NULL;
    const void *bytes;
    uint64_t count;
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(pthread_create(&other, NULL, stop_often, session), 0);
    while (pthread_tryjoin_np(other, &result) != 0)
        assert_int_equal(weir_session_memory(session, &bytes, &count), WEIR_OK);
    assert_int_equal((uintptr_t)result, WEIR_OK);
    weir_session_destroy(session);
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool stuck(void *context, const void *bytes, size_t count)
{
    (void)bytes;
    gate_pass(context, count);
    return true;
}

/* A sink that blocks while the gate is closed. */
static struct weir_session_config stuck_config(struct gate *gate)
{
    struct weir_session_config config = unit_config();
    config.memory_bytes_max = 0;
    config.sink.write = stuck;
    config.sink.context = gate;
    return config;
}

/* The sink does not return: the stop gives up at its deadline, and the host continues. */
static void test_stop_with_a_stuck_sink(void **state)
{
    (void)state;
    static struct gate gate = GATE_INIT;
    struct weir_session_config config = stuck_config(&gate);
    config.stop_ms_max = 200;
    config.flush_ms = 10;
    struct weir_session *session = unit_start(&config);
    gate_close(&gate);
    WEIR_EMIT(Unit, Plain);
    uint64_t before = now_ms();
    struct weir_error error = {""};
    assert_int_equal(weir_session_stop(session, &error), WEIR_TIMEOUT);
    assert_non_null(strstr(error.text, "after stop_ms_max (200 ms) the drain is not done"));
    assert_true(now_ms() - before < 5000);
    assert_false(weir_event_is_enabled(&weir_events_Unit.Plain));
    assert_int_equal(weir_session_stop(session, NULL), WEIR_TIMEOUT);
    gate_open(&gate); /* the sink goes on: another stop finds the stream complete */
    while (weir_session_stop(session, NULL) == WEIR_TIMEOUT) {
    }
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(unit_counts(session).written, 1);
    weir_session_destroy(session);
}

static void *stop_until_done(void *session)
{
    enum weir_result result = weir_session_stop(session, NULL);
    while (result == WEIR_TIMEOUT)
        result = weir_session_stop(session, NULL);
    return (void *)(uintptr_t)result;
}

/* Several threads resume a stop that timed out: one does it, and the others get its result. */
static void test_stops_after_a_timeout(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        static struct gate gate = GATE_INIT;
        struct weir_session_config config = stuck_config(&gate);
        config.stop_ms_max = 20;
        struct weir_session *session = unit_start(&config);
        gate_close(&gate);
        WEIR_EMIT(Unit, Plain);
        assert_int_equal(weir_session_stop(session, NULL), WEIR_TIMEOUT);
        pthread_t threads[3];
        for (int i = 0; i < 3; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, stop_until_done, session), 0);
        gate_open(&gate);
        for (int i = 0; i < 3; i++) {
            void *result;
            pthread_join(threads[i], &result);
            assert_int_equal((uintptr_t)result, WEIR_OK);
        }
        weir_session_destroy(session);
    }
}

/* A start does not wait for such a sink either. */
static void test_start_with_a_stuck_sink(void **state)
{
    (void)state;
    static struct gate gate = GATE_INIT;
    struct weir_session_config config = stuck_config(&gate);
    gate_close(&gate);
    struct weir_session *session = unit_start(&config);
    assert_true(WEIR_EMIT(Unit, Plain));
    gate_open(&gate);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    weir_session_destroy(session);
}

struct rundown {
    enum weir_result stop_result;
    uint64_t events;
    uint64_t written;
};

/* Runs on the drain thread, so the test itself checks the results. */
static void rundown(void *context, struct weir_session *session)
{
    struct rundown *rundown = context;
    static char large[40000];
    rundown->stop_result = weir_session_stop(session, NULL);
    weir_session_destroy(session); /* has no effect here */
    for (uint64_t i = 0; i < rundown->events; i++)
        rundown->written += Unit_Pair(i, i);
    memset(large, 'x', sizeof large - 1);
    rundown->written += Unit_Text(large); /* 80,000 bytes of UTF-16: refused */
    large[32766] = 0;
    rundown->written += Unit_Text(large); /* larger than a segment: written */
}

/* The rundown is several times the budget, and its events go only to this session. */
static void test_rundown(void **state)
{
    (void)state;
    struct rundown context = {.events = 200000};
    struct weir_session_config config = unit_config();
    struct weir_session *other = unit_start(&config);
    config.rundown = rundown;
    config.rundown_context = &context;
    struct weir_session *session = unit_start(&config);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(context.stop_result, WEIR_BAD_STATE);
    struct weir_counts counts = unit_counts(session);
    assert_int_equal(context.written, context.events + 1);
    assert_int_equal(counts.written, context.events + 1);
    assert_int_equal(counts.lost[WEIR_LOSS_TOO_LARGE], 1);
    weir_session_destroy(session);
    assert_int_equal(unit_counts(other).attempted, 0);
    weir_session_destroy(other);
}

/* A sink whose function emits events, for example to trace its own output. */
struct emitting_sink {
    uint64_t calls;
    uint64_t written; /* of the events that it emitted */
    unsigned char last;
};

static bool emit_and_take(void *context, const void *bytes, size_t count)
{
    struct emitting_sink *sink = context;
    sink->calls++;
    sink->written += Unit_Text("written");
    sink->last = ((const unsigned char *)bytes)[count - 1];
    return true;
}

/* Calls that the sink's function makes and that are refused while events are on. */
struct asking_sink {
    struct weir_session *session; /* ANY: set once it has started */
    uint64_t emitted, written;
    enum weir_result stop;
    enum weir_loss loss;
    uint32_t is_done; /* ANY */
};

static bool ask_and_take(void *context, const void *bytes, size_t count)
{
    struct asking_sink *sink = context;
    (void)bytes;
    (void)count;
    struct weir_session *session = __atomic_load_n(&sink->session, __ATOMIC_ACQUIRE);
    if (!session || __atomic_load_n(&sink->is_done, __ATOMIC_RELAXED))
        return true;
    sink->written += WEIR_EMIT(Unit, Pair, 1, 2);
    sink->loss = weir_last_loss();
    sink->stop = weir_session_stop(session, NULL);
    weir_session_destroy(session); /* has no effect here */
    __atomic_store_n(&sink->is_done, 1, __ATOMIC_RELEASE);
    return true;
}

static void test_calls_in_a_sink(void **state)
{
    (void)state;
    struct asking_sink sink = {.loss = WEIR_LOSS_COUNT};
    struct weir_session_config config = unit_config();
    config.memory_bytes_max = 0;
    config.sink.write = ask_and_take;
    config.sink.context = &sink;
    config.flush_ms = 1;
    struct weir_session *session = unit_start(&config);
    __atomic_store_n(&sink.session, session, __ATOMIC_RELEASE);
    uint64_t written = 0;
    for (int ms = 0; ms < 20000 && !__atomic_load_n(&sink.is_done, __ATOMIC_ACQUIRE); ms++) {
        written += WEIR_EMIT(Unit, Pair, 3, 4);
        usleep(1000);
    }
    assert_int_equal(sink.stop, WEIR_BAD_STATE);
    assert_int_equal(sink.loss, WEIR_LOSS_NESTED);
    assert_int_equal(sink.written, 0);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(unit_counts(session).lost[WEIR_LOSS_NESTED], 1);
    assert_int_equal(unit_counts(session).written, written);
    weir_session_destroy(session);
}

static void test_rundown_into_a_sink_that_emits(void **state)
{
    (void)state;
    struct rundown context = {.events = 100000};
    struct emitting_sink sink = {0};
    struct weir_session_config config = unit_config();
    config.memory_bytes_max = 0;
    config.sink.write = emit_and_take;
    config.sink.context = &sink;
    config.rundown = rundown;
    config.rundown_context = &context;
    struct weir_session *session = unit_start(&config);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_true(sink.calls > 2);
    assert_int_equal(sink.written, 0);
    assert_int_equal(sink.last, 1); /* the end tag */
    assert_int_equal(unit_counts(session).written, context.events + 1);
    weir_session_destroy(session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_created_is_inert),
        cmocka_unit_test(test_start_twice_and_after_stop),
        cmocka_unit_test(test_sixty_four_sessions),
        cmocka_unit_test(test_two_stops_at_once),
        cmocka_unit_test(test_memory_during_other_stops),
        cmocka_unit_test(test_rundown),
        cmocka_unit_test(test_stop_with_a_stuck_sink),
        cmocka_unit_test(test_start_with_a_stuck_sink),
        cmocka_unit_test(test_stops_after_a_timeout),
        cmocka_unit_test(test_rundown_into_a_sink_that_emits),
        cmocka_unit_test(test_calls_in_a_sink),
    };
    return cmocka_run_group_tests(tests, unit_setup, NULL);
}
