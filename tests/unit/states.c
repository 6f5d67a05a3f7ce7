/* The arrows of a session's life that no other test takes: calls during a start, a start that fails,
 * and calls during the rundown. And a slot that sessions have one after the other. */
#define _GNU_SOURCE
#include "unit.h"

#include <gate.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

static enum weir_session_state state_of(const struct weir_session *session)
{
    struct weir_session_info infos[4];
    struct weir_session_table table = WEIR_SESSION_TABLE_INIT;
    table.sessions = infos;
    table.sessions_max = 4;
    assert_int_equal(weir_session_list(&table), WEIR_OK);
    uint32_t i = 0;
    while (i < table.session_count && infos[i].session_id != weir_session_id(session))
        i++;
    assert_true(i < table.session_count);
    return infos[i].state;
}

/* --- STARTING. ------------------------------------------------------------------------------- */

static struct weir_session *starting; /* NULL: no start is waited for */
static pthread_t other;
static sem_t has_asked;
static enum weir_session_state state_asked;
static enum weir_result start_result, destroy_result;

/* The stop waits until the session is started. */
static void *ask_and_stop(void *argument)
{
    struct weir_session *session = argument;
    state_asked = state_of(session);
    start_result = weir_session_start(session, NULL);
    destroy_result = weir_session_destroy(session);
    sem_post(&has_asked);
    return (void *)(uintptr_t)weir_session_stop(session, NULL);
}

/* Called while the start waits for the drain thread. */
static void on_before(void *context)
{
    struct weir_session *session = starting;
    (void)context;
    if (!session)
        return;
    starting = NULL; /* before the other thread, whose stop waits too */
    pthread_create(&other, NULL, ask_and_stop, session);
    sem_wait(&has_asked);
}

static void on_after(void *context)
{
    (void)context;
}

/* False: the drain thread ran so soon that the start did not wait. */
static bool start_is_met(void)
{
    struct weir_session_config config = unit_config();
    struct weir_session *session;
    void *stop_result = (void *)(uintptr_t)WEIR_OK;
    assert_int_equal(weir_session_create(&config, &session, NULL), WEIR_OK);
    starting = session;
    assert_int_equal(weir_session_start(session, NULL), WEIR_OK);
    bool is_met = starting == NULL;
    if (is_met)
        pthread_join(other, &stop_result);
    starting = NULL;
    assert_int_equal((uintptr_t)stop_result, WEIR_OK);
    assert_int_equal(weir_session_destroy(session), WEIR_OK);
    return is_met;
}

static void test_calls_while_it_starts(void **state)
{
    (void)state;
    struct weir_park_hooks hooks = WEIR_PARK_HOOKS_INIT;
    hooks.before = on_before;
    hooks.after = on_after;
    assert_int_equal(sem_init(&has_asked, 0, 0), 0);
    assert_int_equal(weir_park_hooks_set(&hooks), WEIR_OK);
    while (!start_is_met()) {
    }
    assert_int_equal(weir_park_hooks_set(NULL), WEIR_OK);
    assert_int_equal(state_asked, WEIR_SESSION_CREATED);
    assert_int_equal(start_result, WEIR_BAD_STATE);
    assert_int_equal(destroy_result, WEIR_BAD_STATE);
}

/* --- STARTING, then CLOSED. ------------------------------------------------------------------ */

/* The file cannot take its name: the drain thread, which runs already, gives up. */
static void test_start_that_fails(void **state)
{
    (void)state;
    char directory[] = "/tmp/weir-states-XXXXXX", path[64];
    struct weir_session_config config = unit_config();
    struct weir_session *session;
    struct weir_error error = {""};
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/stream", directory);
    config.memory_bytes_max = 0;
    config.sink.file = path;
    assert_int_equal(weir_session_create(&config, &session, NULL), WEIR_OK);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(weir_session_start(session, &error), WEIR_IO);
    assert_non_null(strstr(error.text, path));
    assert_false(weir_event_is_enabled(&weir_events_Unit.Plain));
    assert_int_equal(state_of(session), WEIR_SESSION_STOPPED);
    assert_int_equal(weir_session_start(session, NULL), WEIR_BAD_STATE);
    assert_int_equal(weir_session_destroy(session), WEIR_OK);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(directory), 0); /* the temporary file is gone */
}

/* --- STOPPING. ------------------------------------------------------------------------------- */

static void rundown(void *context, struct weir_session *session)
{
    (void)session;
    gate_pass(context, 1);
    Unit_Pair(1, 2);
}

static void *stop(void *session)
{
    return (void *)(uintptr_t)weir_session_stop(session, NULL);
}

static void refused_while_stopping(struct weir_session *session)
{
    const struct weir_enable enable = {.provider = "Unit"};
    const void *bytes;
    uint64_t count;
    assert_int_equal(state_of(session), WEIR_SESSION_STOPPED);
    assert_int_equal(weir_session_start(session, NULL), WEIR_BAD_STATE);
    assert_int_equal(weir_session_update(session, &enable, 1, sizeof enable, NULL), WEIR_BAD_STATE);
    assert_int_equal(weir_session_memory(session, &bytes, &count), WEIR_BAD_STATE);
}

/* A session lives its whole life while another one is in its rundown. A second stop of that one
 * waits for the first. */
static void test_another_session_in_the_rundown(void **state)
{
    (void)state;
    static struct gate gate = GATE_INIT;
    struct weir_session_config config = unit_config();
    config.rundown = rundown;
    config.rundown_context = &gate;
    config.stop_ms_max = 60000;
    struct weir_session *first = unit_start(&config);
    pthread_t stoppers[2];
    gate_close(&gate);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&stoppers[i], NULL, stop, first), 0);
    assert_true(gate_wait(&gate, 20));
    refused_while_stopping(first);
    assert_false(weir_event_is_enabled(&weir_events_Unit.Pair));
    config.rundown = NULL;
    struct weir_session *second = unit_start(&config);
    assert_true(WEIR_EMIT(Unit, Pair, 3, 4));
    assert_int_equal(weir_session_stop(second, NULL), WEIR_OK);
    assert_int_equal(unit_counts(second).attempted, 1);
    assert_int_equal(unit_counts(second).written, 1);
    assert_int_equal(weir_session_destroy(second), WEIR_OK);
    assert_int_equal(unit_counts(first).attempted, 0);
    gate_open(&gate);
    for (int i = 0; i < 2; i++) {
        void *result;
        pthread_join(stoppers[i], &result);
        assert_int_equal((uintptr_t)result, WEIR_OK);
    }
    assert_int_equal(unit_counts(first).written, 1);
    weir_session_destroy(first);
}

/* --- One slot. ------------------------------------------------------------------------------- */

/* All slots but one are taken, so each session gets the slot of the one before, in which this thread
 * had a lane. */
static void test_a_slot_again_and_again(void **state)
{
    (void)state;
    struct weir_session *others[63];
    struct weir_session_config config = unit_config();
    config.memory_bytes_max = 0;
    config.sink.write = unit_discard;
    config.budget_bytes = 65536;
    config.unknown_providers_allowed = true;
    config.providers = "Other";
    for (int i = 0; i < 63; i++)
        others[i] = unit_start(&config);
    config.providers = "Unit";
    for (uint64_t i = 0; i < 500; i++) {
        config.mode = (enum weir_mode)(i % 3);
        struct weir_session *session = unit_start(&config);
        for (uint64_t event = 0; event <= i % 4; event++)
            assert_true(WEIR_EMIT(Unit, Pair, i, event));
        assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
        assert_int_equal(unit_counts(session).attempted, i % 4 + 1);
        assert_int_equal(unit_counts(session).written, i % 4 + 1);
        weir_session_destroy(session);
    }
    for (int i = 0; i < 63; i++) {
        assert_int_equal(unit_counts(others[i]).attempted, 0);
        weir_session_destroy(others[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls_while_it_starts),
        cmocka_unit_test(test_start_that_fails),
        cmocka_unit_test(test_another_session_in_the_rundown),
        cmocka_unit_test(test_a_slot_again_and_again),
    };
    return cmocka_run_group_tests(tests, unit_setup, NULL);
}
