/* weir report: calls and times of functions, from the call and return events of a host. */
#include "call_tree.h"
#include "json.h"
#include "lost.h"
#include "table.h"
#include "tool.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PROVIDERS_MAX 64u

enum event_kind {
    KIND_OTHER,
    KIND_CALL,
    KIND_TAIL_CALL,
    KIND_RETURN,
    KIND_FRAME,
    KIND_FUNCTION,
    KIND_CREATE,
    KIND_RESUME,
    KIND_YIELD,
    KIND_COUNT
};

static const char *const kind_names[KIND_COUNT] = {"",
                                                   "Call",
                                                   "TailCall",
                                                   "Return",
                                                   "Frame",
                                                   "Function",
                                                   "CoroutineCreate",
                                                   "CoroutineResume",
                                                   "CoroutineYield"};

/* Where the fields of a definition are; -1 if it lacks them. */
struct binding {
    enum event_kind kind;
    uint32_t provider;
    int function, coroutine, other; /* other: From or To */
    int finished;
    int name, file, line, function_kind;
};

struct function_info {
    char *name, *file, *kind;
    int64_t line;
};

struct provider {
    const char *name;
    struct call_tree tree;
    struct function_info *infos; /* by function index */
    size_t info_capacity;
    uint64_t *thread_calls; /* by thread index */
    size_t thread_capacity;
};

enum order { BY_INCLUSIVE, BY_EXCLUSIVE, BY_CALLS };

struct report {
    struct wt_run run;
    bool json;
    uint64_t top;
    enum order order;
    struct provider *providers;
    size_t provider_count, provider_capacity;
    bool too_many;
    struct wt_tally tally;
    struct binding *bindings; /* by metadata index */
    size_t binding_capacity;
    int64_t *last_times; /* by thread index */
    size_t thread_capacity;
    int64_t last_time;
    bool any;
};

static bool is_integer(enum wt_type type)
{
    return type >= WT_TYPE_SBYTE && type <= WT_TYPE_UINT64;
}

static int find(const struct wt_metadata *metadata, const char *name, enum wt_type type)
{
    int index = wt_field_index(metadata, name);
    if (index < 0)
        return -1;
    enum wt_type is = metadata->fields[index].type;
    return is == type || (is_integer(type) && is_integer(is)) ? index : -1;
}

/* Index of the provider, or PROVIDERS_MAX if there are too many. */
static uint32_t provider_of(struct report *report, const char *name)
{
    for (size_t i = 0; i < report->provider_count; i++)
        if (strcmp(report->providers[i].name, name) == 0)
            return (uint32_t)i;
    if (report->provider_count == PROVIDERS_MAX) {
        report->too_many = true;
        return PROVIDERS_MAX;
    }
    report->providers = wt_grow(report->providers, &report->provider_capacity,
                                report->provider_count + 1, sizeof(*report->providers));
    report->providers[report->provider_count].name = name;
    return (uint32_t)report->provider_count++;
}

static void on_metadata(void *context, const struct wt_metadata *metadata)
{
    struct report *report = context;
    wt_tally_define(&report->tally, metadata);
    report->bindings = wt_grow(report->bindings, &report->binding_capacity,
                               (size_t)metadata->index + 1, sizeof(*report->bindings));
    struct binding *binding = &report->bindings[metadata->index];
    for (int kind = KIND_CALL; kind < KIND_COUNT; kind++)
        if (strcmp(metadata->event_name, kind_names[kind]) == 0)
            binding->kind = (enum event_kind)kind;
    binding->function = find(metadata, "FunctionId", WT_TYPE_UINT64);
    binding->coroutine = find(metadata, "Coroutine", WT_TYPE_UINT64);
    int needed = binding->kind >= KIND_CREATE ? binding->coroutine : binding->function;
    if (needed < 0)
        binding->kind = KIND_OTHER;
    if (binding->kind == KIND_OTHER)
        return;
    binding->other = find(metadata, binding->kind == KIND_RESUME ? "From" : "To", WT_TYPE_UINT64);
    binding->finished = find(metadata, "Finished", WT_TYPE_BOOLEAN);
    if (binding->finished < 0)
        binding->finished = find(metadata, "Finished", WT_TYPE_BYTE); /* bool8 */
    binding->name = find(metadata, "Name", WT_TYPE_STRING);
    binding->file = find(metadata, "File", WT_TYPE_STRING);
    binding->line = find(metadata, "Line", WT_TYPE_INT32);
    binding->function_kind = wt_field_index(metadata, "Kind"); /* a string, or an enum */
    binding->provider = provider_of(report, metadata->provider_name);
    if (binding->provider == PROVIDERS_MAX)
        binding->kind = KIND_OTHER;
}

static bool take_number(const struct wt_event *event, int field, uint64_t *number)
{
    struct wt_value value;
    if (!wt_field_get(event->metadata, field, event->payload, event->payload_size, &value))
        return false;
    *number = value.kind == WT_VALUE_SIGNED ? (uint64_t)value.as.i : value.as.u;
    return true;
}

static void take_text(const struct wt_event *event, int field, char **text)
{
    struct wt_value value;
    if (!wt_field_get(event->metadata, field, event->payload, event->payload_size, &value))
        return;
    if (!value.name && value.kind != WT_VALUE_STRING)
        return;
    size_t capacity = 0,
           bytes = value.name ? strlen(value.name) + 1 : (size_t)value.size * 3 / 2 + 4;
    char *copy = wt_grow(NULL, &capacity, bytes, 1);
    if (value.name)
        strcpy(copy, value.name);
    else
        wt_utf16_to_utf8(value.bytes, value.size, copy, capacity);
    free(*text);
    *text = copy;
}

static void note_function(struct provider *provider, const struct binding *binding,
                          const struct wt_event *event, uint64_t id)
{
    size_t index = (size_t)(call_tree_function(&provider->tree, id) - provider->tree.functions);
    provider->infos =
        wt_grow(provider->infos, &provider->info_capacity, index + 1, sizeof(*provider->infos));
    struct function_info *info = &provider->infos[index];
    uint64_t line;
    take_text(event, binding->name, &info->name);
    take_text(event, binding->file, &info->file);
    take_text(event, binding->function_kind, &info->kind);
    if (take_number(event, binding->line, &line))
        info->line = (int64_t)line;
}

static void note_switch(struct call_tree *tree, const struct binding *binding,
                        const struct wt_event *event, uint64_t coroutine)
{
    uint32_t thread = event->thread->index;
    uint64_t other = 0, finished = 0;
    bool has_other = take_number(event, binding->other, &other);
    if (binding->kind == KIND_RESUME) {
        if (has_other)
            call_tree_resume(tree, thread, other, event->time);
        call_tree_resume(tree, thread, coroutine, event->time);
        return;
    }
    take_number(event, binding->finished, &finished);
    if (binding->kind == KIND_CREATE || finished)
        call_tree_end_task(tree, thread, coroutine, event->time);
    else
        call_tree_yield(tree, thread, coroutine, event->time);
    if (binding->kind == KIND_YIELD && has_other)
        call_tree_resume(tree, thread, other, event->time);
}

static void count_call(struct provider *provider, uint32_t thread)
{
    provider->thread_calls = wt_grow(provider->thread_calls, &provider->thread_capacity,
                                     (size_t)thread + 1, sizeof(*provider->thread_calls));
    provider->thread_calls[thread]++;
}

static void note_event(struct report *report, const struct binding *binding,
                       const struct wt_event *event)
{
    struct provider *provider = &report->providers[binding->provider];
    struct call_tree *tree = &provider->tree;
    uint32_t thread = event->thread->index;
    uint64_t function = 0, coroutine = 0;
    take_number(event, binding->coroutine, &coroutine);
    if (binding->kind == KIND_CALL || binding->kind == KIND_TAIL_CALL)
        count_call(provider, thread);
    if (binding->kind >= KIND_CREATE)
        note_switch(tree, binding, event, coroutine);
    else if (!take_number(event, binding->function, &function))
        return;
    else if (binding->kind == KIND_CALL)
        call_tree_call(tree, thread, coroutine, function, event->time);
    else if (binding->kind == KIND_TAIL_CALL)
        call_tree_tail_call(tree, thread, coroutine, function, event->time);
    else if (binding->kind == KIND_RETURN)
        call_tree_return(tree, thread, coroutine, function, event->time);
    else if (binding->kind == KIND_FRAME)
        call_tree_frame(tree, thread, coroutine, function, event->time);
    else
        note_function(provider, binding, event, function);
}

static void on_event(void *context, const struct wt_event *event)
{
    struct report *report = context;
    report->last_times = wt_grow(report->last_times, &report->thread_capacity,
                                 (size_t)event->thread->index + 1, sizeof(int64_t));
    report->last_times[event->thread->index] = event->time;
    if (!report->any || event->time > report->last_time)
        report->last_time = event->time;
    report->any = true;
    wt_tally_event(&report->tally, event);
    if (event->metadata->undefined)
        return;
    const struct binding *binding = &report->bindings[event->metadata->index];
    if (binding->kind != KIND_OTHER)
        note_event(report, binding, event);
}

static void on_gap(void *context, const struct wt_gap *gap)
{
    struct report *report = context;
    if (gap->back || gap->thread->index >= report->thread_capacity)
        return;
    for (size_t i = 0; i < report->provider_count; i++)
        call_tree_gap(&report->providers[i].tree, gap->thread->index,
                      report->last_times[gap->thread->index]);
}

struct line {
    const struct function_times *times;
    const struct function_info *info;
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

static uint64_t key_of(const struct function_times *times, enum order order)
{
    if (order == BY_CALLS)
        return times->calls;
    return order == BY_INCLUSIVE ? times->inclusive : times->exclusive;
}

/* The functions that were called or returned from, in order; frees with free(). */
static struct line *sort_lines(const struct report *report, const struct provider *provider,
                               size_t *count)
{
    static const struct function_info nothing;
    const struct call_tree *tree = &provider->tree;
    size_t capacity = 0;
    struct line *lines = wt_grow(NULL, &capacity, tree->function_count + 1, sizeof(*lines));
    *count = 0;
    for (size_t i = 0; i < tree->function_count; i++) {
        if (tree->functions[i].calls == 0 && tree->functions[i].inclusive == 0)
            continue;
        struct line *line = &lines[(*count)++];
        line->times = &tree->functions[i];
        line->info = i < provider->info_capacity ? &provider->infos[i] : &nothing;
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

static uint64_t total_of(const struct provider *provider)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < provider->tree.function_count; i++)
        sum += provider->tree.functions[i].exclusive;
    return sum;
}

static void print_function(struct wt_table *table, const struct report *report,
                           const struct line *line, int64_t total)
{
    const struct function_info *info = line->info;
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
                                        const struct provider *provider, size_t *count)
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

static void print_threads(const struct report *report, const struct provider *provider)
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

static void print_provider(const struct report *report, const struct provider *provider)
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
                           const struct provider *provider)
{
    size_t count;
    struct line *lines = sort_lines(report, provider, &count);
    wt_json_array(json, "functions");
    for (size_t i = 0; i < count; i++) {
        const struct function_info *info = lines[i].info;
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
                         const struct provider *provider)
{
    size_t count;
    struct thread_line *lines = sort_threads(report, provider, &count);
    wt_json_array(json, "threads");
    for (size_t i = 0; i < count; i++) {
        wt_json_object(json, NULL);
        wt_json_u64(json, "captureThread", lines[i].thread->capture_thread);
        if (lines[i].thread->name)
            wt_json_string(json, "name", lines[i].thread->name);
        else
            wt_json_null(json, "name");
        wt_json_u64(json, "calls", lines[i].calls);
        wt_json_end(json);
    }
    wt_json_end(json);
    free(lines);
}

static void json_provider(struct wt_json *json, const struct report *report,
                          const struct provider *provider)
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
    const struct wt_lost lost = wt_lost_of(&report->tally, report->run.reader);
    struct wt_json json;
    wt_json_init(&json, stdout, true);
    wt_json_object(&json, NULL);
    wt_json_string(&json, "file", report->run.path);
    wt_json_string(&json, "status", wt_status_word(wt_reader_error(report->run.reader)->status));
    wt_json_u64(&json, "eventCount", wt_reader_totals(report->run.reader)->events);
    wt_lost_json(&lost, &json);
    wt_json_array(&json, "providers");
    for (size_t i = 0; i < report->provider_count; i++)
        if (report->providers[i].tree.calls + report->providers[i].tree.returns > 0)
            json_provider(&json, report, &report->providers[i]);
    wt_json_end(&json);
    wt_json_end(&json);
}

static void print_text(const struct report *report)
{
    const struct wt_lost lost = wt_lost_of(&report->tally, report->run.reader);
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
    if (!any)
        printf("no calls: a report needs events named Call and Return with a field FunctionId\n");
}

static void free_report(struct report *report)
{
    for (size_t i = 0; i < report->provider_count; i++) {
        struct provider *provider = &report->providers[i];
        for (size_t f = 0; f < provider->info_capacity; f++) {
            free(provider->infos[f].name);
            free(provider->infos[f].file);
            free(provider->infos[f].kind);
        }
        free(provider->infos);
        free(provider->thread_calls);
        call_tree_fini(&provider->tree);
    }
    free(report->providers);
    wt_tally_fini(&report->tally);
    free(report->bindings);
    free(report->last_times);
}

static const char help[] =
    "usage: weir report [--top N] [--by inclusive|exclusive|calls] [--json] FILE\n"
    "\n"
    "Calls, inclusive and exclusive time per function, and calls per thread with its name (tail\n"
    "calls included), for each provider with events Call\n"
    "and Return that have a field FunctionId. TailCall, Frame (a function that was entered before\n"
    "calls were recorded: it has time and a return), Function (Name, File, Line, Kind),\n"
    "CoroutineCreate, CoroutineResume and CoroutineYield are used if they are there; a field\n"
    "Coroutine separates the stacks of one thread. FILE may be - for standard input.\n"
    "\n"
    "If a function calls itself, its inclusive time is counted once. The time in a coroutine\n"
    "counts for its resumer's inclusive time, not for its exclusive time; a coroutine that has\n"
    "yielded has neither. A tail call ends its caller. A return ends the frames above its own:\n"
    "an error skipped their returns. If numbers of a thread are missing, its open frames end at\n"
    "the last event before the gap; returns of calls before it are unmatched. Frames open at the\n"
    "end last until the last event of the trace. Percentages are of the total time in functions.\n"
    "\n"
    "  --top N    show N functions and threads (20); 0 shows all\n"
    "  --by KEY   order by inclusive (the default) or exclusive time, or by calls\n"
    "  --json     print one JSON object: file, status, eventCount, lost (null if unknown),\n"
    "             lost_at_least, lost_unknown_after_ns, providers [{provider, calls, tailCalls,\n"
    "             returns, unmatchedReturns, unwoundFrames, closedAtEnd, closedByGap, totalNs,\n"
    "             functions [{id, name, file, line, kind, calls, inclusiveNs, exclusiveNs}],\n"
    "             threads [{captureThread, name, calls}]}]\n"
    "  --help     print this help\n"
    "\n"
    "Exit codes: 0 fine, 1 failed, 2 usage, 3 read but events were lost,\n"
    "4 truncated or unfinished: all that is there is used, losses are unknown.\n";

static int run_report(struct report *report, const char *path)
{
    static const struct wt_handlers handlers = {
        .metadata = on_metadata, .event = on_event, .gap = on_gap};
    if (!wt_run_open(&report->run, path, NULL, &handlers, report))
        return WT_EXIT_FAILED;
    wt_run_read(&report->run);
    for (size_t i = 0; i < report->provider_count; i++)
        call_tree_finish(&report->providers[i].tree, report->last_time);
    if (report->too_many)
        wt_complain("only the first %u providers with calls are reported", PROVIDERS_MAX);
    if (report->json)
        print_json(report);
    else
        print_text(report);
    int code = wt_run_exit(&report->run, report->tally.all.total);
    free_report(report);
    wt_run_close(&report->run);
    return wt_finish_output(code);
}

static bool take_order(struct report *report, const char *text)
{
    static const char *const names[] = {"inclusive", "exclusive", "calls"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(text, names[i]) == 0) {
            report->order = (enum order)i;
            return true;
        }
    }
    wt_complain("--by needs inclusive, exclusive or calls, not \"%s\"", text);
    return false;
}

int wt_report_main(int argc, char **argv)
{
    static const struct option options[] = {{"json", no_argument, NULL, 'j'},
                                            {"top", required_argument, NULL, 't'},
                                            {"by", required_argument, NULL, 'b'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    struct report report;
    memset(&report, 0, sizeof(report));
    report.top = 20;
    int option;
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        bool good = false;
        if (option == 'h') {
            fputs(help, stdout);
            return wt_finish_output(WT_EXIT_OK);
        }
        if (option == 'j')
            good = report.json = true;
        else if (option == 't')
            good = wt_parse_count("--top", optarg, &report.top);
        else if (option == 'b')
            good = take_order(&report, optarg);
        else
            wt_complain("try: weir report --help");
        if (!good)
            return WT_EXIT_USAGE;
    }
    const char *path = wt_one_file(argc, argv, optind);
    return path ? run_report(&report, path) : WT_EXIT_USAGE;
}
