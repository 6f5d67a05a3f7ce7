/* A hash table from 64-bit keys to 32-bit values, open addressing.
 *
 * Keys come from files that may be hostile, so the hash is seeded per table: a file cannot be made
 * so that all its keys collide. */
#ifndef WT_NETTRACE_MAP_H
#define WT_NETTRACE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wt_map_slot {
    uint64_t key;
    uint32_t value;
    uint32_t taken;
};

struct wt_map {
    struct wt_map_slot *slots; /* NULL until the first insertion */
    size_t capacity;           /* a power of two */
    size_t count;
    uint64_t seed;
};

/* The value of the key, or NULL. The pointer holds until the next insertion. */
uint32_t *wt_map_find(const struct wt_map *map, uint64_t key);

/* Adds a key that is not there yet. Returns false when memory is exhausted. */
bool wt_map_insert(struct wt_map *map, uint64_t key, uint32_t value);

/* Removes all keys, in time proportional to their number. */
void wt_map_clear(struct wt_map *map);

void wt_map_fini(struct wt_map *map);

#endif
