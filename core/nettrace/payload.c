#include "nettrace/writer.h"

#include <string.h>
#include "base/types.h"

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

static void field(struct cursor *cursor, enum weir_type type)
{
    if (wr_type_is_fixed(type)) {
        copy(cursor, wr_type_bytes(type));
        return;
    }
    uint16_t count = take_count(cursor);
    if (type == WEIR_TYPE_str) {
        cursor->to += wr_utf16_from_utf8(cursor->from, count, cursor->to);
        cursor->from += count;
        terminate(cursor);
    } else if (type == WEIR_TYPE_str16) {
        copy(cursor, 2u * count);
        terminate(cursor);
    } else {
        cursor->from -= sizeof count; /* an array keeps its count */
        copy(cursor, (uint32_t)sizeof count + count * wr_type_bytes(type));
    }
}

uint32_t wr_nettrace_payload(const struct weir_schema *schema, const unsigned char *record, unsigned char *out)
{
    struct cursor cursor = { record, out };
    for (uint32_t i = 0; i < schema->field_count; i++)
        field(&cursor, schema->fields[i].type);
    return (uint32_t)(cursor.to - out);
}
