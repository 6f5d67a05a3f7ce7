#include "random_events.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static uint64_t random_state;

void random_start(uint64_t seed)
{
    random_state = seed;
}

uint64_t draw(void) /* xorshift64* */
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * UINT64_C(0x2545F4914F6CDD1D);
}

uint32_t below(uint32_t bound)
{
    return (uint32_t)(draw() >> 33) % bound;
}

struct text emitted, found;

void say(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    text->used +=
        (size_t)vsnprintf(text->at + text->used, TEXT_BYTES - text->used, format, arguments);
    va_end(arguments);
    if (text->used >= TEXT_BYTES)
        fail("a program has more than %u bytes of text", TEXT_BYTES);
}

void say_bytes(struct text *text, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        say(text, "%02x", ((const unsigned char *)bytes)[i]);
}

/* --- Definitions. ---------------------------------------------------------------------------- */

#define NUMBER_KINDS 13u /* of the following */
static const enum weir_type types[] = {
    WEIR_TYPE_bool,      WEIR_TYPE_i8,        WEIR_TYPE_u8,        WEIR_TYPE_bool8,
    WEIR_TYPE_i16,       WEIR_TYPE_u16,       WEIR_TYPE_i32,       WEIR_TYPE_u32,
    WEIR_TYPE_i64,       WEIR_TYPE_u64,       WEIR_TYPE_f32,       WEIR_TYPE_f64,
    WEIR_TYPE_guid,      WEIR_TYPE_str,       WEIR_TYPE_str16,     WEIR_TYPE_strn,
    WEIR_TYPE_array_i8,  WEIR_TYPE_array_u8,  WEIR_TYPE_array_i16, WEIR_TYPE_array_u16,
    WEIR_TYPE_array_i32, WEIR_TYPE_array_u32, WEIR_TYPE_array_i64, WEIR_TYPE_array_u64};

struct definition definitions[DEFINITIONS];

static const char *const names[FIELDS_MAX] = {"f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8"};

static struct node nodes[DEFINITIONS * 64];
static uint32_t node_count;
static uint32_t fields_left; /* of the 64 that an event may have */

/* What definitions are made of; they live as long as the process. */
static struct node *nodes_take(uint32_t count)
{
    node_count += count;
    fields_left -= count;
    return &nodes[node_count - count];
}

/* The children as the interface wants them. */
static void object_describe(struct node *node)
{
    static struct weir_field fields[DEFINITIONS * 64];
    static const struct weir_object *objects[DEFINITIONS * 64];
    static uint32_t field_count, object_count;
    node->object = (struct weir_object)WEIR_OBJECT_INIT;
    node->object.fields = &fields[field_count];
    node->object.field_count = node->child_count;
    node->object.objects = &objects[object_count];
    for (uint32_t i = 0; i < node->child_count; i++) {
        fields[field_count++] = (struct weir_field){names[i], node->children[i].type};
        if (node->children[i].child_count)
            objects[object_count++] = &node->children[i].object;
    }
}

/* Of the first `kinds` types; an object is one more kind, if there is room for it. */
static void node_make(struct node *node, uint32_t kinds, uint32_t depth)
{
    bool is_object = depth < 3 && fields_left > 20 && below(kinds + 1) == 0;
    node->type = types[below(kinds)];
    if (!is_object)
        return;
    bool is_array = kinds > NUMBER_KINDS && below(2);
    node->type = is_array ? WEIR_TYPE_array_object : WEIR_TYPE_object;
    node->child_count = 1 + below(CHILDREN_MAX);
    node->children = nodes_take(node->child_count);
    for (uint32_t i = 0; i < node->child_count; i++)
        node_make(&node->children[i], is_array ? NUMBER_KINDS : kinds, depth + 1);
    object_describe(node);
}

/* Does the file need a tag of V5 to describe it? */
static bool node_has_array(const struct node *node)
{
    bool has_array = (node->type & 256) != 0;
    for (uint32_t i = 0; i < node->child_count && !has_array; i++)
        has_array = node_has_array(&node->children[i]);
    return has_array;
}

static void fields_make(struct definition *definition)
{
    /* A third of them have numbers only. */
    uint32_t kinds = below(3) ? sizeof types / sizeof *types : NUMBER_KINDS;
    fields_left = 64 - FIELDS_MAX;
    definition->field_count = below(FIELDS_MAX + 1);
    for (uint32_t i = 0; i < definition->field_count; i++) {
        struct node *node = &definition->fields[i];
        node_make(node, kinds, 0);
        if (i + 1 == definition->field_count && below(5) == 0)
            *node = (struct node){.type = WEIR_TYPE_raw};
        definition->has_arrays |= node_has_array(node);
    }
}

void definition_make(struct weir_provider *provider, uint32_t number)
{
    struct definition *definition = &definitions[number];
    struct weir_schema schema = WEIR_SCHEMA_INIT;
    struct weir_field fields[FIELDS_MAX];
    const struct weir_object *objects[FIELDS_MAX];
    uint32_t object_count = 0;
    char name[16];
    snprintf(name, sizeof name, "Event%u", number);
    fields_make(definition);
    definition->has_stack = below(8) == 0;
    definition->is_undescribed = below(8) == 0;
    schema.name = name;
    schema.fields = fields;
    schema.field_count = definition->field_count;
    schema.objects = objects;
    schema.event_id = (uint16_t)number;
    schema.version = definition->version = (uint8_t)below(3);
    schema.opcode = definition->opcode = below(4) ? 0 : (uint8_t)(10 + below(200));
    schema.level |= definition->has_stack ? WEIR_EVENT_STACK : 0;
    schema.level |= definition->is_undescribed ? WEIR_EVENT_UNDESCRIBED : 0;
    for (uint32_t i = 0; i < schema.field_count; i++) {
        fields[i] = (struct weir_field){names[i], definition->fields[i].type};
        if (definition->fields[i].child_count)
            objects[object_count++] = &definition->fields[i].object;
    }
    struct weir_error error;
    if (weir_event_define(provider, &schema, &definition->event, &error) != WEIR_OK)
        fail("event %u cannot be defined: %s", number, error.text);
}

bool needs_tag(const struct definition *definition)
{
    return definition->opcode || (definition->has_arrays && !definition->is_undescribed);
}

/* --- Values. --------------------------------------------------------------------------------- */

#define VALUE_BYTES 600u
static _Alignas(8) unsigned char memory[64][VALUE_BYTES];
static uint32_t memory_used;

/* In the file, the event has no fields: the payload is one text, as what goes with the fields, counts
 * and zeros, stands in it. */
static bool is_bare;

static void say_start(void)
{
    if (!is_bare)
        say(&emitted, " ");
}

static void say_zero(void)
{
    if (is_bare)
        say(&emitted, "0000");
}

static void say_count(uint32_t count)
{
    if (is_bare)
        say(&emitted, "%02x%02x", count & 255, count >> 8);
    else
        say(&emitted, "[%u]", count);
}

/* Mostly short, now and then longer than a payload in registers, or than a small record. */
static uint32_t length(void)
{
    return below(10) ? below(8) : below(80);
}

/* A text, and what a file has for it: ASCII, with a byte now and then that is not UTF-8. */
static uint32_t text_make(unsigned char *out, bool has_zeros, uint16_t *units)
{
    uint32_t count = length();
    for (uint32_t i = 0; i < count; i++) {
        bool is_bad = below(20) == 0, is_zero = has_zeros && below(20) == 0;
        out[i] = is_zero ? 0 : is_bad ? 0xFF : (unsigned char)('a' + below(26));
        units[i] = is_zero || is_bad ? 0xFFFD : out[i];
    }
    out[count] = 0;
    return count;
}

static void string_make(struct weir_value *value, unsigned char *at)
{
    uint16_t units[VALUE_BYTES / 2];
    value->pointer = at;
    if (value->type != WEIR_TYPE_str16) {
        value->count = text_make(at, value->type == WEIR_TYPE_strn, units);
        say_bytes(&emitted, units, 2 * (size_t)value->count);
        say_zero();
        return;
    }
    uint32_t count = length();
    for (uint32_t i = 0; i < count; i++)
        units[i] = (uint16_t)(1 + below(0xD7FF));
    units[count] = 0;
    memcpy(at, units, 2 * (count + 1));
    say_bytes(&emitted, at, 2 * (size_t)count);
    say_zero();
}

static uint32_t type_bytes(enum weir_type type)
{
    switch (type) {
    case WEIR_TYPE_i8:
    case WEIR_TYPE_u8:
    case WEIR_TYPE_bool8:
        return 1;
    case WEIR_TYPE_i16:
    case WEIR_TYPE_u16:
        return 2;
    case WEIR_TYPE_bool:
    case WEIR_TYPE_i32:
    case WEIR_TYPE_u32:
    case WEIR_TYPE_f32:
        return 4;
    case WEIR_TYPE_guid:
        return 16;
    default:
        return 8;
    }
}

static uint32_t element_bytes(const struct node *node)
{
    uint32_t bytes = 0;
    if (!node->child_count)
        return type_bytes(node->type & ~256u);
    for (uint32_t i = 0; i < node->child_count; i++)
        bytes += node->children[i].child_count ? element_bytes(&node->children[i])
                                               : type_bytes(node->children[i].type);
    return bytes;
}

static void array_make(struct weir_value *value, const struct node *node, unsigned char *at)
{
    uint32_t bytes = node->type == WEIR_TYPE_raw ? 1 : element_bytes(node);
    value->count = length() % (VALUE_BYTES / bytes);
    value->pointer = at;
    for (uint32_t i = 0; i < value->count * bytes; i++)
        at[i] = (unsigned char)draw();
    if (node->type != WEIR_TYPE_raw)
        say_count(value->count);
    else if (value->count && !is_bare)
        say(&emitted, " raw ");
    say_bytes(&emitted, at, value->count * (size_t)bytes);
}

/* An integer that has room in `bytes`, as its low bytes. */
static void number_make(struct weir_value *value, uint32_t bytes)
{
    uint64_t number = draw() >> below(64);
    value->unsigned_value = number;
    say_bytes(&emitted, &number, bytes);
}

static void float_make(struct weir_value *value)
{
    float single = (float)(int32_t)draw();
    value->float_value = (double)single;
    if (value->type == WEIR_TYPE_f32)
        say_bytes(&emitted, &single, sizeof single);
    else
        say_bytes(&emitted, &value->float_value, sizeof value->float_value);
}

static void value_make(struct weir_value *value, const struct node *node);

static void object_make(struct weir_value *value, const struct node *node, void *at)
{
    struct weir_value *inside = at;
    value->pointer = inside;
    value->count = node->child_count;
    for (uint32_t i = 0; i < node->child_count; i++)
        value_make(&inside[i], &node->children[i]);
}

static void scalar_make(struct weir_value *value, unsigned char *at)
{
    uint32_t bytes = type_bytes(value->type);
    if (value->type == WEIR_TYPE_f32 || value->type == WEIR_TYPE_f64) {
        float_make(value);
    } else if (value->type == WEIR_TYPE_bool || value->type == WEIR_TYPE_bool8) {
        value->boolean = below(2) != 0;
        uint32_t flag = value->boolean;
        say_bytes(&emitted, &flag, bytes);
    } else if (value->type == WEIR_TYPE_guid) {
        for (uint32_t i = 0; i < bytes; i++)
            at[i] = (unsigned char)draw();
        value->pointer = at;
        say_bytes(&emitted, at, bytes);
    } else {
        number_make(value, bytes);
    }
}

static void value_make(struct weir_value *value, const struct node *node)
{
    unsigned char *at = memory[memory_used++];
    memset(value, 0, sizeof *value);
    value->type = node->type;
    if (node->type != WEIR_TYPE_object && node->type != WEIR_TYPE_raw)
        say_start();
    switch ((unsigned)node->type) {
    case WEIR_TYPE_object:
        object_make(value, node, at);
        break;
    case WEIR_TYPE_str:
    case WEIR_TYPE_str16:
    case WEIR_TYPE_strn:
        string_make(value, at);
        break;
    case WEIR_TYPE_raw:
        array_make(value, node, at);
        break;
    default:
        if (node->type & 256)
            array_make(value, node, at);
        else
            scalar_make(value, at);
    }
}

void values_make(struct weir_value *values, const struct definition *definition)
{
    static const char behind[] = " raw ";
    memory_used = 0;
    is_bare = definition->is_undescribed;
    if (is_bare)
        say(&emitted, behind);
    size_t used = emitted.used;
    for (uint32_t i = 0; i < definition->field_count; i++)
        value_make(&values[i], &definition->fields[i]);
    if (is_bare && emitted.used == used)
        emitted.used -= sizeof behind - 1;
}
