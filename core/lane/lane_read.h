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

/* Moves newly opened segments to the end of the lane's chain. */
static inline void wr_lane_take_opened(struct wr_lane *lane)
{
    /* relaxed: the next look finds a segment that this one misses */
    if (!wr_ptr_load_relaxed(&lane->opened))
        return;
    /* edge CHAIN.acquire: the headers, and that the newest of each push was current */
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

/* Has the writer left the oldest segment? If so, its commit word, loaded after this, is final. */
static inline bool wr_lane_is_left(const struct wr_lane *lane)
{
    /* edge OWN.acquire: the writer took the segment out after its last commit */
    return lane->oldest->newer || wr_ptr_load_acquire(&lane->current) != lane->oldest;
}

/* Returns the commit word of the oldest segment: the drain may read what is below its offset.
 * `is_final` is decided before the word is loaded, so a final segment's word is its last. */
static inline uint64_t wr_lane_readable(struct wr_lane *lane, bool *is_final)
{
    *is_final = wr_lane_is_left(lane);
    /* edge PUBLISH.acquire: the bytes below the offset */
    return wr_u64_load_acquire(&lane->oldest->commit);
}

/* Takes the oldest segment off the chain. It is final, and its records are read or skipped. */
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
 * Revokes the segment of a thread that is outside its pin, in two steps. Between them the caller
 * issues one wr_threads_barrier() for all lanes of a sweep.
 */
static inline void wr_lane_revoke_begin(struct wr_lane *lane)
{
    /* edge REVOKE: this store, the barrier, then the load of the pin */
    wr_u32_store_seq_cst(&lane->end, 0);
}

/* True if the lane's newest segment now belongs to the drain; its commit word is then final. False
 * if the writer is inside its pin or has left the segment, which then stays as it is. The caller
 * must not have taken anything from `opened` since wr_lane_revoke_begin(). */
static inline bool wr_lane_revoke_finish(struct wr_lane *lane)
{
    if (wr_pin_is_inside(wr_pin_load(lane->thread))) /* edge REVOKE.acquire */
        return false;
    /* Only the segment that the drain knew before it stored `end`: a writer that pinned since then
     * may have opened another segment, which sets `end` again, and may be writing to it. */
    void *current = lane->newest;
    /* edge PUBLISH.acquire; final, because a pin entered since the barrier finds no room */
    uint64_t commit = wr_u64_load_acquire(&((struct wr_segment *)current)->commit);
    /* edge OWN.release: the segment belongs to the drain from here on */
    return wr_ptr_cas_acq_rel(&lane->current, &current, wr_lane_revoked(wr_commit_count(commit)));
}

#endif
