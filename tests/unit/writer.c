/* The nettrace writer: the same calls give the same bytes. The expected bytes are spelled out from
 * the format's description; any change to them changes the format. */
#define _GNU_SOURCE
#include "unit.h"

#include <stdlib.h>
#include <time.h>
#include "nettrace/writer.h"

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

struct collected {
    unsigned char bytes[4096];
    size_t count;
};

static bool collect(void *context, const void *bytes, size_t count)
{
    struct collected *collected = context;
    assert_true(collected->count + count <= sizeof collected->bytes);
    memcpy(collected->bytes + collected->count, bytes, count);
    collected->count += count;
    return true;
}

static struct collected collected;
static struct wr_stream stream;
static struct wr_nettrace nettrace;

static int setup(void **state)
{
    (void)state;
    memset(&collected, 0, sizeof collected);
    memset(&stream, 0, sizeof stream);
    stream.fd = -1;
    stream.write = collect;
    stream.write_context = &collected;
    wr_nettrace_init(&nettrace, &stream, malloc(WR_NETTRACE_BUFFER_BYTES));
    return nettrace.buffer ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    free(nettrace.buffer);
    return 0;
}

static void expect(size_t at, const char *hex)
{
    for (size_t i = 0; hex[0]; i++, hex += hex[2] == ' ' ? 3 : 2) {
        char digits[3] = {hex[0], hex[1], 0};
        unsigned long byte = strtoul(digits, NULL, 16);
        if (collected.bytes[at + i] != byte)
            fail_msg("byte %zu is %02x, expected %02lx", at + i, collected.bytes[at + i], byte);
    }
}

static const struct wr_nettrace_header header = {.realtime_ns = UINT64_C(1768480245500000000),
                                                 .sync_ticks = 1000000,
                                                 .frequency_hz = 1000000000,
                                                 .process_id = 4242,
                                                 .processor_count = 4};

static void test_header(void **state)
{
    (void)state;
    wr_nettrace_header(&nettrace, &header);
    wr_nettrace_end(&nettrace);
    assert_true(wr_nettrace_flush(&nettrace));
    assert_int_equal(collected.count, 32 + 70 + 1);
    expect(0, "4e 65 74 74 72 61 63 65 14 00 00 00 21 46 61 73 74");
    expect(32, "05 05 01 04 00 00 00 04 00 00 00 05 00 00 00 54 72 61 63 65 06");
    expect(53, "ea 07 01 00 04 00 0f 00 0c 00 1e 00 2d 00 f4 01 40 42 0f 00 00 00 00 00");
    expect(77, "00 ca 9a 3b 00 00 00 00 08 00 00 00 92 10 00 00 04 00 00 00 40 42 0f 00 06 01");
}

/* Each day from 1970 to 2261, at a time that is later from day to day. */
static void test_dates(void **state)
{
    (void)state;
    for (uint64_t day = 0; day < 106000; day++) {
        time_t seconds = (time_t)(day * 86400 + day * 7919 % 86400);
        struct wr_nettrace_header then = header;
        struct tm utc;
        uint16_t fields[8];
        then.realtime_ns = (uint64_t)seconds * 1000000000u + day % 1000 * 1000000u;
        collected.count = 0;
        wr_nettrace_header(&nettrace, &then);
        assert_true(wr_nettrace_flush(&nettrace));
        memcpy(fields, collected.bytes + 53, sizeof fields);
        assert_non_null(gmtime_r(&seconds, &utc));
        const int expected[] = {utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_wday, utc.tm_mday,
                                utc.tm_hour,        utc.tm_min,     utc.tm_sec,  (int)(day % 1000)};
        for (int i = 0; i < 8; i++)
            if (fields[i] != expected[i])
                fail_msg("day %d: field %d is %u", (int)day, i, fields[i]);
    }
}

static void test_blocks(void **state)
{
    (void)state;
    static const struct weir_field fields[] = {{"n", WEIR_TYPE_i32}};
    static const struct weir_schema schema = {.name = "Tick",
                                              .event_id = 7,
                                              .keywords = 1,
                                              .level = 4,
                                              .opcode = 10,
                                              .fields = fields,
                                              .field_count = 1};
    const struct wr_nettrace_thread_number thread = {5001, 3};
    const uint64_t payloads[] = {42, 43};
    wr_nettrace_header(&nettrace, &header);
    wr_nettrace_metadata(&nettrace, 1, "Demo", &schema, false, 1000100);
    wr_nettrace_block_begin(&nettrace, 5001, 5001);
    wr_nettrace_event(&nettrace, 1, 1, 1000100, &payloads[0], 4);
    wr_nettrace_event(&nettrace, 1, 2, 1000350, &payloads[1], 4);
    wr_nettrace_point(&nettrace, 1000400, &thread, 1);
    wr_nettrace_end(&nettrace);
    assert_true(wr_nettrace_flush(&nettrace));
    /* MetadataBlock: size 87, one byte of padding, the definition */
    expect(
        102,
        "05 05 01 02 00 00 00 02 00 00 00 0d 00 00 00 4d 65 74 61 64 61 74 61 42 6c 6f 63 6b 06");
    expect(131, "57 00 00 00 00 14 00 01 00 a4 42 0f 00 00 00 00 00 a4 42 0f 00 00 00 00 00 c0 a4 "
                "85 3d 3e");
    expect(161,
           "01 00 00 00 44 00 65 00 6d 00 6f 00 00 00 07 00 00 00 54 00 69 00 63 00 6b 00 00 00");
    expect(189,
           "01 00 00 00 00 00 00 00 00 00 00 00 04 00 00 00 01 00 00 00 09 00 00 00 6e 00 00 00");
    expect(217, "01 00 00 00 01 0a 06");
    /* EventBlock: two padding bytes; flags 87: metadata, number and thread, thread id, size */
    expect(224, "05 05 01 02 00 00 00 02 00 00 00 0a 00 00 00 45 76 65 6e 74 42 6c 6f 63 6b 06");
    expect(250, "2b 00 00 00 00 00 14 00 01 00 a4 42 0f 00 00 00 00 00 9e 43 0f 00 00 00 00 00");
    expect(276, "87 01 00 89 27 00 89 27 a4 85 3d 04 2a 00 00 00 00 fa 01 2b 00 00 00 06");
    /* SPBlock: one thread */
    expect(300, "05 05 01 02 00 00 00 02 00 00 00 07 00 00 00 53 50 42 6c 6f 63 6b 06 18 00 00 00");
    expect(327, "00 d0 43 0f 00 00 00 00 00 01 00 00 00 89 13 00 00 00 00 00 00 03 00 00 00 06 01");
    assert_int_equal(collected.count, 354);
}

/* The fields of an event "Tick" with one field, whose fields are `n`. */
static void expect_fields(enum weir_type type, const char *hex)
{
    static const struct weir_field inner[] = {{"n", WEIR_TYPE_i32}};
    static const struct weir_object object = {sizeof object, inner, 1, sizeof inner[0], NULL};
    static const struct weir_object *const objects[] = {&object};
    const struct weir_field fields[] = {{"p", type}};
    const struct weir_schema schema = {
        .name = "Tick", .fields = fields, .field_count = 1, .objects = objects};
    wr_nettrace_header(&nettrace, &header);
    wr_nettrace_metadata(&nettrace, 1, "Demo", &schema, type == WEIR_TYPE_array_object, 1000100);
    assert_true(wr_nettrace_flush(&nettrace));
    expect(205, hex);
}

/* Number, object, number, type, name; name. */
static void test_object(void **state)
{
    (void)state;
    expect_fields(WEIR_TYPE_object, "01 00 00 00 01 00 00 00 01 00 00 00 09 00 00 00 6e 00 00 00 "
                                    "70 00 00 00 06");
}

/* A tag of 36 bytes with a field of 32 bytes: name, array, object, number, a field of 12 bytes. */
static void test_array_of_objects(void **state)
{
    (void)state;
    expect_fields(WEIR_TYPE_array_object,
                  "00 00 00 00 24 00 00 00 02 01 00 00 00 20 00 00 00 70 00 00 00 13 00 00 00 "
                  "01 00 00 00 01 00 00 00 0c 00 00 00 6e 00 00 00 09 00 00 00 06");
}

/* A run of events with strings gives the bytes that the same events give one by one, whatever their
 * sizes are. */
#define RUN_EVENTS 2000u

struct text_record {
    uint16_t count;
    unsigned char bytes[302];
};

/* Sizes that repeat, that differ a little, and that need one byte more or less than is guessed. */
static uint32_t text_record_make(struct text_record *record, uint32_t i)
{
    static const uint16_t counts[] = {32, 32, 32, 33, 62, 63, 64, 65, 0, 300, 299, 100};
    record->count = counts[i / 3 % 12];
    for (uint32_t j = 0; j < record->count; j += 2)
        memcpy(record->bytes + j, i % 7 == 0 ? "\xC3\xA4" : "ab", 2);
    return (uint32_t)sizeof record->count + record->count;
}

static void write_texts(struct wr_nettrace *into, bool is_run)
{
    static const struct wr_payload_step steps[] = {{WR_STEP_STR, 1, 2, 0}, {WR_STEP_END, 0, 0, 0}};
    static unsigned char payload[2 * sizeof(struct text_record) + 16];
    struct text_record record;
    struct wr_nettrace_text_run run;
    for (uint32_t i = 0; i < RUN_EVENTS; i++) {
        uint32_t bytes = text_record_make(&record, i);
        uint64_t ticks = 1000 + (uint64_t)i * i;
        bool is_open =
            is_run && wr_nettrace_text_run_begin(into, 1, i + 1, i % 2 ? bytes : 0, &run);
        if (is_open && run.out < run.end) {
            wr_nettrace_text_run_add(&run, ticks, steps, (const unsigned char *)&record, bytes);
            wr_nettrace_text_run_end(into, &run, 1);
        } else {
            bytes = wr_nettrace_payload(steps, (const unsigned char *)&record, payload);
            wr_nettrace_event(into, 1, i + 1, ticks, payload, bytes);
        }
    }
    wr_nettrace_end(into);
}

static void test_runs_of_texts(void **state)
{
    (void)state;
    struct wr_nettrace other;
    wr_nettrace_init(&other, &stream, malloc(WR_NETTRACE_BUFFER_BYTES));
    assert_non_null(other.buffer);
    wr_nettrace_block_begin(&nettrace, 1, 1);
    wr_nettrace_block_begin(&other, 1, 1);
    write_texts(&nettrace, true);
    write_texts(&other, false);
    assert_int_equal(nettrace.length, other.length);
    assert_memory_equal(nettrace.buffer, other.buffer, other.length);
    free(other.buffer);
}

/* 64 fields with names of 255 bytes, some of them arrays: the largest schema. */
static void test_largest_metadata(void **state)
{
    (void)state;
    static char name[256];
    static struct weir_field fields[64];
    memset(name, 'n', 255);
    for (int i = 0; i < 64; i++)
        fields[i] = (struct weir_field){name, i % 2 ? WEIR_TYPE_array_u64 : WEIR_TYPE_str};
    struct weir_schema schema = {.name = name,
                                 .event_id = 65535,
                                 .level = 5,
                                 .opcode = 255,
                                 .fields = fields,
                                 .field_count = 64};
    wr_nettrace_header(&nettrace, &header);
    for (uint32_t i = 1; i <= 5; i++)
        wr_nettrace_metadata(&nettrace, i, name, &schema, true, UINT64_MAX);
    assert_true(nettrace.length < WR_NETTRACE_BUFFER_BYTES);
    assert_true(nettrace.length > 5 * 64 * 510);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_header, setup, teardown),
        cmocka_unit_test_setup_teardown(test_dates, setup, teardown),
        cmocka_unit_test_setup_teardown(test_blocks, setup, teardown),
        cmocka_unit_test_setup_teardown(test_object, setup, teardown),
        cmocka_unit_test_setup_teardown(test_array_of_objects, setup, teardown),
        cmocka_unit_test_setup_teardown(test_largest_metadata, setup, teardown),
        cmocka_unit_test_setup_teardown(test_runs_of_texts, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
