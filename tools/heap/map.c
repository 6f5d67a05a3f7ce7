#include "map.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SLOTS_FIRST 1024u

/* Keys come from files, so their order in the table must not be known to who writes these: otherwise
 * all of them may share one place. */
static uint64_t random_factors[2];

static void choose_factors(void)
{
    if (random_factors[0])
        return;
    if (getentropy(random_factors, sizeof(random_factors)) != 0)
        random_factors[0] = random_factors[1] = (uint64_t)time(NULL) * UINT64_C(0x9E3779B97F4A7C15);
    random_factors[0] |= 1;
    random_factors[1] |= 1;
}

static uint32_t slot_of(const struct hp_map *map, uint64_t key)
{
    uint64_t hash = key * random_factors[0];
    hash = (hash ^ hash >> 32) * random_factors[1];
    uint32_t at = (uint32_t)(hash >> 32) & (map->slots - 1);
    while (map->values[at] && map->keys[at] != key)
        at = (at + 1) & (map->slots - 1);
    return at;
}

static bool grow(struct hp_map *map)
{
    struct hp_map larger = {.slots = map->slots ? 2 * map->slots : SLOTS_FIRST};
    if (map->slots > UINT32_MAX / 2)
        return false;
    choose_factors();
    larger.keys = malloc(larger.slots * sizeof(*larger.keys));
    larger.values = calloc(larger.slots, sizeof(*larger.values));
    if (!larger.keys || !larger.values) {
        hp_map_free(&larger);
        return false;
    }
    for (uint32_t i = 0; i < map->slots; i++)
        if (map->values[i]) {
            uint32_t at = slot_of(&larger, map->keys[i]);
            larger.keys[at] = map->keys[i];
            larger.values[at] = map->values[i];
        }
    larger.used = map->used;
    hp_map_free(map);
    *map = larger;
    return true;
}

uint32_t *hp_map_place(struct hp_map *map, uint64_t key)
{
    if (map->used >= map->slots / 2 && !grow(map))
        return NULL;
    uint32_t at = slot_of(map, key);
    if (!map->values[at]) {
        map->keys[at] = key;
        map->used++;
    }
    return &map->values[at];
}

uint32_t hp_map_find(const struct hp_map *map, uint64_t key)
{
    uint32_t value = map->slots ? map->values[slot_of(map, key)] : 0;
    return value - 1; /* HP_NONE if there is none */
}

void hp_map_free(struct hp_map *map)
{
    free(map->keys);
    free(map->values);
    *map = (struct hp_map){0};
}
