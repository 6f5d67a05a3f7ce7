/* Reading only what a window of time needs.
 *
 * Over a source that can be read at any place, the reader hops from block to block. It reads each
 * block's header, and the body of
 *
 *   - an event block whose times overlap the window;
 *   - an event block that may hold names: its first event is one of provider Weir, or of a thread
 *     that has written a naming event before. These are not delivered;
 *   - a metadata, thread or removal block, and a sequence point: they are small, and definitions,
 *     names and numbers of the window depend on them;
 *   - a stack or label block, but not before an event block of the window follows it: a sequence
 *     point ends the life of those that were not needed.
 *
 * All that precedes a sequence point in the file is older than it, and nothing that follows is, so
 * the first point beyond the window ends the reading.
 *
 * The number of a thread is known as far as nothing of it may lie in a block that was passed over.
 * An event of the thread in the window is followed by none that is older, so between two of them
 * every gap is exact. In front of a thread's first event in the window, a gap is known only if no
 * block has been passed over since its number was last known, from a point or an event. */
#include "blob.h"

#include <inttypes.h>
#include <stdlib.h>

#define EVENT_HEADER_SIZE 20u

/* What the first event of a block says of itself mostly fits this, and always the other. */
#define PEEK_SIZE     13u
#define PEEK_MAX_SIZE 28u

/* Least bytes of a read: up to the next block's first event, for any version. */
#define CHUNK4_SIZE 72u
#define CHUNK6_SIZE 40u

/* Beyond it, stack and label blocks are read at once: a hostile file may consist of nothing else. */
#define PENDING_MAX 4096u

enum wt_status wt_reader_set_window(struct wt_reader *reader, int64_t from, int64_t to)
{
    if (from > to || to == INT64_MIN || reader->block_count > 0)
        return WT_ERROR_ARGUMENT;
    reader->window.is_set = true;
    reader->window.from = from;
    reader->window.to = to;
    return WT_OK;
}

void wt_window_start(struct wt_reader *reader)
{
    struct wt_window *window = &reader->window;
    window->seeks = window->is_set && reader->input.source.read_at;
    reader->input.sparse = window->seeks;
    reader->input.chunk = reader->trace.major == 4 ? CHUNK4_SIZE : CHUNK6_SIZE;
    window->side.source = reader->input.source;
    window->side.sparse = true;
}

void wt_window_fini(struct wt_window *window)
{
    wt_input_fini(&window->side);
    free(window->pending);
    window->pending = NULL;
}

/* --- Stacks and labels that may be needed. --------------------------------------------------- */

static enum wt_status load(struct wt_reader *reader, const struct wt_pending *pending)
{
    struct wt_input *side = &reader->window.side;
    const struct wt_block outer = reader->block;
    side->offset = pending->block.body_offset;
    side->begin = side->end = 0;
    side->at_end = false;
    size_t there = wt_input_need(side, pending->block.size);
    if (side->error) {
        reader->input.error = side->error;
        return wt_cut(reader, "a block");
    }
    reader->block = pending->block;
    reader->partial = there < pending->block.size;
    reader->totals.blocks[pending->block.kind]++;
    const size_t size = reader->partial ? there : pending->block.size;
    enum wt_status status = pending->block.kind == WT_BLOCK_STACK
                                ? wt_stack_block(reader, wt_input_bytes(side), size)
                                : wt_label_block(reader, wt_input_bytes(side), size);
    reader->block = outer;
    reader->partial = false;
    return status;
}

static enum wt_status load_all(struct wt_reader *reader)
{
    struct wt_window *window = &reader->window;
    enum wt_status status = WT_OK;
    for (uint32_t i = 0; i < window->pending_count && status == WT_OK; i++)
        status = load(reader, &window->pending[i]);
    window->pending_count = 0;
    return status;
}

static enum wt_status defer(struct wt_reader *reader, bool *is_passed)
{
    struct wt_window *window = &reader->window;
    if (!window->pending)
        window->pending = malloc(PENDING_MAX * sizeof(*window->pending));
    if (!window->pending || window->pending_count == PENDING_MAX)
        return load_all(reader);
    window->pending[window->pending_count++].block = reader->block;
    *is_passed = true;
    return WT_OK;
}

/* --- Event blocks. --------------------------------------------------------------------------- */

/* Takes the metadata id and the capture thread of a block's first event: both versions have them
 * alike. False if `bytes` end before them. */
static bool peek(const uint8_t *bytes, size_t size, bool is_compressed, uint32_t *id,
                 uint64_t *capture_thread)
{
    struct wt_cursor cursor = wt_cursor_make(bytes, size);
    *capture_thread = 0;
    if (is_compressed) {
        unsigned flags = wt_cursor_u8(&cursor);
        *id = flags & BLOB_METADATA ? wt_cursor_var32(&cursor) : 0;
        if (flags & BLOB_SEQUENCE) {
            wt_cursor_var32(&cursor);
            *capture_thread = wt_cursor_var64(&cursor);
        }
    } else {
        wt_cursor_u32(&cursor);
        *id = wt_cursor_u32(&cursor) & 0x7FFFFFFFu;
        wt_cursor_bytes(&cursor, 4 + 8);
        *capture_thread = wt_cursor_u64(&cursor);
    }
    return cursor.fault == WT_FAULT_NONE;
}

static bool may_name(struct wt_reader *reader, uint32_t header_size, bool is_compressed)
{
    uint32_t id = 0;
    uint64_t capture_thread = 0;
    const uint32_t sizes[] = {PEEK_SIZE, PEEK_MAX_SIZE};
    bool is_known = false;
    for (size_t i = 0; i < 2 && !is_known; i++) {
        size_t wanted = header_size + sizes[i];
        if (wanted > reader->block.size)
            wanted = reader->block.size;
        size_t there = wt_input_need(&reader->input, wanted);
        if (there < header_size)
            return false;
        is_known = peek(wt_input_bytes(&reader->input) + header_size,
                        (there < wanted ? there : wanted) - header_size, is_compressed, &id,
                        &capture_thread);
    }
    const struct wt_metadata *metadata = wt_metadata_find(reader, id);
    const struct wt_thread *thread = wt_thread_find(reader, capture_thread);
    return (metadata && strcmp(metadata->provider_name, "Weir") == 0) ||
           (thread && thread->writes_names);
}

/* Decides on an event block by its header. One that does not decode is left to the decoder. */
static enum wt_status look_at_events(struct wt_reader *reader, bool *is_passed)
{
    struct wt_window *window = &reader->window;
    if (reader->block.size < EVENT_HEADER_SIZE ||
        wt_input_need(&reader->input, EVENT_HEADER_SIZE) < EVENT_HEADER_SIZE)
        return WT_OK;
    const uint8_t *bytes = wt_input_bytes(&reader->input);
    uint16_t header_size = wt_load_u16(bytes), flags = wt_load_u16(bytes + 2);
    int64_t min = (int64_t)wt_load_u64(bytes + 4), max = (int64_t)wt_load_u64(bytes + 12);
    if (header_size < EVENT_HEADER_SIZE || header_size > reader->block.size || min > max)
        return load_all(reader);
    if (max >= window->from && min < window->to)
        return load_all(reader);
    window->quiet = may_name(reader, header_size, (flags & BLOCK_FLAG_COMPRESSED) != 0);
    *is_passed = !window->quiet;
    window->passed += *is_passed;
    return WT_OK;
}

enum wt_status wt_window_look(struct wt_reader *reader, bool *is_passed)
{
    enum wt_status status = WT_OK;
    *is_passed = false;
    reader->window.quiet = false;
    if (reader->block.kind == WT_BLOCK_EVENT)
        status = look_at_events(reader, is_passed);
    else if (reader->block.kind == WT_BLOCK_STACK || reader->block.kind == WT_BLOCK_LABEL)
        status = defer(reader, is_passed);
    if (*is_passed && !wt_input_skip(&reader->input, reader->block.size))
        return wt_cut(reader, "a block");
    return status;
}

/* --- Numbers. -------------------------------------------------------------------------------- */

static void adopt(struct wt_thread *thread, uint32_t sequence)
{
    thread->number += (uint64_t)(int64_t)(int32_t)(sequence - thread->sequence);
    thread->sequence = sequence;
}

static bool knows(const struct wt_reader *reader, const struct wt_thread *thread)
{
    return thread->events > 0 || thread->passed == reader->window.passed;
}

void wt_window_meet(struct wt_reader *reader, struct wt_thread *thread, uint32_t sequence)
{
    if (!knows(reader, thread))
        adopt(thread, sequence - 1);
    thread->passed = reader->window.passed;
}

enum wt_status wt_window_outside(struct wt_reader *reader, const struct wt_event *event)
{
    /* The reader owns the threads; they are const only for callers. */
    adopt((struct wt_thread *)(uintptr_t)event->thread, event->sequence);
    if (event->metadata->is_naming)
        wt_names_take(reader, event);
    return WT_OK;
}

enum wt_status wt_window_number(struct wt_reader *reader, struct wt_thread *thread,
                                uint32_t sequence, uint64_t offset, int64_t time, bool is_inside)
{
    bool is_shown = !reader->window.is_set || (is_inside && knows(reader, thread));
    thread->passed = reader->window.passed;
    if (is_shown)
        return wt_thread_advance(reader, thread, sequence, true, offset, time);
    adopt(thread, sequence);
    return WT_OK;
}
