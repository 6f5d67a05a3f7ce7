/* Bounded reads from bytes. A read past the end sets a fault and returns 0, as does every later
 * read: a decoder may read a whole header and check for a fault once. */
#ifndef WT_NETTRACE_CURSOR_H
#define WT_NETTRACE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum wt_fault { WT_FAULT_NONE = 0, WT_FAULT_SHORT, WT_FAULT_VARINT };

struct wt_cursor {
    const uint8_t *at;
    const uint8_t *end;
    enum wt_fault fault;
};

static inline uint16_t wt_load_u16(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] | (unsigned)bytes[1] << 8);
}

static inline uint32_t wt_load_u32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

static inline uint64_t wt_load_u64(const uint8_t *bytes)
{
    return (uint64_t)wt_load_u32(bytes) | (uint64_t)wt_load_u32(bytes + 4) << 32;
}

static inline struct wt_cursor wt_cursor_make(const uint8_t *bytes, size_t size)
{
    struct wt_cursor cursor = {bytes, bytes + size, WT_FAULT_NONE};
    return cursor;
}

static inline size_t wt_cursor_left(const struct wt_cursor *cursor)
{
    return (size_t)(cursor->end - cursor->at);
}

static inline void wt_cursor_fail(struct wt_cursor *cursor, enum wt_fault fault)
{
    if (cursor->fault == WT_FAULT_NONE)
        cursor->fault = fault;
    cursor->at = cursor->end;
}

/* The next `size` bytes, or NULL and a fault. */
static inline const uint8_t *wt_cursor_bytes(struct wt_cursor *cursor, size_t size)
{
    if (__builtin_expect(size > wt_cursor_left(cursor), 0)) {
        wt_cursor_fail(cursor, WT_FAULT_SHORT);
        return NULL;
    }
    const uint8_t *bytes = cursor->at;
    cursor->at += size;
    return bytes;
}

static inline uint8_t wt_cursor_u8(struct wt_cursor *cursor)
{
    const uint8_t *bytes = wt_cursor_bytes(cursor, 1);
    return bytes ? bytes[0] : 0;
}

static inline uint16_t wt_cursor_u16(struct wt_cursor *cursor)
{
    const uint8_t *bytes = wt_cursor_bytes(cursor, 2);
    return bytes ? wt_load_u16(bytes) : 0;
}

static inline uint32_t wt_cursor_u32(struct wt_cursor *cursor)
{
    const uint8_t *bytes = wt_cursor_bytes(cursor, 4);
    return bytes ? wt_load_u32(bytes) : 0;
}

static inline uint64_t wt_cursor_u64(struct wt_cursor *cursor)
{
    const uint8_t *bytes = wt_cursor_bytes(cursor, 8);
    return bytes ? wt_load_u64(bytes) : 0;
}

/* 7 bits per byte, least significant first; more than `bits` bits are a fault. */
static inline uint64_t wt_cursor_var(struct wt_cursor *cursor, unsigned bits)
{
    uint64_t value = 0;
    for (unsigned shift = 0; cursor->at < cursor->end; shift += 7) {
        uint8_t byte = *cursor->at++;
        if (__builtin_expect(shift + 7 > bits, 0) &&
            (shift >= bits || (byte >> (bits - shift)) != 0)) {
            wt_cursor_fail(cursor, WT_FAULT_VARINT);
            return 0;
        }
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return value;
    }
    wt_cursor_fail(cursor, WT_FAULT_SHORT);
    return 0;
}

static inline uint32_t wt_cursor_var32(struct wt_cursor *cursor)
{
    return (uint32_t)wt_cursor_var(cursor, 32);
}

static inline uint64_t wt_cursor_var64(struct wt_cursor *cursor)
{
    return wt_cursor_var(cursor, 64);
}

/* Zigzag: 0, -1, 1, -2 are stored as 0, 1, 2, 3. */
static inline int64_t wt_cursor_zigzag64(struct wt_cursor *cursor)
{
    uint64_t stored = wt_cursor_var64(cursor);
    return (int64_t)(stored >> 1 ^ (0 - (stored & 1)));
}

#endif
