/*
 * The drain's side of a lane. Everything here runs on the session's drain thread only.
 */
#ifndef WR_LANE_LANE_READ_H
#define WR_LANE_LANE_READ_H

#include "base/atomic.h"
#include "base/compiler.h"
#include "lane/lane.h"
#include "lane/segment.h"
#include "lane/thread.h"

/* Moves the segments that the writer has opened to the end of the lane's chain. */
static inline void wr_lane_take_opened(struct wr_lane *lane)
{
    /* relaxed: a segment that is missed now is met at the next look */
    if (!wr_ptr_load_relaxed(&lane->opened))
        return;
    /* edge CHAIN.acquire: headers, and that each was current when it was pushed */
    struct wr_segment *segment = wr_ptr_exchange_acq_rel(&lane->opened, NULL);
    struct wr_segment *last = segment, *newer = NULL;
    while (segment) {
        wr_data_read(segment, offsetof(struct wr_segment, newer));
        segment->newer = newer;
        wr_data_written(&segment->newer, sizeof segment->newer);
        newer = segment;
        segment = segment->older;
    }
    if (lane->newest)
        lane->newest->newer = newer;
    else
        lane->oldest = newer;
    lane->newest = last;
}

/* Has the writer left the oldest segment? Its commit word, loaded after this, is then the last. */
static inline bool wr_lane_is_left(const struct wr_lane *lane)
{
    /* edge OWN.acquire: the writer took it out after its last commit */
    return lane->oldest->newer || wr_ptr_load_acquire(&lane->current) != lane->oldest;
}

/* What may be read of the oldest segment. `is_final` is decided before the commit word is loaded:
 * if the writer has left the segment by then, the word is its last. */
static inline uint64_t wr_lane_readable(struct wr_lane *lane, bool *is_final)
{
    *is_final = wr_lane_is_left(lane);
    /* edge PUBLISH.acquire: the bytes below the offset */
    return wr_u64_load_acquire(&lane->oldest->commit);
}

/* Takes the oldest segment, which is final and read to its end, off the chain. */
static inline struct wr_segment *wr_lane_unchain(struct wr_lane *lane)
{
    struct wr_segment *segment = lane->oldest;
    lane->oldest = segment->newer;
    if (!lane->oldest)
        lane->newest = NULL;
    lane->read_offset = 0;
    lane->read_count = 0;
    return segment;
}

/*
 * Revocation of an idle thread's segment, in two steps with one barrier for all lanes of a sweep
 * between them (wr_os_membarrier, or nothing where pins are seq_cst).
 */
static inline void wr_lane_revoke_begin(struct wr_lane *lane)
{
    /* edge REVOKE: this store, the barrier, then the load of the pin */
    wr_u32_store_seq_cst(&lane->end, 0);
}

/* True if the lane's newest segment is now the drain's: its commit word is final. If the writer is
 * inside, or has left the segment, it is left alone. Nothing may be taken from `opened` since
 * wr_lane_revoke_begin(). */
static inline bool wr_lane_revoke_finish(struct wr_lane *lane)
{
    if (wr_pin_is_inside(wr_pin_load(lane->thread))) /* edge REVOKE.acquire */
        return false;
    /* Only the segment that the drain knew before it stored `end`: a writer that pinned since may
     * have opened another one, with an `end` of its own, and be writing to it. */
    void *current = lane->newest;
    /* edge PUBLISH.acquire; final, because no pin entered since the barrier finds room */
    uint64_t commit = wr_u64_load_acquire(&((struct wr_segment *)current)->commit);
    /* edge OWN.release: from here on the segment is the drain's */
    return wr_ptr_cas_acq_rel(&lane->current, &current, wr_lane_revoked(wr_commit_count(commit)));
}

#endif
