/* Capture threads: their numbers and gaps, the sequence points of versions 4 and 5, and delivery to
 * the handlers. */
#include "reader_impl.h"

#include <inttypes.h>
#include <stdlib.h>

#define POINT_START_SIZE 12u
#define POINT_ENTRY_SIZE 12u

const struct wt_thread *wt_reader_thread(const struct wt_reader *reader, uint32_t index)
{
    if (index >= reader->thread_count)
        return NULL;
    return &reader->thread_pieces[index / THREADS_PER_PIECE][index % THREADS_PER_PIECE];
}

static struct wt_thread *add_thread(struct wt_reader *reader)
{
    uint32_t index = reader->thread_count;
    if (index / THREADS_PER_PIECE == reader->thread_piece_count) {
        size_t count = (size_t)reader->thread_piece_count + 1;
        struct wt_thread **pieces =
            realloc(reader->thread_pieces, count * sizeof(struct wt_thread *));
        if (!pieces)
            return NULL;
        reader->thread_pieces = pieces;
        pieces[count - 1] = calloc(THREADS_PER_PIECE, sizeof(**pieces));
        if (!pieces[count - 1])
            return NULL;
        reader->thread_piece_count++;
    }
    return &reader->thread_pieces[index / THREADS_PER_PIECE][index % THREADS_PER_PIECE];
}

struct wt_thread *wt_thread_find(const struct wt_reader *reader, uint64_t capture_thread)
{
    const uint32_t *index = wt_map_find(&reader->thread_map, capture_thread);
    return index ? &reader->thread_pieces[*index / THREADS_PER_PIECE][*index % THREADS_PER_PIECE]
                 : NULL;
}

struct wt_thread *wt_thread_renew(struct wt_reader *reader, uint64_t capture_thread)
{
    if (reader->thread_count >= reader->options.limits.threads_max) {
        wt_fail(reader, WT_ERROR_LIMIT, WT_RULE_LIMIT, reader->input.offset,
                "more than %" PRIu32 " capture threads", reader->options.limits.threads_max);
        return NULL;
    }
    struct wt_thread *thread = add_thread(reader);
    uint32_t *index = wt_map_find(&reader->thread_map, capture_thread);
    if (index)
        *index = reader->thread_count;
    if (!thread ||
        (!index && !wt_map_insert(&reader->thread_map, capture_thread, reader->thread_count))) {
        wt_fail(reader, WT_ERROR_MEMORY, WT_RULE_NONE, reader->input.offset, "out of memory");
        return NULL;
    }
    thread->capture_thread = capture_thread;
    thread->passed = reader->window.passed;
    thread->index = reader->thread_count++;
    reader->totals.threads = reader->thread_count;
    return thread;
}

struct wt_thread *wt_thread_get(struct wt_reader *reader, uint64_t capture_thread, bool *is_new)
{
    struct wt_thread *thread = wt_thread_find(reader, capture_thread);
    *is_new = thread == NULL;
    return thread ? thread : wt_thread_renew(reader, capture_thread);
}

/* An event's number is expected to be last + 1, a point's to be last. */
enum wt_status wt_thread_advance(struct wt_reader *reader, struct wt_thread *thread,
                                 uint32_t sequence, bool at_point, uint64_t offset, int64_t time)
{
    uint32_t expected = thread->sequence + (at_point ? 0 : 1);
    int32_t missing = (int32_t)(sequence - expected);
    if (missing == 0) {
        thread->number += at_point ? 0 : 1;
        thread->sequence = sequence;
        return WT_OK;
    }
    struct wt_gap gap = {.thread = thread,
                         .after = thread->sequence,
                         .after_number = thread->number,
                         .offset = offset,
                         .at_point = at_point,
                         .back = missing < 0,
                         .sequence = sequence};
    if (gap.back) {
        thread->steps_back++;
        reader->totals.steps_back++;
    } else {
        gap.count = (uint64_t)missing;
        thread->lost += gap.count;
        reader->totals.lost += gap.count;
    }
    thread->number += (uint64_t)(int64_t)missing + (at_point ? 0 : 1);
    thread->sequence = sequence;
    return wt_deliver_gap(reader, &gap, time);
}

static enum wt_status point_entry(struct wt_reader *reader, struct wt_point_entry entry,
                                  int64_t time)
{
    bool is_new = false;
    struct wt_thread *thread = reader->trace.major == 4
                                   ? wt_thread_get(reader, entry.capture_thread, &is_new)
                                   : wt_thread_find(reader, entry.capture_thread);
    if (!thread && reader->trace.major == 4)
        return reader->error.status;
    if (!thread)
        return WT_OK; /* the block's reader has reported it */
    if (!is_new)
        return wt_window_number(reader, thread, entry.sequence, reader->block.offset, time,
                                wt_window_holds(&reader->window, time));
    thread->sequence = thread->first_sequence = entry.sequence;
    thread->number = entry.sequence;
    thread->first_seen_in_point = true;
    return WT_OK;
}

struct wt_point_entry wt_point_entry(const struct wt_point *point, uint32_t index)
{
    const uint8_t *bytes = point->entries + (size_t)index * POINT_ENTRY_SIZE;
    struct wt_point_entry entry = {wt_load_u64(bytes), wt_load_u32(bytes + 8)};
    return entry;
}

static void forget(struct wt_reader *reader, const struct wt_point *point)
{
    wt_pieces_forget(&reader->stacks);
    wt_pieces_forget(&reader->labels);
    reader->window.pending_count = 0;
    if (point->forgets_threads)
        wt_map_clear(&reader->thread_map);
    if (point->forgets_metadata)
        wt_map_clear(&reader->metadata_map);
}

enum wt_status wt_point_take(struct wt_reader *reader, const struct wt_point *point)
{
    wt_order_release(&reader->order, INT64_MAX, &reader->handlers, reader->context, &reader->stop);
    if (reader->window.is_set && point->time >= reader->window.to)
        return wt_fail(reader, WT_END, WT_RULE_NONE, point->offset, "end of the window");
    enum wt_status status = WT_OK;
    for (uint32_t i = 0; i < point->thread_count && status == WT_OK; i++)
        status = point_entry(reader, wt_point_entry(point, i), point->time);
    wt_order_release(&reader->order, INT64_MAX, &reader->handlers, reader->context, &reader->stop);
    forget(reader, point);
    if (status != WT_OK)
        return status;
    reader->totals.points++;
    reader->totals.point_time = point->time;
    if (reader->handlers.point && !reader->stop && wt_window_holds(&reader->window, point->time))
        reader->handlers.point(reader->context, point);
    return WT_OK;
}

enum wt_status wt_point_block(struct wt_reader *reader, const uint8_t *body, size_t size)
{
    if (reader->handlers.block)
        reader->handlers.block(reader->context, &reader->block);
    if (reader->partial)
        return WT_OK; /* half a point would report losses that did not happen */
    if (size < POINT_START_SIZE)
        return wt_fail(reader, WT_ERROR_FORMAT, WT_RULE_POINT_BLOCK, reader->block.body_offset,
                       "sequence point of %zu bytes; it has at least 12", size);
    struct wt_point point = {.time = (int64_t)wt_load_u64(body),
                             .thread_count = wt_load_u32(body + 8),
                             .offset = reader->block.offset,
                             .entries = body + POINT_START_SIZE};
    if (point.thread_count > (size - POINT_START_SIZE) / POINT_ENTRY_SIZE)
        return wt_fail(reader, WT_ERROR_FORMAT, WT_RULE_POINT_BLOCK, reader->block.body_offset + 8,
                       "sequence point names %" PRIu32 " threads in %zu bytes", point.thread_count,
                       size);
    if (size != POINT_START_SIZE + (size_t)point.thread_count * POINT_ENTRY_SIZE)
        wt_tell(reader, WT_RULE_POINT_BLOCK, reader->block.body_offset,
                "sequence point of %zu bytes for %" PRIu32 " threads", size, point.thread_count);
    return wt_point_take(reader, &point);
}

static enum wt_status order_failed(struct wt_reader *reader, enum wt_order_result result)
{
    if (result == WT_ORDER_OK)
        return WT_OK;
    if (result == WT_ORDER_MEMORY)
        return wt_fail(reader, WT_ERROR_MEMORY, WT_RULE_NONE, reader->input.offset,
                       "out of memory");
    return wt_fail(reader, WT_ERROR_LIMIT, WT_RULE_LIMIT, reader->input.offset,
                   "more than %zu bytes of events must be held back to order them by time: the "
                   "sequence points are too far apart; read in file order",
                   reader->options.limits.order_bytes_max);
}

enum wt_status wt_deliver_gap(struct wt_reader *reader, const struct wt_gap *gap, int64_t time)
{
    if (!reader->handlers.gap)
        return WT_OK;
    if (reader->options.time_order)
        return order_failed(reader, wt_order_put(&reader->order, NULL, gap, time));
    reader->handlers.gap(reader->context, gap);
    return WT_OK;
}

enum wt_status wt_deliver_event(struct wt_reader *reader, const struct wt_event *event)
{
    if (reader->options.time_order && (!event->sorted || reader->order.heap_count > 0)) {
        enum wt_order_result result = wt_order_put(&reader->order, event, NULL, event->time);
        if (result == WT_ORDER_OK && event->sorted)
            wt_order_release(&reader->order, event->time, &reader->handlers, reader->context,
                             &reader->stop);
        return order_failed(reader, result);
    }
    if (reader->handlers.event)
        reader->handlers.event(reader->context, event);
    return WT_OK;
}
