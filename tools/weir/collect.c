/* weir collect: a trace of a process that serves the Diagnostics IPC protocol. */
#include "collect.h"
#include "json.h"
#include "lost.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char help[] =
    "usage: weir collect [OPTION]... -p PID | -n NAME | --port PATH\n"
    "       weir collect [OPTION]... -- COMMAND [ARGUMENT]...\n"
    "\n"
    "Traces a process that serves the Diagnostics IPC protocol of .NET: a host of Weir with a\n"
    "server, or a .NET process. `weir ps` lists them. The trace ends with the process, at\n"
    "--duration, or at SIGINT, SIGTERM or SIGHUP; then the rest of it is still read, unless a\n"
    "second signal comes.\n"
    "\n"
    "COMMAND is started, and held by its server until the trace has begun. If it ends with a code\n"
    "other than 0, that is the exit code, 128 + N for signal N. Signals that were sent to weir "
    "alone\n"
    "are passed on to it when the trace is complete. --duration ends the trace, not COMMAND.\n"
    "\n" WT_COLLECT_PROCESS_HELP
    "  --mode drop|block  drop: an event that finds no room is lost (default). block: its thread\n"
    "                     waits, and nothing is lost; hosts of Weir, and .NET from 11 on\n"
    "  --budget MB        memory for events in the process; default 256. A host of Weir may\n"
    "                     give less: event Weir/Session has what it gave\n"
    "  --rundown KEYWORDS what the process describes at the end, hexadecimal; 0: nothing. Others\n"
    "                     than the default, 80020139, need a host of Weir, or .NET "
    "9\n" WT_COLLECT_TIMEOUT_HELP
    "  --duration S       end after S seconds, which may have a fraction\n"
    "  -o FILE            default: NAME_DATE_TIME.nettrace. An existing file is replaced once the\n"
    "                     trace begins. Readable by you only\n"
    "  --json             print one JSON object with these members on standard output; later\n"
    "                     versions may add more:\n"
    "                       file, pid and exitCode (of COMMAND; null if not known), name, command\n"
    "                       (of the protocol), failed, status (complete, truncated, error), "
    "message,\n"
    "                       bytes, eventCount, lost (null if unknown), lost_at_least,\n"
    "                       lost_unknown_after_ns (null if lost is known), silentProviders\n"
    "                       (of --providers, those of which the trace has no event)\n"
    "  --help             print this help\n"
    "\n"
    "Without --json, one line on stderr says how many events and bytes there are and how many "
    "were\n"
    "lost. If none was, one for each silent provider says that it has no event.\n"
    "\n"
    "Exit codes: 0 fine, 1 failed, 2 usage, 3 events were lost, 4 truncated or unfinished: the\n"
    "process was killed, for example. FILE then has what was received.\n";

/* --- The summary. --------------------------------------------------------------------------- */

struct summary {
    struct wt_run run;
    struct wt_tally tally;
    struct wt_ipc_providers wanted; /* those of --providers */
    bool *has_come;                 /* of each of them: the trace has an event of it */
};

static void on_metadata(void *context, const struct wt_metadata *metadata)
{
    struct summary *summary = context;
    wt_tally_define(&summary->tally, metadata);
}

static bool is_of(const struct wt_event *event, const struct wt_ipc_provider *provider)
{
    return strcmp(provider->name, "*") == 0 ||
           strcasecmp(provider->name, event->metadata->provider_name) == 0;
}

static void on_event(void *context, const struct wt_event *event)
{
    struct summary *summary = context;
    wt_tally_event(&summary->tally, event);
    for (size_t i = 0; i < summary->wanted.count; i++)
        if (!summary->has_come[i])
            summary->has_come[i] = is_of(event, &summary->wanted.items[i]);
}

static void print_text(const struct summary *summary, const struct wt_collect_trace *trace)
{
    const struct wt_totals *totals = wt_reader_totals(summary->run.reader);
    const struct wt_lost lost = wt_lost_of(&summary->tally, summary->run.reader);
    char lost_text[80];
    wt_lost_text(&lost, lost_text);
    wt_complain("%s: %" PRIu64 " events, %" PRIu64 " bytes, lost %s", trace->file, totals->events,
                summary->run.bytes, lost_text);
    bool is_whole = lost.is_known && lost.count == 0;
    for (size_t i = 0; i < summary->wanted.count; i++)
        if (is_whole && !summary->has_come[i])
            wt_complain("%s: no event of provider %s; check its name, keywords and level",
                        trace->file, summary->wanted.items[i].name);
}

static void print_json(const struct summary *summary, const struct wt_collect_trace *trace,
                       const struct wt_collect_options *options)
{
    const struct wt_error *error = wt_reader_error(summary->run.reader);
    const struct wt_lost lost = wt_lost_of(&summary->tally, summary->run.reader);
    struct wt_json json;
    wt_json_init(&json, stdout, true);
    wt_json_object(&json, NULL);
    wt_json_string(&json, "file", trace->file);
    if (trace->pid)
        wt_json_i64(&json, "pid", trace->pid);
    else
        wt_json_null(&json, "pid");
    if (trace->child_code >= 0)
        wt_json_i64(&json, "exitCode", trace->child_code);
    else
        wt_json_null(&json, "exitCode");
    wt_json_string(&json, "name", trace->name);
    wt_json_string(&json, "command", wt_ipc_collect_name(&options->collect));
    wt_json_bool(&json, "failed", trace->has_failed);
    wt_json_string(&json, "status", wt_status_word(error->status));
    wt_json_string(&json, "message", error->status == WT_END ? "" : error->text);
    wt_json_u64(&json, "bytes", summary->run.bytes);
    wt_json_u64(&json, "eventCount", wt_reader_totals(summary->run.reader)->events);
    wt_lost_json(&lost, &json);
    wt_json_array(&json, "silentProviders");
    for (size_t i = 0; i < summary->wanted.count; i++)
        if (!summary->has_come[i])
            wt_json_string(&json, NULL, summary->wanted.items[i].name);
    wt_json_end(&json);
    wt_json_end(&json);
}

/* Reads the file; returns the exit code. */
static int summarize(const struct wt_collect_trace *trace, const struct wt_collect_options *options)
{
    static const struct wt_handlers handlers = {.metadata = on_metadata, .event = on_event};
    struct summary summary;
    memset(&summary, 0, sizeof(summary));
    if (options->names_providers)
        summary.wanted = options->providers;
    summary.has_come = calloc(summary.wanted.count + 1, sizeof(*summary.has_come));
    int code = WT_EXIT_FAILED;
    if (!summary.has_come)
        wt_complain("out of memory");
    else if (wt_run_open(&summary.run, trace->file, NULL, &handlers, &summary)) {
        wt_run_read(&summary.run);
        if (options->as_json)
            print_json(&summary, trace, options);
        else
            print_text(&summary, trace);
        code = wt_run_exit(&summary.run, summary.tally.all.total);
    }
    wt_run_close(&summary.run);
    wt_tally_fini(&summary.tally);
    free(summary.has_come);
    return code;
}

static int run(const struct wt_collect_options *options)
{
    struct wt_collect_trace trace;
    wt_collect_run(options, &trace);
    int code = trace.file ? summarize(&trace, options) : WT_EXIT_FAILED;
    if (trace.has_failed)
        code = WT_EXIT_FAILED;
    else if (trace.file && trace.child_code > 0)
        code = trace.child_code;
    free(trace.file);
    return wt_finish_output(code);
}

/* --- Options. ------------------------------------------------------------------------------- */

static bool parse_rundown(const char *text, uint64_t *keywords)
{
    if (wt_ipc_keywords_parse(text, keywords))
        return true;
    wt_complain("--rundown needs hexadecimal keywords, or 0, not \"%s\"", text);
    return false;
}

/* False after a message. */
static bool take_option(void *context, int option, const char *text)
{
    struct wt_collect_options *options = context;
    return option == 'r' ? parse_rundown(text, &options->collect.rundown)
                         : wt_collect_take_option(options, option, text);
}

/* Exactly one process; false after a message. */
static bool take_target(struct wt_collect_options *options, int argc, char **argv)
{
    if (optind < argc && strcmp(argv[optind - 1], "--") != 0) {
        wt_complain("collect: \"%s\" is no option; write -- before a command", argv[optind]);
        return false;
    }
    if (optind < argc)
        options->command = argv + optind;
    int targets = wt_collect_processes(options) + (options->command != NULL);
    if (targets == 1)
        return true;
    wt_complain("collect: give %s of -p PID, -n NAME, --port PATH and -- COMMAND",
                targets ? "only one" : "one");
    return false;
}

int wt_collect_main(int argc, char **argv)
{
    static const struct option table[] = {WT_COLLECT_OPTIONS,
                                          {"mode", required_argument, NULL, 'm'},
                                          {"budget", required_argument, NULL, 'b'},
                                          {"rundown", required_argument, NULL, 'r'},
                                          {"json", no_argument, NULL, 'j'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    static const struct wt_options known = {help, "+" WT_COLLECT_LETTERS "o:h", table, take_option};
    struct wt_collect_options options;
    int code = WT_EXIT_FAILED;
    if (wt_collect_options_init(&options, "collect") &&
        wt_options_take(&known, &options, argc, argv, &code))
        code = take_target(&options, argc, argv) ? run(&options) : WT_EXIT_USAGE;
    wt_collect_options_fini(&options);
    return code;
}
