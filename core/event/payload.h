/* Copies payloads: those of fixed size by words, others step by step. For the emitter and for
 * payload.c. */
#ifndef WR_EVENT_PAYLOAD_H
#define WR_EVENT_PAYLOAD_H

#include <string.h>
#include "event/event.h"
#include "lane/lane_span.h"

/* Copies `bytes` bytes. Both pointers point at the end of their data, so one register is both
 * counter and index. Payloads are readable up to a multiple of eight bytes. Not memcpy: a call
 * costs more than the copy of a typical event. Never two words at a time: the processor cannot
 * forward two words that the emitter has just stored one by one to a single load. The loop itself says
 * so, since a host may compile it with any options. */
WR_INLINE void wr_words_copy_before(unsigned char *to_end, const unsigned char *from_end,
                                    int64_t bytes)
{
    for (int64_t at = -bytes; at != 0; at += 8) {
        __builtin_memcpy(to_end + at, from_end + at, 8);
        WR_OPAQUE(at); /* otherwise the compiler copies two words at a time, or calls memcpy */
    }
}

static inline uint64_t wr_utf16_length(const uint16_t *units)
{
    uint64_t length = 0;
    while (units[length])
        length++;
    return length;
}

/* Reads the reference of a string or an array at `*from`, and advances. Returns the number of
 * elements. Never reads an array's data; a string's is read for its end. */
WR_INLINE uint64_t wr_reference_next(const struct wr_payload_step *step, const unsigned char **from,
                                     const void **data)
{
    memcpy(data, *from, sizeof *data);
    *from += sizeof *data;
    uint32_t count = 0;
    if (step->kind >= WR_STEP_ARRAY) {
        memcpy(&count, *from, sizeof count);
        *from += sizeof count;
    }
    if (!*data)
        return 0;
    if (step->kind == WR_STEP_STR)
        return strlen(*data);
    return step->kind == WR_STEP_STR16 ? wr_utf16_length(*data) : count;
}

/* --- In one pass, where the whole record has to fit. ----------------------------------------- */

/* A payload of at most this size is never too large for the file, where each byte takes at most two. */
#define WR_PAYLOAD_BYTES_SURE (WR_PAYLOAD_BYTES_MAX / 2)
#define WR_PAYLOAD_UNFIT      UINT64_MAX

/* Writes a count and the elements to `*to`, and advances. False if they would go beyond `end`. */
WR_INLINE bool wr_elements_put(unsigned char **to, const unsigned char *end, const void *data,
                               uint64_t count, uint64_t bytes)
{
    unsigned char *at = *to;
    uint16_t count16 = (uint16_t)count;
    *to = at + sizeof count16 + bytes;
    if (WR_UNLIKELY(*to > end))
        return false;
    memcpy(at, &count16, sizeof count16);
    memcpy(at + sizeof count16, data, bytes);
    return true;
}

/* Writes a payload that is not fixed to `begin`, measuring it meanwhile. Returns its bytes, or
 * WR_PAYLOAD_UNFIT if they would go beyond `end`, or if the payload is fixed. */
WR_INLINE uint64_t wr_payload_put_within(const struct wr_payload_step *step, const void *payload,
                                         unsigned char *begin, const unsigned char *end)
{
    const unsigned char *from = payload;
    unsigned char *to = begin;
    for (;; step++) {
        const void *data;
        if (WR_LIKELY(step->kind == WR_STEP_STR)) {
            memcpy(&data, from, sizeof data);
            from += sizeof data;
            if (WR_UNLIKELY(!data))
                data = "";
            uint64_t length = strlen(data);
            if (!wr_elements_put(&to, end, data, length, length))
                return WR_PAYLOAD_UNFIT;
        } else if (step->kind == WR_STEP_END) {
            return (uint64_t)(to - begin);
        } else if (step->kind == WR_STEP_WHOLE || to + step->fixed_bytes > end) {
            return WR_PAYLOAD_UNFIT;
        } else if (step->kind == WR_STEP_FIXED) {
            memcpy(to, from, step->fixed_bytes);
            from += step->fixed_bytes;
            to += step->fixed_bytes;
        } else {
            uint64_t count = wr_reference_next(step, &from, &data);
            if (!wr_elements_put(&to, end, count ? data : "", count, count * step->element_bytes))
                return WR_PAYLOAD_UNFIT;
        }
    }
}

/* --- In two passes. -------------------------------------------------------------------------- */

/* As wr_payload_measure(), for a payload that is not fixed. */
WR_INLINE void wr_payload_measure_steps(const struct wr_event_definition *definition,
                                        const void *payload, struct wr_payload_size *size)
{
    size->bytes = definition->payload_bytes;
    const unsigned char *from = payload;
    const void *data;
    uint64_t file_bytes = definition->payload_bytes;
    uint32_t *counts = size->counts;
    for (const struct wr_payload_step *step = definition->steps; step->kind != WR_STEP_END;
         step++) {
        from += step->fixed_bytes;
        if (step->kind == WR_STEP_FIXED)
            continue;
        uint64_t count = wr_reference_next(step, &from, &data);
        *counts++ = (uint32_t)count;
        size->bytes += 2 + count * step->element_bytes;
        file_bytes += 2 + count * step->file_bytes; /* an array's count or a string's end */
    }
    if (file_bytes > WR_PAYLOAD_BYTES_MAX)
        size->bytes = file_bytes;
}

/* A constant `spans` makes two functions out of this one. The contiguous one needs no test for the
 * end of a segment and keeps its cursor in a register. */
WR_INLINE void wr_payload_put_bytes(struct wr_record_out *out, const void *bytes, uint32_t count,
                                    bool spans)
{
    if (spans) {
        wr_record_put(out, bytes, count);
        return;
    }
    memcpy(out->at, bytes, count);
    out->at += count;
}

WR_INLINE void wr_payload_put_steps(const struct wr_event_definition *definition,
                                    const void *payload, const struct wr_payload_size *size,
                                    struct wr_record_out *out, bool spans)
{
    const unsigned char *from = payload;
    const uint32_t *counts = size->counts;
    for (const struct wr_payload_step *step = definition->steps; step->kind != WR_STEP_END;
         step++) {
        if (step->kind == WR_STEP_FIXED) {
            wr_payload_put_bytes(out, from, step->fixed_bytes, spans);
            from += step->fixed_bytes;
            continue;
        }
        const void *data;
        memcpy(&data, from, sizeof data);
        from += sizeof data + (step->kind >= WR_STEP_ARRAY ? sizeof(uint32_t) : 0);
        uint16_t count = (uint16_t)*counts++;
        wr_payload_put_bytes(out, &count, sizeof count, spans);
        if (count)
            wr_payload_put_bytes(out, data, (uint32_t)count * step->element_bytes, spans);
    }
}

#endif
