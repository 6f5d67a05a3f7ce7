/* Between the files of weir report. */
#ifndef WT_WEIR_REPORT_H
#define WT_WEIR_REPORT_H

#include "call_tree.h"
#include "filter.h"
#include "report_event.h"
#include "span.h"

#define REPORT_PROVIDERS_MAX 64u

struct report_provider {
    const char *name;
    struct call_tree tree;
    struct report_function *functions; /* by function index */
    size_t function_capacity;
    uint64_t *thread_calls; /* by thread index */
    size_t thread_capacity;
};

struct report_thread {
    int64_t last_time;
    bool has_gap; /* since its last step; then: */
    int64_t gap_time;
};

enum report_order { BY_INCLUSIVE, BY_EXCLUSIVE, BY_CALLS };

enum report_csv { REPORT_CSV_NONE, REPORT_CSV_FUNCTIONS, REPORT_CSV_THREADS };

struct report {
    struct wt_run run;
    struct wt_filter filter;
    struct wt_span span;
    bool last_set;
    uint64_t last;
    bool as_json;
    enum report_csv csv;
    uint64_t top;
    enum report_order order;
    struct report_provider *providers;
    size_t provider_count, provider_capacity;
    bool too_many;
    struct wt_tally tally;
    struct report_bindings bindings;
    struct report_thread *threads; /* by thread index */
    size_t thread_capacity;
    struct report_step *ring; /* for --last */
    size_t ring_capacity;
    int64_t last_time;
    bool any;
};

/* --- What is read, in report_calls.c. ------------------------------------------------------- */

/* The index of a provider; false if the report has none of that name. */
bool report_provider_find(const struct report *report, const char *name, uint32_t *provider);

/* The same, and a new one gets an index; false if there are too many. The name must last. */
bool report_provider_add(struct report *report, const char *name, uint32_t *provider);

/* Of an event that passes the filters. */
void report_take(struct report *report, const struct report_binding *binding,
                 const struct wt_event *event);

/* Numbers are missing after the thread's last event. */
void report_gap(struct report_thread *thread);

/* The part of the trace has ended. */
void report_finish(struct report *report);

void report_finish(struct report *report);

/* Names of functions that the part does not have: reads the file again, until all are found. */
void report_find_names(struct report *report);

void report_fini(struct report *report);

/* --- Names of functions, in report_names.c. -------------------------------------------------- */

/* Takes that of an event Function. */
void report_name(struct report *report, const struct report_binding *binding,
                 const struct wt_event *event);

/* If a part lacks names of its functions, reads the file again, until it has found all. */
void report_find_names(struct report *report);

/* --- As text, JSON or CSV, in report_print.c. ------------------------------------------------ */

void report_print(const struct report *report);

#endif
