/* A snapshot by type: objects of types with the same name and module are added up. */
#ifndef HP_ROWS_H
#define HP_ROWS_H

#include "heap.h"

struct hp_row {
    const char *name, *module; /* of the graph; `module` may be NULL */
    uint64_t count, bytes;
    uint64_t retained; /* 0 without a tree */
};

/* By bytes, the most first, then by name; types without objects have no row. `retained`: by type, from
 * hp_tree_by_type(), or NULL. NULL if there is no memory; the caller frees the rows. */
struct hp_row *hp_rows(const struct hp_graph *graph, const uint64_t *retained, size_t *count);

/* Below 0, 0, above 0: by name, then by module. */
int hp_row_compare(const struct hp_row *left, const struct hp_row *right);

#endif
