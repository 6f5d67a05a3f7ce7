/* The fields of an event, and those of the objects among them: checks and copies what a host says. */
#include "event/define.h"

#include <stdlib.h>
#include <string.h>
#include "base/host_struct.h"
#include "nettrace/types.h"

#define OBJECT_BYTES_FIRST 32 /* of the first version; never changes */

/* An event's own fields, as those of an object are. */
static struct weir_object object_of(const struct weir_schema *schema)
{
    return (struct weir_object){sizeof(struct weir_object), schema->fields, schema->field_count,
                                schema->field_bytes, schema->objects};
}

/* The host's fields are as far apart as its headers say. */
WR_COLD static struct weir_field field_at(const struct weir_object *object, uint32_t index)
{
    struct weir_field field = {NULL, WEIR_TYPE_bool};
    memcpy(&field, (const unsigned char *)object->fields + (size_t)index * object->field_bytes,
           object->field_bytes);
    return field;
}

WR_COLD static enum weir_result object_take(struct weir_object *own, const struct weir_object *host,
                                            struct weir_error *error)
{
    static const struct wr_host_struct kind = {"object", "WEIR_OBJECT_INIT", OBJECT_BYTES_FIRST,
                                               sizeof *own};
    *own = (struct weir_object)WEIR_OBJECT_INIT;
    enum weir_result result = wr_host_struct_take(&kind, own, host, error);
    if (result != WEIR_OK)
        return result;
    if (!wr_host_size_is_known(own->field_bytes, WR_FIELD_BYTES_FIRST, sizeof(struct weir_field)))
        return wr_fail(error, WEIR_BAD_ARGUMENT, "object.field_bytes is %u; start from %s",
                       own->field_bytes, kind.init);
    return WEIR_OK;
}

/* --- Check. ---------------------------------------------------------------------------------- */

struct check {
    const char *event;
    uint32_t fields_left;
    struct weir_error *error;
};

/* Where an object's fields stand: in how many objects, and whether one is the element of an array. */
struct place {
    uint32_t depth;
    bool is_in_array;
};

WR_COLD static enum weir_result field_check(const struct check *check,
                                            const struct weir_field *field, uint32_t index,
                                            bool is_last, struct place place)
{
    struct weir_error *error = check->error;
    if (!wr_name_is_valid(field->name))
        return wr_fail(error, WEIR_BAD_ARGUMENT,
                       "event '%s': field %u has no name, or one over %d bytes", check->event,
                       index, WR_NAME_BYTES_MAX);
    if (!wr_type_is_known(field->type))
        return wr_fail(error, WEIR_BAD_ARGUMENT, "event '%s': field '%s' has the unknown type %d",
                       check->event, field->name, (int)field->type);
    if (field->type == WEIR_TYPE_raw && (!is_last || place.depth > 0))
        return wr_fail(error, WEIR_BAD_ARGUMENT,
                       "event '%s': put the raw field '%s' last; an event has one at most",
                       check->event, field->name);
    if (place.is_in_array && !wr_type_is_fixed(field->type) && field->type != WEIR_TYPE_object)
        return wr_fail(
            error, WEIR_BAD_ARGUMENT,
            "event '%s': field '%s' has no fixed size; the elements of an array need one",
            check->event, field->name);
    return WEIR_OK;
}

WR_COLD static enum weir_result object_check(struct check *check, const struct weir_object *object,
                                             struct place place);

/* The fields of an object that is a field. */
WR_COLD static enum weir_result nested_check(struct check *check, const struct weir_field *field,
                                             const struct weir_object *host, struct place place)
{
    struct weir_object own;
    if (!host)
        return wr_fail(check->error, WEIR_BAD_ARGUMENT,
                       "event '%s': the object '%s' has no fields; set objects to one struct "
                       "weir_object for each field that is an object or an array of them",
                       check->event, field->name);
    if (place.depth == WR_OBJECT_DEPTH_MAX)
        return wr_fail(check->error, WEIR_BAD_ARGUMENT,
                       "event '%s': the object '%s' is in %d others; that is the most there can be",
                       check->event, field->name, WR_OBJECT_DEPTH_MAX);
    enum weir_result result = object_take(&own, host, check->error);
    if (result != WEIR_OK)
        return result;
    if (own.field_count == 0)
        return wr_fail(check->error, WEIR_BAD_ARGUMENT, "event '%s': the object '%s' has 0 fields",
                       check->event, field->name);
    place.depth++;
    place.is_in_array |= field->type == WEIR_TYPE_array_object;
    return object_check(check, &own, place);
}

WR_COLD static enum weir_result object_check(struct check *check, const struct weir_object *object,
                                             struct place place)
{
    const struct weir_object *const *next = object->objects;
    enum weir_result result = WEIR_OK;
    if (object->field_count > check->fields_left || (object->field_count && !object->fields))
        return wr_fail(check->error, WEIR_BAD_ARGUMENT,
                       "event '%s': %u fields; at most %d, with those of objects", check->event,
                       WR_FIELDS_MAX - check->fields_left + object->field_count, WR_FIELDS_MAX);
    check->fields_left -= object->field_count;
    for (uint32_t i = 0; i < object->field_count && result == WEIR_OK; i++) {
        struct weir_field field = field_at(object, i);
        result = field_check(check, &field, i, i + 1 == object->field_count, place);
        if (result == WEIR_OK && wr_type_is_object(field.type))
            result = nested_check(check, &field, next ? *next++ : NULL, place);
    }
    return result;
}

WR_COLD enum weir_result wr_fields_check(const struct weir_schema *schema, struct weir_error *error)
{
    const struct weir_object object = object_of(schema);
    struct check check = {schema->name, WR_FIELDS_MAX, error};
    return object_check(&check, &object, (struct place){0, false});
}

/* --- Copy. ----------------------------------------------------------------------------------- */

WR_COLD static bool has_objects(const struct weir_object *object)
{
    bool found = false;
    for (uint32_t i = 0; i < object->field_count; i++)
        found |= wr_type_is_object(field_at(object, i).type);
    return found;
}

/* On failure, the part that is there is for object_free(). */
WR_COLD static bool object_copy(struct weir_object *own, const struct weir_object *host)
{
    const struct weir_object *const *from = host->objects;
    struct weir_field *fields = calloc(host->field_count + 1u, sizeof *fields);
    struct weir_object **objects =
        has_objects(host) ? calloc(host->field_count, sizeof(struct weir_object *)) : NULL;
    *own = (struct weir_object){sizeof *own, fields, host->field_count, sizeof *fields,
                                (const struct weir_object *const *)objects};
    bool is_complete = fields && (objects || !has_objects(host));
    for (uint32_t i = 0; is_complete && i < host->field_count; i++) {
        struct weir_object nested;
        fields[i] = field_at(host, i);
        fields[i].name = strdup(fields[i].name);
        is_complete = fields[i].name != NULL;
        if (!is_complete || !wr_type_is_object(fields[i].type))
            continue;
        *objects = calloc(1, sizeof nested);
        is_complete = *objects && object_take(&nested, *from++, NULL) == WEIR_OK &&
                      object_copy(*objects, &nested);
        objects++;
    }
    return is_complete;
}

WR_COLD static void object_free(const struct weir_object *object)
{
    struct weir_field *fields = (struct weir_field *)(uintptr_t)object->fields;
    const struct weir_object *const *next = object->objects;
    for (uint32_t i = 0; fields && i < object->field_count; i++) {
        free((char *)(uintptr_t)fields[i].name);
        if (!next || !*next || !wr_type_is_object(fields[i].type))
            continue;
        object_free(*next);
        free((struct weir_object *)(uintptr_t)*next++);
    }
    free((struct weir_object **)(uintptr_t)object->objects);
    free(fields);
}

WR_COLD bool wr_fields_copy(struct weir_schema *own, const struct weir_schema *host)
{
    const struct weir_object from = object_of(host);
    struct weir_object to;
    bool is_complete = object_copy(&to, &from);
    own->fields = to.fields;
    own->field_bytes = to.field_bytes;
    own->objects = to.objects;
    return is_complete;
}

WR_COLD void wr_fields_free(const struct weir_schema *own)
{
    const struct weir_object object = object_of(own);
    object_free(&object);
}

WR_COLD static bool objects_equal(const struct weir_object *a, const struct weir_object *b)
{
    const struct weir_object *const *next_a = a->objects, *const *next_b = b->objects;
    bool is_equal = a->field_count == b->field_count;
    for (uint32_t i = 0; is_equal && i < a->field_count; i++) {
        is_equal = a->fields[i].type == b->fields[i].type &&
                   strcmp(a->fields[i].name, b->fields[i].name) == 0;
        if (is_equal && wr_type_is_object(a->fields[i].type))
            is_equal = objects_equal(*next_a++, *next_b++);
    }
    return is_equal;
}

WR_COLD bool wr_fields_equal(const struct weir_schema *a, const struct weir_schema *b)
{
    const struct weir_object object_a = object_of(a), object_b = object_of(b);
    return objects_equal(&object_a, &object_b);
}
