/* The tree of dominators by type: objects of one type that the same group keeps are a group. */
#include "children.h"

#include <stdlib.h>

/* Objects to be divided into groups: members[first] to members[last - 1]. */
struct range {
    size_t first, last;
};

struct builder {
    const struct hp_graph *graph;
    const struct hp_tree *tree;
    struct hp_children children;
    uint64_t *members; /* type << 32 | node; each node at most once */
    size_t member_count;
    struct hp_group *groups;
    struct range *ranges; /* of the groups */
    size_t group_count, group_max;
    uint64_t least;
};

static void add_member(struct builder *builder, uint32_t node)
{
    builder->members[builder->member_count++] =
        (uint64_t)builder->graph->node_types[node] << 32 | node;
}

/* Goes down through objects of the group's type, which belong to it too: a list is one group. */
static void take_member(struct builder *builder, struct hp_group *group, uint32_t top)
{
    const struct hp_graph *graph = builder->graph;
    uint32_t node = top;
    for (;;) {
        uint32_t child = hp_children_take(&builder->children, node);
        if (child != HP_NONE && graph->node_types[child] != group->type) {
            add_member(builder, child);
        } else if (child != HP_NONE) {
            node = child;
        } else {
            group->count++;
            group->own += graph->sizes[node];
            if (node == top)
                return;
            node = builder->tree->dominators[node];
        }
    }
}

/* One group of members[first] to members[last - 1], which have one type. */
static void add_group(struct builder *builder, uint32_t above, struct range range)
{
    const uint64_t *retained = builder->tree->retained;
    struct hp_group group = {.type = (uint32_t)(builder->members[range.first] >> 32),
                             .above = above,
                             .largest = (uint32_t)builder->members[range.first]};
    for (size_t i = range.first; i < range.last; i++) {
        uint32_t node = (uint32_t)builder->members[i];
        group.retained += retained[node];
        if (retained[node] > retained[group.largest])
            group.largest = node;
    }
    if (group.retained < builder->least || builder->group_count == builder->group_max)
        return;
    builder->ranges[builder->group_count] = range;
    builder->groups[builder->group_count++] = group;
}

static int by_type(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* The members from `first` on. */
static void divide(struct builder *builder, uint32_t above, size_t first)
{
    uint64_t *members = builder->members;
    qsort(members + first, builder->member_count - first, sizeof(*members), by_type);
    for (size_t next = first; first < builder->member_count; first = next) {
        while (next < builder->member_count && members[next] >> 32 == members[first] >> 32)
            next++;
        add_group(builder, above, (struct range){first, next});
    }
}

static bool allocate(struct builder *builder)
{
    size_t nodes = (size_t)builder->graph->node_count + 1;
    builder->members = malloc(nodes * sizeof(*builder->members));
    builder->groups = calloc(builder->group_max + 1, sizeof(*builder->groups));
    builder->ranges = malloc((builder->group_max + 1) * sizeof(*builder->ranges));
    return builder->members && builder->groups && builder->ranges &&
           hp_children_make(&builder->children, builder->graph, builder->tree);
}

struct hp_group *hp_groups(const struct hp_graph *graph, const struct hp_tree *tree, uint64_t least,
                           size_t max, size_t *count)
{
    struct builder builder = {.graph = graph, .tree = tree, .least = least, .group_max = max};
    bool has_memory = allocate(&builder);
    for (uint32_t i = 0; has_memory && i < graph->node_count; i++)
        if (tree->is_reached[i] && tree->dominators[i] == HP_NONE)
            add_member(&builder, i);
    if (has_memory)
        divide(&builder, HP_NONE, 0);
    for (size_t i = 0; has_memory && i < builder.group_count; i++) {
        size_t first = builder.member_count;
        for (size_t j = builder.ranges[i].first; j < builder.ranges[i].last; j++)
            take_member(&builder, &builder.groups[i], (uint32_t)builder.members[j]);
        divide(&builder, (uint32_t)i, first);
    }
    hp_children_free(&builder.children);
    free(builder.members);
    free(builder.ranges);
    *count = builder.group_count;
    if (has_memory)
        return builder.groups;
    free(builder.groups);
    return NULL;
}
