/*
 * Dominators, by the algorithm of Lengauer and Tarjan with path compression, without recursion: a heap
 * may be one chain of millions. Source: A Fast Algorithm for Finding Dominators in a Flowgraph, TOPLAS
 * 1979.
 *
 * Vertices are numbered in the order of a depth-first search from 0, which stands in front of all
 * roots. So a vertex's dominator has a lower number.
 */
#include "children.h"
#include "heap.h"
#include "reach.h"

#include <stdlib.h>
#include <string.h>

struct search {
    const struct hp_graph *graph;
    struct hp_reach reach;
    uint32_t *numbers; /* of nodes; 0: not reached */
    uint32_t *nodes;   /* of vertices; not of 0 */
    uint32_t *parents; /* in the search's tree */
    uint32_t count;    /* vertices */
};

/* --- The search. ----------------------------------------------------------------------------- */

struct level {
    uint32_t vertex;
    struct hp_cursor cursor;
};

static void visit(struct search *search, uint32_t node, uint32_t parent)
{
    search->numbers[node] = search->count;
    search->nodes[search->count] = node;
    search->parents[search->count++] = parent;
}

/* From one root; `levels` has room for all nodes. */
static void search_from(struct search *search, uint32_t node, struct level *levels)
{
    uint32_t depth = 1;
    visit(search, node, 0);
    levels[0] = (struct level){search->count - 1, hp_reach_begin(&search->reach, node)};
    while (depth > 0) {
        struct level *level = &levels[depth - 1];
        uint32_t target = hp_reach_next(&search->reach, &level->cursor);
        if (target == HP_NONE) {
            depth--;
        } else if (!search->numbers[target]) {
            visit(search, target, level->vertex);
            levels[depth++] =
                (struct level){search->count - 1, hp_reach_begin(&search->reach, target)};
        }
    }
}

static bool search_run(struct search *search)
{
    const struct hp_graph *graph = search->graph;
    size_t vertices = (size_t)graph->node_count + 1;
    struct level *levels = malloc(vertices * sizeof(*levels));
    search->numbers = calloc(vertices, sizeof(*search->numbers));
    search->nodes = malloc(vertices * sizeof(*search->nodes));
    search->parents = malloc(vertices * sizeof(*search->parents));
    search->count = 1;
    bool has_memory = levels && search->numbers && search->nodes && search->parents;
    for (uint32_t i = 0; has_memory && i < graph->root_count; i++)
        if (!(graph->roots[i].flags & HP_ROOT_IS_WEAK) && !search->numbers[graph->roots[i].node])
            search_from(search, graph->roots[i].node, levels);
    free(levels);
    return has_memory;
}

static void search_free(struct search *search)
{
    free(search->numbers);
    free(search->nodes);
    free(search->parents);
}

/* --- Predecessors, by vertex. ---------------------------------------------------------------- */

struct predecessors {
    uint64_t *first; /* count + 1 */
    uint32_t *vertices;
};

/* Calls for each edge between reached vertices, also those from 0 to the roots. */
static void each_edge(const struct search *search,
                      void (*call)(void *context, uint32_t from, uint32_t to), void *context)
{
    const struct hp_graph *graph = search->graph;
    for (uint32_t i = 0; i < graph->root_count; i++)
        if (!(graph->roots[i].flags & HP_ROOT_IS_WEAK))
            call(context, 0, search->numbers[graph->roots[i].node]);
    for (uint32_t vertex = 1; vertex < search->count; vertex++) {
        struct hp_cursor cursor = hp_reach_begin(&search->reach, search->nodes[vertex]);
        uint32_t target;
        while ((target = hp_reach_next(&search->reach, &cursor)) != HP_NONE)
            call(context, vertex, search->numbers[target]);
    }
}

static void count_edge(void *context, uint32_t from, uint32_t to)
{
    (void)from;
    ((struct predecessors *)context)->first[to]++;
}

/* Fills from the end, so that each `first` ends where its vertices begin. */
static void store_edge(void *context, uint32_t from, uint32_t to)
{
    struct predecessors *predecessors = context;
    predecessors->vertices[--predecessors->first[to]] = from;
}

static bool predecessors_make(const struct search *search, struct predecessors *predecessors)
{
    predecessors->first = calloc((size_t)search->count + 1, sizeof(*predecessors->first));
    if (!predecessors->first)
        return false;
    each_edge(search, count_edge, predecessors);
    uint64_t sum = 0;
    for (uint32_t i = 0; i <= search->count; i++)
        predecessors->first[i] = sum += predecessors->first[i];
    predecessors->vertices = malloc((size_t)(sum + 1) * sizeof(*predecessors->vertices));
    if (!predecessors->vertices)
        return false;
    each_edge(search, store_edge, predecessors);
    return true;
}

/* --- Semidominators. ------------------------------------------------------------------------- */

struct forest {
    uint32_t *ancestors; /* HP_NONE: a root of the forest */
    uint32_t *labels, *semi, *dominators;
    uint32_t *buckets, *next; /* lists of vertices with one semidominator */
    uint32_t *path;
};

/* The vertex with the least semidominator on the way up to below its root. Each vertex on the way then
 * hangs below the root itself. */
static uint32_t evaluate(struct forest *forest, uint32_t vertex)
{
    uint32_t depth = 0;
    if (forest->ancestors[vertex] == HP_NONE)
        return vertex;
    for (uint32_t at = vertex; forest->ancestors[forest->ancestors[at]] != HP_NONE;
         at = forest->ancestors[at])
        forest->path[depth++] = at;
    while (depth > 0) {
        uint32_t at = forest->path[--depth], above = forest->ancestors[at];
        if (forest->semi[forest->labels[above]] < forest->semi[forest->labels[at]])
            forest->labels[at] = forest->labels[above];
        forest->ancestors[at] = forest->ancestors[above];
    }
    return forest->labels[vertex];
}

/* The vertices whose semidominator is `parent`. */
static void bucket_empty(struct forest *forest, uint32_t parent)
{
    for (uint32_t vertex = forest->buckets[parent]; vertex != HP_NONE;
         vertex = forest->next[vertex]) {
        uint32_t least = evaluate(forest, vertex);
        forest->dominators[vertex] = forest->semi[least] < forest->semi[vertex] ? least : parent;
    }
    forest->buckets[parent] = HP_NONE;
}

static void dominate(const struct search *search, const struct predecessors *predecessors,
                     struct forest *forest)
{
    for (uint32_t vertex = search->count - 1; vertex > 0; vertex--) {
        for (uint64_t i = predecessors->first[vertex]; i < predecessors->first[vertex + 1]; i++) {
            uint32_t least = evaluate(forest, predecessors->vertices[i]);
            if (forest->semi[least] < forest->semi[vertex])
                forest->semi[vertex] = forest->semi[least];
        }
        uint32_t semi = forest->semi[vertex];
        forest->next[vertex] = forest->buckets[semi];
        forest->buckets[semi] = vertex;
        forest->ancestors[vertex] = search->parents[vertex];
        bucket_empty(forest, search->parents[vertex]);
    }
    for (uint32_t vertex = 1; vertex < search->count; vertex++)
        if (forest->dominators[vertex] != forest->semi[vertex])
            forest->dominators[vertex] = forest->dominators[forest->dominators[vertex]];
}

static bool forest_make(struct forest *forest, uint32_t count)
{
    uint32_t *all = malloc((size_t)count * 7 * sizeof(*all));
    if (!all)
        return false;
    uint32_t **const arrays[] = {&forest->ancestors,  &forest->labels,  &forest->semi,
                                 &forest->dominators, &forest->buckets, &forest->next,
                                 &forest->path};
    for (size_t i = 0; i < 7; i++)
        *arrays[i] = all + i * count;
    for (uint32_t i = 0; i < count; i++) {
        forest->ancestors[i] = forest->buckets[i] = forest->next[i] = HP_NONE;
        forest->labels[i] = forest->semi[i] = i;
        forest->dominators[i] = 0;
    }
    return true;
}

/* --- The tree. ------------------------------------------------------------------------------- */

static void tree_fill(struct hp_tree *tree, const struct search *search,
                      const struct forest *forest)
{
    const struct hp_graph *graph = search->graph;
    memcpy(tree->retained, graph->sizes, graph->node_count * sizeof(*tree->retained));
    for (uint32_t i = 0; i < graph->node_count; i++)
        tree->dominators[i] = HP_NONE;
    for (uint32_t vertex = search->count - 1; vertex > 0; vertex--) {
        uint32_t node = search->nodes[vertex], dominator = forest->dominators[vertex];
        tree->is_reached[node] = true;
        if (dominator == 0)
            continue;
        tree->dominators[node] = search->nodes[dominator];
        tree->retained[search->nodes[dominator]] += tree->retained[node];
    }
    tree->unreached = graph->node_count - (search->count - 1);
}

static struct hp_tree *tree_allocate(uint32_t nodes)
{
    struct hp_tree *tree = calloc(1, sizeof(*tree));
    if (!tree)
        return NULL;
    tree->dominators = malloc(((size_t)nodes + 1) * sizeof(*tree->dominators));
    tree->retained = malloc(((size_t)nodes + 1) * sizeof(*tree->retained));
    tree->is_reached = calloc((size_t)nodes + 1, sizeof(*tree->is_reached));
    if (tree->dominators && tree->retained && tree->is_reached)
        return tree;
    hp_tree_free(tree);
    return NULL;
}

struct hp_tree *hp_tree_create(const struct hp_graph *graph)
{
    struct search search = {.graph = graph};
    struct predecessors predecessors = {0};
    struct forest forest = {0};
    struct hp_tree *tree = tree_allocate(graph->node_count);
    bool has_memory = tree && hp_reach_make(&search.reach, graph) && search_run(&search) &&
                      predecessors_make(&search, &predecessors) &&
                      forest_make(&forest, search.count);
    if (has_memory) {
        dominate(&search, &predecessors, &forest);
        tree_fill(tree, &search, &forest);
    }
    free(predecessors.first);
    free(predecessors.vertices);
    free(forest.ancestors);
    search_free(&search);
    hp_reach_free(&search.reach);
    if (!has_memory)
        hp_tree_free(tree);
    return has_memory ? tree : NULL;
}

void hp_tree_free(struct hp_tree *tree)
{
    if (!tree)
        return;
    free(tree->dominators);
    free(tree->retained);
    free(tree->is_reached);
    free(tree);
}

/* --- By type. -------------------------------------------------------------------------------- */

bool hp_children_make(struct hp_children *children, const struct hp_graph *graph,
                      const struct hp_tree *tree)
{
    size_t nodes = (size_t)graph->node_count + 1;
    children->first = malloc(nodes * sizeof(*children->first));
    children->next = malloc(nodes * sizeof(*children->next));
    if (!children->first || !children->next)
        return false;
    for (uint32_t i = 0; i < graph->node_count; i++)
        children->first[i] = HP_NONE;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        uint32_t above = tree->dominators[i];
        if (above == HP_NONE)
            continue;
        children->next[i] = children->first[above];
        children->first[above] = i;
    }
    return true;
}

void hp_children_free(struct hp_children *children)
{
    free(children->first);
    free(children->next);
}

struct sums {
    const struct hp_graph *graph;
    const struct hp_tree *tree;
    uint32_t *above; /* of each type: how many of its objects are above */
    uint64_t *retained;
};

static void enter(struct sums *sums, uint32_t node)
{
    uint32_t type = sums->graph->node_types[node];
    if (sums->above[type]++ == 0)
        sums->retained[type] += sums->tree->retained[node];
}

/* A node's bytes count if no object of its type is above it. */
static void count_below(struct sums *sums, struct hp_children *children, uint32_t top)
{
    uint32_t node = top;
    enter(sums, node);
    for (;;) {
        uint32_t child = hp_children_take(children, node);
        if (child != HP_NONE) {
            node = child;
            enter(sums, node);
            continue;
        }
        sums->above[sums->graph->node_types[node]]--;
        if (node == top)
            return;
        node = sums->tree->dominators[node];
    }
}

bool hp_tree_by_type(const struct hp_graph *graph, const struct hp_tree *tree, uint64_t *retained)
{
    struct hp_children children = {0};
    struct sums sums = {graph, tree, calloc((size_t)graph->type_count + 1, sizeof(*sums.above)),
                        retained};
    bool has_memory = sums.above && hp_children_make(&children, graph, tree);
    memset(retained, 0, graph->type_count * sizeof(*retained));
    for (uint32_t i = 0; has_memory && i < graph->node_count; i++)
        if (tree->dominators[i] == HP_NONE)
            count_below(&sums, &children, i);
    hp_children_free(&children);
    free(sums.above);
    return has_memory;
}
