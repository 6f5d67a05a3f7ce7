/* From 64-bit keys to numbers from 0 on. */
#ifndef HP_MAP_H
#define HP_MAP_H

#include <stdbool.h>
#include <stdint.h>

struct hp_map {
    uint64_t *keys;
    uint32_t *values; /* plus 1; 0: free */
    uint32_t slots, used;
};

/* Where the key's number is, or a place for it, which then is 0 and must be set to the number plus 1.
 * NULL if there is no memory. */
uint32_t *hp_map_place(struct hp_map *map, uint64_t key);
/* HP_NONE: none. */
uint32_t hp_map_find(const struct hp_map *map, uint64_t key);
void hp_map_free(struct hp_map *map);

#endif
