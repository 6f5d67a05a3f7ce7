#include "csv.h"
#include "heap.h"
#include "heap/rows.h"
#include "heap_page.h"
#include "heap_strings.h"
#include "json.h"
#include "options.h"
#include "table.h"

#include <stdlib.h>
#include <string.h>

const char wt_heap_report_help[] =
    "usage: weir heap report [OPTION]... FILE\n"
    "\n"
    "Prints objects and bytes by type, the most bytes first.\n"
    "\n"
    "  --retained     also the bytes that would be free if the objects of a type were: with those\n"
    "                 that nothing else keeps\n"
    "  --html         print a page for a browser, which needs no network: what types retain as a\n"
    "                 map, a table to search, and ways from roots\n"
    "  --strings      duplicate strings instead, the most wasted bytes first: the bytes of all\n"
    "                 copies but the largest, how many copies, the bytes of the largest, the\n"
    "                 length of the contents, their type and first bytes. For traces of weir\n"
    "                 heap collect --strings\n"
    "  --count N      at most N lines of duplicate strings; default 20, 0: all\n"
    "  --csv          print the types as CSV, or all duplicate strings\n"
    "  --json         print one JSON object: file, collection, complete, reason, missing {event, "
    "index}\n"
    "                 (null: none is known to be), objects, bytes, edges, roots, weak, dangling "
    "(edges\n"
    "                 and roots to objects that are not there); with --retained unreached; types\n"
    "                 [{name, module, count, bytes, retained}]. With --strings: file to missing,\n"
    "                 strings, duplicates (copies beyond the first), wasted, texts [{text, cut,\n"
    "                 length, type, copies, bytes, wasted}]\n" WT_HEAP_HELP "\n"
    "Exit codes: 0 fine, 1 failed (also: there are no contents of strings), 2 usage,\n"
    "3 the snapshot is incomplete, 4 the file ends early.\n";

enum { OPTION_RETAINED = WT_HEAP_OWN, OPTION_CSV, OPTION_HTML, OPTION_STRINGS, OPTION_COUNT };

#define LINES_MOST 20 /* of strings */

struct report {
    struct wt_heap_options options;
    bool has_retained, has_strings, has_most, as_csv, as_html;
    uint64_t most; /* lines of strings */
    const char *path;
    struct hp_graph *graph;
    struct hp_tree *tree; /* NULL: not has_retained */
    struct hp_row *rows;
    size_t count;
};

static void compute(struct report *report)
{
    uint64_t *retained = NULL;
    if (report->has_retained) {
        report->tree = wt_heap_need(hp_tree_create(report->graph));
        retained = wt_heap_need(calloc((size_t)report->graph->type_count + 1, sizeof(*retained)));
        if (!hp_tree_by_type(report->graph, report->tree, retained))
            wt_heap_need(NULL);
    }
    report->rows = wt_heap_need(hp_rows(report->graph, retained, &report->count));
    free(retained);
}

/* --- Output. --------------------------------------------------------------------------------- */

static void json_types(struct wt_json *json, const struct report *report)
{
    wt_json_array(json, "types");
    for (size_t i = 0; i < report->count; i++) {
        const struct hp_row *row = &report->rows[i];
        wt_json_object(json, NULL);
        wt_json_string(json, "name", row->name);
        wt_json_string(json, "module", row->module);
        wt_json_u64(json, "count", row->count);
        wt_json_u64(json, "bytes", row->bytes);
        if (report->has_retained)
            wt_json_u64(json, "retained", row->retained);
        wt_json_end(json);
    }
    wt_json_end(json);
}

static void json_missing(struct wt_json *json, const struct hp_graph *graph)
{
    if (!graph->missing_kind) {
        wt_json_null(json, "missing");
        return;
    }
    wt_json_object(json, "missing");
    wt_json_string(json, "event", graph->missing_kind);
    wt_json_u64(json, "index", graph->missing_index);
    wt_json_end(json);
}

void wt_heap_json_head(struct wt_json *json, const char *path, const struct hp_graph *graph)
{
    wt_json_string(json, "file", path);
    if (graph->number)
        wt_json_u64(json, "collection", graph->number);
    else
        wt_json_null(json, "collection");
    wt_json_bool(json, "complete", graph->is_complete);
    wt_json_string(json, "reason", graph->is_complete ? NULL : graph->reason);
    json_missing(json, graph);
}

static void print_json(const struct report *report)
{
    const struct hp_graph *graph = report->graph;
    struct wt_json json;
    wt_json_init(&json, stdout, true);
    wt_json_object(&json, NULL);
    wt_heap_json_head(&json, report->path, graph);
    wt_json_u64(&json, "objects", graph->node_count);
    wt_json_u64(&json, "bytes", graph->bytes);
    wt_json_u64(&json, "edges", graph->edge_count);
    wt_json_u64(&json, "roots", graph->root_count);
    wt_json_u64(&json, "weak", graph->weak_count);
    wt_json_u64(&json, "dangling", graph->dangling);
    if (report->has_retained)
        wt_json_u64(&json, "unreached", report->tree->unreached);
    json_types(&json, report);
    wt_json_end(&json);
}

static void print_csv(const struct report *report)
{
    struct wt_csv csv = {.file = stdout};
    wt_csv_head(&csv, report->has_retained ? "type module count bytes retained"
                                           : "type module count bytes");
    for (size_t i = 0; i < report->count; i++) {
        const struct hp_row *row = &report->rows[i];
        wt_csv_text(&csv, row->name);
        wt_csv_text(&csv, row->module ? row->module : "");
        wt_csv_u64(&csv, row->count);
        wt_csv_u64(&csv, row->bytes);
        if (report->has_retained)
            wt_csv_u64(&csv, row->retained);
        wt_csv_end(&csv);
    }
}

static void print_table(const struct report *report)
{
    static const bool right[] = {true, true, true, false};
    struct wt_table table;
    char text[1024];
    size_t first = report->has_retained ? 0 : 1;
    wt_table_init(&table, 4 - first, right + first);
    if (report->has_retained)
        wt_table_text(&table, "retained");
    wt_table_text(&table, "bytes");
    wt_table_text(&table, "objects");
    wt_table_text(&table, "type");
    for (size_t i = 0; i < report->count; i++) {
        const struct hp_row *row = &report->rows[i];
        wt_heap_type_text(row->name, row->module, text, sizeof(text));
        if (report->has_retained)
            wt_table_u64(&table, row->retained);
        wt_table_u64(&table, row->bytes);
        wt_table_u64(&table, row->count);
        wt_table_text(&table, text);
    }
    wt_table_print(&table, stdout);
}

static void print_text(const struct report *report)
{
    const struct hp_graph *graph = report->graph;
    if (graph->number)
        printf("collection %u\n", graph->number);
    printf("objects    %u\nbytes      %llu\nedges      %llu\nroots      %u\n", graph->node_count,
           (unsigned long long)graph->bytes, (unsigned long long)graph->edge_count,
           graph->root_count);
    if (report->has_retained)
        printf("unreached  %u\n", report->tree->unreached);
    printf("complete   %s%s\n\n", graph->is_complete ? "yes" : "no: ", graph->reason);
    print_table(report);
}

/* --- The command. ---------------------------------------------------------------------------- */

static bool take_option(void *context, int option, const char *text)
{
    struct report *report = context;
    switch (option) {
    case OPTION_RETAINED:
        return report->has_retained = true;
    case OPTION_CSV:
        return report->as_csv = true;
    case OPTION_HTML:
        return report->as_html = report->has_retained = wt_heap_page_is_there();
    case OPTION_STRINGS:
        return report->has_strings = true;
    case OPTION_COUNT:
        return report->has_most = wt_parse_count("--count", text, &report->most);
    default:
        return wt_heap_take(&report->options, option, text);
    }
}

static void print_types(const struct report *report)
{
    if (report->options.as_json)
        print_json(report);
    else if (report->as_csv)
        print_csv(report);
    else if (report->as_html)
        wt_heap_page(stdout, report->path, report->graph, report->tree, report->rows,
                     report->count);
    else
        print_text(report);
}

static bool print_strings(const struct report *report)
{
    const struct wt_heap_strings strings = {report->path, report->graph, report->options.as_json,
                                            report->as_csv, report->most};
    return wt_heap_strings_print(&strings);
}

static int run(struct report *report)
{
    int code;
    report->graph = wt_heap_load(&report->options, report->path, &code);
    if (!report->graph)
        return code;
    if (!report->has_strings) {
        compute(report);
        print_types(report);
    } else if (!print_strings(report) && code == WT_EXIT_OK) {
        code = WT_EXIT_FAILED;
    }
    free(report->rows);
    hp_tree_free(report->tree);
    hp_graph_free(report->graph);
    return wt_finish_output(code);
}

/* False after a message. */
static bool go_together(const struct report *report)
{
    const char *problem = NULL;
    if (report->options.as_json + report->as_csv + report->as_html > 1)
        problem = "heap report prints one of --json, --csv and --html";
    else if (report->has_strings && report->has_retained)
        problem = "heap report --strings is without --retained and --html";
    else if (report->has_most && !report->has_strings)
        problem = "heap report --count is for --strings";
    if (problem)
        wt_complain("%s", problem);
    return !problem;
}

int wt_heap_report(int argc, char **argv)
{
    static const struct option table[] = {{"retained", no_argument, NULL, OPTION_RETAINED},
                                          {"strings", no_argument, NULL, OPTION_STRINGS},
                                          {"count", required_argument, NULL, OPTION_COUNT},
                                          {"csv", no_argument, NULL, OPTION_CSV},
                                          {"html", no_argument, NULL, OPTION_HTML},
                                          {"json", no_argument, NULL, WT_HEAP_JSON},
                                          WT_HEAP_OPTIONS,
                                          {NULL, 0, NULL, 0}};
    static const struct wt_options options = {wt_heap_report_help, "h", table, take_option};
    struct report report = {.most = LINES_MOST};
    int code;
    if (!wt_options_take(&options, &report, argc, argv, &code))
        return code;
    if (!go_together(&report))
        return WT_EXIT_USAGE;
    report.path = wt_one_file(argc, argv, optind);
    return report.path ? run(&report) : WT_EXIT_USAGE;
}
