/* Stack blocks. Stacks live until the next sequence point. */
#include "reader_impl.h"

#include <inttypes.h>

#define STACK_MAX_SIZE 65527u /* the common readers store size + 8 in 16 bits */

static enum wt_status add_stack(struct wt_reader *reader, uint32_t id, const uint8_t *bytes,
                                uint32_t size, uint64_t offset)
{
    int32_t pointer = reader->trace.pointer_size;
    if (size > STACK_MAX_SIZE || (pointer > 0 && size % (uint32_t)pointer != 0))
        wt_tell(reader, WT_RULE_STACK_SIZE, offset, "stack %" PRIu32 " has %" PRIu32 " bytes", id,
                size);
    reader->totals.stacks++;
    switch (wt_pieces_add(&reader->stacks, id, NULL, 0, bytes, size)) {
    case WT_PIECES_OK:
        break;
    case WT_PIECES_KNOWN:
        wt_tell(reader, WT_RULE_STACK_REDEFINED, offset, "stack %" PRIu32 " is defined again", id);
        break;
    case WT_PIECES_LIMIT:
        return wt_fail(reader, WT_ERROR_LIMIT, WT_RULE_LIMIT, offset,
                       "more than %zu bytes of stacks without a sequence point",
                       reader->options.limits.stack_bytes_max);
    case WT_PIECES_MEMORY:
        return wt_fail(reader, WT_ERROR_MEMORY, WT_RULE_NONE, offset, "out of memory");
    }
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
