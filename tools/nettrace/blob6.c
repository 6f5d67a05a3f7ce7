/* Rows of events of version 6. They name threads and labels by the indices of other blocks. */
#include "blob.h"

#include <inttypes.h>

#define UNCOMPRESSED_HEADER_SIZE 52u

static unsigned take_compressed(struct wt_cursor *cursor, struct wt_event *event)
{
    unsigned flags = wt_cursor_u8(cursor);
    if (flags & BLOB_METADATA)
        event->metadata_id = wt_cursor_var32(cursor);
    event->sequence++;
    if (flags & BLOB_SEQUENCE) {
        event->sequence += wt_cursor_var32(cursor);
        event->capture_thread = wt_cursor_var64(cursor);
        event->processor = wt_cursor_var32(cursor);
    }
    if (flags & BLOB_THREAD)
        event->thread_index = wt_cursor_var64(cursor);
    if (flags & BLOB_STACK)
        event->stack_id = wt_cursor_var32(cursor);
    event->time = (int64_t)((uint64_t)event->time + wt_cursor_var64(cursor));
    if (flags & BLOB_LABELS)
        event->label_list_id = wt_cursor_var32(cursor);
    event->sorted = (flags & BLOB_SORTED) != 0;
    if (flags & BLOB_PAYLOAD_SIZE)
        event->payload_size = wt_cursor_var32(cursor);
    event->payload = wt_cursor_bytes(cursor, event->payload_size);
    return flags;
}

/* Bit 31 of the metadata word marks an event that is not sorted, as in version 4. */
static unsigned take_uncompressed(struct wt_reader *reader, struct wt_cursor *cursor,
                                  struct wt_event *event, uint64_t offset)
{
    uint32_t size = wt_cursor_u32(cursor);
    const uint8_t *blob = wt_cursor_bytes(cursor, size);
    if (!blob || size < UNCOMPRESSED_HEADER_SIZE - 4) {
        wt_cursor_fail(cursor, WT_FAULT_SHORT);
        return 0;
    }
    blob -= 4; /* so that the offsets below match the format's table */
    uint32_t word = wt_load_u32(blob + 4);
    event->metadata_id = word & 0x7FFFFFFFu;
    event->sorted = (word & 0x80000000u) == 0;
    event->sequence = wt_load_u32(blob + 8);
    event->thread_index = wt_load_u64(blob + 12);
    event->capture_thread = wt_load_u64(blob + 20);
    event->processor = wt_load_u32(blob + 28);
    event->stack_id = wt_load_u32(blob + 32);
    event->time = (int64_t)wt_load_u64(blob + 36);
    event->label_list_id = wt_load_u32(blob + 44);
    event->payload_size = wt_load_u32(blob + 48);
    event->payload = blob + UNCOMPRESSED_HEADER_SIZE;
    if (event->payload_size > size + 4 - UNCOMPRESSED_HEADER_SIZE)
        wt_cursor_fail(cursor, WT_FAULT_SHORT);
    else if (event->payload_size < size + 4 - UNCOMPRESSED_HEADER_SIZE)
        wt_tell(reader, WT_RULE_BLOB_PADDING, offset,
                "%" PRIu32 " bytes after the payload; version 6 has no padding",
                size + 4 - UNCOMPRESSED_HEADER_SIZE - event->payload_size);
    return BLOB_CHANGED_ALL | BLOB_THREAD | BLOB_LABELS;
}

/* Without a row the id is not known. The capture thread is looked up by the caller. */
static void find_thread(struct wt_reader *reader, struct wt_event *event)
{
    const struct wt_thread *thread = wt_thread_find(reader, event->thread_index);
    event->thread_id = thread ? thread->os_thread_id : 0;
    if (!thread && event->thread_index != event->capture_thread)
        wt_tell(reader, WT_RULE_THREAD_UNDEFINED, event->offset,
                "thread index %" PRIu64 " is not defined", event->thread_index);
}

unsigned wt_blob6(struct wt_reader *reader, struct wt_cursor *cursor, struct wt_event *event,
                  uint64_t offset)
{
    unsigned changed = reader->block.flags & BLOCK_FLAG_COMPRESSED
                           ? take_compressed(cursor, event)
                           : take_uncompressed(reader, cursor, event, offset);
    if (cursor->fault != WT_FAULT_NONE)
        return 0;
    if ((changed & BLOB_THREAD) || event->first_in_block)
        find_thread(reader, event);
    if (changed & BLOB_LABELS)
        wt_labels_find(reader, event);
    return changed;
}
