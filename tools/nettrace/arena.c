#include "arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>

#define CHUNK_SIZE ((size_t)64 * 1024)

struct wt_arena_chunk {
    struct wt_arena_chunk *next;
    size_t size; /* of bytes[] */
    size_t used;
    alignas(max_align_t) unsigned char bytes[];
};

static struct wt_arena_chunk *add_chunk(struct wt_arena *arena, size_t size)
{
    size_t wanted = size > CHUNK_SIZE ? size : CHUNK_SIZE;
    struct wt_arena_chunk *chunk = malloc(sizeof(*chunk) + wanted);
    if (!chunk)
        return NULL;
    chunk->next = arena->chunks;
    chunk->size = wanted;
    chunk->used = 0;
    arena->chunks = chunk;
    return chunk;
}

void *wt_arena_take(struct wt_arena *arena, size_t size)
{
    const size_t align = alignof(max_align_t);
    arena->over_limit = size > arena->limit || arena->used > arena->limit - size;
    if (arena->over_limit || size > SIZE_MAX / 2)
        return NULL;
    size = (size + align - 1) / align * align;
    struct wt_arena_chunk *chunk = arena->chunks;
    if (!chunk || size > chunk->size - chunk->used)
        chunk = add_chunk(arena, size);
    if (!chunk)
        return NULL;
    void *piece = chunk->bytes + chunk->used;
    chunk->used += size;
    arena->used += size;
    return piece;
}

void wt_arena_clear(struct wt_arena *arena)
{
    struct wt_arena_chunk *kept = arena->chunks;
    arena->used = 0;
    if (!kept)
        return;
    struct wt_arena_chunk *chunk = kept->next;
    while (chunk) {
        struct wt_arena_chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
    kept->next = NULL;
    kept->used = 0;
}

void wt_arena_fini(struct wt_arena *arena)
{
    wt_arena_clear(arena);
    free(arena->chunks);
    arena->chunks = NULL;
}
