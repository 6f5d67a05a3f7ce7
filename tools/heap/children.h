/* The tree of dominators downwards. */
#ifndef HP_CHILDREN_H
#define HP_CHILDREN_H

#include "heap.h"

struct hp_children {
    uint32_t *first; /* of a node; HP_NONE: none */
    uint32_t *next;  /* of a child: the next one of the same node */
};

/* False if there is no memory. */
bool hp_children_make(struct hp_children *children, const struct hp_graph *graph,
                      const struct hp_tree *tree);
void hp_children_free(struct hp_children *children);

/* Takes a child out of a node's list, so that a walk needs no stack: it goes back up by the dominators.
 * HP_NONE: there are no more. */
static inline uint32_t hp_children_take(struct hp_children *children, uint32_t node)
{
    uint32_t child = children->first[node];
    if (child != HP_NONE)
        children->first[node] = children->next[child];
    return child;
}

#endif
