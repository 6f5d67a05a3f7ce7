#include "session/stacks.h"

#include <string.h>
#include "base/compiler.h"
#include "base/pair.h"
#include "lane/record.h"
#include "nettrace/writer.h"
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

static inline const unsigned char *words_of(const unsigned char *stack)
{
    return stack + WR_RECORD_STACK_HEAD_BYTES;
}

static inline uint32_t place_of(uint64_t head)
{
    return (uint32_t)(head >> WR_RECORD_STACK_HASH_SHIFT);
}

static inline wr_pair two_differ(const unsigned char *left, const unsigned char *right)
{
    return wr_pair_at(left) ^ wr_pair_at(right);
}

/* To the end, for that is where two stacks with one head differ, if they do. */
static inline bool is_same(const unsigned char *left, const unsigned char *right, uint32_t bytes)
{
    wr_pair differ;
    if (WR_UNLIKELY(bytes < 16))
        return memcmp(left, right, bytes) == 0;
    differ = two_differ(left, right) | two_differ(left + (bytes - 16), right + (bytes - 16));
    for (uint32_t at = 16; at + 16 < bytes; at += 16)
        differ |= two_differ(left + at, right + at);
    return (differ[0] | differ[1]) == 0;
}

static void slots_clear(struct wr_stacks *stacks)
{
    if (stacks->used)
        memset(stacks->slots, 0, stacks->slot_count * sizeof *stacks->slots);
    stacks->used = stacks->stored = stacks->written = 0;
}

WR_COLD void wr_stacks_forget(struct wr_stacks *stacks)
{
    slots_clear(stacks);
    stacks->last_id = 0;
    stacks->was_full = false;
}

/* The stack's slot, or the free one where it belongs. */
static WR_NOINLINE struct wr_stack_slot *slot_find(const struct wr_stacks *stacks,
                                                   const unsigned char *stack, uint32_t bytes)
{
    uint64_t head = wr_record_stack_head(stack);
    for (uint32_t place = place_of(head);; place++) {
        struct wr_stack_slot *slot = &stacks->slots[place & (stacks->slot_count - 1)];
        if (slot->head == 0 ||
            (slot->head == head && is_same(stacks->store + slot->at, words_of(stack), bytes)))
            return slot;
    }
}

/* wr_stacks_known(). As slot_find(), which is called only if two stacks share a head; what the loop needs
 * is in registers, so that no store to `codes` may change it. */
WR_INLINE uint32_t known(const struct wr_stacks *stacks, const unsigned char *stack, uint32_t bytes,
                         uint32_t stride, uint32_t count, uint32_t *codes)
{
    const struct wr_stack_slot *slots = stacks->slots, *slot;
    const unsigned char *store = stacks->store;
    uint32_t mask = stacks->slot_count - 1, i;
    for (i = 0; i < count; i++, stack += stride) {
        uint64_t head = wr_record_stack_head(stack);
        for (uint32_t place = place_of(head); (slot = &slots[place & mask])->head != head; place++)
            if (slot->head == 0)
                return i;
        if (WR_UNLIKELY(!is_same(store + slot->at, words_of(stack), bytes))) {
            slot = slot_find(stacks, stack, bytes);
            if (slot->head == 0)
                return i;
        }
        codes[i] = slot->code;
    }
    return i;
}

uint32_t wr_stacks_known(const struct wr_stacks *stacks, const unsigned char *stack, uint32_t bytes,
                         uint32_t stride, uint32_t count, uint32_t *codes)
{
    /* Two loops, one of them without the test of the length. */
    return bytes >= 16 ? known(stacks, stack, bytes, stride, count, codes)
                       : known(stacks, stack, bytes, stride, count, codes);
}

/* Counts the bytes that stacks have in the stream, because a reader holds those. In the store they
 * never have more. */
static bool has_room(const struct wr_stacks *stacks, uint32_t form)
{
    return stacks->used < stacks->slot_count / 4 * 3 &&
           8 * wr_record_stack_count(form) <= stacks->store_bytes - stacks->written;
}

/* Fills a free slot. */
static void slot_fill(struct wr_stacks *stacks, struct wr_stack_slot *slot,
                      const unsigned char *stack, uint32_t bytes)
{
    uint32_t code = wr_nettrace_stack_code(++stacks->last_id);
    *slot = (struct wr_stack_slot){wr_record_stack_head(stack), code, stacks->stored};
    memcpy(stacks->store + stacks->stored, words_of(stack), bytes);
    stacks->stored += bytes;
    stacks->written += 8 * wr_record_stack_count(wr_record_stack_form(stack));
    stacks->used++;
}

uint32_t wr_stacks_find(struct wr_stacks *stacks, const unsigned char *stack, uint32_t bytes,
                        bool *is_new)
{
    *is_new = true;
    if (!stacks->slots)
        return ++stacks->last_id;
    struct wr_stack_slot *slot = slot_find(stacks, stack, bytes);
    *is_new = slot->head == 0;
    if (slot->head)
        return wr_nettrace_stack_id(slot->code);
    if (!has_room(stacks, wr_record_stack_form(stack))) {
        stacks->was_full = true;
        slots_clear(stacks);
        slot = slot_find(stacks, stack, bytes);
    }
    slot_fill(stacks, slot, stack, bytes);
    return stacks->last_id;
}

uint32_t wr_stacks_add(struct wr_stacks *stacks, const unsigned char *stack, uint32_t bytes,
                       uint32_t stride, uint32_t count)
{
    uint32_t i = 0, form = wr_record_stack_form(stack);
    for (; i < count && has_room(stacks, form); i++, stack += stride) {
        if (wr_record_stack_form(stack) != form)
            break;
        struct wr_stack_slot *slot = slot_find(stacks, stack, bytes);
        if (slot->head)
            break;
        slot_fill(stacks, slot, stack, bytes);
    }
    return i;
}
