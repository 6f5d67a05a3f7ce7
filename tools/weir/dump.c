/* weir dump: events as text, CSV or JSON, one per line. */
#include "event_print.h"
#include "filter.h"
#include "options.h"
#include "span.h"

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
    struct wt_filter filter;
    struct wt_span span;
    uint64_t first, last;
    bool first_set, last_set;
    bool as_json, as_csv, sorted;

    struct wt_tally tally;
    struct wt_json json;
    struct wt_csv csv;
    struct wt_event_printer printer;
    struct kept *ring;
    size_t ring_capacity;
};

static void print_event(struct dump *dump, const struct wt_event *event)
{
    if (dump->as_json)
        wt_event_print_json(&dump->printer, event);
    else if (dump->as_csv)
        wt_event_print_csv(&dump->printer, &dump->csv, event);
    else
        wt_event_print_text(&dump->printer, event);
}

static void keep(struct dump *dump, const struct wt_event *event)
{
    size_t at = (size_t)((dump->filter.passed - 1) % dump->last);
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
    wt_filter_define(&dump->filter, metadata);
}

static void on_event(void *context, const struct wt_event *event)
{
    struct dump *dump = context;
    wt_tally_event(&dump->tally, event);
    if (dump->first_set && dump->filter.passed >= dump->first)
        return;
    if (!wt_filter_event(&dump->filter, event))
        return;
    if (!dump->last_set)
        print_event(dump, event);
    else if (dump->last > 0)
        keep(dump, event);
    if (dump->first_set && dump->filter.passed >= dump->first)
        wt_reader_stop(dump->run.reader);
}

static void print_kept(struct dump *dump)
{
    uint64_t passed = dump->filter.passed;
    uint64_t count = passed < dump->last ? passed : dump->last;
    for (uint64_t i = 0; i < count; i++)
        print_event(dump, &dump->ring[(passed - count + i) % dump->last].event);
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
    "                 lost_unknown_after_ns (time of the last sequence point, as ns "
    "above)\n" WT_FILTER_HELP WT_SPAN_HELP WT_SPAN_READ_HELP
    "  --first N      print only the first N that pass, then stop reading\n"
    "  --last N       print only the last N that pass\n"
    "  --csv          print CSV (RFC 4180), with the columns ns (since the start of the trace),\n"
    "                 provider, event, id, version, capture_thread, thread, thread_name, number,\n"
    "                 fields (and what follows them, as text)\n"
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
    const struct wt_lost lost = wt_filter_lost(&dump->filter, &dump->tally, dump->run.reader);
    const bool broke_off = status != WT_END && status != WT_STOPPED;
    char text[80];
    if (broke_off && dump->as_json) {
        wt_json_object(&dump->json, NULL);
        wt_json_string(&dump->json, "status", wt_status_word(status));
        wt_lost_json(&lost, &dump->json);
        wt_json_end(&dump->json);
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
    wt_json_init(&dump->json, stdout, false);
    dump->csv.file = stdout;
    if (dump->first_set && dump->first == 0)
        return WT_EXIT_OK;
    int code = WT_EXIT_FAILED;
    if (wt_run_open(&dump->run, path, &options, &handlers, dump)) {
        dump->printer.reader = dump->run.reader;
        if (dump->as_csv)
            wt_event_print_csv_head(&dump->csv);
        enum wt_status status = wt_run_read(&dump->run);
        if (dump->last_set && dump->last > 0)
            print_kept(dump);
        wt_filter_complain(&dump->filter, &dump->run);
        print_losses(dump, status);
        code = wt_run_exit(&dump->run, dump->tally.all.total);
    }
    wt_run_close(&dump->run);
    wt_tally_fini(&dump->tally);
    wt_event_printer_fini(&dump->printer);
    return wt_finish_output(code);
}

/* False, after a message, if the option is wrong. */
static bool take_option(void *context, int option, const char *text)
{
    struct dump *dump = context;
    switch (option) {
    case 'j':
        return dump->as_json = true;
    case 'c':
        return dump->as_csv = true;
    case 's':
        return dump->sorted = true;
    case 'k':
        return dump->printer.stacks = true;
    case WT_OPTION_FROM:
    case WT_OPTION_TO:
        return wt_span_take(&dump->span, option, text);
    case 'f':
        dump->first_set = true;
        return wt_parse_count("--first", text, &dump->first);
    case 'l':
        dump->last_set = true;
        return wt_parse_count("--last", text, &dump->last);
    default:
        return wt_filter_option(&dump->filter, option, text);
    }
}

static int run_arguments(struct dump *dump, int argc, char **argv)
{
    static const struct option table[] = {{"json", no_argument, NULL, 'j'},
                                          {"csv", no_argument, NULL, 'c'},
                                          {"first", required_argument, NULL, 'f'},
                                          {"last", required_argument, NULL, 'l'},
                                          {"sorted", no_argument, NULL, 's'},
                                          {"stacks", no_argument, NULL, 'k'},
                                          {"help", no_argument, NULL, 'h'},
                                          WT_FILTER_OPTIONS,
                                          WT_SPAN_OPTIONS,
                                          {NULL, 0, NULL, 0}};
    static const struct wt_options options = {help, "h", table, take_option};
    int code;
    if (!wt_options_take(&options, dump, argc, argv, &code))
        return code;
    if (!wt_options_one_form(argv[0], dump->as_json, dump->as_csv))
        return WT_EXIT_USAGE;
    const char *path = wt_one_file(argc, argv, optind);
    return path ? run_dump(dump, path) : WT_EXIT_USAGE;
}

int wt_dump_main(int argc, char **argv)
{
    struct dump dump;
    memset(&dump, 0, sizeof(dump));
    dump.printer.file = stdout;
    dump.printer.json = &dump.json;
    int code = run_arguments(&dump, argc, argv);
    wt_filter_fini(&dump.filter);
    return code;
}
