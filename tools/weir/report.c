/* weir report: calls and times of functions, from the call and return events of a host. */
#include "report.h"
#include "options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void on_trace(void *context, const struct wt_trace_info *info)
{
    struct report *report = context;
    wt_span_apply(&report->span, report->run.reader, info);
}

static void on_metadata(void *context, const struct wt_metadata *metadata)
{
    struct report *report = context;
    wt_tally_define(&report->tally, metadata);
    wt_filter_define(&report->filter, metadata);
    struct report_binding *binding = report_bindings_add(&report->bindings, metadata);
    if (binding->kind != REPORT_OTHER &&
        !report_provider_add(report, metadata->provider_name, &binding->provider))
        binding->kind = REPORT_OTHER;
}

static struct report_thread *thread_of(struct report *report, const struct wt_thread *thread)
{
    report->threads = wt_grow(report->threads, &report->thread_capacity, (size_t)thread->index + 1,
                              sizeof(*report->threads));
    return &report->threads[thread->index];
}

static void on_event(void *context, const struct wt_event *event)
{
    static const struct report_binding none = {.kind = REPORT_OTHER};
    struct report *report = context;
    thread_of(report, event->thread)->last_time = event->time;
    if (!report->any || event->time > report->last_time)
        report->last_time = event->time;
    report->any = true;
    wt_tally_event(&report->tally, event);
    const struct report_binding *binding =
        event->metadata->undefined ? &none : &report->bindings.rows[event->metadata->index];
    /* What a function is called comes on any thread, also for the calls that pass. */
    if (binding->kind == REPORT_FUNCTION)
        report_name(report, binding, event);
    if (wt_filter_event(&report->filter, event))
        report_take(report, binding, event);
}

static void on_gap(void *context, const struct wt_gap *gap)
{
    struct report *report = context;
    if (!gap->back && gap->thread->index < report->thread_capacity)
        report_gap(&report->threads[gap->thread->index]);
}

static const char help[] =
    "usage: weir report [--top N] [--by inclusive|exclusive|calls] [OPTION]... FILE\n"
    "\n"
    "Calls, inclusive and exclusive time per function, and calls per thread with its name (tail\n"
    "calls included), for each provider with events Call and Return that have a field FunctionId.\n"
    "TailCall, Frame (a function that was entered before calls were recorded: it has time and a\n"
    "return), Function (Name, File, Line, Kind), CoroutineCreate, CoroutineResume and\n"
    "CoroutineYield are used if they are there; a field Coroutine separates the stacks of one\n"
    "thread. FILE may be - for standard input.\n"
    "\n"
    "If a function calls itself, its inclusive time is counted once. The time in a coroutine\n"
    "counts for its resumer's inclusive time, not for its exclusive time; a coroutine that has\n"
    "yielded has neither. A tail call ends its caller. A return ends the frames above its own:\n"
    "an error skipped their returns. If numbers of a thread are missing, its open frames end at\n"
    "the last event before the gap; returns of calls before it are unmatched. Frames open at the\n"
    "end last until the last event of the trace. Percentages are of the total time in functions.\n"
    "\n"
    "With --from, --to or --last, the report is that of a trace that has only this part. A call\n"
    "that began before the part has no time, and its return is unmatched. A call that ends after\n"
    "the part lasts until the last event of the part. Names of functions that a part by time "
    "lacks\n"
    "are looked up in the rest of FILE, but not of standard input or a pipe.\n"
    "\n"
    "  --top N        show N functions and threads (20); 0 shows all\n"
    "  --by KEY       order by inclusive (the default) or exclusive time, or by "
    "calls\n" WT_FILTER_HELP
    "                 Events Function are used whether they pass or not: they only give "
    "names\n" WT_SPAN_HELP WT_SPAN_READ_HELP "  --last N       only the last N events that pass\n"
    "  --csv          print the table of functions as CSV (RFC 4180), with the columns provider,\n"
    "                 id, name, file, line, kind, calls, inclusive_ns, exclusive_ns;\n"
    "                 --csv=threads: that of threads, provider, capture_thread, name, calls\n"
    "  --json         print one JSON object: file, status, eventCount (of the file, or of the\n"
    "                 part by time), filter, lost (null if unknown), lost_at_least,\n"
    "                 lost_unknown_after_ns,\n"
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
        .trace = on_trace, .metadata = on_metadata, .event = on_event, .gap = on_gap};
    if (!wt_run_open(&report->run, path, NULL, &handlers, report))
        return WT_EXIT_FAILED;
    wt_run_read(&report->run);
    report_finish(report);
    report_find_names(report);
    if (report->too_many)
        wt_complain("only the first %u providers with calls are reported", REPORT_PROVIDERS_MAX);
    report_print(report);
    wt_filter_complain(&report->filter, &report->run);
    int code = wt_run_exit(&report->run, report->tally.all.total);
    report_fini(report);
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
static bool take_option(void *context, int option, const char *text)
{
    struct report *report = context;
    switch (option) {
    case 'j':
        return report->as_json = true;
    case 'c':
        return take_table(report, text);
    case 't':
        return wt_parse_count("--top", text, &report->top);
    case 'b':
        return take_order(report, text);
    case 'l':
        report->last_set = true;
        return wt_parse_count("--last", text, &report->last);
    case WT_OPTION_FROM:
    case WT_OPTION_TO:
        return wt_span_take(&report->span, option, text);
    default:
        return wt_filter_option(&report->filter, option, text);
    }
}

static int run_arguments(struct report *report, int argc, char **argv)
{
    static const struct option table[] = {{"json", no_argument, NULL, 'j'},
                                          {"csv", optional_argument, NULL, 'c'},
                                          {"top", required_argument, NULL, 't'},
                                          {"by", required_argument, NULL, 'b'},
                                          {"last", required_argument, NULL, 'l'},
                                          {"help", no_argument, NULL, 'h'},
                                          WT_FILTER_OPTIONS,
                                          WT_SPAN_OPTIONS,
                                          {NULL, 0, NULL, 0}};
    static const struct wt_options options = {help, "h", table, take_option};
    int code;
    if (!wt_options_take(&options, report, argc, argv, &code))
        return code;
    if (!wt_options_one_form(argv[0], report->as_json, report->csv))
        return WT_EXIT_USAGE;
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
