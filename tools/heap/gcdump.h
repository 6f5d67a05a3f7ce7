/* Between the files that read and write .gcdump files. The format: GCDUMP.md. */
#ifndef HP_GCDUMP_H
#define HP_GCDUMP_H

#include "heap.h"

/* Tags of the serialization. */
enum {
    TAG_NULL = 1,
    TAG_OBJECT = 4,
    TAG_END = 6,
    TAG_BYTE = 8,
    TAG_SKIP = 12,
    TAG_STRING = 13,
};

extern const char gcdump_magic[HP_GCDUMP_HEAD + 1];

/* Names that have a meaning. */
#define GCDUMP_UNDEFINED  "UNDEFINED"    /* the type of objects that the trace does not have */
#define GCDUMP_SIZE_CLASS " (Bytes > "   /* "10K)": at the end of a type's name */
#define GCDUMP_NO_MODULE  "Module(0x"    /* the module of a type that has none known */
#define GCDUMP_VARIABLE   "[static var " /* "TYPE.NAME]" */
#define GCDUMP_INCOMPLETE "incomplete: " /* ahead of the reason, in the log of the collection */

/* A node that stands for roots of a kind. */
struct gcdump_group {
    const char *name;
    uint8_t kind;
    uint32_t flags;
    uint32_t above; /* another group */
};
enum {
    GCDUMP_ALL,
    GCDUMP_STATICS,
    GCDUMP_THREAD_STATICS,
    GCDUMP_LOCALS,
    GCDUMP_OTHERS,
    GCDUMP_FINALIZERS,
    GCDUMP_STRONG,
    GCDUMP_PINNING,
    GCDUMP_COUNTED,
    GCDUMP_REST,
    GCDUMP_GROUPS,
};
extern const struct gcdump_group gcdump_groups[GCDUMP_GROUPS];

/* --- A file's contents: gcdump_parse.c. ------------------------------------------------------- */

struct gcdump_input {
    const uint8_t *bytes;
    size_t size, next;
    char *error; /* empty: none so far; the first one stays */
    size_t capacity;
};

/* What becomes of a node: the number of an object, or one of these. */
#define GCDUMP_NEW    0u            /* an object, without a number yet */
#define GCDUMP_ROOT   (HP_NONE - 2) /* it stands for roots */
#define GCDUMP_ABSENT (HP_NONE - 1) /* the trace does not have such an object */

struct gcdump_node {
    uint32_t type, size, count;
    uint32_t number;
    size_t children; /* where they are in the blob */
};

struct gcdump_type {
    char *name, *module; /* NULL: none */
    int32_t size;
    uint32_t number; /* of the graph's type plus 1; 0: it has none yet */
};

struct gcdump_file {
    struct gcdump_input input, blob;
    struct gcdump_type *types;
    struct gcdump_node *nodes;
    const uint8_t *labels, *addresses;
    uint32_t type_count, node_count, root;
    uint64_t child_count;
    char *log;
    bool has_memory;
};

/* Everything but the children of nodes. False after filling `error`, or without memory; the file is to
 * be closed in any case. */
bool gcdump_open(struct gcdump_file *file, const uint8_t *bytes, size_t size, char *error,
                 size_t capacity);
void gcdump_close(struct gcdump_file *file);
/* The next child of a node at blob.next; 0 after an error. */
uint32_t gcdump_child(struct gcdump_file *file, uint32_t node);
uint64_t gcdump_address(const struct gcdump_file *file, uint32_t node);
/* Of the type of a node. */
const char *gcdump_name(const struct gcdump_file *file, uint32_t node);

#endif
