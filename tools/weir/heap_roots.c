#include "heap.h"
#include "json.h"
#include "options.h"
#include "output.h"

#include <stdlib.h>
#include <string.h>

const char wt_heap_roots_help[] =
    "usage: weir heap roots --type NAME [OPTION]... FILE\n"
    "\n"
    "Why objects of a type are kept: for each a shortest way from a root, the root first.\n"
    "\n"
    "  --type NAME    the type, as weir heap report prints it, without its module\n"
    "  --count N      at most N objects; default 3, 0: all\n"
    "  --incomplete   also of a snapshot that is not complete\n"
    "  --json         print one JSON object: file, type, objects (of that type), ways [{address,\n"
    "                 size, root {kind, name} (null: no root leads to it), way [{type, address,\n"
    "                 size}], from the root to the object}]\n" WT_HEAP_HELP "\n"
    "Exit codes: 0 fine, 1 failed (also: there is no such type), 2 usage, 3 the snapshot is\n"
    "incomplete, 4 the file ends early.\n";

struct roots {
    struct wt_heap_options options;
    const char *path, *type;
    uint64_t most;
    struct hp_graph *graph;
    uint32_t *before;  /* on a way from a root */
    uint32_t *by_node; /* the root that leads to a node itself */
    uint32_t *forward; /* a way: nodes from the root on */
    struct wt_json json;
};

/* The way to a node; how many nodes it has, 0 if no root leads there. */
static uint32_t way_of(struct roots *roots, uint32_t node)
{
    uint32_t count = 0;
    if (roots->before[node] == HP_NONE)
        return 0;
    for (uint32_t at = node;; at = roots->before[at]) {
        roots->forward[count++] = at;
        if (roots->before[at] == at)
            break;
    }
    for (uint32_t i = 0; i < count / 2; i++) {
        uint32_t other = roots->forward[i];
        roots->forward[i] = roots->forward[count - 1 - i];
        roots->forward[count - 1 - i] = other;
    }
    return count;
}

static const struct hp_type *type_of(const struct hp_graph *graph, uint32_t node)
{
    return &graph->types[graph->node_types[node]];
}

/* Of the way that was made last; NULL if there is none. */
static const struct hp_root *root_of(const struct roots *roots, uint32_t count)
{
    return count ? &roots->graph->roots[roots->by_node[roots->forward[0]]] : NULL;
}

static void json_node(struct roots *roots, uint32_t node)
{
    char address[32];
    snprintf(address, sizeof(address), "0x%llx", (unsigned long long)roots->graph->addresses[node]);
    wt_json_string(&roots->json, "address", address);
    wt_json_u64(&roots->json, "size", roots->graph->sizes[node]);
}

static void json_way(struct roots *roots, uint32_t node, uint32_t count)
{
    struct wt_json *json = &roots->json;
    const struct hp_root *root = root_of(roots, count);
    wt_json_object(json, NULL);
    json_node(roots, node);
    if (root) {
        wt_json_object(json, "root");
        wt_json_string(json, "kind", hp_root_kind_name(root));
        if (root->name)
            wt_json_string(json, "name", root->name);
        wt_json_end(json);
    } else {
        wt_json_null(json, "root");
    }
    wt_json_array(json, "way");
    for (uint32_t i = 0; i < count; i++) {
        wt_json_object(json, NULL);
        wt_json_string(json, "type", type_of(roots->graph, roots->forward[i])->name);
        json_node(roots, roots->forward[i]);
        wt_json_end(json);
    }
    wt_json_end(json);
    wt_json_end(json);
}

static void print_way(struct roots *roots, uint32_t node, uint32_t count)
{
    const struct hp_graph *graph = roots->graph;
    const struct hp_root *root = root_of(roots, count);
    if (!root) {
        printf("0x%llx: no root leads to it\n", (unsigned long long)graph->addresses[node]);
        return;
    }
    printf("%s ", hp_root_kind_name(root));
    wt_print_escaped(stdout, root->name ? root->name : "", 0);
    putchar('\n');
    for (uint32_t i = 0; i < count; i++) {
        fputs("  ", stdout);
        wt_print_escaped(stdout, type_of(graph, roots->forward[i])->name, 0);
        printf("  0x%llx, %llu bytes\n", (unsigned long long)graph->addresses[roots->forward[i]],
               (unsigned long long)graph->sizes[roots->forward[i]]);
    }
}

static bool is_wanted(const struct roots *roots, uint32_t node)
{
    return strcmp(type_of(roots->graph, node)->name, roots->type) == 0;
}

static uint64_t count_wanted(const struct roots *roots)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < roots->graph->type_count; i++)
        if (strcmp(roots->graph->types[i].name, roots->type) == 0)
            count += roots->graph->types[i].count;
    return count;
}

static void print_ways(struct roots *roots)
{
    uint64_t printed = 0;
    for (uint32_t i = 0; i < roots->graph->node_count; i++) {
        if (!is_wanted(roots, i) || (roots->most && printed == roots->most))
            continue;
        uint32_t count = way_of(roots, i);
        if (roots->options.as_json)
            json_way(roots, i, count);
        else
            print_way(roots, i, count);
        printed++;
    }
}

static int print(struct roots *roots, int code)
{
    uint64_t count = count_wanted(roots);
    if (count == 0) {
        wt_complain("%s: there is no object of type \"%s\"; weir heap report lists the types",
                    roots->path, roots->type);
        return WT_EXIT_FAILED;
    }
    roots->before = wt_heap_need(hp_paths(roots->graph));
    roots->by_node = wt_heap_need(hp_roots_by_node(roots->graph));
    roots->forward = wt_heap_need(malloc(((size_t)roots->graph->node_count + 1) * 4));
    if (roots->options.as_json) {
        wt_json_init(&roots->json, stdout, true);
        wt_json_object(&roots->json, NULL);
        wt_json_string(&roots->json, "file", roots->path);
        wt_json_string(&roots->json, "type", roots->type);
        wt_json_u64(&roots->json, "objects", count);
        wt_json_array(&roots->json, "ways");
    }
    print_ways(roots);
    if (roots->options.as_json) {
        wt_json_end(&roots->json);
        wt_json_end(&roots->json);
    }
    return wt_finish_output(code);
}

static bool take_option(void *context, int option, const char *text)
{
    struct roots *roots = context;
    if (option == WT_HEAP_OWN) {
        roots->type = text;
        return true;
    }
    if (option == WT_HEAP_OWN + 1)
        return wt_parse_count("--count", text, &roots->most);
    return wt_heap_take(&roots->options, option, text);
}

static int run(struct roots *roots)
{
    int code;
    if (!roots->type) {
        wt_complain("heap roots needs --type NAME");
        return WT_EXIT_USAGE;
    }
    roots->graph = wt_heap_load_whole(&roots->options, roots->path, &code);
    if (!roots->graph)
        return code;
    code = print(roots, code);
    free(roots->before);
    free(roots->by_node);
    free(roots->forward);
    hp_graph_free(roots->graph);
    return code;
}

int wt_heap_roots(int argc, char **argv)
{
    static const struct option table[] = {{"type", required_argument, NULL, WT_HEAP_OWN},
                                          {"count", required_argument, NULL, WT_HEAP_OWN + 1},
                                          {"json", no_argument, NULL, WT_HEAP_JSON},
                                          {"incomplete", no_argument, NULL, WT_HEAP_INCOMPLETE},
                                          WT_HEAP_OPTIONS,
                                          {NULL, 0, NULL, 0}};
    static const struct wt_options options = {wt_heap_roots_help, "h", table, take_option};
    struct roots roots = {.most = 3};
    int code;
    if (!wt_options_take(&options, &roots, argc, argv, &code))
        return code;
    roots.path = wt_one_file(argc, argv, optind);
    return roots.path ? run(&roots) : WT_EXIT_USAGE;
}
