/* Fields of events by name: what is there, what is absent, and what is of another type. */
#include "build.h"
#include "fields.h"
#include "record.h"
#include "test.h"

static struct build fields;
static struct build build;
static struct record record;

/* Definitions 1 and 2 are versions 0 and 1 of one event; the second one has a field more:
 * n: UInt32, s: String, o: {k: Int16, p: {z: Double}}, t: String, then "more": UInt64. */
static void add(uint32_t type, const char *name)
{
    build_u32(&fields, type);
    build_utf16(&fields, name);
}

static void describe(bool has_more)
{
    fields.size = 0;
    build_u32(&fields, has_more ? 5 : 4);
    add(10, "n");
    add(18, "s");
    build_u32(&fields, 1); /* o */
    build_u32(&fields, 2);
    add(7, "k");
    build_u32(&fields, 1); /* o.p */
    build_u32(&fields, 1);
    add(14, "z");
    build_utf16(&fields, "p");
    build_utf16(&fields, "o");
    add(18, "t");
    if (has_more)
        add(12, "more");
}

static void define(void)
{
    build_start(&build);
    describe(false);
    build_metadata(&build, 1, "E", fields.bytes, fields.size);
    describe(true);
    build_metadata(&build, 2, "E", fields.bytes, fields.size);
    build_end(&build);
    record_read(&record, build.bytes, build.size, 0, NULL);
    EXPECT_EQUAL(record.metadata_count, 2);
}

/* n 7, s "hi", o {k -5, p {z 1.5}}, t "ok": offsets 0, 4, 10, 12, 20; 26 bytes. */
static const uint8_t payload[] = {7, 0, 0, 0, 'h', 0,    'i',  0,   0, 0,   0xFB, 0xFF, 0,
                                  0, 0, 0, 0, 0,   0xF8, 0x3F, 'o', 0, 'k', 0,    0,    0};

static struct wt_event event_of(const struct wt_metadata *metadata, size_t size)
{
    struct wt_event event;
    memset(&event, 0, sizeof(event));
    event.metadata = metadata;
    event.payload = payload;
    event.payload_size = (uint32_t)size;
    return event;
}

static const struct wt_metadata *old_version(void)
{
    static struct wt_metadata old;
    old = *record.metadata;
    old.field_count = 4; /* as definition 1: the record keeps the last one */
    return &old;
}

static void test_present(void)
{
    struct wt_event event = event_of(old_version(), sizeof(payload));
    uint64_t u;
    int64_t i;
    double d;
    char text[3];
    size_t size;
    EXPECT_EQUAL(wt_event_u64(&event, "n", &u), WT_PRESENT);
    EXPECT_EQUAL(u, 7);
    EXPECT_EQUAL(wt_event_i64(&event, "n", &i), WT_PRESENT);
    EXPECT_EQUAL(i, 7);
    EXPECT_EQUAL(wt_event_i64(&event, "o.k", &i), WT_PRESENT);
    EXPECT_EQUAL(i, -5);
    EXPECT_EQUAL(wt_event_f64(&event, "o.p.z", &d), WT_PRESENT);
    EXPECT(d == 1.5);
    EXPECT_EQUAL(wt_event_text(&event, "t", text, sizeof(text), &size), WT_PRESENT);
    EXPECT_TEXT(text, "ok"); /* behind a string and an object */
    EXPECT_EQUAL(wt_event_text(&event, "s", text, 2, &size), WT_PRESENT);
    EXPECT_TEXT(text, "h");
    EXPECT_EQUAL(size, 2); /* the whole text */
    EXPECT_EQUAL(wt_event_text(&event, "s", NULL, 0, &size), WT_PRESENT);
}

/* A value that is not there leaves the caller's as it was. */
static void test_absent(void)
{
    uint64_t u = 99;
    int64_t i = 99;
    char text[8] = "as was";
    struct wt_event event = event_of(old_version(), sizeof(payload));
    EXPECT_EQUAL(wt_event_u64(&event, "more", &u), WT_ABSENT); /* not in this version */
    event = event_of(record.metadata, sizeof(payload));
    EXPECT_EQUAL(wt_event_u64(&event, "more", &u), WT_ABSENT); /* not in this payload */
    EXPECT_EQUAL(wt_event_u64(&event, "N", &u), WT_ABSENT);
    EXPECT_EQUAL(wt_event_u64(&event, "", &u), WT_ABSENT);
    EXPECT_EQUAL(wt_event_i64(&event, "o.q", &i), WT_ABSENT);
    EXPECT_EQUAL(wt_event_i64(&event, "o.k.x", &i), WT_ABSENT);
    EXPECT_EQUAL(wt_event_i64(&event, "k", &i), WT_ABSENT);
    EXPECT_EQUAL(wt_event_i64(&event, "ok", &i), WT_ABSENT);
    struct wt_metadata unknown = *record.metadata;
    unknown.field_count = 0;
    event = event_of(&unknown, sizeof(payload));
    EXPECT_EQUAL(wt_event_u64(&event, "n", &u), WT_ABSENT);
    EXPECT_EQUAL(wt_event_text(&event, "s", text, sizeof(text), NULL), WT_ABSENT);
    EXPECT_EQUAL(u, 99);
    EXPECT_EQUAL(i, 99);
    EXPECT_TEXT(text, "as was");
}

/* Cut at each byte: a field is there once its last byte is. */
static void test_cut(void)
{
    for (size_t size = 0; size <= sizeof(payload); size++) {
        struct wt_event event = event_of(old_version(), size);
        uint8_t *copy = malloc(size ? size : 1); /* of that size, for the sanitizers */
        EXPECT(copy != NULL);
        memcpy(copy, payload, size);
        event.payload = copy;
        uint64_t u;
        int64_t i;
        double d;
        char text[8];
        EXPECT_EQUAL(wt_event_u64(&event, "n", &u), size >= 4 ? WT_PRESENT : WT_ABSENT);
        EXPECT_EQUAL(wt_event_text(&event, "s", text, sizeof(text), NULL),
                     size >= 10 ? WT_PRESENT : WT_ABSENT); /* otherwise it has no end */
        EXPECT_EQUAL(wt_event_i64(&event, "o.k", &i), size >= 12 ? WT_PRESENT : WT_ABSENT);
        EXPECT_EQUAL(wt_event_f64(&event, "o.p.z", &d), size >= 20 ? WT_PRESENT : WT_ABSENT);
        EXPECT_EQUAL(wt_event_text(&event, "t", text, sizeof(text), NULL),
                     size >= 26 ? WT_PRESENT : WT_ABSENT);
        free(copy);
    }
}

static void test_wrong_type(void)
{
    struct wt_event event = event_of(record.metadata, sizeof(payload));
    uint64_t u;
    int64_t i;
    double d;
    char text[8];
    EXPECT_EQUAL(wt_event_u64(&event, "o.k", &u), WT_WRONG_TYPE); /* signed */
    EXPECT_EQUAL(wt_event_u64(&event, "s", &u), WT_WRONG_TYPE);
    EXPECT_EQUAL(wt_event_i64(&event, "o.p.z", &i), WT_WRONG_TYPE);
    EXPECT_EQUAL(wt_event_f64(&event, "n", &d), WT_WRONG_TYPE);
    EXPECT_EQUAL(wt_event_text(&event, "n", text, sizeof(text), NULL), WT_WRONG_TYPE);
    EXPECT_EQUAL(wt_event_text(&event, "o", text, sizeof(text), NULL), WT_WRONG_TYPE);
    EXPECT_EQUAL(wt_event_u64(&event, "o.p", &u), WT_WRONG_TYPE);
}

/* A number of 64 bits without a sign is not read with one, however small it is. */
static void test_large_unsigned(void)
{
    static const uint8_t eight[8] = {1};
    struct wt_event event = event_of(record.metadata, 0);
    struct wt_metadata only = *record.metadata;
    only.fields = &record.metadata->fields[4];
    only.field_count = 1;
    event.metadata = &only;
    event.payload = eight;
    event.payload_size = 8;
    uint64_t u;
    int64_t i;
    EXPECT_EQUAL(wt_event_u64(&event, "more", &u), WT_PRESENT);
    EXPECT_EQUAL(u, 1);
    EXPECT_EQUAL(wt_event_i64(&event, "more", &i), WT_WRONG_TYPE);
}

int main(void)
{
    define();
    test_present();
    test_absent();
    test_cut();
    test_wrong_type();
    test_large_unsigned();
    record_free(&record);
    return 0;
}
