/* weir diff: what is different in two traces, for tests of regressions. */
#include "diff.h"
#include "options.h"
#include "output.h"
#include "table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* An event that the traces have in different numbers, a cause with different losses, or a
 * definition that has changed. */
struct count_row {
    const struct wt_metadata *metadata; /* NULL: events without a definition */
    uint64_t counts[2];
};

struct schema_row {
    const struct wt_metadata *metadata;
    char *text;
};

struct result {
    struct count_row *rows; /* all, in order */
    size_t row_count, row_capacity;
    struct schema_row *schemas;
    size_t schema_count, schema_capacity;
    struct wt_lost lost[2];
    uint64_t causes[WT_CAUSE_COUNT + 1][2]; /* the last one: unknown */
    size_t events, losses, threads;         /* how many differ */
};

/* --- Reading. -------------------------------------------------------------------------------- */

static void on_metadata(void *context, const struct wt_metadata *metadata)
{
    struct diff_side *side = context;
    wt_tally_define(&side->tally, metadata);
    wt_filter_define(&side->filter, metadata);
    side->counts =
        wt_grow(side->counts, &side->count_count, (size_t)metadata->index + 2, sizeof(uint64_t));
    if (wt_filter_takes(&side->filter, metadata))
        wt_schema_add(&side->definitions, metadata);
    if (side->diff->with_events)
        diff_events_define(side, metadata);
}

static void on_event(void *context, const struct wt_event *event)
{
    struct diff_side *side = context;
    const struct wt_metadata *metadata = event->metadata;
    wt_tally_event(&side->tally, event);
    if (!wt_filter_event(&side->filter, event) || !diff_is_compared(metadata))
        return;
    side->counts[metadata->undefined ? 0 : (size_t)metadata->index + 1]++;
    side->compared++;
    if (side->diff->with_events)
        diff_events_add(side, event);
}

static bool read_side(struct diff_side *side)
{
    static const struct wt_handlers handlers = {.metadata = on_metadata, .event = on_event};
    if (!wt_run_open(&side->run, side->path, NULL, &handlers, side))
        return false;
    enum wt_status status = wt_run_read(&side->run);
    if (side->diff->with_events)
        diff_events_finish(side);
    return status == WT_END || status == WT_TRUNCATED;
}

/* --- Comparing. ------------------------------------------------------------------------------ */

static int order_rows(const struct count_row *a, const struct count_row *b)
{
    if (!a->metadata || !b->metadata)
        return (a->metadata != NULL) - (b->metadata != NULL);
    return wt_schema_order(a->metadata, b->metadata);
}

static int by_order(const void *a, const void *b)
{
    return order_rows(a, b);
}

static void add_row(struct result *result, const struct wt_metadata *metadata, int side,
                    uint64_t count)
{
    if (count == 0)
        return;
    result->rows =
        wt_grow(result->rows, &result->row_capacity, result->row_count + 1, sizeof(*result->rows));
    struct count_row *row = &result->rows[result->row_count++];
    row->metadata = metadata;
    row->counts[side] = count;
}

static void compare_counts(struct result *result, const struct diff *diff)
{
    size_t kept = 0;
    for (int s = 0; s < 2; s++) {
        const struct diff_side *side = &diff->sides[s];
        add_row(result, NULL, s, side->counts[0]);
        for (size_t i = 0; i < side->definitions.count; i++)
            add_row(result, side->definitions.events[i], s,
                    side->counts[side->definitions.events[i]->index + 1]);
    }
    if (result->row_count)
        qsort(result->rows, result->row_count, sizeof(*result->rows), by_order);
    for (size_t i = 0; i < result->row_count; i++) {
        if (kept == 0 || order_rows(&result->rows[kept - 1], &result->rows[i]) != 0) {
            result->rows[kept++] = result->rows[i];
            continue;
        }
        for (int s = 0; s < 2; s++)
            result->rows[kept - 1].counts[s] += result->rows[i].counts[s];
    }
    result->row_count = kept;
    for (size_t i = 0; i < kept; i++)
        result->events += result->rows[i].counts[0] != result->rows[i].counts[1];
}

static void note_schema(void *context, bool is_finding, const struct wt_metadata *event,
                        const char *text)
{
    struct result *result = context;
    (void)is_finding;
    result->schemas = wt_grow(result->schemas, &result->schema_capacity, result->schema_count + 1,
                              sizeof(*result->schemas));
    result->schemas[result->schema_count++] = (struct schema_row){event, strdup(text)};
}

/* Only of what both define: a trace defines the events that it has, which are counted. */
static void compare_schemas(struct result *result, struct diff *diff)
{
    struct wt_schema *a = &diff->sides[0].definitions, *b = &diff->sides[1].definitions;
    wt_schema_sort(a);
    wt_schema_sort(b);
    for (size_t i = 0, j = 0; i < a->count && j < b->count;) {
        int order = wt_schema_order(a->events[i], b->events[j]);
        if (order == 0 && diff_is_compared(a->events[i]))
            wt_schema_compare_event(a->events[i], b->events[j], note_schema, result);
        i += order <= 0;
        j += order >= 0;
    }
}

static void compare_losses(struct result *result, const struct diff *diff)
{
    for (int s = 0; s < 2; s++) {
        const struct diff_side *side = &diff->sides[s];
        const struct wt_told told = wt_filter_told(&side->filter, &side->tally, side->run.reader);
        result->lost[s] = wt_filter_lost(&side->filter, &side->tally, side->run.reader);
        for (int c = 0; c < WT_CAUSE_COUNT; c++)
            result->causes[c][s] = told.causes[c];
        if (result->lost[s].count > told.total)
            result->causes[WT_CAUSE_COUNT][s] = result->lost[s].count - told.total;
    }
    for (int c = 0; c <= WT_CAUSE_COUNT; c++)
        result->losses += result->causes[c][0] != result->causes[c][1];
}

static bool is_same(const struct result *result)
{
    return result->events + result->schema_count + result->losses + result->threads == 0;
}

/* --- Printing. ------------------------------------------------------------------------------- */

static const char *cause_text(int cause)
{
    return cause == WT_CAUSE_COUNT ? "unknown" : wt_cause_name((enum wt_cause)cause);
}

static void print_change(struct wt_table *table, const uint64_t counts[2])
{
    wt_table_u64(table, counts[0]);
    wt_table_u64(table, counts[1]);
    if (counts[0] == 0)
        wt_table_text(table, "added");
    else if (counts[1] == 0)
        wt_table_text(table, "gone");
    else if (counts[1] > counts[0])
        wt_table_format(table, "+%" PRIu64, counts[1] - counts[0]);
    else
        wt_table_format(table, "-%" PRIu64, counts[0] - counts[1]);
}

static void print_counts(const struct result *result)
{
    static const bool right[] = {false, false, true, true, true, true, true};
    static const char *const heads[] = {"provider", "event", "id", "version", "A", "B", "change"};
    struct wt_table table;
    wt_table_init(&table, 7, right);
    for (size_t i = 0; i < 7; i++)
        wt_table_text(&table, heads[i]);
    for (size_t i = 0; i < result->row_count; i++) {
        const struct wt_metadata *metadata = result->rows[i].metadata;
        if (result->rows[i].counts[0] == result->rows[i].counts[1])
            continue;
        wt_table_text(&table, metadata ? metadata->provider_name : "(undefined)");
        wt_table_text(&table, metadata && *metadata->event_name ? metadata->event_name : "-");
        wt_table_format(&table, "%" PRId32, metadata ? metadata->event_id : 0);
        wt_table_format(&table, "%" PRId32, metadata ? metadata->version : 0);
        print_change(&table, result->rows[i].counts);
    }
    putchar('\n');
    wt_table_print(&table, stdout);
}

static void print_losses(const struct result *result)
{
    static const bool right[] = {false, true, true};
    struct wt_table table;
    wt_table_init(&table, 3, right);
    wt_table_text(&table, "lost");
    wt_table_text(&table, "A");
    wt_table_text(&table, "B");
    for (int c = 0; c <= WT_CAUSE_COUNT; c++) {
        if (result->causes[c][0] == result->causes[c][1])
            continue;
        wt_table_text(&table, cause_text(c));
        wt_table_u64(&table, result->causes[c][0]);
        wt_table_u64(&table, result->causes[c][1]);
    }
    putchar('\n');
    wt_table_print(&table, stdout);
}

static void print_schemas(const struct result *result)
{
    putchar('\n');
    for (size_t i = 0; i < result->schema_count; i++) {
        const struct wt_metadata *metadata = result->schemas[i].metadata;
        wt_print_escaped(stdout, metadata->provider_name, 0);
        putchar('/');
        wt_print_escaped(stdout, metadata->event_name, 0);
        printf("(%" PRId32 "): ", metadata->event_id);
        wt_print_escaped(stdout, result->schemas[i].text ? result->schemas[i].text : "", 0);
        putchar('\n');
    }
}

static const struct diff_thread *thread_of(const struct diff *diff, const struct diff_pair *pair,
                                           int side)
{
    return pair->index[side] == UINT32_MAX ? NULL : &diff->sides[side].threads[pair->index[side]];
}

static const char *name_of(const struct diff *diff, const struct diff_pair *pair)
{
    int side = pair->index[0] == UINT32_MAX;
    return diff->sides[side].names[pair->index[side]];
}

static void print_pair(const struct diff *diff, const struct diff_pair *pair)
{
    fputs("\nthread ", stdout);
    for (int s = 0; s < 2; s++) {
        if (pair->index[s] == UINT32_MAX)
            fputs("(none)", stdout);
        else
            printf("%" PRIu64, diff->sides[s].ids[pair->index[s]]);
        fputs(s == 0 ? " and " : "", stdout);
    }
    if (name_of(diff, pair)) {
        fputs(" [", stdout);
        wt_print_escaped(stdout, name_of(diff, pair), 0);
        putchar(']');
    }
    printf(": event %" PRIu64 " is the first that differs\n", pair->at + 1);
    for (int s = 0; s < 2; s++) {
        const struct diff_thread *thread = thread_of(diff, pair, s);
        printf("  %c %s\n", "AB"[s],
               thread && thread->shown ? thread->shown : "               - (no more events)");
    }
}

static void print_text(const struct diff *diff, const struct result *result)
{
    for (int s = 0; s < 2; s++) {
        char lost[80];
        wt_lost_text(&result->lost[s], lost);
        printf("%c  %s: %" PRIu64 " events, lost %s\n", "AB"[s], diff -> sides[s].run.path,
               diff->sides[s].compared, lost);
    }
    if (result->events)
        print_counts(result);
    if (result->schema_count)
        print_schemas(result);
    if (result->losses)
        print_losses(result);
    for (size_t i = 0; i < diff->pair_count; i++)
        if (diff->pairs[i].at != NO_EVENT)
            print_pair(diff, &diff->pairs[i]);
    if (is_same(result))
        puts("the same");
    else
        printf(
            "\ndifferent: %zu counts of events, %zu fields or definitions, %zu causes of losses, "
            "%zu threads\n",
            result->events, result->schema_count, result->losses, result->threads);
}

static void json_event(struct wt_json *json, const struct wt_metadata *metadata)
{
    wt_json_object(json, NULL);
    wt_json_string(json, "provider", metadata ? metadata->provider_name : "");
    wt_json_i64(json, "id", metadata ? metadata->event_id : 0);
    wt_json_i64(json, "version", metadata ? metadata->version : 0);
    wt_json_string(json, "name", metadata ? metadata->event_name : "");
}

static void json_pair(struct wt_json *json, const struct diff *diff, const struct diff_pair *pair)
{
    wt_json_object(json, NULL);
    wt_json_string(json, "name", name_of(diff, pair));
    wt_json_u64(json, "at", pair->at);
    for (int s = 0; s < 2; s++) {
        const struct diff_thread *thread = thread_of(diff, pair, s);
        wt_json_object(json, s == 0 ? "a" : "b");
        if (thread)
            wt_json_u64(json, "captureThread", diff->sides[s].ids[pair->index[s]]);
        else
            wt_json_null(json, "captureThread");
        wt_json_u64(json, "events", thread ? thread->count : 0);
        wt_json_verbatim(json, "event", thread && thread->shown ? thread->shown : "null");
        wt_json_end(json);
    }
    wt_json_end(json);
}

static void json_differences(struct wt_json *json, const struct diff *diff,
                             const struct result *result)
{
    wt_json_array(json, "events");
    for (size_t i = 0; i < result->row_count; i++) {
        const struct count_row *row = &result->rows[i];
        if (row->counts[0] == row->counts[1])
            continue;
        json_event(json, row->metadata);
        wt_json_u64(json, "a", row->counts[0]);
        wt_json_u64(json, "b", row->counts[1]);
        wt_json_end(json);
    }
    wt_json_end(json);
    wt_json_array(json, "schemas");
    for (size_t i = 0; i < result->schema_count; i++) {
        json_event(json, result->schemas[i].metadata);
        wt_json_string(json, "message", result->schemas[i].text ? result->schemas[i].text : "");
        wt_json_end(json);
    }
    wt_json_end(json);
    wt_json_array(json, "losses");
    for (int c = 0; c <= WT_CAUSE_COUNT; c++) {
        if (result->causes[c][0] == result->causes[c][1])
            continue;
        wt_json_object(json, NULL);
        wt_json_string(json, "cause", cause_text(c));
        wt_json_u64(json, "a", result->causes[c][0]);
        wt_json_u64(json, "b", result->causes[c][1]);
        wt_json_end(json);
    }
    wt_json_end(json);
    wt_json_array(json, "threads");
    for (size_t i = 0; i < diff->pair_count; i++)
        if (diff->pairs[i].at != NO_EVENT)
            json_pair(json, diff, &diff->pairs[i]);
    wt_json_end(json);
}

static void print_json(const struct diff *diff, const struct result *result)
{
    struct wt_json json;
    wt_json_init(&json, stdout, true);
    wt_json_object(&json, NULL);
    for (int s = 0; s < 2; s++) {
        const struct diff_side *side = &diff->sides[s];
        wt_json_object(&json, s == 0 ? "a" : "b");
        wt_json_string(&json, "file", side->run.path);
        wt_json_u64(&json, "eventCount", side->compared);
        wt_lost_json(&result->lost[s], &json);
        wt_json_end(&json);
    }
    wt_json_bool(&json, "same", is_same(result));
    json_differences(&json, diff, result);
    wt_json_end(&json);
}

/* --- The command. ---------------------------------------------------------------------------- */

static const char help[] =
    "usage: weir diff [OPTION]... A B\n"
    "\n"
    "Compares two traces of one program: the events that each provider has written, the\n"
    "definitions of events that both have, and the losses by cause. Times do not count. Events of\n"
    "the provider Weir are left out: they tell of the trace, and not of the program.\n"
    "\n"
    "  --events       also compare the events of each thread, one by one, by provider, name and\n"
    "                 fields, and show the first of each thread that differs. Threads of one name\n"
    "                 are compared in the order in which they appear. Reads both files twice, and\n"
    "                 keeps 8 bytes for each event\n"
    "  --ignore F     with --events, leave out fields called F, such as addresses\n" WT_FILTER_HELP
    "  --json         print one JSON object: a and b {file, eventCount, lost, lost_at_least,\n"
    "                 lost_unknown_after_ns}, same; and what differs: events [{provider, id,\n"
    "                 version, name, a, b}], schemas [{provider, id, version, name, message}],\n"
    "                 losses [{cause, a, b}], threads [{name, at (from 0), a and b\n"
    "                 {captureThread, events, event (as of weir dump --json, or null)}}]\n"
    "  --help         print this help\n"
    "\n"
    "Exit codes: 0 the same, 5 different, 1 failed, 2 usage; and if what was read is the same,\n"
    "3 events were lost, 4 truncated or unfinished: there may be differences in the rest.\n";

static int exit_code(const struct diff *diff, const struct result *result)
{
    int worst = WT_EXIT_OK;
    if (!is_same(result))
        return WT_EXIT_DIFFERENT;
    for (int s = 0; s < 2; s++) {
        int code = wt_run_exit(&diff->sides[s].run, diff->sides[s].tally.all.total);
        worst = code > worst ? code : worst;
    }
    return worst;
}

static int compare(struct diff *diff)
{
    struct result result;
    memset(&result, 0, sizeof(result));
    compare_counts(&result, diff);
    compare_schemas(&result, diff);
    compare_losses(&result, diff);
    for (size_t i = 0; i < diff->pair_count; i++)
        result.threads += diff->pairs[i].at != NO_EVENT;
    int code = exit_code(diff, &result);
    if (diff->as_json)
        print_json(diff, &result);
    else
        print_text(diff, &result);
    for (size_t i = 0; i < result.schema_count; i++)
        free(result.schemas[i].text);
    free(result.schemas);
    free(result.rows);
    return code;
}

static void free_diff(struct diff *diff)
{
    diff_events_fini(diff);
    for (int s = 0; s < 2; s++) {
        struct diff_side *side = &diff->sides[s];
        wt_run_close(&side->run);
        wt_filter_fini(&side->filter);
        wt_tally_fini(&side->tally);
        wt_schema_fini(&side->definitions);
        free(side->counts);
    }
}

static int run_diff(struct diff *diff)
{
    int code = WT_EXIT_FAILED;
    for (int s = 0; s < 2; s++) {
        struct diff_side *side = &diff->sides[s];
        side->diff = diff;
        side->counts = wt_grow(NULL, &side->count_count, 1, sizeof(uint64_t));
    }
    if (read_side(&diff->sides[0]) && read_side(&diff->sides[1])) {
        if (diff->with_events)
            diff_events_compare(diff);
        code = diff_events_show(diff) ? compare(diff) : WT_EXIT_FAILED;
        for (int s = 0; s < 2; s++)
            wt_filter_complain(&diff->sides[s].filter, &diff->sides[s].run);
    }
    return wt_finish_output(code);
}

static bool ignore(struct diff *diff, const char *field)
{
    diff->ignored = wt_grow(diff->ignored, &diff->ignored_capacity, diff->ignored_count + 1,
                            sizeof(*diff->ignored));
    diff->ignored[diff->ignored_count++] = field;
    return true;
}

/* False, after a message, if the option is wrong. */
static bool take_option(void *context, int option, const char *text)
{
    struct diff *diff = context;
    if (option == 'j')
        return diff->as_json = true;
    if (option == 'e')
        return diff->with_events = true;
    if (option == 'i')
        return ignore(diff, text);
    return wt_filter_option(&diff->sides[0].filter, option, text) &&
           wt_filter_option(&diff->sides[1].filter, option, text);
}

static bool take_files(struct diff *diff, int argc, char **argv)
{
    if (optind + 2 != argc) {
        wt_complain("diff: it takes two files, not %d", argc - optind);
        return false;
    }
    for (int s = 0; s < 2; s++)
        diff->sides[s].path = argv[optind + s];
    bool is_pipe[2] = {strcmp(argv[optind], "-") == 0, strcmp(argv[optind + 1], "-") == 0};
    if (is_pipe[0] && is_pipe[1])
        wt_complain("diff: only one of the two can be standard input");
    else if (diff->with_events && (is_pipe[0] || is_pipe[1]))
        wt_complain("diff: --events reads the files twice, and standard input only once; "
                    "save it in a file");
    else
        return true;
    return false;
}

static int run_arguments(struct diff *diff, int argc, char **argv)
{
    static const struct option table[] = {{"json", no_argument, NULL, 'j'},
                                          {"events", no_argument, NULL, 'e'},
                                          {"ignore", required_argument, NULL, 'i'},
                                          {"help", no_argument, NULL, 'h'},
                                          WT_FILTER_OPTIONS,
                                          {NULL, 0, NULL, 0}};
    static const struct wt_options options = {help, "h", table, take_option};
    int code;
    if (!wt_options_take(&options, diff, argc, argv, &code))
        return code;
    return take_files(diff, argc, argv) ? run_diff(diff) : WT_EXIT_USAGE;
}

int wt_diff_main(int argc, char **argv)
{
    struct diff diff;
    memset(&diff, 0, sizeof(diff));
    int code = run_arguments(&diff, argc, argv);
    free_diff(&diff);
    return code;
}
