#include "rows.h"

#include <stdlib.h>
#include <string.h>

int hp_name_compare(const char *left, const char *left_module, const char *right,
                    const char *right_module)
{
    int order = strcmp(left, right);
    if (order)
        return order;
    return strcmp(left_module ? left_module : "", right_module ? right_module : "");
}

static int by_bytes(const void *left, const void *right)
{
    const struct hp_row *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return hp_name_compare(a->name, a->module, b->name, b->module);
}

struct hp_row *hp_rows(const struct hp_graph *graph, const uint64_t *retained, size_t *count)
{
    struct hp_row *rows = malloc(((size_t)graph->type_count + 1) * sizeof(*rows));
    *count = 0;
    if (!rows)
        return NULL;
    for (uint32_t i = 0; i < graph->type_count; i++) {
        const struct hp_type *type = &graph->types[i];
        if (type->count)
            rows[(*count)++] = (struct hp_row){
                type->name, type->module, i, type->count, type->bytes, retained ? retained[i] : 0};
    }
    qsort(rows, *count, sizeof(*rows), by_bytes);
    return rows;
}
