/* Payload sizes: what fits, what does not, and that each refused event is counted. */
#include "unit.h"

#include <pthread.h>
#include <fields.h>
#include <reader.h>
#include <stdlib.h>

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

/* Fields of each type, each followed by one of another size. */
#define VALUES_EVENTS(EVENT, P)                                                          \
    EVENT(P, All, 1, 0, WEIR_LEVEL_INFO, 0x1, (bool, Flag), (i8, Small), (str, Narrow),  \
          (f32, Single), (array_u16, Numbers), (f64, Double), (guid, Id), (str16, Wide), \
          (strn, Part), (u8, Last))                                                      \
    EVENT(P, Named, 2, 0, WEIR_LEVEL_INFO, 0x2, (u32, Number), (strn, Name))
WEIR_PROVIDER(Values, VALUES_EVENTS)
WEIR_PROVIDER_DEFINE(Values, VALUES_EVENTS)

static bool emit_text(uint32_t bytes)
{
    char *text = malloc(bytes + 1u);
    assert_non_null(text);
    memset(text, 'x', bytes);
    text[bytes] = 0;
    bool is_written = WEIR_EMIT(Unit, Text, text);
    free(text);
    return is_written;
}

/* A string takes twice its bytes plus two in the file; a payload takes at most 65,535 bytes
 * there. */
static void test_text_at_the_limit(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    config.segment_bytes = 128u << 10;
    struct weir_session *session = unit_start(&config);
    assert_true(emit_text(0));
    assert_true(emit_text(32765));
    assert_true(emit_text(32766));
    assert_false(emit_text(32767));
    assert_false(emit_text(1u << 20));
    assert_int_equal(weir_last_loss(), WEIR_LOSS_TOO_LARGE);
    assert_true(emit_text(1));
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(unit_counts(session).written, 4);
    assert_int_equal(unit_counts(session).lost[WEIR_LOSS_TOO_LARGE], 2);
    weir_session_destroy(session);
}

static void test_bytes_at_the_limits(void **state)
{
    (void)state;
    static uint8_t bytes[70000];
    struct weir_session_config config = unit_config();
    struct weir_session *session = unit_start(&config);
    assert_true(WEIR_EMIT(Unit, Bytes, bytes, 65533)); /* the count takes two */
    assert_false(WEIR_EMIT(Unit, Bytes, bytes, 65534));
    assert_false(WEIR_EMIT(Unit, Bytes, bytes, 70000));
    assert_true(WEIR_EMIT(Unit, Bytes, NULL, 5)); /* no data: an empty array */
    assert_true(WEIR_EMIT(Unit, Bytes, bytes, 0));
    assert_true(WEIR_EMIT(Unit, Text, NULL)); /* no text: an empty one */
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(unit_counts(session).written, 4);
    assert_int_equal(unit_counts(session).lost[WEIR_LOSS_TOO_LARGE], 2);
    weir_session_destroy(session);
}

/* A refused event marks its place with 16 bytes; it does not cost a segment. */
static void test_refused_events_leave_room(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    config.segment_bytes = 4096;
    config.budget_bytes = 8192;
    config.flush_ms = 60000;
    struct weir_session *session = unit_start(&config);
    for (int i = 0; i < 80; i++) {
        assert_true(WEIR_EMIT(Unit, Pair, 1, 2));
        assert_false(emit_text(40000));
    }
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(unit_counts(session).written, 80);
    assert_int_equal(unit_counts(session).lost[WEIR_LOSS_TOO_LARGE], 80);
    weir_session_destroy(session);
}

#ifndef UNDER_TSAN /* the host races on purpose */
struct changing {
    char text[7001]; /* alternates between larger and smaller than a segment */
    uint32_t is_done;
};

static void *change(void *argument)
{
    struct changing *changing = argument;
    for (unsigned at = 0; !__atomic_load_n(&changing->is_done, __ATOMIC_RELAXED);
         at = (at + 977) % 7000) {
        __atomic_store_n(&changing->text[at], 0, __ATOMIC_RELAXED);
        __atomic_store_n(&changing->text[at], 'x', __ATOMIC_RELAXED);
    }
    return NULL;
}

/* If the host changes a string while it is emitted, the record has some bytes of each version, and
 * nothing else is affected. */
static void test_string_that_changes(void **state)
{
    (void)state;
    static struct changing changing;
    struct weir_session_config config = unit_config();
    config.segment_bytes = 4096;
    config.memory_bytes_max = 0;
    config.sink.write = unit_discard;
    struct weir_session *session = unit_start(&config);
    memset(changing.text, 'x', sizeof changing.text - 1);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, change, &changing), 0);
    for (int i = 0; i < 100000; i++)
        WEIR_EMIT(Unit, Text, changing.text);
    __atomic_store_n(&changing.is_done, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(unit_counts(session).attempted, 100000);
    weir_session_destroy(session);
}
#endif

static void test_two_sessions_have_a_copy_each(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    struct weir_session *all = unit_start(&config);
    config.providers = "Unit:0x2:5";
    struct weir_session *text = unit_start(&config);
    config.segment_bytes = 4096;
    config.budget_bytes = 8192;
    struct weir_session *small = unit_start(&config);
    assert_true(WEIR_EMIT(Unit, Pair, 1, 2));
    assert_true(WEIR_EMIT(Unit, Text, "both"));
    assert_false(emit_text(5000)); /* half of the small session's budget is one segment */
    assert_int_equal(weir_session_stop(all, NULL), WEIR_OK);
    assert_int_equal(weir_session_stop(text, NULL), WEIR_OK);
    assert_int_equal(weir_session_stop(small, NULL), WEIR_OK);
    assert_int_equal(unit_counts(all).written, 3);
    assert_int_equal(unit_counts(text).written, 2);
    assert_int_equal(unit_counts(small).written, 1);
    assert_int_equal(unit_counts(small).lost[WEIR_LOSS_TOO_LARGE], 1);
    weir_session_destroy(all);
    weir_session_destroy(text);
    weir_session_destroy(small);
}

static struct {
    uint8_t bytes[256];
    uint32_t size, count;
} payload;

static char names[512];

/* Each event All equals the first one. The names are kept. */
static void on_values(void *context, const struct wt_event *event)
{
    (void)context;
    size_t length = strlen(names);
    if (strcmp(event->metadata->provider_name, "Values") != 0)
        return;
    if (event->metadata->event_id == 2) {
        assert_true(event->payload_size >= 6 && event->payload_size % 2 == 0);
        length += wt_utf16_to_utf8(event->payload + 4, event->payload_size - 6, names + length,
                                   sizeof names - length - 1);
        names[length] = '|';
        return;
    }
    if (payload.count++ == 0) {
        assert_in_range(event->payload_size, 1, sizeof payload.bytes);
        payload.size = (uint32_t)event->payload_size;
        memcpy(payload.bytes, event->payload, payload.size);
    }
    assert_int_equal(event->payload_size, payload.size);
    assert_memory_equal(event->payload, payload.bytes, payload.size);
}

static void read_values(struct weir_session *session)
{
    struct wt_handlers handlers = {.event = on_values};
    struct wt_memory_source memory = {0};
    assert_int_equal(weir_session_memory(session, (const void **)&memory.bytes, &memory.size),
                     WEIR_OK);
    struct wt_source source = wt_source_memory(&memory);
    struct wt_reader *reader;
    assert_int_equal(wt_reader_create(&reader, &source, NULL, &handlers, NULL), WT_OK);
    assert_int_equal(wt_reader_run(reader), WT_END);
    wt_reader_destroy(reader);
}

/* An array of values gives the same bytes in the file as the event's typed emitter. */
static void test_values(void **state)
{
    (void)state;
    static const struct weir_guid id = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};
    static const uint16_t numbers[] = {1, 20000, 3}, wide[] = {'w', 0x20ac, 0};
    struct weir_value values[] = {
        {.type = WEIR_TYPE_bool, .unsigned_value = UINT64_MAX},
        {.type = WEIR_TYPE_i8, .signed_value = -5},
        {.type = WEIR_TYPE_str, .pointer = "narrow"},
        {.type = WEIR_TYPE_f32, .float_value = 1.5},
        {.type = WEIR_TYPE_array_u16, .count = 3, .pointer = numbers},
        {.type = WEIR_TYPE_f64, .float_value = -2.25},
        {.type = WEIR_TYPE_guid, .pointer = &id},
        {.type = WEIR_TYPE_str16, .pointer = wide},
        {.type = WEIR_TYPE_strn, .count = 4, .pointer = "particular"},
        {.type = WEIR_TYPE_u8, .unsigned_value = 200},
    };
    values[0].boolean = true; /* one byte of eight */
    struct weir_session_config config = unit_config();
    config.providers = "Values";
    struct weir_session *session = unit_start(&config);
    assert_true(WEIR_EMIT(Values, All, true, -5, "narrow", 1.5f, numbers, 3, -2.25, &id, wide,
                          "particle", 4, 200));
    assert_true(weir_event_emit(&weir_events_Values.All, values, 10, sizeof values[0]));
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    read_values(session);
    assert_int_equal(payload.count, 2);
    weir_session_destroy(session);
}

/* With one session on the fast way, and with two on the other one. */
static void emit_names(void)
{
    static const char name[] = "all of it, and a\0zero, \xC3\xBC, \xFF";
    assert_true(WEIR_EMIT(Values, Named, 1, name, sizeof name - 1));
    assert_true(WEIR_EMIT(Values, Named, 1, name, 3));
    assert_true(WEIR_EMIT(Values, Named, 1, name, 0));
    assert_true(WEIR_EMIT(Values, Named, 1, NULL, 5)); /* no text: an empty one */
}

#define NAMES "all of it, and a\xEF\xBF\xBDzero, \xC3\xBC, \xEF\xBF\xBD|all|||"

static void test_strings_with_a_length(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    config.providers = "Values";
    struct weir_session *session = unit_start(&config);
    emit_names();
    struct weir_session *second = unit_start(&config);
    emit_names();
    assert_int_equal(weir_session_stop(second, NULL), WEIR_OK);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    read_values(second);
    assert_string_equal(names, NAMES);
    read_values(session);
    assert_string_equal(names, NAMES NAMES NAMES);
    weir_session_destroy(second);
    weir_session_destroy(session);
}

/* Also a record that spans segments. */
static void test_length_at_the_limit(void **state)
{
    (void)state;
    static char text[32767];
    struct weir_session_config config = unit_config();
    config.providers = "Values";
    config.segment_bytes = 4096;
    struct weir_session *session = unit_start(&config);
    memset(text, 'x', sizeof text);
    assert_true(WEIR_EMIT(Values, Named, 1, text, sizeof text - 3)); /* the number takes four */
    assert_false(WEIR_EMIT(Values, Named, 1, text, sizeof text - 2));
    assert_false(WEIR_EMIT(Values, Named, 1, text, ((size_t)1 << 32) + 1));
    assert_int_equal(weir_last_loss(), WEIR_LOSS_TOO_LARGE);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(unit_counts(session).written, 1);
    assert_int_equal(unit_counts(session).lost[WEIR_LOSS_TOO_LARGE], 2);
    weir_session_destroy(session);
}

static int setup(void **state)
{
    return weir_provider_register(&weir_provider_Values, NULL, NULL, NULL, NULL) == WEIR_OK
               ? unit_setup(state)
               : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_at_the_limit),
        cmocka_unit_test(test_bytes_at_the_limits),
        cmocka_unit_test(test_refused_events_leave_room),
#ifndef UNDER_TSAN
        cmocka_unit_test(test_string_that_changes),
#endif
        cmocka_unit_test(test_two_sessions_have_a_copy_each),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_strings_with_a_length),
        cmocka_unit_test(test_length_at_the_limit),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
