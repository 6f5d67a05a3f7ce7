/* The records of the slow path, also those larger than a segment: see lane/lane_span.h. */
#include "event/event.h"

#include <string.h>
#include "buffers/buffers.h"
#include "event/stamp.h"
#include "event/with.h"
#include "lane/lane_span.h"
#include "os/clock.h"

void wr_record_write(struct wr_segment *segment, uint64_t commit,
                     const struct wr_event_definition *definition, const void *payload,
                     const struct wr_payload_size *size, const struct wr_with *with, uint64_t flags,
                     const struct wr_stamp *stamp)
{
    bool is_extended = !definition->is_fixed || flags;
    uint32_t with_bytes = wr_with_bytes(with, flags), bytes = (uint32_t)size->bytes + with_bytes;
    unsigned char *record = wr_segment_cursor(segment, commit);
    uint64_t header = wr_record_header(definition->index, wr_stamp_header_ticks(segment, stamp));
    unsigned char *out = record + WR_RECORD_HEADER_BYTES;
    if (is_extended) {
        uint64_t extension = flags | bytes;
        header |= WR_RECORD_EXTENSION;
        memcpy(out, &extension, sizeof extension);
        out += WR_RECORD_EXTENSION_BYTES;
    }
    memcpy(record, &header, sizeof header);
    struct wr_record_out with_out = {.at = out, .end = out + with_bytes};
    wr_with_put(with, flags, &with_out);
    wr_payload_write(definition, payload, size, out + with_bytes);
    wr_segment_commit(segment, commit, wr_record_bytes(bytes, is_extended));
}

/* The record's time is the segments' base, so its header has no ticks, unless the caller has
 * stamped it. */
static void head_put(struct wr_record_out *out, uint32_t event_index, uint64_t extension,
                     const struct wr_stamp *stamp)
{
    uint64_t ticks = stamp->is_given ? wr_given_ticks(out->segment->given_base, stamp->ticks) |
                                           WR_RECORD_IS_GIVEN
                                     : 0;
    uint64_t head[2] = {wr_record_header(event_index, ticks) | WR_RECORD_EXTENSION,
                        WR_RECORD_SPANS | extension};
    wr_record_put(out, head, sizeof head);
}

WR_COLD enum wr_room wr_emit_span(struct wr_lane *lane,
                                  const struct wr_event_definition *definition, const void *payload,
                                  const struct wr_payload_size *size, const struct wr_with *with,
                                  uint64_t flags, struct wr_stamp *stamp)
{
    uint32_t length = (uint32_t)size->bytes + wr_with_bytes(with, flags);
    uint32_t bytes = wr_record_bytes(length, true);
    struct wr_segment *first;
    enum wr_room room = wr_buffers_span_room(lane, bytes, &first);
    if (room != WR_ROOM)
        return room;
    uint64_t base_ticks = wr_buffers_base_ticks();
    if (!stamp->is_given && stamp->ticks == 0)
        stamp->ticks = base_ticks;
    struct wr_span span;
    struct wr_record_out out = {.segment_bytes = lane->buffers->segment_bytes};
    wr_span_begin(&span, lane, first, out.segment_bytes, bytes, base_ticks);
    wr_record_out_segment(&out, first);
    head_put(&out, definition->index, flags | length, stamp);
    wr_with_put(with, flags, &out);
    wr_payload_put(definition, payload, size, &out);
    return wr_buffers_span_open(lane, &span) ? WR_ROOM : WR_ROOM_LOST;
}
