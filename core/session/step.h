/*
 * A clock that steps back. Stamps are what the clock said; ticks are the stream's time, which goes
 * on.
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
/* Reads the clock at the beginning of a look. True if it has stepped back since the last one: what
 * was stamped before is to be read, up to `latest` ticks, and then wr_step_pass() to be called. */
bool wr_step_is_back(struct weir_session *session);
void wr_step_pass(struct weir_session *session, uint64_t latest);
/* OVERWRITE: both. The earlier segments are kept, and so is how to read their stamps. */
void wr_step_visit(struct weir_session *session);
/* The clock at this moment, and at the last look. */
uint64_t wr_step_ticks_now(const struct weir_session *session);
uint64_t wr_step_ticks_of_look(const struct weir_session *session);
/* May a record with this stamp be read now, before `limit`? Settles the lane's skew. OVERWRITE: of
 * a kept segment. */
bool wr_step_admits(struct weir_session *session, struct wr_lane *lane, uint64_t stamp,
                    uint64_t limit);
bool wr_step_admits_kept(struct weir_session *session, struct wr_lane *lane, uint64_t stamp,
                         uint64_t limit);
/* OVERWRITE: the lane's oldest segment is about to be read. */
void wr_step_enter_kept(struct weir_session *session, struct wr_lane *lane);
/* OVERWRITE: ticks of a stamp in a kept segment. */
uint64_t wr_step_ticks_kept(const struct weir_session *session, const struct wr_segment *segment,
                            uint64_t stamp);
/* Its thread has read the clock twice, and the second time it said less. */
void wr_step_tell_lane(struct weir_session *session, const struct wr_lane *lane, uint64_t by,
                       uint64_t ticks);
/* OVERWRITE: tells the steps before `limit` that the stream has not told. */
void wr_step_tell_kept(struct weir_session *session, uint64_t limit);
/* A record is older than the last sequence point. */
void wr_step_count_late(struct weir_session *session, uint64_t ticks);

/* Of most records, without a call: no step is in sight, and the record is neither late nor young.
 * At the end of the stream all go the long way. */
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
