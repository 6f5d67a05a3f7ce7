/* Fields whose values have names, and booleans of one byte. */
#include "stream.h"

#include <fields.h>
#include <stdio.h>

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

#define COLORS(VALUE) VALUE(Red, 0) VALUE(Green, 1) VALUE(Blue, 200)
#define SIGNS(VALUE)  VALUE(Minus, -1) VALUE(Plus, 1)
#define EDGES(VALUE)  VALUE(Zero, 0) VALUE(Most, -1)
#define STATES(VALUE) VALUE(Off, 0) VALUE(On, 1)
WEIR_ENUM(Color, COLORS)
WEIR_ENUM(Sign, SIGNS)
WEIR_ENUM(Edge, EDGES)
WEIR_ENUM(State, STATES)
#define NAMED_EVENTS(EVENT, P)                                                          \
    EVENT(P, Small, 1, 0, WEIR_LEVEL_INFO, 0x1, (enum(u8, Color), Color), (bool8, Yes), \
          (enum(i8, Sign), Sign), (bool8, No))                                          \
    EVENT(P, Small_1, 1, 1, WEIR_LEVEL_INFO, 0x1, (u8, Color), (enum(u64, Edge), Edge)) \
    EVENT(P, Large, 2, 0, WEIR_LEVEL_INFO, 0x2, (str, Text), (bool8, Flag),             \
          (enum(i32, Sign), Sign), (u64, A), (u64, B), (u64, C), (u64, D), (u64, E))    \
    EVENT(P, Switched, 3, 0, WEIR_LEVEL_INFO, 0x1, (enum(bool8, State), Is), (bool8, Was))
WEIR_PROVIDER(Named, NAMED_EVENTS)
WEIR_PROVIDER_DEFINE(Named, NAMED_EVENTS)

struct found {
    char text[400];
    uint32_t enums;     /* Weir/Enum */
    uint32_t own_bytes; /* of payloads of Named/Small */
};

static void on_value(void *context, const char *name, const struct wt_value *value)
{
    char *text = ((struct found *)context)->text;
    size_t length = strlen(text), left = sizeof((struct found *)context)->text - length;
    if (value->kind == WT_VALUE_STRING)
        return;
    if (value->name)
        snprintf(text + length, left, "%s=%s ", name, value->name);
    else if (value->kind == WT_VALUE_BOOLEAN)
        snprintf(text + length, left, "%s=%s ", name, value->as.u ? "true" : "false");
    else
        snprintf(text + length, left, "%s=%lld ", name, (long long)value->as.i);
}

static void on_event(void *context, const struct wt_event *event)
{
    static const struct wt_visitor visitor = {.value = on_value};
    struct found *found = context;
    const struct wt_metadata *metadata = event->metadata;
    size_t used;
    found->enums += strcmp(metadata->event_name, "Enum") == 0;
    if (strcmp(metadata->provider_name, "Weir") == 0)
        return;
    if (strcmp(metadata->event_name, "Small") == 0)
        found->own_bytes += event->payload_size;
    assert_true(
        wt_fields_walk(metadata, event->payload, event->payload_size, &visitor, found, &used));
}

static const struct wt_handlers handlers = {.event = on_event};

static struct found found_at_stop(struct weir_session *session)
{
    struct found found = {.enums = 0};
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    unit_read_memory(session, handlers, &found);
    weir_session_destroy(session);
    return found;
}

static struct weir_session *start(enum weir_mode mode)
{
    struct weir_session_config config = unit_config();
    config.providers = "Named,Late";
    config.unknown_providers_allowed = true;
    config.mode = mode;
    return unit_start(&config);
}

static void test_names(void **state)
{
    (void)state;
    struct weir_session *session = start(WEIR_MODE_DROP);
    assert_true(WEIR_EMIT(Named, Small, 200, true, -1, false));
    assert_true(WEIR_EMIT(Named, Small, 7, false, 3, true));
    assert_true(WEIR_EMIT(Named, Small_1, 0, UINT64_MAX));
    assert_true(WEIR_EMIT(Named, Large, "x", true, -1, 1, 2, 3, 4, 5));
    assert_true(WEIR_EMIT(Named, Switched, true, true));
    struct found found = found_at_stop(session);
    assert_string_equal(found.text, "Color=Blue Yes=true Sign=Minus No=false "
                                    "Color=7 Yes=false Sign=3 No=true "
                                    "Color=0 Edge=Most "
                                    "Flag=true Sign=Minus A=1 B=2 C=3 D=4 E=5 "
                                    "Is=On Was=true ");
    assert_int_equal(found.enums, 9); /* once for each field */
    assert_int_equal(found.own_bytes, 2 * 4);
}

/* Each file has the names. */
static void test_snapshots(void **state)
{
    (void)state;
    struct weir_session *session = start(WEIR_MODE_OVERWRITE);
    assert_true(WEIR_EMIT(Named, Small, 1, true, 1, true));
    for (int i = 0; i < 2; i++) {
        struct found found = {.enums = 0};
        unit_read_snapshot(session, handlers, &found);
        assert_string_equal(found.text, "Color=Green Yes=true Sign=Plus No=true ");
    }
    assert_string_equal(found_at_stop(session).text, "Color=Green Yes=true Sign=Plus No=true ");
}

static struct weir_field fields[] = {{"Flag", WEIR_TYPE_bool8}, {"Sign", WEIR_TYPE_i16}};
static const struct weir_enum *enums[2] = {NULL, &weir_enum_Sign};

static struct weir_schema late_schema(void)
{
    struct weir_schema schema = WEIR_SCHEMA_INIT;
    schema.name = "Event";
    schema.event_id = 1;
    schema.fields = fields;
    schema.field_count = 2;
    schema.enums = enums;
    return schema;
}

static void test_defined_at_run_time(void **state)
{
    (void)state;
    struct weir_provider *late;
    struct weir_event *event;
    struct weir_session *session = start(WEIR_MODE_DROP);
    const struct weir_schema schema = late_schema();
    const struct weir_value values[] = {{.type = WEIR_TYPE_bool8, .boolean = true},
                                        {.type = WEIR_TYPE_i16, .signed_value = -1}};
    assert_int_equal(weir_provider_create("Late", NULL, NULL, &late, NULL), WEIR_OK);
    assert_int_equal(weir_event_define(late, &schema, &event, NULL), WEIR_OK);
    assert_true(weir_event_emit(event, values, 2, sizeof values[0]));
    weir_provider_destroy(late);
    struct found found = found_at_stop(session);
    assert_string_equal(found.text, "Flag=true Sign=Minus ");
    assert_int_equal(found.enums, 2);
}

/* 2,500 names of 6 bytes, with their numbers, take 59,000 bytes in the file. */
static void test_long_list(void **state)
{
    (void)state;
    static struct weir_enum_value values[2500];
    const uint32_t count = sizeof values / sizeof values[0];
    const struct weir_enum names = {sizeof names, "Names", values, count, sizeof values[0]};
    struct weir_provider *late;
    struct weir_event *event;
    const struct weir_schema schema = late_schema();
    const struct weir_value given[] = {{.type = WEIR_TYPE_bool8, .boolean = true},
                                       {.type = WEIR_TYPE_i16, .signed_value = 2499}};
    for (uint32_t i = 0; i < count; i++)
        values[i] = (struct weir_enum_value){i == count - 1 ? "latest" : "a name", i};
    struct weir_session *session = start(WEIR_MODE_DROP);
    enums[1] = &names;
    assert_int_equal(weir_provider_create("Late", NULL, NULL, &late, NULL), WEIR_OK);
    assert_int_equal(weir_event_define(late, &schema, &event, NULL), WEIR_OK);
    assert_true(weir_event_emit(event, given, 2, sizeof given[0]));
    weir_provider_destroy(late);
    assert_string_equal(found_at_stop(session).text, "Flag=true Sign=latest ");
}

static void refused(const struct weir_enum *names, enum weir_type type, const char *why)
{
    struct weir_provider *late;
    struct weir_event *event;
    struct weir_error error;
    const struct weir_schema schema = late_schema();
    fields[1].type = type;
    enums[1] = names;
    assert_int_equal(weir_provider_create("Late", NULL, NULL, &late, NULL), WEIR_OK);
    assert_int_equal(weir_event_define(late, &schema, &event, &error), WEIR_BAD_ARGUMENT);
    if (!strstr(error.text, why))
        fail_msg("'%s' instead of '%s'", error.text, why);
    weir_provider_destroy(late);
}

static void test_bad_enums(void **state)
{
    (void)state;
    static struct weir_enum_value values[4000];
    struct weir_enum names = {sizeof names, "Names", values, 1, sizeof values[0]};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        values[i] = (struct weir_enum_value){"a name", (int64_t)i};
    refused(&weir_enum_Sign, WEIR_TYPE_f32, "'Sign' has an enum, but is no integer");
    refused(&weir_enum_Sign, WEIR_TYPE_array_i32, "no integer");
    names.value_count = 4000;
    refused(&names, WEIR_TYPE_u8, "too many or too long");
    names.value_count = 1;
    values[0].name = "a;b";
    refused(&names, WEIR_TYPE_u8, "semicolon");
    values[0].name = NULL;
    refused(&names, WEIR_TYPE_u8, "no name");
    names.values = NULL;
    refused(&names, WEIR_TYPE_u8, "no values");
    names.size = sizeof names + 8;
    refused(&names, WEIR_TYPE_u8, "enum.size");
}

static int setup(void **state)
{
    return weir_provider_register(&weir_provider_Named, NULL, NULL, NULL, NULL) == WEIR_OK
               ? unit_setup(state)
               : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_snapshots),
        cmocka_unit_test(test_defined_at_run_time),
        cmocka_unit_test(test_long_list),
        cmocka_unit_test(test_bad_enums),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
