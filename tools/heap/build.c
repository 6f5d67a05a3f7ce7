/* Source of the events and of what a reader makes of them: dotnet/runtime, ClrEtwAll.man;
 * dotnet/diagnostics, DotNetHeapDumpGraphReader.cs. */
#include "builder.h"
#include "fields.h"
#include "reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MAX (UINT32_MAX - 1)
#define RUNTIME   "Microsoft-Windows-DotNETRuntime"

/* Ids of events of the runtime's provider, and of one of the rundown's. */
enum {
    GC_START = 1,
    GC_END = 2,
    BULK_TYPE = 15,
    BULK_ROOT = 16,
    BULK_WEAK = 17,
    BULK_NODE = 18,
    BULK_EDGE = 19,
    BULK_STATIC = 38,
    MODULE_LOAD = 152,
    MODULE_RUNDOWN = 154,
    HEAP_INCOMPLETE = 65000, /* Weir's, as the next */
    HEAP_TEXT = 65001,
};

enum {
    REASON_INDUCED = 1, /* of GCStart */
    TYPE_BLOCKING = 0,
    TYPE_IS_ARRAY = 8,
    STRING_BYTES_MAX = 4096, /* of a name */
    BULK_HEAD_BYTES = 10,    /* of an event: index, count, number of the runtime */
    TEXT_HEAD_BYTES = 26,    /* of a string's contents: address, size, hash, length */
};

/* --- Memory. --------------------------------------------------------------------------------- */

static void *vector_add(struct hp_builder *builder, struct vector *vector)
{
    if (vector->count == vector->capacity) {
        size_t capacity = vector->capacity ? 2 * vector->capacity : 64;
        void *at = vector->count < NODES_MAX ? realloc(vector->at, capacity * vector->each) : NULL;
        if (!at) {
            builder->has_memory = false;
            return NULL;
        }
        vector->at = at;
        vector->capacity = capacity;
    }
    return vector->at + vector->count++ * vector->each;
}

static void vector_free(struct vector *vector)
{
    free(vector->at);
    vector->at = NULL;
    vector->count = vector->capacity = 0;
}

static void roots_free(struct hp_builder *builder)
{
    struct raw_root *roots = (void *)builder->roots.at;
    for (size_t i = 0; i < builder->roots.count; i++)
        free(roots[i].name);
    vector_free(&builder->roots);
}

static void texts_free(struct hp_builder *builder)
{
    uint8_t **events = (void *)builder->text_payloads.at;
    for (size_t i = 0; i < builder->text_payloads.count; i++)
        free(events[i]);
    vector_free(&builder->text_payloads);
    vector_free(&builder->texts);
}

struct hp_builder *hp_builder_create(uint32_t number)
{
    struct hp_builder *builder = calloc(1, sizeof(*builder));
    if (!builder)
        return NULL;
    builder->wanted = number;
    builder->has_memory = true;
    builder->nodes.each = sizeof(struct raw_node);
    builder->edges.each = sizeof(uint64_t);
    builder->roots.each = sizeof(struct raw_root);
    builder->weaks.each = sizeof(struct raw_weak);
    builder->texts.each = sizeof(struct raw_text);
    builder->text_payloads.each = sizeof(uint8_t *);
    builder->types.each = sizeof(struct hp_type);
    builder->modules.each = sizeof(char *);
    builder->node_events.name = "GCBulkNode";
    builder->edge_events.name = "GCBulkEdge";
    builder->root_events.name = "GCBulkRootEdge";
    builder->weak_events.name = "GCBulkRootConditionalWeakTableElementEdge";
    builder->text_events.name = "HeapText";
    return builder;
}

/* --- Payloads. ------------------------------------------------------------------------------- */

/* What is left of a payload. */
struct rest {
    const uint8_t *at;
    size_t size;
};

static uint64_t take(struct rest *rest, size_t bytes)
{
    uint64_t value = 0;
    if (rest->size < bytes) {
        rest->size = 0;
        return 0;
    }
    memcpy(&value, rest->at, bytes);
    rest->at += bytes;
    rest->size -= bytes;
    return value;
}

/* A text up to its zero, or to the end. NULL if there is no memory. */
static char *take_text(struct hp_builder *builder, struct rest *rest)
{
    size_t bytes = 0;
    while (bytes + 1 < rest->size && (rest->at[bytes] || rest->at[bytes + 1]))
        bytes += 2;
    size_t kept = bytes < STRING_BYTES_MAX ? bytes : STRING_BYTES_MAX;
    char *text = malloc(2 * kept + 4);
    if (text)
        wt_utf16_to_utf8(rest->at, kept, text, 2 * kept + 4);
    else
        builder->has_memory = false;
    take(rest, 0);
    rest->at += bytes;
    rest->size -= bytes;
    take(rest, 2);
    return text;
}

/* Takes index, count and number of the runtime from an event; returns the count. An index that is not the
 * next one is noted. */
static uint32_t open_event(struct hp_builder *builder, struct sequence *sequence, struct rest *rest)
{
    struct hp_graph *graph = builder->graph;
    if (rest->size < BULK_HEAD_BYTES)
        hp_graph_fail(graph, "event %s %u is cut", sequence->name, sequence->next);
    uint32_t index = (uint32_t)take(rest, 4), count = (uint32_t)take(rest, 4);
    take(rest, 2);
    if (index != sequence->next) {
        if (!graph->missing_kind) {
            graph->missing_kind = sequence->name;
            graph->missing_index = sequence->next;
        }
        hp_graph_fail(graph, "event %s %u is missing", sequence->name, sequence->next);
    }
    sequence->next = index + 1;
    return count;
}

/* The bytes of an element of such an event; 0 after marking the graph if that is neither `narrow` nor
 * `wide`. */
static size_t open_bulk(struct hp_builder *builder, struct sequence *sequence, size_t narrow,
                        size_t wide, struct rest *rest, uint32_t *count)
{
    *count = open_event(builder, sequence, rest);
    size_t each = *count ? rest->size / *count : narrow;
    if ((each == narrow || each == wide) && rest->size == each * *count)
        return each;
    hp_graph_fail(builder->graph, "event %s %u has %zu bytes for %u elements", sequence->name,
                  sequence->next - 1, rest->size, *count);
    return 0;
}

/* --- Elements. ------------------------------------------------------------------------------- */

static void take_nodes(struct hp_builder *builder, struct rest rest)
{
    uint32_t count;
    size_t each = open_bulk(builder, &builder->node_events, 28, 32, &rest, &count);
    for (uint32_t i = 0; each && i < count; i++) {
        struct raw_node *node = vector_add(builder, &builder->nodes);
        if (!node)
            return;
        node->address = take(&rest, each - 24);
        node->size = take(&rest, 8);
        node->type = take(&rest, 8);
        node->edges = take(&rest, 8);
    }
}

static void take_edges(struct hp_builder *builder, struct rest rest)
{
    uint32_t count;
    size_t each = open_bulk(builder, &builder->edge_events, 8, 12, &rest, &count);
    for (uint32_t i = 0; each && i < count; i++) {
        uint64_t target = take(&rest, each - 4);
        uint64_t *edge = vector_add(builder, &builder->edges);
        take(&rest, 4);
        if (!edge)
            return;
        *edge = target;
    }
}

static void add_root(struct hp_builder *builder, struct raw_root raw)
{
    struct raw_root *root = vector_add(builder, &builder->roots);
    if (root)
        *root = raw;
    else
        free(raw.name);
}

static void take_roots(struct hp_builder *builder, struct rest rest)
{
    uint32_t count;
    size_t each = open_bulk(builder, &builder->root_events, 13, 21, &rest, &count);
    for (uint32_t i = 0; each && i < count && builder->has_memory; i++) {
        struct raw_root root = {0};
        root.object = take(&rest, each == 13 ? 4 : 8);
        root.kind = (uint8_t)take(&rest, 1);
        root.flags = (uint32_t)take(&rest, 4);
        take(&rest, each == 13 ? 4 : 8);
        if (root.kind >= HP_ROOT_STATIC)
            root.kind = HP_ROOT_OTHER;
        add_root(builder, root);
    }
}

static void take_weaks(struct hp_builder *builder, struct rest rest)
{
    uint32_t count;
    size_t each = open_bulk(builder, &builder->weak_events, 12, 24, &rest, &count);
    for (uint32_t i = 0; each && i < count; i++) {
        struct raw_weak *weak = vector_add(builder, &builder->weaks);
        if (!weak)
            return;
        weak->key = take(&rest, each / 3);
        weak->value = take(&rest, each / 3);
        take(&rest, each / 3);
    }
}

static void take_statics(struct hp_builder *builder, struct rest rest)
{
    uint32_t count = (uint32_t)take(&rest, 4);
    take(&rest, 8);
    take(&rest, 2);
    for (uint32_t i = 0; i < count && builder->has_memory; i++) {
        struct raw_root root = {.kind = HP_ROOT_STATIC};
        if (rest.size < 28) {
            hp_graph_fail(builder->graph, "a GCBulkRootStaticVar event ends within an element");
            return;
        }
        take(&rest, 8);
        root.object = take(&rest, 8);
        root.type = take(&rest, 8);
        root.flags = (uint32_t)take(&rest, 4);
        root.name = take_text(builder, &rest);
        add_root(builder, root);
    }
}

/* What stays of a payload, a copy that the builder owns. False if there is no memory. */
static bool keep(struct hp_builder *builder, struct rest *rest)
{
    uint8_t *copy = malloc(rest->size + 1);
    uint8_t **place = copy ? vector_add(builder, &builder->text_payloads) : NULL;
    if (!place) {
        builder->has_memory = false;
        free(copy);
        return false;
    }
    memcpy(copy, rest->at, rest->size);
    rest->at = *place = copy;
    return true;
}

/* False if the payload ends within it, or it has more bytes than there are. */
static bool take_contents(struct rest *rest, struct raw_text *raw)
{
    if (rest->size < TEXT_HEAD_BYTES)
        return false;
    raw->address = take(rest, 8);
    raw->text.size = take(rest, 8);
    raw->text.hash = take(rest, 8);
    raw->text.length = (uint32_t)take(rest, 2);
    raw->text.bytes = rest->at;
    if (raw->text.length > rest->size || raw->text.length > raw->text.size)
        return false;
    rest->at += raw->text.length;
    rest->size -= raw->text.length;
    return true;
}

static void take_texts(struct hp_builder *builder, struct rest rest)
{
    uint32_t count = open_event(builder, &builder->text_events, &rest), taken = 0;
    struct raw_text raw = {0}, *place;
    if (rest.size && !keep(builder, &rest))
        return;
    for (; taken < count && take_contents(&rest, &raw); taken++) {
        place = vector_add(builder, &builder->texts);
        if (!place)
            return;
        *place = raw;
    }
    if (taken < count || rest.size)
        hp_graph_fail(builder->graph, "event HeapText %u has other bytes than %u texts",
                      builder->text_events.next - 1, count);
}

/* --- Types and modules, of the whole trace. -------------------------------------------------- */

/* .NET's names of generic types, as its tools show them: "List`1[System.String]" is
 * "List<System.String>", and "Int32[]" stays. */
static void name_generic(char *name)
{
    char *to = name;
    for (const char *from = name; *from; from++) {
        if (*from == '`') {
            while (from[1] >= '0' && from[1] <= '9')
                from++;
            continue;
        }
        bool is_array = from[0] == '[' && from[1] == ']';
        if (is_array)
            *to++ = *from++;
        *to++ = is_array ? ']' : *from == '[' ? '<' : *from == ']' ? '>' : *from;
    }
    *to = 0;
}

static void name_array(struct hp_builder *builder, char **name)
{
    size_t length = strlen(*name);
    if (length >= 2 && strcmp(*name + length - 2, "[]") == 0)
        return;
    char *longer = realloc(*name, length + 3);
    if (!longer) {
        builder->has_memory = false;
        return;
    }
    memcpy(longer + length, "[]", 3);
    *name = longer;
}

struct hp_type *hp_type_of(struct hp_builder *builder, uint64_t id)
{
    uint32_t *place = hp_map_place(&builder->type_ids, id);
    if (!place)
        builder->has_memory = false;
    else if (!*place && vector_add(builder, &builder->types)) {
        *place = (uint32_t)builder->types.count;
        ((struct hp_type *)(void *)builder->types.at)[*place - 1] = (struct hp_type){.id = id};
    }
    return place && *place ? (struct hp_type *)(void *)builder->types.at + *place - 1 : NULL;
}

static void take_types(struct hp_builder *builder, struct rest rest)
{
    uint32_t count = (uint32_t)take(&rest, 4);
    take(&rest, 2);
    for (uint32_t i = 0; i < count && rest.size >= 25; i++) {
        struct hp_type *type = hp_type_of(builder, take(&rest, 8));
        uint64_t module = take(&rest, 8);
        take(&rest, 4);
        uint32_t flags = (uint32_t)take(&rest, 4);
        take(&rest, 1);
        char *name = take_text(builder, &rest);
        uint32_t parameters = (uint32_t)take(&rest, 4);
        for (uint32_t j = 0; j < parameters && rest.size; j++)
            take(&rest, 8);
        if (name && !builder->is_weir)
            name_generic(name);
        if (name && flags & TYPE_IS_ARRAY)
            name_array(builder, &name);
        if (!type || type->name) {
            free(name);
            continue;
        }
        type->name = name;
        type->module_id = module;
    }
}

static void take_module(struct hp_builder *builder, struct rest rest)
{
    uint32_t *place = hp_map_place(&builder->module_ids, take(&rest, 8));
    take(&rest, 8);
    take(&rest, 8);
    char *path = take_text(builder, &rest);
    if (!place)
        builder->has_memory = false;
    if (!path || !place || *place || !vector_add(builder, &builder->modules)) {
        free(path);
        return;
    }
    *place = (uint32_t)builder->modules.count;
    ((char **)(void *)builder->modules.at)[*place - 1] = path;
}

/* --- Events. --------------------------------------------------------------------------------- */

static void forget(struct hp_builder *builder)
{
    hp_graph_free(builder->graph);
    builder->graph = NULL;
    roots_free(builder);
    vector_free(&builder->nodes);
    vector_free(&builder->edges);
    vector_free(&builder->weaks);
    texts_free(builder);
    builder->text_events.next = 0;
    builder->node_events.next = builder->edge_events.next = 0;
    builder->root_events.next = builder->weak_events.next = 0;
}

static bool is_runtimes(const struct wt_event *event, int32_t id)
{
    return event->metadata->event_id == id && strcmp(event->metadata->provider_name, RUNTIME) == 0;
}

bool hp_event_begins(const struct wt_event *event, uint32_t *number)
{
    struct rest rest = {event->payload, event->payload_size};
    if (!is_runtimes(event, GC_START) || rest.size < 16)
        return false;
    *number = (uint32_t)take(&rest, 4);
    uint32_t depth = (uint32_t)take(&rest, 4), reason = (uint32_t)take(&rest, 4);
    return depth >= 2 && reason == REASON_INDUCED && take(&rest, 4) == TYPE_BLOCKING;
}

bool hp_event_ends(const struct wt_event *event, uint32_t number)
{
    struct rest rest = {event->payload, event->payload_size};
    return is_runtimes(event, GC_END) && rest.size >= 4 && take(&rest, 4) == number;
}

static void begin(struct hp_builder *builder, const struct wt_event *event)
{
    uint32_t number;
    if (!hp_event_begins(event, &number) || (builder->wanted && number != builder->wanted))
        return;
    /* The first whole one: the end of a session may make another, which it cuts off. */
    if (!builder->wanted && builder->has_ended && builder->nodes.count)
        return;
    forget(builder);
    builder->graph = calloc(1, sizeof(*builder->graph));
    builder->has_memory &= builder->graph != NULL;
    if (!builder->graph)
        return;
    builder->graph->number = number;
    builder->graph->is_complete = true;
    builder->capture_thread = event->capture_thread;
    builder->is_open = true;
    builder->has_ended = false;
}

static void end(struct hp_builder *builder, const struct wt_event *event)
{
    if (!builder->is_open || !hp_event_ends(event, builder->graph->number))
        return;
    builder->is_open = false;
    builder->has_ended = true;
}

static void mark(struct hp_builder *builder, struct rest rest)
{
    if ((uint32_t)take(&rest, 4) != builder->graph->number)
        return;
    take(&rest, 8);
    char *reason = take_text(builder, &rest);
    hp_graph_fail(builder->graph, "%s", reason ? reason : "the writer says so");
    free(reason);
}

static void take_element(struct hp_builder *builder, int32_t id, struct rest rest)
{
    switch (id) {
    case BULK_ROOT:
        take_roots(builder, rest);
        break;
    case BULK_WEAK:
        take_weaks(builder, rest);
        break;
    case BULK_NODE:
        take_nodes(builder, rest);
        break;
    case BULK_EDGE:
        take_edges(builder, rest);
        break;
    case BULK_STATIC:
        take_statics(builder, rest);
        break;
    case HEAP_TEXT:
        take_texts(builder, rest);
        break;
    case HEAP_INCOMPLETE:
        mark(builder, rest);
        break;
    default:
        break;
    }
}

void hp_builder_event(struct hp_builder *builder, const struct wt_event *event)
{
    const char *provider = event->metadata->provider_name;
    int32_t id = event->metadata->event_id;
    struct rest rest = {event->payload, event->payload_size};
    builder->is_weir |= strcmp(provider, "Weir") == 0;
    if (!builder->has_memory)
        return;
    if (strcmp(provider, "Microsoft-Windows-DotNETRuntimeRundown") == 0) {
        if (id == MODULE_RUNDOWN)
            take_module(builder, rest);
        return;
    }
    if (strcmp(provider, RUNTIME) != 0)
        return;
    if (id == GC_START)
        begin(builder, event);
    else if (id == GC_END)
        end(builder, event);
    else if (id == BULK_TYPE)
        take_types(builder, rest);
    else if (id == MODULE_LOAD)
        take_module(builder, rest);
    else if (builder->is_open)
        take_element(builder, id, rest);
}

void hp_builder_gap(struct hp_builder *builder, const struct wt_gap *gap)
{
    if (builder->is_open && gap->count && gap->thread->capture_thread == builder->capture_thread)
        hp_graph_fail(builder->graph, "%llu events of the thread that walked were lost",
                      (unsigned long long)gap->count);
}

/* --- The graph. ------------------------------------------------------------------------------ */

static void builder_free(struct hp_builder *builder)
{
    struct hp_type *types = (void *)builder->types.at;
    char **modules = (void *)builder->modules.at;
    forget(builder);
    for (size_t i = 0; i < builder->types.count; i++)
        free(types[i].name);
    for (size_t i = 0; i < builder->modules.count; i++)
        free(modules[i]);
    vector_free(&builder->types);
    vector_free(&builder->modules);
    hp_map_free(&builder->type_ids);
    hp_map_free(&builder->module_ids);
    free(builder);
}

struct hp_graph *hp_builder_finish(struct hp_builder *builder, bool *has_memory)
{
    struct hp_graph *graph = builder->graph;
    if (graph)
        hp_builder_link(builder, graph);
    *has_memory = builder->has_memory;
    if (graph && builder->has_memory) {
        graph->types = (void *)builder->types.at;
        graph->type_count = (uint32_t)builder->types.count;
        graph->modules = (void *)builder->modules.at;
        graph->module_count = (uint32_t)builder->modules.count;
        graph->text_payloads = (void *)builder->text_payloads.at;
        graph->text_payload_count = (uint32_t)builder->text_payloads.count;
        builder->types.at = builder->modules.at = builder->text_payloads.at = NULL;
        builder->types.count = builder->modules.count = builder->text_payloads.count = 0;
        builder->graph = NULL;
        *has_memory = hp_types_merge(graph);
        if (!*has_memory)
            hp_graph_free(graph);
    }
    builder_free(builder);
    return *has_memory ? graph : NULL;
}
