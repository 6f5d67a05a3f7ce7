/* Bytes into the writer's buffer, for the two forms of a stream. */
#ifndef WR_NETTRACE_PUT_H
#define WR_NETTRACE_PUT_H

#include <string.h>
#include "nettrace/writer.h"

/* Of all versions: FORMAT.md, "Event blobs" and "Metadata". */
enum {
    TYPE_ARRAY = 19, /* the other type codes are enum weir_type */
    BLOCK_HEADER_BYTES = 20,
    BLOCK_IS_COMPRESSED = 1, /* a flag of the block: event headers are compressed */
};

/* Makes room for `bytes` of a block or an event. It may flush, so call it between blocks only. */
static inline void wr_nettrace_reserve(struct wr_nettrace *nettrace, uint32_t bytes)
{
    if (nettrace->length + bytes > WR_NETTRACE_BUFFER_BYTES)
        wr_nettrace_flush(nettrace);
}

static inline void put(struct wr_nettrace *nettrace, const void *bytes, uint32_t count)
{
    memcpy(nettrace->buffer + nettrace->length, bytes, count);
    nettrace->length += count;
}

static inline void put_u8(struct wr_nettrace *nettrace, uint8_t value)
{
    nettrace->buffer[nettrace->length++] = value;
}

static inline void put_u16(struct wr_nettrace *nettrace, uint16_t value)
{
    put(nettrace, &value, sizeof value);
}

static inline void put_u32(struct wr_nettrace *nettrace, uint32_t value)
{
    put(nettrace, &value, sizeof value);
}

static inline void put_u64(struct wr_nettrace *nettrace, uint64_t value)
{
    put(nettrace, &value, sizeof value);
}

static inline void put_at_u32(struct wr_nettrace *nettrace, uint32_t at, uint32_t value)
{
    memcpy(nettrace->buffer + at, &value, sizeof value);
}

static inline void put_varint(struct wr_nettrace *nettrace, uint64_t value)
{
    unsigned char *end = wr_nettrace_varint(nettrace->buffer + nettrace->length, value);
    nettrace->length = (uint32_t)(end - nettrace->buffer);
}

static inline void put_block_header(struct wr_nettrace *nettrace, uint64_t ticks_min,
                                    uint64_t ticks_max)
{
    put_u16(nettrace, BLOCK_HEADER_BYTES);
    put_u16(nettrace, BLOCK_IS_COMPRESSED); /* the only form that readers get right */
    put_u64(nettrace, ticks_min);
    put_u64(nettrace, ticks_max);
}

/* The anchor of the stream's clock, which the two forms share. */
void wr_nettrace_put_anchor(struct wr_nettrace *nettrace, const struct wr_nettrace_header *header);

/* --- writer_v6.c: what differs in V6. -------------------------------------------------------- */

enum wr_v6_block {
    WR_V6_END,
    WR_V6_TRACE,
    WR_V6_EVENT,
    WR_V6_METADATA,
    WR_V6_POINT,
    WR_V6_STACK,
    WR_V6_THREAD,
    WR_V6_REMOVE_THREAD,
    WR_V6_LABEL_LIST,
};

/* Returns where the block's content begins, never 0: its head of four bytes precedes it. */
uint32_t wr_v6_block_open(struct wr_nettrace *nettrace);
void wr_v6_block_close(struct wr_nettrace *nettrace, uint32_t content_at, enum wr_v6_block kind);
void wr_v6_header(struct wr_nettrace *nettrace, const struct wr_nettrace_header *header);
void wr_v6_metadata(struct wr_nettrace *nettrace, uint32_t metadata_id, const char *provider_name,
                    const struct weir_schema *schema);
void wr_v6_point(struct wr_nettrace *nettrace, uint64_t ticks,
                 const struct wr_nettrace_thread_number *threads, uint32_t count);
/* The id of a list with these labels, each of 16 bytes or NULL: 0 if there are none. May write a block,
 * so no event may be begun. */
uint32_t wr_v6_labels(struct wr_nettrace *nettrace, const unsigned char *activity_id,
                      const unsigned char *related_activity_id);

#endif
