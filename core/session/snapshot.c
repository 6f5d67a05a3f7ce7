/*
 * Streams of a flight recorder (mode OVERWRITE): a snapshot while writers run, and the last stream
 * at the stop. Both are complete streams of the records kept at one instant, the cut:
 *
 *  1. The drain reads the clock: the cut. It waits for emitters that are inside with older stamps.
 *  2. wr_overwrite_hold(): segments opened before it are not recycled.
 *  3. Each lane gets the chain of its held segments. The drain reads the chains as it reads lanes
 *     in other modes, up to the cut, in slices of time with a sequence point after each few MiB.
 *  4. The segments are put back.
 *
 * What the drain knows about a lane starts anew in each stream. Each file introduces a thread with
 * number 1, and reports all losses since the thread's start. Records that were overwritten, or that
 * are older than the snapshot asked for, are reported as OVERWRITTEN. A thread that has exited and
 * has no records left has no row: its losses are reported as those of the drain's capture thread.
 */
#include "session/snapshot.h"

#include <string.h>
#include "lane/lane_read.h"
#include "os/clock.h"
#include "os/os.h"
#include "session/point.h"
#include "session/read.h"
#include "session/report.h"
#include "session/rundown.h"
#include "session/session.h"
#include "session/step.h"

#define SLICE_BYTES   (1u << 20) /* bytes of segments in a slice of time */
#define NS_PER_SECOND UINT64_C(1000000000)

/* --- State of a stream. ---------------------------------------------------------------------- */

static void lane_reset(struct wr_lane *lane)
{
    lane->oldest = lane->newest = NULL;
    lane->read_offset = 0;
    lane->read_count = 0;
    lane->records_read = 0;
    wr_track_begin(&lane->track);
    memset(lane->track.lost_told, 0, sizeof lane->track.lost_told);
    lane->track.nested_told = 0;
    lane->is_touched = false;
    lane->last_stamp = 0;
    lane->skew = 0;
    lane->name_told = 0;
    lane->name_turn = 0;
}

/* Fixes the stream's lanes: those attached from here on are not in it. */
static void lanes_reset(struct weir_session *session)
{
    struct wr_drain *drain = &session->drain;
    drain->stream_is_cut = false;
    drain->stream_lanes = wr_session_lanes(session, &drain->stream_attached);
    drain->stream_is_cut = true;
    for (struct wr_lane *lane = drain->stream_lanes; lane; lane = lane->next)
        lane_reset(lane);
}

static void drain_reset(struct weir_session *session, struct wr_stream *stream,
                        void (*on_flush)(void *context, bool is_sent))
{
    struct wr_drain *drain = &session->drain;
    wr_drain_stream_init(session, stream, drain->nettrace.buffer);
    drain->nettrace.on_flush = on_flush;
    drain->nettrace.flush_context = session;
    drain->horizon = session->snapshot.start_ticks;
    drain->point_ticks = drain->point_offset = 0;
    drain->lanes_introduced = 0;
    drain->has_news = drain->has_finished = drain->lanes_are_told = false;
    wr_track_begin(&drain->self);
    drain->touched = NULL;
    drain->loss_count = drain->row_count = 0;
    drain->steps_told = 0;
    memset(drain->metadata_written, 0, sizeof drain->metadata_written);
    pthread_mutex_lock(&session->buffers.lock);
    drain->late_records = drain->points = drain->stacks_cut = 0;
    pthread_mutex_unlock(&session->buffers.lock);
}

static void write_header(struct weir_session *session)
{
    struct wr_nettrace_header header = {.realtime_ns = session->snapshot.realtime_ns,
                                        .sync_ticks = session->snapshot.sync_ticks,
                                        .frequency_hz = session->frequency_hz,
                                        .process_id = wr_os_process_id(),
                                        .processor_count = wr_os_processor_count()};
    wr_nettrace_header(&session->drain.nettrace, &header);
}

/* --- Chains. --------------------------------------------------------------------------------- */

static void chain_append(struct wr_segment *segment)
{
    struct wr_lane *lane = segment->lane;
    segment->newer = NULL;
    if (lane->newest)
        lane->newest->newer = segment;
    else
        lane->oldest = segment;
    lane->newest = segment;
}

/* A segment that was current at the hold is still current, or its thread has left it since. If the
 * thread leaves it after wr_overwrite_current() has returned it, it is on the late list too; then
 * it is already the lane's newest. */
static void chains_build(struct weir_session *session, struct wr_segment_list held)
{
    for (struct wr_segment *segment = held.first; segment; segment = segment->full_next)
        chain_append(segment);
    for (struct wr_lane *lane = session->drain.stream_lanes; lane; lane = lane->next) {
        struct wr_segment *current = wr_overwrite_current(lane);
        if (current)
            chain_append(current);
    }
    struct wr_segment_list late = wr_overwrite_late(&session->buffers);
    struct wr_segment *segment = late.first;
    for (uint32_t i = 0; i < late.count; i++) {
        if (segment->lane->newest != segment)
            chain_append(segment);
        if (segment != late.last) /* its link may change: others are appended behind it */
            segment = segment->full_next;
    }
}

static uint64_t opened_at(const struct weir_session *session, const struct wr_segment *segment)
{
    return wr_step_ticks_kept(session, segment, segment->base_ticks);
}

/* Was the next segment opened no later than `since`, so that all records of this one are older?
 * False if the lane's time falls between the two: the thread saw the clock step back, and the
 * segment's age is unknown. */
static bool is_older(const struct weir_session *session, const struct wr_segment *segment,
                     uint64_t since)
{
    uint64_t next = segment->newer ? opened_at(session, segment->newer) : UINT64_MAX;
    return next <= since && next >= opened_at(session, segment);
}

/* Leaves out records older than `since`. The gap before the first segment read reports them. */
static void lane_cut(struct weir_session *session, struct wr_lane *lane, uint64_t since)
{
    while (lane->oldest && is_older(session, lane->oldest, since))
        wr_lane_unchain(lane);
    if (lane->oldest && since)
        wr_read_skip(session, lane, since);
}

/* Reports losses that belong to no lane of the stream. They are already in the session's figures.
 */
static void tell_own(struct weir_session *session)
{
    struct wr_drain *drain = &session->drain;
    struct weir_counts counts = {0};
    pthread_mutex_lock(&session->buffers.lock);
    wr_counts_add(&counts, &session->buffers.released);
    wr_counts_add(&counts, &drain->own);
    pthread_mutex_unlock(&session->buffers.lock);
    for (unsigned cause = 0; cause < WEIR_LOSS_COUNT; cause++)
        wr_report_loss(session, &drain->self, (enum weir_loss)cause, counts.lost[cause]);
}

/* --- Reading. -------------------------------------------------------------------------------- */

static void begin(struct weir_session *session, struct wr_segment_list held, uint64_t since)
{
    uint64_t start = session->snapshot.start_ticks;
    lanes_reset(session);
    chains_build(session, held);
    wr_recorder_fold(session);
    write_header(session);
    wr_point_write(session, start); /* introduces all lanes */
    for (struct wr_lane *lane = session->drain.stream_lanes; lane; lane = lane->next)
        lane_cut(session, lane, since);
    tell_own(session);
    wr_point_write(session, start + 1); /* reports losses before the records: a gap may be large */
}

/* Reads the lane. True if it stopped at a gap so large that only a point can report it. */
static bool is_stuck(struct weir_session *session, struct wr_lane *lane, uint64_t limit)
{
    return wr_read_lane(session, lane, limit) && lane->oldest && lane->read_count == 0 &&
           !wr_report_gap(session, lane, false);
}

static void read_slice(struct weir_session *session, uint64_t limit, bool is_last)
{
    struct wr_drain *drain = &session->drain;
    for (struct wr_lane *lane = drain->stream_lanes; lane; lane = lane->next)
        while (is_stuck(session, lane, limit) && is_last)
            wr_point_write(session, drain->point_ticks + 1);
    if (!is_last && !wr_point_is_due(session) && !wr_point_is_crowded(session))
        return;
    drain->horizon = wr_max_u64(limit, drain->point_ticks + 1);
    wr_step_tell_kept(session, drain->horizon);
    wr_point_write(session, drain->horizon);
}

static void read_until(struct weir_session *session, uint64_t limit, bool is_last)
{
    uint64_t end, before = UINT64_MAX;
    while (session->drain.bytes_read != before && (end = wr_point_slice(session, limit)) < limit) {
        before = session->drain.bytes_read;
        read_slice(session, end, false);
    }
    read_slice(session, limit, is_last);
}

/* A reader must hold all records between two points, so the lanes are read in slices of time. */
static void read_held(struct weir_session *session, struct wr_segment_list held, uint64_t cut)
{
    const struct wr_stream *stream = session->drain.nettrace.stream;
    uint32_t slice = SLICE_BYTES / session->buffers.segment_bytes, count = 0;
    uint64_t limit = session->drain.point_ticks;
    for (struct wr_segment *segment = held.first; segment; segment = segment->full_next) {
        uint64_t opened = opened_at(session, segment);
        if (++count % slice || opened <= limit || opened >= cut)
            continue;
        limit = opened;
        read_until(session, limit, false);
        if (stream->has_failed)
            return;
    }
    read_until(session, cut, true);
}

/* Writes the records kept at this instant, but not the end of the stream. Returns the segments that
 * the caller must release. */
WR_COLD static struct wr_segment_list write_kept(struct weir_session *session, uint64_t last_ticks)
{
    uint64_t start = session->snapshot.start_ticks;
    wr_step_visit(session);
    uint64_t cut = wr_max_u64(wr_step_ticks_of_look(session), start + 2);
    session->drain.stream_cut = cut;
    wr_point_settle(session);
    struct wr_segment_list held = wr_overwrite_hold(&session->buffers);
    begin(session, held, cut - start > last_ticks ? cut - last_ticks : 0);
    read_held(session, held, cut);
    return held;
}

/* --- The last stream. ------------------------------------------------------------------------ */

WR_COLD void wr_snapshot_last(struct weir_session *session)
{
    wr_overwrite_close(&session->buffers);
    drain_reset(session, &session->stream, wr_drain_settle);
    write_kept(session, UINT64_MAX);
    wr_drain_finish_stream(session);
}

/* --- Snapshots. ------------------------------------------------------------------------------ */

/* Records that a snapshot's sink does not take are not lost for the session. */
static void settle(void *context, bool is_sent)
{
    struct weir_session *session = context;
    (void)is_sent;
    for (struct wr_lane *lane = session->drain.touched; lane; lane = lane->touched) {
        lane->track.delivered = lane->track.encoded;
        lane->is_touched = false;
    }
    session->drain.touched = NULL;
}

static uint64_t ticks_of_ns(uint64_t ns, uint64_t frequency_hz)
{
    uint64_t seconds = ns / NS_PER_SECOND;
    if (ns == 0 || seconds > UINT32_MAX)
        return UINT64_MAX;
    return seconds * frequency_hz + ns % NS_PER_SECOND * frequency_hz / NS_PER_SECOND;
}

/* The chains are valid only during the hold. The rundown may last long, and does without them. */
static void held_release(struct weir_session *session, struct wr_segment_list held)
{
    for (struct wr_lane *lane = session->drain.stream_lanes; lane; lane = lane->next)
        lane->oldest = lane->newest = NULL;
    wr_overwrite_release(&session->buffers, held);
}

static enum weir_result snapshot_write(struct weir_session *session)
{
    struct wr_snapshot *snapshot = &session->snapshot;
    struct wr_drain *drain = &session->drain;
    drain_reset(session, &snapshot->stream, settle);
    struct wr_segment_list held =
        write_kept(session, ticks_of_ns(snapshot->last_ns, session->frequency_hz));
    wr_nettrace_flush(&drain->nettrace); /* if the sink fails, the next snapshot has all of it */
    held_release(session, held);
    wr_rundown_in_snapshot(session);
    wr_point_remove_all(session);
    wr_nettrace_end(&drain->nettrace);
    wr_nettrace_flush(&drain->nettrace);
    drain->stream_is_cut = false;
    if (snapshot->stream.has_failed)
        return wr_fail(&snapshot->error, WEIR_IO, "%s", snapshot->stream.reason);
    return WEIR_OK;
}

/* --- Requests. ------------------------------------------------------------------------------- */

static void state_set_locked(struct wr_snapshot *snapshot, enum wr_snapshot_state state)
{
    /* edges ASK.release, ANSWER.release: what the step wrote to the struct */
    wr_u32_store_release(&snapshot->state, state);
}

static enum wr_snapshot_state state_of(const struct wr_snapshot *snapshot)
{
    /* edges ASK.acquire, ANSWER.acquire */
    return (enum wr_snapshot_state)wr_u32_load_acquire(&snapshot->state);
}

static void state_set(struct weir_session *session, enum wr_snapshot_state state)
{
    uint64_t signals;
    wr_self_enter();
    wr_buffers_lock(&session->buffers, UINT64_MAX, &signals);
    state_set_locked(&session->snapshot, state);
    wr_buffers_unlock(&session->buffers, signals);
    wr_self_leave();
    wr_os_futex_wake_all(&session->snapshot.state);
}

WR_COLD void wr_snapshot_answer(struct weir_session *session)
{
    struct wr_snapshot *snapshot = &session->snapshot;
    if (state_of(snapshot) != WR_SNAPSHOT_ASKED)
        return;
    snapshot->result = snapshot_write(session);
    state_set(session, WR_SNAPSHOT_ANSWERED);
}

static enum weir_result fail_closed(struct weir_error *error)
{
    return wr_fail(error, WEIR_BAD_STATE,
                   "the session is not running: not started, or being stopped");
}

WR_COLD void wr_snapshot_close(struct weir_session *session)
{
    struct wr_snapshot *snapshot = &session->snapshot;
    pthread_mutex_lock(&session->buffers.lock);
    snapshot->is_open = false;
    pthread_mutex_unlock(&session->buffers.lock);
    if (state_of(snapshot) != WR_SNAPSHOT_ASKED)
        return;
    snapshot->result = fail_closed(&snapshot->error);
    state_set(session, WR_SNAPSHOT_ANSWERED);
}

/* Changes the state from `from` to `to` if the session is running. */
static enum weir_result request(struct weir_session *session, enum wr_snapshot_state from,
                                enum wr_snapshot_state to, struct weir_error *error)
{
    struct wr_snapshot *snapshot = &session->snapshot;
    enum weir_result result = WEIR_OK;
    uint64_t signals;
    wr_self_enter();
    wr_buffers_lock(&session->buffers, UINT64_MAX, &signals);
    if (!snapshot->is_open)
        result = fail_closed(error);
    else if (state_of(snapshot) != from)
        result = wr_fail(error, WEIR_BUSY, "another snapshot of the session is being written");
    else
        state_set_locked(snapshot, to);
    wr_buffers_unlock(&session->buffers, signals);
    wr_self_leave();
    return result;
}

static enum weir_result sink_open(struct wr_snapshot *snapshot, const struct weir_sink *sink,
                                  struct weir_error *error)
{
    snapshot->error.text[0] = 0;
    return wr_stream_open(&snapshot->stream, sink, 0, error);
}

/* A file gets its name when it is complete; until then a previous file of that name stays. */
static enum weir_result sink_finish(struct wr_snapshot *snapshot, struct weir_error *error)
{
    struct wr_stream *stream = &snapshot->stream;
    enum weir_result result = snapshot->result;
    if (result == WEIR_OK) {
        wr_stream_finish(stream);
        result = stream->has_failed ? wr_fail(error, WEIR_IO, "%s", stream->reason)
                                    : wr_stream_publish(stream, error);
    } else if (error) {
        *error = snapshot->error;
    }
    wr_stream_close(stream);
    return result;
}

static enum weir_result snapshot_take(struct weir_session *session, uint64_t last_ns,
                                      struct weir_error *error)
{
    struct wr_snapshot *snapshot = &session->snapshot;
    snapshot->last_ns = last_ns;
    struct weir_error refusal = {""};
    enum weir_result result = request(session, WR_SNAPSHOT_OPENING, WR_SNAPSHOT_ASKED, &refusal);
    if (result == WEIR_OK) {
        wr_drain_take_snapshot(session);
    } else {
        snapshot->result = result;
        snapshot->error = refusal;
    }
    return sink_finish(snapshot, error);
}

WR_COLD enum weir_result weir_session_snapshot(struct weir_session *session,
                                               const struct weir_sink *sink, uint64_t last_ns,
                                               struct weir_error *error)
{
    WR_OS_NO_CANCEL;
    if (!session || session->generation != wr_process_generation())
        return wr_fail(error, WEIR_BAD_STATE, "no session, or a session of the parent process");
    if (!sink)
        return wr_fail(error, WEIR_BAD_ARGUMENT, "sink must not be NULL");
    enum weir_result result = wr_sink_check(sink, 0, error);
    if (result != WEIR_OK)
        return result;
    if (!session->buffers.mode->keeps)
        return wr_fail(error, WEIR_BAD_STATE, "the session's mode is not OVERWRITE");
    if (wr_drain_is_self(session))
        return wr_fail(error, WEIR_BAD_STATE, "a session's own callback may not take a snapshot");
    result = request(session, WR_SNAPSHOT_NONE, WR_SNAPSHOT_OPENING, error);
    if (result != WEIR_OK)
        return result;
    result = sink_open(&session->snapshot, sink, error);
    if (result == WEIR_OK)
        result = snapshot_take(session, last_ns, error);
    state_set(session, WR_SNAPSHOT_NONE);
    return result;
}
