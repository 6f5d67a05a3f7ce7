/* Source of the order and the payloads: dotnet/diagnostics, DotNetHeapDumpGraphReader.cs. */
#include "runtime/heap_walk.h"

#include <stdio.h>
#include <string.h>
#include "base/atomic.h"
#include "base/compiler.h"
#include "base/utf8.h"
#include "lane/record.h"
#include "lane/segment.h"
#include "nettrace/writer.h"
#include "os/os.h"
#include "runtime/dotnet.h"
#include "runtime/modules.h"
#include "session/session.h"

#define GENERATION     2u /* with these four, GCStart says what dumpers look for */
#define REASON_INDUCED 1u
#define TYPE_BLOCKING  0u
#define CLIENT_NUMBER  0u
#define APP_DOMAIN     1u
#define ELEMENT_CLASS  0x12u /* CorElementType */
#define NAME_BYTES_MAX 1000u /* of UTF-8 */
#define ELEMENT_BYTES  (2 * NAME_BYTES_MAX + 2 + 40)
#define HEAD_BYTES     16u  /* of an event, at most, in front of the elements: 14, and a count */
#define EDGE_COUNT_AT  24u  /* in a node */
#define TRIES          100u /* to write the end */
#define TRY_NS         2000000u
#define FIELD_UNKNOWN  0u  /* of an edge: which field refers */
#define TEXT_BYTES_MAX 64u /* of the contents of a string */
#define VALUES_BYTES   ((uint64_t)WR_HEAP_KINDS * WR_HEAP_VALUES_MAX)

uint32_t wr_heap_elements_max;
static struct wr_u32 walks; /* in this process */

/* --- Events. --------------------------------------------------------------------------------- */

/* False if the event was lost, or the session has ended. */
static bool emit(uint64_t id, enum wr_heap_kind kind, const struct wr_heap_bulk *bulk)
{
    switch (kind) {
    case WR_HEAP_TYPES:
        return DotNet_BulkType_to(id, bulk->count, WR_DOTNET_CLR, bulk->values, bulk->length);
    case WR_HEAP_ROOTS:
        return DotNet_GCBulkRootEdge_to(id, bulk->index, bulk->count, WR_DOTNET_CLR, bulk->values,
                                        bulk->length);
    case WR_HEAP_WEAKS:
        return DotNet_GCBulkRootConditionalWeakTableElementEdge_to(
            id, bulk->index, bulk->count, WR_DOTNET_CLR, bulk->values, bulk->length);
    case WR_HEAP_NODES:
        return DotNet_GCBulkNode_to(id, bulk->index, bulk->count, WR_DOTNET_CLR, bulk->values,
                                    bulk->length);
    case WR_HEAP_EDGES:
        return DotNet_GCBulkEdge_to(id, bulk->index, bulk->count, WR_DOTNET_CLR, bulk->values,
                                    bulk->length);
    case WR_HEAP_TEXTS:
        return DotNet_HeapText_to(id, bulk->index, bulk->count, WR_DOTNET_CLR, bulk->values,
                                  bulk->length);
    default:
        return DotNet_GCBulkRootStaticVar_to(id, bulk->count, APP_DOMAIN, WR_DOTNET_CLR,
                                             bulk->values, bulk->length);
    }
}

/* An event that the session does not want is not written, and nothing is lost. */
static bool wants(const struct weir_heap_graph *graph, uint64_t keyword)
{
    return graph->order.keywords & keyword && graph->order.level >= WEIR_LEVEL_INFO;
}

static void note(struct weir_heap_graph *graph, bool is_written)
{
    if (is_written)
        return;
    graph->is_over = wr_sessions_segment_bytes(graph->order.session_id) == 0;
    graph->lost++;
}

static void bulk_flush(struct weir_heap_graph *graph, enum wr_heap_kind kind)
{
    struct wr_heap_bulk *bulk = &graph->bulks[kind];
    uint64_t keyword = kind == WR_HEAP_TYPES ? WR_DOTNET_TYPE : WR_DOTNET_HEAP_DUMP;
    if (bulk->count && !graph->is_over && wants(graph, keyword))
        note(graph, emit(graph->order.session_id, kind, bulk));
    bulk->index += bulk->count != 0;
    bulk->count = bulk->length = 0;
}

/* --- Elements. ------------------------------------------------------------------------------- */

struct element {
    uint32_t length;
    unsigned char bytes[ELEMENT_BYTES];
};

static void put(struct element *element, uint64_t value, uint32_t bytes)
{
    memcpy(element->bytes + element->length, &value, bytes); /* little-endian, as all hosts are */
    element->length += bytes;
}

static void put_name(struct element *element, const char *name)
{
    const char *text = name ? name : "";
    uint32_t bytes = (uint32_t)wr_utf8_fitting(text, NAME_BYTES_MAX);
    unsigned char *end =
        wr_utf16_from_text((const unsigned char *)text, bytes, element->bytes + element->length);
    element->length = (uint32_t)(end - element->bytes);
}

/* Returns the element in its event. */
static unsigned char *bulk_add(struct weir_heap_graph *graph, enum wr_heap_kind kind,
                               const void *bytes, uint32_t length)
{
    struct wr_heap_bulk *bulk = &graph->bulks[kind];
    if (length > graph->capacity - bulk->length ||
        (wr_heap_elements_max && bulk->count == wr_heap_elements_max))
        bulk_flush(graph, kind);
    unsigned char *at = bulk->values + bulk->length;
    memcpy(at, bytes, length);
    bulk->length += length;
    bulk->count++;
    return at;
}

/* How many edges the last node has is known only now; until then it stays in its event. */
static void node_close(struct weir_heap_graph *graph)
{
    if (graph->node)
        memcpy(graph->node + EDGE_COUNT_AT, &graph->node_edges, sizeof graph->node_edges);
    graph->node = NULL;
    graph->node_edges = 0;
}

WEIR_API bool weir_heap_type(struct weir_heap_graph *graph, uint64_t type, const char *name,
                             uint64_t module, uint32_t flags)
{
    struct element element;
    element.length = 0;
    put(&element, type, 8);
    put(&element, module, 8);
    put(&element, 0, 4); /* the name's id, for types without a name */
    put(&element, flags & WEIR_HEAP_TYPE_ARRAY, 4);
    put(&element, ELEMENT_CLASS, 1);
    put_name(&element, name);
    put(&element, 0, 4); /* type parameters */
    bulk_add(graph, WR_HEAP_TYPES, element.bytes, element.length);
    return !graph->is_over;
}

WEIR_API bool weir_heap_module(struct weir_heap_graph *graph, uint64_t module, const char *path)
{
    wr_modules_note(module, path);
    return !graph->is_over;
}

WEIR_API bool weir_heap_node(struct weir_heap_graph *graph, uint64_t address, uint64_t size,
                             uint64_t type)
{
    const uint64_t node[4] = {address, size, type, 0};
    node_close(graph);
    graph->node = bulk_add(graph, WR_HEAP_NODES, node, sizeof node);
    return !graph->is_over;
}

WEIR_API bool weir_heap_edge(struct weir_heap_graph *graph, uint64_t target)
{
    unsigned char edge[12];
    const uint32_t field = FIELD_UNKNOWN;
    if (!graph->node)
        weir_heap_fail(graph, "the host has told an edge before any node");
    if (target == 0 || !graph->node)
        return !graph->is_over;
    memcpy(edge, &target, 8);
    memcpy(edge + 8, &field, 4);
    bulk_add(graph, WR_HEAP_EDGES, edge, sizeof edge);
    graph->node_edges++;
    return !graph->is_over;
}

WEIR_API bool weir_heap_root(struct weir_heap_graph *graph, enum weir_heap_root_kind kind,
                             uint32_t flags, uint64_t object, uint64_t root)
{
    struct element element;
    element.length = 0;
    put(&element, object, 8);
    put(&element, (uint64_t)kind, 1);
    put(&element, flags, 4);
    put(&element, root, 8);
    bulk_add(graph, WR_HEAP_ROOTS, element.bytes, element.length);
    return !graph->is_over;
}

WEIR_API bool weir_heap_static(struct weir_heap_graph *graph, uint64_t object, uint64_t type,
                               const char *name, bool is_thread_local)
{
    struct element element;
    element.length = 0;
    put(&element, ++graph->statics, 8); /* a number for the place */
    put(&element, object, 8);
    put(&element, type, 8);
    put(&element, is_thread_local, 4);
    put_name(&element, name);
    bulk_add(graph, WR_HEAP_STATICS, element.bytes, element.length);
    return !graph->is_over;
}

WEIR_API bool weir_heap_weak(struct weir_heap_graph *graph, uint64_t key, uint64_t value,
                             uint64_t table)
{
    const uint64_t weak[3] = {key, value, table};
    bulk_add(graph, WR_HEAP_WEAKS, weak, sizeof weak);
    return !graph->is_over;
}

WEIR_API bool weir_heap_visit(struct weir_heap_graph *graph, uint64_t address)
{
    if (address == 0)
        return false;
    enum wr_visit visit = wr_visited_add(&graph->visited, address, graph->order.host.visited_max);
    if (visit == WR_VISIT_NO_ROOM)
        weir_heap_fail(graph, "there are more objects than the walk may remember");
    return visit == WR_VISIT_FIRST;
}

WEIR_API void weir_heap_fail(struct weir_heap_graph *graph, const char *reason)
{
    if (graph->reason[0] == 0) /* the first one counts */
        snprintf(graph->reason, sizeof graph->reason, "%s", reason ? reason : "unknown");
}

/* --- Contents. ------------------------------------------------------------------------------- */

#define HASH_FACTOR UINT64_C(0xC6A4A7935BD1E995)

static uint64_t hash_add(uint64_t hash, uint64_t word)
{
    word *= HASH_FACTOR;
    word = (word ^ word >> 47) * HASH_FACTOR;
    return (hash ^ word) * HASH_FACTOR;
}

/* MurmurHash64A, except that the last bytes are mixed as a word. Eight bytes a step, because the host stands
 * still meanwhile; 64 bits, because readers take strings with equal hashes for equal. */
static uint64_t hash_of(const unsigned char *bytes, size_t size)
{
    uint64_t hash = size * HASH_FACTOR, word = 0;
    size_t rest = size % sizeof word;
    for (const unsigned char *end = bytes + (size - rest); bytes < end; bytes += sizeof word) {
        memcpy(&word, bytes, sizeof word);
        hash = hash_add(hash, word);
    }
    word = 0;
    memcpy(&word, bytes, rest);
    hash = hash_add(hash, word);
    hash = (hash ^ hash >> 47) * HASH_FACTOR;
    return hash ^ hash >> 47;
}

WEIR_API bool weir_heap_wants_texts(const struct weir_heap_graph *graph)
{
    return wants(graph, WR_DOTNET_HEAP_TEXT) && wants(graph, WR_DOTNET_HEAP_DUMP);
}

WEIR_API bool weir_heap_text(struct weir_heap_graph *graph, const void *text, size_t size)
{
    const unsigned char *bytes = text ? text : (const unsigned char *)"";
    struct element element;
    if (!weir_heap_wants_texts(graph))
        return !graph->is_over;
    if (!graph->node) {
        weir_heap_fail(graph, "the host has given a text before any node");
        return !graph->is_over;
    }
    uint32_t kept = (uint32_t)wr_utf8_fitting_of(bytes, size, TEXT_BYTES_MAX);
    memcpy(element.bytes, graph->node, 8); /* its address */
    element.length = 8;
    put(&element, size, 8);
    put(&element, hash_of(bytes, size), 8);
    put(&element, kept, 2);
    memcpy(element.bytes + element.length, bytes, kept);
    bulk_add(graph, WR_HEAP_TEXTS, element.bytes, element.length + kept);
    return !graph->is_over;
}

/* --- The walk. ------------------------------------------------------------------------------- */

static void begin(struct weir_heap_graph *graph)
{
    if (wants(graph, WR_DOTNET_GC))
        note(graph, DotNet_GCStart_to(graph->order.session_id, graph->number, GENERATION,
                                      REASON_INDUCED, TYPE_BLOCKING, WR_DOTNET_CLR, CLIENT_NUMBER));
}

/* Readers wait for another snapshot if this one has no element at all. */
static void describe_nothing(struct weir_heap_graph *graph)
{
    weir_heap_type(graph, 8, graph->reason, 0, 0);
}

static bool try_again(const struct weir_heap_graph *graph, uint32_t *tries)
{
    wr_os_sleep_ns(TRY_NS);
    return --*tries > 0 && wr_sessions_segment_bytes(graph->order.session_id) != 0;
}

static void end(struct weir_heap_graph *graph)
{
    uint64_t id = graph->order.session_id;
    node_close(graph);
    for (enum wr_heap_kind kind = WR_HEAP_TYPES; kind < WR_HEAP_KINDS; kind++)
        bulk_flush(graph, kind);
    if (graph->lost)
        weir_heap_fail(graph, "events were lost: the session's budget was full; ask for Block");
    if (graph->is_over || !wants(graph, WR_DOTNET_GC))
        return;
    /* In DROP there is room again once the drain has looked. A mark that finds none leaves no end. */
    uint32_t tries = TRIES;
    if (graph->reason[0])
        while (!DotNet_HeapIncomplete_to(id, graph->number, graph->lost, graph->reason))
            if (!try_again(graph, &tries))
                return;
    while (!DotNet_GCEnd_to(id, graph->number, GENERATION, WR_DOTNET_CLR))
        if (!try_again(graph, &tries))
            return;
}

static uint32_t capacity_of(uint32_t segment_bytes)
{
    uint32_t room = segment_bytes - WR_SEGMENT_HEADER_BYTES - WR_RECORD_HEAD_BYTES - HEAD_BYTES -
                    WR_RECORD_ALIGNMENT;
    return room < WR_HEAP_VALUES_MAX ? room : WR_HEAP_VALUES_MAX;
}

static void walk_heap(struct weir_heap_graph *graph)
{
    const struct wr_heap_order *order = &graph->order;
    begin(graph);
    if (order->reason) {
        weir_heap_fail(graph, order->reason);
        describe_nothing(graph);
    } else {
        order->host.walk(order->host.context, graph);
    }
    end(graph);
}

static void bulks_open(struct weir_heap_graph *graph, unsigned char *values, uint32_t each)
{
    for (enum wr_heap_kind kind = WR_HEAP_TYPES; kind < WR_HEAP_KINDS; kind++)
        graph->bulks[kind].values = values + kind * (size_t)each;
}

void wr_heap_walk_run(const struct wr_heap_order *order)
{
    uint32_t segment_bytes = wr_sessions_segment_bytes(order->session_id);
    if (!segment_bytes)
        return;
    unsigned char *values = wr_os_pages_map(VALUES_BYTES);
    unsigned char only[ELEMENT_BYTES]; /* without memory: the element of an empty snapshot */
    struct weir_heap_graph graph = {.order = *order,
                                    .number = wr_u32_add_acq_rel(&walks, 1) + 1,
                                    .capacity = capacity_of(segment_bytes)};
    bulks_open(&graph, values ? values : only, values ? WR_HEAP_VALUES_MAX : 0);
    if (!values && !order->reason)
        graph.order.reason = "the process has no memory for the walk";
    walk_heap(&graph);
    wr_visited_release(&graph.visited);
    wr_os_pages_unmap(values, VALUES_BYTES);
}
