/* Definitions of events, and as the metadata blobs of versions 4 and 5 carry them. */
#include "fields.h"
#include "parser.h"

#include <inttypes.h>
#include <stdlib.h>

enum tag_kind { TAG_OPCODE = 1, TAG_V2_PARAMS = 2 };

/* Least bytes of a field in either form of description: bounds a stated count. */
#define FIELD_V1_MIN_SIZE 6u
#define FIELD_V2_MIN_SIZE 10u

struct wt_parser wt_parser_make(struct wt_reader *reader, const uint8_t *bytes, size_t size)
{
    struct wt_parser parser = {.reader = reader,
                               .cursor = wt_cursor_make(bytes, size),
                               .fields_left = reader->options.limits.fields_max,
                               .depth_left = reader->options.limits.depth_max};
    return parser;
}

void *wt_parser_take(struct wt_parser *parser, size_t size)
{
    void *piece = wt_arena_take(&parser->reader->metadata_arena, size);
    parser->no_memory = parser->no_memory || !piece;
    return piece;
}

/* A zero-terminated UTF-16 text, as UTF-8 in the arena; NULL if it has no end or there is no
 * memory. */
static const char *take_text(struct wt_parser *parser)
{
    struct wt_cursor *cursor = &parser->cursor;
    const uint8_t *bytes = cursor->at;
    size_t size = 0;
    size_t left = wt_cursor_left(cursor);
    while (left - size >= 2 && (bytes[size] | bytes[size + 1]) != 0)
        size += 2;
    if (left - size < 2) {
        wt_cursor_fail(cursor, WT_FAULT_SHORT);
        return NULL;
    }
    cursor->at += size + 2;
    size_t needed = wt_utf16_to_utf8(bytes, size, NULL, 0);
    char *text = wt_parser_take(parser, needed + 1);
    if (text)
        wt_utf16_to_utf8(bytes, size, text, needed + 1);
    return text;
}

static bool parse_fields(struct wt_parser *parser, bool v2, uint32_t *count,
                         const struct wt_field **fields);

static bool parse_type(struct wt_parser *parser, bool v2, struct wt_field *field);

static bool parse_array(struct wt_parser *parser, struct wt_field *field)
{
    if (parser->fields_left == 0 || parser->depth_left == 0)
        return false;
    parser->fields_left--;
    struct wt_field *element = wt_parser_take(parser, sizeof(*element));
    if (!element)
        return false;
    memset(element, 0, sizeof(*element));
    element->name = "";
    parser->depth_left--;
    bool good = parse_type(parser, true, element);
    parser->depth_left++;
    field->field_count = 1;
    field->fields = element;
    return good && wt_elements_set_size(field);
}

static bool parse_object(struct wt_parser *parser, bool v2, struct wt_field *field)
{
    if (parser->depth_left == 0)
        return false;
    parser->depth_left--;
    bool good = parse_fields(parser, v2, &field->field_count, &field->fields);
    parser->depth_left++;
    if (good)
        wt_object_set_size(field);
    return good;
}

static bool parse_type(struct wt_parser *parser, bool v2, struct wt_field *field)
{
    field->type = (enum wt_type)wt_cursor_u32(&parser->cursor);
    if (parser->cursor.fault != WT_FAULT_NONE)
        return false;
    if (field->type == WT_TYPE_OBJECT)
        return parse_object(parser, v2, field);
    if (field->type == WT_TYPE_ARRAY)
        return v2 && parse_array(parser, field);
    return field->type < WT_TYPE_ARRAY && wt_type_set_size(field);
}

/* Type, nested description, name. */
static bool parse_field_v1(struct wt_parser *parser, struct wt_field *field)
{
    if (!parse_type(parser, false, field))
        return false;
    field->name = take_text(parser);
    return field->name != NULL;
}

/* Size, name, type, nested description, and any rest that the size includes. */
static bool parse_field_v2(struct wt_parser *parser, struct wt_field *field)
{
    struct wt_cursor outer = parser->cursor;
    uint32_t size = wt_cursor_u32(&outer);
    if (size < FIELD_V2_MIN_SIZE)
        return false;
    const uint8_t *body = wt_cursor_bytes(&outer, size - 4);
    if (!body)
        return false;
    parser->cursor = wt_cursor_make(body, size - 4);
    field->name = take_text(parser);
    bool good = field->name && parse_type(parser, true, field);
    parser->cursor = outer;
    return good;
}

static bool parse_fields(struct wt_parser *parser, bool v2, uint32_t *count,
                         const struct wt_field **fields)
{
    uint32_t stated = wt_cursor_u32(&parser->cursor);
    *count = 0;
    *fields = NULL;
    if (parser->cursor.fault != WT_FAULT_NONE)
        return false;
    if (stated == 0)
        return true;
    size_t possible =
        wt_cursor_left(&parser->cursor) / (v2 ? FIELD_V2_MIN_SIZE : FIELD_V1_MIN_SIZE);
    if (stated > possible || stated > parser->fields_left)
        return false;
    parser->fields_left -= stated;
    struct wt_field *made = wt_parser_take(parser, stated * sizeof(*made));
    if (!made)
        return false;
    memset(made, 0, stated * sizeof(*made));
    for (uint32_t i = 0; i < stated; i++)
        if (!(v2 ? parse_field_v2(parser, &made[i]) : parse_field_v1(parser, &made[i])))
            return false;
    *count = stated;
    *fields = made;
    return true;
}

static bool parse_tag(struct wt_parser *parser, struct wt_metadata *metadata)
{
    uint32_t size = wt_cursor_u32(&parser->cursor);
    uint8_t kind = wt_cursor_u8(&parser->cursor);
    const uint8_t *body = wt_cursor_bytes(&parser->cursor, size);
    if (!body)
        return false;
    if (kind == TAG_OPCODE) {
        if (size != 1)
            return false;
        metadata->opcode = body[0];
        metadata->has_opcode = true;
    } else if (kind == TAG_V2_PARAMS) {
        if (metadata->field_count > 0)
            return false; /* two descriptions of one payload */
        struct wt_cursor outer = parser->cursor;
        parser->cursor = wt_cursor_make(body, size);
        metadata->v2_params = true;
        bool good = parse_fields(parser, true, &metadata->field_count, &metadata->fields) &&
                    wt_cursor_left(&parser->cursor) == 0;
        parser->cursor = outer;
        return good;
    }
    return true;
}

static bool parse_description(struct wt_parser *parser, struct wt_metadata *metadata)
{
    if (!parse_fields(parser, false, &metadata->field_count, &metadata->fields))
        return false;
    while (wt_cursor_left(&parser->cursor) > 0)
        if (!parse_tag(parser, metadata))
            return false;
    return true;
}

/* Returns false if the part before the fields is incomplete. */
static bool parse_start(struct wt_parser *parser, struct wt_metadata *metadata)
{
    struct wt_cursor *cursor = &parser->cursor;
    metadata->provider_name = take_text(parser);
    metadata->event_id = (int32_t)wt_cursor_u32(cursor);
    metadata->event_name = metadata->provider_name ? take_text(parser) : NULL;
    metadata->keywords = wt_cursor_u64(cursor);
    metadata->version = (int32_t)wt_cursor_u32(cursor);
    metadata->level = (int32_t)wt_cursor_u32(cursor);
    return metadata->event_name && cursor->fault == WT_FAULT_NONE;
}

static bool have_room(struct wt_reader *reader)
{
    if (reader->metadata_count < reader->metadata_capacity)
        return true;
    if (reader->metadata_capacity > UINT32_MAX / 2)
        return false;
    uint32_t capacity = reader->metadata_capacity ? 2 * reader->metadata_capacity : 64;
    struct wt_metadata **larger =
        realloc(reader->metadata, capacity * sizeof(struct wt_metadata *));
    if (!larger)
        return false;
    reader->metadata = larger;
    reader->metadata_capacity = capacity;
    return true;
}

enum wt_status wt_parser_no_memory(struct wt_reader *reader, uint64_t offset)
{
    if (!reader->metadata_arena.over_limit)
        return wt_fail(reader, WT_ERROR_MEMORY, WT_RULE_NONE, offset, "out of memory");
    return wt_fail(reader, WT_ERROR_LIMIT, WT_RULE_LIMIT, offset,
                   "more than %zu bytes of definitions and threads",
                   reader->options.limits.metadata_bytes_max);
}

static enum wt_status keep(struct wt_reader *reader, struct wt_metadata *metadata)
{
    if (!have_room(reader) ||
        !wt_map_insert(&reader->metadata_map, metadata->id, reader->metadata_count))
        return wt_parser_no_memory(reader, metadata->offset);
    metadata->index = reader->metadata_count;
    reader->metadata[reader->metadata_count++] = metadata;
    reader->totals.metadata++;
    reader->totals.v5_tags +=
        reader->trace.major == 4 && (metadata->has_opcode || metadata->v2_params);
    if (reader->handlers.metadata)
        reader->handlers.metadata(reader->context, metadata);
    return WT_OK;
}

/* False if the record must be skipped; the violation has been reported. */
static bool check_id(struct wt_reader *reader, uint32_t id, uint64_t offset)
{
    if (id == 0 || id > INT32_MAX)
        wt_tell(reader, WT_RULE_METADATA_RECORD, offset, "metadata id %" PRIu32 " is not allowed",
                id);
    else if (wt_map_find(&reader->metadata_map, id))
        wt_tell(reader, WT_RULE_METADATA_REDEFINED, offset, "metadata %" PRIu32 " is defined again",
                id);
    else
        return true;
    return false;
}

enum wt_status wt_metadata_start(struct wt_parser *parser, uint32_t id, uint64_t offset,
                                 struct wt_metadata **out)
{
    struct wt_reader *reader = parser->reader;
    *out = NULL;
    if (!check_id(reader, id, offset))
        return WT_OK;
    if (reader->metadata_count >= reader->options.limits.metadata_max)
        return wt_fail(reader, WT_ERROR_LIMIT, WT_RULE_LIMIT, offset,
                       "more than %" PRIu32 " definitions", reader->options.limits.metadata_max);
    struct wt_metadata *metadata = wt_parser_take(parser, sizeof(*metadata));
    if (!metadata)
        return wt_parser_no_memory(reader, offset);
    memset(metadata, 0, sizeof(*metadata));
    metadata->id = id;
    metadata->offset = offset;
    *out = metadata;
    return WT_OK;
}

enum wt_status wt_metadata_finish(struct wt_parser *parser, struct wt_metadata *metadata,
                                  bool whole)
{
    struct wt_reader *reader = parser->reader;
    if (parser->no_memory)
        return wt_parser_no_memory(reader, metadata->offset);
    if (!whole) {
        wt_tell(reader, WT_RULE_METADATA_RECORD, metadata->offset,
                "definition %" PRIu32 " is cut off", metadata->id);
        return WT_OK;
    }
    if (metadata->fields_bad) {
        metadata->field_count = 0;
        metadata->fields = NULL;
        wt_tell(reader, WT_RULE_METADATA_FIELDS, metadata->offset,
                "the fields of definition %" PRIu32 " (%.60s/%.60s) do not decode", metadata->id,
                metadata->provider_name, metadata->event_name);
    }
    metadata->is_naming = strcmp(metadata->provider_name, "Weir") == 0 &&
                          (strcmp(metadata->event_name, "Enum") == 0 ||
                           strcmp(metadata->event_name, "ThreadName") == 0);
    return keep(reader, metadata);
}

enum wt_status wt_metadata_add(struct wt_reader *reader, const uint8_t *payload, size_t size,
                               uint64_t offset)
{
    struct wt_parser parser = wt_parser_make(reader, payload, size);
    uint32_t id = wt_cursor_u32(&parser.cursor);
    if (reader->event.metadata_id != 0)
        wt_tell(reader, WT_RULE_METADATA_RECORD, offset,
                "a blob of a metadata block has metadata id %" PRIu32 ", not 0",
                reader->event.metadata_id);
    struct wt_metadata *metadata;
    enum wt_status status = wt_metadata_start(&parser, id, offset, &metadata);
    if (!metadata)
        return status;
    bool whole = parse_start(&parser, metadata);
    metadata->fields_bad = whole && !parse_description(&parser, metadata);
    return wt_metadata_finish(&parser, metadata, whole);
}

struct wt_metadata *wt_metadata_find(struct wt_reader *reader, uint32_t id)
{
    const uint32_t *index = wt_map_find(&reader->metadata_map, id);
    return index ? reader->metadata[*index] : NULL;
}
