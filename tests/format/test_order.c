/* Numbers, gaps, and delivery in order of time. */
#include "build.h"
#include "record.h"
#include "test.h"

static struct build build;
static struct record record;

/* An event block of one capture thread: `count` events from `sequence` on, 10 ticks apart. */
static void build_run(uint64_t thread, uint32_t sequence, unsigned count, uint64_t time,
                      bool sorted)
{
    struct blob blob = {.metadata_id = 1,
                        .capture_thread = thread,
                        .thread = thread,
                        .time_delta = time,
                        .sequence = sequence,
                        .sorted = sorted};
    build_block(&build, "EventBlock");
    build_block_header(&build, 1, 0, INT64_MAX);
    for (unsigned i = 0; i < count; i++) {
        build_blob(&build, &blob);
        blob.previous_sequence = blob.sequence++;
        blob.time_delta = 10;
        blob.sorted = false;
    }
    build_block_end(&build);
}

static void start(void)
{
    build_start(&build);
    build_plain_metadata(&build, 1, "Tick");
}

static void read_built(bool time_order, size_t order_bytes_max)
{
    struct wt_reader_options options;
    memset(&options, 0, sizeof(options));
    options.time_order = time_order;
    options.limits.order_bytes_max = order_bytes_max;
    record_read(&record, build.bytes, build.size, 0, &options);
}

static void test_introduced_losses(void)
{
    /* Attempts 2, 3, 4 lost, 5 written, 6 to 9 lost: seven losses in total. */
    start();
    build_point(&build, 1, 1, 9, 1, 0, 0);
    build_run(9, 5, 1, 10, true);
    build_point(&build, 100, 1, 9, 9, 0, 0);
    build_end(&build);
    read_built(false, 0);
    EXPECT_EQUAL(record.status, WT_END);
    EXPECT_EQUAL(record.gap_count, 2);
    EXPECT_EQUAL(record.gaps[0].after, 1);
    EXPECT_EQUAL(record.gaps[0].count, 3);
    EXPECT(!record.gaps[0].at_point);
    EXPECT_EQUAL(record.gap_before[0], 0);
    EXPECT_EQUAL(record.gaps[1].after, 5);
    EXPECT_EQUAL(record.gaps[1].count, 4);
    EXPECT_EQUAL(wt_reader_totals(record.reader)->lost, 7);
    EXPECT_EQUAL(record.events[0].number, 5);
    record_free(&record);
}

static void test_first_sight_and_back(void)
{
    /* Counting starts at the first event of an unknown thread; a number must not go back. */
    start();
    build_run(9, 100, 2, 10, true);
    build_run(9, 101, 1, 40, true);
    build_end(&build);
    read_built(false, 0);
    EXPECT_EQUAL(wt_reader_totals(record.reader)->lost, 0);
    EXPECT_EQUAL(record.gap_count, 1);
    EXPECT(record.gaps[0].back);
    EXPECT_EQUAL(wt_reader_totals(record.reader)->steps_back, 1);
    record_free(&record);
}

static void test_wrap(void)
{
    start();
    build_run(9, UINT32_MAX - 1, 4, 10, true); /* ..., 2^32 - 1, 0, 1 */
    build_point(&build, 100, 1, 9, 3, 0, 0);
    build_end(&build);
    read_built(false, 0);
    EXPECT_EQUAL(record.event_count, 4);
    EXPECT_EQUAL(record.events[3].sequence, 1);
    EXPECT_EQUAL(record.events[3].number, (1ull << 32) + 1);
    EXPECT_EQUAL(record.gap_count, 1);
    EXPECT_EQUAL(record.gaps[0].count, 2);
    EXPECT_EQUAL(record.gaps[0].after_number, (1ull << 32) + 1);
    record_free(&record);
}

static void test_time_order(void)
{
    start();
    build_run(1, 1, 3, 100, true); /* 100 110 120 */
    build_run(2, 1, 3, 105, true); /* 105 115 125 */
    build_run(1, 5, 2, 118, true); /* 118 128: older than a waiting event; number 4 is missing */
    build_point(&build, 130, 2, 1, 6, 2, 4);
    build_run(2, 5, 1, 131, false);
    build_end(&build);
    read_built(false, 0);
    EXPECT_EQUAL(record.events[1].time, 110);
    record_free(&record);
    read_built(true, 0);
    static const int64_t times[] = {100, 105, 110, 115, 120, 118, 125, 128, 131};
    EXPECT_EQUAL(record.event_count, 9);
    for (unsigned i = 0; i < 9; i++)
        EXPECT_EQUAL(record.events[i].time, times[i]);
    EXPECT_EQUAL(record.gap_count, 2);
    EXPECT_EQUAL(record.gap_before[0], 5); /* just before the event that revealed it */
    EXPECT_EQUAL(record.gap_before[1], 8);
    EXPECT_EQUAL(wt_reader_totals(record.reader)->lost, 2);
    record_free(&record);
}

static void test_order_limit(void)
{
    start();
    for (uint32_t i = 0; i < 20; i++)
        build_run(i + 1, 1, 60, 100, false);
    build_end(&build);
    read_built(true, 100); /* less than one piece of memory */
    EXPECT_EQUAL(record.status, WT_ERROR_LIMIT);
    record_free(&record);
    read_built(true, 0);
    EXPECT_EQUAL(record.status, WT_END);
    EXPECT_EQUAL(wt_reader_totals(record.reader)->events, 1200);
    for (unsigned i = 1; i < RECORD_MAX; i++)
        EXPECT(record.events[i - 1].time <= record.events[i].time);
    record_free(&record);
}

/* --- More than one piece of memory, of both sizes, for two threads that overlap. -------------- */

#define LARGE ((uint32_t)(3u << 20) / 2)

static void build_large(uint64_t thread, uint32_t sequence, uint64_t time, uint32_t size)
{
    static uint8_t payload[LARGE];
    const struct blob blob = {.metadata_id = 1,
                              .sequence = sequence,
                              .capture_thread = thread,
                              .thread = thread,
                              .time_delta = time,
                              .payload = payload,
                              .payload_size = size};
    payload[0] = (uint8_t)time;
    build_block(&build, "EventBlock");
    build_block_header(&build, 1, 0, INT64_MAX);
    build_blob(&build, &blob);
    build_block_end(&build);
}

static void build_larges(void)
{
    start();
    for (uint32_t i = 1; i <= 8; i++) {
        build_large(1, i, 10 * i + (i > 4 ? 50 : 0), i == 3 || i == 5 ? LARGE : 300000);
        build_large(2, i, 10 * i + 5 + (i > 4 ? 50 : 0), i % 2 ? 300000 : 1);
        if (i == 4)
            build_point(&build, 90, 2, 1, 4, 2, 4);
    }
    build_end(&build);
}

/* Each event leaves with its own payload, which begins with its time. */
static void test_large_events(void)
{
    build_larges();
    read_built(true, 0);
    EXPECT_EQUAL(record.status, WT_END);
    EXPECT_EQUAL(record.event_count, 16);
    for (unsigned i = 0; i < 16; i++) {
        const char *payload = strchr(record.texts[i], ' ') + 1;
        EXPECT_EQUAL(strtol((char[3]){payload[0], payload[1], 0}, NULL, 16), record.events[i].time);
        EXPECT(i == 0 || record.events[i - 1].time <= record.events[i].time);
    }
    record_free(&record);
}

static void stop(void *context, const struct wt_event *event)
{
    struct wt_reader **reader = context;
    (void)event;
    wt_reader_stop(*reader);
}

/* What waits is freed with the reader. */
static void test_stop_while_events_wait(void)
{
    static const struct wt_handlers handlers = {.event = stop};
    const struct wt_reader_options options = {.time_order = true};
    build_larges();
    struct wt_memory_source memory = {build.bytes, build.size, 0};
    const struct wt_source source = wt_source_memory(&memory);
    struct wt_reader *reader;
    EXPECT(wt_reader_create(&reader, &source, &options, &handlers, &reader) == WT_OK);
    EXPECT_EQUAL(wt_reader_run(reader), WT_STOPPED);
    wt_reader_destroy(reader);
}

int main(void)
{
    test_introduced_losses();
    test_first_sight_and_back();
    test_wrap();
    test_time_order();
    test_order_limit();
    test_large_events();
    test_stop_while_events_wait();
    return 0;
}
