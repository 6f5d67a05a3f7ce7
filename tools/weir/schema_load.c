/* Files of weir schema, as definitions. The reading of JSON is that of Jansson; what it means is
 * checked here. */
#include "schema.h"
#include "tool.h"

#ifdef WEIR_HAS_JANSSON

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 64
#define BYTES_MAX ((size_t)256 * 1024 * 1024)

struct loader {
    struct wt_schema *schema;
    const char *path;
    char wrong[120]; /* what is; empty: nothing */
};

static bool wrong(struct loader *loader, const char *what)
{
    if (!*loader->wrong)
        snprintf(loader->wrong, sizeof(loader->wrong), "%s", what);
    return false;
}

static void *take(struct loader *loader, size_t count, size_t size)
{
    void *piece =
        count <= BYTES_MAX / size ? wt_arena_take(&loader->schema->arena, count * size) : NULL;
    if (!piece)
        wrong(loader, "it is too large");
    else
        memset(piece, 0, count * size);
    return piece;
}

static bool take_text(struct loader *loader, const json_t *json, const char *key, const char **out)
{
    const char *text = json_string_value(json_object_get(json, key));
    size_t size = text ? strlen(text) + 1 : 0;
    char *copy = text ? take(loader, size, 1) : NULL;
    if (!copy)
        return wrong(loader, "a provider, name, type or keywords is missing, or is no text");
    memcpy(copy, text, size);
    *out = copy;
    return true;
}

static bool take_number(struct loader *loader, const json_t *json, const char *key, int32_t *out)
{
    const json_t *number = json_object_get(json, key);
    json_int_t value = json_integer_value(number);
    if (!json_is_integer(number) || value < INT32_MIN || value > INT32_MAX)
        return wrong(loader, "an id, version, level or opcode is missing, or is no number");
    *out = (int32_t)value;
    return true;
}

/* --- Fields. --------------------------------------------------------------------------------- */

static bool take_type(struct loader *loader, const json_t *json, struct wt_field *field)
{
    const char *wanted;
    char name[24];
    if (!take_text(loader, json, "type", &wanted))
        return false;
    field->is_bool = strcmp(wanted, "boolean8") == 0;
    for (unsigned type = 1; type < 256; type++) {
        field->type = field->is_bool ? WT_TYPE_BYTE : (enum wt_type)type;
        wt_schema_type_name(field, name);
        if (strcmp(name, wanted) == 0)
            return true;
    }
    return wrong(loader, "a type is unknown");
}

static uint32_t size_of_integer(const struct wt_field *field)
{
    switch ((unsigned)field->type) {
    case WT_TYPE_SBYTE:
    case WT_TYPE_BYTE:
        return 1;
    case WT_TYPE_INT16:
    case WT_TYPE_UINT16:
        return 2;
    case WT_TYPE_INT32:
    case WT_TYPE_UINT32:
        return 4;
    case WT_TYPE_INT64:
    case WT_TYPE_UINT64:
    case WT_TYPE_VAR_INT:
    case WT_TYPE_VAR_UINT:
        return 8;
    default:
        return 0;
    }
}

static int by_value(const void *a, const void *b)
{
    const struct wt_named_value *one = a, *other = b;
    return (one->value > other->value) - (one->value < other->value);
}

static bool take_values(struct loader *loader, json_t *json, struct wt_field *field)
{
    json_t *object = json_object_get(json, "values");
    if (!object)
        return true;
    field->min_size = size_of_integer(field);
    if (!json_is_object(object) || field->min_size == 0)
        return wrong(loader, "values are no object, or those of a field that is no integer");
    struct wt_named_value *values = take(loader, json_object_size(object) + 1, sizeof(*values));
    if (!values)
        return false;
    const char *key;
    json_t *name;
    json_object_foreach(object, key, name)
    {
        struct wt_named_value *value = &values[field->value_count++];
        char *end;
        value->value = *key == '-' ? (uint64_t)strtoll(key, &end, 10) : strtoull(key, &end, 10);
        value->value &= UINT64_MAX >> (64 - 8 * field->min_size);
        if (!*key || *end || !take_text(loader, object, key, &value->name))
            return wrong(loader, "the key of a value is no number");
    }
    qsort(values, field->value_count, sizeof(*values), by_value);
    field->values = values;
    return true;
}

static bool take_fields(struct loader *loader, json_t *array, int depth, uint32_t *count,
                        const struct wt_field **out);

static bool has_element(const struct wt_field *field)
{
    return field->type == WT_TYPE_ARRAY || field->type == WT_TYPE_FIXED_ARRAY ||
           field->type == WT_TYPE_REL_LOC || field->type == WT_TYPE_DATA_LOC;
}

static bool take_count(struct loader *loader, const json_t *json, struct wt_field *field)
{
    const json_t *number = json_object_get(json, "count");
    json_int_t value = json_integer_value(number);
    if (field->type != WT_TYPE_FIXED_ARRAY)
        return true;
    if (!json_is_integer(number) || value < 0 || value > UINT16_MAX)
        return wrong(loader, "a fixed array has no count");
    field->count = (uint32_t)value;
    return true;
}

static bool take_parts(struct loader *loader, json_t *json, int depth, struct wt_field *field)
{
    if (field->type == WT_TYPE_OBJECT)
        return take_fields(loader, json_object_get(json, "fields"), depth + 1, &field->field_count,
                           &field->fields);
    json_t *element = json_object_get(json, "element");
    if (!element)
        return !has_element(field) || wrong(loader, "an array has no element");
    struct wt_field *part = take(loader, 1, sizeof(*part));
    if (!part || depth == DEPTH_MAX)
        return wrong(loader, "its fields are nested too deeply");
    part->name = "";
    field->field_count = 1;
    field->fields = part;
    return take_count(loader, json, field) && take_type(loader, element, part) &&
           take_values(loader, element, part) && take_parts(loader, element, depth + 1, part);
}

static bool take_fields(struct loader *loader, json_t *array, int depth, uint32_t *count,
                        const struct wt_field **out)
{
    size_t size = json_array_size(array);
    if (!json_is_array(array) || depth == DEPTH_MAX || size > UINT32_MAX)
        return wrong(loader, "fields are no array, or are nested too deeply");
    struct wt_field *fields = take(loader, size + 1, sizeof(*fields));
    if (!fields)
        return false;
    for (size_t i = 0; i < size; i++) {
        json_t *json = json_array_get(array, i);
        if (!take_text(loader, json, "name", &fields[i].name) ||
            !take_type(loader, json, &fields[i]) || !take_values(loader, json, &fields[i]) ||
            !take_parts(loader, json, depth, &fields[i]))
            return false;
    }
    *count = (uint32_t)size;
    *out = fields;
    return true;
}

/* --- Events. --------------------------------------------------------------------------------- */

static bool take_event(struct loader *loader, json_t *json, struct wt_metadata *event)
{
    const char *keywords;
    char *end;
    int32_t opcode = 0;
    if (!take_text(loader, json, "provider", &event->provider_name) ||
        !take_text(loader, json, "name", &event->event_name) ||
        !take_number(loader, json, "id", &event->event_id) ||
        !take_number(loader, json, "version", &event->version) ||
        !take_number(loader, json, "level", &event->level) ||
        !take_text(loader, json, "keywords", &keywords))
        return false;
    event->keywords = strtoull(keywords, &end, 0);
    if (!*keywords || *end)
        return wrong(loader, "keywords are no number");
    event->has_opcode = json_object_get(json, "opcode") != NULL;
    if (event->has_opcode && !take_number(loader, json, "opcode", &opcode))
        return false;
    event->opcode = (uint8_t)opcode;
    if (json_object_get(json, "raw") && !take_text(loader, json, "raw", &event->raw_name))
        return false;
    return take_fields(loader, json_object_get(json, "fields"), 0, &event->field_count,
                       &event->fields);
}

static bool take_events(struct loader *loader, const json_t *root)
{
    json_t *events = json_object_get(root, "events");
    if (json_integer_value(json_object_get(root, "schema")) != 1 || !json_is_array(events))
        return wrong(loader, "it has no \"schema\": 1, or no events");
    for (size_t i = 0; i < json_array_size(events); i++) {
        struct wt_metadata *event = take(loader, 1, sizeof(*event));
        if (!event || !take_event(loader, json_array_get(events, i), event))
            return false;
        event->index = (uint32_t)i;
        wt_schema_add(loader->schema, event);
    }
    return true;
}

bool wt_schema_load(struct wt_schema *schema, const char *path)
{
    struct loader loader = {.schema = schema, .path = path};
    json_error_t error;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    schema->arena.limit = BYTES_MAX;
    if (!root && error.line < 0) {
        wt_complain("%s: %s", path, error.text);
        return false;
    }
    if (!root) {
        wt_complain("%s: line %d: %s", path, error.line, error.text);
        return false;
    }
    bool good = take_events(&loader, root);
    size_t index = schema->count;
    json_decref(root);
    if (good)
        wt_schema_sort(schema);
    else
        wt_complain("%s is no file of weir schema: %s (event %zu)", path, loader.wrong, index + 1);
    return good;
}

#else

bool wt_schema_load(struct wt_schema *schema, const char *path)
{
    (void)schema;
    wt_complain("this weir cannot read %s: it was built without libjansson-dev", path);
    return false;
}

#endif
