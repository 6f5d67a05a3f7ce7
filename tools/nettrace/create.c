/* Creating and freeing a reader. */
#include "reader_impl.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH_HARD_MAX  64u
#define FIRST_READ_SIZE 512u

static void set_u32(uint32_t *value, uint32_t otherwise)
{
    if (*value == 0)
        *value = otherwise;
}

static void set_size(size_t *value, size_t otherwise)
{
    if (*value == 0)
        *value = otherwise;
}

static void set_defaults(struct wt_limits *limits)
{
    set_u32(&limits->block_size_max, 64u << 20);
    set_u32(&limits->metadata_max, 1000000);
    set_size(&limits->metadata_bytes_max, (size_t)256 << 20);
    set_u32(&limits->fields_max, 4096);
    set_u32(&limits->depth_max, 16);
    set_u32(&limits->threads_max, 1000000);
    set_size(&limits->stack_bytes_max, (size_t)256 << 20);
    set_size(&limits->order_bytes_max, (size_t)1 << 30);
    if (limits->block_size_max > INT32_MAX)
        limits->block_size_max = INT32_MAX;
    if (limits->depth_max > DEPTH_HARD_MAX)
        limits->depth_max = DEPTH_HARD_MAX;
}

enum wt_status wt_reader_create(struct wt_reader **out, const struct wt_source *source,
                                const struct wt_reader_options *options,
                                const struct wt_handlers *handlers, void *context)
{
    if (!out)
        return WT_ERROR_ARGUMENT;
    *out = NULL;
    if (!source || (!source->read && !source->read_at) || !handlers)
        return WT_ERROR_ARGUMENT;
    struct wt_reader *reader = calloc(1, sizeof(*reader));
    if (!reader)
        return WT_ERROR_MEMORY;
    reader->handlers = *handlers;
    reader->context = context;
    reader->input.source = *source;
    if (options)
        reader->options = *options;
    set_defaults(&reader->options.limits);
    if (reader->options.has_window &&
        wt_reader_set_window(reader, reader->options.from, reader->options.to) != WT_OK) {
        free(reader);
        return WT_ERROR_ARGUMENT;
    }
    /* Small reads until the window is known. */
    reader->input.sparse = source->read_at != NULL;
    reader->input.chunk = FIRST_READ_SIZE;
    reader->metadata_arena.limit = reader->options.limits.metadata_bytes_max;
    reader->stacks.arena.limit = reader->labels.arena.limit =
        reader->options.limits.stack_bytes_max;
    reader->order.limit = reader->options.limits.order_bytes_max;
    reader->undefined.provider_name = "";
    reader->undefined.event_name = "";
    reader->undefined.undefined = true;
    reader->undefined.index = UINT32_MAX;
    *out = reader;
    return WT_OK;
}

void wt_reader_destroy(struct wt_reader *reader)
{
    if (!reader)
        return;
    wt_order_fini(&reader->order);
    wt_input_fini(&reader->input);
    wt_window_fini(&reader->window);
    wt_arena_fini(&reader->metadata_arena);
    wt_pieces_fini(&reader->stacks);
    wt_pieces_fini(&reader->labels);
    wt_map_fini(&reader->metadata_map);
    wt_map_fini(&reader->thread_map);
    free(reader->metadata);
    free(reader->point_rows);
    for (uint32_t i = 0; i < reader->thread_count; i++)
        free(wt_reader_thread(reader, i)->name_buffer);
    for (uint32_t i = 0; i < reader->thread_piece_count; i++)
        free(reader->thread_pieces[i]);
    free(reader->thread_pieces);
    free(reader);
}
