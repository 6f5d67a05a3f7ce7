/* weir dump: events as text or JSON, one per line. */
#include "cursor.h"
#include "json.h"
#include "labels.h"
#include "lost.h"
#include "output.h"
#include "span.h"
#include "tool.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* An event kept for --last until newer ones replace it. */
struct kept {
    struct wt_event event;
    uint8_t *bytes; /* payload, stack, labels */
    size_t capacity;
};

struct dump {
    struct wt_run run;
    const char *provider, *event; /* filters, or NULL */
    bool event_is_id, thread_set;
    int64_t event_id;
    uint64_t thread;
    struct wt_span span;
    uint64_t first, last;
    bool first_set, last_set;
    bool json, sorted, stacks;

    struct wt_tally tally;
    struct wt_json writer;
    uint64_t matched;
    struct kept *ring;
    size_t ring_capacity;
    char *text; /* for strings of payloads */
    size_t text_capacity;
    bool need_blank; /* text output: a value precedes */
    unsigned depth;
    bool in_array[WT_JSON_DEPTH];
};

static bool matches(const struct dump *dump, const struct wt_event *event)
{
    const struct wt_metadata *metadata = event->metadata;
    if (dump->provider && strcmp(metadata->provider_name, dump->provider) != 0)
        return false;
    if (dump->thread_set && event->capture_thread != dump->thread &&
        event->thread_id != dump->thread)
        return false;
    if (dump->event && strcmp(metadata->event_name, dump->event) != 0 &&
        !(dump->event_is_id && metadata->event_id == dump->event_id))
        return false;
    return true;
}

static const char *string_of(struct dump *dump, const struct wt_value *value)
{
    size_t needed = (size_t)value->size * 3 + 4;
    dump->text = wt_grow(dump->text, &dump->text_capacity, needed, 1);
    if (value->kind == WT_VALUE_UTF8)
        wt_utf8_clean(value->bytes, value->size, dump->text, dump->text_capacity);
    else
        wt_utf16_to_utf8(value->bytes, value->size, dump->text, dump->text_capacity);
    return dump->text;
}

static const char *char_of(struct dump *dump, uint64_t unit)
{
    const uint8_t bytes[2] = {(uint8_t)unit, (uint8_t)(unit >> 8)};
    const struct wt_value value = {.kind = WT_VALUE_STRING, .bytes = bytes, .size = 2};
    return string_of(dump, &value);
}

/* U+0000, the one character that a C string cannot hold. */
static const char nul_literal[] = "\"\\u0000\"";

static void json_value(void *context, const char *name, const struct wt_value *value)
{
    struct dump *dump = context;
    struct wt_json *json = &dump->writer;
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
            wt_json_string(json, name, char_of(dump, value->as.u));
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
        wt_json_string(json, name, string_of(dump, value));
        break;
    case WT_VALUE_BYTES:
        wt_json_hex(json, name, value->bytes, value->size);
        break;
    }
}

static void json_begin(void *context, const char *name, bool array, uint32_t count)
{
    struct dump *dump = context;
    (void)count;
    if (array)
        wt_json_array(&dump->writer, name);
    else
        wt_json_object(&dump->writer, name);
}

static void json_end(void *context, bool array)
{
    struct dump *dump = context;
    (void)array;
    wt_json_end(&dump->writer);
}

/* Prints what precedes a value: a blank or a comma, and its name. */
static void text_start(struct dump *dump, const char *name)
{
    if (dump->need_blank)
        fputs(dump->in_array[dump->depth] ? ", " : " ", stdout);
    dump->need_blank = true;
    if (name && *name) {
        wt_print_escaped(stdout, name, 0);
        putchar('=');
    }
}

static void text_value(void *context, const char *name, const struct wt_value *value)
{
    struct dump *dump = context;
    char text[40];
    text_start(dump, name);
    if (value->name) {
        wt_print_escaped(stdout, value->name, 0);
        return;
    }
    switch (value->kind) {
    case WT_VALUE_SIGNED:
        printf("%" PRId64, value->as.i);
        break;
    case WT_VALUE_UNSIGNED:
        printf("%" PRIu64, value->as.u);
        break;
    case WT_VALUE_BOOLEAN:
        fputs(value->as.u ? "true" : "false", stdout);
        break;
    case WT_VALUE_CHAR:
        if (value->as.u)
            wt_print_escaped(stdout, char_of(dump, value->as.u), 1);
        else
            fputs(nul_literal, stdout);
        break;
    case WT_VALUE_SINGLE:
        wt_single_text(value->as.f, text);
        fputs(text, stdout);
        break;
    case WT_VALUE_DOUBLE:
        wt_double_text(value->as.d, text);
        fputs(text, stdout);
        break;
    case WT_VALUE_DATETIME:
        if (wt_datetime_text(value->as.u, text))
            fputs(text, stdout);
        else
            printf("%" PRIu64, value->as.u);
        break;
    case WT_VALUE_GUID:
        wt_guid_text(value->bytes, text);
        fputs(text, stdout);
        break;
    case WT_VALUE_STRING:
    case WT_VALUE_UTF8:
        wt_print_escaped(stdout, string_of(dump, value), 1);
        break;
    case WT_VALUE_BYTES:
        fputs("0x", stdout);
        wt_print_hex(stdout, value->bytes, value->size);
        break;
    }
}

static void text_begin(void *context, const char *name, bool array, uint32_t count)
{
    struct dump *dump = context;
    (void)count;
    text_start(dump, name);
    putchar(array ? '[' : '{');
    if (dump->depth + 1 < WT_JSON_DEPTH)
        dump->depth++;
    dump->in_array[dump->depth] = array;
    dump->need_blank = false;
}

static void text_end(void *context, bool array)
{
    struct dump *dump = context;
    putchar(array ? ']' : '}');
    dump->depth--;
    dump->need_blank = true;
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

static uint32_t pointer_size(const struct dump *dump)
{
    return wt_reader_trace(dump->run.reader)->pointer_size == 4 ? 4 : 8;
}

static bool activity_path(const struct dump *dump, const uint8_t id[16], char *text)
{
    return wt_activity_text(id, (uint32_t)wt_reader_trace(dump->run.reader)->process_id, text);
}

/* As a path of numbers if it is one. */
static void print_activity(struct dump *dump, const uint8_t id[16], const char *what)
{
    char text[WT_ACTIVITY_TEXT_BYTES];
    if (!is_set(id))
        return;
    if (!activity_path(dump, id, text))
        wt_guid_text(id, text);
    printf(" %s=%s", what, text);
}

static void json_activity(struct dump *dump, const uint8_t id[16], const char *id_key,
                          const char *path_key)
{
    char text[WT_ACTIVITY_TEXT_BYTES];
    if (!is_set(id))
        return;
    wt_guid_text(id, text);
    wt_json_string(&dump->writer, id_key, text);
    if (activity_path(dump, id, text))
        wt_json_string(&dump->writer, path_key, text);
}

static void json_stack(struct dump *dump, const struct wt_event *event)
{
    uint32_t pointer = pointer_size(dump);
    wt_json_array(&dump->writer, "stack");
    for (uint32_t at = 0; event->stack_size - at >= pointer; at += pointer)
        wt_json_u64(&dump->writer, NULL, address_at(event, at, pointer));
    wt_json_end(&dump->writer);
}

static void json_header(struct dump *dump, const struct wt_event *event)
{
    const struct wt_metadata *metadata = event->metadata;
    const struct wt_trace_info *info = wt_reader_trace(dump->run.reader);
    struct wt_json *json = &dump->writer;
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
    if (dump->stacks)
        json_stack(dump, event);
    json_activity(dump, event->activity_id, "activityId", "activityPath");
    json_activity(dump, event->related_activity_id, "relatedActivityId", "relatedActivityPath");
    wt_labels_json(event, json);
}

static void print_json(struct dump *dump, const struct wt_event *event)
{
    static const struct wt_visitor visitor = {json_value, json_begin, json_end};
    struct wt_json *json = &dump->writer;
    wt_json_object(json, NULL);
    json_header(dump, event);
    wt_json_u64(json, "payloadBytes", event->payload_size);
    size_t used = 0;
    bool good = true;
    const bool is_known = wt_fields_are_known(event->metadata);
    if (is_known) {
        wt_json_object(json, "fields");
        good = wt_fields_walk(event->metadata, event->payload, event->payload_size, &visitor, dump,
                              &used);
        wt_json_end(json);
    }
    if (!good)
        wt_json_hex(json, "undecodable", event->payload, event->payload_size);
    else if (used < event->payload_size)
        wt_json_hex(json, is_known ? "rest" : "payload", event->payload + used,
                    event->payload_size - used);
    wt_json_end(json);
}

static void print_text_header(struct dump *dump, const struct wt_event *event)
{
    const struct wt_metadata *metadata = event->metadata;
    char text[40];
    wt_seconds_text(wt_time_relative_ns(wt_reader_trace(dump->run.reader), event->time), text);
    printf("%16s %" PRIu64, text, event->capture_thread);
    bool has_id = event->thread_id != 0 || !event->thread->has_row;
    if (has_id && event->thread_id != event->capture_thread)
        printf("/%" PRIu64, event->thread_id);
    if (event->thread->name) {
        fputs(" [", stdout);
        wt_print_escaped(stdout, event->thread->name, 0);
        putchar(']');
    }
    printf(" #%" PRIu64 " ", event->number);
    wt_print_escaped(stdout, metadata->undefined ? "(undefined)" : metadata->provider_name, 0);
    putchar('/');
    wt_print_escaped(stdout, metadata->event_name, 0);
    printf("(%" PRId32, metadata->event_id);
    if (metadata->version)
        printf(" v%" PRId32, metadata->version);
    putchar(')');
}

static void print_text_tail(struct dump *dump, const struct wt_event *event)
{
    print_activity(dump, event->activity_id, "activity");
    print_activity(dump, event->related_activity_id, "related");
    wt_labels_text(event);
    if (!dump->stacks || !event->stack)
        return;
    uint32_t pointer = pointer_size(dump);
    fputs(" stack=", stdout);
    for (uint32_t at = 0; event->stack_size - at >= pointer; at += pointer)
        printf("%s0x%" PRIx64, at ? "<" : "", address_at(event, at, pointer));
}

static void print_text(struct dump *dump, const struct wt_event *event)
{
    static const struct wt_visitor visitor = {text_value, text_begin, text_end};
    print_text_header(dump, event);
    size_t used = 0;
    bool good = true;
    dump->need_blank = true;
    dump->depth = 0;
    const bool is_known = wt_fields_are_known(event->metadata);
    if (is_known)
        good = wt_fields_walk(event->metadata, event->payload, event->payload_size, &visitor, dump,
                              &used);
    if (!good)
        used = 0;
    if (used < event->payload_size) {
        fputs(!good ? " undecodable=0x" : is_known ? " rest=0x" : " payload=0x", stdout);
        wt_print_hex(stdout, event->payload + used, event->payload_size - used);
    }
    print_text_tail(dump, event);
    putchar('\n');
}

static void print_event(struct dump *dump, const struct wt_event *event)
{
    if (dump->json)
        print_json(dump, event);
    else
        print_text(dump, event);
}

static void keep(struct dump *dump, const struct wt_event *event)
{
    size_t at = (size_t)(dump->matched % dump->last);
    dump->ring = wt_grow(dump->ring, &dump->ring_capacity, at + 1, sizeof(*dump->ring));
    struct kept *kept = &dump->ring[at];
    size_t size = (size_t)event->payload_size + event->stack_size + event->label_size;
    kept->bytes = wt_grow(kept->bytes, &kept->capacity, size + 1, 1);
    if (event->payload_size)
        memcpy(kept->bytes, event->payload, event->payload_size);
    if (event->stack_size)
        memcpy(kept->bytes + event->payload_size, event->stack, event->stack_size);
    kept->event = *event;
    kept->event.payload = kept->bytes;
    if (event->stack)
        kept->event.stack = kept->bytes + event->payload_size;
    uint8_t *labels = kept->bytes + event->payload_size + event->stack_size;
    if (event->label_size)
        memcpy(labels, event->labels, event->label_size);
    kept->event.labels = labels;
}

static void on_trace(void *context, const struct wt_trace_info *info)
{
    struct dump *dump = context;
    wt_span_apply(&dump->span, dump->run.reader, info);
}

static void on_metadata(void *context, const struct wt_metadata *metadata)
{
    struct dump *dump = context;
    wt_tally_define(&dump->tally, metadata);
}

static void on_event(void *context, const struct wt_event *event)
{
    struct dump *dump = context;
    wt_tally_event(&dump->tally, event);
    if (!matches(dump, event) || (dump->first_set && dump->matched >= dump->first))
        return;
    if (!dump->last_set)
        print_event(dump, event);
    else if (dump->last > 0)
        keep(dump, event);
    dump->matched++;
    if (dump->first_set && dump->matched >= dump->first)
        wt_reader_stop(dump->run.reader);
}

static void print_kept(struct dump *dump)
{
    uint64_t count = dump->matched < dump->last ? dump->matched : dump->last;
    for (uint64_t i = 0; i < count; i++)
        print_event(dump, &dump->ring[(dump->matched - count + i) % dump->last].event);
    for (size_t i = 0; i < dump->ring_capacity; i++)
        free(dump->ring[i].bytes);
    free(dump->ring);
}

static const char help[] =
    "usage: weir dump [OPTION]... FILE\n"
    "\n"
    "Prints events, one per line: seconds since the start of the trace, capture thread (and its\n"
    "id in the system, if another), [the thread's name, if known], number, Provider/Event(id), or "
    "(id v2) if its version\n"
    "is 2 and not 0, fields. A value that has a name (WEIR_ENUM) is shown by it. Payloads without\n"
    "field descriptions, arrays of bytes and raw bytes are printed in hexadecimal. FILE may be -.\n"
    "\n"
    "  --json         print one JSON object per line: ticks, ns, utc, provider, name, id, version, "
    "level,\n"
    "                 keywords, opcode, metadataId, captureThread, thread, threadName, processor, "
    "number,\n"
    "                 sequence, sorted, offset, stackId, stack, activityId, relatedActivityId,\n"
    "                 traceId, spanId, labels [{key, value}] (version 6), payloadBytes, fields;\n"
    "                 payload, rest or undecodable in hexadecimal.\n"
    "                 Integers are exact; NaN and infinities are strings. A trace without its end "
    "tag\n"
    "                 gets one more line: status, lost (null: it is unknown), lost_at_least,\n"
    "                 lost_unknown_after_ns (time of the last sequence point, as ns above)\n"
    "  --provider P   only events of provider P\n"
    "  --event E      only events with that name or id\n"
    "  --thread N     only events with that capture thread or thread id\n"
    "  --from S       only events from S seconds after the start of the trace on (1.25); of a "
    "file,\n"
    "                 only what this part needs is read, and losses before a thread's first event\n"
    "                 in it may be unknown\n"
    "  --to S         only events before S\n"
    "  --first N      print only the first N of them, then stop reading\n"
    "  --last N       print only the last N of them\n"
    "  --sorted       print in order of time instead of file order\n"
    "  --stacks       print the addresses of the stack, leaf first\n"
    "  --help         print this help\n"
    "\n"
    "Exit codes: 0 fine, 1 failed, 2 usage, 3 read but events were lost,\n"
    "4 truncated or unfinished: all that is there is printed, losses are unknown.\n";

/* On stderr, and as a last line of JSON if the trace has no end tag: a program that reads events
 * then learns without the exit code that there may have been more. */
static void print_losses(struct dump *dump, enum wt_status status)
{
    const struct wt_lost lost = wt_lost_of(&dump->tally, dump->run.reader);
    const bool broke_off = status != WT_END && status != WT_STOPPED;
    char text[80];
    if (broke_off && dump->json) {
        wt_json_object(&dump->writer, NULL);
        wt_json_string(&dump->writer, "status", wt_status_word(status));
        wt_lost_json(&lost, &dump->writer);
        wt_json_end(&dump->writer);
    }
    if (!broke_off && lost.count == 0)
        return;
    wt_lost_text(&lost, text);
    wt_complain("%s: lost %s%s", dump->run.path, text,
                lost.count > 0 ? "; weir stat reports where" : "");
}

static int run_dump(struct dump *dump, const char *path)
{
    static const struct wt_handlers handlers = {
        .trace = on_trace, .metadata = on_metadata, .event = on_event};
    struct wt_reader_options options;
    memset(&options, 0, sizeof(options));
    options.time_order = dump->sorted;
    wt_json_init(&dump->writer, stdout, false);
    if (dump->first_set && dump->first == 0)
        return WT_EXIT_OK;
    int code = WT_EXIT_FAILED;
    if (wt_run_open(&dump->run, path, &options, &handlers, dump)) {
        enum wt_status status = wt_run_read(&dump->run);
        if (dump->last_set && dump->last > 0)
            print_kept(dump);
        print_losses(dump, status);
        code = wt_run_exit(&dump->run, dump->tally.all.total);
    }
    wt_run_close(&dump->run);
    wt_tally_fini(&dump->tally);
    free(dump->text);
    return wt_finish_output(code);
}

static bool take_event_filter(struct dump *dump, const char *text)
{
    char *end;
    dump->event = text;
    dump->event_id = strtoll(text, &end, 0);
    dump->event_is_id = *text && !*end;
    return true;
}

/* False, after a message, if the option is wrong. */
static bool take_option(struct dump *dump, int option, const char *text)
{
    switch (option) {
    case 'j':
        return dump->json = true;
    case 's':
        return dump->sorted = true;
    case 'k':
        return dump->stacks = true;
    case 'p':
        dump->provider = text;
        return true;
    case 'e':
        return take_event_filter(dump, text);
    case 't':
        dump->thread_set = true;
        return wt_parse_count("--thread", text, &dump->thread);
    case 'F':
    case 'T':
        return wt_span_take(&dump->span, option == 'F', text);
    case 'f':
        dump->first_set = true;
        return wt_parse_count("--first", text, &dump->first);
    case 'l':
        dump->last_set = true;
        return wt_parse_count("--last", text, &dump->last);
    default:
        wt_complain("try: weir dump --help");
        return false;
    }
}

int wt_dump_main(int argc, char **argv)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, 'j'},        {"provider", required_argument, NULL, 'p'},
        {"event", required_argument, NULL, 'e'}, {"thread", required_argument, NULL, 't'},
        {"first", required_argument, NULL, 'f'}, {"last", required_argument, NULL, 'l'},
        {"from", required_argument, NULL, 'F'},  {"to", required_argument, NULL, 'T'},
        {"sorted", no_argument, NULL, 's'},      {"stacks", no_argument, NULL, 'k'},
        {"help", no_argument, NULL, 'h'},        {NULL, 0, NULL, 0}};
    struct dump dump;
    memset(&dump, 0, sizeof(dump));
    int option;
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (option == 'h') {
            fputs(help, stdout);
            return wt_finish_output(WT_EXIT_OK);
        }
        if (!take_option(&dump, option, optarg))
            return WT_EXIT_USAGE;
    }
    const char *path = wt_one_file(argc, argv, optind);
    return path ? run_dump(&dump, path) : WT_EXIT_USAGE;
}
