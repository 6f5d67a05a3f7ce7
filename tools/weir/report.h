/* What weir report has read, for the file that prints it. */
#ifndef WT_WEIR_REPORT_H
#define WT_WEIR_REPORT_H

#include "call_tree.h"
#include "filter.h"

struct report_binding;

struct function_info {
    char *name, *file, *kind;
    int64_t line;
};

struct report_provider {
    const char *name;
    struct call_tree tree;
    struct function_info *infos; /* by function index */
    size_t info_capacity;
    uint64_t *thread_calls; /* by thread index */
    size_t thread_capacity;
};

enum report_order { BY_INCLUSIVE, BY_EXCLUSIVE, BY_CALLS };

enum report_csv { REPORT_CSV_NONE, REPORT_CSV_FUNCTIONS, REPORT_CSV_THREADS };

struct report {
    struct wt_run run;
    struct wt_filter filter;
    bool as_json;
    enum report_csv csv;
    uint64_t top;
    enum report_order order;
    struct report_provider *providers;
    size_t provider_count, provider_capacity;
    bool too_many;
    struct wt_tally tally;
    struct report_binding *bindings; /* by metadata index */
    size_t binding_capacity;
    int64_t *last_times; /* by thread index */
    size_t thread_capacity;
    int64_t last_time;
    bool any;
};

/* As text, JSON or CSV. */
void report_print(const struct report *report);

#endif
