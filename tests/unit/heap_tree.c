/* What objects retain, against a brute-force reference: what nothing reaches any more without them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "heap/heap.h"

#define GRAPHS 10000
#define NODES  50u
#define EDGES  (4 * NODES)
#define ROOTS  4u
#define WEAKS  5u

static uint64_t state = 1;

static uint32_t random_below(uint32_t limit)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(state >> 33) % limit;
}

/* A graph in fixed arrays, with few edges in one round and many in another. */
static struct hp_graph *graph_make(void)
{
    static uint64_t sizes[NODES], first[NODES + 1];
    static uint32_t types[NODES], edges[EDGES];
    static struct hp_type type[2];
    static struct hp_root roots[ROOTS];
    static struct hp_weak weaks[WEAKS];
    static struct hp_graph graph;
    uint64_t at = 0;
    uint32_t degree = 1 + random_below(4);
    for (uint32_t i = 0; i < NODES; i++) {
        sizes[i] = 1 + random_below(1000);
        types[i] = random_below(2);
        first[i] = at;
        for (uint32_t j = random_below(degree + 1); j > 0; j--)
            edges[at++] = random_below(20) ? random_below(NODES) : HP_NONE;
    }
    first[NODES] = at;
    for (uint32_t i = 0; i < ROOTS; i++)
        roots[i] = (struct hp_root){.node = random_below(NODES),
                                    .flags = random_below(4) ? 0 : HP_ROOT_IS_WEAK};
    for (uint32_t i = 0; i < WEAKS; i++)
        weaks[i] = (struct hp_weak){random_below(NODES), random_below(NODES)};
    graph = (struct hp_graph){.node_count = NODES,
                              .type_count = 2,
                              .root_count = ROOTS,
                              .weak_count = random_below(WEAKS + 1),
                              .edge_count = at,
                              .sizes = sizes,
                              .node_types = types,
                              .first_edges = first,
                              .edges = edges,
                              .types = type,
                              .roots = roots,
                              .weaks = weaks};
    return &graph;
}

static void mark(const struct hp_graph *graph, uint32_t node, uint32_t without, bool *is_marked)
{
    if (node == HP_NONE || node == without || is_marked[node])
        return;
    is_marked[node] = true;
    for (uint64_t i = graph->first_edges[node]; i < graph->first_edges[node + 1]; i++)
        mark(graph, graph->edges[i], without, is_marked);
    for (uint32_t i = 0; i < graph->weak_count; i++)
        if (graph->weaks[i].key == node)
            mark(graph, graph->weaks[i].value, without, is_marked);
}

static uint64_t bytes_without(const struct hp_graph *graph, uint32_t without, bool *is_marked)
{
    uint64_t bytes = 0;
    memset(is_marked, 0, NODES);
    for (uint32_t i = 0; i < ROOTS; i++)
        if (!(graph->roots[i].flags & HP_ROOT_IS_WEAK))
            mark(graph, graph->roots[i].node, without, is_marked);
    for (uint32_t i = 0; i < NODES; i++)
        bytes += is_marked[i] ? graph->sizes[i] : 0;
    return bytes;
}

/* Is `above` on the way from `node` to the roots of the tree? */
static bool is_below(const struct hp_tree *tree, uint32_t node, uint32_t above)
{
    for (node = tree->dominators[node]; node != HP_NONE; node = tree->dominators[node])
        if (node == above)
            return true;
    return false;
}

static void check_node(const struct hp_graph *graph, const struct hp_tree *tree, uint32_t node,
                       uint64_t all, const bool *is_reached)
{
    bool is_marked[NODES];
    uint64_t rest = bytes_without(graph, node, is_marked);
    assert_int_equal(tree->is_reached[node], is_reached[node]);
    assert_int_equal(tree->retained[node], is_reached[node] ? all - rest : graph->sizes[node]);
    for (uint32_t i = 0; i < NODES; i++)
        assert_int_equal(is_below(tree, i, node),
                         i != node && is_reached[i] && is_reached[node] && !is_marked[i]);
}

/* Each object's bytes count once for its type: for the topmost of the type. */
static void check_types(const struct hp_graph *graph, const struct hp_tree *tree)
{
    uint64_t retained[2], want[2] = {0};
    for (uint32_t i = 0; i < NODES; i++) {
        uint32_t above = tree->dominators[i];
        while (above != HP_NONE && graph->node_types[above] != graph->node_types[i])
            above = tree->dominators[above];
        want[graph->node_types[i]] += above == HP_NONE ? tree->retained[i] : 0;
    }
    assert_true(hp_tree_by_type(graph, tree, retained));
    assert_memory_equal(retained, want, sizeof want);
}

/* The way back from each node begins at a root, and each step is an edge; its length is not tested. */
static void check_paths(const struct hp_graph *graph, const bool *is_reached)
{
    uint32_t *before = hp_paths(graph), *by_node = hp_roots_by_node(graph);
    assert_non_null(before);
    assert_non_null(by_node);
    for (uint32_t i = 0; i < NODES; i++) {
        assert_int_equal(before[i] != HP_NONE, is_reached[i]);
        uint32_t at = i, steps = 0;
        while (before[at] != HP_NONE && before[at] != at && steps++ < NODES)
            at = before[at];
        assert_true(steps < NODES);
        assert_true(!is_reached[i] || by_node[at] != HP_NONE);
    }
    free(before);
    free(by_node);
}

/* Each reached object is in one group, and a group retains its own bytes and what its groups retain. */
static void check_groups(const struct hp_graph *graph, const struct hp_tree *tree, uint64_t all)
{
    size_t count, some;
    struct hp_group *groups = hp_groups(graph, tree, 0, NODES, &count), *large;
    uint64_t rest[NODES] = {0}, objects = 0;
    for (size_t i = count; i-- > 0;) {
        const struct hp_group *group = &groups[i];
        assert_int_equal(group->retained, group->own + rest[i]);
        assert_int_equal(graph->node_types[group->largest], group->type);
        objects += group->count;
        all -= group->own;
        if (group->above == HP_NONE)
            continue;
        assert_true(group->above < i && groups[group->above].type != group->type);
        rest[group->above] += group->retained;
    }
    assert_int_equal(objects, NODES - tree->unreached);
    assert_int_equal(all, 0);
    large = hp_groups(graph, tree, 1000, NODES, &some);
    for (size_t i = 0; i < count; i++)
        some -= groups[i].retained >= 1000;
    assert_int_equal(some, 0);
    free(groups);
    free(large);
}

static void test_random_graphs(void **unused)
{
    bool is_reached[NODES];
    (void)unused;
    for (int i = 0; i < GRAPHS; i++) {
        const struct hp_graph *graph = graph_make();
        struct hp_tree *tree = hp_tree_create(graph);
        assert_non_null(tree);
        uint64_t all = bytes_without(graph, HP_NONE - 1, is_reached);
        for (uint32_t node = 0; node < NODES; node++)
            check_node(graph, tree, node, all, is_reached);
        check_types(graph, tree);
        check_groups(graph, tree, all);
        if (i % 10 == 0)
            check_paths(graph, is_reached);
        hp_tree_free(tree);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_graphs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
