/* Records larger than a segment, read back by the reader, which shares no code with the library. */
#include "stream.h"

#include <gate.h>
#include <stdlib.h>

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

/* Fields of each kind, so that a segment can end in each of them. */
#define SPANS_EVENTS(EVENT, P)                                                            \
    EVENT(P, Mixed, 1, 0, WEIR_LEVEL_INFO, 0x1, (u64, First), (str, Narrow), (u32, Then), \
          (str16, Wide), (guid, Id), (array_u64, Numbers), (u8, Last))
WEIR_PROVIDER(Spans, SPANS_EVENTS)
WEIR_PROVIDER_DEFINE(Spans, SPANS_EVENTS)

#define SEGMENT_BYTES 4096u
#define SEGMENT_ROOM  (SEGMENT_BYTES - 256u) /* without its header */
/* The largest byte array that fills `segments` whole segments: without the record's two words and
 * the array's count. */
#define BYTES_IN(segments) ((segments)*SEGMENT_ROOM - 16u - 2u)
#define BYTES_MAX          65533u

/* --- What was emitted, and what is read. ----------------------------------------------------- */

struct emitted {
    int32_t id;
    uint32_t length;
    uint64_t seed;
    uint64_t number; /* on the wire */
};

struct oracle {
    struct emitted events[10000];
    uint32_t count, read;
    uint64_t attempts;
};

static struct oracle oracle;

static uint8_t pattern(uint64_t seed, uint32_t at)
{
    return (uint8_t)((seed + at) * UINT64_C(0x9E3779B97F4A7C15) >> 56);
}

/* Never 0, and always a character by itself (ASCII). */
static char letter(uint64_t seed, uint32_t at)
{
    return (char)(' ' + pattern(seed, at) % 90);
}

static bool note(int32_t id, uint32_t length, bool is_written)
{
    oracle.attempts++;
    if (is_written) {
        assert_true(oracle.count < 10000);
        oracle.events[oracle.count++] =
            (struct emitted){id, length, oracle.attempts, oracle.attempts + 1};
    }
    return is_written;
}

static bool emit_small(void)
{
    uint64_t seed = oracle.attempts + 1;
    return note(2, 0, WEIR_EMIT(Unit, Pair, seed, ~seed));
}

static bool emit_bytes(uint32_t length)
{
    static uint8_t bytes[70000];
    uint64_t seed = oracle.attempts + 1;
    for (uint32_t i = 0; i < length; i++)
        bytes[i] = pattern(seed, i);
    return note(4, length, WEIR_EMIT(Unit, Bytes, bytes, length));
}

static bool emit_text(uint32_t length)
{
    static char text[70000];
    uint64_t seed = oracle.attempts + 1;
    for (uint32_t i = 0; i < length; i++)
        text[i] = letter(seed, i);
    text[length] = 0;
    return note(3, length, WEIR_EMIT(Unit, Text, text));
}

static void check_bytes(const struct emitted *emitted, const struct wt_event *event)
{
    uint16_t count;
    assert_int_equal(event->payload_size, 2 + emitted->length);
    memcpy(&count, event->payload, sizeof count);
    assert_int_equal(count, emitted->length);
    for (uint32_t i = 0; i < emitted->length; i++)
        if (event->payload[2 + i] != pattern(emitted->seed, i))
            fail_msg("byte %u of %u", i, emitted->length);
}

static void check_text(const struct emitted *emitted, const struct wt_event *event)
{
    assert_int_equal(event->payload_size, 2 * emitted->length + 2);
    for (uint32_t i = 0; i <= emitted->length; i++) {
        char expected = i < emitted->length ? letter(emitted->seed, i) : 0;
        if (event->payload[2 * i] != (uint8_t)expected || event->payload[2 * i + 1] != 0)
            fail_msg("character %u of %u", i, emitted->length);
    }
}

static void on_event(void *context, const struct wt_event *event)
{
    (void)context;
    if (strcmp(event->metadata->provider_name, "Unit") != 0)
        return;
    assert_true(oracle.read < oracle.count);
    const struct emitted *emitted = &oracle.events[oracle.read++];
    assert_int_equal(event->metadata->event_id, emitted->id);
    assert_int_equal(event->number, emitted->number);
    if (emitted->id == 4)
        check_bytes(emitted, event);
    else if (emitted->id == 3)
        check_text(emitted, event);
    else
        assert_memory_equal(event->payload, &emitted->seed, sizeof emitted->seed);
}

static void read_stream(const void *bytes, uint64_t count,
                        void (*event)(void *context, const struct wt_event *event))
{
    unit_read(bytes, count, (struct wt_handlers){.event = event}, NULL);
}

/* Everything that was written is in the stream under its own number, and nothing else is. */
static void check_stream(struct weir_session *session, const void *bytes, uint64_t count)
{
    read_stream(bytes, count, on_event);
    assert_int_equal(oracle.read, oracle.count);
    struct weir_counts counts = unit_counts(session);
    assert_int_equal(counts.attempted, oracle.attempts);
    assert_int_equal(counts.written, oracle.count);
}

static struct weir_session *start(uint64_t segments)
{
    struct weir_session_config config = unit_config();
    memset(&oracle, 0, sizeof oracle);
    config.segment_bytes = SEGMENT_BYTES;
    config.budget_bytes = segments * SEGMENT_BYTES;
    return unit_start(&config);
}

static void stop_and_check(struct weir_session *session)
{
    const void *bytes;
    uint64_t count;
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(weir_session_memory(session, &bytes, &count), WEIR_OK);
    check_stream(session, bytes, count);
    weir_session_destroy(session);
}

/* --- Tests. ---------------------------------------------------------------------------------- */

/* Sizes around each whole number of segments, and the largest. */
static void test_sizes(void **state)
{
    (void)state;
    struct weir_session *session = start(8192); /* more than everything takes */
    for (uint32_t segments = 1; segments <= 17; segments++) {
        for (uint32_t length = BYTES_IN(segments) - 9; length <= BYTES_IN(segments) + 9; length++) {
            assert_true(emit_bytes(length));
            assert_true(emit_small());
        }
    }
    assert_true(emit_bytes(BYTES_MAX)); /* 18 segments */
    assert_true(emit_bytes(BYTES_MAX));
    assert_false(emit_bytes(BYTES_MAX + 1));
    assert_int_equal(unit_counts(session).lost[WEIR_LOSS_TOO_LARGE], 1);
    stop_and_check(session);
}

static void test_strings(void **state)
{
    (void)state;
    struct weir_session *session = start(4096);
    for (uint32_t length = BYTES_IN(1) - 20; length < BYTES_IN(1) + 20; length++)
        assert_true(emit_text(length));
    for (uint32_t length = BYTES_IN(2) - 20; length < BYTES_IN(2) + 20; length++)
        assert_true(emit_text(length));
    assert_true(emit_text(32766)); /* 65,534 bytes in the file */
    assert_true(emit_small());
    assert_false(emit_text(32767));
    stop_and_check(session);
}

/* A record may take half of the segments, or one segment if half is less than two. */
static void test_half_the_budget(void **state)
{
    (void)state;
    for (uint32_t segments = 2; segments <= 9; segments++) {
        struct weir_session *session = start(segments);
        assert_true(emit_bytes(BYTES_IN(segments / 2)));
        assert_false(emit_bytes(BYTES_IN(segments / 2) + 1));
        assert_false(emit_bytes(BYTES_MAX));
        struct weir_counts counts = unit_counts(session);
        assert_int_equal(counts.lost[WEIR_LOSS_TOO_LARGE], 2);
        assert_int_equal(counts.attempted, 3);
        stop_and_check(session);
    }
}

/* A three-byte character crosses the end of a segment. */
static void on_euros(void *context, const struct wt_event *event)
{
    (void)context;
    if (strcmp(event->metadata->provider_name, "Unit") != 0)
        return;
    uint32_t last = event->payload_size - 4; /* before the terminator */
    assert_true(last > 2 * 3000);
    for (uint32_t i = 0; i < last; i += 2)
        if (event->payload[i] != (i < 8 && event->payload[i] == 'x' ? 'x' : 0xAC))
            fail_msg("unit %u", i / 2);
    oracle.read++;
}

static void test_characters_at_the_boundary(void **state)
{
    (void)state;
    static char text[9100];
    struct weir_session *session = start(256);
    for (uint32_t shift = 0; shift < 3; shift++) {
        memset(text, 'x', shift);
        for (uint32_t i = 0; i < 3010; i++)
            memcpy(text + shift + (size_t)3 * i, "\xE2\x82\xAC", 4);
        assert_true(WEIR_EMIT(Unit, Text, text));
    }
    const void *bytes;
    uint64_t count;
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(weir_session_memory(session, &bytes, &count), WEIR_OK);
    read_stream(bytes, count, on_euros);
    assert_int_equal(oracle.read, 3);
    weir_session_destroy(session);
}

/* The expected payload of Mixed in the file. */
#define NUMBERS 600u

struct mixed {
    char narrow[4000];
    uint16_t wide[40];
    struct weir_guid id;
    uint64_t numbers[NUMBERS];
};

static uint32_t append(uint8_t *out, uint32_t at, const void *bytes, uint32_t count)
{
    memcpy(out + at, bytes, count);
    return at + count;
}

static uint32_t mixed_in_file(const struct mixed *mixed, uint64_t first, uint8_t *out)
{
    uint32_t at = append(out, 0, &first, 8), then = (uint32_t)first * 3;
    for (const char *c = mixed->narrow;; c++) {
        uint16_t unit = (uint8_t)*c;
        at = append(out, at, &unit, 2);
        if (!unit)
            break;
    }
    at = append(out, at, &then, 4);
    at = append(out, at, mixed->wide, 40 * 2);
    at = append(out, at, &mixed->id, sizeof mixed->id);
    uint16_t count = NUMBERS;
    at = append(out, at, &count, 2);
    at = append(out, at, mixed->numbers, NUMBERS * 8);
    uint8_t last = (uint8_t)~first;
    return append(out, at, &last, 1);
}

static struct mixed mixed;

static void mixed_make(uint32_t length)
{
    for (uint32_t i = 0; i < length; i++)
        mixed.narrow[i] = letter(length, i);
    mixed.narrow[length] = 0;
    for (uint32_t i = 0; i < 39; i++)
        mixed.wide[i] = (uint16_t)(0x400 + i);
    for (uint32_t i = 0; i < NUMBERS; i++)
        mixed.numbers[i] = UINT64_C(0x0123456789ABCDEF) * (i + length);
    memset(&mixed.id, (int)length & 0xFF, sizeof mixed.id);
}

#define MIXED_FIRST 3600u
#define MIXED_LAST  3860u

static void on_mixed(void *context, const struct wt_event *event)
{
    (void)context;
    static uint8_t expected[32768];
    if (strcmp(event->metadata->provider_name, "Spans") != 0)
        return;
    uint32_t length = MIXED_FIRST + oracle.read++;
    mixed_make(length);
    assert_int_equal(event->payload_size, mixed_in_file(&mixed, length, expected));
    assert_memory_equal(event->payload, expected, event->payload_size);
}

/* The first string grows, so that each byte of the later fields is once the last byte of a segment
 * and once the first of the next one. */
static void test_fields_at_the_boundary(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    config.providers = "Spans";
    config.segment_bytes = SEGMENT_BYTES;
    config.budget_bytes = 8u << 20;
    memset(&oracle, 0, sizeof oracle);
    struct weir_session *session = unit_start(&config);
    for (uint32_t length = MIXED_FIRST; length <= MIXED_LAST; length++) {
        mixed_make(length);
        assert_true(WEIR_EMIT(Spans, Mixed, length, mixed.narrow, length * 3, mixed.wide, &mixed.id,
                              mixed.numbers, NUMBERS, (uint8_t)~length));
    }
    const void *bytes;
    uint64_t count;
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    assert_int_equal(weir_session_memory(session, &bytes, &count), WEIR_OK);
    read_stream(bytes, count, on_mixed);
    assert_int_equal(oracle.read, MIXED_LAST - MIXED_FIRST + 1);
    weir_session_destroy(session);
}

/* What comes through a gate. */
static struct {
    struct gate gate;
    uint64_t count;
    uint8_t bytes[1u << 20];
} held;

static bool held_write(void *context, const void *bytes, size_t count)
{
    (void)context;
    gate_pass(&held.gate, count);
    bool has_room = held.count + count <= sizeof held.bytes;
    if (has_room) {
        memcpy(held.bytes + held.count, bytes, count);
        held.count += count;
    }
    return has_room;
}

/* Eight segments, none of which comes back. The comments give the number left after each line. */
static void emit_to_the_brim(void)
{
    assert_true(emit_small());                /* 7 */
    assert_true(emit_bytes(BYTES_IN(3) + 1)); /* 3: it takes four, and the one in use is closed */
    assert_false(emit_bytes(BYTES_IN(4)));    /* 3: the three it got were given back */
    assert_false(emit_text(BYTES_IN(3) + 1));
    assert_true(emit_small());                 /* 2: the one in use was closed */
    assert_false(emit_bytes(BYTES_IN(4) + 1)); /* needs five segments: never */
    assert_true(emit_small());                 /* 2: it did not close this one */
    assert_true(emit_bytes(BYTES_IN(1) + 1));  /* 0 */
    assert_true(emit_small());                 /* in the rest of the last one */
    assert_true(emit_bytes(1000));
    assert_false(emit_bytes(BYTES_IN(1) + 1));
    assert_false(emit_small());
}

static void test_losses_around(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    config.segment_bytes = SEGMENT_BYTES;
    config.budget_bytes = 8 * SEGMENT_BYTES;
    config.memory_bytes_max = 0;
    config.sink.write = held_write;
    gate_init(&held.gate);
    gate_close(&held.gate);
    memset(&oracle, 0, sizeof oracle);
    struct weir_session *session = unit_start(&config);
    assert_true(gate_wait(&held.gate, 60)); /* from here on the drain reads nothing */
    emit_to_the_brim();
    struct weir_counts counts = unit_counts(session);
    assert_int_equal(counts.lost[WEIR_LOSS_FULL], 4);
    assert_int_equal(counts.lost[WEIR_LOSS_TOO_LARGE], 1);
    gate_open(&held.gate);
    while (!emit_small()) /* room returns once the drain has read them */
        ;
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    check_stream(session, held.bytes, held.count);
    weir_session_destroy(session);
    gate_fini(&held.gate);
}

/* A record that spans in one session is an ordinary one in another. */
static void test_sessions_of_two_sizes(void **state)
{
    (void)state;
    struct weir_session_config config = unit_config();
    struct weir_session *large = unit_start(&config);
    struct weir_session *small = start(64);
    assert_true(emit_small());
    assert_true(emit_bytes(20000));
    assert_true(emit_text(20000));
    assert_true(emit_small());
    const void *bytes;
    uint64_t count;
    assert_int_equal(weir_session_stop(large, NULL), WEIR_OK);
    assert_int_equal(weir_session_memory(large, &bytes, &count), WEIR_OK);
    check_stream(large, bytes, count);
    oracle.read = 0;
    stop_and_check(small);
    weir_session_destroy(large);
}

static int setup(void **state)
{
    return unit_setup(state) == 0 &&
                   weir_provider_register(&weir_provider_Spans, NULL, NULL, NULL, NULL) == WEIR_OK
               ? 0
               : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_half_the_budget),
        cmocka_unit_test(test_characters_at_the_boundary),
        cmocka_unit_test(test_fields_at_the_boundary),
        cmocka_unit_test(test_losses_around),
        cmocka_unit_test(test_sessions_of_two_sizes),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
