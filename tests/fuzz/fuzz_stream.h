/* The whole reader on arbitrary bytes: file order, time order, small reads, a window of time, small
 * limits, and every payload walked by its fields. Whatever the bytes are, it must return, and read
 * nothing that is not there. For the targets that include it. */
#ifndef FUZZ_STREAM_H
#define FUZZ_STREAM_H

#include "fields.h"
#include "reader.h"

#include <stdlib.h>

static volatile uint64_t sink; /* what was read is used, so that no read is left out */

static void touch(const uint8_t *bytes, size_t size)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < size; i++)
        sum += bytes[i];
    sink = sink + sum;
}

static void on_value(void *context, const char *name, const struct wt_value *value)
{
    char text[64];
    (void)context;
    if (name)
        touch((const uint8_t *)name, 1);
    if (value->bytes)
        touch(value->bytes, value->size);
    if (value->kind == WT_VALUE_STRING)
        wt_utf16_to_utf8(value->bytes, value->size, text, sizeof(text));
    if (value->kind == WT_VALUE_UTF8)
        wt_utf8_clean(value->bytes, value->size, text, sizeof(text));
    if (value->kind == WT_VALUE_GUID)
        wt_guid_text(value->bytes, text);
    if (value->kind == WT_VALUE_DATETIME)
        wt_datetime_text(value->as.u, text);
}

static void on_begin(void *context, const char *name, bool array, uint32_t count)
{
    int *depth = context;
    (void)name;
    (void)array;
    (void)count;
    ++*depth;
}

static void on_end(void *context, bool array)
{
    int *depth = context;
    (void)array;
    --*depth;
}

struct fuzz {
    struct wt_reader *reader;
    uint64_t events, gaps;
    int64_t first_time, last_time; /* of the events */
};

static void touch_labels(const struct wt_event *event)
{
    struct wt_label label;
    if (event->labels)
        touch(event->labels, event->label_size);
    for (uint32_t at = 0; wt_event_label(event, &at, &label);) {
        touch((const uint8_t *)label.key, label.key_size);
        touch((const uint8_t *)label.text, label.text_size);
        touch(label.bytes, label.bytes ? 16 : 0);
    }
    sink = sink + wt_event_opcode(event) + wt_event_keywords(event) +
           (uint64_t)(int64_t)wt_event_level(event) + (uint64_t)(int64_t)wt_event_version(event);
}

static void touch_by_name(const struct wt_event *event)
{
    uint64_t u = 0;
    char text[20];
    if (event->metadata->field_count == 0)
        return;
    const struct wt_field *last = &event->metadata->fields[event->metadata->field_count - 1];
    if (wt_event_u64(event, last->name, &u) == WT_PRESENT)
        sink = sink + u;
    wt_event_text(event, last->name, text, sizeof(text), NULL);
}

static void on_event(void *context, const struct wt_event *event)
{
    static const struct wt_visitor visitor = {on_value, on_begin, on_end};
    struct fuzz *fuzz = context;
    int depth = 0;
    size_t used, checked;
    char text[40];
    fuzz->first_time = fuzz->events == 0 ? event->time : fuzz->first_time;
    fuzz->last_time = event->time;
    fuzz->events++;
    touch(event->payload, event->payload_size);
    if (event->stack)
        touch(event->stack, event->stack_size);
    bool good = wt_fields_walk(event->metadata, event->payload, event->payload_size, &visitor,
                               &depth, &used);
    bool same =
        wt_fields_walk(event->metadata, event->payload, event->payload_size, NULL, NULL, &checked);
    if (depth != 0 || good != same || used != checked || used > event->payload_size)
        abort();
    touch_labels(event);
    touch_by_name(event);
    wt_time_utc_text(wt_reader_trace(fuzz->reader), event->time, text);
}

static void on_gap(void *context, const struct wt_gap *gap)
{
    struct fuzz *fuzz = context;
    fuzz->gaps += gap->count;
}

static void on_point(void *context, const struct wt_point *point)
{
    (void)context;
    for (uint32_t i = 0; i < point->thread_count; i++)
        sink = sink + wt_point_entry(point, i).sequence;
}

static void on_metadata(void *context, const struct wt_metadata *metadata)
{
    struct fuzz *fuzz = context;
    sink = sink + metadata->id + (uint64_t)(wt_field_index(metadata, "Count") + 1);
    if (fuzz->events > 1000000)
        wt_reader_stop(fuzz->reader);
}

static void on_violation(void *context, const struct wt_violation *violation)
{
    (void)context;
    if (violation->rule <= WT_RULE_NONE || violation->rule >= WT_RULE_COUNT)
        abort();
}

static struct fuzz fuzz_read(const uint8_t *bytes, size_t size, size_t step,
                             struct wt_reader_options options)
{
    static const struct wt_handlers handlers = {.metadata = on_metadata,
                                                .event = on_event,
                                                .gap = on_gap,
                                                .point = on_point,
                                                .violation = on_violation};
    options.check_trailing = true;
    options.limits.block_size_max = 1 << 20;
    options.limits.threads_max = 1000;
    options.limits.metadata_bytes_max = 4 << 20;
    options.limits.stack_bytes_max = 4 << 20;
    options.limits.order_bytes_max = 64 << 20;
    struct fuzz fuzz = {.events = 0};
    struct wt_memory_source memory = {.bytes = bytes, .size = size, .step = step};
    struct wt_source source = wt_source_memory(&memory);
    if (wt_reader_create(&fuzz.reader, &source, &options, &handlers, &fuzz) != WT_OK)
        abort();
    enum wt_status status = wt_reader_run(fuzz.reader);
    if (status == WT_OK || wt_reader_error(fuzz.reader)->status != status)
        abort();
    if (status != WT_ERROR_LIMIT && status != WT_STOPPED &&
        wt_reader_totals(fuzz.reader)->events != fuzz.events)
        abort();
    wt_reader_destroy(fuzz.reader);
    return fuzz;
}

static void fuzz_stream(const uint8_t *bytes, size_t size)
{
    const struct wt_reader_options plain_options = {.time_order = false};
    const struct wt_reader_options ordered = {.time_order = true};
    struct fuzz plain = fuzz_read(bytes, size, 0, plain_options);
    struct fuzz slow = fuzz_read(bytes, size, 7, plain_options);
    fuzz_read(bytes, size, 0, ordered);
    if (plain.events != slow.events || plain.gaps != slow.gaps)
        abort(); /* what is read may not depend on how it arrives */
    int64_t from = plain.first_time / 2 + plain.last_time / 2;
    int64_t to = from < plain.last_time ? plain.last_time : from;
    const struct wt_reader_options window = {.has_window = true, .from = from, .to = to};
    if (to > INT64_MIN) {
        fuzz_read(bytes, size, 0, window);
        fuzz_read(bytes, size, 7, window);
    }
}

#endif
