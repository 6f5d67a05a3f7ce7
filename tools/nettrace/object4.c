/* The container of versions 4 and 5: objects with types by name. */
#include "reader_impl.h"

#include <inttypes.h>

#define TYPE_START_SIZE   15u /* 5 5 1, two versions, name length */
#define NAME_MAX_SIZE     64u
#define TRACE_SIZE        48u
#define TAG_END_OF_STREAM 1u
#define TAG_BEGIN         5u
#define TAG_END           6u

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
        return wt_cut(reader, "an object's type");
    uint32_t name_size = wt_load_u32(start + 11);
    if (name_size == 0 || name_size > NAME_MAX_SIZE)
        return wt_fail(reader, WT_ERROR_FORMAT, WT_RULE_TYPE_NAME, input->offset + 11,
                       "type name of %" PRIu32 " bytes", name_size);
    size = wt_input_need(input, TYPE_START_SIZE + name_size + 1);
    start = wt_input_bytes(input);
    if (size < TYPE_START_SIZE + name_size + 1)
        return wt_cut(reader, "an object's type");
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
        return wt_cut(reader, "the end of an object");
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
        return wt_cut(reader, "the Trace object");
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
    wt_trace_take(reader);
    return read_object_end(reader);
}

static enum wt_status read_block_start(struct wt_reader *reader, uint32_t *size)
{
    struct wt_input *input = &reader->input;
    if (wt_input_need(input, 4) < 4)
        return wt_cut(reader, "a block's size");
    int32_t stated = (int32_t)wt_load_u32(wt_input_bytes(input));
    if (stated < 0 || (uint32_t)stated > reader->options.limits.block_size_max)
        return wt_fail(reader, stated < 0 ? WT_ERROR_FORMAT : WT_ERROR_LIMIT, WT_RULE_BLOCK_SIZE,
                       input->offset, "block of %" PRId32 " bytes; at most %" PRIu32 " are read",
                       stated, reader->options.limits.block_size_max);
    size_t padding = (size_t)(-(input->offset + 4) & 3);
    if (wt_input_need(input, 4 + padding) < 4 + padding)
        return wt_cut(reader, "a block's alignment");
    for (size_t i = 0; i < padding; i++)
        if (wt_input_bytes(input)[4 + i] != 0)
            wt_tell(reader, WT_RULE_PADDING, input->offset + 4 + i, "padding byte is %u, not 0",
                    wt_input_bytes(input)[4 + i]);
    wt_input_consume(input, 4 + padding);
    *size = (uint32_t)stated;
    return WT_OK;
}

/* Blocks are read alike in all versions; here, a tag follows. */
static enum wt_status read_block(struct wt_reader *reader, enum wt_block_kind kind,
                                 uint64_t object_offset)
{
    uint32_t size = 0;
    enum wt_status status = read_block_start(reader, &size);
    if (status != WT_OK)
        return status;
    wt_block_begin(reader, kind, object_offset, size);
    status = wt_block_read(reader);
    return status == WT_OK ? read_object_end(reader) : status;
}

enum wt_status wt_object4_read(struct wt_reader *reader)
{
    uint64_t offset = reader->input.offset;
    if (wt_input_need(&reader->input, 1) < 1)
        return wt_cut(reader, "the place of the next object (no end tag)");
    if (reader->has_trace && wt_input_bytes(&reader->input)[0] == TAG_END_OF_STREAM) {
        wt_input_consume(&reader->input, 1);
        return wt_end(reader);
    }
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
