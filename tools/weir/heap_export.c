#include "csv.h"
#include "heap.h"
#include "json.h"
#include "new_file.h"
#include "options.h"
#include "output.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

const char wt_heap_export_help[] =
    "usage: weir heap export --to FORM [-o OUTPUT] [OPTION]... FILE\n"
    "\n"
    "Writes the graph in another form.\n"
    "\n"
    "  --to FORM      json    one object: types [{name, module}], objects [{address, size, type\n"
    "                         (of types), edges [of objects; null: an object that is not "
    "there]}],\n"
    "                         roots [{kind, flags, name, object}], weak [{key, value}]\n"
    "                 csv     a line for each object: address, size, type, module, edges\n"
    "                 dot     for Graphviz; for small graphs\n"
    "                 gcdump  for PerfView, Visual Studio and dotnet-gcdump report; it has no "
    "weak\n"
    "                         roots, and at most 2147483647 bytes for an object\n"
    "  -o OUTPUT      the file to write; an existing one is replaced once the new one is "
    "complete;\n"
    "                 default, and -: standard output\n"
    "  --incomplete   also of a snapshot that is not complete\n" WT_HEAP_HELP "\n"
    "Exit codes: 0 fine, 1 failed, 2 usage, 3 the snapshot is incomplete, 4 the file ends early.\n";

/* --- Forms. ---------------------------------------------------------------------------------- */

static void json_types(struct wt_json *json, const struct hp_graph *graph)
{
    wt_json_array(json, "types");
    for (uint32_t i = 0; i < graph->type_count; i++) {
        wt_json_object(json, NULL);
        wt_json_string(json, "name", graph->types[i].name);
        wt_json_string(json, "module", graph->types[i].module);
        wt_json_end(json);
    }
    wt_json_end(json);
}

static void json_object(struct wt_json *json, const struct hp_graph *graph, uint32_t node)
{
    wt_json_object(json, NULL);
    wt_json_u64(json, "address", graph->addresses[node]);
    wt_json_u64(json, "size", graph->sizes[node]);
    wt_json_u64(json, "type", graph->node_types[node]);
    wt_json_array(json, "edges");
    for (uint64_t i = graph->first_edges[node]; i < graph->first_edges[node + 1]; i++)
        if (graph->edges[i] == HP_NONE)
            wt_json_null(json, NULL);
        else
            wt_json_u64(json, NULL, graph->edges[i]);
    wt_json_end(json);
    wt_json_end(json);
}

static void json_roots(struct wt_json *json, const struct hp_graph *graph)
{
    wt_json_array(json, "roots");
    for (uint32_t i = 0; i < graph->root_count; i++) {
        wt_json_object(json, NULL);
        wt_json_string(json, "kind", hp_root_kind_name(&graph->roots[i]));
        wt_json_u64(json, "flags", graph->roots[i].flags);
        wt_json_string(json, "name", graph->roots[i].name);
        wt_json_u64(json, "object", graph->roots[i].node);
        wt_json_end(json);
    }
    wt_json_end(json);
    wt_json_array(json, "weak");
    for (uint32_t i = 0; i < graph->weak_count; i++) {
        wt_json_object(json, NULL);
        wt_json_u64(json, "key", graph->weaks[i].key);
        wt_json_u64(json, "value", graph->weaks[i].value);
        wt_json_end(json);
    }
    wt_json_end(json);
}

static bool write_json(const struct hp_graph *graph, FILE *file)
{
    struct wt_json json;
    wt_json_init(&json, file, false);
    wt_json_object(&json, NULL);
    json_types(&json, graph);
    wt_json_array(&json, "objects");
    for (uint32_t i = 0; i < graph->node_count; i++)
        json_object(&json, graph, i);
    wt_json_end(&json);
    json_roots(&json, graph);
    wt_json_end(&json);
    return true;
}

static bool write_csv(const struct hp_graph *graph, FILE *file)
{
    struct wt_csv csv = {.file = file};
    wt_csv_head(&csv, "address size type module edges");
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct hp_type *type = &graph->types[graph->node_types[i]];
        wt_csv_u64(&csv, graph->addresses[i]);
        wt_csv_u64(&csv, graph->sizes[i]);
        wt_csv_text(&csv, type->name);
        wt_csv_text(&csv, type->module ? type->module : "");
        wt_csv_u64(&csv, graph->first_edges[i + 1] - graph->first_edges[i]);
        wt_csv_end(&csv);
    }
    return true;
}

static void dot_root(const struct hp_graph *graph, uint32_t root, FILE *file)
{
    fprintf(file, "  r%u [shape=plaintext, label=", root);
    wt_print_escaped(file,
                     graph->roots[root].name ? graph->roots[root].name
                                             : hp_root_kind_name(&graph->roots[root]),
                     1);
    fprintf(file, "]\n  r%u -> n%u\n", root, graph->roots[root].node);
}

static bool write_dot(const struct hp_graph *graph, FILE *file)
{
    fputs("digraph heap {\n  node [shape=box]\n", file);
    for (uint32_t i = 0; i < graph->root_count; i++)
        dot_root(graph, i, file);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        fprintf(file, "  n%u [label=", i);
        wt_print_escaped(file, graph->types[graph->node_types[i]].name, 1);
        fputs("]\n", file);
        for (uint64_t j = graph->first_edges[i]; j < graph->first_edges[i + 1]; j++)
            if (graph->edges[j] != HP_NONE)
                fprintf(file, "  n%u -> n%u\n", i, graph->edges[j]);
    }
    for (uint32_t i = 0; i < graph->weak_count; i++)
        fprintf(file, "  n%u -> n%u [style=dashed]\n", graph->weaks[i].key, graph->weaks[i].value);
    fputs("}\n", file);
    return true;
}

static bool write_gcdump(const struct hp_graph *graph, FILE *file)
{
    uint64_t cut = 0;
    if (isatty(fileno(file))) {
        wt_complain("a .gcdump is no text for a terminal; give a file with -o");
        return false;
    }
    switch (hp_gcdump_write(graph, file)) {
    case HP_GCDUMP_NO_MEMORY:
        wt_heap_need(NULL);
        break;
    case HP_GCDUMP_TOO_LARGE:
        wt_complain("the graph is too large for a .gcdump, which has at most 2 GiB");
        return false;
    case HP_GCDUMP_OK:
        break;
    }
    for (uint32_t i = 0; i < graph->node_count; i++)
        cut += graph->sizes[i] > INT32_MAX;
    if (cut)
        wt_complain("objects whose size was written as 2147483647 bytes: %llu",
                    (unsigned long long)cut);
    return true;
}

/* `write` is false after a message. */
static const struct form {
    const char *name;
    bool (*write)(const struct hp_graph *graph, FILE *file);
} forms[] = {
    {"json", write_json}, {"csv", write_csv}, {"dot", write_dot}, {"gcdump", write_gcdump}};
#define FORMS (sizeof(forms) / sizeof(forms[0]))

/* --- The command. ---------------------------------------------------------------------------- */

struct export
{
    struct wt_heap_options options;
    const struct form *form;
    const char *path, *output;
};

static bool take_form(struct export *export, const char *text)
{
    for (size_t i = 0; i < FORMS; i++)
        if (strcmp(text, forms[i].name) == 0) {
            export->form = &forms[i];
            return true;
        }
    wt_complain("--to is json, csv, dot or gcdump, not \"%s\"", text);
    return false;
}

static bool take_option(void *context, int option, const char *text)
{
    struct export *export = context;
    if (option == WT_HEAP_OWN)
        return take_form(export, text);
    if (option != 'o')
        return wt_heap_take(&export->options, option, text);
    export->output = text;
    return true;
}

static bool write_stream(const struct export *export, const struct hp_graph *graph, FILE *stream)
{
    bool is_done = export->form->write(graph, stream), has_failed = ferror(stream);
    has_failed |= fclose(stream) != 0;
    if (is_done && has_failed)
        wt_complain("cannot write %s: %s", export->output, strerror(errno));
    return is_done && !has_failed;
}

static bool write_file(const struct export *export, const struct hp_graph *graph)
{
    struct wt_new_file file;
    FILE *stream = NULL;
    if (wt_new_file_open(&file, export->output))
        stream = wt_new_file_stream(&file);
    bool is_written = stream && write_stream(export, graph, stream) && wt_new_file_publish(&file);
    wt_new_file_drop(&file);
    return is_written;
}

static int run(const struct export *export)
{
    int code;
    struct hp_graph *graph = wt_heap_load_whole(&export->options, export->path, &code);
    if (!graph)
        return code;
    bool is_file = export->output && strcmp(export->output, "-") != 0;
    if (is_file ? !write_file(export, graph) : !export->form->write(graph, stdout))
        code = WT_EXIT_FAILED;
    hp_graph_free(graph);
    return wt_finish_output(code);
}

int wt_heap_export(int argc, char **argv)
{
    static const struct option table[] = {{"to", required_argument, NULL, WT_HEAP_OWN},
                                          {"output", required_argument, NULL, 'o'},
                                          {"incomplete", no_argument, NULL, WT_HEAP_INCOMPLETE},
                                          WT_HEAP_OPTIONS,
                                          {NULL, 0, NULL, 0}};
    static const struct wt_options options = {wt_heap_export_help, "ho:", table, take_option};
    struct export export = {0};
    int code;
    if (!wt_options_take(&options, &export, argc, argv, &code))
        return code;
    if (!export.form) {
        wt_complain("heap export needs --to; try: weir heap export --help");
        return WT_EXIT_USAGE;
    }
    export.path = wt_one_file(argc, argv, optind);
    return export.path ? run(&export) : WT_EXIT_USAGE;
}
