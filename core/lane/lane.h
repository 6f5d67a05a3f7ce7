/*
 * A lane: the events of one thread in one session, as a chain of segments.
 *
 * The writer owns the segment in `current` until a thread takes it out of that word (edge OWN): the
 * writer itself, by an exchange, when it retires the segment, or the drain, by a compare-and-swap,
 * when it revokes the segment. Whoever took the segment owns it. A revocation leaves the segment's
 * record count in the word, as an odd value. The writer counts its attempts and needs that number;
 * it must never find the segment gone without it.
 *
 * `current` and `end` belong to the lane, not to the segment. In the segment they would be wrong: a
 * writer that loaded the pointer, lost the segment to a revocation, and then tested the segment's
 * `end` would see the value that the segment's next owner has set, and write into a segment of
 * another lane (tests/model/, canary segment_end).
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
    struct wr_u32 end;        /* ANY(REVOKE): offset past the segment; 0: none, or revoked */
    uint8_t held_before;      /* has held a segment: a loss is FULL, not NO_SEGMENT */
    uint8_t is_borrowed;      /* OVERWRITE: `current` is lent for one record */
    uint8_t skips;            /* OVERWRITE: events to lose before the next look for a segment; 0
                               * while the lane has one */
    uint8_t skip_cause;       /* of events that are lost without a look for a segment */
    uint64_t records_retired; /* in segments that the lane no longer holds */
    struct wr_ptr opened;     /* ANY(CHAIN): segments the drain has not seen, newest first */
    struct wr_u64 lost[WR_LANE_CAUSES]; /* edge LOST; by enum wr_lane_cause, here and below */
    struct wr_u64 nested;               /* ANY: added by signal handlers, read by the drain */
    struct wr_u32 exited;               /* edge EXIT: the thread has exited, nothing follows */
    struct wr_u32 queued;               /* ANY(READY): on the session's ready list */
    uint64_t fed_ticks;                 /* OVERWRITE: when it last got a segment */
    struct wr_lane *ready_next;         /* ANY(READY) */

    /* DRAIN */
    WR_ALIGNED_LINE struct wr_segment *oldest; /* the chain, oldest first */
    struct wr_segment *newest;
    uint32_t read_offset;  /* in `oldest` */
    uint32_t read_count;   /* records read from `oldest` */
    uint64_t records_read; /* from all segments */
    struct wr_track track;
    struct wr_lane *touched; /* list of lanes with `is_touched` */
    bool is_touched;         /* has encoded since the last flush */
    uint64_t sink_failed;    /* LOCK(lanes): records encoded, but not written */
    bool is_given;           /* this look has read a stamp of the caller's */
    uint64_t last_stamp;     /* the last other stamp, as the thread read the clock; 0: none */
    int64_t skew;            /* added to its stamps beside the session's offset: session/step.c */
    uint64_t noted_pin;      /* the pin that wr_point_settle() waits for */
    uint64_t idle_commit;    /* commit word of `idle_segment` then; 0 if it was not alone */
    struct wr_segment *idle_segment; /* the oldest one at the last sweep; OVERWRITE: current */
    uint64_t idle_opening;           /* OVERWRITE: the opening of `idle_segment` */
    struct wr_lane *next;            /* LOCK(lanes): all lanes of the session */
    bool is_revoking;
    bool is_finished; /* exited, read to the end, and all losses reported */
    bool is_settled;  /* LOCK(lanes): the session is over, and the unwritten records are counted */

    /* CONST from attach to release */
    WR_ALIGNED_LINE struct wr_thread *thread;
    struct wr_buffers *buffers;
    /* DRAIN; here because there is room */
    uint64_t name_told; /* a hash of the name that the stream has; 0: none */
    uint32_t name_turn; /* of the thread's name, when it was last read */

    /* LOCK(overwrite), see buffers/mode_overwrite.h. Beside the constants, which no hot path
     * reads. */
    uint64_t overwritten;   /* records lost by recycling */
    uint32_t segments_full; /* segments that the lane has left and that still hold its records */
    uint32_t hungry_turn;   /* the last turn in which it went without a segment */
    uint32_t cut_epoch;     /* the last hold after which it opened a segment */
    struct wr_u32 is_due;   /* ANY: has no segment, and may get one; a hint */
    uint64_t records_left;  /* `records_retired` when its thread last had the lock */
    uint64_t cut_records;   /* records written before the first opening after that hold */
    uint64_t cut_lost[WR_LANE_CAUSES]; /* events lost before that opening */
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
