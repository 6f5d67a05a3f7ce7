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

static void put_label(char text[96], const struct wt_label *label)
{
    size_t used = strlen(text);
    const char *comma = used ? "," : "";
    text += used;
    used = 96 - used;
    if (label->kind == WT_LABEL_STRING)
        snprintf(text, used, "%s%d %.*s=%.*s", comma, label->kind, (int)label->key_size, label->key,
                 (int)label->text_size, label->text);
    else if (label->kind == WT_LABEL_INTEGER)
        snprintf(text, used, "%s%d %.*s=%" PRId64, comma, label->kind, (int)label->key_size,
                 label->key, label->i);
    else if (label->bytes)
        snprintf(text, used, "%s%d", comma, label->kind);
    else
        snprintf(text, used, "%s%d=%" PRIu64, comma, label->kind, label->u);
}

static void record_labels(struct record *record, const struct wt_event *event)
{
    struct wt_label label;
    for (uint32_t at = 0; wt_event_label(event, &at, &label);)
        put_label(record->labels[record->event_count], &label);
    snprintf(record->overridden[record->event_count], 32, "%u %" PRIu64 " %" PRId32 " %" PRId32,
             wt_event_opcode(event), wt_event_keywords(event), wt_event_level(event),
             wt_event_version(event));
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
    record_labels(record, event);
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
