/* weir cut, in two files: which events stay and how they are numbered, and the command. */
#ifndef WT_WEIR_CUT_H
#define WT_WEIR_CUT_H

#include "filter.h"
#include "span.h"
#include "trace_write.h"

/* The file is read three times: to find the threads, definitions and gaps that stay; to number the
 * events that stay, since a Loss event may come before the gap that it explains; and to write. */
enum cut_pass { CUT_FIND, CUT_NUMBER, CUT_WRITE };

/* Missing numbers of a thread. */
struct cut_gap {
    uint64_t after, count; /* in the file that is read */
    uint64_t out_after;    /* in the one that is written */
    bool is_kept;          /* revealed in the window of time */
};

struct cut_thread {
    uint64_t capture_thread;
    uint64_t os_thread_id;
    char *row_name; /* of version 6, whose threads have names without events; or NULL */
    struct cut_gap *gaps;
    size_t gap_count, gap_capacity;
    size_t timed_gaps; /* CUT_FIND: those whose time is known */
    size_t next_gap;   /* later: the next one */
    size_t loss_gap;   /* where the last loss was found: the next one is near */
    uint64_t number;   /* last number that was written or lost: from 1 */
    uint64_t revealed; /* the last one that the new file shows */
    uint64_t in_point; /* the last point that names the thread */
    bool has_event;    /* one that passes */
    bool carries;      /* it wrote events of Weir about others */
    bool is_kept;
    bool is_touched;
};

enum cut_kind { CUT_ORDINARY, CUT_LOSS, CUT_NAME, CUT_ENUM };

struct cut_definition {
    enum cut_kind kind;
    bool is_used;    /* an event of it passes */
    uint32_t out_id; /* 0: not written yet */
};

struct cut {
    const char *path, *output;
    struct wt_filter filter;
    struct wt_span span;
    bool is_json;
    int64_t from, to; /* ticks of the first and the last time that stay */

    enum cut_pass pass;
    struct wt_run run;
    struct wt_tally tally; /* where the fields of Loss events are, and what stays of them */
    const struct wt_metadata **metadata; /* by index, of this pass */
    size_t metadata_count, metadata_capacity;
    struct cut_definition *definitions; /* by metadata index */
    size_t definition_capacity;
    struct cut_thread *threads; /* by thread index */
    size_t thread_capacity;
    uint32_t thread_count;
    uint32_t *touched; /* indices of the threads that the next point may have something to say of */
    size_t touched_count, touched_capacity;
    struct wt_map thread_map; /* capture thread -> index */

    bool any; /* an event or point stays */
    int64_t min_time, max_time;
    int64_t last_point; /* in the file that is read */
    int64_t last_time;  /* of any event or point, in file order */
    bool any_point, wrong_clock;
    bool repeats_threads;                 /* two threads have one index, which version 6 allows */
    const struct wt_metadata *overridden; /* labels of an event say something else; NULL: none */

    struct wt_trace_writer writer;
    struct wt_map stacks; /* id in the file that is read -> new id, since the last point */
    struct wt_bytes payload;
    struct wt_point_entry *entries;
    size_t entry_capacity;
    uint64_t points;

    /* The result. */
    uint64_t matched; /* the filters, events of Weir included */
    uint64_t passed, carried, lost, without_definition, labelled;
};

/* Reads the file once; the status of the reader, or WT_ERROR_IO after a message if it cannot be
 * opened. The run stays open. */
enum wt_status cut_read(struct cut *cut, enum cut_pass pass);

/* All threads before their first number; each pass starts so. */
void cut_reset(struct cut *cut);

/* After CUT_FIND: which threads stay. */
void cut_choose(struct cut *cut);

/* The next point names all threads. */
void cut_name_all(struct cut *cut);

/* Before and after CUT_WRITE: the threads that stay, with their first and last numbers. */
void cut_write_point(struct cut *cut, int64_t time);

/* After the first point: an event Weir/ThreadName for each thread whose name was none in version 6.
 * It has number 2 of its thread. */
void cut_write_names(struct cut *cut, int64_t time);

#endif
