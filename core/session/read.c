/*
 * Reading: the records of a lane's segments become events of the stream.
 */
#include "session/read.h"

#include <string.h>
#include "base/lines.h"
#include "lane/lane_read.h"
#include "lane/lane_span.h"
#include "session/report.h"
#include "session/session.h"
#include "session/step.h"

/* --- Records. -------------------------------------------------------------------------------- */

/* A decoded record. */
struct record {
    uint32_t index;                               /* 0: a gap mark */
    const struct wr_event_definition *definition; /* of the index */
    uint64_t stamp;                               /* the clock as its thread read it */
    const unsigned char *payload;
    uint32_t payload_bytes;
    uint32_t bytes;
    bool spans; /* continues in the next segments; no other record follows it in its own */
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

/* The record's time in the stream: never before the thread's last record or the last point. */
static inline uint64_t ticks_of(struct weir_session *session, struct wr_lane *lane, uint64_t stamp)
{
    struct wr_drain *drain = &session->drain;
    uint64_t ticks = wr_step_ticks(drain, lane, stamp);
    if (WR_UNLIKELY(ticks < drain->point_ticks)) {
        wr_step_count_late(session, ticks);
        ticks = drain->point_ticks;
    }
    if (WR_UNLIKELY(ticks < lane->track.ticks))
        ticks = lane->track.ticks;
    if (WR_UNLIKELY(stamp < lane->last_stamp))
        wr_step_tell_lane(session, lane, lane->last_stamp - stamp, ticks);
    lane->last_stamp = stamp;
    lane->track.ticks = ticks;
    return ticks;
}

/* Joins the parts of a record that spans segments, in the second half of the scratch memory: the
 * first half is for the conversion of strings. The record fills its segment up to `end`. */
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
    /* Once per record, not per segment: between two records, losses may have been reported as
     * events of the drain's own capture thread. */
    wr_nettrace_block_begin(&drain->nettrace, lane->track.capture_id, lane->track.thread_id);
    const struct wr_event_definition *definition = record->definition;
    wr_report_describe(session, definition, ticks);
    if (WR_UNLIKELY(definition->has_strings)) {
        bytes = wr_nettrace_payload(&definition->schema, payload, drain->scratch);
        payload = drain->scratch;
    }
    wr_nettrace_event(&drain->nettrace, definition->index, ++lane->track.number, ticks, payload,
                      bytes);
    lane->track.shown = lane->track.number;
    lane->track.encoded++; /* last: a flush in wr_nettrace_event() sends only earlier records */
}

static void touch(struct wr_drain *drain, struct wr_lane *lane)
{
    if (lane->is_touched)
        return;
    lane->is_touched = true;
    lane->touched = drain->touched;
    drain->touched = lane;
}

/* Writes the records that follow the one just written as long as they differ from it only in time
 * and content. Returns the offset of the first that needs the general path. */
static uint32_t run_write(struct weir_session *session, struct wr_lane *lane,
                          const struct record *last, uint32_t offset, uint32_t end, uint64_t limit,
                          uint32_t *count)
{
    const unsigned char *segment = (const unsigned char *)lane->oldest;
    uint64_t base = wr_step_ticks(&session->drain, lane, lane->oldest->base_ticks),
             shape = (uint64_t)last->index << WR_RECORD_TICK_BITS, header;
    uint64_t least = wr_max_u64(lane->track.ticks, session->drain.point_ticks);
    uint32_t bytes = last->payload_bytes, written = 0;
    struct wr_nettrace_run run;
    /* A skew may end with the next record. */
    if (lane->skew || last->definition->has_strings || !last->definition->is_fixed ||
        !wr_nettrace_run_begin(&session->drain.nettrace, last->index, lane->track.number + 1, bytes,
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
    lane->last_stamp += least - lane->track.ticks;
    lane->track.ticks = least;
    lane->track.number += written;
    lane->track.shown = lane->track.number;
    lane->track.encoded += written;
    *count += written;
    return offset;
}

/* Reads the oldest segment up to its commit word or the limit; true if it stopped at the limit. */
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
            touch(&session->drain, lane); /* after any flush by record_write() clears the list */
            count++;
            offset = run_write(session, lane, &record, offset + record.bytes, end, limit, &count);
        } else {
            wr_report_mark(session, lane, record.payload);
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

void wr_read_skip(struct weir_session *session, struct wr_lane *lane, uint64_t since)
{
    bool is_final;
    uint32_t end = wr_commit_offset(wr_lane_readable(lane, &is_final)), count = 0;
    uint32_t offset = lane->oldest->records_at;
    struct record record = {0};
    if (offset == end)
        return;
    wr_report_gap(session, lane, true);
    session->drain.way->enter(session, lane);
    for (; offset < end; offset = record.spans ? end : offset + record.bytes) {
        record_read(lane->oldest, offset, &record);
        if (record.index && wr_step_ticks_kept(session, lane->oldest, record.stamp) >= since)
            break;
        if (record.index)
            count++;
        else
            wr_report_mark(session, lane, record.payload);
    }
    wr_report_loss(session, &lane->track, WEIR_LOSS_OVERWRITTEN, count);
    lane->read_offset = offset;
    lane->read_count += count;
    lane->records_read += count;
}

bool wr_read_lane(struct weir_session *session, struct wr_lane *lane, uint64_t limit)
{
    struct wr_buffers *buffers = &session->buffers;
    for (uint32_t count = 0;; count++) {
        /* If the thread's clock differs from the drain's, the limit may never end this loop. */
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
        if (is_unread && lane->read_count == 0 && !wr_report_gap(session, lane, false))
            return true;
        if (is_unread && segment_read(session, lane, commit, limit))
            return true;
        if (!is_final)
            return false;
        pthread_mutex_lock(&buffers->lock);
        struct wr_segment *segment = wr_lane_unchain(lane);
        pthread_mutex_unlock(&buffers->lock);
        if (session->drain.has_time)
            wr_lines_evict(segment, wr_commit_offset(commit));
        buffers->mode->give(buffers, segment); /* before anything that may block */
    }
}
