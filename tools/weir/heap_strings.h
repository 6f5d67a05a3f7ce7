/* `weir heap report --strings`: equal strings. */
#ifndef WT_WEIR_HEAP_STRINGS_H
#define WT_WEIR_HEAP_STRINGS_H

#include "heap.h"
#include "json.h"

struct wt_heap_strings {
    const char *path;
    const struct hp_graph *graph;
    bool as_json, as_csv;
    uint64_t most; /* lines of the table; 0: all */
};

/* False after a message: the snapshot has no contents of strings. */
bool wt_heap_strings_print(const struct wt_heap_strings *strings);

/* What each report says first, as members of an object. */
void wt_heap_json_head(struct wt_json *json, const char *path, const struct hp_graph *graph);

#endif
