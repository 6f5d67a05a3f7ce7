/* The payload of an event, from what an emitter builds to what stands in a record. */
#include "event/event.h"

#include <string.h>
#include "base/types.h"

static size_t utf16_length(const uint16_t *units)
{
    size_t length = 0;
    while (units && units[length])
        length++;
    return length;
}

/* A field of variable size, as it is given: where the elements are and how many. */
struct span {
    const void *data;
    size_t count;
    uint32_t element_bytes;
    uint32_t file_bytes_each; /* what an element becomes in the file, at most */
    uint32_t file_bytes_more;
};

/* Reads the field at `*from` and moves on. */
static struct span span_next(enum weir_type type, const unsigned char **from)
{
    const void *data;
    memcpy(&data, *from, sizeof data);
    *from += sizeof data;
    if (type == WEIR_TYPE_str) /* each byte becomes at most one UTF-16 unit; then the zero */
        return (struct span){ data, data ? strlen(data) : 0, 1, 2, 2 };
    if (type == WEIR_TYPE_str16)
        return (struct span){ data, utf16_length(data), 2, 2, 2 };
    uint32_t count;
    memcpy(&count, *from, sizeof count);
    *from += sizeof count;
    uint32_t bytes = wr_type_bytes(type);
    return (struct span){ data, data ? count : 0, bytes, bytes, 2 };
}

uint64_t wr_payload_bytes(const struct wr_event_definition *definition, const void *payload)
{
    if (definition->is_fixed)
        return definition->payload_bytes;
    const unsigned char *from = payload;
    uint64_t record_bytes = 0, file_bytes = 0;
    for (uint32_t i = 0; i < definition->schema.field_count; i++) {
        enum weir_type type = definition->schema.fields[i].type;
        if (!wr_type_is_fixed(type)) {
            struct span span = span_next(type, &from);
            record_bytes += 2 + (uint64_t)span.count * span.element_bytes;
            file_bytes += (uint64_t)span.count * span.file_bytes_each + span.file_bytes_more;
        } else {
            from += wr_type_bytes(type);
            record_bytes += wr_type_bytes(type);
            file_bytes += wr_type_bytes(type);
        }
    }
    return file_bytes > WR_PAYLOAD_BYTES_MAX ? file_bytes : record_bytes;
}

void wr_payload_write(const struct wr_event_definition *definition, const void *payload, unsigned char *out)
{
    if (definition->is_fixed) {
        if (definition->payload_bytes)
            memcpy(out, payload, definition->payload_bytes);
        return;
    }
    const unsigned char *from = payload;
    for (uint32_t i = 0; i < definition->schema.field_count; i++) {
        enum weir_type type = definition->schema.fields[i].type;
        if (!wr_type_is_fixed(type)) {
            struct span span = span_next(type, &from);
            uint16_t count = (uint16_t)span.count;
            memcpy(out, &count, sizeof count);
            if (span.count)
                memcpy(out + sizeof count, span.data, span.count * span.element_bytes);
            out += sizeof count + span.count * span.element_bytes;
        } else {
            memcpy(out, from, wr_type_bytes(type));
            from += wr_type_bytes(type);
            out += wr_type_bytes(type);
        }
    }
}
