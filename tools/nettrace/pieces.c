#include "pieces.h"

#include <stdlib.h>
#include <string.h>

static bool have_room(struct wt_pieces *pieces)
{
    if (pieces->count < pieces->capacity)
        return true;
    if (pieces->capacity > UINT32_MAX / 2)
        return false;
    uint32_t capacity = pieces->capacity ? 2 * pieces->capacity : 64;
    struct wt_piece *larger = realloc(pieces->items, capacity * sizeof(*larger));
    if (!larger)
        return false;
    pieces->items = larger;
    pieces->capacity = capacity;
    return true;
}

enum wt_pieces_result wt_pieces_add(struct wt_pieces *pieces, uint32_t id, const void *head,
                                    size_t head_size, const uint8_t *bytes, uint32_t size)
{
    /* The size of a table entry is counted too; otherwise empty pieces would be unlimited. */
    const size_t cost = 48;
    if (wt_map_find(&pieces->map, id))
        return WT_PIECES_KNOWN;
    uint8_t *copy = wt_arena_take(&pieces->arena, head_size + size + cost);
    if (!copy && pieces->arena.over_limit)
        return WT_PIECES_LIMIT;
    if (!copy || !have_room(pieces) || !wt_map_insert(&pieces->map, id, pieces->count))
        return WT_PIECES_MEMORY;
    if (head_size)
        memcpy(copy, head, head_size);
    if (size)
        memcpy(copy + head_size, bytes, size);
    pieces->items[pieces->count++] = (struct wt_piece){copy, copy + head_size, size};
    return WT_PIECES_OK;
}

const struct wt_piece *wt_pieces_find(const struct wt_pieces *pieces, uint32_t id)
{
    const uint32_t *index = wt_map_find(&pieces->map, id);
    return index ? &pieces->items[*index] : NULL;
}

void wt_pieces_forget(struct wt_pieces *pieces)
{
    wt_map_clear(&pieces->map);
    wt_arena_clear(&pieces->arena);
    pieces->count = 0;
}

void wt_pieces_fini(struct wt_pieces *pieces)
{
    wt_arena_fini(&pieces->arena);
    wt_map_fini(&pieces->map);
    free(pieces->items);
    pieces->items = NULL;
    pieces->count = pieces->capacity = 0;
}
