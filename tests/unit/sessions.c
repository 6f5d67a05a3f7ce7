/* Sessions by id: the list, and stops by those who do not own the session. */
#include "unit.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

static struct weir_session_table listed(struct weir_session_info *infos, uint32_t count)
{
    struct weir_session_table table = WEIR_SESSION_TABLE_INIT;
    table.sessions = infos;
    table.sessions_max = count;
    assert_int_equal(weir_session_list(&table), WEIR_OK);
    return table;
}

static void test_list(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    struct weir_session_info infos[2];
    config.name = "first";
    struct weir_session *first = unit_start(&config);
    config.name = NULL;
    config.mode = WEIR_MODE_OVERWRITE;
    config.memory_bytes_max = 0;
    config.sink.write = unit_discard;
    struct weir_session *second = NULL;
    assert_int_equal(weir_session_create(&config, &second, NULL), WEIR_OK);
    WEIR_EMIT(Unit, Pair, 1, 2);
    struct weir_session_table table = listed(infos, 1);
    assert_int_equal(table.session_count, 2);
    assert_int_equal(infos[0].session_id, weir_session_id(first));
    assert_string_equal(infos[0].name, "first");
    assert_int_equal(infos[0].mode, WEIR_MODE_DROP);
    assert_int_equal(infos[0].sink, WEIR_SINK_MEMORY);
    assert_int_equal(infos[0].state, WEIR_SESSION_RUNNING);
    assert_int_equal(infos[0].budget_bytes, 1u << 20);
    assert_int_equal(infos[0].attempted, 1);
    assert_int_equal(weir_session_stop(first, NULL), WEIR_OK);
    listed(infos, 2);
    assert_int_equal(infos[0].state, WEIR_SESSION_STOPPED);
    assert_int_equal(infos[0].written, 1);
    assert_int_equal(infos[0].lost, 0);
    assert_int_equal(infos[1].session_id, weir_session_id(second));
    assert_string_equal(infos[1].name, "");
    assert_int_equal(infos[1].mode, WEIR_MODE_OVERWRITE);
    assert_int_equal(infos[1].sink, WEIR_SINK_WRITE);
    assert_int_equal(infos[1].state, WEIR_SESSION_CREATED);
    weir_session_destroy(first);
    table = listed(NULL, 0);
    assert_int_equal(table.session_count, 1);
    weir_session_destroy(second);
}

static void test_ids(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    uint64_t last = 0;
    for (int i = 0; i < 100; i++) {
        struct weir_session *session = unit_start(&config);
        assert_true(weir_session_id(session) > last);
        last = weir_session_id(session);
        assert_int_equal(weir_session_stop_id(last, NULL), WEIR_OK);
        assert_int_equal(weir_session_stop_id(last, NULL), WEIR_OK); /* again: as it ended */
        weir_session_destroy(session);
        assert_int_equal(weir_session_stop_id(last, NULL), WEIR_NOT_FOUND);
    }
    assert_int_equal(weir_session_id(NULL), 0);
    assert_int_equal(weir_session_stop_id(0, NULL), WEIR_NOT_FOUND);
    assert_int_equal(weir_session_stop_id(UINT64_MAX, NULL), WEIR_NOT_FOUND);
}

static void test_tables(void **state)
{
    (void)state;
    struct weir_session_table table = WEIR_SESSION_TABLE_INIT;
    assert_int_equal(weir_session_list(NULL), WEIR_BAD_ARGUMENT);
    table.session_bytes += 8;
    assert_int_equal(weir_session_list(&table), WEIR_BAD_ARGUMENT);
    table.session_bytes -= 8;
    table.sessions_max = 1; /* without an array */
    assert_int_equal(weir_session_list(&table), WEIR_BAD_ARGUMENT);
}

/* The child of a fork has none of its parent's sessions. */
static void test_fork(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    struct weir_session *session = unit_start(&config);
    pid_t child = fork();
    if (child == 0) {
        struct weir_session_table table = WEIR_SESSION_TABLE_INIT;
        bool is_right = weir_session_list(&table) == WEIR_OK && table.session_count == 0 &&
                        weir_session_stop_id(weir_session_id(session), NULL) == WEIR_NOT_FOUND;
        _exit(is_right ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    weir_session_destroy(session);
}

/* --- Events to one session. ------------------------------------------------------------------ */

static struct weir_session *run_down; /* emits to these in its rundown */
static struct weir_session *other;

static void rundown(void *context, struct weir_session *session)
{
    (void)context;
    assert_ptr_equal(session, run_down);
    assert_true(Unit_Pair_to(weir_session_id(session), 5, 6));
    assert_false(Unit_Pair_to(weir_session_id(other), 7, 8)); /* nested */
}

static void test_emit_to_one(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    other = unit_start(&config);
    config.rundown = rundown;
    config.providers = "Unit:1";
    run_down = unit_start(&config);
    uint64_t id = weir_session_id(run_down);
    assert_true(WEIR_EMIT_TO(id, Unit, Plain));
    assert_true(WEIR_EMIT_TO(id, Unit, Pair, 1, 2));
    assert_false(WEIR_EMIT_TO(id, Unit, Text, "not wanted by it"));
    assert_true(WEIR_EMIT_TO(weir_session_id(other), Unit, Text, "wanted by this one"));
    assert_false(WEIR_EMIT_TO(UINT64_MAX, Unit, Plain));
    assert_false(WEIR_EMIT_TO(0, Unit, Plain));
    assert_true(WEIR_EMIT(Unit, Plain)); /* to both */
    assert_int_equal(weir_session_stop(run_down, NULL), WEIR_OK);
    assert_int_equal(weir_session_stop(other, NULL), WEIR_OK);
    assert_int_equal(unit_counts(run_down).written, 4);
    assert_int_equal(unit_counts(run_down).attempted, 4);
    assert_int_equal(unit_counts(other).written, 2);
    assert_int_equal(unit_counts(other).attempted, 3);
    assert_int_equal(unit_counts(other).lost[WEIR_LOSS_NESTED], 1);
    weir_session_destroy(run_down);
    weir_session_destroy(other);
}

/* --- A stop by id calls providers back, and these may destroy the session. ------------------- */

static struct weir_session *destroyed_in_callback;

static void on_change(void *context, const struct weir_provider_change *change)
{
    (void)context;
    if (!change->is_enabled)
        weir_session_destroy(destroyed_in_callback);
}

static void test_destroy_in_the_callback_of_a_stop(void **state)
{
    (void)state;
    struct weir_provider *provider;
    assert_int_equal(weir_provider_create("Destroys", NULL, NULL, &provider, NULL), WEIR_OK);
    assert_int_equal(weir_provider_watch(provider, on_change, NULL, NULL), WEIR_OK);
    struct weir_session_config config = unit_config();
    config.providers = "Destroys";
    destroyed_in_callback = unit_start(&config);
    uint64_t id = weir_session_id(destroyed_in_callback);
    assert_int_equal(weir_session_stop_id(id, NULL), WEIR_OK);
    assert_int_equal(weir_session_stop_id(id, NULL), WEIR_NOT_FOUND);
    weir_provider_destroy(provider);
}

/* --- Others list and stop sessions while their owner destroys them. -------------------------- */

static uint64_t newest;
static int is_over;

struct stranger {
    pthread_t thread;
    uint64_t rounds;
    enum weir_result list, stop; /* the first result that is wrong; WEIR_OK: none */
};

static void *list_and_stop(void *argument)
{
    struct stranger *stranger = argument;
    while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
        struct weir_session_info infos[2];
        struct weir_session_table table = WEIR_SESSION_TABLE_INIT;
        table.sessions = infos;
        table.sessions_max = 2;
        enum weir_result list = weir_session_list(&table);
        enum weir_result stop =
            weir_session_stop_id(__atomic_load_n(&newest, __ATOMIC_RELAXED), NULL);
        if (list != WEIR_OK)
            stranger->list = list;
        if (stop != WEIR_OK && stop != WEIR_NOT_FOUND && stop != WEIR_BAD_STATE) /* not started */
            stranger->stop = stop;
        stranger->rounds++;
    }
    return NULL;
}

static void test_destroy_meanwhile(void **state)
{
    (void)state;
    struct stranger strangers[2] = {{0}};
    for (int i = 0; i < 2; i++)
        pthread_create(&strangers[i].thread, NULL, list_and_stop, &strangers[i]);
    struct weir_session_config config = unit_config();
    for (int i = 0; i < 1000; i++) {
        struct weir_session *session;
        assert_int_equal(weir_session_create(&config, &session, NULL), WEIR_OK);
        __atomic_store_n(&newest, weir_session_id(session), __ATOMIC_RELAXED);
        assert_int_equal(weir_session_start(session, NULL), WEIR_OK);
        WEIR_EMIT(Unit, Pair, 1, 2);
        assert_int_equal(weir_session_destroy(session), WEIR_OK);
    }
    __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++) {
        pthread_join(strangers[i].thread, NULL);
        assert_int_equal(strangers[i].list, WEIR_OK);
        assert_int_equal(strangers[i].stop, WEIR_OK);
        assert_true(strangers[i].rounds > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_emit_to_one),
        cmocka_unit_test(test_destroy_in_the_callback_of_a_stop),
        cmocka_unit_test(test_destroy_meanwhile),
    };
    return cmocka_run_group_tests(tests, unit_setup, NULL);
}
