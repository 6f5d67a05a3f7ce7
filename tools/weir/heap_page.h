/* A snapshot as a page of HTML, which needs nothing else: weir heap report --html. */
#ifndef WT_WEIR_HEAP_PAGE_H
#define WT_WEIR_HEAP_PAGE_H

#include "heap/heap.h"
#include "heap/rows.h"

#include <stdio.h>

/* False after a message if this weir was built without what the page needs. */
bool wt_heap_page_is_there(void);

/* `rows`: with what types retain. The program ends with a message if there is no memory. */
void wt_heap_page(FILE *file, const char *path, const struct hp_graph *graph,
                  const struct hp_tree *tree, const struct hp_row *rows, size_t count);

#endif
