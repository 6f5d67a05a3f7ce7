/* The names of a field's values, and the name of raw bytes: made into the payload of Weir/Enum when
 * the event is defined. */
#include "event/define.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/host_struct.h"
#include "nettrace/types.h"
#include "nettrace/writer.h"

/* In 0.5. These never change. */
#define ENUM_BYTES_FIRST  32
#define VALUE_BYTES_FIRST 16

#define NUMBER_BYTES_MAX 23 /* ";-9223372036854775808=" and its zero */

static const struct weir_enum_value bool_values[] = {{"false", 0}, {"true", 1}};
static const struct weir_enum bool_enum = {sizeof bool_enum, "bool8", bool_values, 2,
                                           sizeof bool_values[0]};
/* Names the bytes behind the last field that the file describes. */
static const struct weir_enum raw_enum = {sizeof raw_enum, "raw", bool_values, 0,
                                          sizeof bool_values[0]};

/* The host's values are as far apart as its headers say. */
static struct weir_enum_value value_at(const struct weir_enum *names, uint32_t index)
{
    struct weir_enum_value value = {NULL, 0};
    memcpy(&value, (const unsigned char *)names->values + (size_t)index * names->value_bytes,
           names->value_bytes);
    return value;
}

static enum weir_result enum_take(struct weir_enum *own, const struct weir_enum *host,
                                  const struct weir_field *field, struct weir_error *error)
{
    static const struct wr_host_struct kind = {"enum", "WEIR_ENUM", ENUM_BYTES_FIRST, sizeof *own};
    enum weir_result result = wr_host_struct_take(&kind, own, host, error);
    if (result != WEIR_OK)
        return result;
    if (!wr_type_is_integer(field->type) && host != &raw_enum)
        return wr_fail(error, WEIR_BAD_ARGUMENT, "field '%s' has an enum, but is no integer",
                       field->name);
    if (!wr_name_is_valid(own->name) || !own->values ||
        !wr_host_size_is_known(own->value_bytes, VALUE_BYTES_FIRST, sizeof(struct weir_enum_value)))
        return wr_fail(error, WEIR_BAD_ARGUMENT,
                       "the enum of field '%s' has no name, no values, or values of %u bytes",
                       field->name, own->value_bytes);
    for (uint32_t i = 0; i < own->value_count; i++) {
        const char *name = value_at(own, i).name;
        if (!wr_name_is_valid(name) || strchr(name, ';'))
            return wr_fail(error, WEIR_BAD_ARGUMENT,
                           "enum '%s': value %u has no name, one over %d bytes, or one with a "
                           "semicolon",
                           own->name, i, WR_NAME_BYTES_MAX);
    }
    return WEIR_OK;
}

/* In front of a value's name. Returns its length. */
static uint64_t number_print(char number[NUMBER_BYTES_MAX], uint32_t index, int64_t value)
{
    return (uint64_t)snprintf(number, NUMBER_BYTES_MAX, "%s%" PRId64 "=", index ? ";" : "", value);
}

static uint64_t bytes_max(const struct wr_event_definition *definition,
                          const struct weir_field *field, const struct weir_enum *names)
{
    uint64_t bytes = strlen(definition->provider_name) + strlen(field->name) + strlen(names->name) +
                     4 /* their ends */;
    for (uint32_t i = 0; i < names->value_count; i++) {
        const struct weir_enum_value value = value_at(names, i);
        char number[NUMBER_BYTES_MAX];
        bytes += number_print(number, i, value.value) + strlen(value.name);
    }
    return 2 * bytes + 2 * sizeof(uint32_t);
}

static unsigned char *put_text(unsigned char *out, const char *text)
{
    return out + wr_utf16_from_utf8((const unsigned char *)text, (uint32_t)strlen(text), out);
}

static unsigned char *put_string(unsigned char *out, const char *text)
{
    out = put_text(out, text);
    memset(out, 0, 2);
    return out + 2;
}

/* The fields of Weir/Enum: see session/report.c. */
static uint32_t payload_put(const struct wr_event_definition *definition,
                            const struct weir_field *field, const struct weir_enum *names,
                            unsigned char *payload)
{
    const uint32_t event[] = {definition->schema.event_id, definition->schema.version};
    unsigned char *out = put_string(payload, definition->provider_name);
    memcpy(out, event, sizeof event);
    out = put_string(out + sizeof event, field->name);
    out = put_string(out, names->name);
    for (uint32_t i = 0; i < names->value_count; i++) {
        const struct weir_enum_value value = value_at(names, i);
        char number[NUMBER_BYTES_MAX];
        number_print(number, i, value.value);
        out = put_text(put_text(out, number), value.name);
    }
    return (uint32_t)(put_string(out, "") - payload);
}

static enum weir_result enum_make(const struct wr_event_definition *definition, uint32_t index,
                                  const struct weir_enum *host, struct wr_enum_event **out,
                                  struct weir_error *error)
{
    const struct weir_field *field = &definition->schema.fields[index];
    struct weir_enum own = {sizeof own, NULL, NULL, 0, 0};
    enum weir_result result = enum_take(&own, host, field, error);
    if (result != WEIR_OK)
        return result;
    uint64_t bytes = bytes_max(definition, field, &own);
    if (bytes > WR_PAYLOAD_BYTES_MAX)
        return wr_fail(error, WEIR_BAD_ARGUMENT, "enum '%s' has too many or too long names",
                       own.name);
    *out = malloc(sizeof **out + bytes + 7); /* the drain copies eight bytes at a time */
    if (!*out)
        return wr_fail(error, WEIR_NO_MEMORY, "no memory for enum '%s'", own.name);
    (*out)->payload_bytes = payload_put(definition, field, &own, (*out)->payload);
    return WEIR_OK;
}

static const struct weir_enum *enum_of(const struct wr_event_definition *definition,
                                       const struct weir_enum *const *host, uint32_t index)
{
    if (host && host[index])
        return host[index];
    enum weir_type type = definition->schema.fields[index].type;
    return type == WEIR_TYPE_bool8 ? &bool_enum : type == WEIR_TYPE_raw ? &raw_enum : NULL;
}

WR_COLD enum weir_result wr_enums_make(struct wr_event_definition *definition,
                                       const struct weir_enum *const *host,
                                       struct weir_error *error)
{
    enum weir_result result = WEIR_OK;
    uint32_t count = definition->is_described ? definition->schema.field_count : 0;
    for (uint32_t i = 0; i < count && result == WEIR_OK; i++) {
        const struct weir_enum *names = enum_of(definition, host, i);
        if (!names)
            continue;
        if (!definition->enums)
            definition->enums = calloc(count, sizeof *definition->enums);
        if (!definition->enums)
            return wr_fail(error, WEIR_NO_MEMORY, "no memory for event '%s'",
                           definition->schema.name);
        result = enum_make(definition, i, names, &definition->enums[i], error);
    }
    return result;
}

static bool enum_is_equal(const struct wr_enum_event *a, const struct wr_enum_event *b)
{
    if (!a || !b)
        return a == b;
    return a->payload_bytes == b->payload_bytes &&
           memcmp(a->payload, b->payload, a->payload_bytes) == 0;
}

WR_COLD bool wr_enums_are_equal(const struct wr_event_definition *a,
                                const struct wr_event_definition *b)
{
    bool is_equal = !a->enums == !b->enums;
    for (uint32_t i = 0; is_equal && a->enums && i < a->schema.field_count; i++)
        is_equal = enum_is_equal(a->enums[i], b->enums[i]);
    return is_equal;
}

WR_COLD void wr_enums_free(struct wr_event_definition *definition)
{
    for (uint32_t i = 0; definition->enums && i < definition->schema.field_count; i++)
        free(definition->enums[i]);
    free(definition->enums);
}
