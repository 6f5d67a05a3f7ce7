/* Memory that is given out piece by piece and taken back all at once. */
#ifndef WT_NETTRACE_ARENA_H
#define WT_NETTRACE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct wt_arena_chunk;

struct wt_arena {
    struct wt_arena_chunk *chunks; /* newest first */
    size_t used;                   /* bytes given out since the last clear */
    size_t limit;                  /* the most that may be given out */
    bool over_limit;               /* the last failure was the limit, not the system */
};

/* `size` bytes aligned for any object, not cleared; NULL when the limit or the memory is spent. */
void *wt_arena_take(struct wt_arena *arena, size_t size);

/* Takes everything back; one chunk is kept for the next use. */
void wt_arena_clear(struct wt_arena *arena);

/* Takes everything back and frees it. */
void wt_arena_fini(struct wt_arena *arena);

#endif
