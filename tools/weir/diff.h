/* Two traces side by side: weir diff. */
#ifndef WT_WEIR_DIFF_H
#define WT_WEIR_DIFF_H

#include "filter.h"
#include "schema.h"

#define NO_EVENT UINT64_MAX

/* Of a thread, by its index: its events as numbers that depend on what they say. */
struct diff_thread {
    uint64_t *hashes;
    size_t count, capacity;
    bool is_matched;
    uint64_t wanted; /* the event to be shown, counted from 0, or NO_EVENT */
    uint64_t seen;
    char *shown; /* that event as text or JSON */
    size_t shown_size;
};

struct diff_side {
    const char *path;
    struct diff *diff;
    struct wt_run run;
    struct wt_filter filter;
    struct wt_tally tally;
    struct wt_schema definitions;
    uint64_t *counts; /* by metadata index + 1; [0]: events without a definition */
    size_t count_count;
    uint64_t *name_hashes; /* by metadata index + 1 */
    size_t hash_capacity;
    uint64_t compared;
    struct diff_thread *threads;
    size_t thread_capacity;
    char **names; /* of the threads, at the end */
    uint64_t *ids;
    uint32_t thread_count;
};

/* A thread of A and one of B, that play the same part. */
struct diff_pair {
    uint32_t index[2]; /* UINT32_MAX: there is none */
    uint64_t at;       /* the first event that differs; NO_EVENT: none */
};

struct diff {
    struct diff_side sides[2];
    bool as_json, with_events;
    const char **ignored; /* names of fields */
    size_t ignored_count, ignored_capacity;
    struct diff_pair *pairs;
    size_t pair_count, pair_capacity;
};

/* True if the event is of the program, and not of the trace: events of provider Weir name threads
 * and numbers. */
static inline bool diff_is_compared(const struct wt_metadata *metadata)
{
    return metadata->undefined || !wt_is_weir(metadata);
}

void diff_events_define(struct diff_side *side, const struct wt_metadata *metadata);

/* Takes an event that passes. */
void diff_events_add(struct diff_side *side, const struct wt_event *event);

/* Before the reader is closed: what its threads are called. */
void diff_events_finish(struct diff_side *side);

/* Matches the threads and finds the first event of each that differs. */
void diff_events_compare(struct diff *diff);

/* Reads both files again for the events to be shown; false after a message if that fails. */
bool diff_events_show(struct diff *diff);

void diff_events_fini(struct diff *diff);

#endif
