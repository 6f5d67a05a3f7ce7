/* What weir report takes from definitions and events. */
#ifndef WT_WEIR_REPORT_EVENT_H
#define WT_WEIR_REPORT_EVENT_H

#include "reader.h"

enum report_kind {
    REPORT_OTHER, /* nothing */
    REPORT_CALL,
    REPORT_TAIL_CALL,
    REPORT_RETURN,
    REPORT_FRAME,
    REPORT_FUNCTION,
    REPORT_CREATE,
    REPORT_RESUME,
    REPORT_YIELD,
    REPORT_KINDS
};

/* Where the fields of a definition are; -1 if it lacks them. */
struct report_binding {
    enum report_kind kind;
    uint32_t provider;              /* for the caller */
    int function, coroutine, other; /* other: From or To */
    int finished;
    int name, file, line, function_kind;
};

/* By metadata index. All zeros is empty. */
struct report_bindings {
    struct report_binding *rows;
    size_t capacity;
};

/* The binding of a new definition. Valid until the next one is added. */
struct report_binding *report_bindings_add(struct report_bindings *bindings,
                                           const struct wt_metadata *metadata);

/* What an event does to the stack of its thread. */
struct report_step {
    enum report_kind kind;
    uint32_t provider, thread; /* thread: its index */
    uint64_t function, coroutine, other;
    bool has_other, is_finished;
    int64_t time;
    bool follows_gap; /* numbers of the thread are missing before this event */
    int64_t gap_time; /* the time of the last event before the gap */
};

/* Of a kind REPORT_OTHER if the event has no function. */
struct report_step report_step_of(const struct report_binding *binding,
                                  const struct wt_event *event);

/* What an event Function says; replaces what was known before. */
struct report_function {
    char *name, *file, *kind; /* NULL: not known */
    int64_t line;
};

bool report_function_id(const struct report_binding *binding, const struct wt_event *event,
                        uint64_t *id);
void report_function_read(struct report_function *function, const struct report_binding *binding,
                          const struct wt_event *event);
void report_function_fini(struct report_function *function);

#endif
