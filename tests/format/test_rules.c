/* One broken stream per rule of the reader, and the result it must have. */
#include "broken.h"
#include "record.h"
#include "test.h"

static struct build build;
static struct record record;

static const struct blob plain = {.metadata_id = 1,
                                  .sequence = 1,
                                  .capture_thread = 9,
                                  .thread = 9,
                                  .time_delta = 100,
                                  .sorted = true};

static void start_events(void)
{
    build_start(&build);
    build_plain_metadata(&build, 1, "Tick");
    build_block(&build, "EventBlock");
    build_block_header(&build, 1, 100, 200);
}

static void end_events(void)
{
    build_block_end(&build);
    build_end(&build);
}

static void test_good(void)
{
    start_events();
    build_blob(&build, &plain);
    end_events();
    expect_told(&build, WT_RULE_NONE, 0);
}

/* Longer than what the common readers take, and told as such; the event is there. */
static void test_payload_size(void)
{
    static const uint8_t large[65536];
    struct blob blob = plain;
    blob.payload = large;
    for (blob.payload_size = 65535; blob.payload_size <= 65536; blob.payload_size++) {
        start_events();
        build_blob(&build, &blob);
        end_events();
        unsigned count = blob.payload_size > 65535;
        EXPECT_EQUAL(expect_told(&build, WT_RULE_PAYLOAD_SIZE, count), 1);
    }
}

static void test_magic(void)
{
    build_start(&build);
    build.bytes[3] = 'x';
    expect_failure(&build, WT_ERROR_FORMAT, WT_RULE_MAGIC, NULL);
    build.size = 0;
    build_bytes(&build, "\x14\0\0\0!FastSerialization.1", 24);
    expect_failure(&build, WT_ERROR_VERSION, WT_RULE_VERSION, NULL);
    build.size = 0;
    build_bytes(&build, "Nettrace\0\0\0\0\7\0\0\0\0\0\0\0", 20);
    expect_failure(&build, WT_ERROR_VERSION, WT_RULE_VERSION, NULL);
}

static void test_objects(void)
{
    build_start(&build);
    build.bytes[0x23] = 5; /* version of Trace */
    expect_failure(&build, WT_ERROR_VERSION, WT_RULE_VERSION, NULL);
    build_start(&build);
    build_u8(&build, 4);
    expect_failure(&build, WT_ERROR_FORMAT, WT_RULE_TAG, NULL);
    build_start(&build);
    build.bytes[0x33]++; /* "Tracf" */
    expect_failure(&build, WT_ERROR_FORMAT, WT_RULE_TYPE_NAME, NULL);
    build_start(&build);
    build_bytes(&build, build.bytes + 32, 70);
    expect_failure(&build, WT_ERROR_FORMAT, WT_RULE_OBJECT_ORDER, NULL);
    build_start(&build);
    build_end(&build);
    build_u8(&build, 1);
    expect_told(&build, WT_RULE_TRAILING, 1);
    build_start(&build);
    expect_failure(&build, WT_TRUNCATED, WT_RULE_END_TAG, NULL);
}

static void test_blocks(void)
{
    start_events();
    build_blob(&build, &plain);
    end_events();
    size_t padding = build.block_body_at - 1;
    EXPECT(padding > build.block_size_at + 3); /* there is padding in this stream */
    build.bytes[padding] = 1;
    expect_told(&build, WT_RULE_PADDING, 1);

    build_start(&build);
    build_block(&build, "EventBlock");
    build_block_header(&build, 1, 0, 0);
    end_events();
    expect_told(&build, WT_RULE_EMPTY_BLOCK, 1);

    start_events();
    build.bytes[build.block_body_at] = 19;
    build_blob(&build, &plain);
    end_events();
    expect_failure(&build, WT_ERROR_FORMAT, WT_RULE_HEADER_SIZE, NULL);

    start_events();
    build_blob(&build, &plain);
    build_u8(&build, 0); /* half a blob */
    end_events();
    expect_failure(&build, WT_ERROR_FORMAT, WT_RULE_BLOB_END, NULL);

    start_events();
    build_blob(&build, &plain);
    end_events();
    build.bytes[build.block_size_at + 3] = 0x80;
    expect_failure(&build, WT_ERROR_FORMAT, WT_RULE_BLOCK_SIZE, NULL);
    build.bytes[build.block_size_at + 3] = 0x7F;
    expect_failure(&build, WT_ERROR_LIMIT, WT_RULE_BLOCK_SIZE, NULL);
    build.bytes[build.block_size_at + 3] = 0x01; /* 16 MB that do not follow */
    expect_failure(&build, WT_TRUNCATED, WT_RULE_END_TAG, NULL);
}

static void test_larger_header(void)
{
    build_start(&build);
    build_plain_metadata(&build, 1, "Tick");
    build_block(&build, "EventBlock");
    build_u16(&build, 24);
    build_u16(&build, 1);
    build_u64(&build, 100);
    build_u64(&build, 200);
    build_u32(&build, 0xDEADBEEF);
    build_blob(&build, &plain);
    end_events();
    read_built(&record, &build, NULL);
    EXPECT_EQUAL(record.status, WT_END);
    EXPECT_EQUAL(record.rule_count, 0);
    EXPECT_EQUAL(record.event_count, 1);
    record_free(&record);
}

static void test_blobs(void)
{
    struct blob blob = plain;
    start_events();
    blob.time_delta = 201;
    build_blob(&build, &blob);
    end_events();
    expect_told(&build, WT_RULE_MIN_MAX, 1);

    blob = plain;
    start_events();
    blob.metadata_id = 2;
    build_blob(&build, &blob);
    end_events();
    expect_told(&build, WT_RULE_METADATA_UNDEFINED, 1);

    blob = plain;
    start_events();
    blob.stack = 3;
    build_blob(&build, &blob);
    end_events();
    expect_told(&build, WT_RULE_STACK_UNDEFINED, 1);

    start_events();
    build_bytes(&build, "\x01\xFF\xFF\xFF\xFF\x1F", 6);
    end_events();
    expect_failure(&build, WT_ERROR_FORMAT, WT_RULE_VARINT, NULL);
}

static void test_metadata(void)
{
    build_start(&build);
    build_plain_metadata(&build, 1, "A");
    build_plain_metadata(&build, 1, "B");
    build_end(&build);
    expect_told(&build, WT_RULE_METADATA_REDEFINED, 1);
    build_start(&build);
    build_plain_metadata(&build, 0, "A");
    build_end(&build);
    expect_told(&build, WT_RULE_METADATA_RECORD, 1);
    build_start(&build);
    build_metadata(&build, 1, "A", "", 0); /* no field count */
    build_end(&build);
    expect_told(&build, WT_RULE_METADATA_FIELDS, 1);
    build_start(&build);
    build_metadata(&build, 1, "A", "\xFF\xFF\xFF\x7F", 4);
    build_end(&build);
    expect_told(&build, WT_RULE_METADATA_FIELDS, 1);
    build_start(&build);
    build_metadata(&build, 1, "A", "\1\0\0\0\x13\0\0\0\x61\0\0\0", 12); /* V1 has no arrays */
    build_end(&build);
    expect_told(&build, WT_RULE_METADATA_FIELDS, 1);
}

/* Nested objects must end at the limit, not in a stack overflow. */
static void test_depth(void)
{
    static uint8_t fields[40000];
    memset(fields, 0, sizeof(fields));
    for (size_t i = 0; i + 8 <= sizeof(fields); i += 8)
        fields[i] = fields[i + 4] = 1;
    build_start(&build);
    build_metadata(&build, 1, "A", fields, sizeof(fields));
    build_end(&build);
    expect_told(&build, WT_RULE_METADATA_FIELDS, 1);
}

static void build_stacks(uint32_t first, uint32_t count, uint32_t size)
{
    build_block(&build, "StackBlock");
    build_u32(&build, first);
    build_u32(&build, count);
    for (uint32_t i = 0; i < count; i++) {
        build_u32(&build, size);
        for (uint32_t b = 0; b < size; b++)
            build_u8(&build, b);
    }
    build_block_end(&build);
}

static void test_stacks(void)
{
    build_start(&build);
    build_stacks(1, 2, 16);
    build_stacks(2, 1, 8);
    build_end(&build);
    expect_told(&build, WT_RULE_STACK_REDEFINED, 1);
    build_start(&build);
    build_stacks(1, 1, 8);
    build_point(&build, 5, 0, 0, 0, 0, 0);
    build_stacks(1, 1, 8); /* after a point, ids start again */
    build_end(&build);
    expect_told(&build, WT_RULE_NONE, 0);
    build_start(&build);
    build_stacks(1, 1, 7);
    build_end(&build);
    expect_told(&build, WT_RULE_STACK_SIZE, 1);
    build_start(&build);
    build_stacks(1, 1, 8);
    build.bytes[build.block_body_at + 4] = 2;
    build_end(&build);
    expect_failure(&build, WT_ERROR_FORMAT, WT_RULE_STACK_BLOCK, NULL);
}

static void test_points(void)
{
    build_start(&build);
    build_point(&build, 5, 1, 9, 1, 0, 0);
    build.bytes[build.block_body_at + 8] = 2;
    build_end(&build);
    expect_failure(&build, WT_ERROR_FORMAT, WT_RULE_POINT_BLOCK, NULL);
    build.bytes[build.block_body_at + 8] = 0;
    expect_told(&build, WT_RULE_POINT_BLOCK, 1);
}

static void test_limits(void)
{
    struct wt_limits limits;
    memset(&limits, 0, sizeof(limits));
    limits.metadata_max = 1;
    build_start(&build);
    build_plain_metadata(&build, 1, "A");
    build_plain_metadata(&build, 2, "B");
    build_end(&build);
    expect_failure(&build, WT_ERROR_LIMIT, WT_RULE_LIMIT, &limits);
    limits.metadata_max = 0;
    limits.metadata_bytes_max = 100;
    expect_failure(&build, WT_ERROR_LIMIT, WT_RULE_LIMIT, &limits);
    memset(&limits, 0, sizeof(limits));
    limits.threads_max = 1;
    build_start(&build);
    build_point(&build, 5, 2, 8, 1, 9, 1);
    build_end(&build);
    expect_failure(&build, WT_ERROR_LIMIT, WT_RULE_LIMIT, &limits);
    memset(&limits, 0, sizeof(limits));
    limits.stack_bytes_max = 100;
    build_start(&build);
    build_stacks(1, 2, 64);
    build_end(&build);
    expect_failure(&build, WT_ERROR_LIMIT, WT_RULE_LIMIT, &limits);
}

static void test_uncompressed(void)
{
    start_events();
    build.bytes[build.block_body_at + 2] = 0; /* flags */
    for (uint32_t i = 1; i <= 2; i++) {
        build_u32(&build, 76 + 4);
        build_u32(&build, i == 1 ? 1 : 0x80000001u); /* the second is not sorted */
        build_u32(&build, i);
        build_u64(&build, 9);
        build_u64(&build, 9);
        build_u32(&build, 0);
        build_u32(&build, 0);
        build_u64(&build, 100 + i);
        for (int b = 0; b < 32; b++)
            build_u8(&build, 0);
        build_u32(&build, i); /* one byte and three of padding, then two and two */
        build_u32(&build, i == 1 ? 0x2A : 0x2B2A);
    }
    end_events();
    read_built(&record, &build, NULL);
    EXPECT_EQUAL(record.status, WT_END);
    EXPECT_EQUAL(record.rule_count, 0);
    EXPECT_EQUAL(record.event_count, 2);
    EXPECT_TEXT(record.texts[0], "Demo/Tick 2a");
    EXPECT_TEXT(record.texts[1], "Demo/Tick 2a2b");
    EXPECT(record.events[0].sorted && !record.events[1].sorted);
    EXPECT_EQUAL(record.events[1].time, 102);
    record_free(&record);
    build.bytes[build.size - 3] = 1; /* last byte of padding */
    expect_told(&build, WT_RULE_BLOB_PADDING, 1);
}

int main(void)
{
    test_good();
    test_payload_size();
    test_magic();
    test_objects();
    test_blocks();
    test_larger_header();
    test_blobs();
    test_metadata();
    test_depth();
    test_stacks();
    test_points();
    test_limits();
    test_uncompressed();
    return 0;
}
