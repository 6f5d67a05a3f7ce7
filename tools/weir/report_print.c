#include "report.h"
#include "csv.h"
#include "table.h"

#include <inttypes.h>
#include <stdlib.h>

struct line {
    const struct function_times *times;
    const struct report_function *info;
    uint64_t key;
};

static int by_key(const void *a, const void *b)
{
    const struct line *left = a;
    const struct line *right = b;
    if (left->key != right->key)
        return left->key < right->key ? 1 : -1;
    return (left->times->id > right->times->id) - (left->times->id < right->times->id);
}

static uint64_t key_of(const struct function_times *times, enum report_order order)
{
    if (order == BY_CALLS)
        return times->calls;
    return order == BY_INCLUSIVE ? times->inclusive : times->exclusive;
}

/* The functions that were called or returned from, in order; frees with free(). */
static struct line *sort_lines(const struct report *report, const struct report_provider *provider,
                               size_t *count)
{
    static const struct report_function nothing;
    const struct call_tree *tree = &provider->tree;
    size_t capacity = 0;
    struct line *lines = wt_grow(NULL, &capacity, tree->function_count + 1, sizeof(*lines));
    *count = 0;
    for (size_t i = 0; i < tree->function_count; i++) {
        if (tree->functions[i].calls == 0 && tree->functions[i].inclusive == 0)
            continue;
        struct line *line = &lines[(*count)++];
        line->times = &tree->functions[i];
        line->info = i < provider->function_capacity ? &provider->functions[i] : &nothing;
        line->key = key_of(line->times, report->order);
    }
    qsort(lines, *count, sizeof(*lines), by_key);
    if (report->top && *count > report->top)
        *count = (size_t)report->top;
    return lines;
}

static int64_t ns_of(const struct report *report, uint64_t ticks)
{
    return wt_ticks_to_ns(wt_reader_trace(report->run.reader), (int64_t)ticks);
}

static uint64_t total_of(const struct report_provider *provider)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < provider->tree.function_count; i++)
        sum += provider->tree.functions[i].exclusive;
    return sum;
}

static void print_function(struct wt_table *table, const struct report *report,
                           const struct line *line, int64_t total)
{
    const struct report_function *info = line->info;
    int64_t inclusive = ns_of(report, line->times->inclusive);
    int64_t exclusive = ns_of(report, line->times->exclusive);
    double percent = total > 0 ? 100.0 / (double)total : 0;
    if (info->name && *info->name)
        wt_table_text(table, info->name);
    else
        wt_table_format(table, "#%" PRIu64, line->times->id);
    wt_table_u64(table, line->times->calls);
    wt_table_format(table, "%.3f", (double)inclusive / 1e6);
    wt_table_format(table, "%.1f", (double)inclusive * percent);
    wt_table_format(table, "%.3f", (double)exclusive / 1e6);
    wt_table_format(table, "%.1f", (double)exclusive * percent);
    if (!info->file || !*info->file)
        wt_table_text(table, info->kind ? info->kind : "");
    else if (info->line > 0)
        wt_table_format(table, "%.200s:%" PRId64, info->file, info->line);
    else
        wt_table_text(table, info->file);
}

struct thread_line {
    const struct wt_thread *thread;
    uint64_t calls;
};

static int by_calls(const void *a, const void *b)
{
    const struct thread_line *left = a;
    const struct thread_line *right = b;
    if (left->calls != right->calls)
        return left->calls < right->calls ? 1 : -1;
    return (left->thread->index > right->thread->index) -
           (left->thread->index < right->thread->index);
}

/* The threads that called something, in order; frees with free(). */
static struct thread_line *sort_threads(const struct report *report,
                                        const struct report_provider *provider, size_t *count)
{
    size_t capacity = 0;
    struct thread_line *lines =
        wt_grow(NULL, &capacity, provider->thread_capacity + 1, sizeof(*lines));
    *count = 0;
    for (uint32_t i = 0; i < provider->thread_capacity; i++)
        if (provider->thread_calls[i])
            lines[(*count)++] = (struct thread_line){wt_reader_thread(report->run.reader, i),
                                                     provider->thread_calls[i]};
    qsort(lines, *count, sizeof(*lines), by_calls);
    if (report->top && *count > report->top)
        *count = (size_t)report->top;
    return lines;
}

static void print_threads(const struct report *report, const struct report_provider *provider)
{
    static const bool right[] = {true, false, true};
    size_t count;
    struct thread_line *lines = sort_threads(report, provider, &count);
    struct wt_table table;
    wt_table_init(&table, 3, right);
    wt_table_text(&table, "capture thread");
    wt_table_text(&table, "name");
    wt_table_text(&table, "calls");
    for (size_t i = 0; i < count; i++) {
        wt_table_u64(&table, lines[i].thread->capture_thread);
        wt_table_text(&table, lines[i].thread->name ? lines[i].thread->name : "-");
        wt_table_u64(&table, lines[i].calls);
    }
    putchar('\n');
    wt_table_print(&table, stdout);
    free(lines);
}

static void print_provider(const struct report *report, const struct report_provider *provider)
{
    static const bool right[] = {false, true, true, true, true, true, false};
    static const char *const heads[] = {"function",     "calls", "inclusive ms", "%",
                                        "exclusive ms", "%",     "place"};
    const struct call_tree *tree = &provider->tree;
    int64_t total = ns_of(report, total_of(provider));
    printf("provider          %s\n", provider->name);
    printf("calls             %" PRIu64 " (%" PRIu64 " tail calls), %" PRIu64 " returns\n",
           tree->calls, tree->tail_calls, tree->returns);
    printf("unmatched returns %" PRIu64 "\n", tree->unmatched);
    printf("frames unwound    %" PRIu64 "\n", tree->unwound);
    printf("closed at the end %" PRIu64 "\n", tree->closed_at_end);
    printf("closed by a gap   %" PRIu64 "\n", tree->closed_by_gap);
    printf("time in functions %.3f ms\n\n", (double)total / 1e6);
    size_t count;
    struct line *lines = sort_lines(report, provider, &count);
    struct wt_table table;
    wt_table_init(&table, 7, right);
    for (size_t i = 0; i < 7; i++)
        wt_table_text(&table, heads[i]);
    for (size_t i = 0; i < count; i++)
        print_function(&table, report, &lines[i], total);
    wt_table_print(&table, stdout);
    free(lines);
    print_threads(report, provider);
}

static void json_functions(struct wt_json *json, const struct report *report,
                           const struct report_provider *provider)
{
    size_t count;
    struct line *lines = sort_lines(report, provider, &count);
    wt_json_array(json, "functions");
    for (size_t i = 0; i < count; i++) {
        const struct report_function *info = lines[i].info;
        wt_json_object(json, NULL);
        wt_json_u64(json, "id", lines[i].times->id);
        wt_json_string(json, "name", info->name ? info->name : "");
        wt_json_string(json, "file", info->file ? info->file : "");
        wt_json_i64(json, "line", info->line);
        wt_json_string(json, "kind", info->kind ? info->kind : "");
        wt_json_u64(json, "calls", lines[i].times->calls);
        wt_json_i64(json, "inclusiveNs", ns_of(report, lines[i].times->inclusive));
        wt_json_i64(json, "exclusiveNs", ns_of(report, lines[i].times->exclusive));
        wt_json_end(json);
    }
    wt_json_end(json);
    free(lines);
}

static void json_threads(struct wt_json *json, const struct report *report,
                         const struct report_provider *provider)
{
    size_t count;
    struct thread_line *lines = sort_threads(report, provider, &count);
    wt_json_array(json, "threads");
    for (size_t i = 0; i < count; i++) {
        wt_json_object(json, NULL);
        wt_json_u64(json, "captureThread", lines[i].thread->capture_thread);
        wt_json_string(json, "name", lines[i].thread->name);
        wt_json_u64(json, "calls", lines[i].calls);
        wt_json_end(json);
    }
    wt_json_end(json);
    free(lines);
}

static void json_provider(struct wt_json *json, const struct report *report,
                          const struct report_provider *provider)
{
    const struct call_tree *tree = &provider->tree;
    wt_json_object(json, NULL);
    wt_json_string(json, "provider", provider->name);
    wt_json_u64(json, "calls", tree->calls);
    wt_json_u64(json, "tailCalls", tree->tail_calls);
    wt_json_u64(json, "returns", tree->returns);
    wt_json_u64(json, "unmatchedReturns", tree->unmatched);
    wt_json_u64(json, "unwoundFrames", tree->unwound);
    wt_json_u64(json, "closedAtEnd", tree->closed_at_end);
    wt_json_u64(json, "closedByGap", tree->closed_by_gap);
    wt_json_i64(json, "totalNs", ns_of(report, total_of(provider)));
    json_functions(json, report, provider);
    json_threads(json, report, provider);
    wt_json_end(json);
}

static void print_json(const struct report *report)
{
    const struct wt_lost lost = wt_filter_lost(&report->filter, &report->tally, report->run.reader);
    struct wt_json json;
    wt_json_init(&json, stdout, true);
    wt_json_object(&json, NULL);
    wt_json_string(&json, "file", report->run.path);
    wt_json_string(&json, "status", wt_status_word(wt_reader_error(report->run.reader)->status));
    wt_json_u64(&json, "eventCount", wt_reader_totals(report->run.reader)->events);
    wt_filter_json(&report->filter, report->run.reader, &json);
    wt_lost_json(&lost, &json);
    wt_json_array(&json, "providers");
    for (size_t i = 0; i < report->provider_count; i++)
        if (report->providers[i].tree.calls + report->providers[i].tree.returns > 0)
            json_provider(&json, report, &report->providers[i]);
    wt_json_end(&json);
    wt_json_end(&json);
}

static bool is_part(const struct report *report)
{
    return wt_filter_is_set(&report->filter) || wt_span_is_set(&report->span) || report->last_set;
}

static uint64_t events_of(const struct report *report)
{
    uint64_t passed = report->filter.passed;
    return report->last_set && report->last < passed ? report->last : passed;
}

static void print_text(const struct report *report)
{
    const struct wt_lost lost = wt_filter_lost(&report->filter, &report->tally, report->run.reader);
    char lost_text[80];
    wt_lost_text(&lost, lost_text);
    printf("lost              %s\n\n", lost_text);
    bool any = false;
    for (size_t i = 0; i < report->provider_count; i++) {
        if (report->providers[i].tree.calls + report->providers[i].tree.returns == 0)
            continue;
        if (any)
            putchar('\n');
        any = true;
        print_provider(report, &report->providers[i]);
    }
    if (!any && is_part(report))
        printf("no calls among the %" PRIu64 " events of this part\n", events_of(report));
    else if (!any)
        printf("no calls: a report needs events named Call and Return with a field FunctionId\n");
}

static void csv_functions(struct wt_csv *csv, const struct report *report,
                          const struct report_provider *provider)
{
    size_t count;
    struct line *lines = sort_lines(report, provider, &count);
    for (size_t i = 0; i < count; i++) {
        const struct report_function *info = lines[i].info;
        wt_csv_text(csv, provider->name);
        wt_csv_u64(csv, lines[i].times->id);
        wt_csv_text(csv, info->name ? info->name : "");
        wt_csv_text(csv, info->file ? info->file : "");
        wt_csv_i64(csv, info->line);
        wt_csv_text(csv, info->kind ? info->kind : "");
        wt_csv_u64(csv, lines[i].times->calls);
        wt_csv_i64(csv, ns_of(report, lines[i].times->inclusive));
        wt_csv_i64(csv, ns_of(report, lines[i].times->exclusive));
        wt_csv_end(csv);
    }
    free(lines);
}

static void csv_threads(struct wt_csv *csv, const struct report *report,
                        const struct report_provider *provider)
{
    size_t count;
    struct thread_line *lines = sort_threads(report, provider, &count);
    for (size_t i = 0; i < count; i++) {
        wt_csv_text(csv, provider->name);
        wt_csv_u64(csv, lines[i].thread->capture_thread);
        wt_csv_text(csv, lines[i].thread->name ? lines[i].thread->name : "");
        wt_csv_u64(csv, lines[i].calls);
        wt_csv_end(csv);
    }
    free(lines);
}

static void print_csv(const struct report *report)
{
    const bool of_threads = report->csv == REPORT_CSV_THREADS;
    struct wt_csv csv = {stdout, false};
    wt_csv_head(&csv, of_threads
                          ? "provider capture_thread name calls"
                          : "provider id name file line kind calls inclusive_ns exclusive_ns");
    for (size_t i = 0; i < report->provider_count; i++) {
        if (of_threads)
            csv_threads(&csv, report, &report->providers[i]);
        else
            csv_functions(&csv, report, &report->providers[i]);
    }
}

void report_print(const struct report *report)
{
    if (report->as_json)
        print_json(report);
    else if (report->csv != REPORT_CSV_NONE)
        print_csv(report);
    else
        print_text(report);
}
