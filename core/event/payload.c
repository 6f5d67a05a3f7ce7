/* The payload of an event: measures what an emitter built, and copies it into a record. */
#include "event/event.h"

#include <string.h>
#include "nettrace/types.h"
#include "lane/lane_span.h"

static size_t utf16_length(const uint16_t *units)
{
    size_t length = 0;
    while (units && units[length])
        length++;
    return length;
}

/* A field of variable size: its elements, their count, and their size in the file. */
struct span {
    const void *data;
    uint64_t count;
    uint32_t element_bytes;
    uint32_t file_bytes_each; /* at most */
};

/* Reads the reference at `*from` and advances. Does not read the data. */
static struct span span_next(enum weir_type type, const unsigned char **from)
{
    struct span span = {NULL, 0, wr_type_bytes(type), wr_type_bytes(type)};
    memcpy(&span.data, *from, sizeof span.data);
    *from += sizeof span.data;
    if (type == WEIR_TYPE_str) {
        span.element_bytes = 1;
        span.file_bytes_each = 2; /* each byte becomes at most one UTF-16 unit */
    } else if (type == WEIR_TYPE_str16) {
        span.element_bytes = span.file_bytes_each = 2;
    } else {
        uint32_t count;
        memcpy(&count, *from, sizeof count);
        *from += sizeof count;
        span.count = span.data ? count : 0;
    }
    return span;
}

static uint64_t span_count(enum weir_type type, const struct span *span)
{
    if (type == WEIR_TYPE_str)
        return span->data ? strlen(span->data) : 0;
    return type == WEIR_TYPE_str16 ? utf16_length(span->data) : span->count;
}

void wr_payload_measure(const struct wr_event_definition *definition, const void *payload,
                        struct wr_payload_size *size)
{
    size->bytes = definition->payload_bytes;
    if (definition->is_fixed)
        return;
    const unsigned char *from = payload;
    uint64_t file_bytes = definition->payload_bytes;
    for (uint32_t i = 0; i < definition->schema.field_count; i++) {
        enum weir_type type = definition->schema.fields[i].type;
        if (wr_type_is_fixed(type)) {
            from += wr_type_bytes(type);
            continue;
        }
        struct span span = span_next(type, &from);
        uint64_t count = span_count(type, &span);
        size->counts[i] = (uint32_t)count;
        size->bytes += 2 + count * span.element_bytes;
        file_bytes += 2 + count * span.file_bytes_each; /* an array's count or a string's end */
    }
    if (file_bytes > WR_PAYLOAD_BYTES_MAX)
        size->bytes = file_bytes;
}

/* A constant `spans` makes two functions out of this one. The contiguous one needs no test for the
 * end of a segment and keeps its cursor in a register. */
WR_INLINE void put(struct wr_record_out *out, const void *bytes, uint32_t count, bool spans)
{
    if (spans) {
        wr_record_put(out, bytes, count);
        return;
    }
    memcpy(out->at, bytes, count);
    out->at += count;
}

WR_INLINE void put_all(const struct wr_event_definition *definition, const void *payload,
                       const struct wr_payload_size *size, struct wr_record_out *out, bool spans)
{
    if (definition->is_fixed) {
        if (definition->payload_bytes)
            put(out, payload, definition->payload_bytes, spans);
        return;
    }
    const unsigned char *from = payload;
    for (uint32_t i = 0; i < definition->schema.field_count; i++) {
        enum weir_type type = definition->schema.fields[i].type;
        if (wr_type_is_fixed(type)) {
            put(out, from, wr_type_bytes(type), spans);
            from += wr_type_bytes(type);
            continue;
        }
        struct span span = span_next(type, &from);
        uint16_t count = (uint16_t)size->counts[i];
        put(out, &count, sizeof count, spans);
        if (count)
            put(out, span.data, count * span.element_bytes, spans);
    }
}

void wr_payload_put(const struct wr_event_definition *definition, const void *payload,
                    const struct wr_payload_size *size, struct wr_record_out *out)
{
    put_all(definition, payload, size, out, true);
}

void wr_payload_write(const struct wr_event_definition *definition, const void *payload,
                      const struct wr_payload_size *size, unsigned char *out)
{
    struct wr_record_out contiguous = {.at = out};
    put_all(definition, payload, size, &contiguous, false);
}
