/* Threads and sequence points of version 6: a row introduces each thread, and another block ends
 * it. */
#include "parser.h"

#include <inttypes.h>
#include <stdlib.h>

#define POINT_START_SIZE      16u
#define POINT_ENTRY_MIN_SIZE  2u
#define POINT_ENTRY_SIZE      12u /* as wt_point_entry() reads it */
#define POINT_FORGET_THREADS  1u
#define POINT_FORGET_METADATA 2u

enum thread_info_kind {
    INFO_NAME = 1,
    INFO_PROCESS_ID = 2,
    INFO_THREAD_ID = 3,
    INFO_KEY_VALUE = 4
};

/* --- Rows of threads. ------------------------------------------------------------------------ */

/* One element; false for an unknown kind, whose size is not known, and for one that is cut off. */
static bool parse_info(struct wt_parser *parser, struct wt_thread *thread,
                       struct wt_key_values *list)
{
    struct wt_cursor *cursor = &parser->cursor;
    switch ((enum thread_info_kind)wt_cursor_u8(cursor)) {
    case INFO_NAME: {
        const char *name = wt_parser_text8(parser);
        thread->name = name && *name ? name : NULL;
        break;
    }
    case INFO_PROCESS_ID:
        thread->os_process_id = wt_cursor_var64(cursor);
        break;
    case INFO_THREAD_ID:
        thread->os_thread_id = wt_cursor_var64(cursor);
        break;
    case INFO_KEY_VALUE:
        return wt_parser_key_value(parser, list);
    default:
        return false;
    }
    return cursor->fault == WT_FAULT_NONE;
}

static enum wt_status parse_infos(struct wt_parser *parser, struct wt_thread *thread,
                                  uint64_t offset)
{
    struct wt_key_values list = {NULL, 0, 0};
    bool good = true;
    while (good && wt_cursor_left(&parser->cursor) > 0)
        good = parse_info(parser, thread, &list);
    thread->values = list.items;
    thread->value_count = list.count;
    if (parser->no_memory)
        return wt_parser_no_memory(parser->reader, offset);
    if (!good)
        wt_tell(parser->reader, WT_RULE_THREAD_BLOCK, offset,
                "the row of thread index %" PRIu64 " does not decode", thread->capture_thread);
    return WT_OK;
}

/* The row of an index that is in use is skipped. An index that was removed must not come again, but
 * its row is read: the thread is another one. */
static enum wt_status take_row(struct wt_reader *reader, const uint8_t *row, size_t size,
                               uint64_t offset)
{
    struct wt_parser parser = wt_parser_make(reader, row, size);
    uint64_t index = wt_cursor_var64(&parser.cursor);
    if (parser.cursor.fault != WT_FAULT_NONE) {
        wt_tell(reader, WT_RULE_THREAD_BLOCK, offset, "a row without a thread index");
        return WT_OK;
    }
    const struct wt_thread *known = wt_thread_find(reader, index);
    if (known)
        wt_tell(reader, WT_RULE_THREAD_REDEFINED, offset, "thread index %" PRIu64 " %s", index,
                known->is_removed ? "is used again after its removal" : "is defined again");
    if (known && !known->is_removed)
        return WT_OK;
    struct wt_thread *thread = wt_thread_renew(reader, index);
    if (!thread)
        return reader->error.status;
    thread->has_row = true;
    return parse_infos(&parser, thread, offset);
}

enum wt_status wt_thread_block(struct wt_reader *reader, const uint8_t *body, size_t size)
{
    struct wt_cursor cursor = wt_cursor_make(body, size);
    if (reader->handlers.block)
        reader->handlers.block(reader->context, &reader->block);
    enum wt_status status = WT_OK;
    while (wt_cursor_left(&cursor) > 0 && status == WT_OK) {
        uint64_t offset = reader->block.body_offset + (uint64_t)(cursor.at - body);
        uint16_t row_size = wt_cursor_u16(&cursor);
        const uint8_t *row = wt_cursor_bytes(&cursor, row_size);
        if (cursor.fault == WT_FAULT_NONE)
            status = take_row(reader, row, row_size, offset);
        else if (!reader->partial)
            return wt_fail(reader, WT_ERROR_FORMAT, WT_RULE_THREAD_BLOCK, offset,
                           "a row goes beyond its block's end");
    }
    return status;
}

/* --- Removal. -------------------------------------------------------------------------------- */

static enum wt_status remove_thread(struct wt_reader *reader, uint64_t index, uint32_t sequence,
                                    uint64_t offset)
{
    struct wt_thread *thread = wt_thread_find(reader, index);
    if (!thread || thread->is_removed) {
        wt_tell(reader, WT_RULE_THREAD_UNDEFINED, offset,
                "thread index %" PRIu64 " is removed, but %s", index,
                thread ? "was removed before" : "is not defined");
        return WT_OK;
    }
    thread->is_removed = true;
    bool is_inside =
        thread->events > 0 ||
        (reader->totals.points > 0 && wt_window_holds(&reader->window, reader->totals.point_time));
    /* Nothing of the thread follows, so its gap may be last in the order of time. */
    return wt_window_number(reader, thread, sequence, offset, INT64_MAX, is_inside);
}

enum wt_status wt_remove_block(struct wt_reader *reader, const uint8_t *body, size_t size)
{
    struct wt_cursor cursor = wt_cursor_make(body, size);
    if (reader->handlers.block)
        reader->handlers.block(reader->context, &reader->block);
    enum wt_status status = WT_OK;
    while (wt_cursor_left(&cursor) > 0 && status == WT_OK) {
        uint64_t offset = reader->block.body_offset + (uint64_t)(cursor.at - body);
        uint64_t index = wt_cursor_var64(&cursor);
        uint32_t sequence = wt_cursor_var32(&cursor);
        if (cursor.fault == WT_FAULT_NONE)
            status = remove_thread(reader, index, sequence, offset);
        else if (!reader->partial)
            return wt_fail(reader, WT_ERROR_FORMAT, WT_RULE_THREAD_BLOCK, offset,
                           "a removal does not decode");
    }
    return status;
}

/* --- Sequence points. ------------------------------------------------------------------------ */

static bool have_rows(struct wt_reader *reader, size_t size)
{
    if (size <= reader->point_capacity)
        return true;
    uint8_t *larger = realloc(reader->point_rows, size);
    if (!larger)
        return false;
    reader->point_rows = larger;
    reader->point_capacity = size;
    return true;
}

static void put_number(uint8_t *out, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        out[i] = (uint8_t)(value >> (8 * i));
}

/* Decodes the rows; false with a fault of the cursor if they are not all there. */
static bool take_rows(struct wt_reader *reader, struct wt_cursor *cursor, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t index = wt_cursor_var64(cursor);
        uint32_t sequence = wt_cursor_var32(cursor);
        if (cursor->fault != WT_FAULT_NONE)
            return false;
        if (!wt_thread_find(reader, index))
            wt_tell(reader, WT_RULE_THREAD_UNDEFINED, reader->block.offset,
                    "a sequence point names thread index %" PRIu64 ", which is not defined", index);
        uint8_t *row = reader->point_rows + (size_t)i * POINT_ENTRY_SIZE;
        put_number(row, index, 8);
        put_number(row + 8, sequence, 4);
    }
    return true;
}

enum wt_status wt_point6_block(struct wt_reader *reader, const uint8_t *body, size_t size)
{
    const uint64_t at = reader->block.body_offset;
    struct wt_cursor cursor = wt_cursor_make(body, size);
    if (reader->handlers.block)
        reader->handlers.block(reader->context, &reader->block);
    if (reader->partial)
        return WT_OK; /* half a point would report losses that did not happen */
    struct wt_point point = {.offset = reader->block.offset};
    point.time = (int64_t)wt_cursor_u64(&cursor);
    uint32_t flags = wt_cursor_u32(&cursor);
    point.thread_count = wt_cursor_u32(&cursor);
    if (cursor.fault != WT_FAULT_NONE)
        return wt_fail(reader, WT_ERROR_FORMAT, WT_RULE_POINT_BLOCK, at,
                       "sequence point of %zu bytes; it has at least %u", size, POINT_START_SIZE);
    bool fits = point.thread_count <= wt_cursor_left(&cursor) / POINT_ENTRY_MIN_SIZE;
    if (fits && !have_rows(reader, (size_t)point.thread_count * POINT_ENTRY_SIZE))
        return wt_fail(reader, WT_ERROR_MEMORY, WT_RULE_NONE, at, "out of memory");
    if (!fits || !take_rows(reader, &cursor, point.thread_count))
        return wt_fail(reader, WT_ERROR_FORMAT, WT_RULE_POINT_BLOCK, at,
                       "sequence point names %" PRIu32 " threads in %zu bytes", point.thread_count,
                       size);
    if (wt_cursor_left(&cursor) > 0 || flags > (POINT_FORGET_THREADS | POINT_FORGET_METADATA))
        wt_tell(reader, WT_RULE_POINT_BLOCK, at,
                "sequence point with flags %" PRIu32 " and %zu bytes after its threads", flags,
                wt_cursor_left(&cursor));
    point.entries = reader->point_rows;
    point.forgets_threads = (flags & POINT_FORGET_THREADS) != 0;
    point.forgets_metadata = (flags & POINT_FORGET_METADATA) != 0;
    return wt_point_take(reader, &point);
}
