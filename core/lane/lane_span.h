/*
 * A record that is larger than a segment continues in further segments, which need not be adjacent.
 *
 *     S1: header | record header, extension, first bytes of the payload ............. |
 *     S2: header | more of it ........................................................ |
 *     S3: header | the rest, padded | records that follow
 *                                   ^ records_at
 *
 * All segments are fresh: S1 holds the start of the record and nothing else, and no segment holds
 * bytes of two such records. S1 counts the record; the other segments count none of it. The writer
 * fills the segments while no other thread can see them, and publishes all of them with the one
 * push of wr_lane_push() (edge CHAIN), or in OVERWRITE under the lock. The drain therefore never
 * meets a part without the rest, and the push or the lock, not the commit words, orders the bytes.
 * Later records use the rest of the last segment; the other segments are full from the start.
 *
 * The drain joins the parts when it reads the record. From then on the other segments are ordinary
 * ones, whose records begin at `records_at`, which may be the end of the segment.
 */
#ifndef WR_LANE_LANE_SPAN_H
#define WR_LANE_LANE_SPAN_H

#include <string.h>
#include "lane/lane_change.h"

/* --- Writer. --------------------------------------------------------------------------------- */

/* Where the bytes of a record go: to contiguous memory, or to a chain of segments. */
struct wr_record_out {
    unsigned char *at;
    unsigned char *end;
    struct wr_segment *segment; /* of a record that spans several; otherwise NULL */
    uint32_t segment_bytes;
};

WR_INLINE void wr_record_out_segment(struct wr_record_out *out, struct wr_segment *segment)
{
    out->segment = segment;
    out->at = segment->records;
    out->end = (unsigned char *)segment + out->segment_bytes;
}

/* Appends `count` bytes. The caller never appends more than it has measured, and the chain has room
 * for all of that. */
WR_INLINE void wr_record_put(struct wr_record_out *out, const void *bytes, uint32_t count)
{
    const unsigned char *from = bytes;
    uint32_t room = (uint32_t)(out->end - out->at);
    if (WR_LIKELY(count <= room)) {
        wr_data_written(out->at, count);
        /* Apart from the loop, so that a constant count is no call.
         * NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): the caller sets it */
        memcpy(out->at, from, count);
        out->at += count;
        return;
    }
    while (count > room) {
        wr_data_written(out->at, room);
        /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): the caller sets it */
        memcpy(out->at, from, room);
        from += room;
        count -= room;
        WR_CHECK(out->segment && out->segment->newer);
        wr_record_out_segment(out, out->segment->newer);
        room = (uint32_t)(out->end - out->at);
    }
    wr_data_written(out->at, count);
    /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): likewise */
    memcpy(out->at, from, count);
    out->at += count;
}

/* How many segments a record needs that is larger than one. */
static inline uint32_t wr_span_segments(uint32_t record_bytes, uint32_t segment_bytes)
{
    uint32_t room = segment_bytes - WR_SEGMENT_HEADER_BYTES;
    return (record_bytes + room - 1) / room;
}

struct wr_span {
    struct wr_segment *oldest;
    struct wr_segment *newest;
    uint32_t count;
};

/* Prepares the segments for a record of `record_bytes`: as many as wr_span_segments() says, linked
 * by `newer` from `first` on. No list contains them yet. The record is now counted as retired; if
 * it cannot be published, the count must be undone (span_open of OVERWRITE). */
static inline void wr_span_begin(struct wr_span *span, struct wr_lane *lane,
                                 struct wr_segment *first, uint32_t segment_bytes,
                                 uint32_t record_bytes, uint64_t base_ticks)
{
    uint32_t room = segment_bytes - WR_SEGMENT_HEADER_BYTES;
    *span = (struct wr_span){first, NULL, 0};
    for (struct wr_segment *segment = first; segment; segment = segment->newer) {
        bool is_first = segment == first;
        uint32_t part = record_bytes < room ? record_bytes : room;
        wr_lane_head(lane, segment, base_ticks);
        segment->records_at += is_first ? 0 : part;
        segment->older = span->newest;
        /* relaxed: CHAIN, or the lock of OVERWRITE, publishes it to the drain */
        wr_u64_store_relaxed(&segment->commit, (is_first ? WR_COMMIT_ONE_RECORD : 0) +
                                                   WR_SEGMENT_HEADER_BYTES + part);
        /* Count the record now: later segments number on from it, and S1 is never retired. */
        lane->records_retired += is_first;
        record_bytes -= part;
        span->newest = segment;
        span->count++;
    }
    WR_CHECK(record_bytes == 0);
}

/* --- Drain. ---------------------------------------------------------------------------------- */

/* Copies a payload of `bytes` bytes to `out`. It begins at `payload` in `segment`, fills that up to
 * the offset `end`, and continues in the newer segments. */
static inline void wr_span_read(const struct wr_segment *segment, uint32_t end,
                                const unsigned char *payload, uint32_t bytes, unsigned char *out)
{
    uint32_t part = (uint32_t)((const unsigned char *)segment + end - payload);
    while (bytes > part) {
        wr_data_read(payload, part);
        memcpy(out, payload, part);
        out += part;
        bytes -= part;
        segment = segment->newer;
        payload = segment->records;
        part = segment->records_at - WR_SEGMENT_HEADER_BYTES;
    }
    wr_data_read(payload, bytes);
    memcpy(out, payload, bytes);
}

#endif
