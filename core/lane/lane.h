/*
 * A lane: the events of one thread in one session, as a chain of segments.
 *
 * The writer owns `current`, the segment it writes to, until somebody takes it out of that word by
 * an atomic exchange (edge OWN): the writer itself when it retires the segment, or the drain when
 * it revokes the segment of an idle thread. Whoever took it owns it. A revocation leaves the number
 * of records of the segment in the word, marked by an odd value: the writer, which counts its
 * attempts, needs it, and must not find the segment gone without the count.
 *
 * The word `end` and the ownership word are the lane's, not the segment's. In the segment they
 * would be wrong: a writer that loaded the pointer, lost the segment to a revocation and then
 * tested the segment's `end` would find the end that the segment's next owner has set, and write
 * into a segment of another lane (tests/model/, canary segment_end).
 */
#ifndef WR_LANE_LANE_H
#define WR_LANE_LANE_H

#include "base/atomic.h"
#include "base/compiler.h"
#include "lane/segment.h"
#include "lane/track.h"

struct wr_buffers;
struct wr_thread;

struct wr_lane {
    /* WRITER, except where an edge is named */
    WR_ALIGNED_LINE struct wr_ptr current; /* ANY(OWN): segment, NULL, or a revoked count */
    struct wr_u32 end;                     /* ANY(REVOKE): offset past the last byte; 0: revoked */
    uint8_t held_before;                   /* it has held a segment */
    uint8_t is_borrowed;                   /* the current segment goes back after this record */
    uint8_t skips;      /* OVERWRITE: events that are lost without a look for a segment; 0 while it
                         * has one */
    uint8_t skip_cause; /* of their loss */
    uint64_t records_retired; /* in segments that it no longer holds */
    struct wr_ptr opened;     /* ANY(CHAIN): segments the drain has not seen, newest first */
    struct wr_u64 lost[WR_LANE_CAUSES]; /* edge LOST */
    struct wr_u64 nested;               /* ANY: added by signal handlers, read by the drain */
    struct wr_u32 exited;               /* edge EXIT: the thread is gone, nothing follows */
    struct wr_u32 queued;               /* ANY(READY): on the session's ready list */
    uint64_t fed_ticks;                 /* when it last got a segment */
    struct wr_lane *ready_next;         /* ANY(READY) */
    struct wr_u32 is_due; /* ANY: OVERWRITE: it has no segment, and may get one; a hint */

    /* DRAIN */
    WR_ALIGNED_LINE struct wr_segment *oldest; /* the chain, oldest first */
    struct wr_segment *newest;
    uint32_t read_offset;  /* in `oldest` */
    uint32_t read_count;   /* records read of `oldest` */
    uint64_t records_read; /* from all segments */
    struct wr_track track;
    struct wr_lane *touched; /* the next lane that has encoded since the last flush */
    bool is_touched;
    uint64_t sink_failed; /* encoded, but not written; LOCK(lanes) */
    uint64_t last_stamp;  /* of the last record, as its thread read the clock; 0: none */
    int64_t skew;         /* what its stamps need beside the session's offset: session/step.c */
    uint64_t noted_pin;
    uint64_t idle_commit; /* at the last sweep, of that segment, to tell an idle lane */
    struct wr_segment *idle_segment;
    uint64_t idle_opening; /* OVERWRITE: which opening of it */
    struct wr_lane *next;  /* LOCK(lanes): all lanes of the session */
    bool is_revoking;
    bool is_finished; /* exited, and all of it is told */
    bool is_settled;  /* the session ended, and what it did not write is counted; LOCK(lanes) */

    /* CONST from attach to release */
    WR_ALIGNED_LINE struct wr_thread *thread;
    struct wr_buffers *buffers;

    /* LOCK(overwrite), see buffers/mode_overwrite.h; beside the constants, which no hot path reads
     */
    uint64_t overwritten;   /* records that are gone */
    uint32_t segments_full; /* that it no longer writes to and that still hold its records */
    uint32_t hungry_turn;   /* the last turn in which it went without a segment */
    uint32_t cut_epoch;     /* the hold since which it has opened a segment; before that it had */
    uint64_t records_left;  /* `records_retired`, as of its thread's last visit to the lock */
    uint64_t cut_records;   /* ... written so many records */
    uint64_t cut_lost[WR_LANE_CAUSES]; /* ... and so many events lost */
};

static inline void *wr_lane_revoked(uint32_t record_count)
{
    return (void *)((uintptr_t)record_count << 1 | 1u);
}

static inline bool wr_lane_is_revoked(const void *current)
{
    return ((uintptr_t)current & 1u) != 0;
}

static inline uint32_t wr_lane_revoked_count(const void *current)
{
    return (uint32_t)((uintptr_t)current >> 1);
}

_Static_assert(sizeof(struct wr_lane) <= 1024, "a lane's fixed cost stays far below 4 KiB");

#endif
