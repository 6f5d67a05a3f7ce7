/* A snapshot by type. */
#ifndef HP_ROWS_H
#define HP_ROWS_H

#include "heap.h"

struct hp_row {
    const char *name, *module; /* of the graph; `module` may be NULL */
    uint32_t type;
    uint64_t count, bytes;
    uint64_t retained; /* 0 without a tree */
};

/* By bytes, the most first, then by name; types without objects have no row. `retained`: by type, from
 * hp_tree_by_type(), or NULL. NULL if there is no memory; the caller frees the rows. */
struct hp_row *hp_rows(const struct hp_graph *graph, const uint64_t *retained, size_t *count);

/* Below 0, 0, above 0: by name, then by module; no module is one without a name. */
int hp_name_compare(const char *left, const char *left_module, const char *right,
                    const char *right_module);

#endif
