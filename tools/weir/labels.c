#include "labels.h"
#include "output.h"
#include "tool.h"

#include <inttypes.h>
#include <stdlib.h>

static char *clean(const char *bytes, uint32_t size)
{
    size_t capacity = 0;
    char *text = wt_grow(NULL, &capacity, (size_t)size * 3 + 1, 1);
    wt_utf8_clean((const uint8_t *)bytes, size, text, capacity);
    return text;
}

static bool has_key(const struct wt_label *label)
{
    return label->kind == WT_LABEL_STRING || label->kind == WT_LABEL_INTEGER;
}

static void hex_text(const uint8_t bytes[16], char out[33])
{
    for (int i = 0; i < 16; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

static void json_label(struct wt_json *json, const struct wt_label *label)
{
    char *key = clean(label->key, label->key_size);
    wt_json_object(json, NULL);
    wt_json_string(json, "key", key);
    if (label->kind == WT_LABEL_STRING) {
        char *text = clean(label->text, label->text_size);
        wt_json_string(json, "value", text);
        free(text);
    } else {
        wt_json_i64(json, "value", label->i);
    }
    wt_json_end(json);
    free(key);
}

void wt_labels_json(const struct wt_event *event, struct wt_json *json)
{
    struct wt_label label, trace = {.bytes = NULL}, span = {.bytes = NULL};
    unsigned keys = 0;
    char text[33];
    for (uint32_t at = 0; wt_event_label(event, &at, &label);) {
        keys += has_key(&label);
        if (label.kind == WT_LABEL_TRACE_ID)
            trace = label;
        else if (label.kind == WT_LABEL_SPAN_ID)
            span = label;
    }
    if (trace.kind) {
        hex_text(trace.bytes, text);
        wt_json_string(json, "traceId", text);
    }
    if (span.kind)
        wt_json_u64(json, "spanId", span.u);
    if (keys == 0)
        return;
    wt_json_array(json, "labels");
    for (uint32_t at = 0; wt_event_label(event, &at, &label);)
        if (has_key(&label))
            json_label(json, &label);
    wt_json_end(json);
}

static void text_label(const struct wt_label *label, FILE *file)
{
    char *key = clean(label->key, label->key_size);
    putc(' ', file);
    wt_print_escaped(file, key, 0);
    if (label->kind == WT_LABEL_STRING) {
        char *text = clean(label->text, label->text_size);
        putc('=', file);
        wt_print_escaped(file, text, 1);
        free(text);
    } else {
        fprintf(file, "=%" PRId64, label->i);
    }
    free(key);
}

void wt_labels_text(const struct wt_event *event, FILE *file)
{
    struct wt_label label;
    char text[33];
    for (uint32_t at = 0; wt_event_label(event, &at, &label);) {
        if (label.kind == WT_LABEL_TRACE_ID) {
            hex_text(label.bytes, text);
            fprintf(file, " trace=%s", text);
        } else if (label.kind == WT_LABEL_SPAN_ID) {
            fprintf(file, " span=%" PRIu64, label.u);
        } else if (has_key(&label)) {
            text_label(&label, file);
        }
    }
}
