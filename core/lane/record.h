/*
 * The bytes of a record in a segment.
 *
 *     bit 63      extension: an 8-byte word follows
 *     bits 62..48 event index, 1 to 32,767
 *     bits 47..0  ticks since the segment's base
 *
 * then, with the extension bit, a word whose low 32 bits are the payload's length in bytes, with
 * flags above them (the others are zero; they come with the features that need them), then the
 * payload, padded to eight bytes. Without it, the length is the event's fixed payload length.
 *
 * With the flag WR_RECORD_SPANS the record is larger than a segment: it is the only one in its
 * segment, and its payload goes on in the lane's next ones (lane_span.h).
 *
 * A payload is what stands in the file, except that strings are kept as they were given: u16 length
 * and UTF-8 bytes for str, u16 length and UTF-16 units for str16, neither with a terminator. The
 * drain converts them, so that the emitter does not pay for it.
 *
 * Event index 0 is no event but a gap mark, header and extension: the extension has a cause in its
 * high byte and, below, how many events the lane has lost for it by then. It says where events are
 * missing that were lost although the segment had room, without closing the segment.
 */
#ifndef WR_LANE_RECORD_H
#define WR_LANE_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#define WR_RECORD_HEADER_BYTES    8u
#define WR_RECORD_EXTENSION_BYTES 8u
#define WR_RECORD_ALIGNMENT       8u
#define WR_RECORD_EXTENSION       (UINT64_C(1) << 63)
#define WR_RECORD_TICK_BITS       48
#define WR_RECORD_TICK_MAX        ((UINT64_C(1) << WR_RECORD_TICK_BITS) - 1)
#define WR_EVENT_INDEX_MAX        32767u
#define WR_RECORD_SPANS           (UINT64_C(1) << 32) /* of the extension word */

/* The largest payload a nettrace reader takes: it keeps the length in 16 bits. */
#define WR_PAYLOAD_BYTES_MAX 65535u

#define WR_GAP_MARK_BYTES  (WR_RECORD_HEADER_BYTES + WR_RECORD_EXTENSION_BYTES)
#define WR_GAP_CAUSE_SHIFT 56

static inline uint64_t wr_record_header(uint32_t event_index, uint64_t ticks_since_base)
{
    return (uint64_t)event_index << WR_RECORD_TICK_BITS | ticks_since_base;
}

static inline uint32_t wr_record_event_index(uint64_t header)
{
    return (uint32_t)(header >> WR_RECORD_TICK_BITS) & WR_EVENT_INDEX_MAX;
}

static inline uint64_t wr_record_ticks(uint64_t header)
{
    return header & WR_RECORD_TICK_MAX;
}

static inline uint32_t wr_record_bytes(uint32_t payload_bytes, bool extended)
{
    uint32_t bytes =
        WR_RECORD_HEADER_BYTES + (extended ? WR_RECORD_EXTENSION_BYTES : 0) + payload_bytes;
    return (bytes + WR_RECORD_ALIGNMENT - 1) & ~(WR_RECORD_ALIGNMENT - 1);
}

#endif
