/*
 * A clock that steps back: after a suspension, in a process or a guest that was restored or moved,
 * or for one thread whose processor's counter is behind. ORDERING.md has the argument.
 *
 * A stamp is a reading of the clock. The stream's time, in ticks, is the stamp plus the session's
 * offset, which is 0 until the clock first steps back. If a look begins with a lower reading than
 * the last look, the drain reads the records from before the step. It then increases the offset so
 * that the stream's time goes on from where it was.
 *
 * No record is stamped in the future. If a record's stamp is later than a reading of the clock that
 * the drain made after it found the record, the record is from before a step. If the stamp is later
 * than the look's horizon only, the record is young. Neither has to wait for the clock.
 *
 * A thread whose clock differs from the drain's has a skew. Its first record that would be late or
 * in the future sets the skew; the first record that needs none removes it.
 */
#include "session/step.h"

#include <string.h>
#include "os/clock.h"
#include "os/os.h"
#include "session/report.h"
#include "session/session.h"

#define NS_PER_SECOND UINT64_C(1000000000)

/* --- The session's clock. -------------------------------------------------------------------- */

/* The ticks since the last look by CLOCK_MONOTONIC. 0 if the session's clock is not the counter:
 * then, after a step, the stamps of one look may be late. */
static uint64_t ticks_since_look(const struct weir_session *session, uint64_t now_ns)
{
    uint64_t last_ns = session->drain.clock_ns, hz = session->frequency_hz;
    if (now_ns <= last_ns)
        return 0;
    uint64_t ns = now_ns - last_ns;
    return ns / NS_PER_SECOND * hz + ns % NS_PER_SECOND * hz / NS_PER_SECOND;
}

/* Reads the clock. Returns the ticks that it should show. */
static uint64_t clock_read(struct weir_session *session)
{
    struct wr_drain *drain = &session->drain;
    uint64_t last = drain->clock_ticks + drain->offset;
    drain->clock_ticks = wr_clock_ticks_ordered();
    uint64_t now_ns = wr_clock.is_counter ? wr_os_monotonic_ns() : 0;
    uint64_t expected = last + ticks_since_look(session, now_ns);
    drain->clock_ns = now_ns;
    return expected;
}

WR_COLD uint64_t wr_step_begin(struct weir_session *session)
{
    clock_read(session);
    return wr_step_ticks_of_look(session);
}

WR_COLD bool wr_step_is_back(struct weir_session *session)
{
    struct wr_drain *drain = &session->drain;
    uint64_t last = drain->clock_ticks;
    drain->expected_ticks = clock_read(session);
    return drain->clock_ticks < last;
}

static struct wr_clock_step *step_note(struct wr_drain *drain, uint64_t ticks)
{
    if (drain->step_count == WR_CLOCK_STEPS_MAX) { /* the oldest step's segments are likely gone */
        memmove(drain->steps, drain->steps + 1, sizeof drain->steps - sizeof drain->steps[0]);
        drain->step_count--;
    }
    struct wr_clock_step *step = &drain->steps[drain->step_count++];
    uint64_t offset = ticks - drain->clock_ticks;
    *step = (struct wr_clock_step){.ticks = ticks,
                                   .by = offset - drain->offset,
                                   .offset = drain->offset,
                                   .clock = drain->clock_ticks};
    drain->offset = offset;
    return step;
}

WR_COLD uint64_t wr_step_ticks_of_look(const struct weir_session *session)
{
    return session->drain.clock_ticks + session->drain.offset;
}

WR_COLD uint64_t wr_step_ticks_now(const struct weir_session *session)
{
    return wr_clock_ticks_ordered() + session->drain.offset;
}

/* --- Weir/ClockStep. ------------------------------------------------------------------------- */

/* From this event on, times of CaptureThread (0: of all threads) in the stream are further ahead of
 * the clock, by `Ticks`, or are equal until the clock has caught up. */
static const struct weir_field step_fields[] = {{"CaptureThread", WEIR_TYPE_u64},
                                                {"Ticks", WEIR_TYPE_u64}};
static const struct weir_schema step_schema = {.name = "ClockStep",
                                               .event_id = 2,
                                               .level = WEIR_LEVEL_WARNING,
                                               .fields = step_fields,
                                               .field_count = 2};

static void tell(struct weir_session *session, uint64_t capture_id, uint64_t by, uint64_t ticks)
{
    struct wr_drain *drain = &session->drain;
    uint64_t payload[2] = {capture_id, by};
    if (wr_report_is_first_use(drain, WR_CLOCK_STEP_METADATA_ID))
        wr_nettrace_metadata(&drain->nettrace, WR_CLOCK_STEP_METADATA_ID, "Weir", &step_schema,
                             false, ticks);
    wr_nettrace_block_begin(&drain->nettrace, drain->self.capture_id, drain->self.thread_id);
    wr_report_own_event(session, WR_CLOCK_STEP_METADATA_ID, ticks, payload, sizeof payload);
}

WR_COLD void wr_step_tell_lane(struct weir_session *session, const struct wr_lane *lane,
                               uint64_t by, uint64_t ticks)
{
    if (!session->drain.is_before_step) /* otherwise it is a step for all threads */
        tell(session, lane->track.capture_id, by, ticks);
}

/* --- A step for all threads. ----------------------------------------------------------------- */

WR_COLD void wr_step_pass(struct weir_session *session, uint64_t latest)
{
    struct wr_drain *drain = &session->drain;
    uint64_t attached;
    uint64_t ticks = wr_max_u64(wr_max_u64(drain->expected_ticks, latest + 1),
                                wr_max_u64(drain->horizon, drain->point_ticks) + 1);
    const struct wr_clock_step *step = step_note(drain, ticks);
    for (struct wr_lane *lane = wr_session_lanes(session, &attached); lane; lane = lane->next)
        lane->last_stamp = 0; /* do not report the step again for each thread */
    drain->horizon = ticks;
    tell(session, 0, step->by, ticks - 1);
}

/* --- Records. -------------------------------------------------------------------------------- */

static uint64_t least_ticks(const struct wr_drain *drain, const struct wr_lane *lane)
{
    return wr_max_u64(lane->track.ticks, drain->point_ticks);
}

static void skew_to(struct wr_drain *drain, struct wr_lane *lane, uint64_t stamp, uint64_t ticks)
{
    lane->skew = (int64_t)(ticks - (stamp + drain->offset));
}

/* A record at `ticks`, in the future. If its thread's clock has leaped, the record gets the time of
 * the one before it; if the skew is only a little too large, it gets the last time below the limit.
 */
static void bring_back(struct wr_drain *drain, struct wr_lane *lane, uint64_t stamp, uint64_t ticks,
                       uint64_t limit)
{
    uint64_t least = least_ticks(drain, lane);
    bool is_leap = least < limit && ticks - limit > limit - least;
    /* In a look that introduced lanes, a point may already stand at the limit. */
    skew_to(drain, lane, stamp, is_leap ? least : wr_max_u64(limit - 1, least));
}

/* Points of the same horizon are one tick apart; a record between them is not late. */
WR_COLD void wr_step_count_late(struct weir_session *session, uint64_t ticks)
{
    if (ticks < session->drain.horizon)
        wr_report_late(session);
}

/* A record that would be late or in the future. A late record may also come from a thread that was
 * preempted inside its pin; then the thread's next record removes the skew. */
static bool admit_skewed(struct weir_session *session, struct wr_lane *lane, uint64_t stamp,
                         uint64_t limit)
{
    struct wr_drain *drain = &session->drain;
    uint64_t straight = stamp + drain->offset, now = wr_clock_ticks_ordered();
    bool is_last = limit == UINT64_MAX;
    if (is_last)
        limit = wr_max_u64(drain->end_ticks, least_ticks(drain, lane)) + 1;
    else if (now < drain->clock_ticks)
        return false; /* a step for all threads: the next look handles it */
    else if (straight >= limit && straight <= now + drain->offset)
        return false; /* young */
    uint64_t ticks = wr_step_ticks(drain, lane, stamp);
    if (ticks >= limit) {
        bring_back(drain, lane, stamp, ticks, limit);
    } else if (ticks < drain->point_ticks) {
        wr_step_count_late(session, ticks);
        skew_to(drain, lane, stamp, least_ticks(drain, lane));
    }
    return true;
}

/* The look that finds a step reads what is stamped later than the new clock. A record that found no
 * segment but one from before an earlier step is stamped with its base, too late by that step: it
 * must not move the stream ahead. Others may: what is ahead by less than this step may have been
 * emitted since the last look. */
static bool admit_before_step(struct weir_session *session, struct wr_lane *lane, uint64_t stamp)
{
    struct wr_drain *drain = &session->drain;
    bool is_base = stamp == lane->oldest->base_ticks;
    uint64_t step = drain->expected_ticks - wr_step_ticks_of_look(session);
    if (stamp <= wr_clock_ticks_ordered())
        return false;
    if (wr_step_ticks(drain, lane, stamp) > drain->expected_ticks + (is_base ? 0 : step))
        skew_to(drain, lane, stamp, least_ticks(drain, lane));
    return true;
}

WR_COLD bool wr_step_admits(struct weir_session *session, struct wr_lane *lane, uint64_t stamp,
                            uint64_t limit)
{
    const struct wr_drain *drain = &session->drain;
    uint64_t least = least_ticks(drain, lane), straight = stamp + drain->offset;
    uint64_t most = limit == UINT64_MAX ? drain->end_ticks + 1 : limit;
    if (WR_UNLIKELY(drain->is_before_step))
        return admit_before_step(session, lane, stamp);
    if (WR_LIKELY(straight >= least && straight < most)) {
        lane->skew = 0;
        return true;
    }
    uint64_t ticks = wr_step_ticks(drain, lane, stamp);
    if (lane->skew && ticks >= least && ticks < most)
        return true;
    return admit_skewed(session, lane, stamp, limit);
}

/* --- OVERWRITE: segments from before steps. -------------------------------------------------- */

WR_COLD void wr_step_visit(struct weir_session *session)
{
    struct wr_drain *drain = &session->drain;
    uint64_t opened_before = drain->openings;
    drain->openings = wr_overwrite_openings(&session->buffers); /* before the clock is read */
    if (!wr_step_is_back(session))
        return;
    struct wr_clock_step *step =
        step_note(drain, wr_max_u64(drain->expected_ticks, session->snapshot.start_ticks + 2));
    step->opened_before = opened_before;
    step->opened_by_now = wr_overwrite_openings(&session->buffers); /* after the clock was read */
}

/* The index of the first step that came after the segment's base; step_count if there is none. */
static uint32_t step_after(const struct wr_drain *drain, const struct wr_segment *segment)
{
    for (uint32_t i = 0; i < drain->step_count; i++) {
        const struct wr_clock_step *step = &drain->steps[i];
        if (segment->opening <= step->opened_before ||
            (segment->opening <= step->opened_by_now && segment->base_ticks > step->clock))
            return i;
    }
    return drain->step_count;
}

static uint64_t offset_before(const struct wr_drain *drain, uint32_t step)
{
    return step < drain->step_count ? drain->steps[step].offset : drain->offset;
}

WR_COLD uint64_t wr_step_ticks_kept(const struct weir_session *session,
                                    const struct wr_segment *segment, uint64_t stamp)
{
    const struct wr_drain *drain = &session->drain;
    return stamp + offset_before(drain, step_after(drain, segment));
}

WR_COLD void wr_step_enter_kept(struct weir_session *session, struct wr_lane *lane)
{
    const struct wr_drain *drain = &session->drain;
    if (drain->step_count == 0)
        return;
    int64_t skew = (int64_t)(offset_before(drain, step_after(drain, lane->oldest)) - drain->offset);
    if (skew != lane->skew)
        lane->last_stamp = 0;
    lane->skew = skew;
}

/* The clock may have stepped in the middle of the segment. Uses the offset of the first later step
 * with which the record is not before the one before it. False if there is none. */
static bool pass_step(struct weir_session *session, struct wr_lane *lane, uint64_t stamp,
                      uint64_t limit)
{
    struct wr_drain *drain = &session->drain;
    uint64_t least = least_ticks(drain, lane);
    for (uint32_t i = step_after(drain, lane->oldest) + 1; i <= drain->step_count; i++) {
        uint64_t ticks = stamp + offset_before(drain, i);
        if (ticks < least || ticks >= limit)
            continue;
        skew_to(drain, lane, stamp, ticks);
        lane->last_stamp = 0;
        return true;
    }
    return false;
}

WR_COLD bool wr_step_admits_kept(struct weir_session *session, struct wr_lane *lane, uint64_t stamp,
                                 uint64_t limit)
{
    struct wr_drain *drain = &session->drain;
    uint64_t least = least_ticks(drain, lane), ticks = wr_step_ticks(drain, lane, stamp);
    if (WR_LIKELY(ticks >= least && ticks < limit))
        return true;
    if (ticks >= limit && limit < drain->stream_cut)
        return false; /* belongs to a later slice */
    uint64_t straight = stamp + drain->offset;
    if (ticks >= limit && straight >= limit && straight <= wr_step_ticks_now(session))
        return false; /* younger than the cut */
    if (ticks >= limit)
        bring_back(drain, lane, stamp, ticks, limit);
    else if (!pass_step(session, lane, stamp, limit))
        skew_to(drain, lane, stamp, least);
    return true;
}

WR_COLD void wr_step_tell_kept(struct weir_session *session, uint64_t limit)
{
    struct wr_drain *drain = &session->drain;
    for (; drain->steps_told < drain->step_count; drain->steps_told++) {
        const struct wr_clock_step *step = &drain->steps[drain->steps_told];
        if (step->ticks >= limit)
            return;
        tell(session, 0, step->by, step->ticks);
    }
}
