#include "heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GCDUMP_BYTES_MAX ((size_t)1 << 32)

/* --- A .gcdump. ------------------------------------------------------------------------------ */

/* All of a file; NULL after a message. */
static uint8_t *read_all(FILE *file, const char *path, size_t *count)
{
    size_t capacity = 1 << 20;
    uint8_t *bytes = wt_heap_need(malloc(capacity));
    *count = 0;
    for (size_t got; (got = fread(bytes + *count, 1, capacity - *count, file)) > 0;) {
        *count += got;
        if (*count < capacity)
            continue;
        if (capacity >= GCDUMP_BYTES_MAX) {
            wt_complain("%s: larger than a .gcdump can be", path);
            free(bytes);
            return NULL;
        }
        bytes = wt_heap_need(realloc(bytes, capacity *= 2));
    }
    if (!ferror(file))
        return bytes;
    wt_complain("%s: %s", path, strerror(errno));
    free(bytes);
    return NULL;
}

static struct hp_graph *load_gcdump(FILE *file, const char *path)
{
    char error[200];
    size_t count;
    uint8_t *bytes = read_all(file, path, &count);
    struct hp_graph *graph = bytes ? hp_gcdump_read(bytes, count, error) : NULL;
    if (bytes && !graph)
        wt_complain("%s: neither a trace nor a .gcdump: %s", path, error);
    free(bytes);
    return graph;
}

/* --- A trace. -------------------------------------------------------------------------------- */

static void on_event(void *builder, const struct wt_event *event)
{
    hp_builder_event(builder, event);
}

static void on_gap(void *builder, const struct wt_gap *gap)
{
    hp_builder_gap(builder, gap);
}

static struct hp_graph *load_trace(const struct wt_heap_options *options, const char *path,
                                   int *code)
{
    static const struct wt_handlers handlers = {.event = on_event, .gap = on_gap};
    struct hp_builder *builder = wt_heap_need(hp_builder_create((uint32_t)options->number));
    struct wt_run run;
    bool has_memory = true;
    struct hp_graph *graph = NULL;
    *code = WT_EXIT_FAILED;
    bool is_open = wt_run_open(&run, path, NULL, &handlers, builder);
    if (is_open) {
        wt_run_read(&run);
        *code = wt_run_exit(&run, 0);
    }
    graph = hp_builder_finish(builder, &has_memory);
    if (!has_memory)
        wt_heap_need(NULL);
    if (is_open && !graph) {
        wt_complain(
            "%s: no snapshot of a heap%s: no collection of GCStart with depth 2, reason 1 and "
            "type 0",
            path, options->number ? " with that number" : "");
        *code = *code == WT_EXIT_OK ? WT_EXIT_FAILED : *code;
    }
    wt_run_close(&run);
    return graph;
}

/* --- Either. --------------------------------------------------------------------------------- */

static bool is_trace(FILE *file)
{
    char magic[8] = {0};
    bool is_trace = fread(magic, 1, sizeof(magic), file) == sizeof(magic) &&
                    memcmp(magic, "Nettrace", sizeof(magic)) == 0;
    rewind(file);
    return is_trace;
}

struct hp_graph *wt_heap_load(const struct wt_heap_options *options, const char *path, int *code)
{
    struct hp_graph *graph;
    FILE *file = strcmp(path, "-") != 0 ? fopen(path, "rb") : NULL;
    *code = WT_EXIT_FAILED;
    if (!file || is_trace(file)) { /* the trace's reader has the message if there is no such file */
        graph = load_trace(options, path, code);
    } else {
        graph = load_gcdump(file, path);
        *code = graph ? WT_EXIT_OK : WT_EXIT_FAILED;
    }
    if (file)
        fclose(file);
    if (graph && !graph->is_complete && *code == WT_EXIT_OK)
        *code = WT_EXIT_LOST;
    return graph;
}

struct hp_graph *wt_heap_load_whole(const struct wt_heap_options *options, const char *path,
                                    int *code)
{
    struct hp_graph *graph = wt_heap_load(options, path, code);
    if (!graph || graph->is_complete || options->takes_incomplete)
        return graph;
    wt_complain("%s: the snapshot is incomplete: %s; --incomplete takes it as it is", path,
                graph->reason);
    hp_graph_free(graph);
    *code = WT_EXIT_LOST;
    return NULL;
}
