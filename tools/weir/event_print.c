#include "event_print.h"
#include "cursor.h"
#include "labels.h"
#include "output.h"
#include "tool.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *string_of(struct wt_event_printer *printer, const struct wt_value *value)
{
    size_t needed = (size_t)value->size * 3 + 4;
    printer->text = wt_grow(printer->text, &printer->text_capacity, needed, 1);
    if (value->kind == WT_VALUE_UTF8)
        wt_utf8_clean(value->bytes, value->size, printer->text, printer->text_capacity);
    else
        wt_utf16_to_utf8(value->bytes, value->size, printer->text, printer->text_capacity);
    return printer->text;
}

static const char *char_of(struct wt_event_printer *printer, uint64_t unit)
{
    const uint8_t bytes[2] = {(uint8_t)unit, (uint8_t)(unit >> 8)};
    const struct wt_value value = {.kind = WT_VALUE_STRING, .bytes = bytes, .size = 2};
    return string_of(printer, &value);
}

/* U+0000, the one character that a C string cannot hold. */
static const char nul_literal[] = "\"\\u0000\"";

static void json_value(void *context, const char *name, const struct wt_value *value)
{
    struct wt_event_printer *printer = context;
    struct wt_json *json = printer->json;
    char text[40];
    if (value->name) {
        wt_json_string(json, name, value->name);
        return;
    }
    switch (value->kind) {
    case WT_VALUE_SIGNED:
        wt_json_i64(json, name, value->as.i);
        break;
    case WT_VALUE_UNSIGNED:
        wt_json_u64(json, name, value->as.u);
        break;
    case WT_VALUE_BOOLEAN:
        wt_json_bool(json, name, value->as.u != 0);
        break;
    case WT_VALUE_CHAR:
        if (value->as.u)
            wt_json_string(json, name, char_of(printer, value->as.u));
        else
            wt_json_verbatim(json, name, nul_literal);
        break;
    case WT_VALUE_SINGLE:
        wt_json_single(json, name, value->as.f);
        break;
    case WT_VALUE_DOUBLE:
        wt_json_double(json, name, value->as.d);
        break;
    case WT_VALUE_DATETIME:
        if (wt_datetime_text(value->as.u, text))
            wt_json_string(json, name, text);
        else
            wt_json_u64(json, name, value->as.u);
        break;
    case WT_VALUE_GUID:
        wt_guid_text(value->bytes, text);
        wt_json_string(json, name, text);
        break;
    case WT_VALUE_STRING:
    case WT_VALUE_UTF8:
        wt_json_string(json, name, string_of(printer, value));
        break;
    case WT_VALUE_BYTES:
        wt_json_hex(json, name, value->bytes, value->size);
        break;
    }
}

static void json_begin(void *context, const char *name, bool array, uint32_t count)
{
    struct wt_event_printer *printer = context;
    (void)count;
    if (array)
        wt_json_array(printer->json, name);
    else
        wt_json_object(printer->json, name);
}

static void json_end(void *context, bool array)
{
    struct wt_event_printer *printer = context;
    (void)array;
    wt_json_end(printer->json);
}

/* Prints what precedes a value: a blank or a comma, and its name. */
static void text_start(struct wt_event_printer *printer, const char *name)
{
    if (printer->need_blank)
        fputs(printer->in_array[printer->depth] ? ", " : " ", printer->file);
    printer->need_blank = true;
    if (name && *name) {
        wt_print_escaped(printer->file, name, 0);
        putc('=', printer->file);
    }
}

static void text_value(void *context, const char *name, const struct wt_value *value)
{
    struct wt_event_printer *printer = context;
    char text[40];
    text_start(printer, name);
    if (value->name) {
        wt_print_escaped(printer->file, value->name, 0);
        return;
    }
    switch (value->kind) {
    case WT_VALUE_SIGNED:
        fprintf(printer->file, "%" PRId64, value->as.i);
        break;
    case WT_VALUE_UNSIGNED:
        fprintf(printer->file, "%" PRIu64, value->as.u);
        break;
    case WT_VALUE_BOOLEAN:
        fputs(value->as.u ? "true" : "false", printer->file);
        break;
    case WT_VALUE_CHAR:
        if (value->as.u)
            wt_print_escaped(printer->file, char_of(printer, value->as.u), 1);
        else
            fputs(nul_literal, printer->file);
        break;
    case WT_VALUE_SINGLE:
        wt_single_text(value->as.f, text);
        fputs(text, printer->file);
        break;
    case WT_VALUE_DOUBLE:
        wt_double_text(value->as.d, text);
        fputs(text, printer->file);
        break;
    case WT_VALUE_DATETIME:
        if (wt_datetime_text(value->as.u, text))
            fputs(text, printer->file);
        else
            fprintf(printer->file, "%" PRIu64, value->as.u);
        break;
    case WT_VALUE_GUID:
        wt_guid_text(value->bytes, text);
        fputs(text, printer->file);
        break;
    case WT_VALUE_STRING:
    case WT_VALUE_UTF8:
        wt_print_escaped(printer->file, string_of(printer, value), 1);
        break;
    case WT_VALUE_BYTES:
        fputs("0x", printer->file);
        wt_print_hex(printer->file, value->bytes, value->size);
        break;
    }
}

static void text_begin(void *context, const char *name, bool array, uint32_t count)
{
    struct wt_event_printer *printer = context;
    (void)count;
    text_start(printer, name);
    putc(array ? '[' : '{', printer->file);
    if (printer->depth + 1 < WT_JSON_DEPTH)
        printer->depth++;
    printer->in_array[printer->depth] = array;
    printer->need_blank = false;
}

static void text_end(void *context, bool array)
{
    struct wt_event_printer *printer = context;
    putc(array ? ']' : '}', printer->file);
    printer->depth--;
    printer->need_blank = true;
}

static bool is_set(const uint8_t guid[16])
{
    static const uint8_t zero[16];
    return memcmp(guid, zero, 16) != 0;
}

static uint64_t address_at(const struct wt_event *event, uint32_t at, uint32_t pointer)
{
    return pointer == 4 ? wt_load_u32(event->stack + at) : wt_load_u64(event->stack + at);
}

static uint32_t pointer_size(const struct wt_event_printer *printer)
{
    return wt_reader_trace(printer->reader)->pointer_size == 4 ? 4 : 8;
}

static bool activity_path(const struct wt_event_printer *printer, const uint8_t id[16], char *text)
{
    return wt_activity_text(id, (uint32_t)wt_reader_trace(printer->reader)->process_id, text);
}

/* As a path of numbers if it is one. */
static void print_activity(struct wt_event_printer *printer, const uint8_t id[16], const char *what)
{
    char text[WT_ACTIVITY_TEXT_BYTES];
    if (!is_set(id))
        return;
    if (!activity_path(printer, id, text))
        wt_guid_text(id, text);
    fprintf(printer->file, " %s=%s", what, text);
}

static void json_activity(struct wt_event_printer *printer, const uint8_t id[16],
                          const char *id_key, const char *path_key)
{
    char text[WT_ACTIVITY_TEXT_BYTES];
    if (!is_set(id))
        return;
    wt_guid_text(id, text);
    wt_json_string(printer->json, id_key, text);
    if (activity_path(printer, id, text))
        wt_json_string(printer->json, path_key, text);
}

static void json_stack(struct wt_event_printer *printer, const struct wt_event *event)
{
    uint32_t pointer = pointer_size(printer);
    wt_json_array(printer->json, "stack");
    for (uint32_t at = 0; event->stack_size - at >= pointer; at += pointer)
        wt_json_u64(printer->json, NULL, address_at(event, at, pointer));
    wt_json_end(printer->json);
}

static void json_header(struct wt_event_printer *printer, const struct wt_event *event)
{
    const struct wt_metadata *metadata = event->metadata;
    const struct wt_trace_info *info = wt_reader_trace(printer->reader);
    struct wt_json *json = printer->json;
    char text[40];
    wt_json_i64(json, "ticks", event->time);
    wt_json_i64(json, "ns", wt_time_relative_ns(info, event->time));
    wt_time_utc_text(info, event->time, text);
    wt_json_string(json, "utc", text);
    wt_json_string(json, "provider", metadata->provider_name);
    wt_json_string(json, "name", metadata->event_name);
    wt_json_i64(json, "id", metadata->event_id);
    wt_json_i64(json, "version", wt_event_version(event));
    wt_json_i64(json, "level", wt_event_level(event));
    wt_json_u64(json, "keywords", wt_event_keywords(event));
    if (metadata->has_opcode || wt_event_opcode(event))
        wt_json_u64(json, "opcode", wt_event_opcode(event));
    wt_json_u64(json, "metadataId", event->metadata_id);
    wt_json_u64(json, "captureThread", event->capture_thread);
    wt_json_u64(json, "thread", event->thread_id);
    if (event->thread->name)
        wt_json_string(json, "threadName", event->thread->name);
    wt_json_u64(json, "processor", event->processor);
    wt_json_u64(json, "number", event->number);
    wt_json_u64(json, "sequence", event->sequence);
    wt_json_bool(json, "sorted", event->sorted);
    wt_json_u64(json, "offset", event->offset);
    wt_json_u64(json, "stackId", event->stack_id);
    if (printer->stacks)
        json_stack(printer, event);
    json_activity(printer, event->activity_id, "activityId", "activityPath");
    json_activity(printer, event->related_activity_id, "relatedActivityId", "relatedActivityPath");
    wt_labels_json(event, json);
}

void wt_event_print_json(struct wt_event_printer *printer, const struct wt_event *event)
{
    static const struct wt_visitor visitor = {json_value, json_begin, json_end};
    struct wt_json *json = printer->json;
    wt_json_object(json, NULL);
    json_header(printer, event);
    wt_json_u64(json, "payloadBytes", event->payload_size);
    size_t used = 0;
    bool good = true;
    const bool is_known = wt_fields_are_known(event->metadata);
    if (is_known) {
        wt_json_object(json, "fields");
        good = wt_fields_walk(event->metadata, event->payload, event->payload_size, &visitor,
                              printer, &used);
        wt_json_end(json);
    }
    if (!good)
        wt_json_hex(json, "undecodable", event->payload, event->payload_size);
    else if (used < event->payload_size)
        wt_json_hex(json, is_known ? "rest" : "payload", event->payload + used,
                    event->payload_size - used);
    wt_json_end(json);
}

static void print_text_header(struct wt_event_printer *printer, const struct wt_event *event)
{
    const struct wt_metadata *metadata = event->metadata;
    char text[40];
    wt_seconds_text(wt_time_relative_ns(wt_reader_trace(printer->reader), event->time), text);
    fprintf(printer->file, "%16s %" PRIu64, text, event->capture_thread);
    bool has_id = event->thread_id != 0 || !event->thread->has_row;
    if (has_id && event->thread_id != event->capture_thread)
        fprintf(printer->file, "/%" PRIu64, event->thread_id);
    if (event->thread->name) {
        fputs(" [", printer->file);
        wt_print_escaped(printer->file, event->thread->name, 0);
        putc(']', printer->file);
    }
    fprintf(printer->file, " #%" PRIu64 " ", event->number);
    wt_print_escaped(printer->file, metadata->undefined ? "(undefined)" : metadata->provider_name,
                     0);
    putc('/', printer->file);
    wt_print_escaped(printer->file, metadata->event_name, 0);
    fprintf(printer->file, "(%" PRId32, metadata->event_id);
    if (metadata->version)
        fprintf(printer->file, " v%" PRId32, metadata->version);
    putc(')', printer->file);
}

static void print_text_tail(struct wt_event_printer *printer, const struct wt_event *event)
{
    print_activity(printer, event->activity_id, "activity");
    print_activity(printer, event->related_activity_id, "related");
    wt_labels_text(event, printer->file);
    if (!printer->stacks || !event->stack)
        return;
    uint32_t pointer = pointer_size(printer);
    fputs(" stack=", printer->file);
    for (uint32_t at = 0; event->stack_size - at >= pointer; at += pointer)
        fprintf(printer->file, "%s0x%" PRIx64, at ? "<" : "", address_at(event, at, pointer));
}

/* Behind a blank: the fields, or the payload, and what else the event has. */
static void print_text_body(struct wt_event_printer *printer, const struct wt_event *event)
{
    static const struct wt_visitor visitor = {text_value, text_begin, text_end};
    size_t used = 0;
    bool good = true;
    printer->need_blank = true;
    printer->depth = 0;
    const bool is_known = wt_fields_are_known(event->metadata);
    if (is_known)
        good = wt_fields_walk(event->metadata, event->payload, event->payload_size, &visitor,
                              printer, &used);
    if (!good)
        used = 0;
    if (used < event->payload_size) {
        fputs(!good ? " undecodable=0x" : is_known ? " rest=0x" : " payload=0x", printer->file);
        wt_print_hex(printer->file, event->payload + used, event->payload_size - used);
    }
    print_text_tail(printer, event);
}

void wt_event_print_text(struct wt_event_printer *printer, const struct wt_event *event)
{
    print_text_header(printer, event);
    print_text_body(printer, event);
    putc('\n', printer->file);
}

/* What print_text_body() prints, as a text. */
static const char *body_of(struct wt_event_printer *printer, const struct wt_event *event)
{
    FILE *file = printer->file;
    if (!printer->cell)
        printer->cell = open_memstream(&printer->cell_text, &printer->cell_size);
    if (!printer->cell) {
        wt_complain("out of memory");
        exit(WT_EXIT_FAILED);
    }
    rewind(printer->cell);
    printer->file = printer->cell;
    print_text_body(printer, event);
    printer->file = file;
    putc('\0', printer->cell);
    fflush(printer->cell);
    return printer->cell_text;
}

void wt_event_print_csv_head(struct wt_csv *csv)
{
    wt_csv_head(csv,
                "ns provider event id version capture_thread thread thread_name number fields");
}

void wt_event_print_csv(struct wt_event_printer *printer, struct wt_csv *csv,
                        const struct wt_event *event)
{
    const struct wt_metadata *metadata = event->metadata;
    const char *body = body_of(printer, event);
    wt_csv_i64(csv, wt_time_relative_ns(wt_reader_trace(printer->reader), event->time));
    wt_csv_text(csv, metadata->provider_name);
    wt_csv_text(csv, metadata->event_name);
    wt_csv_i64(csv, metadata->event_id);
    wt_csv_i64(csv, metadata->version);
    wt_csv_u64(csv, event->capture_thread);
    wt_csv_u64(csv, event->thread_id);
    wt_csv_text(csv, event->thread->name ? event->thread->name : "");
    wt_csv_u64(csv, event->number);
    wt_csv_text(csv, *body ? body + 1 : body);
    wt_csv_end(csv);
}

void wt_event_printer_fini(struct wt_event_printer *printer)
{
    free(printer->text);
    printer->text = NULL;
    if (printer->cell)
        fclose(printer->cell);
    free(printer->cell_text);
}
