/*
 * Mode OVERWRITE: the session keeps the newest events.
 *
 * The session has one list of full segments, in the order in which their threads left them. A
 * thread that needs room takes a segment that was never used; if there is none, it recycles the
 * first of the list, the oldest. The records in it are lost, and counted on the lane that wrote
 * them. The list, and which segment is current in which lane, change under one lock; the hot path
 * does not use it.
 *
 * A snapshot holds what it reads. wr_overwrite_hold() takes the whole list in one step and notes
 * how many segments had been opened by then. A segment that was current at that step goes to a
 * second list when its thread leaves it. No segment of either list is recycled, so the snapshot may
 * read, without the lock, every segment that was opened before the hold. wr_overwrite_release()
 * puts them back in front, so reading loses nothing. During the hold, threads recycle the oldest of
 * the segments opened since.
 *
 * While all full segments are held, a thread that needs room drops its event. It also does while
 * all segments are current in other lanes. In that case the drain revokes the segments of threads
 * that make no progress, a thread that leaves a segment while others have none lets them take it,
 * and the last one or two segments are lent, for one record at a time, to threads that have none.
 *
 * The lock is never held across anything that blocks, and a thread takes it once per segment. It is
 * a separate lock, so that a thread never waits for a walk over all lanes. Lock order: the
 * session's lock, then this one.
 *
 * If a thread cannot get the lock, because its holder does not run, the thread loses its event. It
 * keeps its segment but writes no more to it, because the gap must come after the records in it.
 */
#ifndef WR_BUFFERS_MODE_OVERWRITE_H
#define WR_BUFFERS_MODE_OVERWRITE_H

#include <pthread.h>
#include <stdbool.h>
#include <weir/session.h>
#include "base/atomic.h"
#include "lane/lane.h"

struct wr_buffers;

struct wr_segment_list {
    struct wr_segment *first; /* the oldest; linked by full_next */
    struct wr_segment *last;
    uint32_t count;
};

struct wr_overwrite {
    pthread_mutex_t lock;
    struct wr_u32 lock_is_stuck; /* ANY: a hint, see wr_self_lock() */
    struct wr_segment_list full; /* LOCK: segments that may be recycled */
    struct wr_segment_list late; /* LOCK: opened before the hold, left during it */
    uint32_t carved;             /* LOCK: segments used so far, from the arena's start */
    uint32_t out;                /* LOCK: of these, current in a lane or in a thread's hand */
    uint32_t held;               /* LOCK: of these, returned by wr_overwrite_hold() */
    uint64_t openings;           /* LOCK: segments opened so far, in all lanes */
    uint64_t hold_opening;       /* LOCK: the last opening before the last hold */
    uint32_t epoch;              /* LOCK: the number of holds so far */
    bool is_held;                /* LOCK */
    bool is_closed;              /* LOCK: the session ends; no segment is opened any more */
    uint32_t turn;               /* LOCK: the number of the drain's turn, from 1 */
    uint32_t hungry;             /* LOCK: lanes that found no segment in this turn */
    uint32_t emptied;            /* LOCK: how often an exited thread's lane has become empty */
    uint32_t scarce_turn;        /* LOCK: the last turn in which a lane found none; 0: never */
    uint32_t reserve;            /* CONST: segments kept back while segments are scarce */
    struct wr_u32 spare;         /* segments available, without the reserve; stored under LOCK; a
                                  * hint for readers without it */
};

/* --- Drain's side. --------------------------------------------------------------------------- */

/* Until the release, segments opened before this call are not recycled. Returns the full ones. For
 * those that were current, ask wr_overwrite_current() of all lanes, and then wr_overwrite_late().
 */
struct wr_segment_list wr_overwrite_hold(struct wr_buffers *buffers);
/* The lane's current segment if it was opened before the hold; NULL if there is none. */
struct wr_segment *wr_overwrite_current(struct wr_lane *lane);
/* The segments opened before the hold and left since then. Up to `last` the list does not change.
 */
struct wr_segment_list wr_overwrite_late(struct wr_buffers *buffers);
/* Puts back what wr_overwrite_hold() returned, and what was left late. */
void wr_overwrite_release(struct wr_buffers *buffers, struct wr_segment_list held);
/* From here on no lane gets a segment: the hold of a stop is not released. */
void wr_overwrite_close(struct wr_buffers *buffers);

/* A lane's current segment as the drain saw it; `segment` is NULL if there was none. */
struct wr_segment_view {
    struct wr_segment *segment;
    uint64_t opening;
    uint64_t commit;
};
/* Called for each lane in each turn. If the lane has no segment, also lets it look for one. */
struct wr_segment_view wr_overwrite_visit(struct wr_lane *lane);
/* Revokes the segment of a lane whose thread makes no progress. `segment` and `opening` are what a
 * visit saw before wr_lane_revoke_begin() and the barrier. False if the thread has moved on. */
bool wr_overwrite_revoke(struct wr_lane *lane, struct wr_segment *segment, uint64_t opening);
/* The opening of the oldest full segment; 0 if there is none. */
uint64_t wr_overwrite_oldest(struct wr_buffers *buffers);
/* The number of segments opened so far. */
uint64_t wr_overwrite_openings(struct wr_buffers *buffers);
/* Begins a turn: no segment is kept any longer for lanes that found none in the last one. */
void wr_overwrite_turn(struct wr_buffers *buffers);
/* Does the lane, whose thread has exited, have no segments left? */
bool wr_overwrite_is_empty(struct wr_lane *lane);

/* Is no segment available to the lane now? A hint. */
static inline bool wr_overwrite_is_dry(const struct wr_overwrite *overwrite,
                                       const struct wr_lane *lane)
{
    /* relaxed, twice: hints */
    return wr_u32_load_relaxed(&overwrite->spare) == 0 && wr_u32_load_relaxed(&lane->is_due) == 0;
}

#endif
