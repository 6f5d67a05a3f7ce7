/* Decoding of payloads by their field descriptions. */
#include "fields.h"
#include "cursor.h"

/* Locations may overlap, so a hostile payload could stand for very many values. */
#define LOCATED_FACTOR 8u

struct walk {
    struct wt_cursor cursor;
    const struct wt_visitor *visitor; /* NULL: only the sizes matter */
    void *context;
    const uint8_t *payload, *end;
    const uint8_t *reach;  /* behind the last byte that a location has pointed at */
    uint64_t located_left; /* bytes that locations may still point at */
    bool skips;            /* locations are not followed: only the place of what follows matters */
};

static struct walk walk_make(const uint8_t *payload, size_t size)
{
    struct walk walk = {.cursor = wt_cursor_make(payload, size),
                        .payload = payload,
                        .end = payload + size,
                        .reach = payload,
                        .located_left = (uint64_t)size * LOCATED_FACTOR};
    return walk;
}

static bool take_string(struct wt_cursor *cursor, struct wt_value *value)
{
    const uint8_t *bytes = cursor->at;
    size_t left = wt_cursor_left(cursor);
    size_t size = 0;
    while (left - size >= 2 && (bytes[size] | bytes[size + 1]) != 0)
        size += 2;
    if (left - size < 2) {
        wt_cursor_fail(cursor, WT_FAULT_SHORT);
        return false;
    }
    cursor->at += size + 2;
    value->kind = WT_VALUE_STRING;
    value->bytes = bytes;
    value->size = (uint32_t)size;
    return true;
}

static void set_unsigned(struct wt_value *value, enum wt_value_kind kind, uint64_t number)
{
    value->kind = kind;
    value->as.u = number;
}

static void set_signed(struct wt_value *value, int64_t number)
{
    value->kind = WT_VALUE_SIGNED;
    value->as.i = number;
}

static void set_bytes(struct wt_value *value, enum wt_value_kind kind, const uint8_t *bytes,
                      uint32_t size)
{
    value->kind = kind;
    value->bytes = bytes;
    value->name = NULL;
    value->size = size;
}

static void set_single(struct wt_value *value, uint32_t bits)
{
    value->kind = WT_VALUE_SINGLE;
    memcpy(&value->as.f, &bits, sizeof(bits));
}

static void set_double(struct wt_value *value, uint64_t bits)
{
    value->kind = WT_VALUE_DOUBLE;
    memcpy(&value->as.d, &bits, sizeof(bits));
}

/* One value of a type that only version 6 has. */
static void take_simple6(struct wt_cursor *cursor, enum wt_type type, struct wt_value *value)
{
    if (type == WT_TYPE_VAR_INT)
        set_signed(value, wt_cursor_zigzag64(cursor));
    else if (type == WT_TYPE_VAR_UINT)
        set_unsigned(value, WT_VALUE_UNSIGNED, wt_cursor_var64(cursor));
    else if (type == WT_TYPE_BOOLEAN8)
        set_unsigned(value, WT_VALUE_BOOLEAN, wt_cursor_u8(cursor));
    else
        set_bytes(value, WT_VALUE_UTF8, wt_cursor_bytes(cursor, 1), 1);
}

/* One value that is neither an object nor an array; false and a fault if it is incomplete. */
static bool take_simple(struct wt_cursor *cursor, enum wt_type type, struct wt_value *value)
{
    value->bytes = NULL;
    value->name = NULL;
    value->size = 0;
    switch (type) {
    case WT_TYPE_BOOLEAN:
        set_unsigned(value, WT_VALUE_BOOLEAN, wt_cursor_u32(cursor));
        break;
    case WT_TYPE_CHAR:
        set_unsigned(value, WT_VALUE_CHAR, wt_cursor_u16(cursor));
        break;
    case WT_TYPE_SBYTE:
        set_signed(value, (int8_t)wt_cursor_u8(cursor));
        break;
    case WT_TYPE_BYTE:
        set_unsigned(value, WT_VALUE_UNSIGNED, wt_cursor_u8(cursor));
        break;
    case WT_TYPE_INT16:
        set_signed(value, (int16_t)wt_cursor_u16(cursor));
        break;
    case WT_TYPE_UINT16:
        set_unsigned(value, WT_VALUE_UNSIGNED, wt_cursor_u16(cursor));
        break;
    case WT_TYPE_INT32:
        set_signed(value, (int32_t)wt_cursor_u32(cursor));
        break;
    case WT_TYPE_UINT32:
        set_unsigned(value, WT_VALUE_UNSIGNED, wt_cursor_u32(cursor));
        break;
    case WT_TYPE_INT64:
        set_signed(value, (int64_t)wt_cursor_u64(cursor));
        break;
    case WT_TYPE_UINT64:
        set_unsigned(value, WT_VALUE_UNSIGNED, wt_cursor_u64(cursor));
        break;
    case WT_TYPE_SINGLE:
        set_single(value, wt_cursor_u32(cursor));
        break;
    case WT_TYPE_DOUBLE:
        set_double(value, wt_cursor_u64(cursor));
        break;
    case WT_TYPE_DATETIME:
        set_unsigned(value, WT_VALUE_DATETIME, wt_cursor_u64(cursor));
        break;
    case WT_TYPE_DECIMAL:
        set_bytes(value, WT_VALUE_BYTES, wt_cursor_bytes(cursor, 16), 16);
        break;
    case WT_TYPE_GUID:
        set_bytes(value, WT_VALUE_GUID, wt_cursor_bytes(cursor, 16), 16);
        break;
    case WT_TYPE_STRING:
        return take_string(cursor, value);
    case WT_TYPE_VAR_INT:
    case WT_TYPE_VAR_UINT:
    case WT_TYPE_BOOLEAN8:
    case WT_TYPE_UTF8_UNIT:
        take_simple6(cursor, type, value);
        break;
    case WT_TYPE_OBJECT:
    case WT_TYPE_ARRAY:
    case WT_TYPE_FIXED_ARRAY:
    case WT_TYPE_REL_LOC:
    case WT_TYPE_DATA_LOC:
        return false;
    }
    return cursor->fault == WT_FAULT_NONE;
}

static void name_value(const struct wt_field *field, struct wt_value *value)
{
    if (field->is_bool && value->kind == WT_VALUE_UNSIGNED) {
        value->kind = WT_VALUE_BOOLEAN;
        return;
    }
    uint64_t wanted = value->as.u & wt_field_mask(field);
    uint32_t first = 0, end = field->value_count;
    while (first < end) {
        uint32_t middle = first + (end - first) / 2;
        if (field->values[middle].value < wanted)
            first = middle + 1;
        else
            end = middle;
    }
    if (first < field->value_count && field->values[first].value == wanted)
        value->name = field->values[first].name;
}

/* A value of a field that is neither an object nor an array. */
static bool take_value(struct wt_cursor *cursor, const struct wt_field *field,
                       struct wt_value *value)
{
    bool good = take_simple(cursor, field->type, value);
    if (good && field->value_count > 0)
        name_value(field, value);
    return good;
}

/* --- Arrays, and what locations point at. ---------------------------------------------------- */

static bool has_elements(const struct wt_field *field)
{
    return field->type == WT_TYPE_ARRAY || field->type == WT_TYPE_FIXED_ARRAY ||
           field->type == WT_TYPE_REL_LOC || field->type == WT_TYPE_DATA_LOC;
}

/* Elements that are one value together. */
static bool is_piece(const struct wt_field *field)
{
    return has_elements(field) &&
           (field->fields[0].type == WT_TYPE_BYTE || field->fields[0].type == WT_TYPE_UTF8_UNIT);
}

/* The bytes that a location points at; NULL if they are not in the payload. */
static const uint8_t *locate(struct walk *walk, enum wt_type type, uint32_t *size)
{
    uint32_t word = wt_cursor_u32(&walk->cursor);
    if (walk->cursor.fault != WT_FAULT_NONE)
        return NULL;
    const uint8_t *from = type == WT_TYPE_REL_LOC ? walk->cursor.at : walk->payload;
    size_t offset = word & 0xFFFF, left = (size_t)(walk->end - from);
    *size = word >> 16;
    if (offset > left || *size > left - offset || *size > walk->located_left) {
        wt_cursor_fail(&walk->cursor, WT_FAULT_SHORT);
        return NULL;
    }
    walk->located_left -= *size;
    if (from + offset + *size > walk->reach)
        walk->reach = from + offset + *size;
    return from + offset;
}

static bool take_piece(struct walk *walk, const struct wt_field *field, struct wt_value *value)
{
    struct wt_cursor *cursor = &walk->cursor;
    const uint8_t *bytes;
    uint32_t size = 0;
    if (field->type == WT_TYPE_ARRAY) {
        size = wt_cursor_u16(cursor);
        bytes = wt_cursor_bytes(cursor, size);
    } else if (field->type == WT_TYPE_FIXED_ARRAY) {
        size = field->count;
        bytes = wt_cursor_bytes(cursor, size);
    } else {
        bytes = locate(walk, field->type, &size);
    }
    bool is_text = field->fields[0].type == WT_TYPE_UTF8_UNIT;
    if (!bytes)
        return false;
    while (is_text && field->type != WT_TYPE_ARRAY && size > 0 && bytes[size - 1] == 0)
        size--;
    set_bytes(value, is_text ? WT_VALUE_UTF8 : WT_VALUE_BYTES, bytes, size);
    return true;
}

static bool walk_fields(struct walk *walk, const struct wt_field *fields, uint32_t count);
static bool walk_field(struct walk *walk, const struct wt_field *field, const char *name);

/* True if only the size matters, and it is known. */
static bool may_skip(const struct walk *walk, const struct wt_field *field)
{
    return !walk->visitor && field->fixed && (walk->skips || !field->located);
}

static bool walk_elements(struct walk *walk, const struct wt_field *element, uint32_t count,
                          const char *name)
{
    if (may_skip(walk, element))
        return wt_cursor_bytes(&walk->cursor, (size_t)count * element->min_size) != NULL;
    if (walk->visitor)
        walk->visitor->begin(walk->context, name, true, count);
    bool good = true;
    for (uint32_t i = 0; i < count && good; i++)
        good = walk_field(walk, element, NULL);
    if (walk->visitor)
        walk->visitor->end(walk->context, true);
    return good;
}

static bool walk_located(struct walk *walk, const struct wt_field *field, const char *name)
{
    const struct wt_field *element = &field->fields[0];
    uint32_t size;
    const uint8_t *bytes = locate(walk, field->type, &size);
    if (!bytes || size % element->min_size != 0)
        return false;
    struct wt_cursor outer = walk->cursor;
    walk->cursor = wt_cursor_make(bytes, size);
    bool good = walk_elements(walk, element, size / element->min_size, name);
    walk->cursor = outer;
    return good;
}

static bool walk_array(struct walk *walk, const struct wt_field *field, const char *name)
{
    if (field->type == WT_TYPE_REL_LOC || field->type == WT_TYPE_DATA_LOC)
        return walk_located(walk, field, name);
    uint32_t count =
        field->type == WT_TYPE_FIXED_ARRAY ? field->count : wt_cursor_u16(&walk->cursor);
    if (walk->cursor.fault != WT_FAULT_NONE)
        return false;
    return walk_elements(walk, &field->fields[0], count, name);
}

static bool walk_object(struct walk *walk, const struct wt_field *field, const char *name)
{
    if (walk->visitor)
        walk->visitor->begin(walk->context, name, false, field->field_count);
    bool good = walk_fields(walk, field->fields, field->field_count);
    if (walk->visitor)
        walk->visitor->end(walk->context, false);
    return good;
}

static bool walk_field(struct walk *walk, const struct wt_field *field, const char *name)
{
    if (may_skip(walk, field))
        return wt_cursor_bytes(&walk->cursor, field->min_size) != NULL;
    if (field->type == WT_TYPE_OBJECT)
        return walk_object(walk, field, name);
    struct wt_value value;
    bool good;
    if (is_piece(field))
        good = take_piece(walk, field, &value);
    else if (has_elements(field))
        return walk_array(walk, field, name);
    else
        good = take_value(&walk->cursor, field, &value);
    if (good && walk->visitor)
        walk->visitor->value(walk->context, name, &value);
    return good;
}

/* Depth is bounded by the reader's limit on descriptions. */
static bool walk_fields(struct walk *walk, const struct wt_field *fields, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!walk_field(walk, &fields[i], fields[i].name))
            return false;
    return true;
}

static void walk_raw(struct walk *walk, const char *name)
{
    struct wt_value value;
    size_t left = wt_cursor_left(&walk->cursor);
    set_bytes(&value, WT_VALUE_BYTES, wt_cursor_bytes(&walk->cursor, left), (uint32_t)left);
    if (walk->visitor)
        walk->visitor->value(walk->context, name, &value);
}

bool wt_fields_walk(const struct wt_metadata *metadata, const uint8_t *payload, size_t size,
                    const struct wt_visitor *visitor, void *context, size_t *used)
{
    struct walk walk = walk_make(payload, size);
    walk.visitor = visitor;
    walk.context = context;
    bool good = walk_fields(&walk, metadata->fields, metadata->field_count);
    if (good && metadata->raw_name)
        walk_raw(&walk, metadata->raw_name);
    const uint8_t *end = walk.cursor.at > walk.reach ? walk.cursor.at : walk.reach;
    *used = good ? (size_t)(end - payload) : size;
    return good;
}

int wt_field_index(const struct wt_metadata *metadata, const char *name)
{
    for (uint32_t i = 0; i < metadata->field_count; i++)
        if (strcmp(metadata->fields[i].name, name) == 0)
            return (int)i;
    return -1;
}

/* The value at the walk's place. */
static bool take_at(struct walk *walk, const struct wt_field *field, struct wt_value *value)
{
    return is_piece(field) ? take_piece(walk, field, value)
                           : take_value(&walk->cursor, field, value);
}

bool wt_field_get(const struct wt_metadata *metadata, int index, const uint8_t *payload,
                  size_t size, struct wt_value *value)
{
    if (index < 0 || (uint32_t)index >= metadata->field_count)
        return false;
    struct walk walk = walk_make(payload, size);
    walk.skips = true;
    return walk_fields(&walk, metadata->fields, (uint32_t)index) &&
           take_at(&walk, &metadata->fields[index], value);
}

/* --- By name. -------------------------------------------------------------------------------- */

/* The field with that path in a list of fields: its name, or "object.path". `before` is set to the
 * fields that precede it in its list, and `rest` to what is left of the path. */
static const struct wt_field *find_step(const struct wt_field *fields, uint32_t count,
                                        const char *path, uint32_t *before, const char **rest)
{
    for (*before = 0; *before < count; ++*before) {
        const struct wt_field *field = &fields[*before];
        size_t size = strlen(field->name);
        if (strncmp(path, field->name, size) != 0)
            continue;
        *rest = path + size;
        if (**rest == '\0')
            return field;
        if (field->type == WT_TYPE_OBJECT && *(*rest)++ == '.')
            return field;
    }
    return NULL;
}

enum wt_presence wt_event_value(const struct wt_event *event, const char *path,
                                struct wt_value *value, enum wt_type *type)
{
    struct walk walk = walk_make(event->payload, event->payload_size);
    const struct wt_field *fields = event->metadata->fields;
    uint32_t count = event->metadata->field_count, before;
    walk.skips = true;
    for (;;) {
        const struct wt_field *field = find_step(fields, count, path, &before, &path);
        if (!field || !walk_fields(&walk, fields, before))
            return WT_ABSENT;
        if (*path == '\0') {
            if (field->type == WT_TYPE_OBJECT || (has_elements(field) && !is_piece(field)))
                return WT_WRONG_TYPE;
            *type = field->type;
            return take_at(&walk, field, value) ? WT_PRESENT : WT_ABSENT;
        }
        fields = field->fields;
        count = field->field_count;
    }
}
