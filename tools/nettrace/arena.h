/* Memory that is allocated piece by piece and freed all at once. */
#ifndef WT_NETTRACE_ARENA_H
#define WT_NETTRACE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct wt_arena_chunk;

struct wt_arena {
    struct wt_arena_chunk *chunks; /* newest first */
    size_t used;                   /* bytes allocated since the last clear */
    size_t limit;                  /* most bytes that may be allocated */
    bool over_limit;               /* the last failure came from the limit, not from the system */
};

/* `size` bytes aligned for any object, not cleared; NULL when the limit is reached or memory is
 * exhausted. */
void *wt_arena_take(struct wt_arena *arena, size_t size);

/* Frees everything, but keeps one chunk for the next use. */
void wt_arena_clear(struct wt_arena *arena);

/* Frees everything and the memory itself. */
void wt_arena_fini(struct wt_arena *arena);

#endif
