/* Field descriptions and payloads of version 6. */
#include "build6.h"
#include "fields.h"
#include "record.h"
#include "test.h"
#include "visit.h"

static struct build build;
static struct build fields;
static struct record record;
static size_t field_at; /* of the open field's size */

static void field_begin(const char *name)
{
    field_at = fields.size;
    build_u16(&fields, 0);
    build_text8(&fields, name);
}

static void field_end(void)
{
    size_t size = fields.size - field_at - 2;
    fields.bytes[field_at] = (uint8_t)size;
    fields.bytes[field_at + 1] = (uint8_t)(size >> 8);
}

/* A field whose type is given by its bytes. */
static void add_field(const char *name, const char *type, size_t size)
{
    field_begin(name);
    build_bytes(&fields, type, size);
    field_end();
}

#define LITERAL(text) text, sizeof(text) - 1

static void start_fields(unsigned count)
{
    fields.size = 0;
    build_u16(&fields, count);
}

static const struct wt_metadata *define_with(const char *options, size_t size)
{
    build6_start(&build);
    build6_metadata(&build, 1, "E", fields.bytes, fields.size, options, size);
    build6_end(&build);
    record_read(&record, build.bytes, build.size, 0, NULL);
    EXPECT_EQUAL(record.status, WT_END);
    return record.metadata;
}

static const struct wt_metadata *define(void)
{
    const struct wt_metadata *metadata = define_with("", 0);
    EXPECT_EQUAL(record.metadata_count, 1);
    return metadata;
}

static void expect_values(const struct wt_metadata *metadata, const void *payload, size_t size,
                          const char *wanted)
{
    size_t used;
    uint8_t *copy = malloc(size ? size : 1); /* of that size, for the sanitizers */
    EXPECT(copy != NULL);
    memcpy(copy, payload, size);
    EXPECT(wt_fields_walk(metadata, copy, size, &visit, visit_start(), &used));
    EXPECT_EQUAL(used, size);
    EXPECT_TEXT(visit_text, wanted);
    EXPECT(wt_fields_walk(metadata, copy, size, NULL, NULL, &used));
    EXPECT_EQUAL(used, size);
    free(copy);
}

static void expect_bad(const struct wt_metadata *metadata, const void *payload, size_t size)
{
    size_t used;
    uint8_t *copy = malloc(size ? size : 1);
    EXPECT(copy != NULL);
    if (size)
        memcpy(copy, payload, size);
    EXPECT(!wt_fields_walk(metadata, copy, size, &visit, visit_start(), &used));
    EXPECT(!wt_fields_walk(metadata, copy, size, NULL, NULL, &used));
    free(copy);
}

static void test_new_types(void)
{
    start_fields(9);
    add_field("vi", LITERAL("\x14"));
    add_field("vu", LITERAL("\x15"));
    add_field("fixed", LITERAL("\x16\x08\3\0"));
    add_field("comm", LITERAL("\x16\x17\x08\0"));
    add_field("c", LITERAL("\x17"));
    add_field("text", LITERAL("\x13\x17"));
    add_field("b", LITERAL("\x1A ignored"));
    add_field("raw", LITERAL("\x16\x06\2\0"));
    add_field("vars", LITERAL("\x13\x14"));
    const struct wt_metadata *metadata = define();
    EXPECT(!metadata->fields_bad);
    EXPECT_EQUAL(metadata->field_count, 9);
    EXPECT_EQUAL(metadata->fields[2].count, 3);
    EXPECT_EQUAL(metadata->fields[2].min_size, 6);
    static const char payload[] =
        "\5\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\1\1\0\2\0\3\0sh\0\0\0\0\0\0"
        "x\3\0\xC3\xA4!\1\7\x08\2\0\x01\x80\1";
    expect_values(metadata, LITERAL(payload),
                  "vi=-3 vu=18446744073709551615 fixed[3 -=1 -=2 -=3 ] comm=\"sh\" c=\"x\" "
                  "text=\"\xC3\xA4!\" b=1 raw=2 bytes vars[2 -=-1 -=64 ] ");
    for (size_t size = 0; size < sizeof(payload) - 1; size++)
        expect_bad(metadata, payload, size);
    record_free(&record);
}

/* A location before a field, so that what is stored and what is pointed at differ. */
static void test_locations(void)
{
    start_fields(4);
    add_field("r", LITERAL("\x18\x17"));
    add_field("n", LITERAL("\x08"));
    add_field("d", LITERAL("\x19\x08"));
    add_field("o", LITERAL("\x18\1\1\0\3\0\1x\x05"));
    const struct wt_metadata *metadata = define();
    EXPECT(!metadata->fields_bad);
    EXPECT_EQUAL(metadata->fields[0].min_size, 4);
    /* r: 3 bytes, 10 after its end; d: 4 bytes at 17; o: 2 bytes, 7 after its end */
    static const char payload[] = "\x0A\0\3\0\7\0\x11\0\4\0\7\0\2\0hi\0\1\0\2\0\xFE\3";
    expect_values(metadata, LITERAL(payload),
                  "r=\"hi\" n=7 d[2 -=1 -=2 ] o[2 -{1 x=-2 } -{1 x=3 } ] ");
    struct wt_value value;
    EXPECT(wt_field_get(metadata, 0, (const uint8_t *)payload, sizeof(payload) - 1, &value));
    EXPECT(value.kind == WT_VALUE_UTF8 && value.size == 2);
    for (size_t size = 0; size < sizeof(payload) - 1; size++)
        expect_bad(metadata, payload, size);
    /* An earlier location that leads out of the payload does not hide a later field. */
    static const char astray[] = "\xFF\xFF\3\0\7\0\x11\0\4\0\7\0\2\0hi\0\1\0\2\0\xFE\3";
    EXPECT(wt_field_get(metadata, 1, (const uint8_t *)astray, sizeof(astray) - 1, &value));
    EXPECT_EQUAL(value.as.u, 7);
    expect_bad(metadata, LITERAL(astray));
    static const char half[] = "\x0A\0\3\0\7\0\x11\0\3\0\7\0\2\0hi\0\1\0\2\0\xFE\3"; /* 1.5 of d */
    expect_bad(metadata, LITERAL(half));
    record_free(&record);
}

/* Sixteen thousand locations that all cover the payload would stand for a billion values. */
static void test_locations_that_overlap(void)
{
    start_fields(1);
    add_field("a", LITERAL("\x13\x19\x05"));
    const struct wt_metadata *metadata = define();
    EXPECT(!metadata->fields_bad);
    static uint8_t payload[2 + 4 * 16000];
    payload[0] = 16000 & 0xFF;
    payload[1] = 16000 >> 8;
    for (size_t i = 2; i < sizeof(payload); i += 4)
        payload[i + 2] = payload[i + 3] = 0xF0;
    expect_bad(metadata, payload, sizeof(payload));
    record_free(&record);
}

static void test_nested(void)
{
    /* An array of objects {a: Int16, s: array of objects {u: text}}. */
    start_fields(1);
    add_field("list", LITERAL("\x13\1\2\0"
                              "\3\0\1a\x07"
                              "\x0C\0\1s\x13\1\1\0\4\0\1u\x13\x17"));
    const struct wt_metadata *metadata = define();
    EXPECT(!metadata->fields_bad);
    static const char payload[] = "\2\0\1\0\1\0\2\0xy\xFF\xFF\0\0";
    expect_values(metadata, LITERAL(payload),
                  "list[2 -{2 a=1 s[1 -{1 u=\"xy\" } ] } -{2 a=-1 s[0 ] } ] ");
    record_free(&record);
}

/* What does not decode costs the event its fields, and nothing more. */
static void test_bad_types(void)
{
    static const struct {
        const char *type;
        size_t size;
    } bad[] = {
        {LITERAL("\2")},                   /* no such type */
        {LITERAL("\x1B")},                 /* the same */
        {LITERAL("\x13")},                 /* an array of nothing */
        {LITERAL("\x16\x05")},             /* no count */
        {LITERAL("\x18\x12")},             /* a location of strings */
        {LITERAL("\x19\x13\x05")},         /* a location of arrays */
        {LITERAL("\x18\x14")},             /* a location of variable-length numbers */
        {LITERAL("\x13\1\0\0")},           /* an array of objects without bytes */
        {LITERAL("\x16\x16\x05\0\0\2\0")}, /* of arrays without bytes */
        {LITERAL("\x13\1\2\0\3\0\1a\x05\6\0\1b\x16\x05\0\0")}, /* of objects with such an array */
        {LITERAL("\1\xFF\xFF")}, /* an object with more fields than bytes */
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        start_fields(2);
        add_field("x", bad[i].type, bad[i].size);
        add_field("n", LITERAL("\x09"));
        const struct wt_metadata *metadata = define_with("\x08\5", 2);
        EXPECT_EQUAL(record.rule_count, 1);
        EXPECT_TEXT(wt_rule_name(record.rules[0]), "metadata-fields");
        EXPECT(metadata->fields_bad && metadata->field_count == 0);
        EXPECT_EQUAL(metadata->level, 5); /* what follows the fields is found */
        record_free(&record);
    }
}

/* Nested descriptions must end at the limit, not in a stack overflow. */
static void test_depth(void)
{
    static char deep[30000];
    memset(deep, 0x13, sizeof(deep));
    start_fields(1);
    add_field("x", deep, sizeof(deep));
    const struct wt_metadata *metadata = define();
    EXPECT(metadata->fields_bad);
    record_free(&record);
}

/* Sixteen arrays of 65,535 arrays have a size that no number holds. */
static void test_huge_fixed_arrays(void)
{
    char deep[1 + 14 + 28];
    memset(deep, 0x16, 14);
    deep[14] = 5;
    memset(deep + 15, 0xFF, 28);
    start_fields(1);
    add_field("x", deep, sizeof(deep));
    const struct wt_metadata *metadata = define();
    EXPECT(!metadata->fields_bad);
    EXPECT_EQUAL(metadata->fields[0].min_size, UINT32_MAX);
    expect_bad(metadata, deep, sizeof(deep));
    record_free(&record);
}

/* Nor does an object with several of them. A location in an object is one of the object. */
static void test_huge_objects(void)
{
    static const char vast[] = "\x16\x16\x05\xFF\xFF\xFF\xFF";
    start_fields(2);
    field_begin("x");
    build_bytes(&fields, LITERAL("\1\3\0"));
    for (int i = 0; i < 3; i++) {
        build_u16(&fields, 2 + sizeof(vast) - 1);
        build_text8(&fields, "a");
        build_bytes(&fields, LITERAL(vast));
    }
    field_end();
    add_field("y", LITERAL("\1\2\0\3\0\1n\x05\4\0\1r\x18\x17"));
    const struct wt_metadata *metadata = define();
    EXPECT(!metadata->fields_bad);
    EXPECT_EQUAL(metadata->fields[0].min_size, UINT32_MAX);
    EXPECT(metadata->fields[1].located && !metadata->fields[0].located);
    expect_bad(metadata, fields.bytes, fields.size);
    record_free(&record);
}

/* Too many in all, wherever they are: in an object, as its elements, or side by side. */
static void test_too_many_fields(void)
{
    static const struct {
        const char *type;
        size_t size;
        uint32_t fields;
    } some[] = {{LITERAL("\x05"), 1},
                {LITERAL("\x13\x05"), 2},
                {LITERAL("\x13\x13\x05"), 3},
                {LITERAL("\1\1\0\3\0\1a\x05"), 2},
                {LITERAL("\x13\1\1\0\3\0\1a\x05"), 3}};
    for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
        for (uint32_t least = some[i].fields, max = least > 1 ? least - 1 : 1; max <= least;
             max++) {
            const struct wt_reader_options options = {.limits = {.fields_max = max}};
            start_fields(1);
            add_field("x", some[i].type, some[i].size);
            build6_start(&build);
            build6_metadata(&build, 1, "E", fields.bytes, fields.size, "", 0);
            build6_end(&build);
            record_read(&record, build.bytes, build.size, 0, &options);
            EXPECT_EQUAL(record.metadata->fields_bad, max < least);
            record_free(&record);
        }
    }
}

static void test_options(void)
{
    start_fields(0);
    const struct wt_metadata *metadata =
        define_with(LITERAL("\1\x0A\3\2\0\0\0\0\0\0\0\4\4{n}!\5\2hi\6\1k\2v1\6\1k\2v2"
                            "\7guidguidguidguid\x08\5\x09\6"));
    EXPECT_EQUAL(record.rule_count, 0);
    EXPECT(metadata->has_opcode && metadata->opcode == 10);
    EXPECT_EQUAL(metadata->keywords, 2);
    EXPECT_TEXT(metadata->message_template, "{n}!");
    EXPECT_TEXT(metadata->description, "hi");
    EXPECT_EQUAL(metadata->value_count, 2);
    EXPECT_TEXT(metadata->values[1].key, "k");
    EXPECT_TEXT(metadata->values[1].value, "v2");
    EXPECT(metadata->has_provider_guid && memcmp(metadata->provider_guid, "guidguid", 8) == 0);
    EXPECT_EQUAL(metadata->level, 5);
    EXPECT_EQUAL(metadata->version, 6);
    record_free(&record);
    metadata = define_with(LITERAL("\x08\5\2\1")); /* a kind that is not known */
    EXPECT_EQUAL(record.rule_count, 1);
    EXPECT_TEXT(wt_rule_name(record.rules[0]), "metadata-record");
    EXPECT_EQUAL(metadata->level, 5);
    record_free(&record);
}

static void expect_clean(const char *bytes, size_t size, const char *wanted)
{
    char text[64];
    EXPECT_EQUAL(wt_utf8_clean((const uint8_t *)bytes, size, text, sizeof(text)), strlen(wanted));
    EXPECT_TEXT(text, wanted);
}

#define REPLACED "\xEF\xBF\xBD"

static void test_utf8(void)
{
    expect_clean(LITERAL("a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80"),
                 "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80");
    expect_clean(LITERAL("a\0b"), "a" REPLACED "b");
    expect_clean(LITERAL("\xC0\xAF"), REPLACED REPLACED);              /* "/", too long */
    expect_clean(LITERAL("\xED\xA0\x80"), REPLACED REPLACED REPLACED); /* a surrogate */
    expect_clean(LITERAL("\xE2\x82"), REPLACED REPLACED);
    expect_clean(LITERAL("\xF4\x90\x80\x80"), REPLACED REPLACED REPLACED REPLACED);
}

int main(void)
{
    test_new_types();
    test_locations();
    test_locations_that_overlap();
    test_nested();
    test_bad_types();
    test_depth();
    test_huge_fixed_arrays();
    test_huge_objects();
    test_too_many_fields();
    test_options();
    test_utf8();
    return 0;
}
