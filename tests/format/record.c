#include "record.h"
#include "test.h"

static void on_block(void *context, const struct wt_block *block)
{
    struct record *record = context;
    (void)block;
    record->block_count++;
}

static void on_metadata(void *context, const struct wt_metadata *metadata)
{
    struct record *record = context;
    record->metadata_count++;
    record->metadata = metadata;
}

static void on_event(void *context, const struct wt_event *event)
{
    struct record *record = context;
    if (record->event_count == RECORD_MAX)
        return;
    char *text = record->texts[record->event_count];
    int at =
        snprintf(text, 64, "%s/%s ", event->metadata->provider_name, event->metadata->event_name);
    for (uint32_t i = 0; i < event->payload_size && at < 60; i++)
        at += snprintf(text + at, (size_t)(64 - at), "%02x", event->payload[i]);
    record->events[record->event_count] = *event;
    record->events[record->event_count++].payload = NULL;
}

static void on_gap(void *context, const struct wt_gap *gap)
{
    struct record *record = context;
    if (record->gap_count == RECORD_MAX)
        return;
    record->gap_before[record->gap_count] = record->event_count;
    record->gaps[record->gap_count++] = *gap;
}

static void on_point(void *context, const struct wt_point *point)
{
    struct record *record = context;
    for (uint32_t i = 0; i < point->thread_count; i++)
        wt_point_entry(point, i);
    record->point_count++;
}

static void on_violation(void *context, const struct wt_violation *violation)
{
    struct record *record = context;
    EXPECT(violation->text[0] != '\0');
    if (record->rule_count < RECORD_MAX)
        record->rules[record->rule_count++] = violation->rule;
}

void record_read(struct record *record, const uint8_t *bytes, size_t size, size_t step,
                 const struct wt_reader_options *options)
{
    static const struct wt_handlers handlers = {.block = on_block,
                                                .metadata = on_metadata,
                                                .event = on_event,
                                                .gap = on_gap,
                                                .point = on_point,
                                                .violation = on_violation};
    /* A copy of exactly that size, so that a sanitizer detects a read past its end. */
    uint8_t *copy = malloc(size ? size : 1);
    EXPECT(copy != NULL);
    memcpy(copy, bytes, size);
    memset(record, 0, sizeof(*record));
    struct wt_memory_source memory = {copy, size, step};
    struct wt_source source = wt_source_memory(&memory);
    EXPECT(wt_reader_create(&record->reader, &source, options, &handlers, record) == WT_OK);
    record->status = wt_reader_run(record->reader);
    EXPECT(wt_reader_step(record->reader) == record->status);
    free(copy);
}

void record_free(struct record *record)
{
    wt_reader_destroy(record->reader);
    record->reader = NULL;
}
