/* The container of version 6: blocks with a size and a kind. */
#include "parser.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define HEADER_SIZE        4u
#define SIZE_MASK          0xFFFFFFu
#define TRACE_FIXED_SIZE   40u
#define KEY_VALUE_MIN_SIZE 2u

enum kind {
    KIND_END = 0,
    KIND_TRACE = 1,
    KIND_EVENT = 2,
    KIND_METADATA = 3,
    KIND_POINT = 4,
    KIND_STACK = 5,
    KIND_THREAD = 6,
    KIND_REMOVE_THREAD = 7,
    KIND_LABEL = 8,
    KIND_COUNT
};

/* --- The Trace block. ------------------------------------------------------------------------ */

/* The number that a known key has; 0 and a report if its text is none. */
static int32_t number_of(struct wt_reader *reader, const struct wt_key_value *item)
{
    char *end;
    errno = 0;
    long long value = strtoll(item->value, &end, 10);
    if (!errno && end != item->value && !*end && value >= INT32_MIN && value <= UINT32_MAX)
        return (int32_t)(uint32_t)value;
    wt_tell(reader, WT_RULE_TRACE_BLOCK, reader->trace.offset, "%.60s is \"%.60s\"", item->key,
            item->value);
    return 0;
}

static void take_known(struct wt_reader *reader, const struct wt_key_value *item)
{
    struct wt_trace_info *info = &reader->trace;
    const struct {
        const char *key;
        int32_t *value;
    } known[] = {{"ProcessId", &info->process_id},
                 {"HardwareThreadCount", &info->processors},
                 {"ExpectedCPUSamplingRate", &info->sampling_ns},
                 {"SystemPageSize", &info->page_size}};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(item->key, known[i].key) == 0)
            *known[i].value = number_of(reader, item);
}

static bool take_key_values(struct wt_parser *parser, uint32_t count)
{
    struct wt_key_values list = {NULL, 0, 0};
    bool good = count <= wt_cursor_left(&parser->cursor) / KEY_VALUE_MIN_SIZE;
    for (uint32_t i = 0; i < count && good; i++) {
        good = wt_parser_key_value(parser, &list);
        if (good)
            take_known(parser->reader, &list.items[i]);
    }
    parser->reader->trace.values = list.items;
    parser->reader->trace.value_count = list.count;
    return good;
}

static enum wt_status take_trace(struct wt_reader *reader, const uint8_t *body, size_t size)
{
    struct wt_trace_info *info = &reader->trace;
    int16_t *const date[8] = {&info->year, &info->month,  &info->day_of_week, &info->day,
                              &info->hour, &info->minute, &info->second,      &info->millisecond};
    struct wt_parser parser = wt_parser_make(reader, body, size);
    info->offset = reader->input.offset;
    for (size_t i = 0; i < 8; i++)
        *date[i] = (int16_t)wt_cursor_u16(&parser.cursor);
    info->sync_ticks = (int64_t)wt_cursor_u64(&parser.cursor);
    info->frequency = (int64_t)wt_cursor_u64(&parser.cursor);
    info->pointer_size = (int32_t)wt_cursor_u32(&parser.cursor);
    uint32_t count = wt_cursor_u32(&parser.cursor);
    bool good = parser.cursor.fault == WT_FAULT_NONE && take_key_values(&parser, count);
    if (parser.no_memory)
        return wt_parser_no_memory(reader, info->offset);
    if (!good)
        return wt_fail(reader, WT_ERROR_FORMAT, WT_RULE_TRACE_BLOCK, info->offset,
                       "the Trace block of %zu bytes is too short for its %" PRIu32
                       " keys and values",
                       size, count);
    wt_trace_take(reader);
    return WT_OK;
}

/* --- Blocks. --------------------------------------------------------------------------------- */

static enum wt_status read_trace(struct wt_reader *reader, uint32_t size)
{
    size_t there = wt_input_need(&reader->input, size);
    if (there < size)
        return wt_cut(reader, "the Trace block");
    enum wt_status status = take_trace(reader, wt_input_bytes(&reader->input), size);
    if (status == WT_OK)
        wt_input_consume(&reader->input, size);
    return status;
}

static enum wt_status read_end(struct wt_reader *reader, uint32_t size)
{
    if (size > 0)
        wt_tell(reader, WT_RULE_BLOCK_SIZE, reader->input.offset - HEADER_SIZE,
                "the block that ends the stream has %" PRIu32 " bytes", size);
    if (!wt_input_skip(&reader->input, size))
        return wt_cut(reader, "the end");
    return wt_end(reader);
}

static enum wt_status read_block(struct wt_reader *reader, uint32_t kind, uint32_t size,
                                 uint64_t offset)
{
    static const enum wt_block_kind kinds[KIND_COUNT] = {
        [KIND_EVENT] = WT_BLOCK_EVENT,   [KIND_METADATA] = WT_BLOCK_METADATA,
        [KIND_POINT] = WT_BLOCK_POINT,   [KIND_STACK] = WT_BLOCK_STACK,
        [KIND_THREAD] = WT_BLOCK_THREAD, [KIND_REMOVE_THREAD] = WT_BLOCK_REMOVE_THREAD,
        [KIND_LABEL] = WT_BLOCK_LABEL};
    if (kind < KIND_COUNT) {
        wt_block_begin(reader, kinds[kind], offset, size);
        return wt_block_read(reader);
    }
    if (!wt_input_skip(&reader->input, size))
        return wt_cut(reader, "a block of an unknown kind");
    return WT_OK;
}

enum wt_status wt_block6_read(struct wt_reader *reader)
{
    struct wt_input *input = &reader->input;
    const uint64_t offset = input->offset;
    if (wt_input_need(input, HEADER_SIZE) < HEADER_SIZE)
        return wt_cut(reader, "the place of the next block (no end block)");
    uint32_t header = wt_load_u32(wt_input_bytes(input));
    uint32_t size = header & SIZE_MASK, kind = header >> 24;
    if ((kind == KIND_TRACE) == reader->has_trace)
        return wt_fail(reader, WT_ERROR_FORMAT, WT_RULE_OBJECT_ORDER, offset,
                       reader->has_trace ? "a second Trace block" : "the first block is not Trace");
    if (size > reader->options.limits.block_size_max)
        return wt_fail(reader, WT_ERROR_LIMIT, WT_RULE_BLOCK_SIZE, offset,
                       "block of %" PRIu32 " bytes; at most %" PRIu32 " are read", size,
                       reader->options.limits.block_size_max);
    wt_input_consume(input, HEADER_SIZE);
    if (kind == KIND_TRACE)
        return read_trace(reader, size);
    return kind == KIND_END ? read_end(reader, size) : read_block(reader, kind, size, offset);
}
