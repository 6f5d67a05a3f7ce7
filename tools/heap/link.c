/* Links the elements of events: addresses become numbers of nodes, and nodes get their edges. */
#include "builder.h"

#include <stdio.h>
#include <stdlib.h>

static void name_types(struct hp_builder *builder)
{
    struct hp_type *types = (void *)builder->types.at;
    char **modules = (void *)builder->modules.at;
    for (size_t i = 0; i < builder->types.count; i++) {
        uint32_t module = hp_map_find(&builder->module_ids, types[i].module_id);
        bool is_unknown = types[i].name == NULL;
        if (module != HP_NONE)
            types[i].module = modules[module];
        if (types[i].name && types[i].name[0])
            continue;
        free(types[i].name);
        types[i].name = malloc(32);
        if (types[i].name)
            snprintf(types[i].name, 32, "%s 0x%llx", is_unknown ? "UNKNOWN" : "Type",
                     (unsigned long long)types[i].id);
        builder->has_memory &= types[i].name != NULL;
    }
}

/* The arrays of the graph; true if there is memory for all. */
static bool allocate(struct hp_builder *builder, struct hp_graph *graph)
{
    graph->node_count = (uint32_t)builder->nodes.count;
    graph->edge_count = builder->edges.count;
    size_t nodes = (size_t)graph->node_count + 1;
    graph->addresses = malloc(nodes * sizeof(*graph->addresses));
    graph->sizes = malloc(nodes * sizeof(*graph->sizes));
    graph->node_types = malloc(nodes * sizeof(*graph->node_types));
    graph->first_edges = malloc(nodes * sizeof(*graph->first_edges));
    graph->edges = malloc((graph->edge_count + 1) * sizeof(*graph->edges));
    graph->roots = calloc(builder->roots.count + 1, sizeof(*graph->roots));
    graph->weaks = calloc(builder->weaks.count + 1, sizeof(*graph->weaks));
    graph->texts = calloc(builder->texts.count + 1, sizeof(*graph->texts));
    return graph->addresses && graph->sizes && graph->node_types && graph->first_edges &&
           graph->edges && graph->roots && graph->weaks && graph->texts;
}

static void add_node(struct hp_builder *builder, struct hp_graph *graph, uint32_t node,
                     struct hp_map *addresses)
{
    const struct raw_node *raw = (struct raw_node *)(void *)builder->nodes.at + node;
    uint32_t *place = hp_map_place(addresses, raw->address);
    struct hp_type *type = hp_type_of(builder, raw->type);
    if (!place || !type) {
        builder->has_memory = false;
        return;
    }
    if (*place)
        hp_graph_fail(graph, "the object at 0x%llx is in the trace twice",
                      (unsigned long long)raw->address);
    else
        *place = node + 1;
    graph->addresses[node] = raw->address;
    graph->sizes[node] = raw->size;
    graph->node_types[node] = (uint32_t)(type - (struct hp_type *)(void *)builder->types.at);
    graph->bytes += raw->size;
    type->count++;
    type->bytes += raw->size;
}

/* Each node takes its edges from one list, in order; nothing else links the two. */
static void link_nodes(const struct hp_builder *builder, struct hp_graph *graph)
{
    const struct raw_node *raw = (void *)builder->nodes.at;
    uint64_t at = 0;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        graph->first_edges[i] = at;
        if (raw[i].edges > graph->edge_count - at)
            hp_graph_fail(graph, "edges of node %u of %u are missing", i, graph->node_count);
        at = raw[i].edges < graph->edge_count - at ? at + raw[i].edges : graph->edge_count;
    }
    graph->first_edges[graph->node_count] = at;
    if (at < graph->edge_count)
        hp_graph_fail(graph, "%llu edges belong to no node",
                      (unsigned long long)(graph->edge_count - at));
    graph->edge_count = at;
}

static uint32_t node_at(struct hp_graph *graph, const struct hp_map *addresses, uint64_t address)
{
    uint32_t node = hp_map_find(addresses, address);
    graph->dangling += node == HP_NONE && address != 0;
    return node;
}

static void resolve(struct hp_builder *builder, struct hp_graph *graph,
                    const struct hp_map *addresses)
{
    const uint64_t *targets = (void *)builder->edges.at;
    struct raw_root *roots = (void *)builder->roots.at;
    const struct raw_weak *weaks = (void *)builder->weaks.at;
    for (uint64_t i = 0; i < graph->edge_count; i++)
        graph->edges[i] = node_at(graph, addresses, targets[i]);
    for (size_t i = 0; i < builder->roots.count; i++) {
        uint32_t node = node_at(graph, addresses, roots[i].object);
        uint32_t type = roots[i].kind == HP_ROOT_STATIC
                            ? hp_map_find(&builder->type_ids, roots[i].type)
                            : HP_NONE;
        if (node == HP_NONE)
            continue;
        graph->roots[graph->root_count++] =
            (struct hp_root){node, type, roots[i].name, roots[i].flags, roots[i].kind};
        roots[i].name = NULL;
    }
    for (size_t i = 0; i < builder->weaks.count; i++) {
        uint32_t key = node_at(graph, addresses, weaks[i].key);
        uint32_t value = node_at(graph, addresses, weaks[i].value);
        if (key != HP_NONE && value != HP_NONE)
            graph->weaks[graph->weak_count++] = (struct hp_weak){key, value};
    }
}

static void link_texts(struct hp_builder *builder, struct hp_graph *graph,
                       const struct hp_map *addresses)
{
    const struct raw_text *raw = (void *)builder->texts.at;
    bool *has_text = calloc((size_t)graph->node_count + 1, sizeof(*has_text));
    builder->has_memory &= has_text != NULL;
    for (size_t i = 0; has_text && i < builder->texts.count; i++) {
        uint32_t node = hp_map_find(addresses, raw[i].address);
        if (node == HP_NONE || has_text[node]) {
            hp_graph_fail(graph, "the string at 0x%llx %s", (unsigned long long)raw[i].address,
                          node == HP_NONE ? "is missing" : "has its contents twice");
            continue;
        }
        has_text[node] = true;
        graph->texts[graph->text_count] = raw[i].text;
        graph->texts[graph->text_count++].node = node;
    }
    free(has_text);
}

void hp_builder_link(struct hp_builder *builder, struct hp_graph *graph)
{
    struct hp_map addresses = {0};
    if (!builder->has_ended)
        hp_graph_fail(graph, "the collection has no end: the trace was cut off in the walk");
    builder->has_memory &= allocate(builder, graph);
    for (uint32_t i = 0; builder->has_memory && i < graph->node_count; i++)
        add_node(builder, graph, i, &addresses);
    if (builder->has_memory) {
        link_nodes(builder, graph);
        resolve(builder, graph, &addresses);
        link_texts(builder, graph, &addresses);
        name_types(builder);
    }
    hp_map_free(&addresses);
}
