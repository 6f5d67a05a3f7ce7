#include "heap_page.h"

#include "heap.h"
#include "json.h"

#include <stdlib.h>
#include <string.h>

enum {
    GROUPS_MAX = 3000,     /* of the treemap; smaller areas are not seen */
    GROUP_SHARE = 4000,    /* those with a smaller part of all bytes are left out */
    TYPES_WITH_WAYS = 500, /* those that retain the most */
    WAY_STEPS = 20,        /* at each end of a way */
};

struct page {
    const struct hp_graph *graph;
    const struct hp_tree *tree;
    const struct hp_row *rows;
    size_t count;
    uint32_t *places;  /* of types among the rows */
    uint32_t *largest; /* of types: the object that retains the most */
    uint32_t *before, *root_of;
    struct wt_json json;
};

#ifdef WEIR_HAS_PAGE
/* page/embed.cmake */
extern const unsigned char wt_page_before[], wt_page_after[];
extern const unsigned long wt_page_before_size, wt_page_after_size;

bool wt_heap_page_is_there(void)
{
    return true;
}

/* JSON cannot end the script element in which it stands. */
static void put(FILE *file, const char *json, size_t size)
{
    fwrite(wt_page_before, 1, wt_page_before_size, file);
    for (size_t i = 0; i < size; i++)
        if (json[i] == '<')
            fputs("\\u003c", file);
        else
            putc(json[i], file);
    fwrite(wt_page_after, 1, wt_page_after_size, file);
}
#else
bool wt_heap_page_is_there(void)
{
    wt_complain("this weir was built without node-d3-hierarchy, which --html needs");
    return false;
}

static void put(FILE *file, const char *json, size_t size)
{
    (void)file;
    (void)json;
    (void)size;
}
#endif

/* --- Ways: a root, then the place of each object's type among the rows. ----------------------- */

static void put_root(struct page *page, uint32_t node)
{
    uint32_t number = page->root_of[node];
    const struct hp_root *root = number == HP_NONE ? NULL : &page->graph->roots[number];
    char text[400];
    snprintf(text, sizeof(text), "%s%s%.300s", root ? hp_root_kind_name(root) : "root",
             root && root->name ? " " : "", root && root->name ? root->name : "");
    wt_json_string(&page->json, NULL, text);
}

static void put_steps(struct page *page, const uint32_t *steps, size_t count)
{
    for (size_t i = count; i-- > 0;)
        wt_json_u64(&page->json, NULL, page->places[page->graph->node_types[steps[i]]]);
}

/* The middle of a long one is left out. */
static void put_way(struct page *page, uint32_t node)
{
    uint32_t near[WAY_STEPS], far[WAY_STEPS]; /* from the node on; the last ones, as a ring */
    size_t count = 0;
    if (node == HP_NONE || page->before[node] == HP_NONE) {
        wt_json_null(&page->json, NULL);
        return;
    }
    for (bool is_root = false; !is_root; node = page->before[node], count++) {
        if (count < WAY_STEPS)
            near[count] = node;
        far[count % WAY_STEPS] = node;
        is_root = page->before[node] == node;
    }
    wt_json_array(&page->json, NULL);
    put_root(page, far[(count - 1) % WAY_STEPS]);
    if (count > WAY_STEPS) {
        size_t rest = count - WAY_STEPS, shown = rest < WAY_STEPS ? rest : WAY_STEPS;
        for (size_t i = 0; i < shown; i++)
            put_steps(page, &far[(count - 1 - i) % WAY_STEPS], 1);
        if (shown < rest) {
            char text[40];
            snprintf(text, sizeof(text), "... %zu more ...", rest - shown);
            wt_json_string(&page->json, NULL, text);
        }
    }
    put_steps(page, near, count < WAY_STEPS ? count : WAY_STEPS);
    wt_json_end(&page->json);
}

/* --- Parts. ---------------------------------------------------------------------------------- */

static void put_totals(struct page *page, const char *path)
{
    const struct hp_graph *graph = page->graph;
    wt_json_string(&page->json, "file", path);
    wt_json_u64(&page->json, "objects", graph->node_count);
    wt_json_u64(&page->json, "bytes", graph->bytes);
    wt_json_u64(&page->json, "edges", graph->edge_count);
    wt_json_u64(&page->json, "unreached", page->tree->unreached);
    wt_json_string(&page->json, "reason", graph->is_complete ? NULL : graph->reason);
}

/* [name, module, objects, bytes, retained, way]. */
static void put_types(struct page *page)
{
    wt_json_array(&page->json, "types");
    for (size_t i = 0; i < page->count; i++) {
        const struct hp_row *row = &page->rows[i];
        wt_json_array(&page->json, NULL);
        wt_json_string(&page->json, NULL, row->name);
        wt_json_string(&page->json, NULL, row->module);
        wt_json_u64(&page->json, NULL, row->count);
        wt_json_u64(&page->json, NULL, row->bytes);
        wt_json_u64(&page->json, NULL, row->retained);
        put_way(page, i < TYPES_WITH_WAYS ? page->largest[row->type] : HP_NONE);
        wt_json_end(&page->json);
    }
    wt_json_end(&page->json);
}

/* [type, group above, objects, retained, own bytes, way]. */
static void put_groups(struct page *page)
{
    size_t count;
    struct hp_group *groups = wt_heap_need(
        hp_groups(page->graph, page->tree, page->graph->bytes / GROUP_SHARE, GROUPS_MAX, &count));
    wt_json_array(&page->json, "groups");
    for (size_t i = 0; i < count; i++) {
        const struct hp_group *group = &groups[i];
        wt_json_array(&page->json, NULL);
        wt_json_u64(&page->json, NULL, page->places[group->type]);
        if (group->above == HP_NONE)
            wt_json_null(&page->json, NULL);
        else
            wt_json_u64(&page->json, NULL, group->above);
        wt_json_u64(&page->json, NULL, group->count);
        wt_json_u64(&page->json, NULL, group->retained);
        wt_json_u64(&page->json, NULL, group->own);
        put_way(page, group->largest);
        wt_json_end(&page->json);
    }
    wt_json_end(&page->json);
    free(groups);
}

static void find(struct page *page)
{
    const struct hp_graph *graph = page->graph;
    size_t types = (size_t)graph->type_count + 1;
    page->places = wt_heap_need(calloc(types, sizeof(*page->places)));
    page->largest = wt_heap_need(malloc(types * sizeof(*page->largest)));
    page->before = wt_heap_need(hp_paths(graph));
    page->root_of = wt_heap_need(hp_roots_by_node(graph));
    for (size_t i = 0; i < page->count; i++)
        page->places[page->rows[i].type] = (uint32_t)i;
    memset(page->largest, 0xFF, types * sizeof(*page->largest));
    for (uint32_t i = 0; i < graph->node_count; i++) {
        uint32_t *largest = &page->largest[graph->node_types[i]];
        if (*largest == HP_NONE || page->tree->retained[i] > page->tree->retained[*largest])
            *largest = i;
    }
}

void wt_heap_page(FILE *file, const char *path, const struct hp_graph *graph,
                  const struct hp_tree *tree, const struct hp_row *rows, size_t count)
{
    struct page page = {.graph = graph, .tree = tree, .rows = rows, .count = count};
    char *text = NULL;
    size_t size;
    FILE *memory = wt_heap_need(open_memstream(&text, &size));
    find(&page);
    wt_json_init(&page.json, memory, false);
    wt_json_object(&page.json, NULL);
    put_totals(&page, path);
    put_types(&page);
    put_groups(&page);
    wt_json_end(&page.json);
    bool is_whole = fclose(memory) == 0;
    wt_heap_need(is_whole ? text : NULL);
    put(file, text, size);
    free(text);
    free(page.places);
    free(page.largest);
    free(page.before);
    free(page.root_of);
}
