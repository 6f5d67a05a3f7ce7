#include "runtime/visited.h"

#include "os/os.h"

#define SLOTS_FIRST 512u /* a page */

static uint64_t hash_of(uint64_t address)
{
    uint64_t hash = address * UINT64_C(0x9E3779B97F4A7C15);
    return (hash ^ hash >> 32) * UINT64_C(0x9E3779B97F4A7C15);
}

/* The address's slot, or the free one where it belongs. */
static uint64_t *slot_of(const struct wr_visited_part *part, uint64_t address, uint64_t hash)
{
    uint32_t at = (uint32_t)((hash & UINT32_MAX) * part->slot_count >> 32);
    while (part->slots[at] && part->slots[at] != address)
        at = at + 1 == part->slot_count ? 0 : at + 1;
    return &part->slots[at];
}

static bool part_grow(struct wr_visited_part *part)
{
    struct wr_visited_part larger = {.used = part->used};
    if (part->slot_count > UINT32_MAX / 2)
        return false;
    larger.slot_count = part->slots ? part->slot_count + part->slot_count / 2 : SLOTS_FIRST;
    larger.slots = wr_os_pages_map(larger.slot_count * sizeof *larger.slots);
    if (!larger.slots)
        return false;
    for (uint32_t i = 0; i < part->slot_count; i++)
        if (part->slots[i])
            *slot_of(&larger, part->slots[i], hash_of(part->slots[i])) = part->slots[i];
    wr_os_pages_unmap(part->slots, part->slot_count * sizeof *part->slots);
    *part = larger;
    return true;
}

enum wr_visit wr_visited_add(struct wr_visited *visited, uint64_t address, uint64_t most)
{
    uint64_t hash = hash_of(address);
    struct wr_visited_part *part = &visited->parts[hash >> 56];
    uint64_t *slot = part->slots ? slot_of(part, address, hash) : NULL;
    if (slot && *slot)
        return WR_VISIT_AGAIN;
    if (visited->used >= most)
        return WR_VISIT_NO_ROOM;
    if (part->used >= part->slot_count / 4 * 3) {
        if (!part_grow(part))
            return WR_VISIT_NO_ROOM;
        slot = slot_of(part, address, hash);
    }
    *slot = address;
    part->used++;
    visited->used++;
    return WR_VISIT_FIRST;
}

void wr_visited_release(struct wr_visited *visited)
{
    for (uint32_t i = 0; i < WR_VISITED_PARTS; i++)
        wr_os_pages_unmap(visited->parts[i].slots, visited->parts[i].slot_count * sizeof(uint64_t));
    *visited = (struct wr_visited){0};
}
