/* Shapes of events: what their metadata says, and what their payloads are. */
#include "stream.h"

#include <fields.h>
#include <stdio.h>

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

#define OPCODE_RESUME 7
#define SHAPES_EVENTS(EVENT, P)                                                                   \
    EVENT(P, Resume, 1, 0, WEIR_LEVEL_INFO, 0x1, (u32, Number), (opcode, OPCODE_RESUME))          \
    EVENT(P, SweepStart, 2, 0, WEIR_LEVEL_INFO, 0x1, (opcode, 255))                               \
    EVENT(P, MarkStart, 3, 0, WEIR_LEVEL_INFO, 0x1, (opcode, 0), (u8, Small), (str, Text))        \
    EVENT(P, Sample, 0, 0, WEIR_LEVEL_INFO, 0x2, (u32, Kind))                                     \
    EVENT(P, Nodes, 4, 0, WEIR_LEVEL_INFO, 0x4, (u32, Index), (u16, Runtime), (raw, Values))      \
    EVENT(P, Bytes, 5, 0, WEIR_LEVEL_INFO, 0x4, (raw, Bytes))                                     \
    EVENT(P, Mixed, 6, 0, WEIR_LEVEL_INFO, 0x4, (str, Text), (array_u16, Numbers), (str16, Wide), \
          (raw, Rest))                                                                            \
    EVENT(P, Plain, 7, 0, WEIR_LEVEL_INFO | WEIR_EVENT_UNDESCRIBED, 0x4, (u32, Number),           \
          (bool8, Flag))                                                                          \
    EVENT(P, Hidden, 8, 0, WEIR_LEVEL_INFO | WEIR_EVENT_UNDESCRIBED | WEIR_EVENT_ORDERED, 0x4,    \
          (array_u8, Bytes), (str, Text), (raw, Rest))
WEIR_PROVIDER(Shapes, SHAPES_EVENTS)
WEIR_PROVIDER_DEFINE(Shapes, SHAPES_EVENTS)

/* The events of a stream: "id:opcode" and the payload as `weir dump` reads it. */
struct found {
    char text[2000];
    uint32_t enums; /* Weir/Enum */
};

static void add(struct found *found, const char *text)
{
    size_t length = strlen(found->text);
    assert_true(length + strlen(text) < sizeof found->text);
    strcpy(found->text + length, text);
}

static void on_value(void *context, const char *name, const struct wt_value *value)
{
    char text[300] = "", string[100];
    if (value->kind == WT_VALUE_BYTES) {
        for (uint32_t i = 0; i < value->size && i < 32; i++)
            snprintf(text + 2 * i, 3, "%02x", value->bytes[i]);
    } else if (value->kind == WT_VALUE_STRING) {
        wt_utf16_to_utf8(value->bytes, value->size, string, sizeof string);
        snprintf(text, sizeof text, "'%s'", string);
    } else if (value->kind == WT_VALUE_DOUBLE) {
        snprintf(text, sizeof text, "%g", value->as.d);
    } else {
        snprintf(text, sizeof text, "%lld", (long long)value->as.i);
    }
    if (name)
        add(context, name);
    add(context, name ? "=" : "");
    add(context, text);
    add(context, " ");
}

static void on_begin(void *context, const char *name, bool array, uint32_t count)
{
    (void)count;
    add(context, name ? name : "");
    add(context, array ? "[ " : "{ ");
}

static void on_end(void *context, bool array)
{
    add(context, array ? "] " : "} ");
}

static void on_event(void *context, const struct wt_event *event)
{
    static const struct wt_visitor visitor = {on_value, on_begin, on_end};
    const struct wt_metadata *metadata = event->metadata;
    char head[40];
    size_t used;
    ((struct found *)context)->enums += strcmp(metadata->event_name, "Enum") == 0;
    if (strcmp(metadata->provider_name, "Weir") == 0)
        return;
    snprintf(head, sizeof head, "%d:%d ", metadata->event_id,
             metadata->has_opcode ? metadata->opcode : -1);
    add(context, head);
    assert_true(
        wt_fields_walk(metadata, event->payload, event->payload_size, &visitor, context, &used));
    for (size_t i = used; i < event->payload_size; i++) {
        snprintf(head, sizeof head, "%02x", event->payload[i]);
        add(context, head);
    }
    add(context, "; ");
}

static const struct wt_handlers handlers = {.event = on_event};

static struct weir_session *start(void)
{
    struct weir_session_config config = unit_config();
    config.providers = "Shapes,Late";
    config.unknown_providers_allowed = true;
    return unit_start(&config);
}

/* Stops the session, and compares what its stream has. Returns the number of events Weir/Enum. */
static uint32_t expect(struct weir_session *session, const char *text)
{
    struct found found = {.enums = 0};
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    unit_read_memory(session, handlers, &found);
    assert_string_equal(found.text, text);
    weir_session_destroy(session);
    return found.enums;
}

static struct weir_provider *late_create(void)
{
    struct weir_provider *provider;
    assert_int_equal(weir_provider_create("Late", NULL, NULL, &provider, NULL), WEIR_OK);
    return provider;
}

/* With a byte of 0, the name decides. */
static void test_opcodes(void **state)
{
    (void)state;
    struct weir_session *session = start();
    assert_true(WEIR_EMIT(Shapes, Resume, 3));
    assert_true(WEIR_EMIT(Shapes, SweepStart));
    assert_true(WEIR_EMIT(Shapes, MarkStart, 4, "x"));
    assert_true(WEIR_EMIT_AT(weir_clock(), Shapes, Resume, 5));
    assert_true(WEIR_EMIT_TO(weir_session_id(session), Shapes, SweepStart));
    expect(session, "1:7 Number=3 ; 2:255 ; 3:1 Small=4 Text='x' ; 1:7 Number=5 ; 2:255 ; ");
}

static void test_event_id_0(void **state)
{
    (void)state;
    struct weir_provider *late = late_create();
    struct weir_schema schema = WEIR_SCHEMA_INIT;
    struct weir_event *event;
    schema.name = "None";
    assert_int_equal(weir_event_define(late, &schema, &event, NULL), WEIR_OK);
    assert_int_equal(weir_event_define(late, &schema, &event, NULL), WEIR_EXISTS);
    struct weir_session *session = start();
    assert_true(weir_event_emit(event, NULL, 0, sizeof(struct weir_value)));
    assert_true(WEIR_EMIT(Shapes, Sample, 2));
    expect(session, "0:-1 ; 0:-1 Kind=2 ; ");
    weir_provider_destroy(late);
}

/* A session that names it, and one that excludes it. */
static void test_filters_by_event_id_0(void **state)
{
    (void)state;
    static const uint16_t zero[] = {0};
    struct weir_enable enable = WEIR_ENABLE_INIT;
    struct weir_session_config config = unit_config();
    enable.provider = "Shapes";
    enable.event_ids = zero;
    enable.event_id_count = 1;
    enable.event_ids_allowed = true;
    config.providers = NULL;
    config.enables = &enable;
    config.enable_count = 1;
    struct weir_session *only = unit_start(&config);
    enable.event_ids_allowed = false;
    struct weir_session *others = unit_start(&config);
    assert_true(WEIR_EMIT(Shapes, Sample, 2));
    assert_true(WEIR_EMIT(Shapes, Resume, 3));
    expect(only, "0:-1 Kind=2 ; ");
    expect(others, "1:7 Number=3 ; ");
}

static const uint8_t bytes[] = {0x00, 0xff, 0x10, 0x20, 0x30};

/* With one session on the fast way, and with two on the other one. */
static void emit_raw(void)
{
    static const uint16_t numbers[] = {1, 2}, wide[] = {'w', 0};
    assert_true(WEIR_EMIT(Shapes, Nodes, 1, 9, bytes, sizeof bytes));
    assert_true(WEIR_EMIT(Shapes, Nodes, 2, 9, bytes, 2)); /* in a run with the one before */
    assert_true(WEIR_EMIT(Shapes, Nodes, 3, 9, NULL, 5));  /* no data: no bytes */
    assert_true(WEIR_EMIT(Shapes, Bytes, bytes, 3));
    assert_true(WEIR_EMIT(Shapes, Bytes, bytes, 0));
    assert_true(WEIR_EMIT(Shapes, Mixed, "t", numbers, 2, wide, bytes, sizeof bytes));
}

#define RAW                                                                            \
    "4:-1 Index=1 Runtime=9 Values=00ff102030 ; 4:-1 Index=2 Runtime=9 Values=00ff ; " \
    "4:-1 Index=3 Runtime=9 Values= ; 5:-1 Bytes=00ff10 ; 5:-1 Bytes= ; "              \
    "6:-1 Text='t' Numbers[ 1 2 ] Wide='w' Rest=00ff102030 ; "

static void test_raw(void **state)
{
    (void)state;
    struct weir_session *session = start();
    emit_raw();
    struct weir_session *second = start();
    emit_raw();
    assert_int_equal(expect(second, RAW), 3); /* a name for the bytes of each event */
    assert_int_equal(expect(session, RAW RAW), 3);
}

/* The record of a large one spans segments. The count in the record takes two bytes. */
static void test_raw_at_the_limit(void **state)
{
    (void)state;
    static uint8_t large[65536];
    struct weir_session_config config = unit_config();
    config.providers = "Shapes";
    config.segment_bytes = 4096;
    struct weir_session *session = unit_start(&config);
    assert_true(WEIR_EMIT(Shapes, Bytes, large, 65533));
    assert_false(WEIR_EMIT(Shapes, Bytes, large, 65534));
    assert_false(WEIR_EMIT(Shapes, Bytes, large, ((size_t)1 << 32) + 1));
    assert_int_equal(weir_last_loss(), WEIR_LOSS_TOO_LARGE);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(unit_counts(session).written, 1);
    assert_int_equal(unit_counts(session).lost[WEIR_LOSS_TOO_LARGE], 2);
    weir_session_destroy(session);
}

/* The file says nothing about the fields: neither their names nor those of values. */
static void test_undescribed(void **state)
{
    (void)state;
    struct weir_session *session = start();
    assert_true(WEIR_EMIT(Shapes, Plain, 1, true));
    assert_true(WEIR_EMIT(Shapes, Hidden, bytes, 2, "t", bytes, 3));
    assert_int_equal(expect(session, "7:-1 0100000001; 8:-1 020000ff7400000000ff10; "), 0);
}

static void test_raw_defined_at_run_time(void **state)
{
    (void)state;
    static const struct weir_field fields[] = {{"Number", WEIR_TYPE_u16}, {"Rest", WEIR_TYPE_raw}};
    struct weir_value values[] = {{.type = WEIR_TYPE_u16, .unsigned_value = 7},
                                  {.type = WEIR_TYPE_raw, .count = sizeof bytes, .pointer = bytes}};
    struct weir_provider *late = late_create();
    struct weir_schema schema = WEIR_SCHEMA_INIT;
    struct weir_event *described, *undescribed;
    schema.name = "Late";
    schema.fields = fields;
    schema.field_count = 2;
    assert_int_equal(weir_event_define(late, &schema, &described, NULL), WEIR_OK);
    schema.level |= WEIR_EVENT_UNDESCRIBED;
    schema.event_id = 1;
    assert_int_equal(weir_event_define(late, &schema, &undescribed, NULL), WEIR_OK);
    struct weir_session *session = start();
    assert_true(weir_event_emit(described, values, 2, sizeof values[0]));
    assert_true(weir_event_emit(undescribed, values, 2, sizeof values[0]));
    assert_true(weir_event_emit_at(described, weir_clock(), values, 2, sizeof values[0]));
    values[1].type = WEIR_TYPE_array_u8;
    assert_false(weir_event_emit(described, values, 2, sizeof values[0]));
    assert_int_equal(weir_last_loss(), WEIR_LOSS_MISMATCH);
    expect(session, "0:-1 Number=7 Rest=00ff102030 ; 1:-1 070000ff102030; "
                    "0:-1 Number=7 Rest=00ff102030 ; ");
    weir_provider_destroy(late);
}

static void test_raw_that_is_not_last(void **state)
{
    (void)state;
    static const struct weir_field fields[] = {{"A", WEIR_TYPE_raw}, {"B", WEIR_TYPE_raw}};
    struct weir_provider *late = late_create();
    struct weir_schema schema = WEIR_SCHEMA_INIT;
    struct weir_event *event;
    struct weir_error error = {""};
    schema.name = "Two";
    schema.fields = fields;
    schema.field_count = 2;
    assert_int_equal(weir_event_define(late, &schema, &event, &error), WEIR_BAD_ARGUMENT);
    assert_string_equal(error.text,
                        "event 'Two': put the raw field 'A' last; an event has one at most");
    weir_provider_destroy(late);
}

static int setup(void **state)
{
    return weir_provider_register(&weir_provider_Shapes, NULL, NULL, NULL, NULL) == WEIR_OK
               ? unit_setup(state)
               : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opcodes),
        cmocka_unit_test(test_event_id_0),
        cmocka_unit_test(test_filters_by_event_id_0),
        cmocka_unit_test(test_raw),
        cmocka_unit_test(test_raw_at_the_limit),
        cmocka_unit_test(test_undescribed),
        cmocka_unit_test(test_raw_defined_at_run_time),
        cmocka_unit_test(test_raw_that_is_not_last),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
