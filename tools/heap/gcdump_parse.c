/* The contents of a .gcdump file, which is hostile until it has been checked. */
#include "fields.h"
#include "gcdump.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    VERSION_LOG = 9,     /* of the dump: since then, its log has the present place */
    VERSION_NEWEST = 10, /* of the dump that is known */
    NAME_UNITS_MAX = 4096,
};

const char gcdump_magic[HP_GCDUMP_HEAD + 1] = "\x14\0\0\0!FastSerialization.1";

const struct gcdump_group gcdump_groups[GCDUMP_GROUPS] = {
    [GCDUMP_ALL] = {"[.NET Roots]", HP_ROOT_OTHER, 0, GCDUMP_ALL},
    [GCDUMP_STATICS] = {"[static vars]", HP_ROOT_STATIC, 0, GCDUMP_ALL},
    [GCDUMP_THREAD_STATICS] = {"[thread static vars]", HP_ROOT_STATIC, HP_STATIC_IS_THREAD_LOCAL,
                               GCDUMP_ALL},
    [GCDUMP_LOCALS] = {"[local vars]", HP_ROOT_STACK, 0, GCDUMP_ALL},
    [GCDUMP_OTHERS] = {"[other roots]", HP_ROOT_OTHER, 0, GCDUMP_ALL},
    [GCDUMP_FINALIZERS] = {"[finalizer Handles]", HP_ROOT_FINALIZER, 0, GCDUMP_OTHERS},
    [GCDUMP_STRONG] = {"[strong Handles]", HP_ROOT_HANDLE, 0, GCDUMP_OTHERS},
    [GCDUMP_PINNING] = {"[pinning Handles]", HP_ROOT_HANDLE, HP_ROOT_IS_PINNED, GCDUMP_OTHERS},
    [GCDUMP_COUNTED] = {"[COM/WinRT Objects]", HP_ROOT_HANDLE, HP_ROOT_IS_COUNTED, GCDUMP_OTHERS},
    [GCDUMP_REST] = {"[other Handles]", HP_ROOT_OTHER, 0, GCDUMP_OTHERS},
};

/* --- Bytes. ---------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void fail(struct gcdump_input *input,
                                                       const char *format, ...)
{
    va_list arguments;
    if (input->error[0])
        return;
    va_start(arguments, format);
    vsnprintf(input->error, input->capacity, format, arguments);
    va_end(arguments);
}

/* NULL after an error, such as that there are fewer bytes. */
static const uint8_t *take(struct gcdump_input *input, size_t size)
{
    if (input->error[0] || size > input->size - input->next) {
        fail(input, "it ends early, or a count in it is wrong");
        return NULL;
    }
    input->next += size;
    return input->bytes + input->next - size;
}

static uint32_t take_number(struct gcdump_input *input, size_t size)
{
    const uint8_t *bytes = take(input, size);
    uint32_t value = 0;
    if (bytes)
        memcpy(&value, bytes, size);
    return value;
}

static int32_t take_i32(struct gcdump_input *input)
{
    return (int32_t)take_number(input, 4);
}

/* A count of things of `each` bytes or more, which are there. */
static uint32_t take_count(struct gcdump_input *input, size_t each)
{
    int32_t count = take_i32(input);
    if (count >= 0 && (size_t)count <= (input->size - input->next) / each)
        return (uint32_t)count;
    fail(input, "it ends early, or a count in it is wrong");
    return 0;
}

/* Seven bits a byte, the highest first. Bit 7 of a byte says that another follows, bit 6 of the first is
 * the sign. */
static int32_t take_compressed(struct gcdump_input *input)
{
    uint32_t byte = take_number(input, 1), value = byte & 0x40 ? UINT32_MAX << 7 : 0;
    value |= byte & 0x7F;
    for (int i = 1; i < 5 && byte & 0x80; i++) {
        byte = take_number(input, 1);
        value = value << 7 | (byte & 0x7F);
    }
    if (byte & 0x80)
        fail(input, "a number has more than five bytes");
    return (int32_t)value;
}

/* A unit of UTF-16, which has one to three bytes. Zero becomes U+FFFD. */
static uint16_t take_unit(struct gcdump_input *input)
{
    uint32_t value = take_number(input, 1);
    int more = value < 0x80 ? 0 : value < 0xE0 ? 1 : 2;
    value &= more == 0 ? 0x7F : more == 1 ? 0x1F : 0x0F;
    while (more-- > 0)
        value = value << 6 | (take_number(input, 1) & 0x3F);
    return value ? (uint16_t)value : 0xFFFD;
}

/* NULL: the file has none, an error, or no memory. */
static char *take_text(struct gcdump_file *file)
{
    struct gcdump_input *input = &file->input;
    uint16_t units[NAME_UNITS_MAX];
    size_t kept = 0;
    int32_t length = take_i32(input);
    if (length < 0)
        return NULL;
    for (int32_t i = 0; i < length && !input->error[0]; i++) {
        uint16_t unit = take_unit(input);
        if (kept < NAME_UNITS_MAX)
            units[kept++] = unit;
    }
    if (input->error[0])
        return NULL;
    char *text = malloc(3 * kept + 1);
    file->has_memory &= text != NULL;
    if (text)
        wt_utf16_to_utf8((const uint8_t *)units, 2 * kept, text, 3 * kept + 1);
    return text;
}

/* --- The envelope. --------------------------------------------------------------------------- */

bool hp_is_gcdump(const void *bytes, size_t size)
{
    return size >= HP_GCDUMP_HEAD && memcmp(bytes, gcdump_magic, HP_GCDUMP_HEAD) == 0;
}

/* The beginning of an object: tags, and its type. Returns the version of the type, and the one that a
 * reader needs to have. */
static int32_t open_object(struct gcdump_file *file, const char *wanted, int32_t *needed)
{
    static const uint8_t begin[3] = {TAG_OBJECT, TAG_OBJECT, TAG_NULL};
    struct gcdump_input *input = &file->input;
    const uint8_t *tags = take(input, sizeof(begin));
    if (tags && memcmp(tags, begin, sizeof(begin)) != 0)
        fail(input, "it does not begin with an object of type %s", wanted);
    int32_t version = take_i32(input);
    *needed = take_i32(input);
    char *name = take_text(file);
    if (!name || strcmp(name, wanted) != 0)
        fail(input, "it has an object of another type instead of %s", wanted);
    if (take_number(input, 1) != TAG_END)
        fail(input, "the description of type %s is longer than known", wanted);
    free(name);
    return version;
}

static void take_types(struct gcdump_file *file)
{
    file->type_count = take_count(&file->input, 12);
    file->types = calloc((size_t)file->type_count + 1, sizeof(*file->types));
    file->has_memory &= file->types != NULL;
    for (uint32_t i = 0; i < file->type_count && file->has_memory; i++) {
        file->types[i].name = take_text(file);
        file->types[i].size = take_i32(&file->input);
        file->types[i].module = take_text(file);
    }
}

static void take_graph(struct gcdump_file *file)
{
    struct gcdump_input *input = &file->input;
    take(input, 8); /* the sum of all sizes */
    file->root = take_number(input, 4);
    take_types(file);
    file->node_count = take_count(input, 4 + 8);
    file->labels = take(input, (size_t)file->node_count * 4);
    uint32_t size = take_count(input, 1);
    file->blob = *input;
    file->blob.bytes = take(input, size);
    file->blob.size = size;
    if (take_count(input, 8) != file->node_count)
        fail(input, "it has not one address for each node");
    file->addresses = take(input, (size_t)file->node_count * 8);
}

/* The log of the collection. Two objects stand before it, which have no contents in the files whose log
 * matters. */
static void take_log(struct gcdump_file *file)
{
    const uint8_t *tags = take(&file->input, 14);
    if (tags && tags[0] == TAG_BYTE && tags[2] == TAG_END && tags[12] == TAG_NULL &&
        tags[13] == TAG_NULL)
        file->log = take_text(file);
}

/* --- Nodes. ---------------------------------------------------------------------------------- */

uint64_t gcdump_address(const struct gcdump_file *file, uint32_t node)
{
    uint64_t address;
    memcpy(&address, file->addresses + (size_t)node * 8, 8);
    return address;
}

const char *gcdump_name(const struct gcdump_file *file, uint32_t node)
{
    const char *name = file->types[file->nodes[node].type].name;
    return name ? name : "";
}

uint32_t gcdump_child(struct gcdump_file *file, uint32_t node)
{
    int64_t child = (int64_t)node + take_compressed(&file->blob);
    if (child >= 0 && child < file->node_count)
        return (uint32_t)child;
    fail(&file->blob, "node %u refers to one that is not there", node);
    return 0;
}

static void take_node(struct gcdump_file *file, uint32_t number)
{
    struct gcdump_input *blob = &file->blob;
    struct gcdump_node *node = &file->nodes[number];
    uint32_t type = (uint32_t)take_compressed(blob);
    node->type = type >> 1;
    if (node->type >= file->type_count) {
        fail(blob, "node %u has a type that is not there", number);
        return;
    }
    int32_t size = type & 1 ? take_compressed(blob) : file->types[node->type].size;
    int32_t count = take_compressed(blob);
    if (size < 0 || count < 0)
        fail(blob, "node %u has a negative size or count", number);
    node->size = (uint32_t)size;
    node->count = (uint32_t)count;
    node->children = blob->next;
    if (size == 0 && count == 0 && strcmp(gcdump_name(file, number), GCDUMP_UNDEFINED) == 0)
        node->number = GCDUMP_ABSENT;
}

/* Nodes may lie in any order, but those with children not on top of one another: otherwise a small file
 * could make a graph of any size. */
static void take_nodes(struct gcdump_file *file)
{
    struct gcdump_input *blob = &file->blob;
    file->nodes = calloc((size_t)file->node_count + 1, sizeof(*file->nodes));
    file->has_memory &= file->nodes != NULL;
    for (uint32_t i = 0; i < file->node_count && file->has_memory && !blob->error[0]; i++) {
        uint32_t label;
        memcpy(&label, file->labels + (size_t)i * 4, 4);
        blob->next = label < blob->size ? label : blob->size;
        take_node(file, i);
        file->child_count += file->nodes[i].count;
    }
    if (file->node_count && file->root >= file->node_count)
        fail(blob, "its root is not there");
    if (file->child_count > blob->size)
        fail(blob, "its nodes have more children than there is room for");
}

/* A file that was cut may have all of the graph, but not the log, which says if that is complete. */
static void check_trailer(struct gcdump_input *input)
{
    input->next = input->size - 4;
    uint32_t trailer = take_number(input, 4);
    if (trailer != input->size - 8)
        fail(input, "it ends early, or has more at its end than it should");
}

bool gcdump_open(struct gcdump_file *file, const uint8_t *bytes, size_t size, char *error,
                 size_t capacity)
{
    int32_t needed;
    error[0] = 0;
    *file = (struct gcdump_file){.input = {bytes, size, HP_GCDUMP_HEAD, error, capacity},
                                 .has_memory = true};
    int32_t version = open_object(file, "GCHeapDump", &needed);
    if (needed > VERSION_NEWEST)
        fail(&file->input, "its version is newer than known");
    open_object(file, "Graphs.MemoryGraph", &needed);
    if (needed > 0)
        fail(&file->input, "its types have no names, as in dumps of .NET Native");
    take_graph(file);
    if (!error[0] && file->has_memory)
        take_nodes(file);
    if (!error[0] && version >= VERSION_LOG)
        take_log(file);
    check_trailer(&file->input);
    return file->has_memory && !error[0];
}

void gcdump_close(struct gcdump_file *file)
{
    for (uint32_t i = 0; file->types && i < file->type_count; i++) {
        free(file->types[i].name);
        free(file->types[i].module);
    }
    free(file->types);
    free(file->nodes);
    free(file->log);
}
