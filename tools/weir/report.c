/* weir report: calls and times of functions, from the call and return events of a host. */
#include "report.h"

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
struct report_binding {
    enum event_kind kind;
    uint32_t provider;
    int function, coroutine, other; /* other: From or To */
    int finished;
    int name, file, line, function_kind;
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
    wt_filter_define(&report->filter, metadata);
    report->bindings = wt_grow(report->bindings, &report->binding_capacity,
                               (size_t)metadata->index + 1, sizeof(*report->bindings));
    struct report_binding *binding = &report->bindings[metadata->index];
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
        memcpy(copy, value.name, bytes);
    else
        wt_utf16_to_utf8(value.bytes, value.size, copy, capacity);
    free(*text);
    *text = copy;
}

static void note_function(struct report_provider *provider, const struct report_binding *binding,
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

static void note_switch(struct call_tree *tree, const struct report_binding *binding,
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

static void count_call(struct report_provider *provider, uint32_t thread)
{
    provider->thread_calls = wt_grow(provider->thread_calls, &provider->thread_capacity,
                                     (size_t)thread + 1, sizeof(*provider->thread_calls));
    provider->thread_calls[thread]++;
}

static void note_event(struct report *report, const struct report_binding *binding,
                       const struct wt_event *event)
{
    struct report_provider *provider = &report->providers[binding->provider];
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
    bool passes = wt_filter_event(&report->filter, event);
    if (event->metadata->undefined)
        return;
    const struct report_binding *binding = &report->bindings[event->metadata->index];
    /* What a function is called comes on any thread, also for the calls that pass. */
    if (binding->kind == KIND_FUNCTION || (passes && binding->kind != KIND_OTHER))
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

static void free_report(struct report *report)
{
    for (size_t i = 0; i < report->provider_count; i++) {
        struct report_provider *provider = &report->providers[i];
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
    "usage: weir report [--top N] [--by inclusive|exclusive|calls] [OPTION]... FILE\n"
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
    "  --top N        show N functions and threads (20); 0 shows all\n"
    "  --by KEY       order by inclusive (the default) or exclusive time, or by "
    "calls\n" WT_FILTER_HELP
    "                 Events Function are used whether they pass or not: they only give names\n"
    "  --csv          print the table of functions as CSV (RFC 4180), with the columns provider,\n"
    "                 id, name, file, line, kind, calls, inclusive_ns, exclusive_ns;\n"
    "                 --csv=threads: that of threads, provider, capture_thread, name, calls\n"
    "  --json         print one JSON object: file, status, eventCount (of the file), filter, lost\n"
    "                 (null if unknown), lost_at_least, lost_unknown_after_ns,\n"
    "                 providers [{provider, calls, tailCalls, returns, unmatchedReturns,\n"
    "                 unwoundFrames, closedAtEnd, closedByGap, totalNs,\n"
    "                 functions [{id, name, file, line, kind, calls, inclusiveNs, exclusiveNs}],\n"
    "                 threads [{captureThread, name, calls}]}]\n"
    "  --help         print this help\n"
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
    report_print(report);
    wt_filter_complain(&report->filter, &report->run);
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
            report->order = (enum report_order)i;
            return true;
        }
    }
    wt_complain("--by needs inclusive, exclusive or calls, not \"%s\"", text);
    return false;
}

static bool take_table(struct report *report, const char *text)
{
    report->csv = REPORT_CSV_FUNCTIONS;
    if (!text || strcmp(text, "functions") == 0)
        return true;
    report->csv = REPORT_CSV_THREADS;
    if (strcmp(text, "threads") == 0)
        return true;
    wt_complain("--csv has a table of functions and one of threads, not of \"%s\"", text);
    return false;
}

/* False, after a message, if the option is wrong. */
static bool take_option(struct report *report, int option, const char *text)
{
    switch (option) {
    case 'j':
        return report->as_json = true;
    case 'c':
        return take_table(report, text);
    case 't':
        return wt_parse_count("--top", text, &report->top);
    case 'b':
        return take_order(report, text);
    default:
        if (wt_filter_option(&report->filter, option, text))
            return true;
        wt_complain("try: weir report --help");
        return false;
    }
}

static int run_arguments(struct report *report, int argc, char **argv)
{
    static const struct option options[] = {{"json", no_argument, NULL, 'j'},
                                            {"csv", optional_argument, NULL, 'c'},
                                            {"top", required_argument, NULL, 't'},
                                            {"by", required_argument, NULL, 'b'},
                                            {"help", no_argument, NULL, 'h'},
                                            WT_FILTER_OPTIONS,
                                            {NULL, 0, NULL, 0}};
    int option;
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (option == 'h') {
            fputs(help, stdout);
            return wt_finish_output(WT_EXIT_OK);
        }
        if (!take_option(report, option, optarg))
            return WT_EXIT_USAGE;
    }
    const char *path = wt_one_file(argc, argv, optind);
    return path ? run_report(report, path) : WT_EXIT_USAGE;
}

int wt_report_main(int argc, char **argv)
{
    struct report report;
    memset(&report, 0, sizeof(report));
    report.top = 20;
    int code = run_arguments(&report, argc, argv);
    wt_filter_fini(&report.filter);
    return code;
}
