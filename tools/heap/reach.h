/* What an object keeps: the targets of its edges, and the values of weak tables whose key it is. */
#ifndef HP_REACH_H
#define HP_REACH_H

#include "heap.h"

struct hp_reach {
    const struct hp_graph *graph;
    uint32_t *weak_first; /* by node: an entry; NULL: there are none */
    uint32_t *weak_next;  /* by entry: the next one with the same key */
};

struct hp_cursor {
    uint64_t edge, edge_end;
    uint32_t weak;
};

/* False if there is no memory. */
bool hp_reach_make(struct hp_reach *reach, const struct hp_graph *graph);
void hp_reach_free(struct hp_reach *reach);

static inline struct hp_cursor hp_reach_begin(const struct hp_reach *reach, uint32_t node)
{
    return (struct hp_cursor){reach->graph->first_edges[node], reach->graph->first_edges[node + 1],
                              reach->weak_first ? reach->weak_first[node] : HP_NONE};
}

/* HP_NONE: there are no more. */
static inline uint32_t hp_reach_next(const struct hp_reach *reach, struct hp_cursor *cursor)
{
    while (cursor->edge < cursor->edge_end) {
        uint32_t target = reach->graph->edges[cursor->edge++];
        if (target != HP_NONE)
            return target;
    }
    if (cursor->weak == HP_NONE)
        return HP_NONE;
    uint32_t value = reach->graph->weaks[cursor->weak].value;
    cursor->weak = reach->weak_next[cursor->weak];
    return value;
}

#endif
