#include "kernel_reader.h"

#include <reader.h>

struct tally {
    uint64_t events;
    unsigned first_bytes; /* makes the loop read the payloads */
};

static void take(void *context, const struct wt_event *event)
{
    struct tally *all = context;
    all->events++;
    if (event->payload_size > 0)
        all->first_bytes ^= event->payload[0];
}

uint64_t bench_read(const void *bytes, size_t count, bool by_time)
{
    struct wt_memory_source memory = {.bytes = bytes, .size = count};
    struct wt_source source = wt_source_memory(&memory);
    struct wt_reader_options options = {.time_order = by_time};
    struct wt_handlers handlers = {.event = take};
    struct wt_reader *reader = NULL;
    struct tally all = {0};
    if (wt_reader_create(&reader, &source, &options, &handlers, &all) != WT_OK)
        return 0;
    bool is_whole = wt_reader_run(reader) == WT_END && wt_reader_totals(reader)->lost == 0;
    wt_reader_destroy(reader);
    __asm__ volatile("" : : "r"(all.first_bytes));
    return is_whole ? all.events : 0;
}
