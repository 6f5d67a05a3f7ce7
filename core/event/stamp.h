/* An event's stamp in the segments of its sessions. */
#ifndef WR_EVENT_STAMP_H
#define WR_EVENT_STAMP_H

#include "event/event.h"
#include "lane/lane_write.h"
#include "os/clock.h"

/* A stamp of the caller's is the same in all sessions, and after a wait. */
static inline void wr_stamp_forget(struct wr_stamp *stamp)
{
    if (!stamp->is_given)
        stamp->ticks = 0;
}

/* The stamp as the record's header has it: ticks from the segment's base, clamped to what a record
 * can hold. An event has one stamp in all its sessions, so in a new lane the base may have been read
 * after it; or the clock may have stepped. */
static inline uint64_t wr_stamp_header_ticks(const struct wr_segment *segment,
                                             const struct wr_stamp *stamp)
{
    if (stamp->is_given)
        return wr_given_ticks(segment->given_base, stamp->ticks) | WR_RECORD_IS_GIVEN;
    if (stamp->ticks < segment->base_ticks)
        return 0;
    uint64_t since = stamp->ticks - segment->base_ticks;
    return since < WR_RECORD_TICK_MAX ? since : WR_RECORD_TICK_MAX;
}

/* Has the clock stepped back behind the segment's base, or moved further ahead than a record can
 * express? An empty segment never counts: its base was just read. */
static inline bool wr_stamp_is_out_of_time(const struct wr_segment *segment, uint64_t ticks,
                                           uint64_t commit)
{
    return ticks - segment->base_ticks > WR_RECORD_TICK_MAX &&
           wr_commit_offset(commit) > segment->records_at;
}

/* Does the stamp fit? If one of the caller's does not, the clock decides whether the segment is too
 * old: an odd stamp must not cost a segment. */
static inline bool wr_stamp_is_in_time(const struct wr_segment *segment,
                                       const struct wr_stamp *stamp, uint64_t commit)
{
    if (!stamp->is_given)
        return !wr_stamp_is_out_of_time(segment, stamp->ticks, commit);
    return stamp->ticks - segment->given_base <= WR_RECORD_TICK_MAX ||
           !wr_stamp_is_out_of_time(segment, wr_clock_ticks(), commit);
}

#endif
