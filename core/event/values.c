/* Events whose values come one by one: weir_event_emit() and weir_event_emit_at(). */
#include "event/event.h"

#include <string.h>
#include "base/host_struct.h"
#include "lane/thread.h"
#include "nettrace/types.h"

#define VALUE_BYTES_FIRST 16 /* sizeof(struct weir_value) in 0.2 */

/* The payload that an emitter would build: at most 16 bytes per field, with those of objects. */
struct built_payload {
    _Alignas(8) unsigned char bytes[WR_FIELDS_MAX * 16 + 8];
};

static uint32_t append(struct built_payload *built, uint32_t at, const void *bytes, uint32_t count)
{
    memcpy(built->bytes + at, bytes, count);
    return at + count;
}

static uint32_t append_reference(struct built_payload *built, uint32_t at,
                                 const struct weir_value *value)
{
    at = append(built, at, &value->pointer, sizeof value->pointer);
    bool has_count = wr_type_is_array(value->type) || value->type == WEIR_TYPE_strn ||
                     value->type == WEIR_TYPE_raw;
    return has_count ? append(built, at, &value->count, sizeof value->count) : at;
}

/* Little-endian, like the wire format: the low bytes of an integer are its narrower value. */
static uint32_t append_value(struct built_payload *built, uint32_t at,
                             const struct weir_value *value)
{
    static const struct weir_guid no_guid;
    if (!wr_type_is_fixed(value->type))
        return append_reference(built, at, value);
    if (value->type == WEIR_TYPE_guid)
        return append(built, at, value->pointer ? value->pointer : &no_guid, sizeof no_guid);
    if (value->type == WEIR_TYPE_bool) {
        uint32_t flag = value->boolean;
        return append(built, at, &flag, sizeof flag);
    }
    if (value->type == WEIR_TYPE_bool8) {
        uint8_t flag = value->boolean;
        return append(built, at, &flag, sizeof flag);
    }
    if (value->type == WEIR_TYPE_f32) {
        float single = (float)value->float_value;
        return append(built, at, &single, sizeof single);
    }
    return append(built, at, &value->unsigned_value, wr_type_bytes(value->type));
}

/* Appends the values of these fields, and of the objects among them. False if they do not match. */
static bool append_values(struct built_payload *built, uint32_t *at,
                          const struct weir_field *fields, const struct weir_object *const *objects,
                          const struct weir_value *values, uint32_t count, uint32_t value_bytes)
{
    bool matches = true;
    for (uint32_t i = 0; matches && i < count; i++) {
        const struct weir_value *value =
            (const void *)((const unsigned char *)values + (size_t)i * value_bytes);
        matches = value->type == fields[i].type;
        if (!matches)
            return false;
        const struct weir_object *object = wr_type_is_object(value->type) ? *objects++ : NULL;
        if (value->type == WEIR_TYPE_object)
            matches = value->pointer && value->count == object->field_count &&
                      append_values(built, at, object->fields, object->objects, value->pointer,
                                    value->count, value_bytes);
        else
            *at = append_value(built, *at, value);
    }
    return matches;
}

/* False if the values do not match the event's definition. */
static bool build(struct built_payload *built, const struct wr_event_definition *definition,
                  const struct weir_value *values, uint32_t count, uint32_t value_bytes)
{
    uint32_t at = 0;
    return definition && count == definition->schema.field_count &&
           wr_host_size_is_known(value_bytes, VALUE_BYTES_FIRST, sizeof *values) &&
           append_values(built, &at, definition->schema.fields, definition->schema.objects, values,
                         count, value_bytes);
}

WEIR_API bool weir_event_emit(const struct weir_event *event, const struct weir_value *values,
                              uint32_t count, uint32_t value_bytes)
{
    if (!weir_event_is_enabled(event) && !wr_self.capture)
        return false;
    const struct wr_event_definition *definition = wr_definition_of(event);
    struct built_payload built;
    if (!build(&built, definition, values, count, value_bytes))
        return wr_emit_mismatch(event);
    if (definition->is_ordered)
        weir_order();
    if (definition->has_stack)
        return weir_emit_stack(event, built.bytes);
    return weir_emit(event, built.bytes);
}

WEIR_API bool weir_event_emit_at(const struct weir_event *event, uint64_t stamp,
                                 const struct weir_value *values, uint32_t count,
                                 uint32_t value_bytes)
{
    if (!weir_event_is_enabled(event) && !wr_self.capture)
        return false;
    struct built_payload built;
    if (!build(&built, wr_definition_of(event), values, count, value_bytes))
        return wr_emit_mismatch(event);
    return weir_emit_at(event, stamp, built.bytes);
}
