/* From a .gcdump file to a graph. */
#include "gcdump.h"

#include <stdlib.h>
#include <string.h>

/* --- Nodes that stand for roots. ------------------------------------------------------------- */

struct group {
    uint32_t node, flags;
    uint8_t kind;
    char *variable; /* the name of its roots; NULL: none yet */
};

struct groups {
    struct group *at;
    uint32_t count;
    uint64_t child_count;
};

static bool stands_for_roots(const struct gcdump_file *file, uint32_t node)
{
    return file->nodes[node].number == GCDUMP_NEW && gcdump_address(file, node) == 0 &&
           gcdump_name(file, node)[0] == '[';
}

/* Of the kind that its name says, or of that of the one above. */
static void add_group(struct gcdump_file *file, struct groups *groups, uint32_t node,
                      struct group above)
{
    struct group *group = &groups->at[groups->count++];
    *group = above;
    group->node = node;
    for (size_t i = 0; i < GCDUMP_GROUPS; i++)
        if (strcmp(gcdump_name(file, node), gcdump_groups[i].name) == 0) {
            group->kind = gcdump_groups[i].kind;
            group->flags = gcdump_groups[i].flags;
        }
    groups->child_count += file->nodes[node].count;
    file->nodes[node].number = GCDUMP_ROOT;
}

/* Those that are reached from the first one through others. */
static bool find_groups(struct gcdump_file *file, struct groups *groups)
{
    static const struct group none = {.kind = HP_ROOT_OTHER};
    groups->at = malloc(((size_t)file->node_count + 1) * sizeof(*groups->at));
    if (!groups->at)
        return false;
    if (file->root < file->node_count && stands_for_roots(file, file->root))
        add_group(file, groups, file->root, none);
    for (uint32_t i = 0; i < groups->count; i++) {
        uint32_t node = groups->at[i].node;
        file->blob.next = file->nodes[node].children;
        for (uint32_t j = 0; j < file->nodes[node].count; j++) {
            uint32_t child = gcdump_child(file, node);
            if (stands_for_roots(file, child))
                add_group(file, groups, child, groups->at[i]);
        }
    }
    return true;
}

/* --- Types. ---------------------------------------------------------------------------------- */

/* "String (Bytes > 10K)" is the type "String". */
static void cut_size_class(char *name)
{
    static const char *const classes[] = {"1K)", "10K)", "100K)", "1M)", "10M)", "100M)"};
    size_t length = strlen(name), prefix = strlen(GCDUMP_SIZE_CLASS);
    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
        size_t size = strlen(classes[i]);
        char *at = name + length - size;
        if (length < prefix + size || strcmp(at, classes[i]) != 0 ||
            strncmp(at - prefix, GCDUMP_SIZE_CLASS, prefix) != 0)
            continue;
        at[-(ptrdiff_t)prefix] = 0;
        return;
    }
}

/* The graph's type for one of the file, whose texts it takes over. */
static uint32_t type_of(struct gcdump_file *file, struct hp_graph *graph, struct gcdump_type *from)
{
    if (from->number)
        return from->number - 1;
    struct hp_type *type = &graph->types[graph->type_count++];
    from->number = graph->type_count;
    type->name = from->name ? from->name : calloc(1, 1);
    from->name = NULL;
    file->has_memory &= type->name != NULL;
    if (type->name)
        cut_size_class(type->name);
    if (from->module && from->module[0] &&
        strncmp(from->module, GCDUMP_NO_MODULE, strlen(GCDUMP_NO_MODULE)) != 0) {
        type->module = graph->modules[graph->module_count++] = from->module;
        from->module = NULL;
    }
    return graph->type_count - 1;
}

/* --- The graph. ------------------------------------------------------------------------------ */

static bool allocate(const struct gcdump_file *file, const struct groups *groups,
                     struct hp_graph *graph)
{
    size_t nodes = (size_t)file->node_count + 1, types = (size_t)file->type_count + 1;
    graph->addresses = malloc(nodes * sizeof(*graph->addresses));
    graph->sizes = malloc(nodes * sizeof(*graph->sizes));
    graph->node_types = malloc(nodes * sizeof(*graph->node_types));
    graph->first_edges = malloc(nodes * sizeof(*graph->first_edges));
    graph->edges = malloc((file->child_count + 1) * sizeof(*graph->edges));
    graph->roots = calloc(groups->child_count + 1, sizeof(*graph->roots));
    graph->types = calloc(types, sizeof(*graph->types));
    graph->modules = calloc(types, sizeof(*graph->modules));
    return graph->addresses && graph->sizes && graph->node_types && graph->first_edges &&
           graph->edges && graph->roots && graph->types && graph->modules;
}

static void add_objects(struct gcdump_file *file, struct hp_graph *graph)
{
    for (uint32_t i = 0; i < file->node_count; i++) {
        struct gcdump_node *node = &file->nodes[i];
        if (node->number != GCDUMP_NEW)
            continue;
        uint32_t type = type_of(file, graph, &file->types[node->type]);
        node->number = graph->node_count++;
        graph->addresses[node->number] = gcdump_address(file, i);
        graph->sizes[node->number] = node->size;
        graph->node_types[node->number] = type;
        graph->bytes += node->size;
        graph->types[type].count++;
        graph->types[type].bytes += node->size;
    }
}

static void add_edges(struct gcdump_file *file, struct hp_graph *graph)
{
    uint32_t object = 0;
    for (uint32_t i = 0; i < file->node_count; i++) {
        const struct gcdump_node *node = &file->nodes[i];
        if (node->number >= GCDUMP_ROOT)
            continue;
        graph->first_edges[object++] = graph->edge_count;
        file->blob.next = node->children;
        for (uint32_t j = 0; j < node->count; j++) {
            uint32_t target = file->nodes[gcdump_child(file, i)].number;
            graph->dangling += target == GCDUMP_ABSENT;
            graph->edges[graph->edge_count++] = target < GCDUMP_ROOT ? target : HP_NONE;
        }
    }
    graph->first_edges[object] = graph->edge_count;
}

/* "[static var TYPE.NAME]" is NAME if TYPE is the first object's, which the writer takes for the
 * variable's; otherwise TYPE.NAME. */
static char *variable_name(const char *name, const char *type)
{
    size_t start = strlen(GCDUMP_VARIABLE), length = strlen(name), prefix = strlen(type);
    if (length > start && strncmp(name, GCDUMP_VARIABLE, start) == 0) {
        name += start;
        length -= start + (name[length - start - 1] == ']');
    }
    if (length > prefix + 1 && strncmp(name, type, prefix) == 0 && name[prefix] == '.') {
        name += prefix + 1;
        length -= prefix + 1;
    }
    char *copy = malloc(length + 1);
    if (copy) {
        memcpy(copy, name, length);
        copy[length] = 0;
    }
    return copy;
}

/* The roots of a group share its name: a copy for each could take any amount of memory. */
static void add_root(struct gcdump_file *file, struct hp_graph *graph, struct group *group,
                     uint32_t node)
{
    uint32_t number = file->nodes[node].number;
    if (number == GCDUMP_ABSENT)
        graph->dangling += gcdump_address(file, node) != 0;
    if (number >= GCDUMP_ROOT)
        return;
    struct hp_root *root = &graph->roots[graph->root_count++];
    *root = (struct hp_root){number, HP_NONE, NULL, group->flags, group->kind};
    if (group->kind != HP_ROOT_STATIC)
        return;
    root->type = graph->node_types[number];
    if (!group->variable)
        group->variable =
            variable_name(gcdump_name(file, group->node), graph->types[root->type].name);
    root->name = group->variable;
    file->has_memory &= root->name != NULL;
}

static void add_roots(struct gcdump_file *file, struct hp_graph *graph, const struct groups *groups)
{
    for (uint32_t i = 0; i < groups->count && file->has_memory; i++) {
        struct group *group = &groups->at[i];
        const struct gcdump_node *node = &file->nodes[group->node];
        file->blob.next = node->children;
        for (uint32_t j = 0; j < node->count; j++)
            add_root(file, graph, group, gcdump_child(file, group->node));
    }
    /* No node stands for roots: the first one is the root itself. */
    if (groups->count == 0 && file->root < file->node_count)
        add_root(file, graph, &(struct group){.kind = HP_ROOT_OTHER}, file->root);
}

static bool fill(struct gcdump_file *file, struct hp_graph *graph)
{
    struct groups groups = {0};
    graph->is_complete = true;
    bool has_memory = find_groups(file, &groups) && allocate(file, &groups, graph);
    if (has_memory) {
        add_objects(file, graph);
        add_edges(file, graph);
        if (file->has_memory)
            add_roots(file, graph, &groups);
        has_memory = file->has_memory && hp_types_merge(graph);
    }
    if (file->log && strncmp(file->log, GCDUMP_INCOMPLETE, strlen(GCDUMP_INCOMPLETE)) == 0)
        hp_graph_fail(graph, "%s", file->log + strlen(GCDUMP_INCOMPLETE));
    free(groups.at);
    return has_memory;
}

struct hp_graph *hp_gcdump_read(const void *bytes, size_t size, char *error, size_t capacity)
{
    struct gcdump_file file;
    struct hp_graph *graph = NULL;
    if (gcdump_open(&file, bytes, size, error, capacity)) {
        graph = calloc(1, sizeof(*graph));
        if (!graph || !fill(&file, graph))
            file.has_memory = false;
    }
    if (!file.has_memory || error[0]) {
        hp_graph_free(graph);
        graph = NULL;
    }
    gcdump_close(&file);
    return graph;
}
