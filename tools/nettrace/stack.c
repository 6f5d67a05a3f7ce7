/* Stack blocks. Stacks live until the next sequence point. */
#include "reader_impl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define STACK_START_SIZE 8u
#define STACK_MAX_SIZE   65527u /* the common readers store size + 8 in 16 bits */

static bool have_room(struct wt_reader *reader)
{
    if (reader->stack_count < reader->stack_capacity)
        return true;
    if (reader->stack_capacity > UINT32_MAX / 2)
        return false;
    uint32_t capacity = reader->stack_capacity ? 2 * reader->stack_capacity : 64;
    struct stack_entry *larger = realloc(reader->stacks, capacity * sizeof(*larger));
    if (!larger)
        return false;
    reader->stacks = larger;
    reader->stack_capacity = capacity;
    return true;
}

static enum wt_status add_stack(struct wt_reader *reader, uint32_t id, const uint8_t *bytes,
                                uint32_t size, uint64_t offset)
{
    int32_t pointer = reader->trace.pointer_size;
    if (size > STACK_MAX_SIZE || (pointer > 0 && size % (uint32_t)pointer != 0))
        wt_tell(reader, WT_RULE_STACK_SIZE, offset, "stack %" PRIu32 " has %" PRIu32 " bytes", id,
                size);
    reader->totals.stacks++;
    if (wt_map_find(&reader->stack_map, id)) {
        wt_tell(reader, WT_RULE_STACK_REDEFINED, offset, "stack %" PRIu32 " is defined again", id);
        return WT_OK;
    }
    /* The size of a table entry is counted too; otherwise empty stacks would be unlimited. */
    const size_t cost = 48;
    uint8_t *copy = wt_arena_take(&reader->stack_arena, size + cost);
    if (!copy && reader->stack_arena.over_limit)
        return wt_fail(reader, WT_ERROR_LIMIT, WT_RULE_LIMIT, offset,
                       "more than %zu bytes of stacks without a sequence point",
                       reader->options.limits.stack_bytes_max);
    if (!copy || !have_room(reader) || !wt_map_insert(&reader->stack_map, id, reader->stack_count))
        return wt_fail(reader, WT_ERROR_MEMORY, WT_RULE_NONE, offset, "out of memory");
    memcpy(copy, bytes, size);
    reader->stacks[reader->stack_count].bytes = copy;
    reader->stacks[reader->stack_count].size = size;
    reader->stack_count++;
    return WT_OK;
}

enum wt_status wt_stack_block(struct wt_reader *reader, const uint8_t *body, size_t size)
{
    const uint64_t at = reader->block.body_offset;
    struct wt_cursor cursor = wt_cursor_make(body, size);
    if (reader->handlers.block)
        reader->handlers.block(reader->context, &reader->block);
    uint32_t first = wt_cursor_u32(&cursor);
    uint32_t count = wt_cursor_u32(&cursor);
    enum wt_status status = WT_OK;
    for (uint32_t i = 0; i < count && cursor.fault == WT_FAULT_NONE && status == WT_OK; i++) {
        uint64_t offset = at + (uint64_t)(cursor.at - body);
        uint32_t stack_size = wt_cursor_u32(&cursor);
        const uint8_t *bytes = wt_cursor_bytes(&cursor, stack_size);
        if (bytes)
            status = add_stack(reader, first + i, bytes, stack_size, offset);
    }
    if (status != WT_OK || reader->partial)
        return status;
    if (cursor.fault != WT_FAULT_NONE)
        return wt_fail(reader, WT_ERROR_FORMAT, WT_RULE_STACK_BLOCK, at,
                       "the block of %zu bytes is too short for its %" PRIu32 " stacks", size,
                       count);
    if (wt_cursor_left(&cursor) > 0)
        wt_tell(reader, WT_RULE_STACK_BLOCK, at + (uint64_t)(cursor.at - body),
                "%zu bytes after the last stack", wt_cursor_left(&cursor));
    return WT_OK;
}

void wt_stacks_forget(struct wt_reader *reader)
{
    wt_map_clear(&reader->stack_map);
    wt_arena_clear(&reader->stack_arena);
    reader->stack_count = 0;
}
