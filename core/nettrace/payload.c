#include "nettrace/writer.h"

#include <string.h>
#include "nettrace/types.h"

struct cursor {
    const unsigned char *from;
    unsigned char *to;
};

static void copy(struct cursor *cursor, uint32_t bytes)
{
    memcpy(cursor->to, cursor->from, bytes);
    cursor->from += bytes;
    cursor->to += bytes;
}

static uint16_t take_count(struct cursor *cursor)
{
    uint16_t count;
    memcpy(&count, cursor->from, sizeof count);
    cursor->from += sizeof count;
    return count;
}

static void terminate(struct cursor *cursor)
{
    *cursor->to++ = 0;
    *cursor->to++ = 0;
}

/* Strings end at their first zero. One that the host changed while it was emitted may have it
 * early. */
static uint32_t bytes_before_zero(const unsigned char *text, uint32_t count)
{
    const unsigned char *zero = memchr(text, 0, count);
    return zero ? (uint32_t)(zero - text) : count;
}

static uint32_t units_before_zero(const unsigned char *units, uint32_t count)
{
    uint32_t length = 0;
    while (length < count && (units[(size_t)2 * length] | units[(size_t)2 * length + 1]))
        length++;
    return length;
}

static void string(struct cursor *cursor, enum weir_type type, uint32_t count)
{
    if (type == WEIR_TYPE_str) {
        cursor->to +=
            wr_utf16_from_utf8(cursor->from, bytes_before_zero(cursor->from, count), cursor->to);
        cursor->from += count;
    } else {
        const unsigned char *end = cursor->from + (size_t)2 * count;
        copy(cursor, 2 * units_before_zero(cursor->from, count));
        cursor->from = end;
    }
    terminate(cursor);
}

static void field(struct cursor *cursor, enum weir_type type)
{
    if (wr_type_is_fixed(type)) {
        copy(cursor, wr_type_bytes(type));
        return;
    }
    uint16_t count = take_count(cursor);
    if (wr_type_is_string(type)) {
        string(cursor, type, count);
    } else {
        cursor->from -= sizeof count; /* an array keeps its count */
        copy(cursor, (uint32_t)sizeof count + count * wr_type_bytes(type));
    }
}

uint32_t wr_nettrace_payload(const struct weir_schema *schema, const unsigned char *record,
                             unsigned char *out)
{
    struct cursor cursor = {record, out};
    for (uint32_t i = 0; i < schema->field_count; i++)
        field(&cursor, schema->fields[i].type);
    return (uint32_t)(cursor.to - out);
}
