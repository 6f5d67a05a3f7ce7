/*
 * The writer's side of a lane where it is not hot: losses, gap marks, and the change of segments.
 */
#ifndef WR_LANE_LANE_CHANGE_H
#define WR_LANE_LANE_CHANGE_H

#include "lane/lane_write.h"

/* --- Losses. --------------------------------------------------------------------------------- */

/* As wr_segment_commit(), for a gap mark, which is not counted as a record. */
static inline void wr_segment_commit_mark(struct wr_segment *segment, uint64_t commit,
                                          uint32_t bytes)
{
    /* edge PUBLISH.release: the mark's bytes */
    wr_u64_store_release(&segment->commit, commit + bytes);
}

static inline uint64_t wr_lane_lost(struct wr_lane *lane)
{
    uint64_t lost = 0;
    for (unsigned cause = 0; cause < WR_LANE_CAUSES; cause++)
        lost += wr_u64_load_acquire(&lane->lost[cause]); /* edge LOST.acquire */
    return lost;
}

/* `cause`: of enum weir_loss, here and below. */
static inline void wr_lane_count_lost(struct wr_lane *lane, unsigned cause)
{
    /* Only this thread stores it; the closer of a gate does while this one waits there. Edge
     * LOST.release: whoever sees the loss sees the records committed before it */
    wr_u64_own_add_release(&lane->lost[(size_t)wr_lane_cause(cause)], 1);
}

/* The same, for the event that this thread is emitting. */
static inline void wr_lane_lose(struct wr_lane *lane, unsigned cause)
{
    wr_lane_count_lost(lane, cause);
    lane->thread->last_loss = cause;
}

/* --- Segments. ------------------------------------------------------------------------------- */

/* Empties `current` and returns the segment that was there, which is now complete. NULL if there
 * was none or the drain has revoked it. Once the lane is on the ready list, the segment belongs to
 * the drain; in OVERWRITE it goes to a list of the session. */
static inline struct wr_segment *wr_lane_retire(struct wr_lane *lane)
{
    /* relaxed: only this thread replaces NULL; the exchange below decides everything else */
    struct wr_segment *segment = wr_ptr_load_relaxed(&lane->current);
    if (!segment)
        return NULL;
    /* Count before the exchange: after it, the drain may read the segment and give it to another
     * thread. relaxed: this thread stored it; the count of a revoked segment is not used. */
    uint32_t count =
        wr_lane_is_revoked(segment) ? 0 : wr_commit_count(wr_u64_load_relaxed(&segment->commit));
    /* edge OWN: either the writer or the drain gets the segment */
    void *current = wr_ptr_exchange_acq_rel(&lane->current, NULL);
    /* relaxed: a later revocation finds no segment and gives up */
    wr_u32_store_relaxed(&lane->end, 0);
    if (wr_lane_is_revoked(current)) {
        lane->records_retired += wr_lane_revoked_count(current);
        return NULL;
    }
    lane->records_retired += count;
    return segment;
}

/* Fills in the header of a segment that the caller owns and is about to open. */
static inline void wr_lane_head(struct wr_lane *lane, struct wr_segment *segment,
                                uint64_t base_ticks)
{
    segment->base_ticks = base_ticks;
    segment->given_base = wr_given_base(base_ticks);
    segment->records_at = WR_SEGMENT_HEADER_BYTES;
    segment->first_number = 1 + lane->records_retired + wr_lane_lost(lane);
    for (unsigned cause = 0; cause < WR_LANE_CAUSES; cause++) {
        /* relaxed: this thread stored it */
        segment->lost_before[cause] = wr_u64_load_relaxed(&lane->lost[cause]);
    }
    wr_data_written(segment, offsetof(struct wr_segment, newer));
}

/* Makes a segment the lane's current one. Its header and commit word are complete. */
static inline void wr_lane_begin(struct wr_lane *lane, struct wr_segment *segment,
                                 uint32_t segment_bytes)
{
    lane->held_before = 1;
    lane->skips = 0;
    /* edge OWN.release: a drain that is still at the previous segment learns from this word that
     * the writer has left that segment, and must then see its last commit */
    wr_ptr_store_release(&lane->current, segment);
    /* relaxed: CHAIN, or the lock of OVERWRITE, orders it before the 0 that revokes this segment */
    wr_u32_store_relaxed(&lane->end, segment_bytes);
}

/* Publishes segments whose headers and commit words are complete, all at once: `oldest` to
 * `newest`, linked by `older`. The newest becomes current before it is on the chain, so that the
 * drain never takes it for a segment that the writer has left. */
static inline void wr_lane_push(struct wr_lane *lane, struct wr_segment *oldest,
                                struct wr_segment *newest, uint32_t segment_bytes)
{
    wr_lane_begin(lane, newest, segment_bytes);
    void *older = wr_ptr_load_relaxed(&lane->opened); /* relaxed: the swap decides */
    do {
        oldest->older = older;
        /* edge CHAIN.release: the segments' headers, and that the newest is current */
    } while (!wr_ptr_cas_release(&lane->opened, &older, newest));
}

/* Fills in the header and commit word of an empty segment that the caller owns. */
static inline void wr_lane_head_empty(struct wr_lane *lane, struct wr_segment *segment,
                                      uint64_t base_ticks)
{
    wr_lane_head(lane, segment, base_ticks);
    /* relaxed: CHAIN, or the lock of OVERWRITE, publishes it to the drain */
    wr_u64_store_relaxed(&segment->commit, WR_SEGMENT_HEADER_BYTES);
}

/* Opens an empty segment that the caller owns. */
static inline void wr_lane_open(struct wr_lane *lane, struct wr_segment *segment,
                                uint32_t segment_bytes, uint64_t base_ticks)
{
    wr_lane_head_empty(lane, segment, base_ticks);
    wr_lane_push(lane, segment, segment, segment_bytes);
}

#endif
