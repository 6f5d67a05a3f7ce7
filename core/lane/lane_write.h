/*
 * HOT: the writer's side of a lane.
 *
 * Life of a record: pin, test for room, read the clock, copy, commit, unpin. The test for room
 * comes before the clock because reading the clock is about 90 % of the minimum cost of an event;
 * drops skip it.
 *
 * The ordering argument in short; core/ORDERING.md has all of it. The drain reads only below
 * `commit`, which the writer stores last, with release (edge PUBLISH). A segment leaves the lane
 * only through `current` (edge OWN). The drain takes it only after it has stored end = 0, issued a
 * barrier, and found the pin even (edge REVOKE): a writer that pins later finds end == 0 and does
 * not touch the segment.
 */
#ifndef WR_LANE_LANE_WRITE_H
#define WR_LANE_LANE_WRITE_H

#include "base/atomic.h"
#include "base/compiler.h"
#include "lane/lane.h"
#include "lane/record.h"
#include "lane/segment.h"
#include "lane/thread.h"

/* Enters the pin with a plain store, which is the writer's half of the asymmetric barrier (edges
 * QUIESCE, REVOKE). On x86 a release store is a plain store. */
WR_INLINE uint64_t wr_pin_enter(struct wr_thread *thread)
{
    /* relaxed: only this thread and its signal handlers store the pin */
    uint64_t pin = wr_u64_load_relaxed(&thread->pin) + 1;
    /* edge QUIESCE.release: a thread that waits for the previous pin may see this one instead */
    wr_u64_store_release(&thread->pin, pin);
    wr_compiler_barrier();
    return pin;
}

/* The same, where the other side has no membarrier: later loads must not overtake the store. */
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

/* Leaves this thread's pin. Loads the pin again, because a register that held it across the clock
 * reading would have to be saved. */
WR_INLINE void wr_pin_leave_own(struct wr_thread *thread)
{
    /* relaxed: only this thread and its signal handlers store the pin */
    wr_pin_leave(thread, wr_u64_load_relaxed(&thread->pin));
}

/* The end of the current segment, as an offset; 0: there is none, or the drain has revoked it. */
WR_INLINE uint32_t wr_lane_end(const struct wr_lane *lane)
{
    /* edge REVOKE: the pin's store, then this load. seq_cst for pins without membarrier on the
     * other side; on x86 the same instruction as a relaxed load, on aarch64 ldar. */
    return wr_u32_load_seq_cst(&lane->end);
}

/* Is there room for `bytes` before `end`, which is not 0? `segment` and `commit` receive the
 * current segment and its commit word. */
WR_INLINE bool wr_lane_fits(struct wr_lane *lane, uint32_t end, uint64_t bytes,
                            struct wr_segment **segment, uint64_t *commit)
{
    /* relaxed: this thread stored it; the drain replaces it only while the pin is even */
    *segment = wr_ptr_load_relaxed(&lane->current);
    /* relaxed: only this thread stores the commit word of a segment it holds */
    *commit = wr_u64_load_relaxed(&(*segment)->commit);
    return WR_LIKELY(wr_commit_offset(*commit) + bytes <= end);
}

/* The current segment if it has room for `bytes`, otherwise NULL; `commit` receives its word. */
WR_INLINE struct wr_segment *wr_lane_room(struct wr_lane *lane, uint32_t bytes, uint64_t *commit)
{
    struct wr_segment *segment;
    uint32_t end = wr_lane_end(lane);
    return end && wr_lane_fits(lane, end, bytes, &segment, commit) ? segment : NULL;
}

/* How far ahead of the cursor to prefetch. After the drain has read a segment on another processor,
 * its lines are in that processor's cache: an event takes 19 ns without the prefetch, 14 ns with
 * it. Where the lines are local, the prefetch costs nothing beside the clock. */
#define WR_PREFETCH_BYTES 512

/* Where the next record goes, by the segment's commit word. */
WR_INLINE unsigned char *wr_segment_cursor(struct wr_segment *segment, uint64_t commit)
{
    return (unsigned char *)segment + wr_commit_offset(commit);
}

/* As wr_segment_commit(), for a gap mark, which is not counted as a record. */
static inline void wr_segment_commit_mark(struct wr_segment *segment, uint64_t commit,
                                          uint32_t bytes)
{
    /* edge PUBLISH.release: the mark's bytes */
    wr_u64_store_release(&segment->commit, commit + bytes);
}

/* Publishes a record: its bytes are written, then the word that covers them. */
WR_INLINE void wr_segment_commit(struct wr_segment *segment, uint64_t commit, uint64_t bytes)
{
    /* edge PUBLISH.release: the record's bytes */
    wr_u64_store_release(&segment->commit, commit + WR_COMMIT_ONE_RECORD + bytes);
}

static inline uint64_t wr_lane_lost(struct wr_lane *lane)
{
    uint64_t lost = 0;
    for (unsigned cause = 0; cause < WR_LANE_CAUSES; cause++)
        lost += wr_u64_load_acquire(&lane->lost[cause]); /* edge LOST.acquire */
    return lost;
}

static inline void wr_lane_count_lost(struct wr_lane *lane, unsigned cause)
{
    /* relaxed: only this thread stores it; the closer of a gate does while this one waits there */
    uint64_t lost = wr_u64_load_relaxed(&lane->lost[cause]);
    /* edge LOST.release: whoever sees the loss sees the records committed before it */
    wr_u64_store_release(&lane->lost[cause], lost + 1);
}

/* The same, for the event that this thread is emitting. */
static inline void wr_lane_lose(struct wr_lane *lane, unsigned cause)
{
    wr_lane_count_lost(lane, cause);
    wr_self.last_loss = cause;
}

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
