/* Event blocks, and metadata blocks before version 6: the blobs in them. The loop over compressed
 * blobs is the hot path. */
#include "blob.h"

#include <inttypes.h>

#define BLOCK_HEADER_SIZE 20u
#define PAYLOAD_MAX_SIZE  65535u

static void take_guid(struct wt_cursor *cursor, uint8_t guid[16])
{
    const uint8_t *bytes = wt_cursor_bytes(cursor, 16);
    if (bytes)
        memcpy(guid, bytes, 16);
}

/* Returns the flags byte; fields without a flag keep the values of the previous blob. */
static unsigned take_compressed(struct wt_cursor *cursor, struct wt_event *event)
{
    unsigned flags = wt_cursor_u8(cursor);
    if (flags & BLOB_METADATA)
        event->metadata_id = wt_cursor_var32(cursor);
    if (flags & BLOB_SEQUENCE) {
        event->sequence += wt_cursor_var32(cursor) + 1;
        event->capture_thread = wt_cursor_var64(cursor);
        event->processor = wt_cursor_var32(cursor);
    } else if (event->metadata_id != 0) {
        event->sequence++;
    }
    if (flags & BLOB_THREAD)
        event->thread_id = wt_cursor_var64(cursor);
    if (flags & BLOB_STACK)
        event->stack_id = wt_cursor_var32(cursor);
    event->time = (int64_t)((uint64_t)event->time + wt_cursor_var64(cursor));
    if (flags & BLOB_ACTIVITY)
        take_guid(cursor, event->activity_id);
    if (flags & BLOB_RELATED)
        take_guid(cursor, event->related_activity_id);
    event->sorted = (flags & BLOB_SORTED) != 0;
    if (flags & BLOB_PAYLOAD_SIZE)
        event->payload_size = wt_cursor_var32(cursor);
    event->payload = wt_cursor_bytes(cursor, event->payload_size);
    return flags;
}

static void find_stack(struct wt_reader *reader, struct wt_event *event)
{
    event->stack = NULL;
    event->stack_size = 0;
    if (event->stack_id == 0 || reader->window.quiet)
        return;
    const struct wt_piece *stack = wt_pieces_find(&reader->stacks, event->stack_id);
    if (!stack) {
        wt_tell(reader, WT_RULE_STACK_UNDEFINED, event->offset,
                "stack %" PRIu32 " is not defined at this place", event->stack_id);
        return;
    }
    event->stack = stack->bytes;
    event->stack_size = stack->size;
}

static void find_metadata(struct wt_reader *reader, struct wt_event *event)
{
    event->metadata = wt_metadata_find(reader, event->metadata_id);
    if (event->metadata)
        return;
    wt_tell(reader, WT_RULE_METADATA_UNDEFINED, event->offset,
            "metadata %" PRIu32 " is not defined", event->metadata_id);
    event->metadata = &reader->undefined;
}

static enum wt_status find_thread(struct wt_reader *reader, struct wt_event *event)
{
    if (event->thread && event->thread->capture_thread == event->capture_thread)
        return WT_OK;
    bool is_new;
    struct wt_thread *thread = wt_thread_get(reader, event->capture_thread, &is_new);
    if (!thread)
        return reader->error.status;
    if (reader->trace.major >= 6 && (is_new || thread->is_removed))
        wt_tell(reader, WT_RULE_THREAD_UNDEFINED, event->offset, "thread index %" PRIu64 " %s",
                event->capture_thread, is_new ? "is not defined" : "was removed");
    if (is_new) {
        thread->first_sequence = event->sequence;
        thread->sequence = event->sequence - 1; /* losses before the first event are unknown */
        thread->number = (uint64_t)event->sequence - 1;
    }
    if (__builtin_expect(thread->passed != reader->window.passed, 0))
        wt_window_meet(reader, thread, event->sequence);
    event->thread = thread;
    return WT_OK;
}

/* Rules that follow from the block's header; out of line, because they are seldom broken. */
static void check_event(struct wt_reader *reader, const struct wt_event *event)
{
    const struct wt_block *block = &reader->block;
    if (event->time < block->min_time || event->time > block->max_time)
        wt_tell(reader, WT_RULE_MIN_MAX, event->offset,
                "time %" PRId64 " is outside the block's %" PRId64 " to %" PRId64, event->time,
                block->min_time, block->max_time);
    if (event->payload_size > PAYLOAD_MAX_SIZE)
        wt_tell(reader, WT_RULE_PAYLOAD_SIZE, event->offset, "payload of %" PRIu32 " bytes",
                event->payload_size);
}

static enum wt_status take_event(struct wt_reader *reader, struct wt_event *event, unsigned changed)
{
    if (changed & BLOB_CHANGED_ALL) {
        if (changed & BLOB_METADATA)
            find_metadata(reader, event);
        if (changed & BLOB_STACK)
            find_stack(reader, event);
        if (changed & BLOB_SEQUENCE) {
            enum wt_status status = find_thread(reader, event);
            if (status != WT_OK)
                return status;
        }
    }
    if (__builtin_expect(event->time < reader->least || event->time > reader->greatest ||
                             event->payload_size > PAYLOAD_MAX_SIZE,
                         0)) {
        check_event(reader, event);
        if (!wt_window_holds(&reader->window, event->time))
            return wt_window_outside(reader, event);
    }
    /* The reader owns the threads; they are const only for callers. */
    struct wt_thread *thread = (struct wt_thread *)(uintptr_t)event->thread;
    if (__builtin_expect(event->sequence == thread->sequence + 1, 1)) {
        thread->sequence++;
        thread->number++;
    } else {
        enum wt_status status =
            wt_thread_advance(reader, thread, event->sequence, false, event->offset, event->time);
        if (status != WT_OK)
            return status;
    }
    thread->events++;
    event->number = thread->number;
    reader->totals.events++;
    reader->totals.payload_bytes += event->payload_size;
    if (__builtin_expect(event->metadata->is_naming, 0))
        wt_names_take(reader, event);
    return wt_deliver_event(reader, event);
}

static enum wt_status blob_fault(struct wt_reader *reader, const struct wt_cursor *cursor,
                                 uint64_t offset)
{
    if (cursor->fault == WT_FAULT_VARINT)
        return wt_fail(reader, WT_ERROR_FORMAT, WT_RULE_VARINT, offset,
                       "a number in a blob's header is too long");
    if (reader->partial)
        return WT_OK; /* the caller reports where the stream ends */
    return wt_fail(reader, WT_ERROR_FORMAT, WT_RULE_BLOB_END, offset,
                   "a blob goes beyond its block's end at %" PRIu64,
                   reader->block.body_offset + reader->block.size);
}

/* Every other form. It works on a copy of the cursor, whose address leaves this file: that of the
 * caller stays in registers. */
static unsigned take_other(struct wt_reader *reader, struct wt_cursor *cursor,
                           struct wt_event *event)
{
    struct wt_cursor copy = *cursor;
    unsigned changed = reader->trace.major == 4
                           ? wt_blob4_uncompressed(reader, &copy, event, event->offset)
                           : wt_blob6(reader, &copy, event, event->offset);
    *cursor = copy;
    return changed;
}

static enum wt_status take_blobs(struct wt_reader *reader, struct wt_cursor cursor,
                                 const uint8_t *body)
{
    struct wt_event *event = &reader->event;
    const bool plain =
        reader->trace.major == 4 && (reader->block.flags & BLOCK_FLAG_COMPRESSED) != 0;
    const bool events = reader->block.kind == WT_BLOCK_EVENT;
    unsigned changed = BLOB_CHANGED_ALL;
    memset(event, 0, sizeof(*event));
    event->block = &reader->block;
    event->first_in_block = true;
    enum wt_status status = WT_OK;
    while (cursor.at < cursor.end && status == WT_OK && !reader->stop) {
        event->offset = reader->block.body_offset + (uint64_t)(cursor.at - body);
        changed |= plain ? take_compressed(&cursor, event) : take_other(reader, &cursor, event);
        if (__builtin_expect(cursor.fault != WT_FAULT_NONE, 0))
            return blob_fault(reader, &cursor, event->offset);
        status = events
                     ? take_event(reader, event, changed)
                     : wt_metadata_add(reader, event->payload, event->payload_size, event->offset);
        changed = 0;
        event->first_in_block = false;
    }
    return status;
}

/* Those that the header states, as far as they are in the window. */
static void set_expected_times(struct wt_reader *reader)
{
    const struct wt_window *window = &reader->window;
    reader->least = reader->block.min_time;
    reader->greatest = reader->block.max_time;
    if (window->is_set && window->from > reader->least)
        reader->least = window->from;
    if (window->is_set && window->to - 1 < reader->greatest)
        reader->greatest = window->to - 1;
}

enum wt_status wt_block_blobs(struct wt_reader *reader, const uint8_t *body, size_t size)
{
    struct wt_block *block = &reader->block;
    struct wt_cursor cursor = wt_cursor_make(body, size);
    block->header_size = wt_cursor_u16(&cursor);
    block->flags = wt_cursor_u16(&cursor);
    block->min_time = (int64_t)wt_cursor_u64(&cursor);
    block->max_time = (int64_t)wt_cursor_u64(&cursor);
    if (cursor.fault == WT_FAULT_NONE && block->header_size >= BLOCK_HEADER_SIZE)
        wt_cursor_bytes(&cursor, block->header_size - BLOCK_HEADER_SIZE);
    if (cursor.fault != WT_FAULT_NONE && reader->partial)
        return WT_OK;
    if (cursor.fault != WT_FAULT_NONE || block->header_size < BLOCK_HEADER_SIZE)
        return wt_fail(reader, WT_ERROR_FORMAT, WT_RULE_HEADER_SIZE, block->body_offset,
                       "header of %u bytes in a block of %" PRIu32, block->header_size,
                       block->size);
    set_expected_times(reader);
    if (reader->handlers.block)
        reader->handlers.block(reader->context, block);
    if (cursor.at == cursor.end && !reader->partial && block->kind == WT_BLOCK_EVENT)
        wt_tell(reader, WT_RULE_EMPTY_BLOCK, block->offset, "event block without events");
    return take_blobs(reader, cursor, body);
}
