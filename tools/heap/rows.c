#include "rows.h"

#include <stdlib.h>
#include <string.h>

int hp_row_compare(const struct hp_row *left, const struct hp_row *right)
{
    int order = strcmp(left->name, right->name);
    if (order)
        return order;
    return strcmp(left->module ? left->module : "", right->module ? right->module : "");
}

static int by_name(const void *left, const void *right)
{
    return hp_row_compare(left, right);
}

static int by_bytes(const void *left, const void *right)
{
    const struct hp_row *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return hp_row_compare(a, b);
}

/* Adds up neighbours that are the same. */
static size_t merge(struct hp_row *rows, size_t count)
{
    size_t merged = 0;
    for (size_t i = 0; i < count; i++) {
        if (merged == 0 || hp_row_compare(&rows[merged - 1], &rows[i]) != 0) {
            rows[merged++] = rows[i];
            continue;
        }
        rows[merged - 1].count += rows[i].count;
        rows[merged - 1].bytes += rows[i].bytes;
        rows[merged - 1].retained += rows[i].retained;
    }
    return merged;
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
            rows[(*count)++] = (struct hp_row){type->name, type->module, type->count, type->bytes,
                                               retained ? retained[i] : 0};
    }
    qsort(rows, *count, sizeof(*rows), by_name);
    *count = merge(rows, *count);
    qsort(rows, *count, sizeof(*rows), by_bytes);
    return rows;
}
