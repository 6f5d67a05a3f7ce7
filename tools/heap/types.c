/* Types with the same name and module become one: .NET describes a type again in each load context, and
 * a .gcdump splits types by the size of their objects. */
#include "rows.h"

#include <stdlib.h>
#include <string.h>

struct place {
    const struct hp_type *type;
    uint32_t index;
};

static int by_name(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    int order = hp_name_compare(a->type->name, a->type->module, b->type->name, b->type->module);
    return order ? order : (a->index > b->index) - (a->index < b->index);
}

/* Sets the new index of each type. */
static uint32_t number(const struct place *places, uint32_t count, uint32_t *numbers)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct hp_type *type = places[i].type, *before = i ? places[i - 1].type : NULL;
        if (before && hp_name_compare(before->name, before->module, type->name, type->module) != 0)
            last++;
        numbers[places[i].index] = last;
    }
    return count ? last + 1 : 0;
}

/* Moves the types to their new places. */
static void move(struct hp_graph *graph, const uint32_t *numbers, struct hp_type *types)
{
    for (uint32_t i = 0; i < graph->type_count; i++) {
        struct hp_type *from = &graph->types[i], *to = &types[numbers[i]];
        if (!to->name) {
            *to = *from;
            continue;
        }
        to->count += from->count;
        to->bytes += from->bytes;
        free(from->name);
    }
    free(graph->types);
    graph->types = types;
}

bool hp_types_merge(struct hp_graph *graph)
{
    size_t room = (size_t)graph->type_count + 1;
    struct place *places = malloc(room * sizeof(*places));
    uint32_t *numbers = malloc(room * sizeof(*numbers)), count = 0;
    struct hp_type *types = NULL;
    if (places && numbers) {
        for (uint32_t i = 0; i < graph->type_count; i++)
            places[i] = (struct place){&graph->types[i], i};
        qsort(places, graph->type_count, sizeof(*places), by_name);
        count = number(places, graph->type_count, numbers);
        types = calloc((size_t)count + 1, sizeof(*types));
    }
    if (types) {
        move(graph, numbers, types);
        graph->type_count = count;
        for (uint32_t i = 0; i < graph->node_count; i++)
            graph->node_types[i] = numbers[graph->node_types[i]];
        for (uint32_t i = 0; i < graph->root_count; i++)
            if (graph->roots[i].type != HP_NONE)
                graph->roots[i].type = numbers[graph->roots[i].type];
    }
    free(places);
    free(numbers);
    return types != NULL;
}
