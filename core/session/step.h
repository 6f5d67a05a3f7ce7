/*
 * A clock that steps back. Stamps are readings of the clock; ticks are the stream's time, which
 * never steps back.
 */
#ifndef WR_SESSION_STEP_H
#define WR_SESSION_STEP_H

#include <stdbool.h>
#include <stdint.h>
#include "lane/lane.h"
#include "session/drain.h"

struct weir_session;

/* Reads the clock for the first time. Returns ticks. */
uint64_t wr_step_begin(struct weir_session *session);
/* Reads the clock at the beginning of a look. True if it has stepped back since the last look. The
 * caller then reads all records from before the step, and calls wr_step_pass() with `latest`, the
 * ticks of the last of them. */
bool wr_step_is_back(struct weir_session *session);
void wr_step_pass(struct weir_session *session, uint64_t latest);
/* OVERWRITE: replaces both. Segments from before the step are kept, so it notes the step in order
 * to convert their stamps later. */
void wr_step_visit(struct weir_session *session);
/* The ticks of the clock now, and at the last look. */
uint64_t wr_step_ticks_now(const struct weir_session *session);
uint64_t wr_step_ticks_of_look(const struct weir_session *session);
/* May a record with this stamp be read now, before `limit`? Sets the lane's skew. The second is for
 * OVERWRITE: a record of a kept segment. */
bool wr_step_admits(struct weir_session *session, struct wr_lane *lane, uint64_t stamp,
                    uint64_t limit);
bool wr_step_admits_kept(struct weir_session *session, struct wr_lane *lane, uint64_t stamp,
                         uint64_t limit);
/* OVERWRITE: called before the first record of the lane's oldest segment is read. */
void wr_step_enter_kept(struct weir_session *session, struct wr_lane *lane);
/* OVERWRITE: the ticks of a stamp in a kept segment. */
uint64_t wr_step_ticks_kept(const struct weir_session *session, const struct wr_segment *segment,
                            uint64_t stamp);
/* Reports that the lane's thread has stamped a record `by` ticks lower than the one before it. */
void wr_step_tell_lane(struct weir_session *session, const struct wr_lane *lane, uint64_t by,
                       uint64_t ticks);
/* OVERWRITE: reports the steps before `limit` that the stream has not reported yet. */
void wr_step_tell_kept(struct weir_session *session, uint64_t limit);
/* A record is older than the last sequence point: counts it as late, unless it is not older than
 * the horizon. */
void wr_step_count_late(struct weir_session *session, uint64_t ticks);

/* The fast test, true for most records: no step, no skew, and the record is neither late nor young.
 * Never true at the end of the stream, where there is no limit. */
static inline bool wr_step_is_plain(const struct wr_drain *drain, const struct wr_lane *lane,
                                    uint64_t stamp, uint64_t limit)
{
    uint64_t ticks = stamp + drain->offset;
    return ticks < limit && ticks >= lane->track.ticks && ticks >= drain->point_ticks &&
           lane->skew == 0 && limit != UINT64_MAX && !drain->is_before_step;
}
/* The ticks of a stamp that was admitted. */
static inline uint64_t wr_step_ticks(const struct wr_drain *drain, const struct wr_lane *lane,
                                     uint64_t stamp)
{
    uint64_t ticks = stamp + drain->offset;
    return lane->skew < 0 && ticks < -(uint64_t)lane->skew ? 0 : ticks + (uint64_t)lane->skew;
}

#endif
