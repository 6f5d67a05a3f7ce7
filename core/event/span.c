/* Writes an event whose record is larger than a segment: see lane/lane_span.h. */
#include "event/event.h"

#include "buffers/buffers.h"
#include "lane/lane_span.h"
#include "os/clock.h"

/* The record's time is the segments' base, so its header has no ticks, unless the caller has
 * stamped it. */
static void head_put(struct wr_record_out *out, uint32_t event_index, uint32_t payload_bytes,
                     const struct wr_stamp *stamp)
{
    uint64_t ticks = stamp->is_given ? wr_given_ticks(out->segment->given_base, stamp->ticks) |
                                           WR_RECORD_IS_GIVEN
                                     : 0;
    uint64_t head[2] = {wr_record_header(event_index, ticks) | WR_RECORD_EXTENSION,
                        WR_RECORD_SPANS | payload_bytes};
    wr_record_put(out, head, sizeof head);
}

WR_COLD enum wr_room wr_emit_span(struct wr_lane *lane,
                                  const struct wr_event_definition *definition, const void *payload,
                                  const struct wr_payload_size *size, struct wr_stamp *stamp)
{
    uint32_t payload_bytes = (uint32_t)size->bytes;
    uint32_t bytes = wr_record_bytes(payload_bytes, true);
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
    head_put(&out, definition->index, payload_bytes, stamp);
    wr_payload_put(definition, payload, size, &out);
    return wr_buffers_span_open(lane, &span) ? WR_ROOM : WR_ROOM_LOST;
}
