/* Shapes of events: what their metadata says, and what their payloads are. */
#include "stream.h"

#include <fields.h>
#include <stdio.h>

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

#define OPCODE_RESUME 7
#define SHAPES_EVENTS(EVENT, P)                                                                    \
    EVENT(P, Resume, 1, 0, WEIR_LEVEL_INFO, 0x1, (u32, Number), (opcode, OPCODE_RESUME))           \
    EVENT(P, SweepStart, 2, 0, WEIR_LEVEL_INFO, 0x1, (opcode, 255))                                \
    EVENT(P, MarkStart, 3, 0, WEIR_LEVEL_INFO, 0x1, (opcode, 0), (u8, Small), (str, Text))         \
    EVENT(P, Sample, 0, 0, WEIR_LEVEL_INFO, 0x2, (u32, Kind))                                      \
    EVENT(P, Nodes, 4, 0, WEIR_LEVEL_INFO, 0x4, (u32, Index), (u16, Runtime), (raw, Values))       \
    EVENT(P, Bytes, 5, 0, WEIR_LEVEL_INFO, 0x4, (raw, Bytes))                                      \
    EVENT(P, Mixed, 6, 0, WEIR_LEVEL_INFO, 0x4, (str, Text), (array_u16, Numbers), (str16, Wide),  \
          (raw, Rest))                                                                             \
    EVENT(P, Plain, 7, 0, WEIR_LEVEL_INFO | WEIR_EVENT_UNDESCRIBED, 0x4, (u32, Number),            \
          (bool8, Flag))                                                                           \
    EVENT(P, Hidden, 8, 0, WEIR_LEVEL_INFO | WEIR_EVENT_UNDESCRIBED | WEIR_EVENT_ORDERED, 0x4,     \
          (array_u8, Bytes), (str, Text), (raw, Rest))                                             \
    EVENT(P, Place, 9, 0, WEIR_LEVEL_INFO, 0x8, (u8, Before), (struct(Point), Point), (u8, After)) \
    EVENT(P, Points, 10, 0, WEIR_LEVEL_INFO, 0x8, (u16, Index), (array_struct(Point), Points))     \
    EVENT(P, Names, 11, 0, WEIR_LEVEL_INFO, 0x8, (struct(Name), Name),                             \
          (array_struct(Point), Points), (raw, Rest))
#define SHAPES_POINT(FIELD) FIELD(u8, Kind) FIELD(u64, Address) FIELD(bool, IsRoot) FIELD(f64, Size)
#define SHAPES_NAME(FIELD)  FIELD(str, Text) FIELD(u16, Number) FIELD(strn, Part)
WEIR_STRUCT(Point, SHAPES_POINT)
WEIR_STRUCT(Name, SHAPES_NAME)
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

static uint8_t format; /* of the streams: each test runs in both */

static struct weir_session *start(void)
{
    struct weir_session_config config = unit_config();
    config.format = format;
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
    config.format = format;
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
    config.format = format;
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

/* --- Objects, and arrays of them. ------------------------------------------------------------ */

static const struct weir_struct_Point points[] = {{1, 0x100, 1, 1.5}, {2, UINT64_MAX / 2, 0, -2}};

#define POINT_1 "Kind=1 Address=256 IsRoot=1 Size=1.5 "
#define POINT_2 "Kind=2 Address=9223372036854775807 IsRoot=0 Size=-2 "

static void emit_structs(void)
{
    const struct weir_struct_Name name = {"a name", 7, "partial", 4};
    assert_true(WEIR_EMIT(Shapes, Place, 5, &points[1], 6));
    assert_true(WEIR_EMIT(Shapes, Points, 1, points, 2));
    assert_true(WEIR_EMIT(Shapes, Points, 2, NULL, 2));
    assert_true(WEIR_EMIT(Shapes, Names, &name, points, 1, bytes, 2));
}

#define STRUCTS                                                                          \
    "9:-1 Before=5 Point{ " POINT_2 "} After=6 ; "                                       \
    "10:-1 Index=1 Points[ { " POINT_1 "} { " POINT_2 "} ] ; 10:-1 Index=2 Points[ ] ; " \
    "11:-1 Name{ Text='a name' Number=7 Part='part' } Points[ { " POINT_1 "} ] Rest=00ff ; "

static void test_structs(void **state)
{
    (void)state;
    assert_int_equal(sizeof points[0], 1 + 8 + 4 + 8);
    struct weir_session *session = start();
    emit_structs();
    struct weir_session *second = start();
    emit_structs();
    expect(second, STRUCTS);
    expect(session, STRUCTS STRUCTS);
}

static void test_structs_at_the_limit(void **state)
{
    (void)state;
    static struct weir_struct_Point many[3121]; /* 21 bytes each; their count and Index take four */
    struct weir_session_config config = unit_config();
    config.format = format;
    config.providers = "Shapes";
    config.segment_bytes = 4096;
    struct weir_session *session = unit_start(&config);
    assert_true(WEIR_EMIT(Shapes, Points, 1, many, 3120));
    assert_false(WEIR_EMIT(Shapes, Points, 1, many, 3121));
    assert_false(WEIR_EMIT(Shapes, Points, 1, many, UINT32_MAX));
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(unit_counts(session).lost[WEIR_LOSS_TOO_LARGE], 2);
    weir_session_destroy(session);
}

/* An event such as .NET's EventCounters: its one field is an object, with another one in it, and an
 * array of elements that have an object. */
static const struct weir_field inner_fields[] = {{"X", WEIR_TYPE_i16}, {"Y", WEIR_TYPE_u8}};
static const struct weir_object inner = {sizeof inner, inner_fields, 2, sizeof(struct weir_field),
                                         NULL};
static const struct weir_object *const inner_objects[] = {&inner, &inner};
static const struct weir_field element_fields[] = {{"Id", WEIR_TYPE_u32}, {"At", WEIR_TYPE_object}};
static const struct weir_object element = {sizeof element, element_fields, 2,
                                           sizeof(struct weir_field), inner_objects};
static const struct weir_object *const payload_objects[] = {&inner, &element};
static const struct weir_field payload_fields[] = {{"Name", WEIR_TYPE_str},
                                                   {"Mean", WEIR_TYPE_f64},
                                                   {"Where", WEIR_TYPE_object},
                                                   {"List", WEIR_TYPE_array_object}};
static const struct weir_object payload = {sizeof payload, payload_fields, 4,
                                           sizeof(struct weir_field), payload_objects};
static const struct weir_object *const event_objects[] = {&payload};
static const struct weir_field event_fields[] = {{"Payload", WEIR_TYPE_object},
                                                 {"Last", WEIR_TYPE_u8}};

static struct weir_schema nested_schema(void)
{
    struct weir_schema schema = WEIR_SCHEMA_INIT;
    schema.name = "EventCounters";
    schema.fields = event_fields;
    schema.field_count = 2;
    schema.objects = event_objects;
    return schema;
}

static struct weir_event *nested_define(struct weir_provider *late)
{
    const struct weir_schema schema = nested_schema();
    struct weir_event *event;
    struct weir_error error;
    if (weir_event_define(late, &schema, &event, &error) != WEIR_OK)
        fail_msg("%s", error.text);
    return event;
}

static void test_nested_values(void **state)
{
    (void)state;
    static const uint8_t list[] = {1, 0, 0, 0, 0xff, 0xff, 3, 2, 0, 0, 0, 4, 0, 5};
    struct weir_value where[] = {{.type = WEIR_TYPE_i16, .signed_value = -1},
                                 {.type = WEIR_TYPE_u8, .unsigned_value = 2}};
    struct weir_value inside[] = {
        {.type = WEIR_TYPE_str, .pointer = "cpu"},
        {.type = WEIR_TYPE_f64, .float_value = 0.5},
        {.type = WEIR_TYPE_object, .count = 2, .pointer = where},
        {.type = WEIR_TYPE_array_object, .count = 2, .pointer = list},
    };
    struct weir_value values[] = {{.type = WEIR_TYPE_object, .count = 4, .pointer = inside},
                                  {.type = WEIR_TYPE_u8, .unsigned_value = 9}};
    struct weir_provider *late = late_create();
    struct weir_event *event = nested_define(late);
    struct weir_session *session = start();
    assert_true(weir_event_emit(event, values, 2, sizeof values[0]));
    inside[3].count = 0;
    assert_true(weir_event_emit_at(event, weir_clock(), values, 2, sizeof values[0]));
    where[1].type = WEIR_TYPE_i8;
    assert_false(weir_event_emit(event, values, 2, sizeof values[0]));
    assert_int_equal(weir_last_loss(), WEIR_LOSS_MISMATCH);
    where[1].type = WEIR_TYPE_u8;
    inside[2].count = 1;
    assert_false(weir_event_emit(event, values, 2, sizeof values[0]));
    values[0].pointer = NULL;
    assert_false(weir_event_emit(event, values, 2, sizeof values[0]));
    assert_int_equal(weir_last_loss(), WEIR_LOSS_MISMATCH);
    expect(session, "0:-1 Payload{ Name='cpu' Mean=0.5 Where{ X=-1 Y=2 } "
                    "List[ { Id=1 At{ X=-1 Y=3 } } { Id=2 At{ X=4 Y=5 } } ] } Last=9 ; "
                    "0:-1 Payload{ Name='cpu' Mean=0.5 Where{ X=-1 Y=2 } List[ ] } Last=9 ; ");
    weir_provider_destroy(late);
}

/* A provider that comes back with the same event uses its definition; another one is another. */
static void test_nested_again(void **state)
{
    (void)state;
    struct weir_event *first, *second;
    struct weir_provider *late = late_create();
    first = nested_define(late);
    weir_provider_destroy(late);
    late = late_create();
    assert_ptr_equal(nested_define(late), first);
    weir_provider_destroy(late);
    late = late_create();
    struct weir_object other = payload;
    other.field_count = 3;
    const struct weir_object *const objects[] = {&other};
    struct weir_schema schema = nested_schema();
    schema.objects = objects;
    assert_int_equal(weir_event_define(late, &schema, &second, NULL), WEIR_OK);
    assert_ptr_not_equal(second, first);
    weir_provider_destroy(late);
}

static void refused(const struct weir_schema *schema, const char *why)
{
    struct weir_provider *late = late_create();
    struct weir_event *event;
    struct weir_error error = {""};
    assert_int_equal(weir_event_define(late, schema, &event, &error), WEIR_BAD_ARGUMENT);
    if (!strstr(error.text, why))
        fail_msg("'%s' does not say '%s'", error.text, why);
    weir_provider_destroy(late);
}

static void test_bad_objects(void **state)
{
    (void)state;
    static const struct weir_field texts[] = {{"Text", WEIR_TYPE_str}};
    static const struct weir_field raws[] = {{"Rest", WEIR_TYPE_raw}};
    static const struct weir_field deep[] = {{"Deep", WEIR_TYPE_object}};
    static struct weir_field many[63];
    struct weir_object nested = payload;
    const struct weir_object *objects[] = {&nested};
    struct weir_schema schema = nested_schema();
    schema.objects = NULL;
    refused(&schema, "the object 'Payload' has no fields; set objects");
    schema.objects = objects;
    nested.objects = NULL;
    refused(&schema, "'Where' has no fields");
    nested.field_count = 0;
    refused(&schema, "'Payload' has 0 fields");
    nested = payload;
    nested.size += 8;
    refused(&schema, "object.size");
    nested = payload;
    nested.field_bytes += 8;
    refused(&schema, "object.field_bytes");
    nested = inner;
    nested.fields = raws;
    nested.field_count = 1;
    refused(&schema, "put the raw field 'Rest' last");
    for (size_t i = 0; i < 63; i++)
        many[i] = inner_fields[0];
    nested.fields = many;
    nested.field_count = 63;
    refused(&schema, "65 fields; at most 64");
    nested.field_count = 62;
    struct weir_provider *late = late_create();
    struct weir_event *event;
    assert_int_equal(weir_event_define(late, &schema, &event, NULL), WEIR_OK);
    weir_provider_destroy(late);
    nested = inner;
    nested.fields = texts;
    nested.field_count = 1;
    const struct weir_field list[] = {{"List", WEIR_TYPE_array_object}};
    schema.fields = list;
    schema.field_count = 1;
    refused(&schema, "field 'Text' has no fixed size");
    schema.fields = deep;
    nested.fields = deep;
    nested.objects = objects; /* in itself */
    refused(&schema, "the object 'Deep' is in 4 others");
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
        cmocka_unit_test(test_structs),
        cmocka_unit_test(test_structs_at_the_limit),
        cmocka_unit_test(test_nested_values),
        cmocka_unit_test(test_nested_again),
        cmocka_unit_test(test_bad_objects),
    };
    int failed = cmocka_run_group_tests_name("in V4 and V5", tests, setup, NULL);
    format = WEIR_FORMAT_NETTRACE_6;
    return failed + cmocka_run_group_tests_name("in V6", tests, NULL, NULL);
}
