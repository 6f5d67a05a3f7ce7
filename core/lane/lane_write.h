/*
 * HOT: the writer's side of a lane.
 *
 * Life of a record: pin; is there room; read the clock; copy; commit; unpin. Room is tested before
 * the clock is read, because the clock is nine tenths of the least that an event costs and a
 * dropped one must not pay it.
 *
 * The argument in short (core/ORDERING.md has it whole). The drain reads only below `commit`, which
 * is stored last, with release (edge PUBLISH). A segment leaves the lane only through `current`
 * (edge OWN), and the drain takes it only after it has stored end = 0, issued a barrier, and found
 * the pin even (edge REVOKE): a writer that pins later finds end == 0 and does not touch the
 * segment.
 */
#ifndef WR_LANE_LANE_WRITE_H
#define WR_LANE_LANE_WRITE_H

#include "base/atomic.h"
#include "base/compiler.h"
#include "lane/lane.h"
#include "lane/record.h"
#include "lane/segment.h"
#include "lane/thread.h"

/* Enters the pin with a plain store (a release store is one, on x86): half of the asymmetric
 * barrier (edges QUIESCE, REVOKE). */
WR_INLINE uint64_t wr_pin_enter(struct wr_thread *thread)
{
    /* relaxed: only this thread and its signal handlers store the pin */
    uint64_t pin = wr_u64_load_relaxed(&thread->pin) + 1;
    /* edge QUIESCE.release: who waits for the pin before this one may meet this one instead */
    wr_u64_store_release(&thread->pin, pin);
    wr_compiler_barrier();
    return pin;
}

/* The same where the other side has no membarrier: the store may not be overtaken by later loads.
 */
WR_INLINE uint64_t wr_pin_enter_seq_cst(struct wr_thread *thread)
{
    /* relaxed: only this thread and its signal handlers store the pin */
    uint64_t pin = wr_u64_load_relaxed(&thread->pin) + 1;
    /* edges QUIESCE, REVOKE: this store, then the loads of the mask and of `end` */
    wr_u64_store_seq_cst(&thread->pin, pin);
    return pin;
}

WR_INLINE void wr_pin_leave(struct wr_thread *thread, uint64_t pin)
{
    /* edge QUIESCE.release: everything done inside the pin */
    wr_u64_store_release(&thread->pin, pin + 1);
}

/* Leaves the pin that this thread is inside. The pin is loaded again: a register that held it over
 * the reading of the clock would have to be saved. */
WR_INLINE void wr_pin_leave_own(struct wr_thread *thread)
{
    /* relaxed: only this thread and its signal handlers store the pin */
    wr_pin_leave(thread, wr_u64_load_relaxed(&thread->pin));
}

/* Where the current segment ends; 0: there is none, or the drain has taken it. */
WR_INLINE uint32_t wr_lane_end(const struct wr_lane *lane)
{
    /* edge REVOKE: the pin's store, then this load; seq_cst for the pins that have no membarrier on
     * the other side (the same instruction as a relaxed load on x86; ldar on aarch64) */
    return wr_u32_load_seq_cst(&lane->end);
}

/* Is there room for `bytes` before the end, which is not 0? `segment` and `commit` receive where.
 */
WR_INLINE bool wr_lane_fits(struct wr_lane *lane, uint32_t end, uint64_t bytes,
                            struct wr_segment **segment, uint64_t *commit)
{
    /* relaxed: this thread stored it; the drain replaces it only while the pin is even */
    *segment = wr_ptr_load_relaxed(&lane->current);
    /* relaxed: only this thread stores the commit word of a segment it holds */
    *commit = wr_u64_load_relaxed(&(*segment)->commit);
    return WR_LIKELY(wr_commit_offset(*commit) + bytes <= end);
}

/* The segment to write to if it has room for `bytes`, else NULL; `commit` receives its word. */
WR_INLINE struct wr_segment *wr_lane_room(struct wr_lane *lane, uint32_t bytes, uint64_t *commit)
{
    struct wr_segment *segment;
    uint32_t end = wr_lane_end(lane);
    return end && wr_lane_fits(lane, end, bytes, &segment, commit) ? segment : NULL;
}

/* How far ahead of the cursor lines are asked for. A segment that the drain has read on another
 * processor has its lines there: 19 ns an event without this, 14 with it; where they are already
 * here it costs nothing beside the clock. */
#define WR_PREFETCH_BYTES 512

/* Where the record goes whose room was found with this commit word. */
WR_INLINE unsigned char *wr_segment_cursor(struct wr_segment *segment, uint64_t commit)
{
    return (unsigned char *)segment + wr_commit_offset(commit);
}

/* Makes the record visible: its bytes, then the word that covers them. */
WR_INLINE void wr_segment_commit(struct wr_segment *segment, uint64_t commit, uint64_t bytes)
{
    /* edge PUBLISH.release: the record's bytes */
    wr_u64_store_release(&segment->commit, commit + WR_COMMIT_ONE_RECORD + bytes);
}

#endif
