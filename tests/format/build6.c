#include "build6.h"

#include <string.h>

void build_text8(struct build *build, const char *text)
{
    build_var(build, strlen(text));
    build_bytes(build, text, strlen(text));
}

static void put_at(struct build *build, size_t at, uint32_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        build->bytes[at + i] = (uint8_t)(value >> (8 * i));
}

void build6_block(struct build *build, unsigned kind)
{
    build->block_size_at = build->size;
    build_u32(build, (uint32_t)kind << 24);
    build->block_body_at = build->size;
}

void build6_block_end(struct build *build)
{
    put_at(build, build->block_size_at, (uint32_t)(build->size - build->block_body_at), 3);
}

void build6_start(struct build *build)
{
    static const unsigned date[8] = {2026, 1, 4, 15, 12, 30, 45, 500};
    build->size = 0;
    build_bytes(build, "Nettrace\0\0\0\0\6\0\0\0\0\0\0\0", 20);
    build6_block(build, BUILD6_TRACE);
    for (int i = 0; i < 8; i++)
        build_u16(build, date[i]);
    build_u64(build, 1000000);
    build_u64(build, 1000000000);
    build_u32(build, 8);
    build_u32(build, 1);
    build_text8(build, "ProcessId");
    build_text8(build, "4242");
    build6_block_end(build);
}

void build6_thread(struct build *build, uint64_t index, uint64_t os_id, const char *name)
{
    build6_block(build, BUILD6_THREAD);
    size_t at = build->size;
    build_u16(build, 0);
    build_var(build, index);
    if (name) {
        build_u8(build, 1);
        build_text8(build, name);
    }
    build_u8(build, 3);
    build_var(build, os_id);
    put_at(build, at, (uint32_t)(build->size - at - 2), 2);
    build6_block_end(build);
}

void build6_metadata(struct build *build, uint32_t id, const char *name, const void *fields,
                     size_t field_size, const void *options, size_t option_size)
{
    build6_block(build, BUILD6_METADATA);
    build_u16(build, 0);
    size_t at = build->size;
    build_u16(build, 0);
    build_var(build, id);
    build_text8(build, "Demo");
    build_var(build, 7);
    build_text8(build, name);
    build_bytes(build, fields, field_size);
    build_u16(build, (unsigned)option_size);
    build_bytes(build, options, option_size);
    put_at(build, at, (uint32_t)(build->size - at - 2), 2);
    build6_block_end(build);
}

void build6_plain_metadata(struct build *build, uint32_t id, const char *name)
{
    build6_metadata(build, id, name, "\0\0", 2, "", 0);
}

void build6_events(struct build *build, unsigned flags, int64_t min, int64_t max)
{
    build6_block(build, BUILD6_EVENT);
    build_block_header(build, flags, min, max);
}

void build6_row(struct build *build, const struct row6 *row)
{
    build_u8(build, 0x9F | (row->sorted ? 0x40u : 0));
    build_var(build, row->metadata_id);
    build_var(build, (uint32_t)(row->sequence - row->previous_sequence - 1));
    build_var(build, row->capture_thread);
    build_var(build, 0);
    build_var(build, row->thread);
    build_var(build, row->stack);
    build_var(build, row->time_delta);
    build_var(build, row->labels);
    build_var(build, row->payload_size);
    build_bytes(build, row->payload, row->payload_size);
}

void build6_point(struct build *build, int64_t time, uint32_t flags, uint64_t thread,
                  uint32_t number)
{
    build6_block(build, BUILD6_POINT);
    build_u64(build, (uint64_t)time);
    build_u32(build, flags);
    build_u32(build, thread ? 1 : 0);
    if (thread) {
        build_var(build, thread);
        build_var(build, number);
    }
    build6_block_end(build);
}

void build6_end(struct build *build)
{
    build6_block(build, BUILD6_END);
}
