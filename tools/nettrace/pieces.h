/* Pieces of bytes by id, as stacks and label lists are: all are forgotten at once. */
#ifndef WT_NETTRACE_PIECES_H
#define WT_NETTRACE_PIECES_H

#include "arena.h"
#include "map.h"

struct wt_piece {
    const void *head; /* what the caller has found out about the bytes */
    const uint8_t *bytes;
    uint32_t size;
};

struct wt_pieces {
    struct wt_arena arena; /* its limit is the caller's to set */
    struct wt_map map;     /* id -> index */
    struct wt_piece *items;
    uint32_t count, capacity;
};

enum wt_pieces_result { WT_PIECES_OK, WT_PIECES_KNOWN, WT_PIECES_LIMIT, WT_PIECES_MEMORY };

/* Keeps copies; `head` may be NULL, with a size of 0. WT_PIECES_KNOWN: there is one with that id,
 * and it stays. */
enum wt_pieces_result wt_pieces_add(struct wt_pieces *pieces, uint32_t id, const void *head,
                                    size_t head_size, const uint8_t *bytes, uint32_t size);

/* NULL if there is none. The pointer holds until the next addition. */
const struct wt_piece *wt_pieces_find(const struct wt_pieces *pieces, uint32_t id);

void wt_pieces_forget(struct wt_pieces *pieces);
void wt_pieces_fini(struct wt_pieces *pieces);

#endif
