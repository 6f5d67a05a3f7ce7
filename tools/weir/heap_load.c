#include "heap.h"

#include <stdlib.h>

static void on_event(void *builder, const struct wt_event *event)
{
    hp_builder_event(builder, event);
}

static void on_gap(void *builder, const struct wt_gap *gap)
{
    hp_builder_gap(builder, gap);
}

static struct hp_graph *read_gcdump(struct wt_run *run, uint64_t number, int *code)
{
    char error[120];
    size_t size;
    *code = WT_EXIT_FAILED;
    if (number) {
        wt_complain("%s: a .gcdump has one snapshot, without a number", run->path);
        return NULL;
    }
    void *bytes = wt_run_take(run, &size);
    if (!bytes)
        return NULL;
    struct hp_graph *graph = hp_gcdump_read(bytes, size, error, sizeof(error));
    free(bytes);
    if (graph)
        *code = WT_EXIT_OK;
    else if (!error[0])
        wt_heap_need(NULL);
    else
        wt_complain("%s: cannot read this .gcdump: %s", run->path, error);
    return graph;
}

/* What a trace that was read has; NULL after a message. */
static struct hp_graph *built(struct hp_builder *builder, const struct wt_run *run, uint64_t number,
                              int *code)
{
    bool has_memory;
    *code = wt_run_exit(run, 0);
    struct hp_graph *graph = hp_builder_finish(builder, &has_memory);
    if (!has_memory)
        wt_heap_need(NULL);
    if (graph)
        return graph;
    wt_complain("%s: no snapshot of a heap%s: no collection of GCStart with depth 2, reason 1 and "
                "type 0",
                run->path, number ? " with that number" : "");
    *code = *code == WT_EXIT_OK ? WT_EXIT_FAILED : *code;
    return NULL;
}

struct hp_graph *wt_heap_load(const struct wt_heap_options *options, const char *path, int *code)
{
    static const struct wt_handlers handlers = {.event = on_event, .gap = on_gap};
    struct hp_builder *builder = wt_heap_need(hp_builder_create((uint32_t)options->number));
    struct wt_run run;
    struct hp_graph *graph;
    *code = WT_EXIT_FAILED;
    bool is_open = wt_run_open(&run, path, NULL, &handlers, builder);
    if (is_open && !hp_is_gcdump(run.head, wt_run_peek(&run, HP_GCDUMP_HEAD))) {
        wt_run_read(&run);
        graph = built(builder, &run, options->number, code);
    } else {
        hp_builder_finish(builder, &(bool){true});
        graph = is_open ? read_gcdump(&run, options->number, code) : NULL;
    }
    wt_run_close(&run);
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
