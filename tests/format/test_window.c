/* A window delivers the events that the whole stream has in that time, and reads little else. */
#include "build6.h"
#include "fields.h"
#include "record.h"
#include "test.h"

#define ROUNDS       200u
#define ROUND_TICKS  1000
#define STEP_TICKS   9
#define POINT_ROUNDS 8u
#define THREADS      4u
#define RUN          100u /* events of a block */
#define DRAIN        77u
#define PAYLOAD_SIZE 90u

static struct build build;
static bool is_6;

/* --- The stream. ----------------------------------------------------------------------------- */

static uint32_t numbers[DRAIN + 1]; /* the last one of each thread */

static void block_begin(const char *type4, unsigned kind6)
{
    if (is_6)
        build6_block(&build, kind6);
    else
        build_block(&build, type4);
}

static void block_end(void)
{
    if (is_6)
        build6_block_end(&build);
    else
        build_block_end(&build);
}

/* Takes the next event of a block: *previous is the number in the block's state. */
static void add_event(uint32_t metadata_id, uint64_t thread, uint32_t *previous, uint64_t delta,
                      uint32_t stack, const void *payload, uint32_t size)
{
    uint32_t number = ++numbers[thread];
    const struct blob blob = {metadata_id, *previous, number, thread,  thread,
                              stack,       delta,     false,  payload, size};
    const struct row6 row = {.metadata_id = metadata_id,
                             .previous_sequence = *previous,
                             .sequence = number,
                             .capture_thread = thread,
                             .thread = thread,
                             .stack = stack,
                             .labels = stack, /* each stack has a label list beside it */
                             .time_delta = delta,
                             .payload = payload,
                             .payload_size = size};
    if (is_6)
        build6_row(&build, &row);
    else
        build_blob(&build, &blob);
    *previous = number;
}

static int64_t start_of(uint32_t round, uint64_t thread)
{
    return (int64_t)round * ROUND_TICKS + (int64_t)(THREADS - thread) * 20;
}

/* One block of a thread. Those of a round overlap in time, and what comes later ends earlier. */
static void add_run(uint32_t round, uint64_t thread)
{
    uint8_t payload[PAYLOAD_SIZE] = {0};
    int64_t start = start_of(round, thread);
    uint32_t previous = 0;
    block_begin("EventBlock", BUILD6_EVENT);
    build_block_header(&build, 1, start, start + (int64_t)(RUN - 1) * STEP_TICKS);
    for (uint32_t i = 0; i < RUN; i++) {
        payload[0] = (uint8_t)i;
        payload[1] = (uint8_t)round;
        if ((i + round) % 37 == 0)
            numbers[thread] += 1 + i % 3; /* lost */
        uint32_t stack = thread == 1 && i % 5 == 0 ? 1 + round / 2 % 4 : 0;
        add_event(1, thread, &previous, i ? STEP_TICKS : (uint64_t)start, stack, payload,
                  PAYLOAD_SIZE);
    }
    block_end();
}

static void add_stack(uint32_t round)
{
    uint32_t id = 1 + round / 2 % 4;
    block_begin("StackBlock", BUILD6_STACK);
    build_u32(&build, id);
    build_u32(&build, 1);
    build_u32(&build, 8);
    build_u64(&build, round);
    block_end();
    if (!is_6)
        return;
    build6_block(&build, BUILD6_LABEL);
    build_u32(&build, id);
    build_u32(&build, 1);
    build_bytes(&build, "\x86\1r", 3);
    build_var(&build, 2 * (uint64_t)round);
    build6_block_end(&build);
}

/* A block of the drain's thread: another event in front, then a name for a thread. */
static void add_name(uint32_t round)
{
    struct build *payload = calloc(1, sizeof(*payload));
    char name[20];
    int64_t time = (int64_t)round * ROUND_TICKS;
    uint32_t previous = 0;
    EXPECT(payload != NULL);
    snprintf(name, sizeof(name), "round %" PRIu32, round);
    build_u64(payload, 1 + round % THREADS);
    build_utf16(payload, name);
    block_begin("EventBlock", BUILD6_EVENT);
    build_block_header(&build, 1, time, time);
    if (round > 0) /* the drain's thread is known by then */
        add_event(1, DRAIN, &previous, (uint64_t)time, 0, "", 0);
    add_event(2, DRAIN, &previous, round > 0 ? 0 : (uint64_t)time, 0, payload->bytes,
              (uint32_t)payload->size);
    block_end();
    free(payload);
}

static void add_point(uint32_t round)
{
    static const uint64_t threads[] = {1, 2, 3, 4, DRAIN};
    if (round > 0 && round % 16 == 0)
        numbers[4] += 2; /* lost, as only the point shows */
    block_begin("SPBlock", BUILD6_POINT);
    build_u64(&build, (uint64_t)round * ROUND_TICKS);
    if (is_6)
        build_u32(&build, 0);
    build_u32(&build, 5);
    for (size_t i = 0; i < 5; i++) {
        if (is_6) {
            build_var(&build, threads[i]);
            build_var(&build, numbers[threads[i]]);
        } else {
            build_u64(&build, threads[i]);
            build_u32(&build, numbers[threads[i]]);
        }
    }
    block_end();
}

static void define_name_event(void)
{
    struct build *fields = calloc(1, sizeof(*fields));
    EXPECT(fields != NULL);
    if (is_6) {
        build_bytes(fields,
                    "\2\0\x0F\0\x0D"
                    "CaptureThread\x0C\6\0\4Name\x12",
                    27);
        build6_metadata(&build, 2, "ThreadName", fields->bytes, fields->size, "", 0);
        /* The builder's provider is Demo; Weir has as many letters. */
        memcpy(build.bytes + build.block_body_at + 2 + 2 + 1 + 1, "Weir", 4);
    } else {
        build_u32(fields, 2);
        build_u32(fields, 12);
        build_utf16(fields, "CaptureThread");
        build_u32(fields, 18);
        build_utf16(fields, "Name");
        build_metadata(&build, 2, "ThreadName", fields->bytes, fields->size);
        memcpy(build.bytes + build.block_body_at + 20 + 3 + 4, "W\0e\0i\0r", 7);
    }
    free(fields);
}

static void build_all(void)
{
    memset(numbers, 0, sizeof(numbers));
    if (is_6)
        build6_start(&build);
    else
        build_start(&build);
    for (uint64_t thread = 1; thread <= DRAIN && is_6; thread += thread == 4 ? DRAIN - 4 : 1)
        build6_thread(&build, thread, 1000 + thread, NULL);
    if (is_6)
        build6_plain_metadata(&build, 1, "Tick");
    else
        build_plain_metadata(&build, 1, "Tick");
    define_name_event();
    for (uint32_t round = 0; round < ROUNDS; round++) {
        if (round % POINT_ROUNDS == 0)
            add_point(round);
        if (round % 35 == 0)
            add_name(round);
        if (round % 2 == 0)
            add_stack(round);
        for (uint64_t thread = 1; thread <= THREADS; thread++)
            add_run(round, thread);
        if (round % 40 == 39)
            add_name(round); /* directly before a point */
    }
    if (is_6)
        build6_end(&build);
    else
        build_end(&build);
}

/* --- What is read of it. --------------------------------------------------------------------- */

struct seen {
    int64_t time;
    uint64_t thread, number, thread_id;
    uint64_t stack; /* the round that it was defined in; ~0: none */
    int64_t label;
    uint64_t lost; /* that this event reveals */
    uint8_t payload[2];
    uint32_t payload_size;
    char name[20]; /* of its thread */
};

struct reading {
    struct seen *seen;
    size_t count, capacity;
    uint64_t lost, points;
    uint64_t lost_at_points;
    struct wt_totals totals;
    enum wt_status status;
    unsigned violations;
};

static void on_event(void *context, const struct wt_event *event)
{
    struct reading *reading = context;
    if (reading->count == reading->capacity) {
        reading->capacity = reading->capacity ? 2 * reading->capacity : 1024;
        reading->seen = realloc(reading->seen, reading->capacity * sizeof(*reading->seen));
        EXPECT(reading->seen != NULL);
    }
    struct seen *seen = &reading->seen[reading->count++];
    struct wt_label label;
    uint32_t at = 0;
    memset(seen, 0, sizeof(*seen));
    seen->time = event->time;
    seen->thread = event->capture_thread;
    seen->thread_id = event->thread_id;
    seen->number = event->number;
    seen->stack = event->stack ? event->stack[0] : ~UINT64_C(0);
    seen->label = wt_event_label(event, &at, &label) ? label.i : -1;
    seen->lost = reading->lost;
    reading->lost = 0;
    seen->payload_size = event->payload_size;
    memcpy(seen->payload, event->payload, event->payload_size < 2 ? event->payload_size : 2);
    if (event->thread->name)
        snprintf(seen->name, sizeof(seen->name), "%s", event->thread->name);
}

static void on_gap(void *context, const struct wt_gap *gap)
{
    struct reading *reading = context;
    EXPECT(!gap->back);
    if (gap->at_point)
        reading->lost_at_points += gap->count;
    else
        reading->lost = gap->count;
}

static void on_point(void *context, const struct wt_point *point)
{
    struct reading *reading = context;
    (void)point;
    reading->points++;
}

static void on_violation(void *context, const struct wt_violation *violation)
{
    struct reading *reading = context;
    fprintf(stderr, "%s: %s\n", wt_rule_name(violation->rule), violation->text);
    reading->violations++;
}

static struct reading read_part(int64_t from, int64_t to, size_t step, bool time_order)
{
    static const struct wt_handlers handlers = {
        .event = on_event, .gap = on_gap, .point = on_point, .violation = on_violation};
    struct reading reading = {.count = 0};
    struct wt_memory_source memory = {.bytes = build.bytes, .size = build.size, .step = step};
    struct wt_source source = wt_source_memory(&memory);
    struct wt_reader_options options = {.has_window = from > INT64_MIN || to < INT64_MAX,
                                        .from = from,
                                        .to = to,
                                        .time_order = time_order};
    struct wt_reader *reader;
    EXPECT(wt_reader_create(&reader, &source, &options, &handlers, &reading) == WT_OK);
    reading.status = wt_reader_run(reader);
    reading.totals = *wt_reader_totals(reader);
    wt_reader_destroy(reader);
    return reading;
}

/* The events of the part are those of the whole. In front of a thread's first event, a gap may be
 * unknown, but only where blocks were passed over. */
static void expect_part(const struct reading *whole, const struct reading *part, int64_t from,
                        int64_t to, bool all_gaps)
{
    bool met[DRAIN + 1] = {false};
    size_t at = 0;
    EXPECT_EQUAL(part->status, WT_END);
    EXPECT_EQUAL(part->violations, 0);
    for (size_t i = 0; i < whole->count; i++) {
        struct seen wanted = whole->seen[i];
        if (wanted.time < from || wanted.time >= to)
            continue;
        EXPECT(at < part->count);
        struct seen got = part->seen[at++];
        if (!met[got.thread] && !all_gaps && got.lost == 0)
            wanted.lost = 0;
        met[got.thread] = true;
        EXPECT_EQUAL(got.time, wanted.time);
        EXPECT_EQUAL(got.thread, wanted.thread);
        EXPECT_EQUAL(got.number, wanted.number);
        EXPECT_EQUAL(got.stack, wanted.stack);
        EXPECT_EQUAL(got.label, wanted.label);
        EXPECT_TEXT(got.name, wanted.name);
        EXPECT_EQUAL(got.lost, wanted.lost);
        EXPECT_EQUAL(got.thread_id, wanted.thread_id);
        EXPECT_EQUAL(got.payload_size, wanted.payload_size);
        EXPECT(memcmp(got.payload, wanted.payload, 2) == 0);
    }
    EXPECT_EQUAL(at, part->count);
    EXPECT_EQUAL(part->totals.events, part->count);
}

static void test_windows(void)
{
    struct reading whole = read_part(INT64_MIN, INT64_MAX, 4096, false);
    EXPECT_EQUAL(whole.status, WT_END);
    EXPECT_EQUAL(whole.violations, 0);
    EXPECT(whole.count > (size_t)ROUNDS * THREADS * RUN);
    EXPECT_EQUAL(whole.points, ROUNDS / POINT_ROUNDS);
    EXPECT_EQUAL(whole.lost_at_points, 2 * (ROUNDS / 16));
    uint64_t random = 1;
    for (unsigned i = 0; i < 60; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        int64_t from = (int64_t)(random >> 40) % ((int64_t)ROUNDS * ROUND_TICKS);
        if (i % 3 == 0) /* the last event of a block, alone */
            from = start_of(i, 1 + i % THREADS) + (RUN - 1) * STEP_TICKS;
        int64_t to = from + (i % 3 == 0 ? 1 : i % 3 == 1 ? ROUND_TICKS : 20 * ROUND_TICKS);
        struct reading part = read_part(from, to, 0, false);
        expect_part(&whole, &part, from, to, false);
        struct reading piped = read_part(from, to, 4096, false);
        expect_part(&whole, &piped, from, to, true);
        EXPECT_EQUAL(part.points, piped.points);
        EXPECT(part.points > 0 || piped.lost_at_points == 0);
        EXPECT(part.lost_at_points <= piped.lost_at_points);
        free(part.seen);
        free(piped.seen);
    }
    struct reading all = read_part(0, INT64_MAX, 0, false);
    expect_part(&whole, &all, 0, INT64_MAX, true);
    free(all.seen);
    free(whole.seen);
}

/* Thread 1 has events before and after blocks of other threads that are passed over. Nothing of it is
 * in those, so what it loses there is known. */
static void test_gap_across_passed_blocks(void)
{
    int64_t from = start_of(36, 2) + (RUN - 1) * STEP_TICKS + 1, lost_at = start_of(37, 1);
    struct reading part = read_part(from, lost_at + 1, 0, false);
    EXPECT(part.count > 1);
    EXPECT_EQUAL(part.seen[0].thread, 1);
    EXPECT_EQUAL(part.seen[0].lost, 0);
    bool is_met = false;
    for (size_t i = 1; i < part.count; i++) {
        if (part.seen[i].time != lost_at || part.seen[i].thread != 1)
            continue;
        is_met = true;
        EXPECT_EQUAL(part.seen[i].lost, 1);
    }
    EXPECT(is_met);
    free(part.seen);
}

/* A window of one percent costs at most three percent of the bytes. */
static void test_cost(void)
{
    for (int64_t round = 0; round < ROUNDS; round += 20) {
        int64_t from = round * ROUND_TICKS + 500;
        struct reading part = read_part(from, from + ROUNDS * ROUND_TICKS / 100, 0, false);
        EXPECT(part.count > 2 * RUN);
        EXPECT(part.totals.bytes_read * 100 <= 3 * build.size);
        struct reading piped = read_part(from, from + ROUNDS * ROUND_TICKS / 100, 4096, false);
        EXPECT(piped.totals.bytes_read >= piped.totals.bytes); /* all, but not what follows */
        free(part.seen);
        free(piped.seen);
    }
}

/* In order of time, the window's events come as those of the whole do. */
static void test_time_order(void)
{
    int64_t from = 41234, to = 45678;
    struct reading part = read_part(from, to, 0, true);
    struct reading plain = read_part(from, to, 0, false);
    EXPECT_EQUAL(part.count, plain.count);
    for (size_t i = 1; i < part.count; i++)
        EXPECT(part.seen[i - 1].time <= part.seen[i].time);
    free(part.seen);
    free(plain.seen);
}

/* Cut where nothing has to be read, and in the middle of the window. */
static void test_cut(void)
{
    size_t whole = build.size;
    build.size = whole / 2;
    struct reading part = read_part(1000, 2000, 0, false);
    EXPECT_EQUAL(part.status, WT_END); /* a point ends the window before the cut */
    free(part.seen);
    part = read_part(1000, INT64_MAX, 0, false);
    EXPECT_EQUAL(part.status, WT_TRUNCATED);
    EXPECT(part.count > 0);
    free(part.seen);
    part = read_part((int64_t)ROUNDS * ROUND_TICKS * 2, INT64_MAX, 0, false);
    EXPECT_EQUAL(part.status, WT_TRUNCATED);
    EXPECT_EQUAL(part.count, 0);
    build.size = whole;
}

static void set_from_handler(void *context, const struct wt_trace_info *info)
{
    struct wt_reader **reader = context;
    int64_t tick = wt_ns_to_ticks(info, 5);
    EXPECT_EQUAL(tick, info->sync_ticks + 5);
    EXPECT_EQUAL(wt_reader_set_window(*reader, tick, tick - 1), WT_ERROR_ARGUMENT);
    EXPECT_EQUAL(wt_reader_set_window(*reader, tick, tick), WT_OK);
}

static void test_calls(void)
{
    static const struct wt_handlers handlers = {.trace = set_from_handler};
    struct wt_reader *reader;
    struct wt_memory_source memory = {.bytes = build.bytes, .size = build.size};
    struct wt_source source = wt_source_memory(&memory);
    EXPECT(wt_reader_create(&reader, &source, NULL, &handlers, &reader) == WT_OK);
    EXPECT_EQUAL(wt_reader_run(reader), WT_END);
    EXPECT_EQUAL(wt_reader_totals(reader)->events, 0);
    EXPECT_EQUAL(wt_reader_set_window(reader, 1, 2), WT_ERROR_ARGUMENT); /* too late */
    wt_reader_destroy(reader);
}

int main(void)
{
    for (int version = 0; version < 2; version++) {
        is_6 = version == 1;
        build_all();
        test_windows();
        test_gap_across_passed_blocks();
        test_cost();
        test_time_order();
        test_cut();
        test_calls();
    }
    return 0;
}
