/* The library without threads: the host polls, and BLOCK is refused. */
#define _GNU_SOURCE
#include "unit.h"

#include <dirent.h>

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

static int threads_now(void)
{
    int count = 0;
    DIR *directory = opendir("/proc/self/task");
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));)
        count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

static void test_block_is_refused(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    struct weir_session *session;
    struct weir_error error = {""};
    config.mode = WEIR_MODE_BLOCK;
    assert_int_equal(weir_session_create(&config, &session, &error), WEIR_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "WEIR_SINGLE_THREADED"));
}

static void test_no_thread_and_all_is_written(void **state)
{
    (void)state;
    int before = threads_now(); /* under an emulator there are more than this thread */
    struct weir_session_config config = unit_config();
    struct weir_session *session = unit_start(&config);
    assert_int_equal(threads_now(), before);
    for (uint64_t i = 0; i < 1000; i++)
        assert_true(WEIR_EMIT(Unit, Pair, i, 2));
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(unit_counts(session).written, 1000);
    const void *bytes;
    uint64_t count;
    assert_int_equal(weir_session_memory(session, &bytes, &count), WEIR_OK);
    assert_true(count > 18000);
    assert_int_equal(((const unsigned char *)bytes)[count - 1], 1); /* the end tag */
    weir_session_destroy(session);
}

static bool count_bytes(void *context, const void *bytes, size_t count)
{
    (void)bytes;
    *(uint64_t *)context += count;
    return true;
}

/* A stamp in the future gets the time of the poll that finds it. */
static void test_stamps_of_the_caller(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    struct weir_stats stats = WEIR_STATS_INIT;
    struct weir_session *session = unit_start(&config);
    assert_true(WEIR_EMIT(Unit, Plain));
    assert_true(WEIR_EMIT_AT(weir_clock(), Unit, Pair, 1, 2));
    assert_true(WEIR_EMIT_AT(UINT64_MAX, Unit, Pair, 1, 2));
    assert_true(WEIR_EMIT(Unit, Plain));
    assert_int_equal(weir_session_poll(session, NULL), WEIR_OK);
    assert_true(WEIR_EMIT_AT(weir_clock(), Unit, Pair, 1, 2));
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(weir_session_stats(session, &stats), WEIR_OK);
    assert_int_equal(stats.counts.written, 5);
    assert_int_equal(stats.late_records, 1);
    weir_session_destroy(session);
}

/* One round fits into the eight segments, and the poll after it makes room for the next. */
static void test_poll_makes_room(void **state)
{
    (void)state;
    uint64_t sent = 0;
    struct weir_session_config config = unit_config();
    config.memory_bytes_max = 0;
    config.sink.write = count_bytes;
    config.sink.context = &sent;
    config.budget_bytes = 65536;
    config.segment_bytes = 8192;
    struct weir_session *session = unit_start(&config);
    uint64_t written = 0;
    for (int round = 0; round < 100; round++) {
        for (uint64_t i = 0; i < 1000; i++)
            written += WEIR_EMIT(Unit, Pair, i, 2);
        assert_int_equal(weir_session_poll(session, NULL), WEIR_OK);
    }
    assert_int_equal(written, 100000);
    assert_true(sent > 100000 * 18 / 2);
    for (uint64_t i = 0; i < 10000; i++)
        written += WEIR_EMIT(Unit, Pair, i, 2);
    assert_true(written < 110000);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    struct weir_counts counts = unit_counts(session);
    assert_int_equal(counts.attempted, 110000);
    assert_int_equal(counts.written, written);
    assert_int_equal(counts.lost[WEIR_LOSS_FULL], 110000 - written);
    assert_int_equal(weir_session_poll(session, NULL), WEIR_BAD_STATE);
    weir_session_destroy(session);
}

struct reentry {
    struct weir_session *session;
    enum weir_result poll, stop;
};

/* A refused thread skips its next looks for a segment, but only while none is free. */
static void test_room_is_used_at_once(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    config.budget_bytes = 65536;
    config.segment_bytes = 8192;
    struct weir_session *session = unit_start(&config);
    uint64_t lost = 0, written = 0;
    for (int round = 0; round < 50; round++) {
        while (WEIR_EMIT(Unit, Pair, 1, 2))
            written++;
        for (int i = 0; i < 10 * round; i++)
            assert_false(WEIR_EMIT(Unit, Pair, 1, 2));
        lost += 1 + 10 * (uint64_t)round;
        assert_int_equal(weir_last_loss(), WEIR_LOSS_FULL);
        assert_int_equal(weir_session_poll(session, NULL), WEIR_OK);
        assert_true(WEIR_EMIT(Unit, Pair, 1, 2));
        written++;
    }
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    struct weir_counts counts = unit_counts(session);
    assert_int_equal(counts.written, written);
    assert_int_equal(counts.lost[WEIR_LOSS_FULL], lost);
    weir_session_destroy(session);
}

static void reenter(void *context, struct weir_session *session)
{
    struct reentry *reentry = context;
    reentry->poll = weir_session_poll(session, NULL);
    reentry->stop = weir_session_stop(session, NULL);
    assert_true(Unit_Pair(1, 2)); /* the rundown's own event */
}

static void test_callbacks_may_not_come_back(void **state)
{
    (void)state;
    struct reentry reentry = {.poll = WEIR_OK, .stop = WEIR_OK};
    struct weir_session_config config = unit_config();
    config.rundown = reenter;
    config.rundown_context = &reentry;
    struct weir_session *session = unit_start(&config);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(reentry.poll, WEIR_BAD_STATE);
    assert_int_equal(reentry.stop, WEIR_BAD_STATE);
    assert_int_equal(unit_counts(session).written, 1);
    weir_session_destroy(session);
}

static void many(void *context, const struct weir_rundown *rundown)
{
    (void)rundown;
    for (uint64_t i = 0; i < 30000; i++)
        *(uint64_t *)context += Unit_Pair(i, i);
}

/* At the start the caller is the drain as well; in a snapshot it is not inside the library yet. */
static void test_rundown(void **state)
{
    (void)state;
    uint64_t written = 0;
    struct weir_provider *provider;
    assert_int_equal(weir_provider_create("Source", NULL, NULL, &provider, NULL), WEIR_OK);
    assert_int_equal(weir_rundown_register(provider, many, &written, NULL), WEIR_OK);
    struct weir_session_config config = unit_config();
    config.rundown_at_start = true;
    struct weir_session *session = unit_start(&config);
    assert_int_equal(written, 30000);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(unit_counts(session).written, 60000);
    weir_session_destroy(session);
    config.rundown_at_start = false;
    config.mode = WEIR_MODE_OVERWRITE;
    session = unit_start(&config);
    struct weir_sink sink = WEIR_SINK_INIT;
    sink.write = unit_discard;
    assert_int_equal(weir_session_snapshot(session, &sink, 0, NULL), WEIR_OK);
    assert_int_equal(written, 90000);
    assert_int_equal(unit_counts(session).attempted, 0);
    weir_provider_destroy(provider);
    weir_session_destroy(session);
}

/* Sessions that nobody has a pointer to. */
static void test_poll_of_configured_sessions(void **state)
{
    (void)state;
    assert_int_equal(weir_session_poll(NULL, NULL), WEIR_OK); /* there are none */
    assert_int_equal(weir_configure("Unit;file=/dev/null;budget=64K;segment=4K", NULL), WEIR_OK);
    for (uint64_t i = 0; i < 20000; i++) {
        assert_true(WEIR_EMIT(Unit, Pair, i, i));
        if (i % 100 == 0)
            assert_int_equal(weir_session_poll(NULL, NULL), WEIR_OK);
    }
    struct weir_session_info info;
    struct weir_session_table table = WEIR_SESSION_TABLE_INIT;
    table.sessions = &info;
    table.sessions_max = 1;
    assert_int_equal(weir_session_list(&table), WEIR_OK);
    assert_int_equal(weir_session_stop_id(info.session_id, NULL), WEIR_OK);
    assert_int_equal(weir_session_poll(NULL, NULL), WEIR_OK); /* it is stopped */
}

static void test_poll_tells_a_failed_sink(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    config.memory_bytes_max = 2048;
    config.flush_ms = 1;
    struct weir_session *session = unit_start(&config);
    struct weir_error error = {""};
    enum weir_result result = WEIR_OK;
    for (int round = 0; round < 10000 && result == WEIR_OK; round++) {
        WEIR_EMIT(Unit, Pair, 1, 2);
        result = weir_session_poll(session, &error);
    }
    assert_int_equal(result, WEIR_IO);
    assert_non_null(strstr(error.text, "memory_bytes_max"));
    assert_false(weir_event_is_enabled(&weir_events_Unit.Pair));
    assert_int_equal(weir_session_stop(session, NULL), WEIR_IO);
    weir_session_destroy(session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_block_is_refused),
                                       cmocka_unit_test(test_no_thread_and_all_is_written),
                                       cmocka_unit_test(test_stamps_of_the_caller),
                                       cmocka_unit_test(test_poll_makes_room),
                                       cmocka_unit_test(test_room_is_used_at_once),
                                       cmocka_unit_test(test_callbacks_may_not_come_back),
                                       cmocka_unit_test(test_rundown),
                                       cmocka_unit_test(test_poll_of_configured_sessions),
                                       cmocka_unit_test(test_poll_tells_a_failed_sink)};
    return cmocka_run_group_tests(tests, unit_setup, NULL);
}
