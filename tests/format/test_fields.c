/* Field descriptions and payloads. */
#include "build.h"
#include "fields.h"
#include "record.h"
#include "test.h"
#include "visit.h"

static struct build build;
static struct build fields;
static struct record record;
static const struct wt_metadata *define(void)
{
    build_start(&build);
    build_metadata(&build, 1, "E", fields.bytes, fields.size);
    build_end(&build);
    record_read(&record, build.bytes, build.size, 0, NULL);
    EXPECT_EQUAL(record.status, WT_END);
    EXPECT_EQUAL(record.metadata_count, 1);
    return record.metadata;
}

/* The example of the format page: a V2Params tag and a payload. */
static void test_v2_example(void)
{
    static const char tag[] = "\0\0\0\0\x20\0\0\0\2\2\0\0\0\x10\0\0\0v\0\0\0\x13\0\0\0\x09\0\0\0"
                              "\x0C\0\0\0s\0\0\0\x12\0\0\0";
    fields.size = 0;
    build_bytes(&fields, tag, sizeof(tag) - 1);
    const struct wt_metadata *metadata = define();
    EXPECT(metadata->v2_params && !metadata->fields_bad);
    EXPECT_EQUAL(metadata->field_count, 2);
    EXPECT_EQUAL(metadata->fields[0].type, WT_TYPE_ARRAY);
    EXPECT_EQUAL(metadata->fields[0].fields[0].type, WT_TYPE_INT32);
    static const uint8_t payload[] = {2,    0,    1,   0, 0,   0, 0xFF, 0xFF,
                                      0xFF, 0xFF, 'o', 0, 'k', 0, 0,    0};
    size_t used;
    visit_start();
    EXPECT(wt_fields_walk(metadata, payload, sizeof(payload), &visit, NULL, &used));
    EXPECT_EQUAL(used, sizeof(payload));
    EXPECT_TEXT(visit_text, "v[2 -=1 -=-1 ] s=ok ");
    struct wt_value value;
    EXPECT(wt_field_get(metadata, wt_field_index(metadata, "s"), payload, sizeof(payload), &value));
    EXPECT_EQUAL(value.size, 4);
    EXPECT(!wt_field_get(metadata, 0, payload, sizeof(payload), &value));
    EXPECT_EQUAL(wt_field_index(metadata, "none"), -1);
    for (size_t size = 0; size < sizeof(payload); size++) {
        EXPECT(!wt_fields_walk(metadata, payload, size, &visit, NULL, &used));
        EXPECT(!wt_fields_walk(metadata, payload, size, NULL, NULL, &used));
    }
    record_free(&record);
}

static void add_v1(uint32_t type, const char *name)
{
    build_u32(&fields, type);
    build_utf16(&fields, name);
}

static void test_every_type(void)
{
    static const uint32_t types[] = {3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18};
    fields.size = 0;
    build_u32(&fields, 17);
    for (unsigned i = 0; i < 16; i++) {
        char name[2] = {(char)('a' + i), 0};
        add_v1(types[i], name);
    }
    build_u32(&fields, 1); /* an object with one Int32 "x", named "q" */
    build_u32(&fields, 1);
    add_v1(9, "x");
    build_utf16(&fields, "q");
    const struct wt_metadata *metadata = define();
    EXPECT_EQUAL(metadata->field_count, 17);
    struct build *payload = &build;
    payload->size = 0;
    build_u32(payload, 1);
    build_u16(payload, 'Z');
    build_u8(payload, 0xFE);
    build_u8(payload, 0xFE);
    build_u16(payload, 0x8000);
    build_u16(payload, 0x8000);
    build_u32(payload, 0x80000000);
    build_u32(payload, 0x80000000);
    build_u64(payload, UINT64_MAX);
    build_u64(payload, UINT64_MAX);
    build_u32(payload, 0x3FC00000);
    build_u64(payload, 0xC004000000000000);
    build_bytes(payload, "0123456789abcdef", 16);
    build_u64(payload, 77);
    build_bytes(payload, "\x33\x22\x11\x00\x55\x44\x77\x66\x88\x99\xAA\xBB\xCC\xDD\xEE\xFF", 16);
    build_utf16(payload, "hi");
    build_u32(payload, 5);
    size_t used;
    visit_start();
    EXPECT(wt_fields_walk(metadata, payload->bytes, payload->size, &visit, NULL, &used));
    EXPECT_EQUAL(used, payload->size);
    EXPECT_TEXT(visit_text, "a=1 b=90 c=-2 d=254 e=-32768 f=32768 g=-2147483648 h=2147483648 i=-1 "
                            "j=18446744073709551615 k=1.5 l=-2.5 m=16 bytes n=77 "
                            "o=00112233-4455-6677-8899-aabbccddeeff p=hi q{1 x=5 } ");
    EXPECT(wt_fields_walk(metadata, payload->bytes, payload->size, NULL, NULL, &used));
    EXPECT_EQUAL(used, payload->size);
    record_free(&record);
}

/* Descriptions with which a small payload would represent very many values. */
static void test_empty_elements(void)
{
    fields.size = 0;
    build_u32(&fields, 0);
    build_u32(&fields, 4 + 4 + 4 + 4 + 4 + 4); /* tag: one field, an array of empty objects */
    build_u8(&fields, 2);
    build_u32(&fields, 1);
    build_u32(&fields, 20);
    build_utf16(&fields, "v");
    build_u32(&fields, 19);
    build_u32(&fields, 1);
    build_u32(&fields, 0);
    const struct wt_metadata *metadata = define();
    EXPECT(metadata->fields_bad && metadata->field_count == 0);
    record_free(&record);
}

static void expect_utf8(const char *utf16, size_t size, const char *wanted)
{
    char text[64];
    EXPECT_EQUAL(wt_utf16_to_utf8((const uint8_t *)utf16, size, text, sizeof(text)),
                 strlen(wanted));
    EXPECT_TEXT(text, wanted);
}

static void test_utf16(void)
{
    expect_utf8("a\0\xE4\0\xAC\x20", 6, "a\xC3\xA4\xE2\x82\xAC");
    expect_utf8("\x3D\xD8\x00\xDE", 4, "\xF0\x9F\x98\x80");
    expect_utf8("\x3D\xD8x\0", 4, "\xEF\xBF\xBDx");                 /* a high surrogate alone */
    expect_utf8("\x00\xDE\x3D\xD8", 4, "\xEF\xBF\xBD\xEF\xBF\xBD"); /* in the wrong order */
    char text[4];
    EXPECT_EQUAL(wt_utf16_to_utf8((const uint8_t *)"a\0\xAC\x20", 4, text, 4), 4);
    EXPECT_TEXT(text, "a"); /* cut at a character */
}

static void test_times(void)
{
    struct wt_trace_info info = {.year = 2024,
                                 .month = 2,
                                 .day = 29,
                                 .hour = 23,
                                 .minute = 59,
                                 .second = 59,
                                 .millisecond = 999,
                                 .frequency = 10000000,
                                 .sync_ticks = 5000};
    char text[40];
    wt_time_utc_text(&info, 5000 + 10000, text);
    EXPECT_TEXT(text, "2024-03-01T00:00:00.000000000Z");
    wt_time_utc_text(&info, 5000 - 9990001, text);
    EXPECT_TEXT(text, "2024-02-29T23:59:58.999999900Z");
    EXPECT_EQUAL(wt_time_relative_ns(&info, INT64_MIN), INT64_MIN);
    EXPECT_EQUAL(wt_ticks_to_ns(&info, INT64_MAX), INT64_MAX);
    wt_time_utc_text(&info, INT64_MAX, text);
    info.frequency = 0;
    EXPECT_EQUAL(wt_time_relative_ns(&info, 7), 0);
    wt_time_utc_text(&info, 7, text);
    EXPECT_TEXT(text, "unknown");
    EXPECT(wt_datetime_text(132367466534281234, text));
    EXPECT_TEXT(text, "2020-06-16T02:04:13.428123400Z");
    EXPECT(!wt_datetime_text(UINT64_MAX, text));
}

int main(void)
{
    test_v2_example();
    test_every_type();
    test_empty_elements();
    test_utf16();
    test_times();
    return 0;
}
