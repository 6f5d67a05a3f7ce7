/*
 * Snapshots of a heap: a graph of objects, read from the events of a trace.
 *
 * Prints nothing. All input is hostile: counts are checked against what is there, and nothing is
 * larger than a small multiple of the input. Nodes are numbered from 0 in the order of the trace.
 * One graph belongs to one thread at a time.
 *
 * Written from the description of the events alone; it shares nothing with core/runtime/, so that each
 * can test the other.
 */
#ifndef HP_HEAP_H
#define HP_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct wt_event;
struct wt_gap;

#define HP_NONE UINT32_MAX /* no node, no type */

struct hp_type {
    char *name;         /* UTF-8; "UNKNOWN 0x..." if the trace has none */
    const char *module; /* the path of what it belongs to, of the graph's; or NULL */
    uint64_t id;
    uint64_t module_id;
    uint64_t count, bytes; /* of its objects */
};

/* As in the events. */
enum hp_root_kind {
    HP_ROOT_STACK = 0,
    HP_ROOT_FINALIZER = 1,
    HP_ROOT_HANDLE = 2,
    HP_ROOT_OLDER = 3,
    HP_ROOT_SIZED = 4,
    HP_ROOT_OTHER = 5,
    HP_ROOT_STATIC = 6, /* has a name */
};
#define HP_ROOT_IS_PINNED  1u
#define HP_ROOT_IS_WEAK    2u /* keeps nothing */
#define HP_ROOT_IS_COUNTED 8u
/* The one flag of a static variable. */
#define HP_STATIC_IS_THREAD_LOCAL 1u

struct hp_root {
    uint32_t node; /* never HP_NONE */
    uint32_t type; /* of a static variable: what it belongs to; otherwise HP_NONE */
    char *name; /* of a static variable, perhaps shared with the root before it; otherwise NULL */
    uint32_t flags;
    uint8_t kind;
};

/* An entry of a weak table: the value lives as long as the key. */
struct hp_weak {
    uint32_t key, value; /* nodes */
};

/* The contents of a string. */
struct hp_text {
    const uint8_t *bytes; /* the first ones, any; of the graph's */
    uint32_t length;      /* of `bytes`; below `size`: there are more */
    uint32_t node;        /* never HP_NONE, and no other text's */
    uint64_t size, hash;  /* of the whole */
};

struct hp_graph {
    uint32_t number; /* of the collection; 0: of a .gcdump, which has none */
    uint32_t node_count, type_count, root_count, weak_count;
    uint64_t edge_count;
    uint64_t bytes; /* of all objects */
    uint64_t *addresses, *sizes;
    uint32_t *node_types;  /* indices into `types` */
    uint64_t *first_edges; /* node_count + 1 */
    uint32_t *edges;       /* the targets; HP_NONE where the trace has no such object */
    struct hp_type *types;
    char **modules; /* paths */
    uint32_t module_count;
    struct hp_root *roots;
    struct hp_weak *weaks;
    struct hp_text *texts; /* of the strings whose contents the trace has */
    uint32_t text_count, text_payload_count;
    uint8_t **text_payloads; /* payloads, which `texts` refers to */
    uint64_t dangling;       /* edges and roots to objects that the trace does not have */

    bool is_complete;
    char reason[200]; /* why not: a line of UTF-8 */
    /* The first number that is missing among the events of a kind, such as "GCBulkNode"; NULL: none is
     * known to be. */
    const char *missing_kind;
    uint32_t missing_index;
};

void hp_graph_free(struct hp_graph *graph);
/* Marks it as incomplete; the first reason stays. */
void hp_graph_fail(struct hp_graph *graph, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* --- From the events of a trace: build.c. ---------------------------------------------------- */

/* Whether a collection begins that makes a snapshot: of everything, blocking, and asked for. `*number`
 * is then its number. */
bool hp_event_begins(const struct wt_event *event, uint32_t *number);
/* Whether the collection with this number ends. */
bool hp_event_ends(const struct wt_event *event, uint32_t number);

struct hp_builder;

/* Of the snapshot with this number of a collection; 0: the first whole one, otherwise the last. NULL if
 * there is no memory. */
struct hp_builder *hp_builder_create(uint32_t number);
/* Each event of the trace in file order, and each gap. */
void hp_builder_event(struct hp_builder *builder, const struct wt_event *event);
void hp_builder_gap(struct hp_builder *builder, const struct wt_gap *gap);
/* Ends the building; frees the builder. NULL if the trace has no such snapshot, or there is no memory:
 * `*has_memory` says which. */
struct hp_graph *hp_builder_finish(struct hp_builder *builder, bool *has_memory);

/* Makes types with the same name and module one: .NET describes a type again in each load context, and
 * a .gcdump splits types by the sizes of their objects. They are in the order of their names then.
 * False if there is no memory. */
bool hp_types_merge(struct hp_graph *graph);

/* --- .gcdump files: gcdump_read.c, gcdump_write.c. -------------------------------------------- */

#define HP_GCDUMP_HEAD 24

/* Whether a file that begins with these bytes is one: HP_GCDUMP_HEAD of them are enough. */
bool hp_is_gcdump(const void *bytes, size_t size);
/* The graph of a file's bytes. NULL if they are no .gcdump, after writing why to `error`, or if there
 * is no memory: `error` is empty then. */
struct hp_graph *hp_gcdump_read(const void *bytes, size_t size, char *error, size_t capacity);

enum hp_gcdump_result {
    HP_GCDUMP_OK, /* or ferror() is set */
    HP_GCDUMP_NO_MEMORY,
    HP_GCDUMP_TOO_LARGE, /* more than the format can have; nothing was written */
};
/* Sizes of 2^31 bytes and more become 2^31 - 1. */
enum hp_gcdump_result hp_gcdump_write(const struct hp_graph *graph, FILE *file);

/* --- Questions: tree.c, duplicates.c, paths.c. ------------------------------------------------ */

/* What keeps what. A node that no root reaches has no dominator and retains itself alone. */
struct hp_tree {
    uint32_t *dominators; /* HP_NONE: nothing but the roots, or nothing */
    uint64_t *retained;   /* bytes of a node and of all that only it keeps */
    bool *is_reached;
    uint32_t unreached;
};

/* NULL if there is no memory. Takes time that is nearly linear in the edges. */
struct hp_tree *hp_tree_create(const struct hp_graph *graph);
void hp_tree_free(struct hp_tree *tree);
/* Bytes that the objects of a type retain together, none counted twice. `retained` has type_count
 * elements. False if there is no memory. */
bool hp_tree_by_type(const struct hp_graph *graph, const struct hp_tree *tree, uint64_t *retained);

/* Objects of one type that are kept by the objects of the group above, and objects of the same type
 * that these keep. */
struct hp_group {
    uint32_t type;
    uint32_t
        above; /* a group with a lower index; HP_NONE: roots keep them, or more than one group */
    uint32_t count;
    uint32_t largest; /* the node that retains the most */
    uint64_t retained;
    uint64_t own; /* without what they keep */
};

/* Up to `max` groups that retain `least` bytes or more, those nearer to the roots first, siblings in the
 * order of their types. NULL if there is no memory; the caller frees them. */
struct hp_group *hp_groups(const struct hp_graph *graph, const struct hp_tree *tree, uint64_t least,
                           size_t max, size_t *count);

/* Strings of one type with the same size, hash and first bytes. */
struct hp_duplicate {
    const struct hp_text *text; /* of one of them */
    uint32_t type;
    uint32_t count;  /* 2 or more */
    uint64_t bytes;  /* of the largest object */
    uint64_t wasted; /* of all others */
};

/* The most wasted bytes first, then in an order that depends on the contents alone. NULL if there is no
 * memory; the caller frees them. */
struct hp_duplicate *hp_duplicates(const struct hp_graph *graph, size_t *count);

/* For each node the one before it on a shortest way from a root, itself if a root leads to it, HP_NONE
 * if none does. NULL if there is no memory; the caller frees it. */
uint32_t *hp_paths(const struct hp_graph *graph);
/* For each node a root that leads to it itself, one with a name rather than another; HP_NONE: none. NULL
 * if there is no memory; the caller frees it. */
uint32_t *hp_roots_by_node(const struct hp_graph *graph);
/* "stack", "handle" and so on. */
const char *hp_root_kind_name(const struct hp_root *root);

#endif
