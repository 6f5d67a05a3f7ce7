/*
 * The layout of a record in a segment. A record begins with a header of eight bytes:
 *
 *     bit 63      extension: an 8-byte word follows
 *     bit 62      the stamp is the caller's
 *     bits 61..48 event index, 1 to 16,383
 *     bits 47..0  ticks since the segment's base; of a caller's stamp, since its given_base
 *
 * A stamp of the caller's may be any number. If the ticks cannot express it, they say in which
 * direction: 0 is older than everything, and the largest value is later than everything.
 *
 * With the extension bit, the next word has the length in bytes of what follows in its low 32 bits,
 * and flags above them; unused flag bits are 0. Without it, the payload has the event's fixed length.
 * The payload follows, padded to eight bytes; in front of it, if the flags say so, the id of the
 * thread that the event is about (8 bytes), its activity (16), the related activity (16), and a stack.
 *
 * A stack begins with a word that has a form in its low half and a hash of what follows in its high
 * half. The emitter computes the hash, because there are many of them and one drain. It is only where
 * to look: what follows decides whether two stacks are one. The form says what that is:
 *
 *     bit 31 clear   the number of addresses, each of which follows
 *     bit 31 set     the stack is narrow: bits 7..0 have the number of addresses, bits 30..8 the high
 *                    half of all of them, and their low halves follow, padded to eight bytes
 *
 * A stack that can be narrow is, as the code of one program or one library can, or small numbers: the
 * drain waits for each line of a record, because another processor has written it.
 *
 * With the flag WR_RECORD_SPANS, the record is larger than a segment. It is the only record in its
 * segment, and its payload continues in the lane's next segments (lane_span.h).
 *
 * A payload has the bytes of the file format, except strings, which stay as the host passed them: a
 * u16 length and UTF-8 bytes for str and strn, a u16 length and UTF-16 units for str16, both without a
 * terminator. The drain converts them, so that the emitter does not pay for it. Raw bytes have a u16
 * length, too, which the drain leaves out.
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
#include <string.h>

#define WR_RECORD_HEADER_BYTES    8u
#define WR_RECORD_EXTENSION_BYTES 8u
#define WR_RECORD_HEAD_BYTES      (WR_RECORD_HEADER_BYTES + WR_RECORD_EXTENSION_BYTES)
#define WR_RECORD_ALIGNMENT       8u
#define WR_RECORD_EXTENSION       (UINT64_C(1) << 63)
#define WR_RECORD_IS_GIVEN        (UINT64_C(1) << 62)
#define WR_RECORD_TICK_BITS       48
#define WR_RECORD_TICK_MAX        ((UINT64_C(1) << WR_RECORD_TICK_BITS) - 1)
#define WR_EVENT_INDEX_MAX        16383u
/* In the extension word. */
#define WR_RECORD_SPANS     (UINT64_C(1) << 32)
#define WR_RECORD_THREAD    (UINT64_C(1) << 33)
#define WR_RECORD_ACTIVITY  (UINT64_C(1) << 34)
#define WR_RECORD_RELATED   (UINT64_C(1) << 35)
#define WR_RECORD_STACK     (UINT64_C(1) << 36)
#define WR_RECORD_STACK_CUT (UINT64_C(1) << 37) /* there were too many addresses, or none */
#define WR_RECORD_FLAGS     (~(uint64_t)UINT32_MAX)

/* The largest payload that a nettrace reader accepts: readers keep the length in 16 bits. */
#define WR_PAYLOAD_BYTES_MAX 65535u

/* The most that goes with an event: thread, activity and related activity, and 1,000 addresses. */
#define WR_RECORD_IDS_BYTES_MAX  (8u + 16u + 16u)
#define WR_RECORD_WITH_BYTES_MAX (WR_RECORD_IDS_BYTES_MAX + 8u + 8000u)

#define WR_RECORD_STACK_HEAD_BYTES 8u
#define WR_RECORD_STACK_HASH_SHIFT 32

#define WR_RECORD_STACK_NARROW UINT32_C(0x80000000)
#define WR_RECORD_NARROW_MIN   4u /* addresses */
#define WR_RECORD_NARROW_MAX   255u
#define WR_RECORD_NARROW_BITS  55 /* of an address */

/* The first word of a stack. */
static inline uint64_t wr_record_stack_head(const unsigned char *stack)
{
    uint64_t head;
    memcpy(&head, stack, sizeof head);
    return head;
}

static inline uint32_t wr_record_stack_form(const unsigned char *stack)
{
    return (uint32_t)wr_record_stack_head(stack);
}

/* The form of a narrow stack with one of its addresses. */
static inline uint32_t wr_record_narrow_form(uint32_t count, uint64_t address)
{
    return WR_RECORD_STACK_NARROW | (uint32_t)(address >> 32) << 8 | count;
}

/* The high half of the addresses of a narrow stack, in place. */
static inline uint64_t wr_record_narrow_high(uint32_t form)
{
    return (uint64_t)(form & ~WR_RECORD_STACK_NARROW) >> 8 << 32;
}

static inline uint32_t wr_record_stack_count(uint32_t form)
{
    return form & WR_RECORD_STACK_NARROW ? form & 0xFF : form;
}

/* Bytes that follow the first word. */
static inline uint32_t wr_record_stack_bytes(uint32_t form)
{
    return form & WR_RECORD_STACK_NARROW ? 8 * (((form & 0xFF) + 1) / 2) : 8 * form;
}

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

/* A stamp of the caller's that is later than everything. A session's offset can be added to it. */
#define WR_STAMP_MAX ((uint64_t)INT64_MAX)

/* Where the stamps of the caller's in a segment count from: as far before its base as after it. */
static inline uint64_t wr_given_base(uint64_t base_ticks)
{
    const uint64_t half = UINT64_C(1) << (WR_RECORD_TICK_BITS - 1);
    return base_ticks > half ? base_ticks - half : 0;
}

/* The ticks of a caller's stamp, and back. */
static inline uint64_t wr_given_ticks(uint64_t given_base, uint64_t stamp)
{
    if (stamp < given_base)
        return 0;
    uint64_t ticks = stamp - given_base;
    return ticks < WR_RECORD_TICK_MAX ? ticks : WR_RECORD_TICK_MAX;
}

static inline uint64_t wr_given_stamp(uint64_t given_base, uint64_t ticks)
{
    if (ticks == WR_RECORD_TICK_MAX)
        return WR_STAMP_MAX;
    return ticks == 0 ? 0 : given_base + ticks;
}

static inline uint32_t wr_record_bytes(uint32_t payload_bytes, bool extended)
{
    uint32_t bytes =
        WR_RECORD_HEADER_BYTES + (extended ? WR_RECORD_EXTENSION_BYTES : 0) + payload_bytes;
    return (bytes + WR_RECORD_ALIGNMENT - 1) & ~(WR_RECORD_ALIGNMENT - 1);
}

#endif
