/* Between the two steps of making a graph: the elements of events, as they came. */
#ifndef HP_BUILDER_H
#define HP_BUILDER_H

#include "heap.h"
#include "map.h"

/* Elements of one size, one after the other. */
struct vector {
    unsigned char *at;
    size_t count, capacity, each;
};

struct raw_node {
    uint64_t address, size, type, edges;
};

struct raw_root {
    uint64_t object, type;
    char *name;
    uint32_t flags;
    uint8_t kind;
};

struct raw_weak {
    uint64_t key, value;
};

struct raw_text {
    uint64_t address;
    struct hp_text text; /* without its node */
};

/* A kind of event with an index. */
struct sequence {
    const char *name;
    uint32_t next;
};

struct hp_builder {
    uint32_t wanted;
    bool is_open, has_ended, has_memory, is_weir;
    uint64_t capture_thread;
    struct hp_graph *graph; /* the snapshot; NULL: none yet */
    struct vector nodes, edges, roots, weaks, texts, types, modules;
    struct vector text_payloads; /* copies of payloads */
    struct sequence node_events, edge_events, root_events, weak_events, text_events;
    struct hp_map type_ids, module_ids;
};

/* The type with this id; a new one has no name. NULL if there is no memory, which the builder notes. */
struct hp_type *hp_type_of(struct hp_builder *builder, uint64_t id);

/* Makes a graph of the elements; without memory for it, which the builder notes, a part of one. */
void hp_builder_link(struct hp_builder *builder, struct hp_graph *graph);

#endif
