/*
 * The drain: one thread per session that reads the lanes and writes the stream.
 *
 * It looks when it is rung (segments are full, threads wait) or when its timer ends; see
 * drain_thread.c. A look first reads the clock: the horizon. It reads only records older than the
 * horizon. A lane that the drain has not counted yet can only hold younger ones, so a sequence
 * point at the horizon is true (point.c).
 */
#include "session/drain.h"

#include <stdio.h>
#include <string.h>
#include "lane/lane_read.h"
#include "os/clock.h"
#include "os/os.h"
#include "session/given.h"
#include "session/names.h"
#include "session/point.h"
#include "session/read.h"
#include "session/rundown.h"
#include "session/session.h"
#include "session/step.h"

/* --- The sink. ------------------------------------------------------------------------------- */

/* The sink may block: give free segments to threads that wait first. */
WR_COLD static void leave(void *context)
{
    struct weir_session *session = context;
    session->buffers.mode->before_sink(&session->buffers);
}

/* When the sink fails, the events in the buffer and all later ones count as lost, even if a part of
 * the buffer has reached the file. */
WR_COLD void wr_drain_settle(void *context, bool is_sent)
{
    struct weir_session *session = context;
    struct wr_drain *drain = &session->drain;
    session->buffers.mode->after_sink(&session->buffers);
    pthread_mutex_lock(&session->buffers.lock);
    for (struct wr_lane *lane = drain->touched; lane; lane = lane->touched) {
        if (!is_sent)
            lane->sink_failed += lane->track.encoded - lane->track.delivered;
        lane->track.delivered = lane->track.encoded;
        lane->is_touched = false;
    }
    drain->touched = NULL;
    if (is_sent)
        drain->own.written += drain->self.encoded - drain->self.delivered;
    else
        drain->own.lost[WEIR_LOSS_SINK_FAILED] += drain->self.encoded - drain->self.delivered;
    drain->self.delivered = drain->self.encoded;
    drain->bytes_sent = session->stream.sent;
    pthread_mutex_unlock(&session->buffers.lock);
}

/* Called when the stream cannot be written or membarrier has failed: disables the session's events
 * and ends the waits of parked threads. The host must still stop the session. */
static void end_early(struct weir_session *session)
{
    wr_u32_store_release(&session->has_ended_early, 1);
    wr_registry_disable(session->slot, UINT64_MAX);
    session->buffers.mode->send_away(&session->buffers, UINT64_MAX);
}

static void lanes_release(struct weir_session *session)
{
    pthread_mutex_lock(&session->buffers.lock);
    struct wr_lane **link = &session->buffers.lanes;
    while (*link) {
        /* A lane on the ready list will be read again; it is released after that. */
        if ((*link)->is_finished && !wr_u32_load_acquire(&(*link)->queued))
            wr_buffers_release_lane_locked(&session->buffers, link);
        else
            link = &(*link)->next;
    }
    session->drain.has_finished = false;
    pthread_mutex_unlock(&session->buffers.lock);
}

WR_COLD void wr_drain_flush(struct weir_session *session)
{
    struct wr_drain *drain = &session->drain;
    wr_nettrace_flush(&drain->nettrace);
    if (drain->has_finished)
        lanes_release(session);
    if (!session->stream.has_failed || drain->error_is_told)
        return;
    drain->error_is_told = true;
    end_early(session);
    if (session->config.on_error)
        session->config.on_error(session->config.on_error_context, WEIR_IO, session->stream.reason);
}

/* --- Looks. ---------------------------------------------------------------------------------- */

/* Reads every introduced lane up to `limit`. First waits for emitters inside a pin, which may still
 * publish older records. */
static void read_all(struct weir_session *session, uint64_t limit)
{
    uint64_t attached;
    wr_point_settle(session);
    for (struct wr_lane *lane = wr_session_lanes(session, &attached); lane; lane = lane->next)
        if (lane->track.listed)
            wr_read_lane(session, lane, limit);
}

static void read_ready(struct weir_session *session, struct wr_lane *ready, uint64_t limit)
{
    while (ready) {
        struct wr_lane *lane = ready;
        ready = lane->ready_next; /* read before the lane may be queued again */
        wr_data_read(&lane->ready_next, sizeof lane->ready_next);
        wr_buffers_accept_ready(lane);
        if (!lane->track.listed || !wr_read_lane(session, lane, limit))
            continue;
        /* The thread has left this segment, which has records younger than this look. The thread
         * may be parked until the segment comes back, and would not announce it again. */
        if (lane->oldest && wr_lane_is_left(lane))
            wr_buffers_announce(lane);
    }
}

/* True if there are lanes that no point has introduced. Their records are younger than the last
 * horizon: a thread pushes its lane before it stamps the first record (edge ARRIVE), and the look
 * of that horizon did not count the lane. So a point at that horizon introduces them correctly. */
static bool has_new_lanes(struct weir_session *session)
{
    uint64_t attached;
    wr_session_lanes(session, &attached);
    return attached != session->drain.lanes_introduced;
}

static void introduce(struct weir_session *session)
{
    struct wr_drain *drain = &session->drain;
    /* If there already is a point at the horizon, one tick later: the times of points must rise. */
    uint64_t ticks = wr_max_u64(drain->horizon, drain->point_ticks + 1);
    read_all(session, ticks);
    wr_point_write(session, ticks);
}

/* More threads have records than a reader may meet between two points: reads slices of time, with a
 * point behind each, until few enough are left, or none can be read now (step.c). */
static void read_slices(struct weir_session *session, uint64_t horizon)
{
    uint64_t end, before;
    do {
        before = session->drain.bytes_read;
        end = wr_point_slice(session, horizon);
        if (end == horizon)
            return;
        read_all(session, end);
        wr_point_write(session, end);
    } while (session->drain.bytes_read > before);
}

/* True if the lane's only segment is the one that it had at the last sweep, without new records.
 * While others wait, it may have new records: holding a segment is then limited in time. */
static bool is_revocable(struct weir_session *session, struct wr_lane *lane, bool others_wait)
{
    wr_read_take_opened(&session->buffers, lane);
    struct wr_segment *segment = lane->oldest;
    bool is_alone = segment && segment == lane->newest;
    uint64_t commit =
        is_alone ? wr_u64_load_acquire(&segment->commit) : 0; /* edge PUBLISH.acquire */
    bool is_revocable =
        is_alone && lane->idle_segment == segment && (others_wait || commit == lane->idle_commit);
    lane->idle_commit = commit;
    lane->idle_segment = segment;
    return is_revocable;
}

WR_COLD void wr_drain_sweep(struct weir_session *session, bool others_wait)
{
    uint64_t attached;
    struct wr_lane *first = wr_session_lanes(session, &attached);
    const struct wr_mode *mode = session->buffers.mode;
    bool may_revoke = others_wait || wr_buffers_is_idle_dear(&session->buffers), any = false;
    /* Only sweeps for waiting threads are recorded, so that the timer's sweeps do not delay
     * them. */
    if (others_wait)
        session->drain.sweep_ns = wr_os_monotonic_ns();
    if (wr_session_is_lost(session))
        return;
    for (struct wr_lane *lane = first; lane; lane = lane->next) {
        mode->sweep(lane);
        bool is_idle = is_revocable(session, lane, others_wait);
        lane->is_revoking = is_idle && may_revoke;
        if (is_idle && !may_revoke)
            mode->rest(lane);
        if (lane->is_revoking)
            wr_lane_revoke_begin(lane);
        any |= lane->is_revoking;
    }
    if (!any)
        return;
    if (!wr_threads_barrier(session->buffers.has_plain_pins)) /* edge REVOKE */
        return; /* the lanes keep their segments; a thread that finds `end` 0 leaves its own */
    for (struct wr_lane *lane = first; lane; lane = lane->next) {
        if (!lane->is_revoking)
            continue;
        mode->rest(lane);
        if (wr_lane_revoke_finish(lane))
            wr_buffers_announce(lane); /* for this drain's next look */
    }
}

/* The clock has stepped back. Every record from before the step is older than this look, whatever
 * its stamp. */
static void read_before_step(struct weir_session *session)
{
    uint64_t attached, latest = 0;
    session->drain.is_before_step = true;
    if (has_new_lanes(session))
        introduce(session);
    read_all(session, UINT64_MAX);
    session->drain.is_before_step = false;
    for (struct wr_lane *lane = wr_session_lanes(session, &attached); lane; lane = lane->next)
        latest = wr_max_u64(latest, lane->track.ticks);
    wr_step_pass(session, latest);
}

WR_COLD static void look(struct weir_session *session, bool is_timed)
{
    struct wr_drain *drain = &session->drain;
    if (wr_step_is_back(session))
        read_before_step(session);
    uint64_t horizon = wr_max_u64(wr_step_ticks_of_look(session), drain->point_ticks + 1);
    struct wr_lane *ready = wr_buffers_take_ready(&session->buffers);
    if (has_new_lanes(session))
        introduce(session);
    read_slices(session, horizon);
    read_ready(session, ready, horizon);
    if (is_timed)
        wr_drain_sweep(session, session->buffers.mode->is_short(&session->buffers));
    session->buffers.mode->serve(&session->buffers);
    wr_rundown_take(session, horizon);
    bool is_due = is_timed || wr_point_is_due(session);
    if (is_due)
        read_all(session, horizon);
    if (is_timed)
        wr_names_look(session);
    drain->horizon = horizon;
    if (is_due && (drain->has_news || wr_point_has_losses(session)))
        wr_point_write(session, horizon);
    if (drain->nettrace.length)
        wr_drain_flush(session);
}

static void tell_membarrier_error(struct weir_session *session)
{
    char text[160];
    if (session->drain.membarrier_error_is_told || !wr_session_is_lost(session))
        return;
    session->drain.membarrier_error_is_told = true;
    end_early(session);
    if (!session->config.on_error)
        return;
    snprintf(
        text, sizeof text,
        "membarrier is no longer permitted (%s): the session has ended, and its memory is kept",
        strerror(wr_threads_membarrier_error()));
    session->config.on_error(session->config.on_error_context, WEIR_SYSTEM, text);
}

WR_COLD void wr_drain_look(struct weir_session *session, bool is_timed)
{
    tell_membarrier_error(session);
    session->drain.way->look(session, is_timed);
}

WR_COLD void wr_drain_end(struct weir_session *session)
{
    session->drain.way->end(session);
    tell_membarrier_error(session);
}

WR_COLD void wr_drain_finish_stream(struct weir_session *session)
{
    struct wr_drain *drain = &session->drain;
    uint64_t attached, read = 0, latest = wr_step_ticks_now(session);
    drain->end_ticks = latest;
    if (has_new_lanes(session))
        introduce(session);
    if (!session->buffers.mode->keeps)
        wr_names_write(session, WR_NAMES_ASK_ALL);
    for (struct wr_lane *lane = wr_session_lanes(session, &attached); lane; lane = lane->next) {
        /* The gap is so large that only a point can report it; no record before it is younger. */
        while (wr_read_lane(session, lane, UINT64_MAX)) {
            read = wr_max_u64(read, lane->track.ticks);
            wr_point_write(session, wr_max_u64(read, drain->point_ticks + 1));
        }
        read = wr_max_u64(read, lane->track.ticks);
        latest = wr_max_u64(latest, lane->track.ticks + 1);
    }
    latest = wr_max_u64(latest, drain->point_ticks + 1);
    drain->horizon = latest;
    wr_point_write(session, latest);
    wr_rundown_at_stop(session);
    wr_point_write(
        session, wr_max_u64(wr_max_u64(wr_step_ticks_now(session), drain->self.ticks), latest) + 1);
    wr_point_remove_all(session);
    wr_nettrace_end(&drain->nettrace);
    wr_drain_flush(session);
}

WR_COLD void wr_drain_stream_init(struct weir_session *session, struct wr_stream *stream,
                                  void *buffer)
{
    struct wr_drain *drain = &session->drain;
    wr_nettrace_init(&drain->nettrace, stream, buffer);
    if (session->config.format == WEIR_FORMAT_NETTRACE_6)
        wr_nettrace_use_v6(&drain->nettrace);
    wr_abouts_forget(&drain->abouts);
    wr_stacks_forget(&drain->stacks);
}

WR_COLD static void begin(struct weir_session *session)
{
    struct wr_drain *drain = &session->drain;
    struct wr_nettrace_header header = {.frequency_hz = session->frequency_hz,
                                        .process_id = wr_os_process_id(),
                                        .processor_count = wr_os_processor_count()};
    wr_clock_read_pair(&header.sync_ticks, &header.realtime_ns);
    wr_nettrace_header(&drain->nettrace, &header);
    drain->self.thread_id = wr_os_thread_id();
    drain->self.capture_id = wr_buffers_capture_id();
    drain->self.number = 1;
    drain->nettrace.before_flush = leave;
    drain->nettrace.on_flush = wr_drain_settle;
    drain->nettrace.flush_context = session;
    drain->horizon = wr_step_begin(session);
    struct wr_unattributed *unattributed = &wr_unattributed[session->slot];
    drain->self.nested_told = wr_u64_load_acquire(&unattributed->nested);
    drain->self.lost_told[WR_LANE_NO_SEGMENT] = wr_u64_load_acquire(&unattributed->no_segment);
    wr_point_write(session, drain->horizon);
    if (session->greet)
        wr_rundown_greet(session);
}

WR_COLD static void end(struct weir_session *session)
{
    look(session, true);
    wr_drain_finish_stream(session);
}

/* The drain reads every record of a lane, so only counted losses are missing before a segment. */
WR_COLD static uint64_t nothing_gone(const struct wr_lane *lane)
{
    (void)lane;
    return 0;
}

WR_COLD static void enter(struct weir_session *session, struct wr_lane *lane)
{
    (void)session;
    (void)lane;
}

static const struct wr_drain_way reader = {.begin = begin,
                                           .look = look,
                                           .end = end,
                                           .enter = enter,
                                           .admits = wr_step_admits,
                                           .admits_given = wr_given_admits,
                                           .gone_before = nothing_gone};

WR_COLD void wr_drain_begin(struct weir_session *session)
{
    session->drain.way = session->buffers.mode->keeps ? &wr_recorder : &reader;
    session->drain.way->begin(session);
}
