/* weir check: checks a trace against the rules of the format. The reader reports what it finds in
 * blocks and definitions; this file adds the rules that span events. */
#include "check.h"
#include "output.h"
#include "pairs.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_DEFAULT 20

struct finding {
    enum wt_rule rule;
    uint64_t offset;
    char *text;
};

struct thread_state {
    int64_t last_time;
    bool has_event;
    uint64_t first_event_offset; /* for the rule about introductions */
};

struct check {
    struct wt_run run;
    struct wt_json json;
    bool as_json;
    uint64_t shown_max; /* per rule */
    uint64_t found[WT_RULE_COUNT];
    uint64_t found_all;

    struct thread_state *threads; /* by thread index */
    size_t thread_capacity;
    struct wt_tally tally;
    bool is_weir;
    int64_t frequency;
    uint64_t capture_thread; /* of the previous event */
    int64_t sorted_time, newest_time, point_time;
    bool any_sorted, any_event, any_point;
    struct loss_check loss;
    struct wt_pairs pairs;
    bool has_pairs; /* the trace defines both events */
};

static void found(void *context, enum wt_rule rule, uint64_t offset, const char *text)
{
    struct check *check = context;
    check->found[rule]++;
    check->found_all++;
    if (check->found[rule] > check->shown_max)
        return;
    if (check->as_json) {
        wt_json_object(&check->json, NULL);
        wt_json_string(&check->json, "rule", wt_rule_name(rule));
        wt_json_string(&check->json, "message", text);
        wt_json_u64(&check->json, "offset", offset);
        wt_json_end(&check->json);
        return;
    }
    printf("%s: ", wt_rule_name(rule));
    wt_print_escaped(stdout, text, 0);
    printf(" at offset %" PRIu64 "\n", offset);
}

static void tell(struct check *check, enum wt_rule rule, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void tell(struct check *check, enum wt_rule rule, uint64_t offset, const char *format, ...)
{
    char text[240];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    found(check, rule, offset, text);
}

static void on_violation(void *context, const struct wt_violation *violation)
{
    found(context, violation->rule, violation->offset, violation->text);
}

static void on_trace(void *context, const struct wt_trace_info *info)
{
    struct check *check = context;
    check->frequency = info->frequency;
    if (info->frequency <= 0)
        tell(check, WT_RULE_TRACE_OBJECT, info->offset, "frequency is %" PRId64, info->frequency);
    /* Version 6 need not say which process it is, and how many processors there are. */
    const bool may_lack = info->major >= 6;
    if (info->process_id == 0 && !may_lack)
        tell(check, WT_RULE_TRACE_OBJECT, info->offset, "process id is 0");
    if (info->pointer_size != 4 && info->pointer_size != 8)
        tell(check, WT_RULE_TRACE_OBJECT, info->offset, "pointer size is %" PRId32,
             info->pointer_size);
    if (info->processors < (may_lack ? 0 : 1))
        tell(check, WT_RULE_TRACE_OBJECT, info->offset, "number of processors is %" PRId32,
             info->processors);
    if (info->year < 1601 || info->year > 9999 || info->month < 1 || info->month > 12 ||
        info->day < 1 || info->day > 31 || info->hour < 0 || info->hour > 23 || info->minute < 0 ||
        info->minute > 59 || info->second < 0 || info->second > 59 || info->millisecond < 0 ||
        info->millisecond > 999 || info->day_of_week < 0 || info->day_of_week > 6)
        tell(check, WT_RULE_TRACE_OBJECT, info->offset, "the date is not valid");
}

static void on_metadata(void *context, const struct wt_metadata *metadata)
{
    struct check *check = context;
    check->is_weir = check->is_weir || wt_is_weir(metadata);
    wt_tally_define(&check->tally, metadata);
    wt_pairs_define(&check->pairs, metadata);
    const struct wt_loss_fields *fields = &check->tally.fields[metadata->index];
    if (fields->is_loss && !fields->usable)
        tell(check, WT_RULE_LOSS_EVENT, metadata->offset,
             "Weir/Loss lacks a field CaptureThread, After, Cause or Count of the right type");
}

static void check_payload(struct check *check, const struct wt_event *event)
{
    const struct wt_metadata *metadata = event->metadata;
    size_t used;
    if (metadata->field_count == 0)
        return;
    bool good = wt_fields_walk(metadata, event->payload, event->payload_size, NULL, NULL, &used);
    if (good && used == event->payload_size)
        return;
    tell(check, WT_RULE_PAYLOAD_FIELDS, event->offset,
         "payload of %.60s/%.60s has %" PRIu32 " bytes, its fields %s", metadata->provider_name,
         metadata->event_name, event->payload_size, good ? "take fewer" : "need more");
}

static void check_times(struct check *check, const struct wt_event *event,
                        struct thread_state *thread)
{
    if (thread->has_event && event->time < thread->last_time)
        tell(check, WT_RULE_TIME_ORDER, event->offset,
             "capture thread %" PRIu64 " goes from %" PRId64 " back to %" PRId64,
             event->capture_thread, thread->last_time, event->time);
    if (check->any_sorted && event->time < check->sorted_time)
        tell(check, WT_RULE_SORTED, event->offset,
             "time %" PRId64 " after a sorted event of %" PRId64, event->time, check->sorted_time);
    if (check->any_point && event->time < check->point_time)
        tell(check, WT_RULE_POINT_SIDE, event->offset,
             "time %" PRId64 " after a sequence point of %" PRId64, event->time, check->point_time);
    if (event->sorted && (!check->any_sorted || event->time > check->sorted_time)) {
        check->any_sorted = true;
        check->sorted_time = event->time;
    }
    if (!check->any_event || event->time > check->newest_time)
        check->newest_time = event->time;
    thread->last_time = event->time;
}

static void note_loss(struct check *check, const struct wt_event *event)
{
    const struct wt_loss_fields *fields = &check->tally.fields[event->metadata->index];
    struct wt_loss loss;
    if (!fields->is_loss || !wt_loss_read(fields, event, &loss))
        return;
    if (loss.cause == WT_CAUSE_OTHER)
        tell(check, WT_RULE_LOSS_EVENT, event->offset, "unknown cause");
    if (loss.count == 0)
        tell(check, WT_RULE_LOSS_EVENT, event->offset, "a loss of 0 events");
    wt_tally_add(&check->tally, &loss);
    wt_loss_check_loss(&check->loss, &loss, event->offset);
}

static void on_event(void *context, const struct wt_event *event)
{
    struct check *check = context;
    check->threads = wt_grow(check->threads, &check->thread_capacity,
                             (size_t)event->thread->index + 1, sizeof(*check->threads));
    struct thread_state *thread = &check->threads[event->thread->index];
    check_times(check, event, thread);
    if (!event->first_in_block && !event->sorted && event->capture_thread != check->capture_thread)
        tell(check, WT_RULE_THREAD_SWITCH, event->offset,
             "capture thread changes from %" PRIu64 " to %" PRIu64 " at an event without the "
             "sorted flag inside a block",
             check->capture_thread, event->capture_thread);
    if (!thread->has_event)
        thread->first_event_offset = event->offset;
    thread->has_event = check->any_event = true;
    check->capture_thread = event->capture_thread;
    check_payload(check, event);
    wt_pairs_add(&check->pairs, event);
    if (!event->metadata->undefined)
        note_loss(check, event);
}

static void on_gap(void *context, const struct wt_gap *gap)
{
    struct check *check = context;
    if (!gap->back) {
        wt_loss_check_gap(&check->loss, gap);
        return;
    }
    tell(check, WT_RULE_SEQUENCE_BACK, gap->offset,
         "capture thread %" PRIu64 " goes from number %" PRIu32 " to %" PRIu32 "%s",
         gap->thread->capture_thread, gap->after, gap->sequence,
         gap->at_point ? " at a sequence point" : "");
}

static void on_point(void *context, const struct wt_point *point)
{
    struct check *check = context;
    if (check->any_point && point->time < check->point_time)
        tell(check, WT_RULE_POINT_TIME, point->offset,
             "sequence point of %" PRId64 " after one of %" PRId64, point->time, check->point_time);
    if (check->any_event && check->newest_time > point->time)
        tell(check, WT_RULE_POINT_SIDE, point->offset,
             "sequence point of %" PRId64 " after an event of %" PRId64, point->time,
             check->newest_time);
    check->any_point = true;
    check->point_time = point->time;
    wt_loss_check_point(&check->loss);
}

static void check_introductions(struct check *check)
{
    const struct wt_thread *thread;
    for (uint32_t i = 0; (thread = wt_reader_thread(check->run.reader, i)); i++) {
        if (thread->has_row || (thread->first_seen_in_point && thread->first_sequence == 1))
            continue;
        uint64_t offset = i < check->thread_capacity ? check->threads[i].first_event_offset : 0;
        tell(check, WT_RULE_INTRODUCTION, offset,
             "capture thread %" PRIu64 " is first seen in %s with number %" PRIu32,
             thread->capture_thread, thread->first_seen_in_point ? "a sequence point" : "an event",
             thread->first_sequence);
    }
}

/* The error that ended the reading is also a finding, unless the system caused it. */
static void check_end(struct check *check, enum wt_status status)
{
    const struct wt_error *error = wt_reader_error(check->run.reader);
    if (status == WT_TRUNCATED || status == WT_ERROR_FORMAT || status == WT_ERROR_VERSION ||
        status == WT_ERROR_LIMIT)
        found(check, error->rule, error->offset, error->text);
    if (!check->is_weir || (status != WT_END && status != WT_TRUNCATED))
        return;
    check_introductions(check);
    wt_loss_check_finish(&check->loss, check->run.reader, status == WT_TRUNCATED, found, check);
}

static int exit_code(const struct check *check, enum wt_status status)
{
    if (status != WT_END && status != WT_TRUNCATED)
        return WT_EXIT_FAILED;
    if (check->pairs.provider_name && !check->has_pairs && status == WT_END)
        return WT_EXIT_FAILED;
    uint64_t other = check->found_all - (status == WT_TRUNCATED ? 1 : 0);
    return other > 0 ? WT_EXIT_FAILED : wt_run_exit(&check->run, check->tally.all.total);
}

static double pairs_worst_ns(const struct check *check)
{
    return check->frequency > 0 ? (double)check->pairs.worst_ticks * 1e9 / (double)check->frequency
                                : 0;
}

static void end_json_pairs(struct check *check)
{
    if (!check->pairs.provider_name)
        return;
    if (!check->has_pairs) {
        wt_json_null(&check->json, "pairs");
        return;
    }
    wt_json_object(&check->json, "pairs");
    wt_json_u64(&check->json, "count", check->pairs.pairs);
    wt_json_u64(&check->json, "reversed", check->pairs.reversed);
    wt_json_u64(&check->json, "worst_ns", (uint64_t)pairs_worst_ns(check));
    wt_json_u64(&check->json, "single", check->pairs.single);
    wt_json_u64(&check->json, "repeated", check->pairs.repeated);
    wt_json_end(&check->json);
}

static void print_summary(const struct check *check)
{
    const struct wt_totals *totals = wt_reader_totals(check->run.reader);
    for (int rule = 0; rule < WT_RULE_COUNT; rule++)
        if (check->found[rule] > check->shown_max)
            printf("%s: and %" PRIu64 " more\n", wt_rule_name((enum wt_rule)rule),
                   check->found[rule] - check->shown_max);
    const struct wt_lost lost = wt_lost_of(&check->tally, check->run.reader);
    char lost_text[80];
    wt_lost_text(&lost, lost_text);
    if (check->has_pairs)
        printf("%" PRIu64 " pairs, %" PRIu64 " reversed, by up to %.0f ns; %" PRIu64
               " values without a partner, %" PRIu64 " not unique\n",
               check->pairs.pairs, check->pairs.reversed, pairs_worst_ns(check),
               check->pairs.single, check->pairs.repeated);
    printf("%s: %" PRIu64 " finding%s in %" PRIu64 " events, %" PRIu64 " bytes; lost %s\n",
           check->run.path, check->found_all, check->found_all == 1 ? "" : "s", totals->events,
           totals->bytes, lost_text);
}

static void end_json(struct check *check, enum wt_status status)
{
    const struct wt_totals *totals = wt_reader_totals(check->run.reader);
    struct wt_json *json = &check->json;
    wt_json_end(json);
    wt_json_object(json, "counts");
    for (int rule = 1; rule < WT_RULE_COUNT; rule++)
        if (check->found[rule])
            wt_json_u64(json, wt_rule_name((enum wt_rule)rule), check->found[rule]);
    wt_json_end(json);
    wt_json_u64(json, "findingCount", check->found_all);
    wt_json_string(json, "status", wt_status_word(status));
    wt_json_bool(json, "weir", check->is_weir);
    wt_json_u64(json, "eventCount", totals->events);
    wt_json_u64(json, "bytes", totals->bytes);
    const struct wt_lost lost = wt_lost_of(&check->tally, check->run.reader);
    wt_lost_json(&lost, json);
    wt_json_u64(json, "told", check->tally.all.total);
    end_json_pairs(check);
    wt_json_end(json);
}

static int run_check(struct check *check, const char *path)
{
    static const struct wt_handlers handlers = {.trace = on_trace,
                                                .metadata = on_metadata,
                                                .event = on_event,
                                                .gap = on_gap,
                                                .point = on_point,
                                                .violation = on_violation};
    struct wt_reader_options options;
    memset(&options, 0, sizeof(options));
    options.check_trailing = true;
    if (!wt_run_open(&check->run, path, &options, &handlers, check))
        return WT_EXIT_FAILED;
    if (check->as_json) {
        wt_json_init(&check->json, stdout, true);
        wt_json_object(&check->json, NULL);
        wt_json_string(&check->json, "file", check->run.path);
        wt_json_array(&check->json, "findings");
    }
    enum wt_status status = wt_run_read(&check->run);
    check_end(check, status);
    if (check->pairs.provider_name)
        check->has_pairs = wt_pairs_finish(&check->pairs, found, check);
    if (check->as_json)
        end_json(check, status);
    else
        print_summary(check);
    int code = exit_code(check, status);
    wt_run_close(&check->run);
    free(check->threads);
    wt_tally_fini(&check->tally);
    wt_loss_check_fini(&check->loss);
    wt_pairs_fini(&check->pairs);
    return wt_finish_output(code);
}

static int print_help(void)
{
    fputs(
        "usage: weir check [--json] [--limit N] [--pairs PROVIDER/FIRST,SECOND:FIELD] FILE\n"
        "\n"
        "Checks a trace against the rules of the format. Each finding is a line\n"
        "\"rule: message at offset N\". The last two groups of rules are promises of Weir's own\n"
        "writer and apply only to traces with a provider named Weir. FILE may be -.\n"
        "\n"
        "  --json      print one JSON object: file, findings [{rule, message, offset}], counts by\n"
        "              rule, findingCount, status, weir, eventCount, bytes, lost (null if\n"
        "              unknown), lost_at_least, lost_unknown_after_ns, told, and with --pairs\n"
        "              pairs {count, reversed, worst_ns, single, repeated} (null if the trace\n"
        "              does not define both events)\n"
        "  --limit N   show at most N findings of each rule (20)\n"
        "  --pairs P/A,B:F\n"
        "              match the events A and B of provider P that have the same value in the\n"
        "              integer field F, such as a message sent and received, and report each B\n"
        "              that is older than its A; a value that comes twice belongs to no pair.\n"
        "              To rule that out, emit A before B's thread can know of it, and\n"
        "              declare B WEIR_EVENT_ORDERED\n"
        "  --help      print this help\n"
        "\n"
        "Rules:\n",
        stdout);
    for (int rule = 1; rule < WT_RULE_COUNT; rule++)
        printf("  %-18s  %s\n", wt_rule_name((enum wt_rule)rule), wt_rule_text((enum wt_rule)rule));
    fputs(
        "\n"
        "Exit codes: 0 no findings, 1 findings or failed, 2 usage, 3 no findings but events were\n"
        "lost, 4 truncated or unfinished and no other finding: losses are unknown.\n",
        stdout);
    return wt_finish_output(WT_EXIT_OK);
}

int wt_check_main(int argc, char **argv)
{
    static const struct option options[] = {{"json", no_argument, NULL, 'j'},
                                            {"limit", required_argument, NULL, 'n'},
                                            {"pairs", required_argument, NULL, 'p'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    struct check check;
    memset(&check, 0, sizeof(check));
    check.shown_max = SHOWN_DEFAULT;
    int option;
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (option == 'h')
            return print_help();
        if (option == 'j') {
            check.as_json = true;
        } else if (option == 'p') {
            if (!wt_pairs_parse(&check.pairs, optarg))
                return WT_EXIT_USAGE;
        } else if (option != 'n') {
            wt_complain("try: weir check --help");
            return WT_EXIT_USAGE;
        } else if (!wt_parse_count("--limit", optarg, &check.shown_max)) {
            return WT_EXIT_USAGE;
        }
    }
    const char *path = wt_one_file(argc, argv, optind);
    return path ? run_check(&check, path) : WT_EXIT_USAGE;
}
