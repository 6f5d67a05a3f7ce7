/* The container: stream header, objects, end tag. */
#include "reader_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC_SIZE        8u
#define STREAM_START_SIZE 32u /* magic, length 20, "!FastSerialization.1" */
#define TYPE_START_SIZE   15u /* 5 5 1, two versions, name length */
#define NAME_MAX_SIZE     64u
#define TRACE_SIZE        48u
#define TAG_END_OF_STREAM 1u
#define TAG_BEGIN         5u
#define TAG_END           6u

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
static enum wt_status cut(struct wt_reader *reader, const char *where)
{
    const struct wt_input *input = &reader->input;
    uint64_t offset = input->offset + (input->end - input->begin);
    if (input->error == ENOMEM)
        return wt_fail(reader, WT_ERROR_MEMORY, WT_RULE_NONE, offset, "out of memory");
    if (input->error)
        return wt_fail(reader, WT_ERROR_IO, WT_RULE_NONE, offset, "cannot read: %s",
                       strerror(input->error));
    return wt_fail(reader, WT_TRUNCATED, WT_RULE_END_TAG, offset,
                   "truncated at offset %" PRIu64 ", in %s", offset, where);
}

static enum wt_status bad_magic(struct wt_reader *reader, const uint8_t *bytes, size_t size)
{
    if (size >= 8 && memcmp(bytes, "\x14\0\0\0!Fas", 8) == 0)
        return wt_fail(reader, WT_ERROR_VERSION, WT_RULE_VERSION, 0,
                       "this is NetPerf, version 3 or older; versions 4 and 5 are understood");
    if (size >= 20 && memcmp(bytes, stream_start, MAGIC_SIZE) == 0 && wt_load_u32(bytes + 8) == 0)
        return wt_fail(reader, WT_ERROR_VERSION, WT_RULE_VERSION, 8,
                       "this is nettrace version %" PRIu32 ".%" PRIu32
                       "; versions 4 and 5 are understood; collect with format NetTrace V4",
                       wt_load_u32(bytes + 12), wt_load_u32(bytes + 16));
    return wt_fail(reader, WT_ERROR_FORMAT, WT_RULE_MAGIC, 0,
                   "not a nettrace stream: it does not start with \"Nettrace\" and "
                   "\"!FastSerialization.1\"");
}

static enum wt_status read_stream_start(struct wt_reader *reader)
{
    size_t size = wt_input_need(&reader->input, STREAM_START_SIZE);
    const uint8_t *bytes = wt_input_bytes(&reader->input);
    size_t compared = size < STREAM_START_SIZE ? size : STREAM_START_SIZE;
    if (compared > 0 && memcmp(bytes, stream_start, compared) != 0)
        return bad_magic(reader, bytes, size);
    if (size < STREAM_START_SIZE)
        return cut(reader, "the stream header");
    wt_input_consume(&reader->input, STREAM_START_SIZE);
    reader->started = true;
    return WT_OK;
}

enum object {
    OBJECT_TRACE,
    OBJECT_EVENT,
    OBJECT_METADATA,
    OBJECT_STACK,
    OBJECT_POINT,
    OBJECT_NONE
};

static enum object object_named(const uint8_t *name, size_t size)
{
    static const char *const names[] = {"Trace", "EventBlock", "MetadataBlock", "StackBlock",
                                        "SPBlock"};
    for (int i = 0; i < OBJECT_NONE; i++)
        if (size == strlen(names[i]) && memcmp(name, names[i], size) == 0)
            return (enum object)i;
    return OBJECT_NONE;
}

static enum wt_status check_versions(struct wt_reader *reader, enum object object,
                                     const uint8_t *start)
{
    uint64_t offset = reader->input.offset;
    int32_t version = (int32_t)wt_load_u32(start + 3);
    int32_t minimum = (int32_t)wt_load_u32(start + 7);
    int32_t wanted = object == OBJECT_TRACE ? 4 : 2;
    if (version == wanted && minimum == wanted)
        return WT_OK;
    if (version > wanted || version < 1)
        return wt_fail(reader, WT_ERROR_VERSION, WT_RULE_VERSION, offset + 3,
                       "%s object of version %" PRId32 " (reader %" PRId32
                       "); only version %" PRId32 " is understood",
                       object == OBJECT_TRACE ? "Trace" : "block", version, minimum, wanted);
    wt_tell(reader, WT_RULE_VERSION, offset + 3,
            "object version %" PRId32 ", reader %" PRId32 " instead of %" PRId32, version, minimum,
            wanted);
    return WT_OK;
}

/* Reads `5 5 1 version minimum name 6` and says which object it is. */
static enum wt_status read_type(struct wt_reader *reader, enum object *object)
{
    struct wt_input *input = &reader->input;
    size_t size = wt_input_need(input, TYPE_START_SIZE);
    const uint8_t *start = wt_input_bytes(input);
    static const uint8_t tags[3] = {TAG_BEGIN, TAG_BEGIN, TAG_END_OF_STREAM};
    for (size_t i = 0; i < 3 && i < size; i++)
        if (start[i] != tags[i])
            return wt_fail(reader, WT_ERROR_FORMAT, WT_RULE_TAG, input->offset + i,
                           "tag %u instead of %u", start[i], tags[i]);
    if (size < TYPE_START_SIZE)
        return cut(reader, "an object's type");
    uint32_t name_size = wt_load_u32(start + 11);
    if (name_size == 0 || name_size > NAME_MAX_SIZE)
        return wt_fail(reader, WT_ERROR_FORMAT, WT_RULE_TYPE_NAME, input->offset + 11,
                       "type name of %" PRIu32 " bytes", name_size);
    size = wt_input_need(input, TYPE_START_SIZE + name_size + 1);
    start = wt_input_bytes(input);
    if (size < TYPE_START_SIZE + name_size + 1)
        return cut(reader, "an object's type");
    *object = object_named(start + TYPE_START_SIZE, name_size);
    if (*object == OBJECT_NONE)
        return wt_fail(reader, WT_ERROR_FORMAT, WT_RULE_TYPE_NAME, input->offset + TYPE_START_SIZE,
                       "unknown object type");
    if (start[TYPE_START_SIZE + name_size] != TAG_END)
        return wt_fail(reader, WT_ERROR_FORMAT, WT_RULE_TAG,
                       input->offset + TYPE_START_SIZE + name_size, "tag %u instead of 6",
                       start[TYPE_START_SIZE + name_size]);
    enum wt_status status = check_versions(reader, *object, start);
    if (status == WT_OK)
        wt_input_consume(input, TYPE_START_SIZE + name_size + 1);
    return status;
}

static enum wt_status read_object_end(struct wt_reader *reader)
{
    if (wt_input_need(&reader->input, 1) < 1)
        return cut(reader, "the end of an object");
    uint8_t tag = wt_input_bytes(&reader->input)[0];
    if (tag != TAG_END)
        return wt_fail(reader, WT_ERROR_FORMAT, WT_RULE_TAG, reader->input.offset,
                       "tag %u instead of 6", tag);
    wt_input_consume(&reader->input, 1);
    return WT_OK;
}

static enum wt_status read_trace(struct wt_reader *reader)
{
    if (wt_input_need(&reader->input, TRACE_SIZE) < TRACE_SIZE)
        return cut(reader, "the Trace object");
    const uint8_t *bytes = wt_input_bytes(&reader->input);
    struct wt_trace_info *info = &reader->trace;
    int16_t *const date[8] = {&info->year, &info->month,  &info->day_of_week, &info->day,
                              &info->hour, &info->minute, &info->second,      &info->millisecond};
    for (size_t i = 0; i < 8; i++)
        *date[i] = (int16_t)wt_load_u16(bytes + 2 * i);
    info->sync_ticks = (int64_t)wt_load_u64(bytes + 16);
    info->frequency = (int64_t)wt_load_u64(bytes + 24);
    info->pointer_size = (int32_t)wt_load_u32(bytes + 32);
    info->process_id = (int32_t)wt_load_u32(bytes + 36);
    info->processors = (int32_t)wt_load_u32(bytes + 40);
    info->sampling_ns = (int32_t)wt_load_u32(bytes + 44);
    info->offset = reader->input.offset;
    wt_input_consume(&reader->input, TRACE_SIZE);
    reader->has_trace = true;
    if (reader->handlers.trace)
        reader->handlers.trace(reader->context, info);
    return read_object_end(reader);
}

static enum wt_status read_block_start(struct wt_reader *reader, uint32_t *size)
{
    struct wt_input *input = &reader->input;
    if (wt_input_need(input, 4) < 4)
        return cut(reader, "a block's size");
    int32_t stated = (int32_t)wt_load_u32(wt_input_bytes(input));
    if (stated < 0 || (uint32_t)stated > reader->options.limits.block_size_max)
        return wt_fail(reader, stated < 0 ? WT_ERROR_FORMAT : WT_ERROR_LIMIT, WT_RULE_BLOCK_SIZE,
                       input->offset, "block of %" PRId32 " bytes; at most %" PRIu32 " are read",
                       stated, reader->options.limits.block_size_max);
    size_t padding = (size_t)(-(input->offset + 4) & 3);
    if (wt_input_need(input, 4 + padding) < 4 + padding)
        return cut(reader, "a block's alignment");
    for (size_t i = 0; i < padding; i++)
        if (wt_input_bytes(input)[4 + i] != 0)
            wt_tell(reader, WT_RULE_PADDING, input->offset + 4 + i, "padding byte is %u, not 0",
                    wt_input_bytes(input)[4 + i]);
    wt_input_consume(input, 4 + padding);
    *size = (uint32_t)stated;
    return WT_OK;
}

static enum wt_status read_block_body(struct wt_reader *reader, const uint8_t *body, size_t size)
{
    switch (reader->block.kind) {
    case WT_BLOCK_STACK:
        return wt_stack_block(reader, body, size);
    case WT_BLOCK_POINT:
        return wt_point_block(reader, body, size);
    case WT_BLOCK_EVENT:
    case WT_BLOCK_METADATA:
        break;
    }
    return wt_block_blobs(reader, body, size);
}

/* A block that the end of the stream cuts off is decoded as far as it goes. */
static enum wt_status read_block(struct wt_reader *reader, enum wt_block_kind kind,
                                 uint64_t object_offset)
{
    uint32_t size = 0;
    enum wt_status status = read_block_start(reader, &size);
    if (status != WT_OK)
        return status;
    struct wt_block *block = &reader->block;
    uint64_t index = block->index;
    bool first = reader->totals.blocks[0] + reader->totals.blocks[1] + reader->totals.blocks[2] +
                     reader->totals.blocks[3] ==
                 0;
    memset(block, 0, sizeof(*block));
    block->kind = kind;
    block->index = first ? 0 : index + 1;
    block->offset = object_offset;
    block->body_offset = reader->input.offset;
    block->size = size;
    reader->totals.blocks[kind]++;
    size_t there = wt_input_need(&reader->input, size);
    reader->partial = there < size;
    if (reader->input.error)
        return cut(reader, "a block");
    status =
        read_block_body(reader, wt_input_bytes(&reader->input), reader->partial ? there : size);
    if (status != WT_OK)
        return status;
    if (reader->partial)
        return cut(reader, "a block");
    wt_input_consume(&reader->input, size);
    return read_object_end(reader);
}

static enum wt_status read_end(struct wt_reader *reader)
{
    wt_input_consume(&reader->input, 1);
    if (reader->options.check_trailing && wt_input_need(&reader->input, 1) > 0)
        wt_tell(reader, WT_RULE_TRAILING, reader->input.offset, "bytes after the end tag");
    return wt_fail(reader, WT_END, WT_RULE_NONE, reader->input.offset, "end of stream");
}

static enum wt_status read_object(struct wt_reader *reader)
{
    uint64_t offset = reader->input.offset;
    if (wt_input_need(&reader->input, 1) < 1)
        return cut(reader, "the place of the next object (no end tag)");
    if (reader->has_trace && wt_input_bytes(&reader->input)[0] == TAG_END_OF_STREAM)
        return read_end(reader);
    enum object object = OBJECT_NONE;
    enum wt_status status = read_type(reader, &object);
    if (status != WT_OK)
        return status;
    if ((object == OBJECT_TRACE) == reader->has_trace)
        return wt_fail(reader, WT_ERROR_FORMAT, WT_RULE_OBJECT_ORDER, offset,
                       reader->has_trace ? "a second Trace object"
                                         : "the first object is not Trace");
    switch (object) {
    case OBJECT_EVENT:
        return read_block(reader, WT_BLOCK_EVENT, offset);
    case OBJECT_METADATA:
        return read_block(reader, WT_BLOCK_METADATA, offset);
    case OBJECT_STACK:
        return read_block(reader, WT_BLOCK_STACK, offset);
    case OBJECT_POINT:
        return read_block(reader, WT_BLOCK_POINT, offset);
    case OBJECT_TRACE:
    case OBJECT_NONE:
        break;
    }
    return read_trace(reader);
}

enum wt_status wt_reader_step(struct wt_reader *reader)
{
    if (reader->error.status != WT_OK)
        return reader->error.status;
    enum wt_status status = WT_OK;
    if (!reader->started)
        status = read_stream_start(reader);
    if (status == WT_OK)
        status = read_object(reader);
    reader->totals.bytes = reader->input.offset;
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
