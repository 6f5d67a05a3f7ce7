/*
 * Stamps of callers. A caller may pass any number, so such a stamp says nothing about the clock: it
 * neither sets nor removes a skew, and no step is concluded from it. ORDERING.md has the argument.
 *
 * A record whose stamp is older than the last record of its thread or than the last point gets the
 * later of these two times. One that is stamped later than the moment at which the drain found it
 * gets the last time before the limit of the look, or that of the next record of its thread which
 * the library has stamped, if that is earlier. Both count as late. All others keep their times.
 */
#include "session/given.h"

#include "os/clock.h"
#include "session/report.h"
#include "session/session.h"
#include "session/step.h"

static uint64_t least_ticks(const struct wr_drain *drain, const struct wr_track *track)
{
    return wr_max_u64(track->ticks, drain->point_ticks);
}

/* Points of the same horizon are one tick apart; a record between them is not late. */
static bool is_late(const struct wr_drain *drain, uint64_t stamped, uint64_t ticks)
{
    bool is_between = stamped >= drain->horizon && ticks == drain->point_ticks;
    return stamped > ticks || (stamped < ticks && !is_between);
}

/* The time of a record that is stamped with `stamped`, in the stream's time: before `end`, but not
 * before what is already written. */
static uint64_t place(struct weir_session *session, const struct wr_track *track, uint64_t stamped,
                      uint64_t end)
{
    const struct wr_drain *drain = &session->drain;
    uint64_t ticks = wr_max_u64(stamped < end ? stamped : end - 1, least_ticks(drain, track));
    if (is_late(drain, stamped, ticks))
        wr_report_late(session);
    return ticks;
}

/* Where ends the time that a record can have which is late, young or in the future? 0: it stays
 * unread. The point that introduces lanes is older than the look; what is younger than that point is
 * read behind it. */
static uint64_t end_of(const struct weir_session *session, uint64_t stamp, uint64_t bound,
                       uint64_t limit)
{
    const struct wr_drain *drain = &session->drain;
    uint64_t now = wr_clock_ticks_ordered();
    bool is_beyond = stamp + drain->offset >= limit;
    if (drain->is_before_step)
        return stamp > now && !is_beyond ? drain->expected_ticks + 1 : 0;
    if (limit == UINT64_MAX)
        return drain->end_ticks + 1;
    if (now < drain->clock_ticks) /* the clock has stepped, which the next look handles */
        return 0;
    if (bound < limit) /* it must not hold up the record that it precedes */
        return bound + 1;
    bool is_young = stamp <= now || limit < wr_step_ticks_of_look(session);
    return is_beyond && is_young ? 0 : limit;
}

bool wr_given_admits(struct weir_session *session, struct wr_lane *lane, uint64_t stamp,
                     uint64_t bound, uint64_t limit, uint64_t *ticks)
{
    const struct wr_drain *drain = &session->drain;
    *ticks = stamp + drain->offset;
    if (WR_LIKELY(*ticks >= least_ticks(drain, &lane->track) && *ticks < limit &&
                  limit != UINT64_MAX && !drain->is_before_step))
        return true;
    uint64_t end = end_of(session, stamp, bound, limit);
    if (end != 0)
        *ticks = place(session, &lane->track, *ticks, end);
    return end != 0;
}

/* A record that is not below the limit: is it of a later slice, or younger than the cut? The clock may
 * have stepped since its segment was opened; what is young is of the new time. */
static bool waits_kept(const struct weir_session *session, uint64_t stamp, uint64_t latest,
                       uint64_t limit)
{
    const struct wr_drain *drain = &session->drain;
    uint64_t now = wr_step_ticks_now(session), straight = stamp + drain->offset;
    if (limit < drain->stream_cut)
        return latest <= now;
    return straight >= limit && straight <= now;
}

/* A snapshot may read the record long after it was written. So here every stamp is in the future
 * that is later than the bound. */
WR_COLD bool wr_given_admits_kept(struct weir_session *session, struct wr_lane *lane,
                                  uint64_t stamp, uint64_t bound, uint64_t limit, uint64_t *ticks)
{
    const struct wr_drain *drain = &session->drain;
    uint64_t stamped = wr_step_ticks_kept(session, lane->oldest, stamp);
    uint64_t latest = stamped < bound ? stamped : bound;
    uint64_t end = limit == UINT64_MAX ? drain->end_ticks + 1 : limit;
    if (latest >= limit && waits_kept(session, stamp, latest, limit))
        return false;
    *ticks = place(session, &lane->track, stamped, bound < end ? bound + 1 : end);
    return true;
}

WR_COLD uint64_t wr_given_now(struct weir_session *session, const struct wr_track *track,
                              uint64_t stamp)
{
    uint64_t stamped = (stamp < WR_STAMP_MAX ? stamp : WR_STAMP_MAX) + session->drain.offset;
    return place(session, track, stamped, wr_step_ticks_now(session) + 1);
}
