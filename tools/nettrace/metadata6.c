/* Metadata rows of version 6, and the texts, keys and values that its blocks have. */
#include "fields.h"
#include "parser.h"

#include <inttypes.h>

/* Least bytes of a field: bounds a stated count. */
#define FIELD_MIN_SIZE 4u

enum option_kind {
    OPTION_OPCODE = 1,
    OPTION_KEYWORD = 3,
    OPTION_MESSAGE_TEMPLATE = 4,
    OPTION_DESCRIPTION = 5,
    OPTION_KEY_VALUE = 6,
    OPTION_PROVIDER_GUID = 7,
    OPTION_LEVEL = 8,
    OPTION_VERSION = 9,
};

const char *wt_parser_text8(struct wt_parser *parser)
{
    uint32_t size = wt_cursor_var32(&parser->cursor);
    const uint8_t *bytes = wt_cursor_bytes(&parser->cursor, size);
    if (parser->cursor.fault != WT_FAULT_NONE)
        return NULL;
    size_t needed = wt_utf8_clean(bytes, size, NULL, 0);
    char *text = wt_parser_take(parser, needed + 1);
    if (text)
        wt_utf8_clean(bytes, size, text, needed + 1);
    return text;
}

bool wt_parser_key_value(struct wt_parser *parser, struct wt_key_values *list)
{
    if (list->count == list->capacity) {
        uint32_t capacity = list->capacity ? 2 * list->capacity : 4;
        struct wt_key_value *larger = wt_parser_take(parser, capacity * sizeof(*larger));
        if (!larger)
            return false;
        if (list->count)
            memcpy(larger, list->items, list->count * sizeof(*larger));
        list->items = larger;
        list->capacity = capacity;
    }
    struct wt_key_value *item = &list->items[list->count];
    item->key = wt_parser_text8(parser);
    item->value = item->key ? wt_parser_text8(parser) : NULL;
    list->count += item->value != NULL;
    return item->value != NULL;
}

/* --- Fields. --------------------------------------------------------------------------------- */

static bool parse_fields(struct wt_parser *parser, uint32_t *count, const struct wt_field **fields);
static bool parse_type(struct wt_parser *parser, struct wt_field *field);

/* The type of the elements, and their number in an array that has a fixed one. */
static bool parse_elements(struct wt_parser *parser, struct wt_field *field)
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
    bool good = parse_type(parser, element);
    parser->depth_left++;
    field->field_count = 1;
    field->fields = element;
    if (field->type == WT_TYPE_FIXED_ARRAY)
        field->count = wt_cursor_u16(&parser->cursor);
    return good && parser->cursor.fault == WT_FAULT_NONE && wt_elements_set_size(field);
}

static bool parse_object(struct wt_parser *parser, struct wt_field *field)
{
    if (parser->depth_left == 0)
        return false;
    parser->depth_left--;
    bool good = parse_fields(parser, &field->field_count, &field->fields);
    parser->depth_left++;
    if (good)
        wt_object_set_size(field);
    return good;
}

/* Depth is bounded by the reader's limit. */
static bool parse_type(struct wt_parser *parser, struct wt_field *field)
{
    field->type = (enum wt_type)wt_cursor_u8(&parser->cursor);
    if (parser->cursor.fault != WT_FAULT_NONE)
        return false;
    if (field->type == WT_TYPE_OBJECT)
        return parse_object(parser, field);
    if (field->type == WT_TYPE_ARRAY || field->type == WT_TYPE_FIXED_ARRAY ||
        field->type == WT_TYPE_REL_LOC || field->type == WT_TYPE_DATA_LOC)
        return parse_elements(parser, field);
    return wt_type_set_size(field);
}

/* Size without itself, name, type, and any rest that the size includes. */
static bool parse_field(struct wt_parser *parser, struct wt_field *field)
{
    struct wt_cursor outer = parser->cursor;
    uint16_t size = wt_cursor_u16(&outer);
    const uint8_t *body = wt_cursor_bytes(&outer, size);
    if (!body)
        return false;
    parser->cursor = wt_cursor_make(body, size);
    field->name = wt_parser_text8(parser);
    bool good = field->name && parse_type(parser, field);
    parser->cursor = outer;
    return good;
}

static bool parse_fields(struct wt_parser *parser, uint32_t *count, const struct wt_field **fields)
{
    uint32_t stated = wt_cursor_u16(&parser->cursor);
    *count = 0;
    *fields = NULL;
    if (parser->cursor.fault != WT_FAULT_NONE || stated > parser->fields_left ||
        stated > wt_cursor_left(&parser->cursor) / FIELD_MIN_SIZE)
        return false;
    if (stated == 0)
        return true;
    parser->fields_left -= stated;
    struct wt_field *made = wt_parser_take(parser, stated * sizeof(*made));
    if (!made)
        return false;
    memset(made, 0, stated * sizeof(*made));
    for (uint32_t i = 0; i < stated; i++)
        if (!parse_field(parser, &made[i]))
            return false;
    *count = stated;
    *fields = made;
    return true;
}

/* Finds the end of the row's fields by their sizes, so that fields which do not decode leave the
 * rest of the row readable. */
static bool pass_fields(struct wt_cursor *cursor)
{
    uint16_t count = wt_cursor_u16(cursor);
    for (uint32_t i = 0; i < count && cursor->fault == WT_FAULT_NONE; i++) {
        uint16_t size = wt_cursor_u16(cursor);
        wt_cursor_bytes(cursor, size);
    }
    return cursor->fault == WT_FAULT_NONE;
}

/* --- Rows. ----------------------------------------------------------------------------------- */

static void take_provider_guid(struct wt_cursor *cursor, struct wt_metadata *metadata)
{
    const uint8_t *bytes = wt_cursor_bytes(cursor, 16);
    metadata->has_provider_guid = bytes != NULL;
    if (bytes)
        memcpy(metadata->provider_guid, bytes, 16);
}

/* One element; false for an unknown kind, whose size is not known, and for one that is cut off. */
static bool parse_option(struct wt_parser *parser, struct wt_metadata *metadata,
                         struct wt_key_values *list)
{
    struct wt_cursor *cursor = &parser->cursor;
    switch ((enum option_kind)wt_cursor_u8(cursor)) {
    case OPTION_OPCODE:
        metadata->opcode = wt_cursor_u8(cursor);
        metadata->has_opcode = true;
        break;
    case OPTION_KEYWORD:
        metadata->keywords = wt_cursor_u64(cursor);
        break;
    case OPTION_MESSAGE_TEMPLATE:
        metadata->message_template = wt_parser_text8(parser);
        break;
    case OPTION_DESCRIPTION:
        metadata->description = wt_parser_text8(parser);
        break;
    case OPTION_KEY_VALUE:
        return wt_parser_key_value(parser, list);
    case OPTION_PROVIDER_GUID:
        take_provider_guid(cursor, metadata);
        break;
    case OPTION_LEVEL:
        metadata->level = wt_cursor_u8(cursor);
        break;
    case OPTION_VERSION:
        metadata->version = wt_cursor_u8(cursor);
        break;
    default:
        return false;
    }
    return cursor->fault == WT_FAULT_NONE;
}

/* What is in front of an element that does not decode is kept. */
static void parse_options(struct wt_parser *parser, struct wt_metadata *metadata)
{
    struct wt_key_values list = {NULL, 0, 0};
    bool good = true;
    while (good && wt_cursor_left(&parser->cursor) > 0)
        good = parse_option(parser, metadata, &list);
    metadata->values = list.items;
    metadata->value_count = list.count;
    if (!good && !parser->no_memory)
        wt_tell(parser->reader, WT_RULE_METADATA_RECORD, metadata->offset,
                "the optional part of definition %" PRIu32 " does not decode", metadata->id);
}

/* Returns false if the row is incomplete. */
static bool parse_row(struct wt_parser *parser, struct wt_metadata *metadata)
{
    struct wt_cursor *cursor = &parser->cursor;
    metadata->provider_name = wt_parser_text8(parser);
    metadata->event_id = (int32_t)wt_cursor_var32(cursor);
    metadata->event_name = metadata->provider_name ? wt_parser_text8(parser) : NULL;
    if (!metadata->event_name)
        return false;
    const uint8_t *fields = cursor->at;
    if (!pass_fields(cursor))
        return false;
    struct wt_cursor rest = *cursor;
    uint16_t size = wt_cursor_u16(&rest);
    const uint8_t *options = wt_cursor_bytes(&rest, size);
    if (rest.fault != WT_FAULT_NONE)
        return false;
    *cursor = wt_cursor_make(fields, (size_t)(rest.at - size - 2 - fields));
    metadata->fields_bad = !parse_fields(parser, &metadata->field_count, &metadata->fields);
    *cursor = wt_cursor_make(options, size);
    parse_options(parser, metadata);
    return true;
}

static enum wt_status take_row(struct wt_reader *reader, const uint8_t *row, size_t size,
                               uint64_t offset)
{
    struct wt_parser parser = wt_parser_make(reader, row, size);
    uint32_t id = wt_cursor_var32(&parser.cursor);
    struct wt_metadata *metadata;
    enum wt_status status = wt_metadata_start(&parser, id, offset, &metadata);
    if (!metadata)
        return status;
    bool whole = parse_row(&parser, metadata);
    return wt_metadata_finish(&parser, metadata, whole);
}

enum wt_status wt_metadata6_block(struct wt_reader *reader, const uint8_t *body, size_t size)
{
    const uint64_t at = reader->block.body_offset;
    struct wt_cursor cursor = wt_cursor_make(body, size);
    reader->block.header_size = wt_cursor_u16(&cursor);
    wt_cursor_bytes(&cursor, reader->block.header_size);
    if (cursor.fault != WT_FAULT_NONE && !reader->partial)
        return wt_fail(reader, WT_ERROR_FORMAT, WT_RULE_HEADER_SIZE, at,
                       "header of %u bytes in a block of %zu", reader->block.header_size, size);
    if (reader->handlers.block)
        reader->handlers.block(reader->context, &reader->block);
    enum wt_status status = WT_OK;
    while (wt_cursor_left(&cursor) > 0 && status == WT_OK) {
        uint64_t offset = at + (uint64_t)(cursor.at - body);
        uint16_t row_size = wt_cursor_u16(&cursor);
        const uint8_t *row = wt_cursor_bytes(&cursor, row_size);
        if (cursor.fault == WT_FAULT_NONE)
            status = take_row(reader, row, row_size, offset);
        else if (!reader->partial)
            return wt_fail(reader, WT_ERROR_FORMAT, WT_RULE_BLOB_END, offset,
                           "a row goes beyond its block's end");
    }
    return status;
}
