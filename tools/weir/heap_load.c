#include "heap.h"

static void on_event(void *builder, const struct wt_event *event)
{
    hp_builder_event(builder, event);
}

static void on_gap(void *builder, const struct wt_gap *gap)
{
    hp_builder_gap(builder, gap);
}

struct hp_graph *wt_heap_load(const struct wt_heap_options *options, const char *path, int *code)
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
