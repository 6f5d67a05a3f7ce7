/* Allocations that fail: whichever it is, the reader says so, or goes on without a name, and frees
 * what it has. */
#include "build6.h"
#include "failing.h"
#include "record.h"
#include "test.h"

/* More of each than fits in what is allocated first. */
#define DEFINITIONS 70u
#define THREADS     40u
#define STACKS      600u
#define ENUM        100u
#define THREAD_NAME 101u

static struct build build;

/* --- Streams with some of everything. -------------------------------------------------------- */

static struct build part; /* of a definition, or a payload */

static void define4(void)
{
    part.size = 0;
    build_u32(&part, 2);
    build_field(&part, 10, "n");
    build_u32(&part, 1); /* an object */
    build_u32(&part, 1);
    build_field(&part, 18, "s");
    build_utf16(&part, "o");
    for (uint32_t id = 1; id <= DEFINITIONS; id++)
        build_metadata(&build, id, "Tick", part.bytes, part.size);
    build_names(&build, ENUM, THREAD_NAME);
}

static void add_enum(const char *field, const char *name, const char *values)
{
    struct blob blob = {.metadata_id = ENUM, .sequence = 1, .capture_thread = 90, .thread = 90};
    part.size = 0;
    build_utf16(&part, "Demo");
    build_u32(&part, 7);
    build_u32(&part, 0);
    build_utf16(&part, field);
    build_utf16(&part, name);
    build_utf16(&part, values);
    blob.payload = part.bytes;
    blob.payload_size = (uint32_t)part.size;
    build_block(&build, "EventBlock");
    build_block_header(&build, 1, 0, 100);
    build_blob(&build, &blob);
    build_block_end(&build);
}

static void add_thread_name(void)
{
    struct blob blob = {
        .metadata_id = THREAD_NAME, .sequence = 1, .capture_thread = 91, .thread = 91};
    part.size = 0;
    build_u64(&part, 90);
    build_u64(&part, 90);
    build_utf16(&part, "main");
    blob.payload = part.bytes;
    blob.payload_size = (uint32_t)part.size;
    build_block(&build, "EventBlock");
    build_block_header(&build, 1, 0, 100);
    build_blob(&build, &blob);
    build_block_end(&build);
}

static void add_stacks4(void)
{
    build_block(&build, "StackBlock");
    build_u32(&build, 1);
    build_u32(&build, STACKS);
    for (unsigned i = 0; i < STACKS; i++) {
        build_u32(&build, 8);
        build_u64(&build, i);
    }
    build_block_end(&build);
}

static void make4(void)
{
    build_start(&build);
    define4();
    add_enum("n", "Kinds", "0=none;1=one");
    add_enum("Data", "raw", "");
    add_thread_name();
    add_stacks4();
    for (uint64_t thread = THREADS; thread > 0; thread--) {
        const struct blob blob = {.metadata_id = 1 + (uint32_t)thread,
                                  .sequence = 3, /* two are lost */
                                  .capture_thread = thread,
                                  .thread = thread,
                                  .stack = 1,
                                  .time_delta = 10 + thread,
                                  .payload = "\1\0\0\0x\0\0\0",
                                  .payload_size = 8};
        build_block(&build, "EventBlock");
        build_block_header(&build, 1, 0, 100);
        build_blob(&build, &blob);
        build_block_end(&build);
    }
    build_point(&build, 200, 2, 1, 4, 95, 7);
    build_end(&build);
}

static void add_labels6(void)
{
    build6_block(&build, BUILD6_LABEL);
    build_u32(&build, 1);
    build_u32(&build, STACKS);
    for (unsigned i = 0; i < STACKS; i++) {
        build_u8(&build, 0x84);
        build_u64(&build, i);
    }
    build6_block_end(&build);
    build6_block(&build, BUILD6_STACK);
    build_u32(&build, 1);
    build_u32(&build, STACKS);
    for (unsigned i = 0; i < STACKS; i++) {
        build_u32(&build, 8);
        build_u64(&build, i);
    }
    build6_block_end(&build);
}

static void add_events6(void)
{
    uint32_t previous = 0;
    build6_events(&build, 1, 0, 100000);
    for (uint64_t thread = THREADS; thread > 0; thread--) {
        const struct row6 row = {.metadata_id = 1 + (uint32_t)thread,
                                 .previous_sequence = previous,
                                 .sequence = 3,
                                 .capture_thread = thread,
                                 .thread = thread,
                                 .stack = 1,
                                 .labels = 1,
                                 .time_delta = 10,
                                 .payload = "\1\0\0\0\1\1",
                                 .payload_size = 6};
        build6_row(&build, &row);
        previous = 3;
    }
    build6_block_end(&build);
}

static void make6(void)
{
    /* n: Int32; a: an array of one object {x: Byte}. */
    static const char fields[] = "\2\0\3\0\1n\x9\x9\0\1a\x16\1\1\1\0\3\0\1x\6";
    build6_start(&build);
    for (uint64_t thread = 1; thread <= THREADS; thread++)
        build6_thread(&build, thread, 5000 + thread, "name");
    for (uint32_t id = 1; id <= DEFINITIONS; id++)
        build6_metadata(&build, id, "Tick", fields, sizeof(fields) - 1, "\x08\x04", 2);
    add_labels6();
    add_events6();
    build6_block(&build, BUILD6_REMOVE_THREAD);
    build_var(&build, 2);
    build_var(&build, 9);
    build6_block_end(&build);
    build6_point(&build, 100001, 0, 1, 5);
    build6_end(&build);
}

/* --- Readings. ------------------------------------------------------------------------------- */

struct result {
    enum wt_status status;
    uint64_t events, gaps, definitions;
};

static void on_event(void *context, const struct wt_event *event)
{
    struct result *result = context;
    (void)event;
    result->events++;
}

static void on_gap(void *context, const struct wt_gap *gap)
{
    struct result *result = context;
    result->gaps += gap->count;
}

static void on_metadata(void *context, const struct wt_metadata *metadata)
{
    struct result *result = context;
    (void)metadata;
    result->definitions++;
}

static struct result read_once(const struct wt_reader_options *options)
{
    static const struct wt_handlers handlers = {
        .event = on_event, .gap = on_gap, .metadata = on_metadata};
    struct result result = {.status = WT_ERROR_MEMORY};
    struct wt_memory_source memory = {build.bytes, build.size, 0};
    const struct wt_source source = wt_source_memory(&memory);
    struct wt_reader *reader;
    if (wt_reader_create(&reader, &source, options, &handlers, &result) != WT_OK)
        return result;
    result.status = wt_reader_run(reader);
    if (result.status == WT_ERROR_MEMORY)
        EXPECT_TEXT(wt_reader_error(reader)->text, "out of memory");
    wt_reader_destroy(reader);
    return result;
}

/* Until there is none left to fail. */
static void test_each(const struct wt_reader_options *options, unsigned least)
{
    const struct result good = read_once(options);
    EXPECT_EQUAL(good.status, WT_END);
    EXPECT(good.events > 0);
    uint64_t failed = 0, counted = 1;
    for (uint64_t i = 0; i < counted; i++) {
        const int64_t before = failing_held().blocks;
        failing_begin(i, FAILING_CALLER);
        const struct result found = read_once(options);
        counted = failing_end() + 1;
        EXPECT_EQUAL(failing_held().blocks, before);
        EXPECT(found.status == WT_END || found.status == WT_ERROR_MEMORY);
        failed += found.status == WT_ERROR_MEMORY;
        if (found.status == WT_END)
            EXPECT(found.events == good.events && found.gaps == good.gaps &&
                   found.definitions == good.definitions);
    }
    EXPECT(failed >= least);
}

int main(void)
{
    const struct wt_reader_options plain = {.time_order = false}, ordered = {.time_order = true},
                                   part_of = {.has_window = true, .from = 12, .to = 40};
    const struct wt_reader_options *const all[] = {&plain, &ordered, &part_of};
    for (int i = 0; i < 3; i++) {
        make4();
        test_each(all[i], 20);
        make6();
        test_each(all[i], 20);
    }
    return 0;
}
