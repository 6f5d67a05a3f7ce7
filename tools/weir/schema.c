/* weir schema: the definitions of a trace or a process, and whether a change of them breaks what
 * reads its events. */
#include "schema.h"
#include "filter.h"
#include "options.h"
#include "output.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct remark {
    bool is_finding;
    const struct wt_metadata *event;
    char *text;
};

struct schema {
    struct wt_run run;
    struct wt_filter filter;
    struct wt_collect_options options; /* of a process */
    bool has_options;                  /* there are such on the command line */
    char process[64];                  /* its name; empty: a file is read */
    const char *against;               /* NULL: print the schema */
    bool as_json;
    struct wt_schema now, old;
    struct wt_tally tally;
    struct remark *remarks;
    size_t remark_count, remark_capacity;
    uint64_t findings;
};

static void on_metadata(void *context, const struct wt_metadata *metadata)
{
    struct schema *schema = context;
    wt_tally_define(&schema->tally, metadata);
    if (wt_filter_takes(&schema->filter, metadata))
        wt_schema_add(&schema->now, metadata);
}

static void on_event(void *context, const struct wt_event *event)
{
    struct schema *schema = context;
    wt_tally_event(&schema->tally, event);
}

static void note(void *context, bool is_finding, const struct wt_metadata *event, const char *text)
{
    struct schema *schema = context;
    schema->remarks = wt_grow(schema->remarks, &schema->remark_capacity, schema->remark_count + 1,
                              sizeof(*schema->remarks));
    schema->remarks[schema->remark_count++] = (struct remark){is_finding, event, strdup(text)};
    schema->findings += is_finding;
}

/* --- Printing. ------------------------------------------------------------------------------- */

static void print_schema(const struct schema *schema)
{
    struct wt_json json;
    wt_json_init(&json, stdout, true);
    wt_json_object(&json, NULL);
    wt_schema_json(&schema->now, &json);
    wt_json_end(&json);
}

static void print_remark(const struct remark *remark)
{
    const struct wt_metadata *event = remark->event;
    fputs(remark->is_finding ? "finding: " : "note: ", stdout);
    wt_print_escaped(stdout, event->provider_name, 0);
    putchar('/');
    wt_print_escaped(stdout, event->event_name, 0);
    printf("(%" PRId32, event->event_id);
    if (event->version)
        printf(" v%" PRId32, event->version);
    fputs("): ", stdout);
    wt_print_escaped(stdout, remark->text ? remark->text : "", 0);
    putchar('\n');
}

static void print_text(const struct schema *schema)
{
    for (int findings = 1; findings >= 0; findings--)
        for (size_t i = 0; i < schema->remark_count; i++)
            if (schema->remarks[i].is_finding == findings)
                print_remark(&schema->remarks[i]);
    const uint64_t notes = schema->remark_count - schema->findings;
    printf("%s: %zu event%s against %s: %" PRIu64 " finding%s, %" PRIu64 " note%s\n",
           schema->run.path, schema->now.count, schema->now.count == 1 ? "" : "s", schema->against,
           schema->findings, schema->findings == 1 ? "" : "s", notes, notes == 1 ? "" : "s");
}

static void json_remarks(struct wt_json *json, const struct schema *schema, bool findings)
{
    wt_json_array(json, findings ? "findings" : "notes");
    for (size_t i = 0; i < schema->remark_count; i++) {
        const struct remark *remark = &schema->remarks[i];
        if (remark->is_finding != findings)
            continue;
        wt_json_object(json, NULL);
        wt_json_string(json, "provider", remark->event->provider_name);
        wt_json_i64(json, "id", remark->event->event_id);
        wt_json_i64(json, "version", remark->event->version);
        wt_json_string(json, "name", remark->event->event_name);
        wt_json_string(json, "message", remark->text ? remark->text : "");
        wt_json_end(json);
    }
    wt_json_end(json);
}

static void print_json(const struct schema *schema)
{
    const struct wt_lost lost = wt_lost_of(&schema->tally, schema->run.reader);
    struct wt_json json;
    wt_json_init(&json, stdout, true);
    wt_json_object(&json, NULL);
    wt_json_string(&json, *schema->process ? "process" : "file", schema->run.path);
    wt_json_string(&json, "against", schema->against);
    wt_json_string(&json, "status", wt_status_word(wt_reader_error(schema->run.reader)->status));
    wt_lost_json(&lost, &json);
    json_remarks(&json, schema, true);
    json_remarks(&json, schema, false);
    wt_json_end(&json);
}

/* --- The command. ---------------------------------------------------------------------------- */

static const char help[] =
    "usage: weir schema [OPTION]... FILE\n"
    "       weir schema [OPTION]... -p PID | -n NAME | --port PATH\n"
    "\n"
    "Prints the definitions of a trace as JSON that does not depend on their order in the trace,\n"
    "or with --against compares them with a file that has been printed so: {schema: 1, events:\n"
    "[{provider, id, version, name, level, keywords (a text), opcode, fields, raw}]}; raw is the\n"
    "name of raw bytes behind the fields. A field is {name, type}, with values {number: name} if\n"
    "it is an enum, fields if it is an object, element if it is an array or a location, and count\n"
    "if it is an array of a fixed size. FILE may be -.\n"
    "\n"
    "A process is traced for a moment, as weir collect does, and no file is left. A trace defines\n"
    "the events that it has: of a process, those that it emits in that time.\n"
    "\n"
    "  --against SCHEMA   report what has changed since. A finding breaks what reads the events:\n"
    "                     an event is gone; or with the version that it had, a field has another\n"
    "                     type, place or name, went away, or was added elsewhere than at the\n"
    "                     end; raw bytes count as the last field.\n"
    "                     A note does not: an event or version is new, a field was added at the\n"
    "                     end, a name, level, keywords or opcode is another\n"
    "  --provider P       only definitions of provider P; may be repeated\n"
    "  --event E          only definitions with that name or id; may be repeated\n"
    "  --json             with --against, print one JSON object: file (or process, its name),\n"
    "                     against, status, lost, lost_at_least, lost_unknown_after_ns, findings\n"
    "                     and notes [{provider, id, version, name, "
    "message}]\n" WT_COLLECT_PROCESS_HELP WT_COLLECT_TIMEOUT_HELP
    "  --duration S       trace for S seconds, which may have a fraction; default 1\n"
    "  --help             print this help\n"
    "\n"
    "With --provider and --event, a schema is compared as far as it has these.\n"
    "\n"
    "Exit codes: 0 fine, 1 failed or a finding, 2 usage, 3 read but events were lost,\n"
    "4 truncated or unfinished: there may be more definitions.\n";

/* Of the schema that was loaded, too: the others are not gone. */
static void keep_taken(struct wt_schema *schema, const struct wt_filter *filter)
{
    size_t kept = 0;
    for (size_t i = 0; i < schema->count; i++)
        if (wt_filter_takes(filter, schema->events[i]))
            schema->events[kept++] = schema->events[i];
    schema->count = kept;
}

static int compare(struct schema *schema)
{
    keep_taken(&schema->old, &schema->filter);
    wt_schema_compare(&schema->old, &schema->now, note, schema);
    if (schema->as_json)
        print_json(schema);
    else
        print_text(schema);
    return schema->findings ? WT_EXIT_FAILED : wt_run_exit(&schema->run, schema->tally.all.total);
}

/* A file, or with NULL the process of the options. */
static bool open_trace(struct schema *schema, const char *path)
{
    static const struct wt_handlers handlers = {.metadata = on_metadata, .event = on_event};
    if (path)
        return wt_run_open(&schema->run, path, NULL, &handlers, schema);
    return wt_schema_collect(&schema->options, &schema->run, &handlers, schema, schema->process);
}

static void explain_nothing(const struct schema *schema)
{
    wt_complain("%s: there are no definitions%s%s", schema->run.path,
                wt_filter_is_set(&schema->filter) ? " that match" : "",
                *schema->process ? "; a longer --duration may have some" : "");
}

static int read_schema(struct schema *schema, const char *path)
{
    int code = WT_EXIT_FAILED;
    if ((schema->against && !wt_schema_load(&schema->old, schema->against)) ||
        !open_trace(schema, path))
        return code;
    enum wt_status status = wt_run_read(&schema->run);
    wt_schema_sort(&schema->now);
    if (schema->against && (status == WT_END || status == WT_TRUNCATED)) {
        code = compare(schema);
    } else if (!schema->against) {
        print_schema(schema);
        code = wt_run_exit(&schema->run, schema->tally.all.total);
    }
    if (schema->now.count == 0)
        explain_nothing(schema);
    return code;
}

static int run_schema(struct schema *schema, const char *path)
{
    int code = read_schema(schema, path);
    for (size_t i = 0; i < schema->remark_count; i++)
        free(schema->remarks[i].text);
    free(schema->remarks);
    wt_schema_fini(&schema->now);
    wt_schema_fini(&schema->old);
    wt_run_close(&schema->run);
    wt_tally_fini(&schema->tally);
    return wt_finish_output(code);
}

/* False, after a message, if the option is wrong. */
static bool take_option(void *context, int option, const char *text)
{
    struct schema *schema = context;
    if (option == 'j')
        return schema->as_json = true;
    if (option == 'a') {
        schema->against = text;
        return true;
    }
    if (wt_filter_option(&schema->filter, option, text))
        return true;
    schema->has_options = true;
    return wt_collect_take_option(&schema->options, option, text);
}

/* A file, or one process; false after a message. */
static bool check_source(const struct schema *schema, bool has_file)
{
    int processes = wt_collect_processes(&schema->options);
    if (processes + has_file > 1)
        wt_complain("schema: give only one of FILE, -p PID, -n NAME and --port PATH");
    else if (processes == 0 && schema->has_options)
        wt_complain("schema: --providers, --timeout and --duration are for a process; give one "
                    "with -p PID, -n NAME or --port PATH");
    else
        return true;
    return false;
}

static int run_arguments(struct schema *schema, int argc, char **argv)
{
    static const struct option table[] = {{"json", no_argument, NULL, 'j'},
                                          {"against", required_argument, NULL, 'a'},
                                          {"provider", required_argument, NULL, WT_OPTION_PROVIDER},
                                          {"event", required_argument, NULL, WT_OPTION_EVENT},
                                          WT_COLLECT_OPTIONS,
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    static const struct wt_options options = {help, WT_COLLECT_LETTERS "h", table, take_option};
    int code;
    if (!wt_options_take(&options, schema, argc, argv, &code))
        return code;
    if (!check_source(schema, optind < argc))
        return WT_EXIT_USAGE;
    if (wt_collect_processes(&schema->options) == 1)
        return run_schema(schema, NULL);
    const char *path = wt_one_file(argc, argv, optind);
    return path ? run_schema(schema, path) : WT_EXIT_USAGE;
}

int wt_schema_main(int argc, char **argv)
{
    struct schema schema;
    memset(&schema, 0, sizeof(schema));
    int code = WT_EXIT_FAILED;
    if (wt_collect_options_init(&schema.options, "schema"))
        code = run_arguments(&schema, argc, argv);
    wt_filter_fini(&schema.filter);
    wt_collect_options_fini(&schema.options);
    return code;
}
