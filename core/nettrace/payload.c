/* Payloads: the steps of a schema, and the conversion of a record's payload to that of the file. */
#include "nettrace/writer.h"

#include <string.h>
#include "base/compiler.h"
#include "nettrace/types.h"

/* --- Steps. ---------------------------------------------------------------------------------- */

WR_COLD static uint32_t element_bytes(const struct weir_object *object)
{
    const struct weir_object *const *next = object->objects;
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < object->field_count; i++)
        bytes += object->fields[i].type == WEIR_TYPE_object ? element_bytes(*next++)
                                                            : wr_type_bytes(object->fields[i].type);
    return bytes;
}

/* Of a string, an array or raw bytes. `object`: of an array of objects. */
WR_COLD static struct wr_payload_step step_of(enum weir_type type, const struct weir_object *object)
{
    uint16_t bytes = (uint16_t)(object ? element_bytes(object) : wr_type_bytes(type));
    if (type == WEIR_TYPE_str) /* each byte becomes at most one UTF-16 unit */
        return (struct wr_payload_step){WR_STEP_STR, 1, 2, 0};
    if (type == WEIR_TYPE_strn)
        return (struct wr_payload_step){WR_STEP_STRN, 1, 2, 0};
    if (type == WEIR_TYPE_str16)
        return (struct wr_payload_step){WR_STEP_STR16, 2, 2, 0};
    return (struct wr_payload_step){type == WEIR_TYPE_raw ? WR_STEP_RAW : WR_STEP_ARRAY, bytes,
                                    bytes, 0};
}

struct maker {
    struct wr_payload_step *steps, *next;
    bool is_fixed;
};

WR_COLD static void make_fixed(struct maker *maker, uint32_t bytes)
{
    struct wr_payload_step *last = maker->next > maker->steps ? maker->next - 1 : NULL;
    if (last && last->kind == WR_STEP_FIXED)
        last->fixed_bytes = (uint16_t)(last->fixed_bytes + bytes);
    else
        *maker->next++ = (struct wr_payload_step){WR_STEP_FIXED, 0, 0, (uint16_t)bytes};
}

/* An object has no step: its fields stand in the payload as if they were the event's. */
WR_COLD static void make_steps(struct maker *maker, const struct weir_field *fields, uint32_t count,
                               const struct weir_object *const *objects)
{
    for (uint32_t i = 0; i < count; i++) {
        enum weir_type type = fields[i].type;
        const struct weir_object *object = wr_type_is_object(type) ? *objects++ : NULL;
        if (type == WEIR_TYPE_object) {
            make_steps(maker, object->fields, object->field_count, object->objects);
        } else if (wr_type_is_fixed(type)) {
            make_fixed(maker, wr_type_bytes(type));
        } else {
            *maker->next++ = step_of(type, object);
            maker->is_fixed = false;
        }
    }
}

WR_COLD void wr_payload_steps(const struct weir_schema *schema, struct wr_payload_step *steps)
{
    struct maker maker = {steps, steps, true};
    make_steps(&maker, schema->fields, schema->field_count, schema->objects);
    maker.next->kind = WR_STEP_END;
    if (maker.is_fixed)
        steps->kind = WR_STEP_WHOLE;
}

/* --- Conversion. ----------------------------------------------------------------------------- */

struct cursor {
    const unsigned char *from;
    unsigned char *to;
};

static inline void copy(struct cursor *cursor, uint32_t bytes)
{
    memcpy(cursor->to, cursor->from, bytes);
    cursor->from += bytes;
    cursor->to += bytes;
}

static inline uint32_t count_at(const unsigned char *from)
{
    uint16_t count;
    memcpy(&count, from, sizeof count);
    return count;
}

/* Strings end at their first zero. One that the host changed while it was emitted may have it
 * early. */
static uint32_t units_before_zero(const unsigned char *units, uint32_t count)
{
    uint32_t length = 0;
    uint16_t unit;
    for (; length < count; length++) {
        memcpy(&unit, units + (size_t)2 * length, sizeof unit);
        if (!unit)
            break;
    }
    return length;
}

static void str16(struct cursor *cursor, uint32_t count)
{
    const unsigned char *end = cursor->from + (size_t)2 * count;
    copy(cursor, 2 * units_before_zero(cursor->from, count));
    cursor->from = end;
    *cursor->to++ = 0;
    *cursor->to++ = 0;
}

uint32_t wr_nettrace_payload(const struct wr_payload_step *step, const unsigned char *record,
                             unsigned char *out)
{
    struct cursor cursor = {record, out};
    for (;; step++) {
        if (WR_LIKELY(step->kind == WR_STEP_STR)) {
            uint32_t count = count_at(cursor.from);
            cursor.to = wr_utf16_from_text(cursor.from + sizeof(uint16_t), count, cursor.to);
            cursor.from += sizeof(uint16_t) + count;
        } else if (step->kind == WR_STEP_END) {
            return (uint32_t)(cursor.to - out);
        } else if (step->kind == WR_STEP_FIXED) {
            copy(&cursor, step->fixed_bytes);
        } else if (step->kind == WR_STEP_ARRAY) {
            copy(&cursor, (uint32_t)sizeof(uint16_t) + count_at(cursor.from) * step->element_bytes);
        } else if (step->kind == WR_STEP_STRN) {
            uint32_t count = count_at(cursor.from);
            cursor.to = wr_utf16_from_counted(cursor.from + sizeof(uint16_t), count, cursor.to);
            cursor.from += sizeof(uint16_t) + count;
        } else {
            uint32_t count = count_at(cursor.from);
            cursor.from += sizeof(uint16_t);
            if (step->kind == WR_STEP_STR16)
                str16(&cursor, count);
            else
                copy(&cursor, count); /* raw bytes have no count in the file */
        }
    }
}
