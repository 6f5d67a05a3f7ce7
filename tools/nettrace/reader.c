/* The stream's header and end, and what is the same for blocks of all versions. */
#include "reader_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC_SIZE         8u
#define STREAM_START_SIZE  32u /* magic, length 20, "!FastSerialization.1" */
#define STREAM_START6_SIZE 20u /* magic, 0, major and minor version */

static const char stream_start[STREAM_START_SIZE + 1] = "Nettrace\x14\0\0\0!FastSerialization.1";

enum wt_status wt_fail(struct wt_reader *reader, enum wt_status status, enum wt_rule rule,
                       uint64_t offset, const char *format, ...)
{
    struct wt_error *error = &reader->error;
    va_list arguments;
    va_start(arguments, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): clang 14 overlooks va_start here */
    vsnprintf(error->text, sizeof(error->text), format, arguments);
    va_end(arguments);
    error->status = status;
    error->rule = rule;
    error->offset = offset;
    return status;
}

void wt_tell(struct wt_reader *reader, enum wt_rule rule, uint64_t offset, const char *format, ...)
{
    if (!reader->handlers.violation)
        return;
    char text[240];
    va_list arguments;
    va_start(arguments, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): clang 14 overlooks va_start here */
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    struct wt_violation violation = {rule, offset, text};
    reader->handlers.violation(reader->context, &violation);
}

/* The stream had fewer bytes than needed: a system error, or the end. */
enum wt_status wt_cut(struct wt_reader *reader, const char *where)
{
    const struct wt_input *input = &reader->input;
    uint64_t offset = input->offset + (input->end - input->begin);
    if (input->error == ENOMEM)
        return wt_fail(reader, WT_ERROR_MEMORY, WT_RULE_NONE, offset, "out of memory");
    if (input->error)
        return wt_fail(reader, WT_ERROR_IO, WT_RULE_NONE, offset, "cannot read: %s",
                       strerror(input->error));
    return wt_fail(reader, WT_TRUNCATED, WT_RULE_END_TAG, offset, "truncated in %s", where);
}

static enum wt_status bad_magic(struct wt_reader *reader, const uint8_t *bytes, size_t size)
{
    if (size >= 8 && memcmp(bytes, "\x14\0\0\0!Fas", 8) == 0)
        return wt_fail(reader, WT_ERROR_VERSION, WT_RULE_VERSION, 0,
                       "this is a .gcdump, or NetPerf of version 3 or older; versions 4 to 6 are "
                       "understood");
    return wt_fail(reader, WT_ERROR_FORMAT, WT_RULE_MAGIC, 0,
                   "not a nettrace stream: it does not start with \"Nettrace\" and "
                   "\"!FastSerialization.1\" or a version");
}

static enum wt_status read_start4(struct wt_reader *reader)
{
    size_t size = wt_input_need(&reader->input, STREAM_START_SIZE);
    const uint8_t *bytes = wt_input_bytes(&reader->input);
    size_t compared = size < STREAM_START_SIZE ? size : STREAM_START_SIZE;
    if (compared > 0 && memcmp(bytes, stream_start, compared) != 0)
        return bad_magic(reader, bytes, size);
    if (size < STREAM_START_SIZE)
        return wt_cut(reader, "the stream header");
    wt_input_consume(&reader->input, STREAM_START_SIZE);
    reader->trace.major = 4;
    reader->started = true;
    return WT_OK;
}

/* A new minor version only adds what this reader skips. */
static enum wt_status read_start6(struct wt_reader *reader)
{
    if (wt_input_need(&reader->input, STREAM_START6_SIZE) < STREAM_START6_SIZE)
        return wt_cut(reader, "the stream header");
    const uint8_t *bytes = wt_input_bytes(&reader->input);
    uint32_t major = wt_load_u32(bytes + 12), minor = wt_load_u32(bytes + 16);
    if (major != 6)
        return wt_fail(reader, WT_ERROR_VERSION, WT_RULE_VERSION, 12,
                       "this is nettrace version %" PRIu32 ".%" PRIu32
                       "; versions 4 to 6 are understood",
                       major, minor);
    wt_input_consume(&reader->input, STREAM_START6_SIZE);
    reader->trace.major = major;
    reader->trace.minor = minor;
    reader->started = true;
    return WT_OK;
}

/* The number after the magic is the length of a name, or 0 since version 6. */
static enum wt_status read_stream_start(struct wt_reader *reader)
{
    size_t size = wt_input_need(&reader->input, MAGIC_SIZE + 4);
    const uint8_t *bytes = wt_input_bytes(&reader->input);
    size_t compared = size < MAGIC_SIZE ? size : MAGIC_SIZE;
    if (compared > 0 && memcmp(bytes, stream_start, compared) != 0)
        return bad_magic(reader, bytes, size);
    if (size < MAGIC_SIZE + 4)
        return wt_cut(reader, "the stream header");
    return wt_load_u32(bytes + MAGIC_SIZE) == 0 ? read_start6(reader) : read_start4(reader);
}

void wt_trace_take(struct wt_reader *reader)
{
    reader->has_trace = true;
    if (reader->handlers.trace)
        reader->handlers.trace(reader->context, &reader->trace);
    wt_window_start(reader);
}

void wt_block_begin(struct wt_reader *reader, enum wt_block_kind kind, uint64_t offset,
                    uint32_t size)
{
    struct wt_block *block = &reader->block;
    memset(block, 0, sizeof(*block));
    block->kind = kind;
    block->index = reader->block_count++;
    block->offset = offset;
    block->body_offset = reader->input.offset;
    block->size = size;
}

static enum wt_status read_body(struct wt_reader *reader, const uint8_t *body, size_t size)
{
    const bool is_4 = reader->trace.major == 4;
    switch (reader->block.kind) {
    case WT_BLOCK_STACK:
        return wt_stack_block(reader, body, size);
    case WT_BLOCK_POINT:
        return is_4 ? wt_point_block(reader, body, size) : wt_point6_block(reader, body, size);
    case WT_BLOCK_THREAD:
        return wt_thread_block(reader, body, size);
    case WT_BLOCK_REMOVE_THREAD:
        return wt_remove_block(reader, body, size);
    case WT_BLOCK_LABEL:
        return wt_label_block(reader, body, size);
    case WT_BLOCK_METADATA:
        return is_4 ? wt_block_blobs(reader, body, size) : wt_metadata6_block(reader, body, size);
    case WT_BLOCK_EVENT:
    case WT_BLOCK_KIND_COUNT:
        break;
    }
    return wt_block_blobs(reader, body, size);
}

enum wt_status wt_block_read(struct wt_reader *reader)
{
    const uint32_t size = reader->block.size;
    if (reader->window.seeks) {
        bool is_passed;
        enum wt_status status = wt_window_look(reader, &is_passed);
        if (status != WT_OK || is_passed)
            return status;
    }
    reader->totals.blocks[reader->block.kind]++;
    size_t there = wt_input_need(&reader->input, size);
    reader->partial = there < size;
    if (reader->input.error)
        return wt_cut(reader, "a block");
    enum wt_status status =
        read_body(reader, wt_input_bytes(&reader->input), reader->partial ? there : size);
    if (status != WT_OK)
        return status;
    if (reader->partial)
        return wt_cut(reader, "a block");
    wt_input_consume(&reader->input, size);
    return WT_OK;
}

enum wt_status wt_end(struct wt_reader *reader)
{
    if (reader->options.check_trailing && wt_input_need(&reader->input, 1) > 0)
        wt_tell(reader, WT_RULE_TRAILING, reader->input.offset, "bytes after the end");
    return wt_fail(reader, WT_END, WT_RULE_NONE, reader->input.offset, "end of stream");
}

enum wt_status wt_reader_step(struct wt_reader *reader)
{
    if (reader->error.status != WT_OK)
        return reader->error.status;
    enum wt_status status = WT_OK;
    if (!reader->started)
        status = read_stream_start(reader);
    if (status == WT_OK)
        status = reader->trace.major == 4 ? wt_object4_read(reader) : wt_block6_read(reader);
    reader->totals.bytes = reader->input.offset;
    reader->totals.bytes_read = reader->input.read + reader->window.side.read;
    if (status == WT_TRUNCATED)
        reader->totals.bytes += reader->input.end - reader->input.begin;
    if (status != WT_OK && !reader->stop)
        wt_order_release(&reader->order, INT64_MAX, &reader->handlers, reader->context,
                         &reader->stop);
    if (reader->stop && status <= WT_TRUNCATED)
        status = wt_fail(reader, WT_STOPPED, WT_RULE_NONE, reader->input.offset, "stopped");
    return status;
}

enum wt_status wt_reader_run(struct wt_reader *reader)
{
    enum wt_status status;
    do
        status = wt_reader_step(reader);
    while (status == WT_OK);
    return status;
}

void wt_reader_stop(struct wt_reader *reader)
{
    reader->stop = true;
}

const struct wt_error *wt_reader_error(const struct wt_reader *reader)
{
    return &reader->error;
}

const struct wt_totals *wt_reader_totals(const struct wt_reader *reader)
{
    return &reader->totals;
}

const struct wt_trace_info *wt_reader_trace(const struct wt_reader *reader)
{
    return reader->has_trace ? &reader->trace : NULL;
}
