/* The losses of a trace: its missing numbers, and the causes that its Loss events give.
 *
 * A missing number shows only in what follows it: the thread's next event, or a sequence point,
 * which gives the number of events that each thread had attempted by then. If a file was not read
 * up to its end tag, losses after its last sequence point are unknown, and its counts are lower
 * bounds. */
#ifndef WT_WEIR_LOST_H
#define WT_WEIR_LOST_H

#include "json.h"
#include "loss.h"
#include "map.h"

/* Losses of one capture thread, or of all, from Loss events. */
struct wt_told {
    uint64_t capture_thread;
    uint64_t total;
    uint64_t causes[WT_CAUSE_COUNT];
};

/* Sums of the Loss events read so far. All zeros is an empty tally. */
struct wt_tally {
    struct wt_loss_fields *fields; /* by metadata index */
    size_t field_capacity;
    struct wt_told *threads;
    size_t thread_count, thread_capacity;
    struct wt_map map; /* capture thread -> index */
    struct wt_told all;
};

void wt_tally_define(struct wt_tally *tally, const struct wt_metadata *metadata);
void wt_tally_add(struct wt_tally *tally, const struct wt_loss *loss);
void wt_tally_fini(struct wt_tally *tally);

/* Never NULL: all zeros for a thread that no Loss event names. */
const struct wt_told *wt_tally_of(const struct wt_tally *tally, uint64_t capture_thread);

/* Takes the event if it is a Loss event. */
static inline void wt_tally_event(struct wt_tally *tally, const struct wt_event *event)
{
    struct wt_loss loss;
    if (event->metadata->undefined || !tally->fields[event->metadata->index].is_loss)
        return;
    if (wt_loss_read(&tally->fields[event->metadata->index], event, &loss))
        wt_tally_add(tally, &loss);
}

struct wt_lost {
    bool is_known;             /* the end tag was read: `count` is exact */
    uint64_t count;            /* otherwise a lower bound */
    uint64_t unknown_after_ns; /* since the start of the trace: time of the last sequence point */
};

/* True if the trace was read up to its end tag. */
static inline bool wt_lost_is_known(const struct wt_reader *reader)
{
    return wt_reader_error(reader)->status == WT_END;
}

struct wt_lost wt_lost_of(const struct wt_tally *tally, const struct wt_reader *reader);

/* The lower bound of one thread: a Loss event may have been read without the gap that it explains.
 */
uint64_t wt_lost_at_least(const struct wt_tally *tally, const struct wt_thread *thread);

/* "12", "unknown after 1.234 s", or "at least 12, unknown after 1.234 s". */
void wt_lost_text(const struct wt_lost *lost, char out[80]);

/* Members lost (null if unknown), lost_at_least, lost_unknown_after_ns (null if known). */
void wt_lost_json(const struct wt_lost *lost, struct wt_json *json);

#endif
