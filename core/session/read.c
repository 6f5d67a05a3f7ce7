/*
 * Reading: the records of a lane's segments become events of the stream.
 */
#include "session/read.h"

#include <string.h>
#include "base/lines.h"
#include "lane/lane_read.h"
#include "lane/lane_span.h"
#include "os/clock.h"
#include "session/report.h"
#include "session/session.h"
#include "session/step.h"
#include "session/with.h"

/* --- Records. -------------------------------------------------------------------------------- */

/* A decoded record. */
struct record {
    uint32_t index;                               /* 0: a gap mark */
    const struct wr_event_definition *definition; /* of the index */
    uint64_t stamp;                               /* the clock as its thread read it */
    bool is_given;                                /* the stamp is the caller's: see stamp_given() */
    const unsigned char *payload;
    uint32_t payload_bytes;
    uint32_t bytes;
    /* Of the extension, from bit 32 on: WR_RECORD_SPANS says that it continues in the next segments,
     * and no other record follows it in its own. The others are of what is in front of the payload,
     * which `payload` and `payload_bytes` contain. */
    uint32_t flags;
};

#define SPANS     ((uint32_t)(WR_RECORD_SPANS >> 32))
#define HAS_STACK ((uint32_t)(WR_RECORD_STACK >> 32))
#define STACK_CUT ((uint32_t)(WR_RECORD_STACK_CUT >> 32))

static inline void record_read(const struct wr_segment *segment, uint32_t offset,
                               struct record *record)
{
    const unsigned char *at = (const unsigned char *)segment + offset;
    uint64_t header, extension;
    memcpy(&header, at, sizeof header);
    uint32_t index = wr_record_event_index(header);
    record->stamp = segment->base_ticks + wr_record_ticks(header);
    record->is_given = (header & WR_RECORD_IS_GIVEN) != 0;
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
        record->flags = (uint32_t)(extension >> 32);
    }
    record->bytes = wr_record_bytes(record->payload_bytes, is_extended);
}

static bool record_spans(const struct record *record)
{
    return (record->flags & SPANS) != 0;
}

static uint64_t stamp_given(const struct wr_segment *segment, uint32_t offset)
{
    uint64_t header;
    memcpy(&header, (const unsigned char *)segment + offset, sizeof header);
    return wr_given_stamp(segment->given_base, wr_record_ticks(header));
}

static uint64_t ticks_in(const struct weir_session *session, const struct wr_segment *segment,
                         uint64_t stamp)
{
    return session->buffers.mode->keeps ? wr_step_ticks_kept(session, segment, stamp)
                                        : stamp + session->drain.offset;
}

/* A record with a caller's stamp was written before the next record that the library has stamped,
 * which the segment may have up to `end`, or before the next segment. */
static void bound_find(struct weir_session *session, const struct wr_segment *segment,
                       uint32_t offset, uint32_t end)
{
    struct wr_given *given = &session->drain.given;
    const struct wr_segment *newer = segment->newer;
    struct record next = {0};
    given->bound = newer ? ticks_in(session, newer, newer->base_ticks) : UINT64_MAX;
    given->bound_end = end;
    for (; offset < end && !record_spans(&next); offset += next.bytes) {
        record_read(segment, offset, &next);
        if (next.index == 0 || next.is_given)
            continue;
        given->bound = ticks_in(session, segment, next.stamp);
        given->bound_end = offset;
        return;
    }
}

static uint64_t bound_of(struct weir_session *session, const struct wr_segment *segment,
                         uint32_t offset, uint32_t end)
{
    if (offset >= session->drain.given.bound_end)
        bound_find(session, segment, offset, end);
    return session->drain.given.bound;
}

/* In a separate function, so that the others need no registers for it. */
static WR_NOINLINE bool admits_given(struct weir_session *session, struct wr_lane *lane,
                                     uint32_t offset, uint32_t end, uint64_t limit)
{
    struct wr_drain *drain = &session->drain;
    uint64_t stamp = stamp_given(lane->oldest, offset), bound = UINT64_MAX;
    lane->is_given = true;
    if (session->buffers.mode->keeps || stamp + drain->offset >= limit)
        bound = bound_of(session, lane->oldest, offset, end);
    return drain->way->admits_given(session, lane, stamp, bound, limit, &drain->given.ticks);
}

/* May the record be read now? */
WR_INLINE bool admits(struct weir_session *session, struct wr_lane *lane, uint32_t offset,
                      uint32_t end, uint64_t limit, const struct record *record)
{
    const struct wr_drain *drain = &session->drain;
    if (WR_UNLIKELY(record->is_given))
        return admits_given(session, lane, offset, end, limit);
    return wr_step_is_plain(drain, lane, record->stamp, limit) ||
           drain->way->admits(session, lane, record->stamp, limit);
}

/* The record's time in the stream: never before the thread's last record or the last point. */
static inline uint64_t ticks_of(struct weir_session *session, struct wr_lane *lane,
                                const struct record *record)
{
    struct wr_drain *drain = &session->drain;
    if (WR_UNLIKELY(record->is_given))
        return lane->track.ticks = drain->given.ticks;
    uint64_t stamp = record->stamp;
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
    unsigned char *joined = session->drain.scratch + WR_SCRATCH_JOINED;
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
    uint64_t ticks = ticks_of(session, lane, record);
    const struct wr_event_definition *definition = record->definition;
    wr_report_describe(session, definition, ticks);
    /* Once per record, not per segment: between two records, losses or names may have been reported
     * as events of the drain's own capture thread. */
    wr_nettrace_block_begin(&drain->nettrace, lane->track.capture_id, lane->track.thread_id);
    if (WR_UNLIKELY(definition->is_converted)) {
        bytes = wr_nettrace_payload(definition->steps, payload, drain->scratch);
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

/* A run is of records that follow one another and differ only in time and content, or in size if the
 * event has strings or arrays. These functions write the rest of one, and return the offset of the
 * first record that needs the general path. */

WR_INLINE void run_count(struct wr_lane *lane, uint64_t ticks, bool is_given, uint32_t written,
                         uint32_t *count)
{
    if (!is_given)
        lane->last_stamp += ticks - lane->track.ticks;
    lane->track.ticks = ticks;
    lane->track.number += written;
    lane->track.shown = lane->track.number;
    lane->track.encoded += written;
    *count += written;
}

/* Writes records of the shape of the last one, before `limit`, with times from `base` on. */
WR_INLINE uint32_t run_write_from(struct weir_session *session, struct wr_lane *lane,
                                  const struct record *last, uint32_t offset, uint32_t end,
                                  uint64_t limit, uint64_t base, uint64_t given, uint32_t *count)
{
    const unsigned char *segment = (const unsigned char *)lane->oldest;
    uint64_t shape = wr_record_header(last->index, given), header;
    uint64_t least = wr_max_u64(lane->track.ticks, session->drain.point_ticks);
    uint32_t bytes = last->payload_bytes, written = 0;
    struct wr_nettrace_run run;
    if (!wr_nettrace_run_begin(&session->drain.nettrace, last->index, lane->track.number + 1, bytes,
                               &run))
        return offset;
    for (; offset < end && written < run.room; offset += last->bytes, written++) {
        memcpy(&header, segment + offset, sizeof header);
        uint64_t ticks = base + wr_record_ticks(header);
        if ((header & ~WR_RECORD_TICK_MAX) != shape || ticks >= limit || ticks < least)
            break;
        wr_lines_ask(segment + offset);
        wr_nettrace_run_add(&run, ticks, segment + offset + WR_RECORD_HEADER_BYTES, bytes);
        least = ticks;
    }
    wr_nettrace_run_end(&session->drain.nettrace, &run, written);
    run_count(lane, least, given != 0, written, count);
    return offset;
}

/* With stamps of the caller's. Those that the ticks cannot express, and all at the end of the
 * stream, which has no limit, are left to the general path. */
static WR_NOINLINE uint32_t run_write_given(struct weir_session *session, struct wr_lane *lane,
                                            const struct record *last, uint32_t offset,
                                            uint32_t end, uint64_t limit, uint32_t *count)
{
    const struct wr_drain *drain = &session->drain;
    uint64_t base = lane->oldest->given_base + drain->offset, most = base + WR_RECORD_TICK_MAX;
    if (limit == UINT64_MAX || lane->track.ticks <= base)
        return offset;
    if (session->buffers.mode->keeps && drain->given.bound < most)
        most = drain->given.bound;
    return run_write_from(session, lane, last, offset, end, limit < most ? limit : most, base,
                          WR_RECORD_IS_GIVEN, count);
}

/* Of events with strings or arrays; a stamp of the caller's ends the run. */
static WR_NOINLINE uint32_t text_run_write(struct weir_session *session, struct wr_lane *lane,
                                           const struct record *last, uint32_t offset, uint32_t end,
                                           uint64_t limit, uint32_t *count)
{
    const unsigned char *segment = (const unsigned char *)lane->oldest;
    const struct wr_payload_step *steps = last->definition->steps;
    uint64_t base = wr_step_ticks(&session->drain, lane, lane->oldest->base_ticks),
             shape = WR_RECORD_EXTENSION | wr_record_header(last->index, 0), header, extension;
    uint64_t least = wr_max_u64(lane->track.ticks, session->drain.point_ticks);
    uint32_t written = 0;
    struct wr_nettrace_text_run run;
    if (!wr_nettrace_text_run_begin(&session->drain.nettrace, last->index, lane->track.number + 1,
                                    last->payload_bytes, &run))
        return offset;
    for (; offset < end && run.out < run.end; written++) {
        memcpy(&header, segment + offset, sizeof header);
        uint64_t ticks = base + wr_record_ticks(header);
        if ((header & ~WR_RECORD_TICK_MAX) != shape || ticks >= limit || ticks < least)
            break;
        memcpy(&extension, segment + offset + WR_RECORD_HEADER_BYTES, sizeof extension);
        if (WR_UNLIKELY((extension & WR_RECORD_FLAGS) != 0))
            break;
        wr_lines_ask_all(segment + offset, (uint32_t)extension);
        wr_nettrace_text_run_add(&run, ticks, steps, segment + offset + WR_RECORD_HEAD_BYTES,
                                 (uint32_t)extension);
        least = run.ticks;
        offset += wr_record_bytes((uint32_t)extension, true);
    }
    wr_nettrace_text_run_end(&session->drain.nettrace, &run, written);
    run_count(lane, least, false, written, count);
    return offset;
}

/* What the records of a run have in common whose events have more than their payload. */
struct with_kind {
    uint64_t shape, extension; /* of a record's header, without its ticks, and of its extension */
    uint64_t limit;            /* of its ticks */
    const unsigned char *ids;  /* in the last record */
    uint32_t ids_bytes, stack_at, stack_bytes;
    uint32_t payload_at, payload_bytes, record_bytes;
};

/* Records are taken in groups: the shape of all is tested, all their stacks are found, all are written.
 * So the loads of one step need not wait for the stores of another. */
#define GROUP 16u

_Static_assert(WR_NETTRACE_STACKS_BYTES_MAX / GROUP >= WR_RECORD_WITH_BYTES_MAX,
               "the stacks of a group fit into a block");
_Static_assert(GROUP * 8 * WR_RECORD_NARROW_MAX <= WR_SCRATCH_JOINED,
               "the narrow stacks of a group fit into the scratch memory");

/* with_run_look(), whose loop should not ask for ids that no record has. */
WR_INLINE uint32_t with_run_alike(const struct with_kind *kind, const unsigned char *at,
                                  uint32_t count, uint64_t earliest, uint32_t ids_bytes)
{
    uint64_t before = kind->shape + earliest; /* the header of the record before */
    uint64_t left = kind->limit > earliest ? kind->limit - earliest : 0;
    uint64_t header, extension;
    uint32_t i = 0;
    for (; i < count; i++, at += kind->record_bytes) {
        memcpy(&header, at, sizeof header);
        memcpy(&extension, at + WR_RECORD_HEADER_BYTES, sizeof extension);
        uint64_t since = header - before; /* too large if it is earlier, or has another shape */
        if (since >= left || extension != kind->extension ||
            !wr_with_ids_are_same(at + WR_RECORD_HEAD_BYTES, kind->ids, ids_bytes))
            break;
        before = header;
        left -= since;
    }
    return i;
}

/* How many of `count` records go on with the run: those with the ids of the last one. */
static inline uint32_t with_run_look(const struct with_kind *kind, const unsigned char *at,
                                     uint32_t count, uint64_t earliest)
{
    return kind->ids_bytes ? with_run_alike(kind, at, count, earliest, kind->ids_bytes)
                           : with_run_alike(kind, at, count, earliest, 0);
}

/* Writes the first `count`, whose stacks' ids have these codes; NULL: they have no stacks. */
WR_INLINE void with_run_put(struct wr_nettrace_with_run *run, const struct with_kind *kind,
                            const unsigned char *at, uint32_t count, const uint32_t *codes)
{
    const uint64_t shape = kind->shape;
    uint32_t payload_at = kind->payload_at, payload_bytes = kind->payload_bytes,
             record_bytes = kind->record_bytes;
    uint64_t header;
    for (uint32_t i = 0; i < count; i++, at += record_bytes) {
        if (codes)
            wr_lines_ask_all(at, record_bytes);
        else
            wr_lines_ask(at);
        memcpy(&header, at, sizeof header);
        wr_nettrace_with_run_add(run, header - shape, codes ? codes[i] : run->stack_code,
                                 at + payload_at, payload_bytes);
    }
}

static struct with_kind with_kind_of(const struct record *last, uint64_t base, uint64_t limit)
{
    uint64_t flags = (uint64_t)last->flags << 32;
    struct with_kind kind = {
        .shape = WR_RECORD_EXTENSION | wr_record_header(last->index, 0),
        .extension = flags | last->payload_bytes,
        .limit = limit > base ? wr_min_u64(limit - base, WR_RECORD_TICK_MAX + 1) : 0,
        .ids = last->payload,
        .ids_bytes = wr_with_ids_bytes(flags),
        .payload_bytes = last->definition->payload_bytes,
        .record_bytes = last->bytes,
    };
    kind.payload_at = WR_RECORD_HEAD_BYTES + last->payload_bytes - kind.payload_bytes;
    kind.stack_at = WR_RECORD_HEAD_BYTES + kind.ids_bytes;
    if (flags & WR_RECORD_STACK)
        kind.stack_bytes = kind.payload_at - kind.stack_at - WR_RECORD_STACK_HEAD_BYTES;
    return kind;
}

/* Writes the stacks of the next records that the stream does not have, up to the first that it has, so
 * that the events of all follow in one block. A stack between two of them would end it. */
static WR_NOINLINE void stacks_write(struct wr_drain *drain, const struct with_kind *kind,
                                     const unsigned char *at, uint32_t count)
{
    const unsigned char *stack = at + kind->stack_at;
    uint32_t bytes = kind->stack_bytes, stride = kind->record_bytes, id = drain->stacks.last_id + 1;
    uint32_t added = wr_stacks_add(&drain->stacks, stack, bytes, stride, count);
    if (added)
        wr_with_stacks_write(drain, id, stack, stride, added);
}

/* Of events with more than their payload: with the ids of the last one, and with stacks that the
 * stream has. If one comes that it does not have, it gets those of the group. */
static WR_NOINLINE uint32_t with_run_write(struct weir_session *session, struct wr_lane *lane,
                                           const struct record *last, uint32_t offset, uint32_t end,
                                           uint64_t limit, uint32_t *count)
{
    struct wr_drain *drain = &session->drain;
    struct wr_nettrace_with_run run;
    uint32_t codes[GROUP], written = 0, alike, found;
    uint64_t base = wr_step_ticks(drain, lane, lane->oldest->base_ticks);
    if (lane->skew || last->is_given || !last->definition->is_fixed || lane->track.ticks < base ||
        drain->point_ticks > lane->track.ticks || (last->flags & (SPANS | STACK_CUT)) ||
        (last->flags & HAS_STACK && !drain->stacks.slots) ||
        !wr_nettrace_with_run_begin(&drain->nettrace, last->index, lane->track.number + 1,
                                    last->definition->payload_bytes, &run))
        return offset;
    const struct with_kind kind = with_kind_of(last, base, limit);
    uint32_t left = (uint32_t)wr_min_u64((end - offset) / kind.record_bytes, run.plain.room);
    run.plain.ticks -= base;
    do {
        const unsigned char *at = (const unsigned char *)lane->oldest + offset;
        alike = with_run_look(&kind, at, left < GROUP ? left : GROUP, run.plain.ticks);
        found = alike;
        if (kind.stack_bytes) {
            found = wr_stacks_known(&drain->stacks, at + kind.stack_at, kind.stack_bytes,
                                    kind.record_bytes, alike, codes);
            with_run_put(&run, &kind, at, found, codes);
        } else {
            with_run_put(&run, &kind, at, found, NULL);
        }
        offset += found * kind.record_bytes;
        written += found;
        left -= found;
    } while (found == GROUP);
    run.plain.ticks += base;
    wr_nettrace_with_run_end(&drain->nettrace, &run, written);
    run_count(lane, run.plain.ticks, false, written, count);
    if (found < alike)
        stacks_write(drain, &kind, (const unsigned char *)lane->oldest + offset, alike - found);
    return offset;
}

WR_INLINE uint32_t run_write(struct weir_session *session, struct wr_lane *lane,
                             const struct record *last, uint32_t offset, uint32_t end,
                             uint64_t limit, uint32_t *count)
{
    bool is_fixed = last->definition->is_fixed;
    /* A skew may end with the next record. */
    if (lane->skew || (last->is_given && !is_fixed))
        return offset;
    if (WR_UNLIKELY(last->is_given || !is_fixed)) {
        const struct record copy = *last; /* so that the caller keeps its own in registers */
        return is_fixed ? run_write_given(session, lane, &copy, offset, end, limit, count)
                        : text_run_write(session, lane, &copy, offset, end, limit, count);
    }
    uint64_t base = wr_step_ticks(&session->drain, lane, lane->oldest->base_ticks);
    return run_write_from(session, lane, last, offset, end, limit, base, 0, count);
}

/* A record that spans segments, or that more goes with than its payload, and those after it that
 * differ little. Returns the offset of the next one. */
static WR_NOINLINE uint32_t record_write_with(struct weir_session *session, struct wr_lane *lane,
                                              uint32_t offset, uint32_t end, uint64_t limit,
                                              struct record *record, uint32_t *count)
{
    if (record_spans(record))
        record_join(session, lane->oldest, offset, end, record);
    if (record->flags & ~SPANS)
        wr_with_write(session, lane, record->definition, (uint64_t)record->flags << 32,
                      record->payload, record->payload_bytes, ticks_of(session, lane, record));
    else
        record_write(session, lane, record);
    touch(&session->drain, lane);
    (*count)++;
    offset = with_run_write(session, lane, record, offset + record->bytes, end, limit, count);
    record->flags = 0; /* a record without extension leaves it as it is */
    return offset;
}

/* Reads the oldest segment up to its commit word or the limit; true if it stopped at the limit. */
static bool segment_read(struct weir_session *session, struct wr_lane *lane, uint64_t commit,
                         uint64_t limit)
{
    struct wr_segment *segment = lane->oldest;
    struct record record = {0};
    uint32_t offset = lane->read_offset, end = wr_commit_offset(commit), count = 0;
    session->drain.given.bound_end = 0;
    while (offset < end) {
        record_read(segment, offset, &record);
        if (record.index && !admits(session, lane, offset, end, limit, &record))
            break;
        if (WR_UNLIKELY(record.flags)) {
            offset = record_write_with(session, lane, offset, end, limit, &record, &count);
            continue;
        }
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

/* The time of a record in a kept segment. */
static uint64_t kept_ticks(struct weir_session *session, const struct wr_segment *segment,
                           uint32_t offset, uint32_t end, const struct record *record)
{
    if (!record->is_given)
        return wr_step_ticks_kept(session, segment, record->stamp);
    uint64_t ticks = wr_step_ticks_kept(session, segment, stamp_given(segment, offset));
    uint64_t bound = bound_of(session, segment, offset, end);
    return ticks < bound ? ticks : bound;
}

WR_COLD void wr_read_skip(struct weir_session *session, struct wr_lane *lane, uint64_t since)
{
    bool is_final;
    uint32_t end = wr_commit_offset(wr_lane_readable(lane, &is_final)), count = 0;
    uint32_t offset = lane->oldest->records_at;
    struct record record = {0};
    session->drain.given.bound_end = 0;
    if (offset == end)
        return;
    wr_report_gap(session, lane, true);
    session->drain.way->enter(session, lane);
    for (; offset < end; offset = record_spans(&record) ? end : offset + record.bytes) {
        record_read(lane->oldest, offset, &record);
        if (record.index && kept_ticks(session, lane->oldest, offset, end, &record) >= since)
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

/* wr_lane_readable(). A thread that has written the commit word since the last look has its line. */
static uint64_t readable(struct weir_session *session, struct wr_lane *lane, bool *is_final)
{
    struct wr_lines_way *way = &session->drain.lines;
    if (!wr_lines_is_timed(way))
        return wr_lane_readable(lane, is_final);
    uint64_t before = wr_clock_ticks();
    uint64_t commit = wr_lane_readable(lane, is_final);
    uint64_t ticks = wr_clock_ticks_ordered() - before;
    if (wr_commit_offset(commit) > lane->read_offset)
        wr_lines_came(way, ticks);
    return commit;
}

void wr_read_take_opened(struct wr_buffers *buffers, struct wr_lane *lane)
{
    if (lane->oldest)
        return;
    pthread_mutex_lock(&buffers->lock);
    wr_lane_take_opened(lane);
    pthread_mutex_unlock(&buffers->lock);
}

WR_COLD uint64_t wr_read_next_ticks(struct weir_session *session, struct wr_lane *lane)
{
    uint64_t header;
    wr_read_take_opened(&session->buffers, lane);
    uint32_t offset = lane->read_offset;
    for (const struct wr_segment *segment = lane->oldest; segment; segment = segment->newer) {
        if (offset == 0)
            offset = segment->records_at;
        /* edge PUBLISH.acquire */
        if (wr_commit_offset(wr_u64_load_acquire(&segment->commit)) > offset) {
            memcpy(&header, (const unsigned char *)segment + offset, sizeof header);
            bool is_stamped = (header & WR_RECORD_IS_GIVEN) == 0;
            return ticks_in(session, segment,
                            segment->base_ticks + (is_stamped ? wr_record_ticks(header) : 0));
        }
        offset = 0;
    }
    return UINT64_MAX;
}

bool wr_read_lane(struct weir_session *session, struct wr_lane *lane, uint64_t limit)
{
    struct wr_buffers *buffers = &session->buffers;
    lane->is_given = false;
    for (uint32_t count = 0;; count++) {
        /* If the thread's clock differs from the drain's, or its stamps are the caller's, the limit
         * may never end this loop. A chain that is kept does not grow. */
        if ((lane->skew || lane->is_given) && !buffers->mode->keeps &&
            count >= buffers->segment_count)
            return true;
        wr_read_take_opened(buffers, lane);
        if (!lane->oldest)
            return false;
        bool is_final;
        uint64_t commit = readable(session, lane, &is_final);
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
        if (wr_lines_pass(&session->drain.lines))
            wr_lines_evict(segment, wr_commit_offset(commit));
        buffers->mode->give(buffers, segment); /* before anything that may block */
    }
}
