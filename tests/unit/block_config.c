/* The configuration of mode BLOCK: each meaningless combination is refused with a text that says
 * why, and each meaningful one is accepted. */
#include "unit.h"
#include "buffers/modes.h"
#include "wait/strategies.h"

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

static struct weir_session_config block_config(enum weir_wake wake)
{
    struct weir_session_config config = unit_config();
    config.mode = WEIR_MODE_BLOCK;
    config.wake = wake;
    return config;
}

static void refused(const struct weir_session_config *config, const char *text)
{
    struct weir_session *session = NULL;
    struct weir_error error = {""};
    assert_int_equal(weir_session_create(config, &session, &error), WEIR_BAD_ARGUMENT);
    assert_null(session);
    if (!strstr(error.text, text))
        fail_msg("'%s' does not say '%s'", error.text, text);
}

static void taken(const struct weir_session_config *config)
{
    struct weir_session *session = unit_start(config);
    assert_true(WEIR_EMIT(Unit, Pair, 1, 2));
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(unit_counts(session).written, 1);
    weir_session_destroy(session);
}

static void on_park(void *context, const struct weir_park *park)
{
    (void)context;
    (void)park;
}

static void test_unknown_values(void **state)
{
    (void)state;
    static const int modes[] = {-1, WR_MODE_COUNT, WR_MODE_COUNT + 1, 255, INT32_MAX};
    static const int wakes[] = {-1, WR_WAKE_COUNT, WR_WAKE_COUNT + 1, 255, INT32_MAX};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        struct weir_session_config config = unit_config();
        config.mode = (enum weir_mode)modes[i];
        refused(&config, "mode");
        config = block_config((enum weir_wake)wakes[i]);
        refused(&config, "wake");
    }
}

/* A config that sets a field of mode BLOCK is meant for BLOCK, so another mode refuses it. */
static void test_other_modes_have_none_of_it(void **state)
{
    (void)state;
    for (int mode = 0; mode < WR_MODE_COUNT; mode++) {
        if (mode == WEIR_MODE_BLOCK)
            continue;
        struct weir_session_config config = unit_config();
        config.mode = (enum weir_mode)mode;
        config.max_block_ns = 1;
        refused(&config, "max_block_ns");
        config.max_block_ns = 0;
        config.wake = WEIR_WAKE_FIFO;
        refused(&config, "wake");
        config.wake = WEIR_WAKE_RELAY;
        config.grant_bytes = config.segment_bytes;
        refused(&config, "grant_bytes");
        config.grant_bytes = 0;
        config.on_park = on_park;
        refused(&config, "on_park");
        config.on_park = NULL;
        config.stop_serves_waiting = true;
        refused(&config, "stop_serves_waiting");
    }
}

static void test_only_relay_has_grants(void **state)
{
    (void)state;
    for (size_t i = 0; i < WR_WAKE_COUNT; i++) {
        if (i == WEIR_WAKE_RELAY)
            continue;
        struct weir_session_config config = block_config((enum weir_wake)i);
        config.grant_bytes = config.segment_bytes;
        refused(&config, "RELAY");
    }
}

static void test_grants_out_of_range(void **state)
{
    (void)state;
    struct weir_session_config config = block_config(WEIR_WAKE_RELAY);
    const uint64_t bad[] = {1, config.segment_bytes - 1u, config.budget_bytes / 4 + 1,
                            config.budget_bytes, UINT64_MAX};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        config.grant_bytes = bad[i];
        refused(&config, "grant_bytes");
    }
}

static void test_what_is_taken(void **state)
{
    (void)state;
    for (size_t i = 0; i < WR_WAKE_COUNT; i++) {
        struct weir_session_config config = block_config((enum weir_wake)i);
        taken(&config);
        config.max_block_ns = 1;
        config.on_park = on_park;
        taken(&config);
        config.max_block_ns = UINT64_MAX;
        taken(&config);
        config.segment_bytes = 4096; /* the minimum */
        config.budget_bytes = 8192;
        taken(&config);
    }
}

static void test_grants_in_range(void **state)
{
    (void)state;
    struct weir_session_config config = block_config(WEIR_WAKE_RELAY);
    const uint64_t good[] = {config.segment_bytes, config.segment_bytes + 1u,
                             config.budget_bytes / 4};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        config.grant_bytes = good[i];
        taken(&config);
    }
    config.budget_bytes = 2u * config.segment_bytes; /* a segment is more than a quarter of it */
    config.grant_bytes = config.segment_bytes;
    taken(&config);
}

/* Each kind of sink has a drain thread. */
static void test_sinks(void **state)
{
    (void)state;
    struct weir_session_config config = block_config(WEIR_WAKE_RELAY);
    taken(&config); /* memory */
    config.memory_bytes_max = 0;
    config.sink.write = unit_discard;
    taken(&config);
    config.sink.write = NULL;
    refused(&config, "sinks");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unknown_values),
        cmocka_unit_test(test_other_modes_have_none_of_it),
        cmocka_unit_test(test_only_relay_has_grants),
        cmocka_unit_test(test_grants_out_of_range),
        cmocka_unit_test(test_what_is_taken),
        cmocka_unit_test(test_grants_in_range),
        cmocka_unit_test(test_sinks),
    };
    return cmocka_run_group_tests(tests, unit_setup, NULL);
}
