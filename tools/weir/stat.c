/* weir stat: counts of a trace. */
#include "stat.h"
#include "csv.h"
#include "options.h"
#include "table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void on_trace(void *context, const struct wt_trace_info *info)
{
    struct stat *stat = context;
    wt_span_apply(&stat->span, stat->run.reader, info);
}

static void on_metadata(void *context, const struct wt_metadata *metadata)
{
    struct stat *stat = context;
    size_t at = (size_t)metadata->index + 1;
    stat->rows = wt_grow(stat->rows, &stat->row_capacity, at + 1, sizeof(*stat->rows));
    stat->row_count = at + 1;
    stat->rows[at].metadata = metadata;
    wt_tally_define(&stat->tally, metadata);
    wt_filter_define(&stat->filter, metadata);
}

static struct stat_thread *thread_row_of(struct stat *stat, const struct wt_event *event)
{
    stat->threads = wt_grow(stat->threads, &stat->thread_capacity, (size_t)event->thread->index + 1,
                            sizeof(*stat->threads));
    return &stat->threads[event->thread->index];
}

static void note_time(struct stat *stat, int64_t time)
{
    if (!stat->any) {
        stat->any = true;
        stat->first_time = stat->last_time = time;
    }
    if (time < stat->first_time)
        stat->first_time = time;
    if (time > stat->last_time)
        stat->last_time = time;
}

static void count(struct stat *stat, const struct stat_step *step)
{
    struct stat_row *row = &stat->rows[step->row];
    stat->counted++;
    row->count++;
    row->payload_bytes += step->payload_size;
    stat->payload_bytes += step->payload_size;
    stat->threads[step->thread].events++;
    note_time(stat, step->time);
}

static void keep(struct stat *stat, const struct stat_step *step)
{
    size_t at = (size_t)((stat->filter.passed - 1) % stat->last);
    stat->ring = wt_grow(stat->ring, &stat->ring_capacity, at + 1, sizeof(*stat->ring));
    stat->ring[at] = *step;
}

static void count_kept(struct stat *stat)
{
    for (uint64_t i = 0; i < stat->filter.passed && i < stat->last; i++)
        count(stat, &stat->ring[i]);
    free(stat->ring);
}

static void on_event(void *context, const struct wt_event *event)
{
    struct stat *stat = context;
    struct stat_thread *thread = thread_row_of(stat, event);
    if (event->thread->events == 1)
        thread->id = event->thread_id;
    wt_tally_event(&stat->tally, event);
    if (!wt_filter_event(&stat->filter, event))
        return;
    const struct stat_step step = {
        .row = event->metadata->undefined ? 0 : (size_t)event->metadata->index + 1,
        .thread = event->thread->index,
        .payload_size = event->payload_size,
        .time = event->time};
    if (!stat->last_set)
        count(stat, &step);
    else if (stat->last > 0)
        keep(stat, &step);
}

static int compare_names(const struct stat_row *a, const struct stat_row *b)
{
    if (!a->metadata || !b->metadata)
        return (a->metadata != NULL) - (b->metadata != NULL);
    int order = strcmp(a->metadata->provider_name, b->metadata->provider_name);
    if (order == 0)
        order = (a->metadata->event_id > b->metadata->event_id) -
                (a->metadata->event_id < b->metadata->event_id);
    if (order == 0)
        order = (a->metadata->version > b->metadata->version) -
                (a->metadata->version < b->metadata->version);
    return order ? order : strcmp(a->metadata->event_name, b->metadata->event_name);
}

static int by_name(const void *a, const void *b)
{
    return compare_names(a, b);
}

static int by_count(const void *a, const void *b)
{
    const struct stat_row *left = a;
    const struct stat_row *right = b;
    if (left->count != right->count)
        return left->count < right->count ? 1 : -1;
    return compare_names(left, right);
}

/* One row per name, the most frequent first; definitions without events are dropped. */
static void merge_rows(struct stat *stat)
{
    size_t kept = 0;
    qsort(stat->rows, stat->row_count, sizeof(*stat->rows), by_name);
    for (size_t i = 0; i < stat->row_count; i++) {
        struct stat_row row = stat->rows[i];
        if (row.count == 0)
            continue;
        if (kept > 0 && compare_names(&stat->rows[kept - 1], &row) == 0) {
            stat->rows[kept - 1].count += row.count;
            stat->rows[kept - 1].payload_bytes += row.payload_bytes;
        } else {
            stat->rows[kept++] = row;
        }
    }
    stat->row_count = kept;
    qsort(stat->rows, stat->row_count, sizeof(*stat->rows), by_count);
}

int64_t stat_duration_ns(const struct stat *stat)
{
    const struct wt_trace_info *info = wt_reader_trace(stat->run.reader);
    if (!info || !stat->any)
        return 0;
    return wt_time_relative_ns(info, stat->last_time) - wt_time_relative_ns(info, stat->first_time);
}

double stat_rate(const struct stat *stat, uint64_t count)
{
    int64_t ns = stat_duration_ns(stat);
    return ns > 0 ? (double)count * 1e9 / (double)ns : 0;
}

double stat_bytes_per_event(const struct wt_totals *totals)
{
    return totals->events ? (double)totals->bytes / (double)totals->events : 0;
}

uint64_t stat_unknown(uint64_t lost, uint64_t told)
{
    return lost > told ? lost - told : 0;
}

/* The threads that pass; those that have not written an event, too. */
static uint64_t thread_count(const struct stat *stat)
{
    uint64_t count = 0;
    const struct wt_thread *thread;
    for (uint32_t i = 0; (thread = wt_reader_thread(stat->run.reader, i)); i++)
        count += wt_filter_thread(&stat->filter, thread);
    return count;
}

static void print_counts(const struct stat *stat)
{
    const struct wt_totals *totals = wt_reader_totals(stat->run.reader);
    const bool is_filtered = wt_filter_is_set(&stat->filter);
    printf("events     %" PRIu64, stat->counted);
    if (stat->last_set)
        printf(", the last of %" PRIu64 "%s", stat->filter.passed,
               is_filtered ? " that pass the filters" : "");
    else if (is_filtered)
        printf(" of %" PRIu64 " pass the filters", totals->events);
    printf(", %" PRIu64 " payload bytes, %.0f per second\n", stat->payload_bytes,
           stat_rate(stat, stat->counted));
    printf("threads    %" PRIu64, thread_count(stat));
    if (stat->filter.threads.count)
        printf(" of %" PRIu64, totals->threads);
    putchar('\n');
}

static void print_head(const struct stat *stat)
{
    const struct wt_totals *totals = wt_reader_totals(stat->run.reader);
    const struct wt_trace_info *info = wt_reader_trace(stat->run.reader);
    const struct wt_lost lost = wt_filter_lost(&stat->filter, &stat->tally, stat->run.reader);
    char utc[40], seconds[40], lost_text[80];
    printf("trace      %s\n", stat->run.path);
    if (info) {
        printf("process    %" PRId32 ", %" PRId32 " processors, %" PRId32 "-byte pointers\n",
               info->process_id, info->processors, info->pointer_size);
        printf("clock      %" PRId64 " ticks per second, sampling %" PRId32 " ns\n",
               info->frequency, info->sampling_ns);
        wt_time_utc_text(info, info->sync_ticks, utc);
        printf("started    %s\n", utc);
    }
    if (info && stat->any) {
        wt_time_utc_text(info, stat->first_time, utc);
        wt_seconds_text(wt_time_relative_ns(info, stat->first_time), seconds);
        printf("first      %s  %s s\n", utc, seconds);
        wt_time_utc_text(info, stat->last_time, utc);
        wt_seconds_text(wt_time_relative_ns(info, stat->last_time), seconds);
        printf("last       %s  %s s\n", utc, seconds);
        wt_seconds_text(stat_duration_ns(stat), seconds);
        printf("duration   %s s\n", seconds);
    }
    if (wt_span_is_set(&stat->span))
        printf("size       %" PRIu64 " bytes up to the end of the part, %" PRIu64 " read\n",
               totals->bytes, totals->bytes_read);
    else
        printf("size       %" PRIu64 " bytes, %.1f per event\n", totals->bytes,
               stat_bytes_per_event(totals));
    printf("blocks     %" PRIu64 " event, %" PRIu64 " metadata, %" PRIu64 " stack, %" PRIu64
           " sequence point\n",
           totals->blocks[WT_BLOCK_EVENT], totals->blocks[WT_BLOCK_METADATA],
           totals->blocks[WT_BLOCK_STACK], totals->blocks[WT_BLOCK_POINT]);
    printf("defined    %" PRIu64 " events (%" PRIu64 " with V5 tags), %" PRIu64 " stacks\n",
           totals->metadata, totals->v5_tags, totals->stacks);
    print_counts(stat);
    wt_lost_text(&lost, lost_text);
    printf("lost       %s\n", lost_text);
    if (totals->steps_back)
        printf("back       %" PRIu64 " times a number was not above the last\n",
               totals->steps_back);
    if (wt_reader_error(stat->run.reader)->status != WT_END)
        printf("ended      %s\n", wt_reader_error(stat->run.reader)->text);
}

static void print_events(const struct stat *stat)
{
    static const bool right[] = {false, false, true, true, true, true, true};
    struct wt_table table;
    wt_table_init(&table, 7, right);
    static const char *const heads[] = {"provider", "event",         "id",      "version",
                                        "count",    "payload bytes", "events/s"};
    for (size_t i = 0; i < 7; i++)
        wt_table_text(&table, heads[i]);
    for (size_t i = 0; i < stat->row_count; i++) {
        const struct stat_row *row = &stat->rows[i];
        const struct wt_metadata *metadata = row->metadata;
        wt_table_text(&table, metadata ? metadata->provider_name : "(undefined)");
        wt_table_text(&table, metadata && *metadata->event_name ? metadata->event_name : "-");
        wt_table_format(&table, "%" PRId32, metadata ? metadata->event_id : 0);
        wt_table_format(&table, "%" PRId32, metadata ? metadata->version : 0);
        wt_table_u64(&table, row->count);
        wt_table_u64(&table, row->payload_bytes);
        wt_table_format(&table, "%.1f", stat_rate(stat, row->count));
    }
    putchar('\n');
    wt_table_print(&table, stdout);
}

struct stat_thread stat_thread_of(const struct stat *stat, const struct wt_thread *thread)
{
    static const struct stat_thread none;
    return thread->index < stat->thread_capacity ? stat->threads[thread->index] : none;
}

uint64_t stat_unknown_total(const struct stat *stat)
{
    uint64_t sum = 0;
    const struct wt_thread *thread;
    for (uint32_t i = 0; (thread = wt_reader_thread(stat->run.reader, i)); i++)
        if (wt_filter_thread(&stat->filter, thread))
            sum += stat_unknown(thread->lost,
                                wt_tally_of(&stat->tally, thread->capture_thread)->total);
    return sum;
}

static bool any_is_named(const struct stat *stat)
{
    const struct wt_thread *thread;
    for (uint32_t i = 0; (thread = wt_reader_thread(stat->run.reader, i)); i++)
        if (thread->name && wt_filter_thread(&stat->filter, thread))
            return true;
    return false;
}

struct thread_columns {
    bool causes[WT_CAUSE_COUNT];
    bool unknown, named, is_known;
};

/* Only the causes that occur get a column, and names. */
static void print_thread_heads(struct wt_table *table, const struct thread_columns *columns)
{
    wt_table_text(table, "capture thread");
    wt_table_text(table, "OS thread");
    if (columns->named)
        wt_table_text(table, "name");
    wt_table_text(table, "events");
    wt_table_text(table, columns->is_known ? "lost" : "lost at least");
    for (int c = 0; c < WT_CAUSE_COUNT; c++)
        if (columns->causes[c])
            wt_table_text(table, wt_cause_name((enum wt_cause)c));
    if (columns->unknown)
        wt_table_text(table, "unknown");
}

static void print_thread(struct wt_table *table, const struct stat *stat,
                         const struct thread_columns *columns, const struct wt_thread *thread)
{
    const struct wt_told *told = wt_tally_of(&stat->tally, thread->capture_thread);
    const struct stat_thread row = stat_thread_of(stat, thread);
    wt_table_u64(table, thread->capture_thread);
    if (thread->events)
        wt_table_u64(table, row.id);
    else
        wt_table_text(table, "-");
    if (columns->named)
        wt_table_text(table, thread->name ? thread->name : "-");
    wt_table_u64(table, row.events);
    wt_table_u64(table, columns->is_known ? thread->lost : wt_lost_at_least(&stat->tally, thread));
    for (int c = 0; c < WT_CAUSE_COUNT; c++)
        if (columns->causes[c])
            wt_table_u64(table, told->causes[c]);
    if (columns->unknown)
        wt_table_u64(table, stat_unknown(thread->lost, told->total));
}

static void print_threads(const struct stat *stat)
{
    bool right[6 + WT_CAUSE_COUNT];
    const struct wt_told all = wt_filter_told(&stat->filter, &stat->tally, stat->run.reader);
    struct thread_columns columns = {.unknown = stat_unknown_total(stat) > 0,
                                     .named = any_is_named(stat),
                                     .is_known = wt_lost_is_known(stat->run.reader)};
    size_t causes = 0;
    for (int c = 0; c < WT_CAUSE_COUNT; c++)
        causes += columns.causes[c] = all.causes[c] > 0;
    struct wt_table table;
    memset(right, true, sizeof right);
    right[2] = !columns.named;
    wt_table_init(&table, 4 + causes + columns.unknown + columns.named, right);
    print_thread_heads(&table, &columns);
    const struct wt_thread *thread;
    for (uint32_t i = 0; (thread = wt_reader_thread(stat->run.reader, i)); i++)
        if (wt_filter_thread(&stat->filter, thread))
            print_thread(&table, stat, &columns, thread);
    putchar('\n');
    wt_table_print(&table, stdout);
}

/* --- CSV. ------------------------------------------------------------------------------------ */

static void print_csv_events(const struct stat *stat)
{
    struct wt_csv csv = {stdout, false};
    wt_csv_head(&csv, "provider event id version count payload_bytes");
    for (size_t i = 0; i < stat->row_count; i++) {
        const struct stat_row *row = &stat->rows[i];
        wt_csv_text(&csv, row->metadata ? row->metadata->provider_name : "");
        wt_csv_text(&csv, row->metadata ? row->metadata->event_name : "");
        wt_csv_i64(&csv, row->metadata ? row->metadata->event_id : 0);
        wt_csv_i64(&csv, row->metadata ? row->metadata->version : 0);
        wt_csv_u64(&csv, row->count);
        wt_csv_u64(&csv, row->payload_bytes);
        wt_csv_end(&csv);
    }
}

#define CAUSE_COLUMN(name) " " #name

static void print_csv_threads(const struct stat *stat)
{
    struct wt_csv csv = {stdout, false};
    const struct wt_thread *thread;
    wt_csv_head(&csv, "capture_thread thread name events lost lost_at_least" WT_CAUSES(
                          CAUSE_COLUMN) " unknown");
    for (uint32_t i = 0; (thread = wt_reader_thread(stat->run.reader, i)); i++) {
        const struct wt_told *told = wt_tally_of(&stat->tally, thread->capture_thread);
        const struct stat_thread row = stat_thread_of(stat, thread);
        if (!wt_filter_thread(&stat->filter, thread))
            continue;
        wt_csv_u64(&csv, thread->capture_thread);
        wt_csv_u64(&csv, row.id);
        wt_csv_text(&csv, thread->name ? thread->name : "");
        wt_csv_u64(&csv, row.events);
        if (wt_lost_is_known(stat->run.reader))
            wt_csv_u64(&csv, thread->lost);
        else
            wt_csv_text(&csv, "");
        wt_csv_u64(&csv, wt_lost_at_least(&stat->tally, thread));
        for (int c = 0; c < WT_CAUSE_COUNT; c++)
            wt_csv_u64(&csv, told->causes[c]);
        wt_csv_u64(&csv, stat_unknown(thread->lost, told->total));
        wt_csv_end(&csv);
    }
}

#define NAME_IN_HELP(name) #name ", "
static const char help[] =
    "usage: weir stat [OPTION]... FILE\n"
    "\n"
    "Counts what is in a trace: events per provider and id, threads, bytes, losses by cause.\n"
    "FILE may be - for standard input. Memory does not grow with the length of the trace.\n"
    "\n"
    "A loss is a number missing in a capture thread. Its causes come from Weir/Loss events;\n"
    "losses without one are \"unknown\". A file without its end tag is truncated or unfinished:\n"
    "its losses are known up to its last sequence point, and all counts of losses are lower\n"
    "bounds. The text is then \"lost unknown after 1.234 s\", or \"lost at least 12, unknown\n"
    "after 1.234 s\".\n"
    "\n" WT_FILTER_HELP WT_SPAN_HELP WT_SPAN_READ_HELP
    "  --last N       count only the last N events that pass; losses are as without it\n"
    "  --csv          print the table of events as CSV (RFC 4180), with the columns provider,\n"
    "                 event, id, version, count, payload_bytes; --csv=threads: that of threads,\n"
    "                 capture_thread, thread, name, events, lost (empty if unknown),\n"
    "                 lost_at_least, the causes, unknown\n"
    "  --json         print one JSON object with these members; later versions may add more:\n"
    "             file, status (complete, truncated, error), message, offset; with\n"
    "             filters filter {provider, event, thread, passed, of}, and then the counts,\n"
    "             times and rates of events are of those that pass;\n"
    "             processId, processors, pointerSize, samplingNs, frequency, syncTicks, syncUtc;\n"
    "             firstUtc, lastUtc, firstTicks, lastTicks, firstNs, lastNs (since syncTicks),\n"
    "             durationNs, if there are events;\n"
    "             bytes (up to the place that was reached), bytes_read,\n"
    "             bytesPerEvent (null for a part), eventBlocks, metadataBlocks, stackBlocks,\n"
    "             sequencePoints, definitions, definitionsWithV5Tags, stacks, eventCount,\n"
    "             payloadBytes,\n"
    "             eventsPerSecond, lost (null if unknown), lost_at_least,\n"
    "             lost_unknown_after_ns (since syncTicks; null if lost is known), stepsBack,\n"
    "             causes: {" WT_CAUSES(
        NAME_IN_HELP) "unknown};\n"
                      "             events: [{provider, id, version, name, count, payloadBytes, "
                      "eventsPerSecond,\n"
                      "                       undefined}], the most frequent first;\n"
                      "             threads: [{captureThread, thread, name, events, lost, "
                      "lost_at_least, "
                      "stepsBack,\n"
                      "                        lastNumber, causes}]\n"
                      "  --help         print this help\n"
                      "\n"
                      "Exit codes: 0 fine, 1 failed, 2 usage, 3 read but events were lost,\n"
                      "4 truncated or unfinished: all that is there is counted, losses are "
                      "unknown.\n";

static void print(const struct stat *stat)
{
    if (stat->as_json) {
        stat_print_json(stat);
    } else if (stat->csv == STAT_CSV_THREADS) {
        print_csv_threads(stat);
    } else if (stat->csv == STAT_CSV_EVENTS) {
        print_csv_events(stat);
    } else {
        print_head(stat);
        print_events(stat);
        print_threads(stat);
    }
    wt_filter_complain(&stat->filter, &stat->run);
}

static int run_stat(struct stat *stat, const char *path)
{
    static const struct wt_handlers handlers = {
        .trace = on_trace, .metadata = on_metadata, .event = on_event};
    stat->rows = wt_grow(NULL, &stat->row_capacity, 1, sizeof(*stat->rows));
    stat->row_count = 1;
    int code = WT_EXIT_FAILED;
    if (wt_run_open(&stat->run, path, NULL, &handlers, stat)) {
        wt_run_read(&stat->run);
        count_kept(stat);
        merge_rows(stat);
        print(stat);
        code = wt_run_exit(&stat->run, stat->tally.all.total);
    }
    wt_run_close(&stat->run);
    free(stat->rows);
    free(stat->threads);
    wt_tally_fini(&stat->tally);
    return wt_finish_output(code);
}

static bool take_table(struct stat *stat, const char *text)
{
    stat->csv = STAT_CSV_EVENTS;
    if (!text || strcmp(text, "events") == 0)
        return true;
    stat->csv = STAT_CSV_THREADS;
    if (strcmp(text, "threads") == 0)
        return true;
    wt_complain("--csv has a table of events and one of threads, not of \"%s\"", text);
    return false;
}

/* False, after a message, if the option is wrong. */
static bool take_option(void *context, int option, const char *text)
{
    struct stat *stat = context;
    if (option == 'j')
        return stat->as_json = true;
    if (option == 'c')
        return take_table(stat, text);
    if (option == 'l') {
        stat->last_set = true;
        return wt_parse_count("--last", text, &stat->last);
    }
    if (option == WT_OPTION_FROM || option == WT_OPTION_TO)
        return wt_span_take(&stat->span, option, text);
    return wt_filter_option(&stat->filter, option, text);
}

static int run_arguments(struct stat *stat, int argc, char **argv)
{
    static const struct option table[] = {{"json", no_argument, NULL, 'j'},
                                          {"csv", optional_argument, NULL, 'c'},
                                          {"last", required_argument, NULL, 'l'},
                                          {"help", no_argument, NULL, 'h'},
                                          WT_FILTER_OPTIONS,
                                          WT_SPAN_OPTIONS,
                                          {NULL, 0, NULL, 0}};
    static const struct wt_options options = {help, "h", table, take_option};
    int code;
    if (!wt_options_take(&options, stat, argc, argv, &code))
        return code;
    if (!wt_options_one_form(argv[0], stat->as_json, stat->csv))
        return WT_EXIT_USAGE;
    const char *path = wt_one_file(argc, argv, optind);
    return path ? run_stat(stat, path) : WT_EXIT_USAGE;
}

int wt_stat_main(int argc, char **argv)
{
    struct stat stat;
    memset(&stat, 0, sizeof(stat));
    int code = run_arguments(&stat, argc, argv);
    wt_filter_fini(&stat.filter);
    return code;
}
