#include "heap.h"
#include "reach.h"

#include <stdlib.h>

static bool keeps(const struct hp_root *root)
{
    return !(root->flags & HP_ROOT_IS_WEAK);
}

/* Breadth first, so that the way back is a shortest one. `queue` has room for all nodes. */
static void spread(const struct hp_reach *reach, uint32_t *before, uint32_t *queue)
{
    const struct hp_graph *graph = reach->graph;
    uint32_t first = 0, last = 0;
    for (uint32_t i = 0; i < graph->root_count; i++) {
        uint32_t node = graph->roots[i].node;
        if (!keeps(&graph->roots[i]) || before[node] != HP_NONE)
            continue;
        before[node] = node;
        queue[last++] = node;
    }
    while (first < last) {
        uint32_t node = queue[first++], target;
        struct hp_cursor cursor = hp_reach_begin(reach, node);
        while ((target = hp_reach_next(reach, &cursor)) != HP_NONE)
            if (before[target] == HP_NONE) {
                before[target] = node;
                queue[last++] = target;
            }
    }
}

uint32_t *hp_paths(const struct hp_graph *graph)
{
    struct hp_reach reach;
    size_t nodes = (size_t)graph->node_count + 1;
    uint32_t *before = malloc(nodes * sizeof(*before)), *queue = malloc(nodes * sizeof(*queue));
    bool has_memory = hp_reach_make(&reach, graph) && before && queue;
    for (uint32_t i = 0; has_memory && i < graph->node_count; i++)
        before[i] = HP_NONE;
    if (has_memory)
        spread(&reach, before, queue);
    hp_reach_free(&reach);
    free(queue);
    if (has_memory)
        return before;
    free(before);
    return NULL;
}

uint32_t *hp_roots_by_node(const struct hp_graph *graph)
{
    uint32_t *found = malloc(((size_t)graph->node_count + 1) * sizeof(*found));
    for (uint32_t i = 0; found && i < graph->node_count; i++)
        found[i] = HP_NONE;
    for (uint32_t i = 0; found && i < graph->root_count; i++) {
        const struct hp_root *root = &graph->roots[i];
        if (keeps(root) && (found[root->node] == HP_NONE || root->name))
            found[root->node] = i;
    }
    return found;
}
