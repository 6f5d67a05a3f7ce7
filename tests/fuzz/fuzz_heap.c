/* Snapshots of a heap, from the events of a walk or from a .gcdump file, and all that is asked of one.
 * An input that is no .gcdump has for each event its id, the size of its payload (u16), and that. */
#include "fuzz.h"

#include "heap/heap.h"
#include "reader.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define INPUT_MAX ((size_t)256 * 1024)
#define MODULE    154 /* an id of the rundown's provider; all others are the runtime's */
#define GAP       0xFFFF

static volatile uint64_t sink; /* so that what is only read is read */

static void require(bool holds)
{
    if (!holds)
        abort();
}

static bool is_node(const struct hp_graph *graph, uint32_t node)
{
    return node < graph->node_count;
}

static bool is_node_or_none(const struct hp_graph *graph, uint32_t node)
{
    return is_node(graph, node) || node == HP_NONE;
}

/* What heap.h says of the arrays. Names and texts are read to their ends, for the sanitizers. */
static void check_graph(const struct hp_graph *graph)
{
    uint64_t sum = 0, objects = 0;
    require(graph->is_complete == !graph->reason[0]);
    require(graph->first_edges[graph->node_count] == graph->edge_count);
    for (uint32_t i = 0; i < graph->node_count; i++)
        require(graph->node_types[i] < graph->type_count &&
                graph->first_edges[i] <= graph->first_edges[i + 1]);
    for (uint64_t i = 0; i < graph->edge_count; i++)
        require(is_node_or_none(graph, graph->edges[i]));
    for (uint32_t i = 0; i < graph->type_count; i++) {
        sum += strlen(graph->types[i].name);
        objects += graph->types[i].count;
    }
    require(objects == graph->node_count);
    for (uint32_t i = 0; i < graph->root_count; i++)
        require(is_node(graph, graph->roots[i].node));
    for (uint32_t i = 0; i < graph->weak_count; i++)
        require(is_node(graph, graph->weaks[i].key) && is_node(graph, graph->weaks[i].value));
    for (uint32_t i = 0; i < graph->text_count; i++) {
        const struct hp_text *text = &graph->texts[i];
        require(is_node(graph, text->node) && text->length <= text->size);
        for (uint32_t j = 0; j < text->length; j++)
            sum += text->bytes[j];
    }
    sink = sink + sum;
}

static void check_groups(const struct hp_graph *graph, const struct hp_tree *tree)
{
    size_t count;
    struct hp_group *groups = hp_groups(graph, tree, 1, 100, &count);
    require(groups && count <= 100);
    for (size_t i = 0; i < count; i++)
        require(groups[i].type < graph->type_count && is_node(graph, groups[i].largest) &&
                (groups[i].above < i || groups[i].above == HP_NONE));
    free(groups);
}

static void check_tree(const struct hp_graph *graph)
{
    struct hp_tree *tree = hp_tree_create(graph);
    uint64_t *retained = malloc((graph->type_count + 1) * sizeof(*retained));
    uint32_t unreached = 0;
    require(tree && retained && hp_tree_by_type(graph, tree, retained));
    for (uint32_t i = 0; i < graph->node_count; i++) {
        unreached += !tree->is_reached[i];
        require(is_node_or_none(graph, tree->dominators[i]));
    }
    require(unreached == tree->unreached);
    check_groups(graph, tree);
    free(retained);
    hp_tree_free(tree);
}

static void check_ways(const struct hp_graph *graph)
{
    uint32_t *before = hp_paths(graph), *roots = hp_roots_by_node(graph);
    size_t count;
    struct hp_duplicate *duplicates = hp_duplicates(graph, &count);
    require(before && roots && duplicates);
    for (uint32_t i = 0; i < graph->node_count; i++)
        require(is_node_or_none(graph, before[i]) &&
                (roots[i] < graph->root_count || roots[i] == HP_NONE));
    for (size_t i = 0; i < count; i++)
        require(duplicates[i].count >= 2 && duplicates[i].type < graph->type_count);
    free(before);
    free(roots);
    free(duplicates);
}

/* What is written can be read. */
static void check_gcdump(const struct hp_graph *graph)
{
    char *bytes = NULL, error[120];
    size_t size;
    FILE *file = open_memstream(&bytes, &size);
    require(file && hp_gcdump_write(graph, file) == HP_GCDUMP_OK && fclose(file) == 0);
    struct hp_graph *again = hp_gcdump_read(bytes, size, error, sizeof(error));
    require(again);
    check_graph(again);
    hp_graph_free(again);
    free(bytes);
}

static struct hp_graph *read_events(const uint8_t *bytes, size_t size)
{
    struct hp_builder *builder = hp_builder_create(0);
    const struct wt_thread thread = {.capture_thread = 1};
    bool has_memory;
    require(builder);
    while (size >= 4) {
        uint32_t id = bytes[0] | (uint32_t)bytes[1] << 8,
                 length = bytes[2] | (uint32_t)bytes[3] << 8;
        length = length < size - 4 ? length : (uint32_t)size - 4;
        const struct wt_metadata metadata = {
            .provider_name = id == MODULE ? "Microsoft-Windows-DotNETRuntimeRundown"
                                          : "Microsoft-Windows-DotNETRuntime",
            .event_id = (int32_t)id};
        /* Copied, so that the sanitizer knows its end. */
        uint8_t *payload = malloc(length + 1u);
        require(payload);
        memcpy(payload, bytes + 4, length);
        const struct wt_event event = {.metadata = &metadata,
                                       .thread = &thread,
                                       .capture_thread = 1,
                                       .payload = payload,
                                       .payload_size = length};
        if (id == GAP)
            hp_builder_gap(builder, &(struct wt_gap){.thread = &thread, .count = 1});
        else
            hp_builder_event(builder, &event);
        free(payload);
        bytes += 4 + length;
        size -= 4 + length;
    }
    struct hp_graph *graph = hp_builder_finish(builder, &has_memory);
    require(has_memory);
    return graph;
}

/* With the trailer that a file of this length has, so that mutants of other lengths are not refused. */
static struct hp_graph *read_gcdump(const uint8_t *bytes, size_t size)
{
    char error[120] = "";
    uint8_t *whole = malloc(size);
    uint32_t trailer = (uint32_t)size - 8;
    require(whole);
    memcpy(whole, bytes, size);
    if (size >= HP_GCDUMP_HEAD + sizeof(trailer))
        memcpy(whole + size - sizeof(trailer), &trailer, sizeof(trailer));
    struct hp_graph *graph = hp_gcdump_read(whole, size, error, sizeof(error));
    require(graph || error[0]);
    free(whole);
    return graph;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size > INPUT_MAX)
        return 0;
    struct hp_graph *graph =
        hp_is_gcdump(bytes, size) ? read_gcdump(bytes, size) : read_events(bytes, size);
    if (!graph)
        return 0;
    check_graph(graph);
    check_tree(graph);
    check_ways(graph);
    check_gcdump(graph);
    require(hp_types_merge(graph));
    check_graph(graph);
    hp_graph_free(graph);
    return 0;
}
