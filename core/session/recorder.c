/*
 * The drain of a flight recorder (mode OVERWRITE). It reads no records until a snapshot or the stop
 * requires it. Until then it visits the lanes from time to time, to revoke segments of threads that
 * make no progress and to release lanes of threads that have exited.
 */
#include "session/session.h"

#include "lane/lane_read.h"
#include "os/clock.h"
#include "os/os.h"
#include "session/given.h"
#include "session/step.h"

/* --- Segments of threads that make no progress. ---------------------------------------------- */

/* Notes the lane's current segment. True if it is the same as at the last visit; `is_idle` if the
 * lane has no new records in it either. */
WR_COLD static bool is_same(struct wr_lane *lane, bool *is_idle)
{
    struct wr_segment_view view = wr_overwrite_visit(lane);
    bool is_same =
        view.segment && view.segment == lane->idle_segment && view.opening == lane->idle_opening;
    *is_idle = is_same && view.commit == lane->idle_commit;
    lane->idle_segment = view.segment;
    lane->idle_opening = view.opening;
    lane->idle_commit = view.commit;
    return is_same;
}

/* An idle thread keeps its unfinished segment unless other threads have none, or all full segments
 * are younger: then its records are no longer among the newest data. While other threads have none,
 * no segment is full and no thread is idle, the thread that has had its segment longest loses it
 * although it makes progress. */
static bool revocations_begin(struct weir_session *session, bool is_starved)
{
    uint64_t attached, oldest = wr_overwrite_oldest(&session->buffers);
    struct wr_lane *longest = NULL;
    bool any = false, is_idle;
    for (struct wr_lane *lane = wr_session_lanes(session, &attached); lane; lane = lane->next) {
        if (is_same(lane, &is_idle) && (!longest || lane->idle_opening < longest->idle_opening))
            longest = lane;
        lane->is_revoking = is_idle && (is_starved || lane->idle_opening < oldest);
        any |= lane->is_revoking;
    }
    if (is_starved && oldest == 0 && !any && longest)
        any = longest->is_revoking = true;
    return any;
}

static void segments_revoke(struct weir_session *session, bool is_starved)
{
    if (wr_session_is_lost(session) || !revocations_begin(session, is_starved))
        return;
    uint64_t attached;
    struct wr_lane *first = wr_session_lanes(session, &attached);
    for (struct wr_lane *lane = first; lane; lane = lane->next)
        if (lane->is_revoking)
            wr_lane_revoke_begin(lane);
    if (!wr_threads_barrier(session->buffers.has_plain_pins)) /* edge REVOKE */
        return;
    for (struct wr_lane *lane = first; lane; lane = lane->next)
        if (lane->is_revoking)
            wr_overwrite_revoke(lane, lane->idle_segment, lane->idle_opening);
}

/* --- Lanes of threads that have exited. ------------------------------------------------------ */

/* A lane is announced because it is new or because its thread has exited; a visit sees both. */
static void ready_discard(struct weir_session *session)
{
    struct wr_lane *lane = wr_buffers_take_ready(&session->buffers);
    while (lane) {
        struct wr_lane *next = lane->ready_next; /* read before the lane may be queued again */
        wr_data_read(&lane->ready_next, sizeof lane->ready_next);
        wr_buffers_accept_ready(lane);
        lane = next;
    }
}

/* The lane's thread has exited, all of its records are overwritten, and no thread uses it any more.
 * The pin is checked because a thread marks and then announces its lane inside its pin. */
static bool is_over(struct wr_lane *lane)
{
    return wr_u32_load_acquire(&lane->exited) && /* edge EXIT.acquire */
           !wr_pin_is_inside(wr_pin_load(lane->thread)) && !wr_u32_load_acquire(&lane->queued) &&
           wr_overwrite_is_empty(lane);
}

static void lanes_release(struct weir_session *session)
{
    pthread_mutex_lock(&session->buffers.lock);
    for (struct wr_lane **link = &session->buffers.lanes; *link;) {
        if (is_over(*link))
            wr_buffers_release_lane_locked(&session->buffers, link);
        else
            link = &(*link)->next;
    }
    pthread_mutex_unlock(&session->buffers.lock);
}

/* --- Visits. --------------------------------------------------------------------------------- */

WR_COLD void wr_recorder_fold(struct weir_session *session)
{
    struct wr_drain *drain = &session->drain;
    struct wr_unattributed *unattributed = &wr_unattributed[session->slot];
    uint64_t nested = wr_u64_load_acquire(&unattributed->nested);
    uint64_t no_segment = wr_u64_load_acquire(&unattributed->no_segment);
    pthread_mutex_lock(&session->buffers.lock);
    drain->own.lost[WEIR_LOSS_NESTED] += nested - drain->self.nested_told;
    drain->own.lost[WEIR_LOSS_NO_SEGMENT] += no_segment - drain->self.lost_told[WR_LANE_NO_SEGMENT];
    pthread_mutex_unlock(&session->buffers.lock);
    drain->self.nested_told = nested;
    drain->self.lost_told[WR_LANE_NO_SEGMENT] = no_segment;
}

WR_COLD static void visit(struct weir_session *session, bool is_timed)
{
    wr_snapshot_answer(session);
    ready_discard(session);
    lanes_release(session);
    if (!is_timed)
        return;
    wr_step_visit(session);
    bool is_starved = wr_u32_load_acquire(&session->buffers.is_starved) != 0;
    wr_recorder_fold(session);
    segments_revoke(session, is_starved);
    /* Begin the turn first: a thread that finds no segment from here on sets the flag again, and
     * counts in the new turn. */
    wr_overwrite_turn(&session->buffers);
    wr_u32_exchange_acq_rel(&session->buffers.is_starved, 0);
}

WR_COLD static void begin(struct weir_session *session)
{
    struct wr_drain *drain = &session->drain;
    struct wr_snapshot *snapshot = &session->snapshot;
    drain->self.thread_id = wr_os_thread_id();
    drain->self.capture_id = wr_buffers_capture_id();
    struct wr_unattributed *unattributed = &wr_unattributed[session->slot];
    drain->self.nested_told = wr_u64_load_acquire(&unattributed->nested);
    drain->self.lost_told[WR_LANE_NO_SEGMENT] = wr_u64_load_acquire(&unattributed->no_segment);
    wr_clock_read_pair(&snapshot->sync_ticks, &snapshot->realtime_ns);
    snapshot->start_ticks = wr_step_begin(session);
    pthread_mutex_lock(&session->buffers.lock);
    snapshot->is_open = true;
    pthread_mutex_unlock(&session->buffers.lock);
}

WR_COLD static void end(struct weir_session *session)
{
    wr_snapshot_close(session);
    wr_snapshot_last(session);
}

/* Records that were overwritten, or left out because they are older than the snapshot asked for. */
WR_COLD static uint64_t gone_before(const struct wr_lane *lane)
{
    const struct wr_segment *segment = lane->oldest;
    return segment->first_number - 1 - wr_segment_lost_before(segment) - lane->records_read;
}

const struct wr_drain_way wr_recorder = {.begin = begin,
                                         .look = visit,
                                         .end = end,
                                         .enter = wr_step_enter_kept,
                                         .admits = wr_step_admits_kept,
                                         .admits_given = wr_given_admits_kept,
                                         .gone_before = gone_before};
