/* What weir stat has counted. */
#ifndef WT_WEIR_STAT_H
#define WT_WEIR_STAT_H

#include "filter.h"
#include "output.h"
#include "span.h"

/* Per definition while reading, per (provider, id, version, name) afterwards. */
struct stat_row {
    const struct wt_metadata *metadata; /* NULL: events whose definition is missing */
    uint64_t count;
    uint64_t payload_bytes;
};

/* Of a thread, by its index. */
struct stat_thread {
    uint64_t id;     /* thread id of its first event */
    uint64_t events; /* that pass */
};

enum stat_csv { STAT_CSV_NONE, STAT_CSV_EVENTS, STAT_CSV_THREADS };

/* What is counted of an event. */
struct stat_step {
    size_t row, thread;
    uint32_t payload_size;
    int64_t time;
};

struct stat {
    struct wt_run run;
    struct wt_filter filter;
    bool as_json, last_set;
    uint64_t last;
    enum stat_csv csv;
    struct stat_row *rows; /* rows[0] for undefined ids, rows[index + 1] for the others */
    size_t row_count, row_capacity;
    struct stat_thread *threads; /* by thread index */
    size_t thread_capacity;
    struct stat_step *ring; /* the last ones that pass */
    size_t ring_capacity;
    uint64_t counted,
        payload_bytes; /* of the events that pass, or of the last of them, as the times */
    struct wt_tally tally;
    struct wt_span span;
    int64_t first_time, last_time;
    bool any;
};

int64_t stat_duration_ns(const struct stat *stat);
double stat_rate(const struct stat *stat, uint64_t count);
double stat_bytes_per_event(const struct wt_totals *totals);
uint64_t stat_unknown(uint64_t lost, uint64_t told);
uint64_t stat_unknown_total(const struct stat *stat);
struct stat_thread stat_thread_of(const struct stat *stat, const struct wt_thread *thread);

void stat_print_json(const struct stat *stat);

#endif
