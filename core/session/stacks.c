#include "session/stacks.h"

#include <string.h>
#include "base/compiler.h"
#include "os/os.h"

#define SLOTS_MAX (1u << 16) /* each point clears them */

WR_COLD bool wr_stacks_reserve(struct wr_stacks *stacks, uint32_t bytes)
{
    unsigned char *memory = wr_os_pages_map(bytes);
    if (!memory)
        return false;
    stacks->slot_count = 1;
    while (2 * stacks->slot_count * sizeof(struct wr_stack_slot) <= bytes / 4 &&
           stacks->slot_count < SLOTS_MAX)
        stacks->slot_count *= 2;
    uint32_t slot_bytes = stacks->slot_count * (uint32_t)sizeof(struct wr_stack_slot);
    stacks->bytes = bytes;
    stacks->slots = (void *)memory;
    stacks->store = memory + slot_bytes;
    stacks->store_bytes = bytes - slot_bytes;
    return true;
}

WR_COLD void wr_stacks_release(struct wr_stacks *stacks)
{
    wr_os_pages_unmap(stacks->slots, stacks->bytes);
    memset(stacks, 0, sizeof *stacks);
}

#define FACTOR UINT64_C(0x9E3779B97F4A7C15)

/* A sum of products, so that no address waits for the one before it. */
static uint32_t hash_of(const unsigned char *stack, uint32_t bytes)
{
    uint64_t hash = bytes, factor = FACTOR, word;
    for (uint32_t at = 0; at < bytes; at += 8) {
        memcpy(&word, stack + at, sizeof word);
        hash += word * factor;
        factor *= FACTOR;
    }
    return (uint32_t)((hash ^ hash >> 32) * FACTOR >> 32);
}

/* Two addresses at a time; a call of memcmp() costs more than most stacks do. */
static bool is_same(const unsigned char *left, const unsigned char *right, uint32_t bytes)
{
    uint32_t at = 0;
    for (; at + 16 <= bytes; at += 16)
        if (memcmp(left + at, right + at, 16) != 0)
            return false;
    return at == bytes || memcmp(left + at, right + at, 8) == 0;
}

static void slots_clear(struct wr_stacks *stacks)
{
    if (stacks->used)
        memset(stacks->slots, 0, stacks->slot_count * sizeof *stacks->slots);
    stacks->used = stacks->stored = 0;
}

WR_COLD void wr_stacks_forget(struct wr_stacks *stacks)
{
    slots_clear(stacks);
    stacks->last_id = 0;
}

/* The stack's slot, or the free one where it belongs. */
static struct wr_stack_slot *slot_find(const struct wr_stacks *stacks, const unsigned char *stack,
                                       uint32_t bytes, uint32_t hash)
{
    for (uint32_t i = hash;; i++) {
        struct wr_stack_slot *slot = &stacks->slots[i & (stacks->slot_count - 1)];
        if (slot->id == 0 || (slot->hash == hash && slot->bytes == bytes &&
                              is_same(stacks->store + slot->at, stack, bytes)))
            return slot;
    }
}

uint32_t wr_stacks_known(const struct wr_stacks *stacks, const unsigned char *stack, uint32_t bytes)
{
    return stacks->slots ? slot_find(stacks, stack, bytes, hash_of(stack, bytes))->id : 0;
}

uint32_t wr_stacks_find(struct wr_stacks *stacks, const unsigned char *stack, uint32_t bytes,
                        bool *is_new)
{
    *is_new = true;
    if (!stacks->slots)
        return ++stacks->last_id;
    uint32_t hash = hash_of(stack, bytes);
    struct wr_stack_slot *slot = slot_find(stacks, stack, bytes, hash);
    *is_new = slot->id == 0;
    if (slot->id)
        return slot->id;
    bool is_full =
        stacks->used >= stacks->slot_count / 4 * 3 || bytes > stacks->store_bytes - stacks->stored;
    if (is_full) {
        slots_clear(stacks);
        slot = slot_find(stacks, stack, bytes, hash);
    }
    *slot = (struct wr_stack_slot){hash, ++stacks->last_id, stacks->stored, bytes};
    memcpy(stacks->store + stacks->stored, stack, bytes);
    stacks->stored += bytes;
    stacks->used++;
    return slot->id;
}
