/* The header of an event: what the files that take it from a block share. */
#ifndef WT_NETTRACE_BLOB_H
#define WT_NETTRACE_BLOB_H

#include "reader_impl.h"

enum wt_blob_flag {
    BLOB_METADATA = 0x01,
    BLOB_SEQUENCE = 0x02, /* with capture thread and processor */
    BLOB_THREAD = 0x04,
    BLOB_STACK = 0x08,
    BLOB_ACTIVITY = 0x10,
    BLOB_LABELS = 0x10, /* in version 6 */
    BLOB_RELATED = 0x20,
    BLOB_SORTED = 0x40,
    BLOB_PAYLOAD_SIZE = 0x80,
};

/* Parts of the header that may differ from the previous blob and then need a lookup. */
#define BLOB_CHANGED_ALL (BLOB_METADATA | BLOB_SEQUENCE | BLOB_STACK)

#define BLOCK_FLAG_COMPRESSED 1u

/* Take one blob. Return which parts may have changed; after a fault of the cursor, nothing holds.
 * `offset` is that of the blob in the stream. */
unsigned wt_blob4_uncompressed(struct wt_reader *reader, struct wt_cursor *cursor,
                               struct wt_event *event, uint64_t offset);
unsigned wt_blob6(struct wt_reader *reader, struct wt_cursor *cursor, struct wt_event *event,
                  uint64_t offset);

#endif
