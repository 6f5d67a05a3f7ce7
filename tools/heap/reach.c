#include "reach.h"

#include <stdlib.h>

bool hp_reach_make(struct hp_reach *reach, const struct hp_graph *graph)
{
    *reach = (struct hp_reach){.graph = graph};
    if (graph->weak_count == 0)
        return true;
    reach->weak_first = malloc(((size_t)graph->node_count + 1) * sizeof(*reach->weak_first));
    reach->weak_next = malloc(graph->weak_count * sizeof(*reach->weak_next));
    if (!reach->weak_first || !reach->weak_next)
        return false;
    for (uint32_t i = 0; i < graph->node_count; i++)
        reach->weak_first[i] = HP_NONE;
    for (uint32_t i = 0; i < graph->weak_count; i++) {
        reach->weak_next[i] = reach->weak_first[graph->weaks[i].key];
        reach->weak_first[graph->weaks[i].key] = i;
    }
    return true;
}

void hp_reach_free(struct hp_reach *reach)
{
    free(reach->weak_first);
    free(reach->weak_next);
}
