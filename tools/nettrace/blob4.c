/* Uncompressed blobs of versions 4 and 5. */
#include "blob.h"

#define UNCOMPRESSED_HEADER_SIZE 80u

static void check_blob_padding(struct wt_reader *reader, const uint8_t *padding, size_t size,
                               uint64_t offset)
{
    bool zero = true;
    for (size_t i = 0; i < size && i < 4; i++)
        zero = zero && padding[i] == 0;
    if (size > 3 || !zero)
        wt_tell(reader, WT_RULE_BLOB_PADDING, offset, "%zu bytes of padding%s", size,
                zero ? "" : ", not zero");
}

/* Bit 31 of the metadata word marks an event that is not sorted, as the .NET runtime writes it. */
unsigned wt_blob4_uncompressed(struct wt_reader *reader, struct wt_cursor *cursor,
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
    event->thread_id = wt_load_u64(blob + 12);
    event->capture_thread = wt_load_u64(blob + 20);
    event->processor = wt_load_u32(blob + 28);
    event->stack_id = wt_load_u32(blob + 32);
    event->time = (int64_t)wt_load_u64(blob + 36);
    memcpy(event->activity_id, blob + 44, 16);
    memcpy(event->related_activity_id, blob + 60, 16);
    event->payload_size = wt_load_u32(blob + 76);
    if (event->payload_size > size + 4 - UNCOMPRESSED_HEADER_SIZE) {
        wt_cursor_fail(cursor, WT_FAULT_SHORT);
        return 0;
    }
    event->payload = blob + UNCOMPRESSED_HEADER_SIZE;
    size_t padding = size + 4 - UNCOMPRESSED_HEADER_SIZE - event->payload_size;
    if (__builtin_expect(padding > 0, 0))
        check_blob_padding(reader, event->payload + event->payload_size, padding,
                           offset + UNCOMPRESSED_HEADER_SIZE + event->payload_size);
    return BLOB_CHANGED_ALL;
}
