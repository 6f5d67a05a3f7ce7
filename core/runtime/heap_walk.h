/*
 * One walk of the heap for one session, written as the events of .NET's heap dumps. Nodes, edges,
 * roots and the rest each fill an event of their own, up to the size of a segment. Nodes and edges
 * are therefore two streams, which a reader joins by their order: each node has a count of edges.
 */
#ifndef WR_RUNTIME_HEAP_WALK_H
#define WR_RUNTIME_HEAP_WALK_H

#include <weir/heap.h>
#include "runtime/visited.h"

/* What the session wants, and the host. */
struct wr_heap_order {
    uint64_t session_id, keywords;
    uint8_t level;
    struct weir_heap_host host; /* without a walk: there is none, for the reason */
    const char *reason;         /* NULL: the walk is whole, as far as is known */
};

#define WR_HEAP_VALUES_MAX 65000u /* of an event, so that its payload stays below 64 KiB */

enum wr_heap_kind {
    WR_HEAP_TYPES,
    WR_HEAP_ROOTS,
    WR_HEAP_WEAKS,
    WR_HEAP_NODES,
    WR_HEAP_EDGES,
    WR_HEAP_STATICS,
    WR_HEAP_TEXTS,
    WR_HEAP_KINDS
};

struct wr_heap_bulk {
    uint32_t index; /* of the event */
    uint32_t count; /* of elements */
    uint32_t length;
    unsigned char *values;
};

struct weir_heap_graph {
    struct wr_heap_order order;
    uint32_t number;     /* of the collection that tools take this for */
    uint32_t capacity;   /* bytes of values in an event */
    bool is_over;        /* the session has ended */
    uint64_t lost;       /* events */
    char reason[128];    /* why the snapshot is incomplete; empty: it is not */
    unsigned char *node; /* the last one, in its event; its edges are still counted */
    uint64_t node_edges;
    uint64_t statics; /* told */
    struct wr_visited visited;
    struct wr_heap_bulk bulks[WR_HEAP_KINDS];
};

/* Runs the walk and writes its events. Maps memory, and without any writes an empty snapshot that says
 * so. In a BLOCK session it waits for the drain. */
void wr_heap_walk_run(const struct wr_heap_order *order);

/* The most elements of an event, for tests of readers. 0: as many as fit. */
extern uint32_t wr_heap_elements_max;

#endif
