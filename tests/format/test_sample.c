/* The worked example of the format page, whole, in small pieces, and cut at every byte. */
#include "broken.h"
#include "fields.h"
#include "record.h"
#include "test.h"

static void expect_events(const struct record *record)
{
    const struct wt_event *first = &record->events[0];
    const struct wt_event *second = &record->events[1];
    EXPECT_EQUAL(record->event_count, 2);
    EXPECT_TEXT(record->texts[0], "Demo/Tick 2a000000");
    EXPECT_TEXT(record->texts[1], "Demo/Tick 2b000000");
    EXPECT_EQUAL(first->sequence, 1);
    EXPECT_EQUAL(second->sequence, 2);
    EXPECT_EQUAL(first->capture_thread, 5001);
    EXPECT_EQUAL(second->thread_id, 5001);
    EXPECT_EQUAL(first->processor, 2);
    EXPECT_EQUAL(first->time, 1000100);
    EXPECT_EQUAL(second->time, 1000350);
    EXPECT(first->sorted && !second->sorted);
    EXPECT_EQUAL(first->stack_id, 1);
    EXPECT_EQUAL(first->stack_size, 0);
    EXPECT_EQUAL(second->stack_size, 16);
    EXPECT_EQUAL(first->offset, 0x154);
    EXPECT_EQUAL(second->offset, 0x165);
}

static void test_whole(size_t step, bool time_order)
{
    struct record record;
    struct wt_reader_options options;
    memset(&options, 0, sizeof(options));
    options.time_order = time_order;
    options.check_trailing = true;
    record_read(&record, sample_bytes, sizeof(sample_bytes), step, &options);
    EXPECT_EQUAL(record.status, WT_END);
    EXPECT_EQUAL(record.rule_count, 0);
    EXPECT_EQUAL(record.block_count, 4);
    EXPECT_EQUAL(record.point_count, 1);
    EXPECT_EQUAL(record.metadata_count, 1);
    expect_tick(record.metadata);
    expect_events(&record);
    EXPECT_EQUAL(record.gap_count, 1);
    EXPECT(record.gaps[0].at_point && !record.gaps[0].back);
    EXPECT_EQUAL(record.gaps[0].after, 2);
    EXPECT_EQUAL(record.gaps[0].count, 1);
    EXPECT_EQUAL(record.gap_before[0], 2);
    const struct wt_totals *totals = wt_reader_totals(record.reader);
    EXPECT_EQUAL(totals->bytes, 422);
    EXPECT_EQUAL(totals->lost, 1);
    EXPECT_EQUAL(totals->points, 1);
    EXPECT_EQUAL(totals->point_time, 1000400);
    EXPECT_EQUAL(totals->stacks, 2);
    char text[40];
    wt_time_utc_text(wt_reader_trace(record.reader), 1000100, text);
    EXPECT_TEXT(text, "2026-01-15T12:30:45.500000100Z");
    EXPECT_EQUAL(wt_time_relative_ns(wt_reader_trace(record.reader), 1000100), 100);
    record_free(&record);
}

static void test_cut(bool time_order)
{
    for (size_t size = 0; size < sizeof(sample_bytes); size++) {
        struct record record;
        struct wt_reader_options options;
        memset(&options, 0, sizeof(options));
        options.time_order = time_order;
        record_read(&record, sample_bytes, size, 0, &options);
        EXPECT_EQUAL(record.status, WT_TRUNCATED);
        EXPECT_EQUAL(record.rule_count, 0);
        EXPECT_EQUAL(wt_reader_error(record.reader)->offset, size);
        /* Events end at 0x165 and 0x16D; the metadata's blob at 0xDF. */
        EXPECT_EQUAL(record.metadata_count, size >= 0xDF);
        EXPECT_EQUAL(record.event_count, (size >= 0x165) + (size >= 0x16D));
        /* A point that was read only in part reports nothing. */
        const struct wt_totals *totals = wt_reader_totals(record.reader);
        EXPECT_EQUAL(record.point_count, size >= 0x1A4);
        EXPECT_EQUAL(totals->points, size >= 0x1A4);
        EXPECT_EQUAL(totals->point_time, size >= 0x1A4 ? 1000400 : 0);
        EXPECT_EQUAL(totals->lost, size >= 0x1A4);
        record_free(&record);
    }
}

int main(void)
{
    for (size_t step = 0; step < 9; step++) {
        test_whole(step, false);
        test_whole(step, true);
    }
    test_cut(false);
    test_cut(true);
    expect_return_with_wrong_bytes(sample_bytes, sizeof(sample_bytes));
    return 0;
}
