/*
 * OVERWRITE: what a session does at the brim that keeps the newest events.
 *
 * Segments that their threads have left are on one list of the session, in the order in which they
 * were left. A thread that needs room takes a segment that was never used, or else the first of
 * that list: the oldest. Its records become lost on the lane that wrote them. The list, and which
 * segment is current in which lane, change under one lock; the hot path knows nothing of it.
 *
 * A snapshot holds what it reads. wr_overwrite_hold() takes the whole list away in one step and
 * notes how many segments had been opened by then; one that was current at that step goes to a
 * second list when it is left. Neither list is recycled from. So the snapshot may read, without the
 * lock, every segment that was opened before the hold; wr_overwrite_release() puts them back in
 * front, and nothing that was kept is lost by being read. Meanwhile it is the oldest of the
 * segments opened since that are recycled.
 *
 * While everything that is full is held, a thread that needs room drops its event. The same while
 * all segments are current in other lanes: then the drain takes those of threads that do not move,
 * a thread that gives back a segment while others go without leaves it to them, and the last one or
 * two segments are lent, for one record at a time, to threads that went without.
 *
 * The lock is never held over anything that blocks, and is taken once per segment. It is of its own
 * so that a thread never waits for a walk over all lanes; where both are held, the session's lock
 * was taken first.
 *
 * A thread that cannot have the lock, because the one that holds it does not run, loses its event
 * and keeps its segment, but writes no more to it: the loss has its place behind what is in there.
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
    struct wr_segment_list full; /* LOCK: what may be recycled */
    struct wr_segment_list late; /* LOCK: opened before the hold, left during it */
    uint32_t carved;             /* LOCK: segments that have been in use, from the first on */
    uint32_t out;                /* LOCK: of them, those current in a lane or in a thread's hand */
    uint32_t held;               /* LOCK: of them, those that wr_overwrite_hold() has returned */
    uint64_t openings;           /* LOCK: of segments, in all lanes */
    uint64_t hold_opening;       /* LOCK: the last one before the last hold */
    uint32_t epoch;              /* LOCK: how many holds there were */
    bool is_held;                /* LOCK */
    bool is_closed;              /* LOCK: the session ends; nothing is recycled any more */
    uint32_t turn;               /* LOCK: from one visit of the drain to the next; from 1 */
    uint32_t hungry;             /* LOCK: lanes that went without a segment in this turn */
    uint32_t emptied;            /* LOCK: lanes of exited threads that have become empty */
    uint32_t scarce_turn;        /* LOCK: the last one in which a lane went without; 0: none */
    uint32_t reserve;            /* CONST: segments that are kept back while some go without */
    struct wr_u32 spare;         /* segments that may be taken, but for the reserve; a hint */
};

/* --- Drain's side. --------------------------------------------------------------------------- */

/* From here to the release, what was opened before is neither recycled nor reused. Returns what was
 * full; what was current follows from wr_overwrite_current() and, once that has been asked of all
 * lanes, wr_overwrite_late(). */
struct wr_segment_list wr_overwrite_hold(struct wr_buffers *buffers);
/* The lane's current segment if it was opened before the hold; NULL if there is none. */
struct wr_segment *wr_overwrite_current(struct wr_lane *lane);
/* The segments opened before the hold that were left since: up to `last`, they stay as they are. */
struct wr_segment_list wr_overwrite_late(struct wr_buffers *buffers);
/* Puts back what wr_overwrite_hold() has returned. */
void wr_overwrite_release(struct wr_buffers *buffers, struct wr_segment_list held);
/* Ends recycling: a stop's hold is not released. */
void wr_overwrite_close(struct wr_buffers *buffers);

/* A lane's current segment as it is at this moment; `segment` is NULL if there is none. */
struct wr_segment_view {
    struct wr_segment *segment;
    uint64_t opening;
    uint64_t commit;
};
/* To be called in each turn: also tells a lane that has none to look for one. */
struct wr_segment_view wr_overwrite_visit(struct wr_lane *lane);
/* Takes the segment of a lane whose thread does not move, as it was seen before
 * wr_lane_revoke_begin() and the barrier. False if the thread has moved. */
bool wr_overwrite_revoke(struct wr_lane *lane, struct wr_segment *segment, uint64_t opening);
/* The opening of the oldest full segment; 0 if there is none. */
uint64_t wr_overwrite_oldest(struct wr_buffers *buffers);
/* How many segments were opened so far. */
uint64_t wr_overwrite_openings(struct wr_buffers *buffers);
/* A new turn: who went without in the last one is no longer waited for. */
void wr_overwrite_turn(struct wr_buffers *buffers);
/* The lane, whose thread is gone, has no segment any more. */
bool wr_overwrite_is_empty(struct wr_lane *lane);

/* A hint: is there nothing for the lane at this moment? */
static inline bool wr_overwrite_is_dry(const struct wr_overwrite *overwrite,
                                       const struct wr_lane *lane)
{
    /* relaxed, twice: hints */
    return wr_u32_load_relaxed(&overwrite->spare) == 0 && wr_u32_load_relaxed(&lane->is_due) == 0;
}

#endif
