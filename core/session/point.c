/*
 * Sequence points say how many events each thread has attempted. A reader computes losses from
 * them, and may cut the stream there.
 *
 * Existing readers rely on three rules. A number never steps back. A point introduces a thread with
 * number 1, and its events are numbered from 2: a reader assumes that a thread that it first sees
 * with number n has lost nothing before n. A step is below 2^31, because readers subtract numbers
 * as signed integers.
 *
 * A point at T is true only if no emitter is still inside a pin with a stamp older than T. The
 * order is: clock, barrier, pins. The drain waits for emitters whose pin is odd at the barrier, up
 * to 1 ms or until half the budget is full. A record that is published later gets the point's time
 * and counts as late.
 */
#include "session/point.h"

#include "lane/lane_read.h"
#include "os/clock.h"
#include "os/os.h"
#include "session/names.h"
#include "session/read.h"
#include "session/report.h"
#include "session/session.h"

#define SETTLE_NS_MAX   1000000u
#define POINT_BYTES_MAX (4u << 20) /* of stream between points, which a reader must hold */
#define THREADS_MAX     4096u      /* with events between points */

/* --- What a lane has lost. ------------------------------------------------------------------- */

/* Reports all losses so far, unless the lane has an unread record that some of them may follow.
 * Load the losses before looking for records: then every record that precedes a loaded loss is
 * seen. */
static void lane_tell_all(struct weir_session *session, struct wr_lane *lane, uint64_t limit)
{
    uint64_t lost[WR_LANE_CAUSES];
    /* edge EXIT.acquire, before the losses are loaded, so that they are the thread's last. Check
     * the pin too: inside it, the thread may still be putting the lane on the ready list. */
    bool has_exited =
        wr_u32_load_acquire(&lane->exited) && !wr_pin_is_inside(wr_pin_load(lane->thread));
    uint64_t records = lane->buffers->mode->attempts(lane, lost);
    wr_report_nested(session, &lane->track, wr_u64_load_acquire(&lane->nested));
    bool has_more = wr_read_lane(session, lane, limit);
    if (lane->oldest && lane->read_count == 0 &&
        (has_more || session->drain.way->gone_before(lane) != 0))
        wr_report_gap(session, lane, true);
    if (has_more)
        return;
    if (!lane->oldest && records > lane->records_read)
        wr_report_gone(session, lane, records - lane->records_read);
    wr_report_lost(session, &lane->track, lost);
    lane->is_finished = has_exited && !lane->oldest && lane->buffers->mode->finish(lane);
    session->drain.has_finished |= lane->is_finished;
}

static uint64_t lost_told(const struct wr_track *track)
{
    uint64_t told = track->nested_told;
    for (unsigned cause = 0; cause < WR_LANE_CAUSES; cause++)
        told += track->lost_told[cause];
    return told;
}

WR_COLD bool wr_point_has_losses(struct weir_session *session)
{
    const struct wr_drain *drain = &session->drain;
    pthread_mutex_lock(&session->buffers.lock);
    bool has_losses = drain->loss_count != 0;
    for (struct wr_lane *lane = session->buffers.lanes; lane && !has_losses; lane = lane->next) {
        uint64_t lost = wr_u64_load_acquire(&lane->nested);
        for (unsigned cause = 0; cause < WR_LANE_CAUSES; cause++)
            lost += wr_u64_load_acquire(&lane->lost[cause]); /* edge LOST.acquire */
        has_losses = lost > lost_told(&lane->track) || wr_u32_load_acquire(&lane->exited) != 0;
    }
    pthread_mutex_unlock(&session->buffers.lock);
    return has_losses;
}

/* --- The point. ------------------------------------------------------------------------------ */

static void rows_write(struct weir_session *session, uint64_t ticks)
{
    struct wr_drain *drain = &session->drain;
    wr_nettrace_point(&drain->nettrace, ticks, drain->rows, drain->row_count);
    drain->row_count = 0;
    wr_stacks_forget(&drain->stacks); /* as each reader does at a point */
}

/* If a number is far from the last one that a reader has seen, in a point or on an event, writes
 * intermediate points with steps that a reader can subtract. */
static void row_add(struct weir_session *session, uint64_t ticks, struct wr_track *track,
                    struct wr_lane *lane)
{
    struct wr_drain *drain = &session->drain;
    if (track->listed == 0)
        wr_names_introduce(session, track, lane);
    while (track->listed != track->number) {
        uint64_t met = wr_max_u64(track->listed, track->shown);
        bool is_far = met && track->number - met > WR_STEP_MAX;
        track->listed = is_far ? met + WR_STEP_MAX : track->number;
        drain->rows[drain->row_count++] =
            (struct wr_nettrace_thread_number){track->capture_id, track->listed};
        if (drain->row_count == WR_NETTRACE_POINT_ROWS || track->listed != track->number)
            rows_write(session, ticks);
    }
}

WR_COLD bool wr_point_is_due(const struct weir_session *session)
{
    const struct wr_drain *drain = &session->drain;
    return drain->stacks.was_full ||
           drain->nettrace.offset + drain->nettrace.length - drain->point_offset >= POINT_BYTES_MAX;
}

WR_COLD bool wr_point_is_crowded(const struct weir_session *session)
{
    return wr_u32_load_relaxed(&session->buffers.lanes_now) > THREADS_MAX; /* relaxed: a hint */
}

static uint32_t lanes_before(struct weir_session *session, uint64_t limit)
{
    uint64_t attached;
    uint32_t count = 0;
    for (struct wr_lane *lane = wr_session_lanes(session, &attached); lane; lane = lane->next)
        count += wr_read_next_ticks(session, lane) < limit;
    return count;
}

/* Halves the time until some lanes, but not too many, have records before it. If too many have one
 * at the same time, there is no such time; they are read together. */
WR_COLD uint64_t wr_point_slice(struct weir_session *session, uint64_t limit)
{
    uint64_t none = session->drain.point_ticks, some = limit;
    if (!wr_point_is_crowded(session) || limit <= none ||
        lanes_before(session, limit) <= THREADS_MAX)
        return limit;
    while (some - none > 1) {
        uint64_t middle = none + (some - none) / 2;
        uint32_t count = lanes_before(session, middle);
        if (count > THREADS_MAX)
            some = middle;
        else if (count > 0)
            return middle;
        else
            none = middle;
    }
    return some;
}

static void lanes_tell(struct weir_session *session, struct wr_lane *first, uint64_t ticks)
{
    for (struct wr_lane *lane = first; lane; lane = lane->next)
        if (lane->track.listed)
            lane_tell_all(session, lane, ticks);
    if (session->drain.self.listed) /* a thread's losses follow its introduction */
        wr_report_unattributed(session);
}

WR_COLD void wr_point_write(struct weir_session *session, uint64_t ticks)
{
    struct wr_drain *drain = &session->drain;
    uint64_t attached;
    struct wr_lane *first = wr_session_lanes(session, &attached);
    if (!drain->lanes_are_told)
        lanes_tell(session, first, ticks);
    wr_report_write(session, ticks ? ticks - 1 : 0);
    wr_names_write(session, WR_NAMES_ASK_NONE); /* before a lane is released */
    for (struct wr_lane *lane = first; lane; lane = lane->next)
        row_add(session, ticks, &lane->track, lane);
    row_add(session, ticks, &drain->self, NULL);
    rows_write(session, ticks);
    drain->point_ticks = ticks;
    drain->point_offset = drain->nettrace.offset + drain->nettrace.length;
    drain->has_news = false;
    if (attached != drain->lanes_introduced) /* before the events of the new lanes */
        wr_names_write(session,
                       session->buffers.mode->keeps ? WR_NAMES_ASK_ALL : WR_NAMES_ASK_NONE);
    drain->lanes_introduced = attached;
    pthread_mutex_lock(&session->buffers.lock);
    drain->points++;
    pthread_mutex_unlock(&session->buffers.lock);
}

static void removed_write(struct wr_drain *drain)
{
    wr_nettrace_remove_threads(&drain->nettrace, drain->rows, drain->row_count);
    drain->row_count = 0;
}

static void removed_add(struct wr_drain *drain, const struct wr_track *track)
{
    if (track->listed == 0)
        return;
    drain->rows[drain->row_count++] =
        (struct wr_nettrace_thread_number){track->capture_id, track->number};
    if (drain->row_count == WR_NETTRACE_POINT_ROWS)
        removed_write(drain);
}

WR_COLD void wr_point_remove_all(struct weir_session *session)
{
    uint64_t attached;
    if (session->config.format != WEIR_FORMAT_NETTRACE_6)
        return;
    for (struct wr_lane *lane = wr_session_lanes(session, &attached); lane; lane = lane->next)
        removed_add(&session->drain, &lane->track);
    removed_add(&session->drain, &session->drain.self);
    removed_write(&session->drain);
}

/* --- Emitters inside their pin. -------------------------------------------------------------- */

static bool pin_is_as_noted(const struct wr_lane *lane)
{
    return wr_pin_is_inside(lane->noted_pin) && wr_pin_load(lane->thread) == lane->noted_pin;
}

static bool half_is_full(const struct weir_session *session)
{
    /* relaxed: a hint */
    return wr_u32_load_relaxed(&session->buffers.retired) >= session->buffers.segment_count / 2;
}

WR_COLD void wr_point_settle(struct weir_session *session)
{
    uint64_t attached;
    struct wr_lane *first = wr_session_lanes(session, &attached);
    /* After the clock was read, before the pins are. If the barrier fails, the pins prove nothing,
     * so there is no point in waiting. */
    if (!wr_threads_barrier(session->buffers.has_plain_pins))
        return;
    bool any = false;
    for (struct wr_lane *lane = first; lane; lane = lane->next) {
        lane->noted_pin = wr_pin_load(lane->thread);
        any |= wr_pin_is_inside(lane->noted_pin);
    }
    uint64_t deadline_ns = any ? wr_os_monotonic_ns() + SETTLE_NS_MAX : 0;
    for (struct wr_lane *lane = first; any && lane; lane = lane->next) {
        for (uint64_t pause_ns = 1000; pin_is_as_noted(lane); pause_ns *= 2) {
            uint64_t now = wr_os_monotonic_ns();
            if (now >= deadline_ns || half_is_full(session))
                return;
            if (pause_ns > deadline_ns - now)
                pause_ns = deadline_ns - now;
            wr_os_sleep_ns(pause_ns);
        }
    }
}
