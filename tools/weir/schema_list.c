#include "schema.h"
#include "tool.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void wt_schema_add(struct wt_schema *schema, const struct wt_metadata *metadata)
{
    schema->events =
        wt_grow(schema->events, &schema->capacity, schema->count + 1, sizeof(*schema->events));
    schema->events[schema->count++] = metadata;
}

/* --- Order. ---------------------------------------------------------------------------------- */

int wt_schema_order(const struct wt_metadata *a, const struct wt_metadata *b)
{
    int order = strcmp(a->provider_name, b->provider_name);
    if (order == 0)
        order = (a->event_id > b->event_id) - (a->event_id < b->event_id);
    if (order == 0)
        order = (a->version > b->version) - (a->version < b->version);
    return order ? order : strcmp(a->event_name, b->event_name);
}

static int by_order(const void *a, const void *b)
{
    const struct wt_metadata *one = *(const struct wt_metadata *const *)a;
    const struct wt_metadata *other = *(const struct wt_metadata *const *)b;
    int order = wt_schema_order(one, other);
    return order ? order : (one->index > other->index) - (one->index < other->index);
}

static void count_note(void *context, bool is_finding, const struct wt_metadata *event,
                       const char *text)
{
    (void)is_finding, (void)event, (void)text;
    ++*(size_t *)context;
}

static bool says_the_same(const struct wt_metadata *a, const struct wt_metadata *b)
{
    size_t notes = 0;
    if (wt_schema_order(a, b) != 0)
        return false;
    wt_schema_compare_event(a, b, count_note, &notes);
    return notes == 0;
}

void wt_schema_sort(struct wt_schema *schema)
{
    size_t kept = 0;
    if (schema->count)
        qsort(schema->events, schema->count, sizeof(*schema->events), by_order);
    for (size_t i = 0; i < schema->count; i++)
        if (kept == 0 || !says_the_same(schema->events[kept - 1], schema->events[i]))
            schema->events[kept++] = schema->events[i];
    schema->count = kept;
}

/* --- As JSON. -------------------------------------------------------------------------------- */

void wt_schema_type_name(const struct wt_field *field, char out[24])
{
    static const char *const names[] = {[WT_TYPE_OBJECT] = "object",
                                        [WT_TYPE_BOOLEAN] = "boolean",
                                        [WT_TYPE_CHAR] = "char",
                                        [WT_TYPE_SBYTE] = "sbyte",
                                        [WT_TYPE_BYTE] = "byte",
                                        [WT_TYPE_INT16] = "int16",
                                        [WT_TYPE_UINT16] = "uint16",
                                        [WT_TYPE_INT32] = "int32",
                                        [WT_TYPE_UINT32] = "uint32",
                                        [WT_TYPE_INT64] = "int64",
                                        [WT_TYPE_UINT64] = "uint64",
                                        [WT_TYPE_SINGLE] = "single",
                                        [WT_TYPE_DOUBLE] = "double",
                                        [WT_TYPE_DECIMAL] = "decimal",
                                        [WT_TYPE_GUID] = "guid",
                                        [WT_TYPE_DATETIME] = "datetime",
                                        [WT_TYPE_STRING] = "string",
                                        [WT_TYPE_ARRAY] = "array",
                                        [WT_TYPE_VAR_INT] = "varint",
                                        [WT_TYPE_VAR_UINT] = "varuint",
                                        [WT_TYPE_FIXED_ARRAY] = "fixedarray",
                                        [WT_TYPE_UTF8_UNIT] = "utf8",
                                        [WT_TYPE_REL_LOC] = "relloc",
                                        [WT_TYPE_DATA_LOC] = "dataloc",
                                        [WT_TYPE_BOOLEAN8] = "boolean8"};
    unsigned type = (unsigned)field->type;
    const char *name = type < sizeof(names) / sizeof(names[0]) ? names[type] : NULL;
    if (field->is_bool)
        name = "boolean8";
    if (name)
        snprintf(out, 24, "%s", name);
    else
        snprintf(out, 24, "type %u", type);
}

static bool is_signed(const struct wt_field *field)
{
    return field->type == WT_TYPE_SBYTE || field->type == WT_TYPE_INT16 ||
           field->type == WT_TYPE_INT32 || field->type == WT_TYPE_INT64 ||
           field->type == WT_TYPE_VAR_INT;
}

/* The keys are texts: programs read numbers of JSON as doubles. */
static void json_values(struct wt_json *json, const struct wt_field *field)
{
    wt_json_object(json, "values");
    for (uint32_t i = 0; i < field->value_count; i++) {
        const struct wt_named_value *value = &field->values[i];
        unsigned unused = field->fixed ? 64 - 8 * field->min_size : 0;
        char key[24];
        if (i > 0 && value[-1].value == value->value)
            continue; /* of two names for one number, the first is meant */
        if (is_signed(field))
            snprintf(key, sizeof(key), "%" PRId64, (int64_t)(value->value << unused) >> unused);
        else
            snprintf(key, sizeof(key), "%" PRIu64, value->value);
        wt_json_string(json, key, value->name);
    }
    wt_json_end(json);
}

static void json_field(struct wt_json *json, const char *key, const struct wt_field *field)
{
    char type[24];
    const bool is_object = field->type == WT_TYPE_OBJECT;
    wt_schema_type_name(field, type);
    wt_json_object(json, key);
    if (!key)
        wt_json_string(json, "name", field->name);
    wt_json_string(json, "type", type);
    if (field->type == WT_TYPE_FIXED_ARRAY)
        wt_json_u64(json, "count", field->count);
    if (field->value_count && !field->is_bool)
        json_values(json, field);
    if (is_object)
        wt_json_array(json, "fields");
    for (uint32_t i = 0; i < field->field_count; i++)
        json_field(json, is_object ? NULL : "element", &field->fields[i]);
    if (is_object)
        wt_json_end(json);
    wt_json_end(json);
}

static void json_event(struct wt_json *json, const struct wt_metadata *event)
{
    char keywords[24];
    snprintf(keywords, sizeof(keywords), "0x%" PRIx64, event->keywords);
    wt_json_object(json, NULL);
    wt_json_string(json, "provider", event->provider_name);
    wt_json_i64(json, "id", event->event_id);
    wt_json_i64(json, "version", event->version);
    wt_json_string(json, "name", event->event_name);
    wt_json_i64(json, "level", event->level);
    wt_json_string(json, "keywords", keywords);
    if (event->has_opcode)
        wt_json_u64(json, "opcode", event->opcode);
    wt_json_array(json, "fields");
    for (uint32_t i = 0; i < event->field_count; i++)
        json_field(json, NULL, &event->fields[i]);
    wt_json_end(json);
    if (event->raw_name)
        wt_json_string(json, "raw", event->raw_name);
    wt_json_end(json);
}

void wt_schema_json(const struct wt_schema *schema, struct wt_json *json)
{
    wt_json_u64(json, "schema", 1);
    wt_json_array(json, "events");
    for (size_t i = 0; i < schema->count; i++)
        json_event(json, schema->events[i]);
    wt_json_end(json);
}

void wt_schema_fini(struct wt_schema *schema)
{
    free(schema->events);
    wt_arena_fini(&schema->arena);
    memset(schema, 0, sizeof(*schema));
}
