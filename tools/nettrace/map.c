#include "map.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FIRST_CAPACITY 16u

/* The finaliser of splitmix64: every input bit reaches every output bit. */
static size_t slot_of(const struct wt_map *map, uint64_t key)
{
    uint64_t mixed = key + map->seed;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
    mixed ^= mixed >> 31;
    return (size_t)mixed & (map->capacity - 1);
}

static struct wt_map_slot *find_slot(const struct wt_map *map, uint64_t key)
{
    size_t at = slot_of(map, key);
    while (map->slots[at].taken && map->slots[at].key != key)
        at = (at + 1) & (map->capacity - 1);
    return &map->slots[at];
}

uint32_t *wt_map_find(const struct wt_map *map, uint64_t key)
{
    if (map->count == 0)
        return NULL;
    struct wt_map_slot *slot = find_slot(map, key);
    return slot->taken ? &slot->value : NULL;
}

static bool grow(struct wt_map *map)
{
    struct wt_map old = *map;
    if (old.capacity > SIZE_MAX / (2 * sizeof(*old.slots)))
        return false;
    map->capacity = old.capacity ? 2 * old.capacity : FIRST_CAPACITY;
    map->slots = calloc(map->capacity, sizeof(*map->slots));
    if (!map->slots) {
        *map = old;
        return false;
    }
    if (map->seed == 0)
        map->seed = (uint64_t)(uintptr_t)map->slots ^ (uint64_t)clock() * 0x9E3779B97F4A7C15u ^
                    (uint64_t)time(NULL) << 20;
    for (size_t i = 0; i < old.capacity; i++)
        if (old.slots[i].taken)
            *find_slot(map, old.slots[i].key) = old.slots[i];
    free(old.slots);
    return true;
}

bool wt_map_insert(struct wt_map *map, uint64_t key, uint32_t value)
{
    if (map->count + 1 > map->capacity / 2 && !grow(map))
        return false;
    struct wt_map_slot *slot = find_slot(map, key);
    slot->key = key;
    slot->value = value;
    slot->taken = 1;
    map->count++;
    return true;
}

void wt_map_clear(struct wt_map *map)
{
    if (map->count == 0)
        return;
    /* A table much larger than its contents is freed: otherwise a file with one large table and
     * then many small ones would pay for clearing the large one each time. */
    if (map->count < map->capacity / 16) {
        free(map->slots);
        map->slots = NULL;
        map->capacity = 0;
    } else {
        memset(map->slots, 0, map->capacity * sizeof(*map->slots));
    }
    map->count = 0;
}

void wt_map_fini(struct wt_map *map)
{
    free(map->slots);
    map->slots = NULL;
    map->capacity = 0;
    map->count = 0;
}
