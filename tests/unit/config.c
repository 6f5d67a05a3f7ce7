/* Invalid configurations: each is refused with a text that names the field and the allowed
 * values. */
#include "unit.h"

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

static void refused(const struct weir_session_config *config, enum weir_result expected,
                    const char *text)
{
    struct weir_session *session = NULL;
    struct weir_error error = {""};
    assert_int_equal(weir_session_create(config, &session, &error), expected);
    assert_null(session);
    if (!strstr(error.text, text))
        fail_msg("'%s' does not say '%s'", error.text, text);
    assert_int_equal(weir_session_create(config, &session, NULL), expected);
}

static void refused_providers(const char *providers, enum weir_result expected, const char *text)
{
    struct weir_session_config config = unit_config();
    config.providers = providers;
    refused(&config, expected, text);
}

static void test_providers(void **state)
{
    (void)state;
    refused_providers(NULL, WEIR_BAD_ARGUMENT, "none named");
    refused_providers("", WEIR_BAD_ARGUMENT, "position 1: '': expected a provider");
    refused_providers(":0x1:5", WEIR_BAD_ARGUMENT, "position 1: '': expected a provider");
    refused_providers("Unit,", WEIR_BAD_ARGUMENT, "position 6: '': expected a provider");
    refused_providers("Unit,,Unit", WEIR_BAD_ARGUMENT, "position 6: '': expected a provider");
    refused_providers("NoSuch", WEIR_NOT_FOUND, "NoSuch");
    refused_providers("Unit:0x1:6", WEIR_BAD_ARGUMENT, "position 10: '6': expected a level");
    refused_providers("Unit:0x1:-1", WEIR_BAD_ARGUMENT, "level");
    refused_providers("Unit:0x1:256", WEIR_BAD_ARGUMENT, "level");
    refused_providers("Unit:0x1:5:\"k=v", WEIR_BAD_ARGUMENT, "double quote");
    refused_providers("Unit:0x1:5:\"k=v\";", WEIR_BAD_ARGUMENT, "double quote");
    refused_providers("Unit:zz", WEIR_BAD_ARGUMENT, "keywords");
    refused_providers("Unit:0x", WEIR_BAD_ARGUMENT, "keywords");
    refused_providers("Unit:-1", WEIR_BAD_ARGUMENT, "keywords");
    refused_providers("Unit: 1", WEIR_BAD_ARGUMENT, "keywords");
    refused_providers("Unit:0x1ffffffffffffffff", WEIR_BAD_ARGUMENT, "keywords");
    refused_providers("Unit:18446744073709551616", WEIR_BAD_ARGUMENT, "keywords");
}

static void test_long_names(void **state)
{
    (void)state;
    char name[400];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = 0;
    refused_providers(name, WEIR_BAD_ARGUMENT, "name");
}

static void test_good_providers(void **state)
{
    (void)state;
    static const char *const good[] = {"Unit",
                                       "unit",
                                       "Unit:1",
                                       "Unit::4",
                                       "Unit:0xffffffffffffffff:0",
                                       "Unit:18446744073709551615:5",
                                       "Unit:0x1:5,Unit:0x2:3"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct weir_session_config config = unit_config();
        config.providers = good[i];
        weir_session_destroy(unit_start(&config));
    }
}

static void test_sizes(void **state)
{
    (void)state;
    static const uint32_t bad_segments[] = {0, 1, 2048, 4095, 4097, 12288, 2u << 20, UINT32_MAX};
    struct weir_session_config config = unit_config();
    for (size_t i = 0; i < sizeof bad_segments / sizeof bad_segments[0]; i++) {
        config.segment_bytes = bad_segments[i];
        refused(&config, WEIR_BAD_ARGUMENT, "segment_bytes");
    }
    static const uint64_t bad_budgets[] = {0, 1, 32768, 65535, UINT64_C(1) << 37, UINT64_MAX};
    config = unit_config();
    for (size_t i = 0; i < sizeof bad_budgets / sizeof bad_budgets[0]; i++) {
        config.budget_bytes = bad_budgets[i];
        refused(&config, WEIR_BAD_ARGUMENT, "budget_bytes");
    }
    config = unit_config();
    config.flush_ms = 0;
    refused(&config, WEIR_BAD_ARGUMENT, "flush_ms");
    config = unit_config();
    config.stop_ms_max = 0;
    refused(&config, WEIR_BAD_ARGUMENT, "stop_ms_max");
    config = unit_config();
    config.size = 8;
    refused(&config, WEIR_BAD_ARGUMENT, "config.size");
}

static void test_tiny_budget_works(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    config.segment_bytes = 4096;
    config.budget_bytes = 8192;
    struct weir_session *session = unit_start(&config);
    for (int i = 0; i < 1000; i++)
        WEIR_EMIT(Unit, Pair, 1, 2);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(unit_counts(session).attempted, 1000);
    weir_session_destroy(session);
}

static void test_sinks(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    config.memory_bytes_max = 0;
    refused(&config, WEIR_BAD_ARGUMENT, "sinks");
    config.memory_bytes_max = 1;
    config.sink.write = unit_discard;
    refused(&config, WEIR_BAD_ARGUMENT, "sinks");
    config = unit_config();
    config.memory_bytes_max = 0;
    config.sink.file = "";
    refused(&config, WEIR_BAD_ARGUMENT, "empty path");
    config.sink.file = "/no/such/directory/file.nettrace";
    refused(&config, WEIR_IO, "/no/such/directory");
    config.sink.file = "/";
    refused(&config, WEIR_IO, "directory");
    config.sink.file = "/tmp/";
    refused(&config, WEIR_IO, "directory");
    config.sink.file = NULL;
    config.sink.descriptor = 1 << 20; /* beyond any descriptor limit of a test process */
    refused(&config, WEIR_BAD_ARGUMENT, "descriptor");
}

/* A host that was compiled with newer headers: nothing that it sets is passed over. */
static void test_newer_hosts(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    struct weir_stats stats = WEIR_STATS_INIT;
    struct weir_thread_table table = WEIR_THREAD_TABLE_INIT;
    config.size += 8;
    refused(&config, WEIR_BAD_ARGUMENT, "older than the headers of its host");
    config = unit_config();
    config.sink.size += 8;
    refused(&config, WEIR_BAD_ARGUMENT, "sink.size");
    config = unit_config();
    config.sink.reserved[2] = 1;
    refused(&config, WEIR_BAD_ARGUMENT, "reserved");
    config = unit_config();
    config.reserved = 1;
    refused(&config, WEIR_BAD_ARGUMENT, "reserved");
    config.reserved = 0;
    struct weir_session *session = unit_start(&config);
    stats.size += 8;
    assert_int_equal(weir_session_stats(session, &stats), WEIR_BAD_ARGUMENT);
    stats.size -= 8;
    stats.lost_count++;
    assert_int_equal(weir_session_stats(session, &stats), WEIR_BAD_ARGUMENT);
    stats.lost_count = 8; /* 0.2 has nine causes */
    assert_int_equal(weir_session_stats(session, &stats), WEIR_BAD_ARGUMENT);
    table.thread_bytes += 8;
    assert_int_equal(weir_session_thread_stats(session, &table), WEIR_BAD_ARGUMENT);
    table.thread_bytes -= 8;
    table.threads_max = 1; /* without an array */
    assert_int_equal(weir_session_thread_stats(session, &table), WEIR_BAD_ARGUMENT);
    weir_session_destroy(session);
}

static void *allocate(void *context, size_t bytes)
{
    (void)context;
    (void)bytes;
    return NULL;
}

static void test_allocator(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    config.allocate = allocate;
    refused(&config, WEIR_BAD_ARGUMENT, "allocate and release");
    config.release = (void (*)(void *, void *, size_t))(uintptr_t)unit_discard;
    refused(&config, WEIR_NO_MEMORY, "memory");
}

static void test_null(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    struct weir_session *session;
    assert_int_equal(weir_session_create(NULL, &session, NULL), WEIR_BAD_ARGUMENT);
    assert_int_equal(weir_session_create(&config, NULL, NULL), WEIR_BAD_ARGUMENT);
    assert_int_equal(weir_session_start(NULL, NULL), WEIR_BAD_STATE);
    assert_int_equal(weir_session_stop(NULL, NULL), WEIR_BAD_STATE);
    weir_session_destroy(NULL);
    assert_int_equal(weir_session_stats(NULL, NULL), WEIR_BAD_ARGUMENT);
    assert_int_equal(weir_session_thread_stats(NULL, NULL), WEIR_BAD_ARGUMENT);
    assert_string_equal(weir_version(), "0.7.0");
    assert_int_equal(weir_version_number(), WEIR_VERSION_NUMBER);
    assert_string_equal(weir_loss_name(WEIR_LOSS_NO_SEGMENT), "NO_SEGMENT");
    assert_null(weir_loss_name(WEIR_LOSS_COUNT));
}

static const char *text_of(int result)
{
    return weir_result_text((enum weir_result)result);
}

static void test_result_texts(void **state)
{
    (void)state;
    assert_string_equal(weir_result_text(WEIR_IO), "input/output error");
    assert_string_equal(text_of(-1), "unknown result");
    assert_string_equal(text_of(WEIR_BUSY + 1), "unknown result");
    for (int i = 0; i <= WEIR_BUSY; i++)
        for (int other = -1; other < i; other++)
            assert_string_not_equal(text_of(i), text_of(other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_providers),         cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_good_providers),    cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_tiny_budget_works), cmocka_unit_test(test_sinks),
        cmocka_unit_test(test_allocator),         cmocka_unit_test(test_null),
        cmocka_unit_test(test_newer_hosts),       cmocka_unit_test(test_result_texts),
    };
    return cmocka_run_group_tests(tests, unit_setup, NULL);
}
