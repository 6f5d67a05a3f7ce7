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
 * QUIESCE, REVOKE). On x86 a release store is a plain store. `pin` was loaded before, and is even.
 * If a signal handler has emitted since, this thread may use its numbers a second time; a thread
 * that waits for one of them to go may then wait longer, never less. */
WR_INLINE void wr_pin_enter_from(struct wr_thread *thread, uint64_t pin)
{
    /* edge QUIESCE.release: a thread that waits for the previous pin may see this one instead */
    wr_u64_own_add_to_release(&thread->pin, pin, 1);
    wr_compiler_barrier();
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
    /* relaxed: only this thread and its signal handlers store the pin. Edge QUIESCE.release:
     * everything done inside the pin */
    wr_u64_own_add_release(&thread->pin, 1);
}

/* The same, with the pin that was loaded before it was entered. With wr_pin_leave_own() a drop would wait for
 * two stores to the pin, one after the other, which is half of its time on Zen 1. Clang would save a register
 * for `pin`, in events that are written too. */
WR_INLINE void wr_pin_leave_from(struct wr_thread *thread, uint64_t pin)
{
#ifdef __clang__
    (void)pin;
    wr_pin_leave_own(thread);
#else
    wr_pin_leave(thread, pin + 1);
#endif
}

/* The end of the current segment, as an offset; 0: there is none, or the drain has revoked it. */
WR_INLINE uint32_t wr_lane_end(const struct wr_lane *lane)
{
    /* edge REVOKE: the pin's store, then this load. seq_cst for pins without membarrier on the
     * other side; on x86 the same instruction as a relaxed load, on aarch64 ldar. */
    return wr_u32_load_seq_cst(&lane->end);
}

/* The commit word, for the thread that holds the segment: no other thread stores it. */
WR_INLINE uint64_t wr_segment_own_commit(const struct wr_segment *segment)
{
    return wr_u64_own_load(&segment->commit);
}

/* Is there room for `bytes` before `end`, which is not 0? `segment` and `commit` receive the
 * current segment and its commit word. */
WR_INLINE bool wr_lane_fits(struct wr_lane *lane, uint32_t end, uint64_t bytes,
                            struct wr_segment **segment, uint64_t *commit)
{
    /* relaxed: this thread stored it; the drain replaces it only while the pin is even */
    *segment = wr_ptr_load_relaxed(&lane->current);
    *commit = wr_segment_own_commit(*segment);
    return WR_LIKELY(end - wr_commit_offset(*commit) >= bytes);
}

/* The current segment if it has room for `bytes`, otherwise NULL; `commit` receives its word. */
WR_INLINE struct wr_segment *wr_lane_room(struct wr_lane *lane, uint32_t bytes, uint64_t *commit)
{
    struct wr_segment *segment;
    uint32_t end = wr_lane_end(lane);
    return end && wr_lane_fits(lane, end, bytes, &segment, commit) ? segment : NULL;
}

/* Where the next record goes, by the segment's commit word. */
WR_INLINE unsigned char *wr_segment_cursor(struct wr_segment *segment, uint64_t commit)
{
    return (unsigned char *)segment + wr_commit_offset(commit);
}

/* Publishes a record: its bytes are written, then the word that covers them. */
WR_INLINE void wr_segment_commit(struct wr_segment *segment, uint64_t commit, uint64_t bytes)
{
    /* edge PUBLISH.release: the record's bytes */
    wr_u64_own_add_to_release(&segment->commit, commit, WR_COMMIT_ONE_RECORD + bytes);
}

#endif
