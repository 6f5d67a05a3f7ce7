/* Shared by the parts of `weir heap`. */
#ifndef WT_WEIR_HEAP_H
#define WT_WEIR_HEAP_H

#include "heap/heap.h"
#include "tool.h"

extern const char wt_heap_report_help[], wt_heap_roots_help[], wt_heap_diff_help[],
    wt_heap_export_help[], wt_heap_collect_help[];

int wt_heap_collect(int argc, char **argv);
int wt_heap_report(int argc, char **argv);
int wt_heap_roots(int argc, char **argv);
int wt_heap_diff(int argc, char **argv);
int wt_heap_export(int argc, char **argv);

/* What the parts have in common. */
struct wt_heap_options {
    uint64_t number; /* of the collection; 0: the first whole one */
    bool as_json;
    bool takes_incomplete;
};

enum wt_heap_option {
    WT_HEAP_NUMBER = 256,
    WT_HEAP_JSON,
    WT_HEAP_INCOMPLETE,
    WT_HEAP_OWN, /* from here on, a part's own */
};

/* Of all parts that read snapshots; those that print JSON, or refuse an incomplete snapshot, add
 * the options that say so. */
#define WT_HEAP_OPTIONS                                  \
    {"number", required_argument, NULL, WT_HEAP_NUMBER}, \
    {                                                    \
        "help", no_argument, NULL, 'h'                   \
    }

#define WT_HEAP_HELP                                                                          \
    "  --number N     the snapshot of collection N, if the trace has several; default: the\n" \
    "                 first that is whole\n"                                                  \
    "  --help         print this help\n"

/* False after a message. */
bool wt_heap_take(struct wt_heap_options *options, int option, const char *text);

/* The snapshot in a trace. NULL after a message, with an exit code. */
struct hp_graph *wt_heap_load(const struct wt_heap_options *options, const char *path, int *code);
/* The same, but NULL after a message if it is incomplete and that is not wanted. */
struct hp_graph *wt_heap_load_whole(const struct wt_heap_options *options, const char *path,
                                    int *code);

/* "NAME [module]", the last component of the module's path. Escapes nothing. */
void wt_heap_type_text(const char *name, const char *module, char *text, size_t capacity);

/* A pointer that is not NULL; otherwise the program ends with a message. */
void *wt_heap_need(void *memory);

#endif
