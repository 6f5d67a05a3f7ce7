/* Providers and events: refused definitions, what enables an event. */
#include "unit.h"

#include <pthread.h>

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

static struct weir_provider *created(const char *name)
{
    struct weir_provider *provider;
    struct weir_error error;
    if (weir_provider_create(name, NULL, NULL, &provider, &error) != WEIR_OK)
        fail_msg("%s", error.text);
    return provider;
}

static void schema_refused(struct weir_provider *provider, struct weir_schema schema,
                           enum weir_result expected, const char *text)
{
    struct weir_event *event = NULL;
    struct weir_error error = {""};
    assert_int_equal(weir_event_define(provider, &schema, &event, &error), expected);
    assert_null(event);
    if (!strstr(error.text, text))
        fail_msg("'%s' does not say '%s'", error.text, text);
}

static void test_bad_schemas(void **state)
{
    (void)state;
    struct weir_provider *provider = created("BadSchemas");
    static const struct weir_field bad_type[] = {{"Field", (enum weir_type)77}};
    static const struct weir_field array_of_floats[] = {{"Field", (enum weir_type)(13 | 256)}};
    static const struct weir_field no_name[] = {{NULL, WEIR_TYPE_u32}};
    struct weir_schema good = {.size = sizeof(struct weir_schema),
                               .field_bytes = sizeof(struct weir_field),
                               .name = "Good",
                               .event_id = 1,
                               .level = 4};
    struct weir_schema schema = good;
    schema.name = "";
    schema_refused(provider, schema, WEIR_BAD_ARGUMENT, "no name");
    schema = good;
    schema.level = 6;
    schema_refused(provider, schema, WEIR_BAD_ARGUMENT, "level 6");
    schema = good;
    schema.field_count = 65;
    schema.fields = bad_type;
    schema_refused(provider, schema, WEIR_BAD_ARGUMENT, "65 fields");
    schema.field_count = 1;
    schema_refused(provider, schema, WEIR_BAD_ARGUMENT, "unknown type 77");
    schema.fields = array_of_floats;
    schema_refused(provider, schema, WEIR_BAD_ARGUMENT, "unknown type");
    schema.fields = no_name;
    schema_refused(provider, schema, WEIR_BAD_ARGUMENT, "field 0");
    schema.fields = NULL;
    schema_refused(provider, schema, WEIR_BAD_ARGUMENT, "fields");
    schema = good;
    schema.size += 8;
    schema_refused(provider, schema, WEIR_BAD_ARGUMENT, "older than the headers");
    schema = good;
    schema.field_bytes += 8;
    schema_refused(provider, schema, WEIR_BAD_ARGUMENT, "field_bytes");
    schema = good;
    schema.reserved[1] = 1;
    schema_refused(provider, schema, WEIR_BAD_ARGUMENT, "reserved");
    schema = good;
    schema.level = (WEIR_LEVEL_VERBOSE + 1) | WEIR_EVENT_ORDERED;
    schema_refused(provider, schema, WEIR_BAD_ARGUMENT, "level 6");
    struct weir_event *event;
    schema.level = WEIR_LEVEL_VERBOSE | WEIR_EVENT_ORDERED;
    schema.event_id = 2;
    assert_int_equal(weir_event_define(provider, &schema, &event, NULL), WEIR_OK);
    assert_int_equal(weir_event_define(provider, &good, &event, NULL), WEIR_OK);
    schema_refused(provider, good, WEIR_EXISTS, "event 1");
    good.version = 3; /* another event of the same id */
    assert_int_equal(weir_event_define(provider, &good, &event, NULL), WEIR_OK);
    schema_refused(provider, good, WEIR_EXISTS, "in version 3");
    weir_provider_destroy(provider);
}

static void test_names_are_unique_without_case(void **state)
{
    (void)state;
    struct weir_error error;
    struct weir_provider *provider = created("Twice");
    assert_int_equal(weir_provider_create("tWICE", NULL, NULL, NULL, &error), WEIR_EXISTS);
    weir_provider_destroy(provider);
    weir_provider_destroy(created("tWICE"));
    assert_int_equal(weir_provider_create("", NULL, NULL, NULL, &error), WEIR_BAD_ARGUMENT);
    assert_int_equal(weir_provider_create(NULL, NULL, NULL, NULL, &error), WEIR_BAD_ARGUMENT);
    assert_int_equal(weir_provider_register(NULL, NULL, NULL, NULL, &error), WEIR_BAD_ARGUMENT);
    assert_int_equal(weir_provider_register(&weir_provider_Unit, NULL, NULL, NULL, &error),
                     WEIR_EXISTS);
}

struct expected_filter {
    const char *providers;
    bool plain, text, bytes, always; /* keywords and levels 0x1/4, 0x2/5, 0x4/4, 0/0 */
};

static void test_what_enables_an_event(void **state)
{
    (void)state;
    static const struct expected_filter filters[] = {
        {"Unit", true, true, true, true},
        {"Unit:0x1", true, false, false, true},
        {"Unit:0x6:4", false, false, true, true},
        {"Unit:0x7:3", false, false, false, true},
        {"Unit:0:4", true, false, true, true},
        {"Unit:0x2:5,Unit:0x4:4", false, true, true, true},
    };
    for (size_t i = 0; i < sizeof filters / sizeof filters[0]; i++) {
        struct weir_session_config config = unit_config();
        config.providers = filters[i].providers;
        struct weir_session *session = unit_start(&config);
        assert_int_equal(weir_event_is_enabled(&weir_events_Unit.Plain), filters[i].plain);
        assert_int_equal(weir_event_is_enabled(&weir_events_Unit.Text), filters[i].text);
        assert_int_equal(weir_event_is_enabled(&weir_events_Unit.Bytes), filters[i].bytes);
        assert_int_equal(weir_event_is_enabled(&weir_events_Unit.Always), filters[i].always);
        weir_session_destroy(session);
        assert_false(weir_event_is_enabled(&weir_events_Unit.Always));
    }
}

static int evaluations;
static uint64_t evaluated(void)
{
    evaluations++;
    return 7;
}

static void test_arguments_of_disabled_events(void **state)
{
    (void)state;
    assert_false(WEIR_EMIT(Unit, Pair, evaluated(), evaluated()));
    assert_int_equal(evaluations, 0);
    struct weir_session_config config = unit_config();
    struct weir_session *session = unit_start(&config);
    assert_true(WEIR_EMIT(Unit, Pair, evaluated(), evaluated()));
    assert_int_equal(evaluations, 2);
    weir_session_destroy(session);
    assert_false(Unit_Pair(1, 2)); /* the emitter tests it as well */
}

static void test_late_provider(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    config.providers = "Late:0x10:4";
    config.unknown_providers_allowed = true;
    struct weir_session *session = unit_start(&config);
    struct weir_provider *provider = created("late");
    struct weir_schema schema = {.size = sizeof(struct weir_schema),
                                 .field_bytes = sizeof(struct weir_field),
                                 .name = "In",
                                 .event_id = 1,
                                 .level = 4,
                                 .keywords = 0x30};
    struct weir_event *in, *out;
    assert_int_equal(weir_event_define(provider, &schema, &in, NULL), WEIR_OK);
    schema.event_id = 2;
    schema.keywords = 0x20;
    assert_int_equal(weir_event_define(provider, &schema, &out, NULL), WEIR_OK);
    assert_true(weir_event_is_enabled(in));
    assert_false(weir_event_is_enabled(out));
    assert_true(weir_event_emit(in, NULL, 0, sizeof(struct weir_value)));
    weir_provider_destroy(provider);
    assert_false(weir_event_is_enabled(in));
    assert_int_equal(weir_session_stop(session, NULL),
                     WEIR_OK); /* the record outlives its provider */
    assert_int_equal(unit_counts(session).written, 1);
    weir_session_destroy(session);
}

static void test_mismatch(void **state)
{
    (void)state;
    struct weir_provider *provider = created("Mismatch");
    static const struct weir_field fields[] = {{"A", WEIR_TYPE_u32}, {"B", WEIR_TYPE_str}};
    struct weir_schema schema = {.size = sizeof(struct weir_schema),
                                 .field_bytes = sizeof(struct weir_field),
                                 .name = "E",
                                 .event_id = 1,
                                 .level = 4,
                                 .fields = fields,
                                 .field_count = 2};
    struct weir_event *event;
    assert_int_equal(weir_event_define(provider, &schema, &event, NULL), WEIR_OK);
    struct weir_session_config config = unit_config();
    config.providers = "Mismatch";
    struct weir_session *session = unit_start(&config);
    struct weir_value values[] = {{.type = WEIR_TYPE_u32, .unsigned_value = 1},
                                  {.type = WEIR_TYPE_str, .pointer = "x"}};
    assert_true(weir_event_emit(event, values, 2, sizeof values[0]));
    assert_false(weir_event_emit(event, values, 1, sizeof values[0]));
    values[0].type = WEIR_TYPE_u64;
    assert_false(weir_event_emit(event, values, 2, sizeof values[0]));
    assert_int_equal(weir_last_loss(), WEIR_LOSS_MISMATCH);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    struct weir_counts counts = unit_counts(session);
    assert_int_equal(counts.written, 1);
    assert_int_equal(counts.lost[WEIR_LOSS_MISMATCH], 2);
    weir_session_destroy(session);
    weir_provider_destroy(provider);
}

/* A plug-in that comes and goes does not use up indices; there are only 16,383. */
static void test_register_many_times(void **state)
{
    (void)state;
    struct weir_schema schema = {.size = sizeof(struct weir_schema),
                                 .field_bytes = sizeof(struct weir_field),
                                 .name = "E",
                                 .event_id = 1,
                                 .level = 4};
    for (int i = 0; i < 33000; i++) {
        struct weir_provider *provider = created("ComesAndGoes");
        struct weir_event *event;
        assert_int_equal(weir_event_define(provider, &schema, &event, NULL), WEIR_OK);
        weir_provider_destroy(provider);
    }
}

static void test_own_name_is_taken(void **state)
{
    (void)state;
    assert_int_equal(weir_provider_create("weir", NULL, NULL, NULL, NULL), WEIR_EXISTS);
}

/* A declaration of newer headers than the library's. */
static void test_newer_declarations(void **state)
{
    (void)state;
    struct weir_provider_declaration changed[4];
    for (size_t i = 0; i < 4; i++)
        changed[i] = weir_provider_Unit;
    changed[0].size += 8;
    changed[1].version++;
    changed[2].event_bytes += 8;
    changed[3].schema_bytes += 8;
    for (size_t i = 0; i < 4; i++) {
        struct weir_error error = {""};
        changed[i].name = "Newer";
        assert_int_equal(weir_provider_register(&changed[i], NULL, NULL, NULL, &error),
                         WEIR_BAD_ARGUMENT);
        assert_non_null(
            strstr(error.text, i == 0 ? "declaration.size" : "a declaration of version"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_schemas),
        cmocka_unit_test(test_names_are_unique_without_case),
        cmocka_unit_test(test_what_enables_an_event),
        cmocka_unit_test(test_arguments_of_disabled_events),
        cmocka_unit_test(test_late_provider),
        cmocka_unit_test(test_mismatch),
        cmocka_unit_test(test_register_many_times),
        cmocka_unit_test(test_own_name_is_taken),
        cmocka_unit_test(test_newer_declarations),
    };
    return cmocka_run_group_tests(tests, unit_setup, NULL);
}
