/* Version 6: its worked example, whole, cut, and with wrong bytes; one broken stream per rule; its
 * threads, labels and points. */
#include "broken.h"
#include "build6.h"
#include "fields.h"
#include "record.h"
#include "test.h"

static struct build build;
static struct record record;

/* --- The worked example. --------------------------------------------------------------------- */

static void expect_trace(const struct wt_trace_info *info)
{
    EXPECT_EQUAL(info->major, 6);
    EXPECT_EQUAL(info->minor, 0);
    EXPECT_EQUAL(info->sync_ticks, 1000000);
    EXPECT_EQUAL(info->frequency, 1000000000);
    EXPECT_EQUAL(info->pointer_size, 8);
    EXPECT_EQUAL(info->process_id, 4242);
    EXPECT_EQUAL(info->processors, 0);
    EXPECT_EQUAL(info->value_count, 1);
    EXPECT_TEXT(info->values[0].key, "ProcessId");
    EXPECT_TEXT(info->values[0].value, "4242");
    char text[40];
    wt_time_utc_text(info, 1000100, text);
    EXPECT_TEXT(text, "2026-01-15T12:30:45.500000100Z");
}

static void expect_definition(const struct wt_metadata *metadata)
{
    expect_tick(metadata);
    EXPECT_EQUAL(metadata->id, 1);
    EXPECT_EQUAL(metadata->offset, 0x68);
}

static void expect_thread(const struct wt_thread *thread)
{
    EXPECT(thread != NULL);
    EXPECT_EQUAL(thread->capture_thread, 1);
    EXPECT_EQUAL(thread->os_thread_id, 5001);
    EXPECT_EQUAL(thread->os_process_id, 4242);
    EXPECT_TEXT(thread->name, "main");
    EXPECT(thread->has_row && thread->is_removed);
    EXPECT_EQUAL(thread->number, 3);
    EXPECT_EQUAL(thread->lost, 1);
}

static void expect_events(void)
{
    const struct wt_event *first = &record.events[0], *second = &record.events[1];
    char guid[37];
    EXPECT_EQUAL(record.event_count, 2);
    EXPECT_TEXT(record.texts[0], "Demo/Tick 2a000000");
    EXPECT_TEXT(record.texts[1], "Demo/Tick 2b000000");
    EXPECT_EQUAL(first->offset, 0xED);
    EXPECT_EQUAL(second->offset, 0xFD);
    EXPECT_EQUAL(first->sequence, 1);
    EXPECT_EQUAL(second->number, 2);
    EXPECT_EQUAL(first->capture_thread, 1);
    EXPECT_EQUAL(first->thread_index, 1);
    EXPECT_EQUAL(second->thread_id, 5001);
    EXPECT_EQUAL(second->processor, 2);
    EXPECT_EQUAL(first->time, 1000100);
    EXPECT_EQUAL(second->time, 1000350);
    EXPECT(first->sorted && !second->sorted);
    EXPECT_EQUAL(first->stack_size, 16);
    EXPECT(second->stack_id == 0 && second->stack == NULL);
    wt_guid_text(first->activity_id, guid);
    EXPECT_TEXT(guid, "00112233-4455-6677-8899-aabbccddeeff");
    wt_guid_text(second->activity_id, guid);
    EXPECT_TEXT(guid, "00000000-0000-0000-0000-000000000000");
    EXPECT_TEXT(record.labels[0], "1");
    EXPECT_TEXT(record.labels[1], "5 req=42,6 d=-3");
}

static void test_whole(size_t step, bool time_order)
{
    struct wt_reader_options options = {.time_order = time_order, .check_trailing = true};
    record_read(&record, sample6_bytes, sizeof(sample6_bytes), step, &options);
    EXPECT_EQUAL(record.status, WT_END);
    EXPECT_EQUAL(record.rule_count, 0);
    EXPECT_EQUAL(record.block_count, 7);
    EXPECT_EQUAL(record.point_count, 1);
    EXPECT_EQUAL(record.metadata_count, 1);
    expect_trace(wt_reader_trace(record.reader));
    expect_definition(record.metadata);
    expect_thread(wt_reader_thread(record.reader, 0));
    expect_events();
    EXPECT_EQUAL(record.gap_count, 1);
    EXPECT(record.gaps[0].at_point && !record.gaps[0].back);
    EXPECT_EQUAL(record.gaps[0].after, 2);
    EXPECT_EQUAL(record.gaps[0].count, 1);
    const struct wt_totals *totals = wt_reader_totals(record.reader);
    EXPECT_EQUAL(totals->bytes, sizeof(sample6_bytes));
    EXPECT_EQUAL(totals->lost, 1);
    EXPECT_EQUAL(totals->stacks, 1);
    EXPECT_EQUAL(totals->label_lists, 2);
    EXPECT_EQUAL(totals->point_time, 1000400);
    record_free(&record);
}

static void test_cut(bool time_order)
{
    for (size_t size = 0; size < sizeof(sample6_bytes); size++) {
        struct wt_reader_options options = {.time_order = time_order};
        record_read(&record, sample6_bytes, size, 0, &options);
        EXPECT_EQUAL(record.status, WT_TRUNCATED);
        EXPECT_EQUAL(record.rule_count, 0);
        EXPECT_EQUAL(wt_reader_error(record.reader)->offset, size);
        const struct wt_totals *totals = wt_reader_totals(record.reader);
        EXPECT_EQUAL(totals->threads, size >= 0x62);
        EXPECT_EQUAL(record.metadata_count, size >= 0x8C);
        EXPECT_EQUAL(totals->label_lists, (size >= 0xC9) + (size >= 0xD5));
        EXPECT_EQUAL(record.event_count, (size >= 0xFD) + (size >= 0x106));
        EXPECT_EQUAL(record.point_count, size >= 0x11C);
        EXPECT_EQUAL(totals->lost, size >= 0x11C);
        record_free(&record);
    }
}

/* --- One broken stream per rule. ------------------------------------------------------------- */

static const struct row6 plain = {
    .metadata_id = 1, .sequence = 1, .capture_thread = 9, .thread = 9, .time_delta = 100};

static void start(void)
{
    build6_start(&build);
    build6_plain_metadata(&build, 1, "Tick");
    build6_thread(&build, 9, 1009, NULL);
}

static void add_event(struct row6 row)
{
    build6_events(&build, 1, 100, 200);
    build6_row(&build, &row);
    build6_block_end(&build);
}

static void test_header(void)
{
    build6_start(&build);
    build6_end(&build);
    build.bytes[16] = 9; /* minor version */
    expect_told(&build, WT_RULE_NONE, 0);
    build.bytes[12] = 7; /* major version */
    expect_failure(&build, WT_ERROR_VERSION, WT_RULE_VERSION, NULL);
    build6_start(&build);
    build_bytes(&build, build.bytes + 20, build.size - 20);
    expect_failure(&build, WT_ERROR_FORMAT, WT_RULE_OBJECT_ORDER, NULL);
    build6_start(&build);
    build.bytes[20 + 4 + 36] = 200; /* keys and values */
    expect_failure(&build, WT_ERROR_FORMAT, WT_RULE_TRACE_BLOCK, NULL);
    build6_start(&build);
    build.bytes[build.size - 1] = 'x'; /* process 424x */
    build6_end(&build);
    expect_told(&build, WT_RULE_TRACE_BLOCK, 1);
    build6_start(&build);
    build6_end(&build);
    build_u8(&build, 0);
    expect_told(&build, WT_RULE_TRAILING, 1);
}

static void test_unknown_kinds(void)
{
    start();
    for (unsigned kind = 9; kind < 256; kind += 82) {
        build6_block(&build, kind);
        build_bytes(&build, build.bytes, 40);
        build6_block_end(&build);
    }
    add_event(plain);
    build6_end(&build);
    read_built(&record, &build, NULL);
    EXPECT_EQUAL(record.event_count, 1);
    EXPECT_EQUAL(record.rule_count, 0);
    record_free(&record);
}

static void test_events(void)
{
    struct row6 row = plain;
    start();
    row.metadata_id = 2;
    add_event(row);
    build6_end(&build);
    expect_told(&build, WT_RULE_METADATA_UNDEFINED, 1);
    start();
    row = plain;
    row.stack = 3;
    add_event(row);
    build6_end(&build);
    expect_told(&build, WT_RULE_STACK_UNDEFINED, 1);
    start();
    row = plain;
    row.labels = 3;
    add_event(row);
    build6_end(&build);
    expect_told(&build, WT_RULE_LABEL_UNDEFINED, 1);
    start();
    row = plain;
    row.capture_thread = row.thread = 8;
    add_event(row);
    build6_end(&build);
    expect_told(&build, WT_RULE_THREAD_UNDEFINED, 1);
    start();
    row.capture_thread = 9;
    add_event(row);
    build6_end(&build);
    expect_told(&build, WT_RULE_THREAD_UNDEFINED, 1); /* the thread that the event is about */
}

static void test_uncompressed(void)
{
    start();
    build6_events(&build, 0, 100, 200);
    build_u32(&build, 48 + 4);
    build_u32(&build, 0x80000001u); /* not sorted */
    build_u32(&build, 1);
    build_u64(&build, 9);
    build_u64(&build, 9);
    build_u32(&build, 2);
    build_u32(&build, 0);
    build_u64(&build, 101);
    build_u32(&build, 0);
    build_u32(&build, 4);
    build_u32(&build, 0x2B2A);
    build6_block_end(&build);
    build6_end(&build);
    read_built(&record, &build, NULL);
    EXPECT_EQUAL(record.status, WT_END);
    EXPECT_EQUAL(record.rule_count, 0);
    EXPECT_EQUAL(record.event_count, 1);
    EXPECT_TEXT(record.texts[0], "Demo/Tick 2a2b0000");
    EXPECT_EQUAL(record.events[0].thread_id, 1009);
    EXPECT_EQUAL(record.events[0].processor, 2);
    EXPECT_EQUAL(record.events[0].time, 101);
    EXPECT(!record.events[0].sorted);
    record_free(&record);
    build.bytes[build.block_body_at - 4 - 8] = 3; /* the payload's size: one byte is left */
    expect_told(&build, WT_RULE_BLOB_PADDING, 1);
    build.bytes[build.block_body_at - 4 - 8] = 5;
    expect_failure(&build, WT_ERROR_FORMAT, WT_RULE_BLOB_END, NULL);
}

/* --- Threads. -------------------------------------------------------------------------------- */

static void remove_thread(uint64_t index, uint32_t number)
{
    build6_block(&build, BUILD6_REMOVE_THREAD);
    build_var(&build, index);
    build_var(&build, number);
    build6_block_end(&build);
}

/* Numbers start at 1, so a loss before the first event shows; the removal shows those at the end. */
static void test_losses_at_both_ends(void)
{
    struct row6 row = plain;
    start();
    row.sequence = 4;
    add_event(row);
    remove_thread(9, 6);
    build6_end(&build);
    read_built(&record, &build, NULL);
    EXPECT_EQUAL(record.rule_count, 0);
    EXPECT_EQUAL(record.gap_count, 2);
    EXPECT_EQUAL(record.gaps[0].after, 0);
    EXPECT_EQUAL(record.gaps[0].count, 3);
    EXPECT_EQUAL(record.gaps[1].after, 4);
    EXPECT_EQUAL(record.gaps[1].count, 2);
    EXPECT_EQUAL(record.gap_before[1], 1);
    record_free(&record);
}

static void test_thread_rules(void)
{
    start();
    build6_thread(&build, 9, 1, "again");
    build6_end(&build);
    expect_told(&build, WT_RULE_THREAD_REDEFINED, 1);
    start();
    remove_thread(9, 0);
    remove_thread(9, 0);
    remove_thread(8, 0);
    add_event(plain);
    build6_end(&build);
    expect_told(&build, WT_RULE_THREAD_UNDEFINED, 3);
    start();
    build6_point(&build, 5, 0, 8, 1);
    build6_end(&build);
    expect_told(&build, WT_RULE_THREAD_UNDEFINED, 1);
    start();
    build6_block(&build, BUILD6_THREAD);
    build_bytes(&build, "\2\0\7\x55", 4); /* a kind that is not known */
    build6_block_end(&build);
    build6_end(&build);
    expect_told(&build, WT_RULE_THREAD_BLOCK, 1);
    build.bytes[build.block_body_at - 4 - 4] = 3; /* the row is longer than its block */
    expect_failure(&build, WT_ERROR_FORMAT, WT_RULE_THREAD_BLOCK, NULL);
    start();
    struct wt_limits limits = {.threads_max = 1};
    build6_thread(&build, 7, 1, NULL);
    expect_failure(&build, WT_ERROR_LIMIT, WT_RULE_LIMIT, &limits);
}

/* After the removal, the same index is another thread, although it should not be. */
static void test_index_again(void)
{
    start();
    add_event(plain);
    remove_thread(9, 1);
    build6_thread(&build, 9, 77, "new");
    add_event(plain);
    build6_end(&build);
    read_built(&record, &build, NULL);
    EXPECT_EQUAL(record.rule_count, 1);
    EXPECT_EQUAL(record.rules[0], WT_RULE_THREAD_REDEFINED);
    EXPECT_EQUAL(record.gap_count, 0);
    EXPECT_EQUAL(record.events[0].thread_id, 1009);
    EXPECT_EQUAL(record.events[1].thread_id, 77);
    EXPECT_TEXT(record.events[1].thread->name, "new");
    EXPECT(record.events[0].thread->name == NULL);
    record_free(&record);
}

static void test_points_that_forget(void)
{
    start();
    add_event(plain);
    build6_point(&build, 300, 1, 9, 1); /* threads */
    build6_thread(&build, 9, 77, NULL);
    build6_point(&build, 301, 2, 0, 0); /* definitions */
    build6_plain_metadata(&build, 1, "Tock");
    add_event(plain);
    build6_end(&build);
    read_built(&record, &build, NULL);
    EXPECT_EQUAL(record.rule_count, 0);
    EXPECT_EQUAL(record.gap_count, 0);
    EXPECT_TEXT(record.texts[0], "Demo/Tick ");
    EXPECT_TEXT(record.texts[1], "Demo/Tock ");
    EXPECT_EQUAL(record.events[1].thread_id, 77);
    record_free(&record);
    start();
    build6_point(&build, 300, 3, 0, 0);
    add_event(plain);
    build6_end(&build);
    read_built(&record, &build, NULL);
    EXPECT_EQUAL(record.rule_count, 2);
    EXPECT_EQUAL(record.rules[0], WT_RULE_METADATA_UNDEFINED);
    EXPECT_EQUAL(record.rules[1], WT_RULE_THREAD_UNDEFINED);
    record_free(&record);
    start();
    build6_point(&build, 300, 0, 9, 1);
    build.bytes[build.size - 3 - 3] = 3; /* more threads than it holds */
    expect_failure(&build, WT_ERROR_FORMAT, WT_RULE_POINT_BLOCK, NULL);
}

/* --- Labels. --------------------------------------------------------------------------------- */

static void add_labels(const void *lists, size_t size, uint32_t first, uint32_t count)
{
    build6_block(&build, BUILD6_LABEL);
    build_u32(&build, first);
    build_u32(&build, count);
    build_bytes(&build, lists, size);
    build6_block_end(&build);
}

#define LITERAL(text) text, sizeof(text) - 1

static void test_every_label(void)
{
    struct row6 row = plain;
    start();
    add_labels(
        LITERAL("\1aaaaaaaaaaaaaaaa\2bbbbbbbbbbbbbbbb\3cccccccccccccccc"
                "\4\1\0\0\0\0\0\0\x80\5\1k\2vv\6\1i\3\7\x11\x08\2\0\0\0\0\0\0\0\x09\5\x8A\6"),
        5, 1);
    row.labels = 5;
    add_event(row);
    build6_end(&build);
    read_built(&record, &build, NULL);
    EXPECT_EQUAL(record.rule_count, 0);
    EXPECT_TEXT(record.labels[0], "1,2,3,4=9223372036854775809,5 k=vv,6 i=-2,7=17,8=2,9=5,10=6");
    EXPECT(memcmp(record.events[0].related_activity_id, "bbbbbbbbbbbbbbbb", 16) == 0);
    EXPECT_TEXT(record.overridden[0], "17 2 5 6");
    record_free(&record);
}

static void test_label_rules(void)
{
    start();
    add_labels(LITERAL("\x87\1\x87\2"), 1, 2);
    add_labels(LITERAL("\x87\1"), 2, 1);
    build6_point(&build, 5, 0, 0, 0);
    add_labels(LITERAL("\x87\1"), 2, 1); /* after a point, indices start again */
    build6_end(&build);
    expect_told(&build, WT_RULE_LABEL_REDEFINED, 1);
    start();
    add_labels(LITERAL("\x87\1"), 0, 1);
    build6_end(&build);
    expect_told(&build, WT_RULE_LABEL_BLOCK, 1);
    start();
    add_labels(LITERAL("\x87\1xyz"), 1, 1);
    build6_end(&build);
    expect_told(&build, WT_RULE_LABEL_BLOCK, 1);
    static const struct {
        const char *bytes;
        size_t size;
    } bad[] = {
        {LITERAL("\x8B\1")},       /* a kind that is not known */
        {LITERAL("\7\1")},         /* no last label */
        {LITERAL("\x85\1k\x7Fv")}, /* a text that is longer than its block */
        {LITERAL("\x81zzz")},      /* half an id */
        {LITERAL("\x86\1k\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F")}, /* a number of 70 bits */
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        start();
        add_labels(bad[i].bytes, bad[i].size, 1, 1);
        build6_end(&build);
        expect_failure(&build, WT_ERROR_FORMAT, WT_RULE_LABEL_BLOCK, NULL);
    }
    start();
    add_labels(LITERAL("\x87\1\x87\1\x87\1"), 1, 3);
    struct wt_limits limits = {.stack_bytes_max = 100};
    expect_failure(&build, WT_ERROR_LIMIT, WT_RULE_LIMIT, &limits);
}

/* --- What a hostile stream may cost. --------------------------------------------------------- */

#define VAST_LABELS 1000000u
#define VAST_EVENTS 400000u

static void on_vast(void *context, const struct wt_event *event)
{
    uint64_t *events = context;
    EXPECT_EQUAL(wt_event_level(event), 3);
    EXPECT_EQUAL(wt_event_version(event), 7);
    EXPECT_EQUAL(wt_event_opcode(event), 0);
    ++*events;
}

/* A list with a million labels is not gone through for each of the events that have it, which would
 * take an hour. */
static void test_vast_list(void)
{
    static const struct wt_handlers handlers = {.event = on_vast};
    struct row6 row = plain;
    uint64_t events = 0;
    start();
    build6_block(&build, BUILD6_LABEL);
    build_u32(&build, 1);
    build_u32(&build, 1);
    for (uint32_t i = 1; i < VAST_LABELS; i++)
        build_u16(&build, WT_LABEL_LEVEL | 3u << 8);
    build_u16(&build, 0x80 | WT_LABEL_VERSION | 7u << 8);
    build6_block_end(&build);
    build6_events(&build, 1, 100, INT64_MAX);
    row.labels = 1;
    for (uint32_t i = 0; i < VAST_EVENTS; i++, row.previous_sequence = row.sequence++)
        build6_row(&build, &row);
    build6_block_end(&build);
    build6_end(&build);
    struct wt_memory_source memory = {build.bytes, build.size, 0};
    const struct wt_source source = wt_source_memory(&memory);
    struct wt_reader *reader;
    EXPECT(wt_reader_create(&reader, &source, NULL, &handlers, &events) == WT_OK);
    EXPECT_EQUAL(wt_reader_run(reader), WT_END);
    EXPECT_EQUAL(events, VAST_EVENTS);
    wt_reader_destroy(reader);
}

int main(void)
{
    for (size_t step = 0; step < 9; step++) {
        test_whole(step, false);
        test_whole(step, true);
    }
    test_cut(false);
    test_cut(true);
    expect_return_with_wrong_bytes(sample6_bytes, sizeof(sample6_bytes));
    test_header();
    test_unknown_kinds();
    test_events();
    test_uncompressed();
    test_losses_at_both_ends();
    test_thread_rules();
    test_index_again();
    test_points_that_forget();
    test_every_label();
    test_label_rules();
    test_vast_list();
    return 0;
}
