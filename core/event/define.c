#include "event/define.h"

#include <stdlib.h>
#include <string.h>
#include <weir/version.h>
#include "base/host_struct.h"
#include "nettrace/types.h"

/* In 0.2. These never change. */
#define DECLARATION_BYTES_FIRST 48
#define EVENT_BYTES_FIRST       24
#define SCHEMA_BYTES_FIRST      48

#define LEVEL_FLAGS  (WEIR_EVENT_ORDERED | WEIR_EVENT_STACK | WEIR_EVENT_UNDESCRIBED)
#define OPCODE_START 1
#define OPCODE_STOP  2

WR_COLD bool wr_name_is_valid(const char *name)
{
    return name && name[0] && strnlen(name, WR_NAME_BYTES_MAX + 1) <= WR_NAME_BYTES_MAX;
}

static enum weir_result schema_check(const char *provider_name, const struct weir_schema *schema,
                                     struct weir_error *error)
{
    if (!wr_name_is_valid(schema->name))
        return wr_fail(error, WEIR_BAD_ARGUMENT,
                       "an event of provider '%s' has no name, or one over %d bytes", provider_name,
                       WR_NAME_BYTES_MAX);
    if ((schema->level & ~LEVEL_FLAGS) > WEIR_LEVEL_VERBOSE)
        return wr_fail(error, WEIR_BAD_ARGUMENT, "event '%s': level %u; levels go from 0 to 5",
                       schema->name, schema->level & ~LEVEL_FLAGS);
    return wr_fields_check(schema, error);
}

static bool copy_names(struct wr_event_definition *definition, const char *provider_name,
                       const struct weir_schema *schema)
{
    bool is_complete = wr_fields_copy(&definition->schema, schema);
    definition->schema.name = strdup(schema->name);
    definition->provider_name = strdup(provider_name);
    return is_complete && definition->schema.name && definition->provider_name;
}

static bool ends_with(const char *text, const char *end)
{
    size_t text_length = strlen(text), end_length = strlen(end);
    return text_length > end_length && strcmp(text + text_length - end_length, end) == 0;
}

/* Adds what the fields are. Returns how many there are, with those of objects. */
WR_COLD static uint32_t describe_fields(struct wr_event_definition *definition,
                                        const struct weir_field *fields, uint32_t count,
                                        const struct weir_object *const *objects)
{
    uint32_t all = count;
    for (uint32_t i = 0; i < count; i++) {
        enum weir_type type = fields[i].type;
        definition->has_arrays |= definition->is_described && wr_type_is_array(type);
        definition->is_converted |= wr_type_is_string(type) || type == WEIR_TYPE_raw;
        definition->is_fixed &= wr_type_is_fixed(type) || type == WEIR_TYPE_object;
        definition->payload_bytes += wr_type_is_fixed(type) ? wr_type_bytes(type) : 0;
        const struct weir_object *object = wr_type_is_object(type) ? *objects++ : NULL;
        if (type == WEIR_TYPE_object)
            all +=
                describe_fields(definition, object->fields, object->field_count, object->objects);
    }
    return all;
}

static uint8_t opcode_of(const char *name)
{
    return ends_with(name, "Start") ? OPCODE_START : ends_with(name, "Stop") ? OPCODE_STOP : 0;
}

static bool describe(struct wr_event_definition *definition)
{
    struct weir_schema *schema = &definition->schema;
    uint32_t count = schema->field_count;
    definition->is_ordered = (schema->level & WEIR_EVENT_ORDERED) != 0;
    definition->has_stack = (schema->level & WEIR_EVENT_STACK) != 0;
    definition->is_described = (schema->level & WEIR_EVENT_UNDESCRIBED) == 0;
    schema->level &= (uint8_t)~LEVEL_FLAGS;
    if (schema->opcode == 0)
        schema->opcode = opcode_of(schema->name);
    definition->is_start = schema->opcode == OPCODE_START;
    definition->is_fixed = true;
    uint32_t all = describe_fields(definition, schema->fields, count, schema->objects);
    bool is_raw = count && schema->fields[count - 1].type == WEIR_TYPE_raw;
    definition->described_count = definition->is_described ? count - is_raw : 0;
    definition->steps = calloc(all + 1u, sizeof *definition->steps);
    if (definition->steps)
        wr_payload_steps(schema, definition->steps);
    return definition->steps != NULL;
}

WR_COLD enum weir_result wr_declaration_take(struct weir_provider_declaration *own,
                                             const void *host, struct weir_error *error)
{
    static const struct wr_host_struct kind = {"declaration", "WEIR_PROVIDER_DEFINE",
                                               DECLARATION_BYTES_FIRST, sizeof *own};
    if (!host)
        return wr_fail(error, WEIR_BAD_ARGUMENT, "declaration must not be NULL");
    enum weir_result result = wr_host_struct_take(&kind, own, host, error);
    if (result != WEIR_OK)
        return result;
    if (own->version == 0 || own->version > WEIR_DECLARATION_VERSION ||
        !wr_host_size_is_known(own->event_bytes, EVENT_BYTES_FIRST, sizeof(struct weir_event)) ||
        !wr_host_size_is_known(own->schema_bytes, SCHEMA_BYTES_FIRST, sizeof(struct weir_schema)))
        return wr_fail(error, WEIR_BAD_ARGUMENT,
                       "a declaration of version %u with %u bytes an event and %u a schema is none "
                       "that this library, %s, knows",
                       own->version, own->event_bytes, own->schema_bytes, weir_version());
    if (!wr_name_is_valid(own->name))
        return wr_fail(error, WEIR_BAD_ARGUMENT,
                       "a declaration needs a name of 1 to %d bytes of UTF-8", WR_NAME_BYTES_MAX);
    return WEIR_OK;
}

static enum weir_result schema_take(struct weir_schema *own, const void *host,
                                    struct weir_error *error)
{
    static const struct wr_host_struct kind = {"schema", "WEIR_SCHEMA_INIT", SCHEMA_BYTES_FIRST,
                                               sizeof *own};
    enum weir_result result = wr_host_struct_take(&kind, own, host, error);
    if (result != WEIR_OK)
        return result;
    if (own->reserved[0] || own->reserved[1] || own->reserved[2])
        return wr_fail(error, WEIR_BAD_ARGUMENT, "schema.reserved is not 0");
    if (!wr_host_size_is_known(own->field_bytes, WR_FIELD_BYTES_FIRST, sizeof(struct weir_field)))
        return wr_fail(error, WEIR_BAD_ARGUMENT, "schema.field_bytes is %u; start from %s",
                       own->field_bytes, kind.init);
    return WEIR_OK;
}

WR_COLD enum weir_result wr_definition_new(const char *provider_name, const void *host_schema,
                                           struct wr_event_definition **out,
                                           struct weir_error *error)
{
    struct weir_schema own = WEIR_SCHEMA_INIT;
    const struct weir_schema *schema = &own;
    enum weir_result result = schema_take(&own, host_schema, error);
    if (result == WEIR_OK)
        result = schema_check(provider_name, schema, error);
    if (result != WEIR_OK)
        return result;
    struct wr_event_definition *definition = calloc(1, sizeof *definition);
    if (!definition)
        return wr_fail(error, WEIR_NO_MEMORY, "no memory for event '%s'", schema->name);
    definition->schema = *schema;
    definition->provider_hash = wr_name_hash(provider_name);
    definition->schema.enums = NULL; /* the host's; not kept */
    if (!copy_names(definition, provider_name, schema) || !describe(definition))
        result = wr_fail(error, WEIR_NO_MEMORY, "no memory for event '%s'", schema->name);
    else
        result = wr_enums_make(definition, schema->enums, error);
    if (result == WEIR_OK)
        *out = definition;
    else
        wr_definition_free(definition);
    return result;
}

WR_COLD bool wr_definitions_equal(const struct wr_event_definition *a,
                                  const struct wr_event_definition *b)
{
    const struct weir_schema *x = &a->schema, *y = &b->schema;
    bool is_equal =
        strcmp(a->provider_name, b->provider_name) == 0 && strcmp(x->name, y->name) == 0 &&
        x->keywords == y->keywords && x->event_id == y->event_id && x->version == y->version &&
        x->level == y->level && a->is_ordered == b->is_ordered && a->has_stack == b->has_stack &&
        a->is_described == b->is_described && x->opcode == y->opcode;
    return is_equal && wr_fields_equal(x, y) && wr_enums_are_equal(a, b);
}

WR_COLD void wr_definition_free(struct wr_event_definition *definition)
{
    wr_enums_free(definition);
    wr_fields_free(&definition->schema);
    free((char *)(uintptr_t)definition->schema.name);
    free((char *)(uintptr_t)definition->provider_name);
    free(definition->steps);
    free(definition);
}
