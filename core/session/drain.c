/*
 * The drain: one thread per session that reads the lanes and writes the stream.
 *
 * It looks when it is rung (segments are full, threads wait) or when its timer ends; drain_thread.c
 * says when. A look begins with the clock: the horizon. Only records older than it are read, so
 * that a lane it has not met yet can only hold younger ones, and a sequence point at the horizon is
 * true (point.c).
 */
#include "session/session.h"

#include <stdio.h>
#include <string.h>
#include "lane/lane_read.h"
#include "lane/lane_span.h"
#include "os/clock.h"
#include "os/os.h"

/* --- Records. -------------------------------------------------------------------------------- */

bool wr_drain_first_use(struct wr_drain *drain, uint32_t metadata_id)
{
    unsigned char *byte = &drain->metadata_written[metadata_id / 8];
    unsigned char bit = (unsigned char)(1u << metadata_id % 8);
    bool is_first = !(*byte & bit);
    *byte |= bit;
    return is_first;
}

void wr_drain_describe(struct weir_session *session, const struct wr_event_definition *definition,
                       uint64_t ticks)
{
    if (wr_drain_first_use(&session->drain, definition->index))
        wr_nettrace_metadata(&session->drain.nettrace, definition->index, definition->provider_name,
                             &definition->schema, definition->has_arrays, ticks);
}

struct wr_lane *wr_drain_lanes(struct weir_session *session, uint64_t *attached)
{
    if (session->drain.stream_is_cut) {
        *attached = session->drain.stream_attached;
        return session->drain.stream_lanes;
    }
    return wr_buffers_lanes(&session->buffers, attached);
}

/* A record, taken apart. */
struct record {
    uint32_t index;                               /* 0: a gap mark */
    const struct wr_event_definition *definition; /* of the index */
    uint64_t stamp;                               /* what its thread read from the clock */
    const unsigned char *payload;
    uint32_t payload_bytes;
    uint32_t bytes;
    bool spans; /* it goes on in the next segments; its segment has no other record */
};

static inline void record_read(const struct wr_segment *segment, uint32_t offset,
                               struct record *record)
{
    const unsigned char *at = (const unsigned char *)segment + offset;
    uint64_t header, extension;
    memcpy(&header, at, sizeof header);
    uint32_t index = wr_record_event_index(header);
    record->stamp = segment->base_ticks + wr_record_ticks(header);
    record->payload = at + WR_RECORD_HEADER_BYTES;
    if (WR_UNLIKELY(index != record->index)) {
        record->index = index;
        record->definition = index ? wr_event_definition(index) : NULL;
    }
    if (WR_UNLIKELY(index == 0)) {
        record->bytes = WR_GAP_MARK_BYTES;
        return;
    }
    record->payload_bytes = record->definition->payload_bytes;
    bool is_extended = (header & WR_RECORD_EXTENSION) != 0;
    if (is_extended) {
        memcpy(&extension, record->payload, sizeof extension);
        record->payload += WR_RECORD_EXTENSION_BYTES;
        record->payload_bytes = (uint32_t)extension;
        record->spans = (extension & WR_RECORD_SPANS) != 0;
    }
    record->bytes = wr_record_bytes(record->payload_bytes, is_extended);
}

/* Points of one horizon are a tick apart each; a record between them is not late. */
void wr_drain_count_late(struct weir_session *session, uint64_t ticks)
{
    struct wr_drain *drain = &session->drain;
    if (ticks >= drain->horizon)
        return;
    pthread_mutex_lock(&session->buffers.lock);
    drain->late_records++;
    pthread_mutex_unlock(&session->buffers.lock);
}

/* The time that the file gets: never before the thread's last one, nor before the last point. */
static inline uint64_t ticks_of(struct weir_session *session, struct wr_lane *lane, uint64_t stamp)
{
    struct wr_drain *drain = &session->drain;
    uint64_t ticks = wr_step_ticks(drain, lane, stamp);
    if (WR_UNLIKELY(ticks < drain->point_ticks)) {
        wr_drain_count_late(session, ticks);
        ticks = drain->point_ticks;
    }
    if (WR_UNLIKELY(ticks < lane->last_ticks))
        ticks = lane->last_ticks;
    if (WR_UNLIKELY(stamp < lane->last_stamp))
        wr_step_tell_lane(session, lane, lane->last_stamp - stamp, ticks);
    lane->last_stamp = stamp;
    lane->last_ticks = ticks;
    return ticks;
}

/* Joins the parts of a record that spans segments, and leaves room for its conversion. The rest of
 * its segment, up to `end`, is all its own. */
static void record_join(struct weir_session *session, const struct wr_segment *segment,
                        uint32_t offset, uint32_t end, struct record *record)
{
    unsigned char *joined = session->drain.scratch + WR_SCRATCH_BYTES / 2;
    wr_span_read(segment, end, record->payload, record->payload_bytes, joined);
    record->payload = joined;
    record->bytes = end - offset;
}

static inline void record_write(struct weir_session *session, struct wr_lane *lane,
                                struct record *record)
{
    struct wr_drain *drain = &session->drain;
    const void *payload = record->payload;
    uint32_t bytes = record->payload_bytes;
    uint64_t ticks = ticks_of(session, lane, record->stamp);
    /* Not once for the segment: between two records, losses may have been told on the drain's own
     * thread. */
    wr_nettrace_block_begin(&drain->nettrace, lane->capture_id, lane->thread_id);
    const struct wr_event_definition *definition = record->definition;
    wr_drain_describe(session, definition, ticks);
    if (WR_UNLIKELY(definition->has_strings)) {
        bytes = wr_nettrace_payload(&definition->schema, payload, drain->scratch);
        payload = drain->scratch;
    }
    wr_nettrace_event(&drain->nettrace, definition->index, ++lane->last_number, ticks, payload,
                      bytes);
    lane->shown_number = lane->last_number;
    lane->encoded++; /* after a flush in between, which counts what came before */
}

static void touch(struct wr_drain *drain, struct wr_lane *lane)
{
    if (lane->is_touched)
        return;
    lane->is_touched = true;
    lane->touched = drain->touched;
    drain->touched = lane;
}

/* Writes records that follow the one just written and differ from it in time and content only.
 * Returns the offset of the first that does not, which goes the general way. */
static uint32_t run_write(struct weir_session *session, struct wr_lane *lane,
                          const struct record *last, uint32_t offset, uint32_t end, uint64_t limit,
                          uint32_t *count)
{
    const unsigned char *segment = (const unsigned char *)lane->oldest;
    uint64_t base = wr_step_ticks(&session->drain, lane, lane->oldest->base_ticks),
             shape = (uint64_t)last->index << WR_RECORD_TICK_BITS, header;
    uint64_t least = wr_max_u64(lane->last_ticks, session->drain.point_ticks);
    uint32_t bytes = last->payload_bytes, written = 0;
    struct wr_nettrace_run run;
    /* A skew may end with the next record. */
    if (lane->skew || last->definition->has_strings || !last->definition->is_fixed ||
        !wr_nettrace_run_begin(&session->drain.nettrace, last->index, lane->last_number + 1, bytes,
                               &run))
        return offset;
    for (; offset < end && written < run.room; offset += last->bytes, written++) {
        memcpy(&header, segment + offset, sizeof header);
        uint64_t ticks = base + wr_record_ticks(header);
        if ((header & ~WR_RECORD_TICK_MAX) != shape || ticks >= limit || ticks < least)
            break;
        wr_nettrace_run_add(&run, ticks, segment + offset + WR_RECORD_HEADER_BYTES, bytes);
        least = ticks;
    }
    wr_nettrace_run_end(&session->drain.nettrace, &run, written);
    lane->last_stamp += least - lane->last_ticks;
    lane->last_ticks = least;
    lane->last_number += written;
    lane->shown_number = lane->last_number;
    lane->encoded += written;
    *count += written;
    return offset;
}

/* Reads the oldest segment up to its commit word or the limit; true if it met the limit. */
static bool segment_read(struct weir_session *session, struct wr_lane *lane, uint64_t commit,
                         uint64_t limit)
{
    struct wr_segment *segment = lane->oldest;
    struct record record = {0};
    uint32_t offset = lane->read_offset, end = wr_commit_offset(commit), count = 0;
    while (offset < end) {
        record_read(segment, offset, &record);
        if (record.index && !wr_step_is_plain(&session->drain, lane, record.stamp, limit) &&
            !session->drain.way->admits(session, lane, record.stamp, limit))
            break;
        if (WR_UNLIKELY(record.spans))
            record_join(session, segment, offset, end, &record);
        if (WR_LIKELY(record.index)) {
            record_write(session, lane, &record);
            touch(&session->drain, lane); /* after a flush that it may have caused */
            count++;
            offset = run_write(session, lane, &record, offset + record.bytes, end, limit, &count);
        } else {
            wr_point_tell_mark(session, lane, record.payload);
            offset += record.bytes;
        }
    }
    bool is_stopped = offset < end;
    session->drain.bytes_read += offset - lane->read_offset;
    session->drain.has_news |= count != 0;
    pthread_mutex_lock(&session->buffers.lock);
    lane->read_offset = offset;
    lane->read_count += count;
    lane->records_read += count;
    pthread_mutex_unlock(&session->buffers.lock);
    return is_stopped;
}

void wr_drain_skip(struct weir_session *session, struct wr_lane *lane, uint64_t since)
{
    bool is_final;
    uint32_t end = wr_commit_offset(wr_lane_readable(lane, &is_final)), count = 0;
    uint32_t offset = lane->oldest->records_at;
    struct record record = {0};
    if (offset == end)
        return;
    wr_point_tell_gap(session, lane, true);
    session->drain.way->enter(session, lane);
    for (; offset < end; offset = record.spans ? end : offset + record.bytes) {
        record_read(lane->oldest, offset, &record);
        if (record.index && wr_step_ticks_kept(session, lane->oldest, record.stamp) >= since)
            break;
        if (record.index)
            count++;
        else
            wr_point_tell_mark(session, lane, record.payload);
    }
    wr_point_tell(session, lane->capture_id, &lane->last_number, WEIR_LOSS_OVERWRITTEN, count);
    lane->read_offset = offset;
    lane->read_count += count;
    lane->records_read += count;
}

bool wr_drain_lane(struct weir_session *session, struct wr_lane *lane, uint64_t limit)
{
    struct wr_buffers *buffers = &session->buffers;
    for (uint32_t count = 0;; count++) {
        /* The limit does not end the reading of a thread whose clock is another one. */
        if (lane->skew && count >= buffers->segment_count)
            return true;
        if (!lane->oldest) {
            pthread_mutex_lock(&buffers->lock);
            wr_lane_take_opened(lane);
            pthread_mutex_unlock(&buffers->lock);
        }
        if (!lane->oldest)
            return false;
        bool is_final;
        uint64_t commit = wr_lane_readable(lane, &is_final);
        if (lane->read_offset == 0)
            lane->read_offset = lane->oldest->records_at;
        if (lane->read_count == 0)
            session->drain.way->enter(session, lane);
        bool is_unread = wr_commit_offset(commit) > lane->read_offset;
        if (is_unread && lane->read_count == 0 && !wr_point_tell_gap(session, lane, false))
            return true;
        if (is_unread && segment_read(session, lane, commit, limit))
            return true;
        if (!is_final)
            return false;
        pthread_mutex_lock(&buffers->lock);
        struct wr_segment *segment = wr_lane_unchain(lane);
        pthread_mutex_unlock(&buffers->lock);
        buffers->mode->give(buffers, segment); /* before anything that may block */
    }
}

/* --- The sink. ------------------------------------------------------------------------------- */

/* The sink may block: what is free must not wait for it. */
static void leave(void *context)
{
    struct weir_session *session = context;
    session->buffers.mode->before_sink(&session->buffers);
}

/* What was in the buffer when the sink failed is not delivered, and neither is what follows. A part
 * of it may be in the file all the same; it counts as lost. */
void wr_drain_settle(void *context, bool is_sent)
{
    struct weir_session *session = context;
    struct wr_drain *drain = &session->drain;
    session->buffers.mode->after_sink(&session->buffers);
    pthread_mutex_lock(&session->buffers.lock);
    for (struct wr_lane *lane = drain->touched; lane; lane = lane->touched) {
        if (!is_sent)
            lane->sink_failed += lane->encoded - lane->delivered;
        lane->delivered = lane->encoded;
        lane->is_touched = false;
    }
    drain->touched = NULL;
    if (is_sent)
        drain->own.written += drain->own_encoded - drain->own_delivered;
    else
        drain->own.lost[WEIR_LOSS_SINK_FAILED] += drain->own_encoded - drain->own_delivered;
    drain->own_delivered = drain->own_encoded;
    drain->bytes_sent = session->stream.sent;
    pthread_mutex_unlock(&session->buffers.lock);
}

/* Of a stream that cannot be written, or a session that cannot be ended any more: nobody records or
 * waits for it from here on. The stop is the host's to make. */
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
        /* On the ready list it would be met again: it goes after that. */
        if ((*link)->is_finished && !wr_u32_load_acquire(&(*link)->queued))
            wr_buffers_release_lane_locked(&session->buffers, link);
        else
            link = &(*link)->next;
    }
    session->drain.has_finished = false;
    pthread_mutex_unlock(&session->buffers.lock);
}

void wr_drain_flush(struct weir_session *session)
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

/* Every introduced lane, up to `limit`; emitters that are inside a pin may still publish records
 * that are older, so they are waited for. */
static void read_all(struct weir_session *session, uint64_t limit)
{
    uint64_t attached;
    wr_point_settle(session);
    for (struct wr_lane *lane = wr_drain_lanes(session, &attached); lane; lane = lane->next)
        if (lane->listed_number)
            wr_drain_lane(session, lane, limit);
}

static void read_ready(struct weir_session *session, struct wr_lane *ready, uint64_t limit)
{
    while (ready) {
        struct wr_lane *lane = ready;
        ready = lane->ready_next; /* read before the lane may be queued again */
        wr_data_read(&lane->ready_next, sizeof lane->ready_next);
        wr_buffers_accept_ready(lane);
        if (!lane->listed_number || !wr_drain_lane(session, lane, limit))
            continue;
        /* Left, with records younger than this look: its thread may be parked until it comes back,
         * and would not announce it again. */
        if (lane->oldest && wr_lane_is_left(lane))
            wr_buffers_announce(lane);
    }
}

/* Lanes that no point has named yet. All that they hold is younger than the last horizon: a lane is
 * counted, under the lock, before its thread stamps its first record, and the look of that horizon
 * did not count it. So a point at that horizon introduces it truthfully. */
static bool has_new_lanes(struct weir_session *session)
{
    uint64_t attached;
    wr_drain_lanes(session, &attached);
    return attached != session->drain.lanes_introduced;
}

static void introduce(struct weir_session *session)
{
    struct wr_drain *drain = &session->drain;
    /* A tick after a point that stands at the horizon itself, so that points rise. */
    uint64_t ticks = wr_max_u64(drain->horizon, drain->point_ticks + 1);
    read_all(session, ticks);
    wr_point_write(session, ticks);
}

/* Has the lane only the one segment that it had at the last sweep, and not moved in it? While
 * others go without, it need not have stood still: then a segment is a slice of time. */
static bool is_revocable(struct weir_session *session, struct wr_lane *lane, bool others_wait)
{
    if (!lane->oldest) {
        pthread_mutex_lock(&session->buffers.lock);
        wr_lane_take_opened(lane);
        pthread_mutex_unlock(&session->buffers.lock);
    }
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

void wr_drain_sweep(struct weir_session *session, bool others_wait)
{
    uint64_t attached;
    struct wr_lane *first = wr_drain_lanes(session, &attached);
    const struct wr_mode *mode = session->buffers.mode;
    bool any = false;
    /* The timer's sweeps, every flush_ms, must not put off those for threads that wait. */
    if (others_wait)
        session->drain.sweep_ns = wr_os_monotonic_ns();
    if (wr_session_is_lost(session))
        return;
    for (struct wr_lane *lane = first; lane; lane = lane->next) {
        mode->sweep(lane);
        lane->is_revoking = is_revocable(session, lane, others_wait);
        if (lane->is_revoking)
            wr_lane_revoke_begin(lane);
        any |= lane->is_revoking;
    }
    if (!any)
        return;
    if (!wr_threads_barrier(session->buffers.has_plain_pins)) /* edge REVOKE */
        return; /* the lanes keep their segments; who finds `end` 0 leaves its own by itself */
    for (struct wr_lane *lane = first; lane; lane = lane->next) {
        if (!lane->is_revoking)
            continue;
        mode->rest(lane);
        if (wr_lane_revoke_finish(lane))
            wr_buffers_announce(lane); /* for this drain's next look */
    }
}

/* The clock has stepped back. Whatever its stamp, what is from before that is older than this look.
 */
static void read_before_step(struct weir_session *session)
{
    uint64_t attached, latest = 0;
    session->drain.is_before_step = true;
    if (has_new_lanes(session))
        introduce(session);
    read_all(session, UINT64_MAX);
    session->drain.is_before_step = false;
    for (struct wr_lane *lane = wr_drain_lanes(session, &attached); lane; lane = lane->next)
        latest = wr_max_u64(latest, lane->last_ticks);
    wr_step_pass(session, latest);
}

static void look(struct weir_session *session, bool is_timed)
{
    struct wr_drain *drain = &session->drain;
    if (wr_step_is_back(session))
        read_before_step(session);
    uint64_t horizon = wr_max_u64(wr_step_ticks_of_look(session), drain->point_ticks + 1);
    struct wr_lane *ready = wr_buffers_take_ready(&session->buffers);
    if (has_new_lanes(session))
        introduce(session);
    read_ready(session, ready, horizon);
    if (is_timed)
        wr_drain_sweep(session, session->buffers.mode->is_short(&session->buffers));
    session->buffers.mode->serve(&session->buffers);
    bool is_due = is_timed || wr_point_is_due(session);
    if (is_due)
        read_all(session, horizon);
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

void wr_drain_look(struct weir_session *session, bool is_timed)
{
    tell_membarrier_error(session);
    session->drain.way->look(session, is_timed);
}

void wr_drain_end(struct weir_session *session)
{
    session->drain.way->end(session);
    tell_membarrier_error(session);
}

void wr_drain_finish_stream(struct weir_session *session)
{
    struct wr_drain *drain = &session->drain;
    uint64_t attached, read = 0, latest = wr_step_ticks_now(session);
    drain->end_ticks = latest;
    if (has_new_lanes(session))
        introduce(session);
    for (struct wr_lane *lane = wr_drain_lanes(session, &attached); lane; lane = lane->next) {
        /* So many losses that a point must tell them; no record before it is younger. */
        while (wr_drain_lane(session, lane, UINT64_MAX)) {
            read = wr_max_u64(read, lane->last_ticks);
            wr_point_write(session, wr_max_u64(read, drain->point_ticks + 1));
        }
        read = wr_max_u64(read, lane->last_ticks);
        latest = wr_max_u64(latest, lane->last_ticks + 1);
    }
    latest = wr_max_u64(latest, drain->point_ticks + 1);
    drain->horizon = latest;
    wr_point_write(session, latest);
    wr_rundown_run(session);
    wr_point_write(
        session, wr_max_u64(wr_max_u64(wr_step_ticks_now(session), drain->own_ticks), latest) + 1);
    wr_nettrace_end(&drain->nettrace);
    wr_drain_flush(session);
}

static void begin(struct weir_session *session)
{
    struct wr_drain *drain = &session->drain;
    struct wr_nettrace_header header = {.frequency_hz = session->frequency_hz,
                                        .process_id = wr_os_process_id(),
                                        .processor_count = wr_os_processor_count()};
    wr_clock_read_pair(&header.sync_ticks, &header.realtime_ns);
    wr_nettrace_header(&drain->nettrace, &header);
    drain->thread_id = wr_os_thread_id();
    drain->capture_id = wr_buffers_capture_id();
    drain->own_number = 1;
    drain->nettrace.before_flush = leave;
    drain->nettrace.on_flush = wr_drain_settle;
    drain->nettrace.flush_context = session;
    drain->horizon = wr_step_begin(session);
    struct wr_unattributed *unattributed = &wr_unattributed[session->slot];
    drain->nested_told = wr_u64_load_acquire(&unattributed->nested);
    drain->no_segment_told = wr_u64_load_acquire(&unattributed->no_segment);
    wr_point_write(session, drain->horizon);
}

static void end(struct weir_session *session)
{
    look(session, true);
    wr_drain_finish_stream(session);
}

/* All of a lane is read, so that nothing is missing before a segment but what is counted. */
static uint64_t nothing_gone(const struct wr_lane *lane)
{
    (void)lane;
    return 0;
}

static void enter(struct weir_session *session, struct wr_lane *lane)
{
    (void)session;
    (void)lane;
}

static const struct wr_drain_way reader = {.begin = begin,
                                           .look = look,
                                           .end = end,
                                           .enter = enter,
                                           .admits = wr_step_admits,
                                           .gone_before = nothing_gone};

void wr_drain_begin(struct weir_session *session)
{
    session->drain.way = session->buffers.mode->keeps ? &wr_recorder : &reader;
    session->drain.way->begin(session);
}
