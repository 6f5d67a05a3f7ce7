/* weir heap collect: a snapshot of a process's heap. */
#include "collect.h"
#include "heap.h"
#include "json.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

/* What dotnet-gcdump asks for. */
#define PROVIDERS "Microsoft-Windows-DotNETRuntime:1980001:5"
/* The same, and a keyword that only hosts of Weir know. */
#define PROVIDERS_WITH_STRINGS "Microsoft-Windows-DotNETRuntime:1000001980001:5"
#define BUDGET_MB              64
#define SECONDS_MOST           120

enum { OPTION_STRINGS = 's' };

const char wt_heap_collect_help[] =
    "usage: weir heap collect [OPTION]... -p PID | -n NAME | --port PATH\n"
    "\n"
    "Asks a process for a snapshot of its heap and keeps it as a trace, which the other parts "
    "read. In\n"
    "Block, so that nothing is lost: the process waits in its walk for this program, whatever the\n"
    "budget. It ends when the snapshot is there, or after --duration.\n"
    "\n"
    "  -p PID         the process with this id\n"
    "  -n NAME        the only process with this name (see weir ps) or executable\n"
    "  --port PATH    the process that listens at this socket\n"
    "  --strings      also the contents of strings, for weir heap report --strings: of each the\n"
    "                 first 64 bytes and a hash. lua-host gives them, .NET does not\n"
    "  --mode drop    do not wait: events that find no room are lost, and the snapshot is "
    "incomplete;\n"
    "                 for .NET before 11, which has no Block\n"
    "  --budget MB    memory for events in the process; default 64\n"
    "  --duration S   end after S seconds at the latest; default 120\n"
    "  --timeout S    give up when the process has not answered for S seconds; default 30\n"
    "  -o FILE        default: NAME_DATE_TIME.nettrace; an existing file is replaced\n"
    "  --json         print one JSON object: file, pid, complete, reason, objects, bytes\n"
    "  --help         print this help\n"
    "\n"
    "Exit codes: 0 fine, 1 failed, 2 usage, 3 the snapshot is incomplete, 4 the stream ended "
    "early.\n";

/* --- Is it there? ---------------------------------------------------------------------------- */

/* How much of the snapshot a file has. */
struct seen {
    uint32_t number; /* of its collection */
    bool has_start, has_end;
};

/* Other collections come and go meanwhile. */
static void on_event(void *context, const struct wt_event *event)
{
    struct seen *seen = context;
    uint32_t number;
    if (seen->has_end)
        return;
    if (hp_event_begins(event, &number))
        *seen = (struct seen){.number = number, .has_start = true};
    seen->has_end = seen->has_start && hp_event_ends(event, seen->number);
}

/* The stream is not at its end, so the reader says that it is truncated. */
static bool has_snapshot(const char *path)
{
    static const struct wt_handlers handlers = {.event = on_event};
    struct wt_fd_source file = {.fd = open(path, O_RDONLY | O_CLOEXEC)};
    struct wt_source source = wt_source_fd(&file);
    struct wt_reader *reader;
    struct seen seen = {0};
    if (file.fd < 0)
        return false;
    if (wt_reader_create(&reader, &source, NULL, &handlers, &seen) == WT_OK) {
        wt_reader_run(reader);
        wt_reader_destroy(reader);
    }
    close(file.fd);
    return seen.has_end;
}

/* --- The summary. ---------------------------------------------------------------------------- */

static void print_json(const struct wt_collect_trace *trace, const struct hp_graph *graph)
{
    struct wt_json json;
    wt_json_init(&json, stdout, true);
    wt_json_object(&json, NULL);
    wt_json_string(&json, "file", trace->file);
    wt_json_i64(&json, "pid", trace->pid);
    wt_json_bool(&json, "complete", graph->is_complete);
    wt_json_string(&json, "reason", graph->is_complete ? NULL : graph->reason);
    wt_json_u64(&json, "objects", graph->node_count);
    wt_json_u64(&json, "bytes", graph->bytes);
    wt_json_end(&json);
}

static int summarize(const struct wt_collect_trace *trace, bool as_json)
{
    const struct wt_heap_options options = {0};
    int code;
    struct hp_graph *graph = wt_heap_load(&options, trace->file, &code);
    if (!graph)
        return code;
    if (as_json)
        print_json(trace, graph);
    else
        wt_complain("%s: %u objects, %" PRIu64 " bytes%s%s", trace->file, graph->node_count,
                    graph->bytes, graph->is_complete ? "" : "; incomplete: ", graph->reason);
    hp_graph_free(graph);
    return code;
}

/* --- The command. ---------------------------------------------------------------------------- */

static bool take_option(void *context, int option, const char *text)
{
    if (option == OPTION_STRINGS)
        return wt_collect_take_option(context, WT_OPTION_PROVIDERS, PROVIDERS_WITH_STRINGS);
    return wt_collect_take_option(context, option, text);
}

static int run(struct wt_collect_options *options, int argc, char **argv)
{
    struct wt_collect_trace trace;
    if (optind < argc || wt_collect_processes(options) != 1) {
        wt_complain("heap collect: give one of -p PID, -n NAME and --port PATH%s%s",
                    optind < argc ? ", not " : "", optind < argc ? argv[optind] : "");
        return WT_EXIT_USAGE;
    }
    wt_collect_run(options, &trace);
    int code = trace.file ? summarize(&trace, options->as_json) : WT_EXIT_FAILED;
    if (trace.has_failed)
        code = WT_EXIT_FAILED;
    free(trace.file);
    return wt_finish_output(code);
}

int wt_heap_collect(int argc, char **argv)
{
    static const struct option table[] = {{"strings", no_argument, NULL, OPTION_STRINGS},
                                          {"mode", required_argument, NULL, 'm'},
                                          {"budget", required_argument, NULL, 'b'},
                                          {"output", required_argument, NULL, 'o'},
                                          {"json", no_argument, NULL, 'j'},
                                          {"help", no_argument, NULL, 'h'},
                                          {"port", required_argument, NULL, WT_OPTION_PORT},
                                          {"timeout", required_argument, NULL, WT_OPTION_TIMEOUT},
                                          {"duration", required_argument, NULL, WT_OPTION_DURATION},
                                          {NULL, 0, NULL, 0}};
    static const struct wt_options kind = {wt_heap_collect_help, WT_COLLECT_LETTERS "ho:", table,
                                           take_option};
    struct wt_collect_options options;
    int code = WT_EXIT_FAILED;
    if (!wt_collect_options_init(&options, "heap collect") ||
        !wt_collect_take_option(&options, WT_OPTION_PROVIDERS, PROVIDERS))
        return code;
    options.collect.block = true;
    options.collect.budget_mb = BUDGET_MB;
    options.duration_ms = SECONDS_MOST * INT64_C(1000);
    options.has_all = has_snapshot;
    if (wt_options_take(&kind, &options, argc, argv, &code))
        code = run(&options, argc, argv);
    wt_collect_options_fini(&options);
    return code;
}
