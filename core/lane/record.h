/*
 * The layout of a record in a segment. A record begins with a header of eight bytes:
 *
 *     bit 63      extension: an 8-byte word follows
 *     bits 62..48 event index, 1 to 32,767
 *     bits 47..0  ticks since the segment's base
 *
 * With the extension bit, the next word has the payload's length in bytes in its low 32 bits, and
 * flags above them; unused flag bits are 0. Without it, the payload has the event's fixed length.
 * The payload follows, padded to eight bytes.
 *
 * With the flag WR_RECORD_SPANS, the record is larger than a segment. It is the only record in its
 * segment, and its payload continues in the lane's next segments (lane_span.h).
 *
 * A payload has the bytes of the file format, except strings, which stay as the host passed them: a
 * u16 length and UTF-8 bytes for str, a u16 length and UTF-16 units for str16, both without a
 * terminator. The drain converts them, so that the emitter does not pay for it.
 *
 * Event index 0 is not an event but a gap mark: a header and an extension. The extension has a
 * cause in its high byte, and in the rest the number of events that the lane has lost for this
 * cause so far. The mark shows where events were lost although the segment had room, and does so
 * without closing the segment.
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
#define WR_RECORD_SPANS           (UINT64_C(1) << 32) /* in the extension word */

/* The largest payload that a nettrace reader accepts: readers keep the length in 16 bits. */
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
