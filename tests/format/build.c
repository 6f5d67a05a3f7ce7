#include "build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void build_bytes(struct build *build, const void *bytes, size_t size)
{
    if (size > sizeof(build->bytes) - build->size) {
        fprintf(stderr, "the test's stream is too long\n");
        exit(1);
    }
    if (size)
        memcpy(build->bytes + build->size, bytes, size);
    build->size += size;
}

static void build_number(struct build *build, uint64_t value, size_t size)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    build_bytes(build, bytes, size);
}

void build_u8(struct build *build, unsigned value)
{
    build_number(build, value, 1);
}

void build_u16(struct build *build, unsigned value)
{
    build_number(build, value, 2);
}

void build_u32(struct build *build, uint32_t value)
{
    build_number(build, value, 4);
}

void build_u64(struct build *build, uint64_t value)
{
    build_number(build, value, 8);
}

void build_var(struct build *build, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        build_u8(build, (unsigned)(value & 0x7F) | 0x80);
    build_u8(build, (unsigned)value);
}

void build_utf16(struct build *build, const char *ascii)
{
    for (; *ascii; ascii++)
        build_u16(build, (unsigned char)*ascii);
    build_u16(build, 0);
}

static void build_type(struct build *build, const char *type, uint32_t version)
{
    build_bytes(build, "\5\5\1", 3);
    build_u32(build, version);
    build_u32(build, version);
    build_u32(build, (uint32_t)strlen(type));
    build_bytes(build, type, strlen(type));
    build_u8(build, 6);
}

void build_start(struct build *build)
{
    static const unsigned date[8] = {2026, 1, 4, 15, 12, 30, 45, 500};
    build->size = 0;
    build_bytes(build, "Nettrace\x14\0\0\0!FastSerialization.1", 32);
    build_type(build, "Trace", 4);
    for (int i = 0; i < 8; i++)
        build_u16(build, date[i]);
    build_u64(build, 1000000);
    build_u64(build, 1000000000);
    build_u32(build, 8);
    build_u32(build, 4242);
    build_u32(build, 4);
    build_u32(build, 1000000);
    build_u8(build, 6);
}

void build_block(struct build *build, const char *type)
{
    build_type(build, type, 2);
    build->block_size_at = build->size;
    build_u32(build, 0);
    while (build->size % 4 != 0)
        build_u8(build, 0);
    build->block_body_at = build->size;
}

void build_block_end(struct build *build)
{
    size_t end = build->size;
    uint32_t size = (uint32_t)(end - build->block_body_at);
    build->size = build->block_size_at;
    build_u32(build, size);
    build->size = end;
    build_u8(build, 6);
}

void build_block_header(struct build *build, unsigned flags, int64_t min, int64_t max)
{
    build_u16(build, 20);
    build_u16(build, flags);
    build_u64(build, (uint64_t)min);
    build_u64(build, (uint64_t)max);
}

void build_metadata_of(struct build *build, const char *provider, uint32_t id, const char *name,
                       const void *fields, size_t size)
{
    build_block(build, "MetadataBlock");
    build_block_header(build, 1, 0, 0);
    build_u8(build, 0xC0);
    build_var(build, 0);
    build_var(build, 4 + 2 * (strlen(provider) + 1) + 4 + 2 * (strlen(name) + 1) + 16 + size);
    build_u32(build, id);
    build_utf16(build, provider);
    build_u32(build, 7);
    build_utf16(build, name);
    build_u64(build, 1);
    build_u32(build, 0);
    build_u32(build, 4);
    build_bytes(build, fields, size);
    build_block_end(build);
}

void build_metadata(struct build *build, uint32_t id, const char *name, const void *fields,
                    size_t size)
{
    build_metadata_of(build, "Demo", id, name, fields, size);
}

void build_field(struct build *build, uint32_t type, const char *name)
{
    build_u32(build, type);
    build_utf16(build, name);
}

void build_names(struct build *build, uint32_t enum_id, uint32_t thread_name_id)
{
    static struct build fields;
    fields.size = 0;
    build_u32(&fields, 6);
    build_field(&fields, 18, "Provider");
    build_field(&fields, 10, "EventId");
    build_field(&fields, 10, "Version");
    build_field(&fields, 18, "Field");
    build_field(&fields, 18, "Enum");
    build_field(&fields, 18, "Values");
    build_metadata_of(build, "Weir", enum_id, "Enum", fields.bytes, fields.size);
    fields.size = 0;
    build_u32(&fields, 3);
    build_field(&fields, 12, "CaptureThread");
    build_field(&fields, 12, "ThreadId");
    build_field(&fields, 18, "Name");
    build_metadata_of(build, "Weir", thread_name_id, "ThreadName", fields.bytes, fields.size);
}

void build_plain_metadata(struct build *build, uint32_t id, const char *name)
{
    build_metadata(build, id, name, "\0\0\0\0", 4);
}

void build_blob(struct build *build, const struct blob *blob)
{
    build_u8(build, 0x8F | (blob->sorted ? 0x40u : 0));
    build_var(build, blob->metadata_id);
    build_var(build, (uint32_t)(blob->sequence - blob->previous_sequence - 1));
    build_var(build, blob->capture_thread);
    build_var(build, 0);
    build_var(build, blob->thread);
    build_var(build, blob->stack);
    build_var(build, blob->time_delta);
    build_var(build, blob->payload_size);
    build_bytes(build, blob->payload, blob->payload_size);
}

void build_point(struct build *build, int64_t time, unsigned count, uint64_t thread0,
                 uint32_t number0, uint64_t thread1, uint32_t number1)
{
    build_block(build, "SPBlock");
    build_u64(build, (uint64_t)time);
    build_u32(build, count);
    if (count > 0) {
        build_u64(build, thread0);
        build_u32(build, number0);
    }
    if (count > 1) {
        build_u64(build, thread1);
        build_u32(build, number1);
    }
    build_block_end(build);
}

void build_end(struct build *build)
{
    build_u8(build, 1);
}
