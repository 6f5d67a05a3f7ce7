/*
 * From a graph to a .gcdump file. First come the nodes that stand for roots, then the objects in their
 * order, and last one for all objects that the trace lacks. The file has the place of each node ahead of
 * the nodes, and nothing is written if it would be too large, so everything is encoded twice: first to
 * see how long it is.
 */
#include "gcdump.h"
#include "reach.h"

#include <stdlib.h>
#include <string.h>

enum { DUMP_VERSION = 10, DUMP_NEEDS = 8, GRAPH_VERSION = 1, GRAPH_NEEDS = 0 };

/* Types of objects above 1,000 bytes are split by the size of these, as dotnet-gcdump does. */
static const struct {
    const char *name;
    uint32_t least; /* bytes */
} classes[] = {{"", 0},         {"1K", 1001},      {"10K", 10000},     {"100K", 100000},
               {"1M", 1000000}, {"10M", 10000000}, {"100M", 100000000}};
#define CLASSES (sizeof(classes) / sizeof(classes[0]))

struct out_type {
    uint32_t number; /* in the file; 0: none yet */
    uint32_t size;   /* of its first object */
};

/* A node that stands for roots: those of a group, or a variable. */
struct stand {
    uint32_t group;
    uint32_t root; /* HP_NONE: it is a group */
};

struct writer {
    const struct hp_graph *graph;
    struct hp_reach reach;
    FILE *file;          /* NULL: bytes are only counted */
    uint64_t count;      /* bytes so far */
    uint64_t nodes_size; /* bytes */
    struct stand *stands;
    struct out_type *types; /* CLASSES for each of the graph */
    uint32_t *used;         /* those of `types` that have a number, by number */
    uint32_t *labels;
    uint32_t stand_count, used_count, node_count;
    bool has_absent;
};

/* --- Bytes. ---------------------------------------------------------------------------------- */

static void put(struct writer *writer, const void *bytes, size_t size)
{
    writer->count += size;
    if (writer->file)
        fwrite(bytes, 1, size, writer->file);
}

static void put_byte(struct writer *writer, uint32_t value)
{
    writer->count++;
    if (writer->file)
        putc((int)value, writer->file);
}

static void put_i32(struct writer *writer, uint64_t value)
{
    uint32_t bytes = (uint32_t)value;
    put(writer, &bytes, sizeof(bytes));
}

static void put_i64(struct writer *writer, uint64_t value)
{
    put(writer, &value, sizeof(value));
}

static void put_compressed(struct writer *writer, int32_t value)
{
    int more = 0;
    while (more < 4 && (value < -(INT32_C(1) << (6 + 7 * more)) || value >> (6 + 7 * more) > 0))
        more++;
    for (; more > 0; more--)
        put_byte(writer, ((uint32_t)value >> 7 * more & 0x7F) | 0x80);
    put_byte(writer, (uint32_t)value & 0x7F);
}

/* The bytes of the character that begins here. */
static size_t length_of(const unsigned char *at)
{
    return *at < 0xC0 ? 1 : *at < 0xE0 ? 2 : *at < 0xF0 ? 3 : 4;
}

/* Units of UTF-16. Those of a pair have three bytes each. */
static void put_pair(struct writer *writer, const unsigned char *at)
{
    uint32_t point = (at[0] & 7u) << 18 | (at[1] & 63u) << 12 | (at[2] & 63u) << 6 | (at[3] & 63u);
    const uint32_t units[2] = {0xD800 + ((point - 0x10000) >> 10), 0xDC00 + (point & 0x3FF)};
    for (int i = 0; i < 2; i++) {
        put_byte(writer, 0xE0 | units[i] >> 12);
        put_byte(writer, 0x80 | (units[i] >> 6 & 63));
        put_byte(writer, 0x80 | (units[i] & 63));
    }
}

/* Of UTF-8; its length is that in UTF-16. */
static void put_text(struct writer *writer, const char *text)
{
    uint32_t units = 0;
    const unsigned char *at = (const unsigned char *)text;
    if (!text) {
        put_i32(writer, UINT32_MAX);
        return;
    }
    for (; *at; at += length_of(at))
        units += length_of(at) == 4 ? 2 : 1;
    put_i32(writer, units);
    for (at = (const unsigned char *)text; *at; at += length_of(at))
        if (length_of(at) == 4)
            put_pair(writer, at);
        else
            put(writer, at, length_of(at));
}

/* --- Nodes that stand for roots. ------------------------------------------------------------- */

static uint32_t group_of(const struct hp_root *root)
{
    if (root->kind == HP_ROOT_STATIC)
        return root->flags & HP_STATIC_IS_THREAD_LOCAL ? GCDUMP_THREAD_STATICS : GCDUMP_STATICS;
    if (root->kind == HP_ROOT_STACK)
        return GCDUMP_LOCALS;
    if (root->flags & HP_ROOT_IS_COUNTED)
        return GCDUMP_COUNTED;
    if (root->kind == HP_ROOT_HANDLE)
        return root->flags == HP_ROOT_IS_PINNED ? GCDUMP_PINNING : GCDUMP_STRONG;
    return root->kind == HP_ROOT_FINALIZER ? GCDUMP_FINALIZERS : GCDUMP_REST;
}

/* Groups that have roots, and a variable for each static root. A weak root keeps nothing, and has no
 * place in the file. */
static bool find_stands(struct writer *writer)
{
    const struct hp_graph *graph = writer->graph;
    bool is_used[GCDUMP_GROUPS] = {[GCDUMP_ALL] = true};
    writer->stands = malloc((GCDUMP_GROUPS + (size_t)graph->root_count) * sizeof(struct stand));
    if (!writer->stands)
        return false;
    for (uint32_t i = 0; i < graph->root_count; i++) {
        uint32_t group = group_of(&graph->roots[i]);
        if (!(graph->roots[i].flags & HP_ROOT_IS_WEAK))
            is_used[group] = is_used[gcdump_groups[group].above] = true;
    }
    for (uint32_t i = 0; i < GCDUMP_GROUPS; i++)
        if (is_used[i])
            writer->stands[writer->stand_count++] = (struct stand){i, HP_NONE};
    for (uint32_t i = 0; i < graph->root_count; i++)
        if (graph->roots[i].kind == HP_ROOT_STATIC && !(graph->roots[i].flags & HP_ROOT_IS_WEAK))
            writer->stands[writer->stand_count++] = (struct stand){group_of(&graph->roots[i]), i};
    return true;
}

static void put_child(struct writer *writer, uint32_t from, uint32_t to)
{
    put_compressed(writer, (int32_t)to - (int32_t)from);
}

/* The nodes that stand for a part of a group: groups below it, and variables. Writes them, or returns
 * how many there are. */
static uint32_t each_part(struct writer *writer, uint32_t from, bool is_written)
{
    uint32_t group = writer->stands[from].group, count = 0;
    for (uint32_t i = 1; i < writer->stand_count; i++) {
        const struct stand *stand = &writer->stands[i];
        bool is_group = stand->root == HP_NONE;
        if ((is_group ? gcdump_groups[stand->group].above : stand->group) != group)
            continue;
        count++;
        if (is_written)
            put_child(writer, from, i);
    }
    return count;
}

static uint32_t each_root(struct writer *writer, uint32_t from, bool is_written)
{
    const struct hp_graph *graph = writer->graph;
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->root_count; i++) {
        const struct hp_root *root = &graph->roots[i];
        if (root->kind == HP_ROOT_STATIC || root->flags & HP_ROOT_IS_WEAK ||
            group_of(root) != writer->stands[from].group)
            continue;
        count++;
        if (is_written)
            put_child(writer, from, writer->stand_count + root->node);
    }
    return count;
}

static void put_stand(struct writer *writer, uint32_t number)
{
    const struct stand *stand = &writer->stands[number];
    put_compressed(writer, (int32_t)(1 + number) << 1);
    if (stand->root != HP_NONE) {
        put_compressed(writer, 1);
        put_child(writer, number, writer->stand_count + writer->graph->roots[stand->root].node);
        return;
    }
    put_compressed(writer,
                   (int32_t)(each_part(writer, number, false) + each_root(writer, number, false)));
    each_part(writer, number, true);
    each_root(writer, number, true);
}

/* --- Types: UNDEFINED, one for each stand, and those of objects. ------------------------------ */

static uint32_t size_of(const struct hp_graph *graph, uint32_t node)
{
    return graph->sizes[node] < INT32_MAX ? (uint32_t)graph->sizes[node] : INT32_MAX;
}

static struct out_type *type_of(const struct writer *writer, uint32_t node)
{
    uint32_t size = size_of(writer->graph, node);
    size_t class = CLASSES - 1;
    while (size < classes[class].least)
        class --;
    return &writer->types[writer->graph->node_types[node] * CLASSES + class];
}

static void find_types(struct writer *writer)
{
    for (uint32_t i = 0; i < writer->graph->node_count; i++) {
        struct out_type *type = type_of(writer, i);
        if (type->number)
            continue;
        writer->used[writer->used_count++] = (uint32_t)(type - writer->types);
        type->number = writer->stand_count + writer->used_count;
        type->size = size_of(writer->graph, i);
    }
}

static char *joined(const char *first, const char *second, const char *third, const char *fourth,
                    const char *last)
{
    size_t size = strlen(first) + strlen(second) + strlen(third) + strlen(fourth) + strlen(last);
    char *text = malloc(size + 1);
    if (text)
        snprintf(text, size + 1, "%s%s%s%s%s", first, second, third, fourth, last);
    return text;
}

/* False if there is no memory. */
static bool put_type(struct writer *writer, char *name, uint32_t size, const char *module)
{
    put_text(writer, name);
    put_i32(writer, size);
    put_text(writer, module);
    bool has_name = name != NULL;
    free(name);
    return has_name;
}

static bool put_stand_type(struct writer *writer, const struct stand *stand)
{
    if (stand->root == HP_NONE)
        return put_type(writer, joined(gcdump_groups[stand->group].name, "", "", "", ""), 0, NULL);
    const struct hp_root *root = &writer->graph->roots[stand->root];
    bool has_type = root->type != HP_NONE;
    return put_type(writer,
                    joined(GCDUMP_VARIABLE, has_type ? writer->graph->types[root->type].name : "",
                           has_type ? "." : "", root->name ? root->name : "", "]"),
                    0, NULL);
}

static bool put_object_type(struct writer *writer, uint32_t used)
{
    const struct hp_type *type = &writer->graph->types[used / CLASSES];
    const char *class = classes[used % CLASSES].name;
    return put_type(
        writer, joined(type->name, *class ? GCDUMP_SIZE_CLASS : "", class, *class ? ")" : "", ""),
        writer->types[used].size, type->module);
}

static bool put_types(struct writer *writer)
{
    put_i32(writer, 1 + writer->stand_count + writer->used_count);
    bool has_memory = put_type(writer, joined(GCDUMP_UNDEFINED, "", "", "", ""), 0, NULL);
    for (uint32_t i = 0; has_memory && i < writer->stand_count; i++)
        has_memory = put_stand_type(writer, &writer->stands[i]);
    for (uint32_t i = 0; has_memory && i < writer->used_count; i++)
        has_memory = put_object_type(writer, writer->used[i]);
    return has_memory;
}

/* --- Objects. -------------------------------------------------------------------------------- */

/* The values of weak tables whose key the object is follow its edges: they live as long as it does. */
static void put_object(struct writer *writer, uint32_t object)
{
    const struct hp_graph *graph = writer->graph;
    const struct out_type *type = type_of(writer, object);
    struct hp_cursor edges = hp_reach_begin(&writer->reach, object), weak = edges;
    uint32_t size = size_of(graph, object), from = writer->stand_count + object, value;
    uint64_t count = edges.edge_end - edges.edge;
    weak.edge = weak.edge_end;
    for (struct hp_cursor next = weak; hp_reach_next(&writer->reach, &next) != HP_NONE;)
        count++;
    put_compressed(writer, (int32_t)(type->number << 1 | (size != type->size)));
    if (size != type->size)
        put_compressed(writer, (int32_t)size);
    put_compressed(writer, (int32_t)count);
    for (uint64_t i = edges.edge; i < edges.edge_end; i++) {
        uint32_t to = graph->edges[i] == HP_NONE ? graph->node_count : graph->edges[i];
        put_child(writer, from, writer->stand_count + to);
    }
    while ((value = hp_reach_next(&writer->reach, &weak)) != HP_NONE)
        put_child(writer, from, writer->stand_count + value);
}

/* What all nodes are encoded as; sets their places and their size. */
static void put_nodes(struct writer *writer)
{
    uint64_t start = writer->count;
    put_compressed(writer, 0); /* UNDEFINED, without children */
    put_compressed(writer, 0);
    for (uint32_t i = 0; i < writer->node_count; i++) {
        uint32_t object = i - writer->stand_count;
        writer->labels[i] = (uint32_t)(writer->count - start);
        if (i < writer->stand_count)
            put_stand(writer, i);
        else if (object < writer->graph->node_count)
            put_object(writer, object);
        else
            writer->labels[i] = 0;
    }
    writer->nodes_size = writer->count - start;
}

/* --- The file. ------------------------------------------------------------------------------- */

static void open_object(struct writer *writer, const char *type, uint32_t version, uint32_t needs)
{
    put_byte(writer, TAG_OBJECT);
    put_byte(writer, TAG_OBJECT);
    put_byte(writer, TAG_NULL);
    put_i32(writer, version);
    put_i32(writer, needs);
    put_text(writer, type);
    put_byte(writer, TAG_END);
}

static void put_addresses(struct writer *writer)
{
    const struct hp_graph *graph = writer->graph;
    put_i32(writer, writer->node_count);
    for (uint32_t i = 0; i < writer->stand_count; i++)
        put_i64(writer, 0);
    put(writer, graph->addresses, graph->node_count * sizeof(*graph->addresses));
    if (writer->has_absent)
        put_i64(writer, 0);
}

static bool put_graph(struct writer *writer)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < writer->graph->node_count; i++)
        bytes += size_of(writer->graph, i);
    open_object(writer, "Graphs.MemoryGraph", GRAPH_VERSION, GRAPH_NEEDS);
    put_i64(writer, bytes);
    put_i32(writer, 0); /* the root */
    if (!put_types(writer))
        return false;
    put_i32(writer, writer->node_count);
    put(writer, writer->labels, writer->node_count * sizeof(*writer->labels));
    put_i32(writer, writer->nodes_size);
    put_nodes(writer);
    put_addresses(writer);
    put_byte(writer, TAG_BYTE); /* addresses have 64 bits */
    put_byte(writer, 1);
    put_byte(writer, TAG_END);
    return true;
}

/* What is known of the process: nothing. */
static void put_process(struct writer *writer)
{
    static const float one = 1;
    char log[sizeof(writer->graph->reason) + sizeof(GCDUMP_INCOMPLETE)];
    snprintf(log, sizeof(log), "%s%s", GCDUMP_INCOMPLETE, writer->graph->reason);
    put_byte(writer, 1); /* addresses have 64 bits, again */
    put(writer, &one, sizeof(one));
    put(writer, &one, sizeof(one));
    put_byte(writer, TAG_NULL); /* of JavaScript */
    put_byte(writer, TAG_NULL); /* of .NET's segments */
    put_text(writer, writer->graph->is_complete ? NULL : log);
    put_i64(writer, 0);     /* time */
    put_text(writer, NULL); /* machine */
    put_text(writer, NULL); /* process */
    put_i32(writer, 0);     /* process id */
    put_i64(writer, 0);     /* memory committed */
    put_i64(writer, 0);     /* working set */
    put_i32(writer, 0);     /* factors by type */
}

/* An object that may be skipped, the end of the dump, and the table of where what may be skipped ends. */
static void put_end(struct writer *writer)
{
    put_byte(writer, TAG_SKIP);
    put_i32(writer, 0);         /* the first in the table */
    put_byte(writer, TAG_NULL); /* of COM */
    uint64_t skipped = writer->count;
    put_byte(writer, TAG_STRING);
    put_text(writer, "weir");
    put_byte(writer, TAG_END);
    put_byte(writer, TAG_END);
    uint64_t table = writer->count;
    put_i32(writer, 1);
    put_i32(writer, skipped);
    uint64_t trailer = writer->count;
    put_i32(writer, table);
    put_i32(writer, trailer);
}

static bool put_file(struct writer *writer)
{
    writer->count = 0;
    put(writer, gcdump_magic, HP_GCDUMP_HEAD);
    open_object(writer, "GCHeapDump", DUMP_VERSION, DUMP_NEEDS);
    if (!put_graph(writer))
        return false;
    put_process(writer);
    put_end(writer);
    return true;
}

/* --- The command. ---------------------------------------------------------------------------- */

static bool allocate(struct writer *writer)
{
    size_t types = (size_t)writer->graph->type_count * CLASSES + 1;
    writer->types = calloc(types, sizeof(*writer->types));
    writer->used = malloc(types * sizeof(*writer->used));
    return writer->types && writer->used && find_stands(writer) &&
           hp_reach_make(&writer->reach, writer->graph);
}

/* Numbers in the file have 32 bits with a sign, and so have those of the nodes that may be added. */
static bool plan(struct writer *writer)
{
    const struct hp_graph *graph = writer->graph;
    for (uint64_t i = 0; i < graph->edge_count && !writer->has_absent; i++)
        writer->has_absent = graph->edges[i] == HP_NONE;
    uint64_t nodes = (uint64_t)writer->stand_count + graph->node_count + writer->has_absent;
    if (nodes > INT32_MAX)
        return false;
    writer->node_count = (uint32_t)nodes;
    find_types(writer);
    return true;
}

/* The file's offsets have 32 bits, and readers may take them to have a sign. */
static enum hp_gcdump_result put_twice(struct writer *writer, FILE *file)
{
    if (!put_file(writer))
        return HP_GCDUMP_NO_MEMORY;
    if (writer->count > INT32_MAX)
        return HP_GCDUMP_TOO_LARGE;
    writer->file = file;
    return put_file(writer) ? HP_GCDUMP_OK : HP_GCDUMP_NO_MEMORY;
}

enum hp_gcdump_result hp_gcdump_write(const struct hp_graph *graph, FILE *file)
{
    struct writer writer = {.graph = graph};
    enum hp_gcdump_result result = HP_GCDUMP_NO_MEMORY;
    if (allocate(&writer) && !plan(&writer))
        result = HP_GCDUMP_TOO_LARGE;
    else if (writer.node_count)
        writer.labels = malloc(writer.node_count * sizeof(*writer.labels));
    if (writer.labels)
        result = put_twice(&writer, file);
    hp_reach_free(&writer.reach);
    free(writer.labels);
    free(writer.stands);
    free(writer.types);
    free(writer.used);
    return result;
}
