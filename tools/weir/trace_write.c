#include "trace_write.h"
#include "tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_SIZE 100000u /* of one block of events or stacks, about */

enum { TAG_NULL = 1, TAG_BEGIN = 5, TAG_END = 6 };

enum blob_flag {
    BLOB_METADATA = 0x01,
    BLOB_SEQUENCE = 0x02,
    BLOB_THREAD = 0x04,
    BLOB_STACK = 0x08,
    BLOB_ACTIVITY = 0x10,
    BLOB_RELATED = 0x20,
    BLOB_SORTED = 0x40,
    BLOB_PAYLOAD_SIZE = 0x80,
};

/* --- Bytes. ---------------------------------------------------------------------------------- */

static void put(struct wt_bytes *bytes, const void *from, size_t size)
{
    bytes->at = wt_grow(bytes->at, &bytes->capacity, bytes->size + size + 1, 1);
    if (size)
        memcpy(bytes->at + bytes->size, from, size);
    bytes->size += size;
}

/* The low `size` bytes of a number, the least significant one first. */
static void put_number(struct wt_bytes *bytes, uint64_t number, unsigned size)
{
    uint8_t out[8];
    for (unsigned i = 0; i < size; i++)
        out[i] = (uint8_t)(number >> 8 * i);
    put(bytes, out, size);
}

static void put_u8(struct wt_bytes *bytes, unsigned number)
{
    put_number(bytes, number, 1);
}

static void put_u16(struct wt_bytes *bytes, unsigned number)
{
    put_number(bytes, number, 2);
}

static void put_u32(struct wt_bytes *bytes, uint32_t number)
{
    put_number(bytes, number, 4);
}

void wt_bytes_u64(struct wt_bytes *bytes, uint64_t number)
{
    put_number(bytes, number, 8);
}

static void put_var(struct wt_bytes *bytes, uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        put_u8(bytes, (unsigned)(number & 0x7F) | 0x80u);
    put_u8(bytes, (unsigned)number);
}

/* The next character of UTF-8; the reader gives no other text. */
static uint32_t next_character(const unsigned char **text)
{
    const unsigned char *at = *text;
    unsigned size = *at < 0x80 ? 1 : *at < 0xE0 ? 2 : *at < 0xF0 ? 3 : 4;
    uint32_t character = size == 1 ? *at : *at & (0x7Fu >> size);
    for (unsigned i = 1; i < size; i++) {
        if ((at[i] & 0xC0) != 0x80) {
            *text = at + i;
            return 0xFFFD;
        }
        character = character << 6 | (at[i] & 0x3F);
    }
    *text = at + size;
    return character;
}

/* UTF-16 with a zero at its end. */
void wt_bytes_text(struct wt_bytes *bytes, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    while (*at) {
        uint32_t character = next_character(&at);
        if (character >= 0x10000) {
            put_u16(bytes, 0xD800u + (unsigned)((character - 0x10000) >> 10));
            put_u16(bytes, 0xDC00u + (unsigned)(character & 0x3FF));
        } else {
            put_u16(bytes, character);
        }
    }
    put_u16(bytes, 0);
}

/* --- Objects. -------------------------------------------------------------------------------- */

static void write_bytes(struct wt_trace_writer *writer, const struct wt_bytes *bytes)
{
    if (bytes->size && fwrite(bytes->at, 1, bytes->size, writer->stream) != bytes->size &&
        !writer->error)
        writer->error = errno;
    writer->offset += bytes->size;
}

static void put_type(struct wt_bytes *bytes, const char *name, uint32_t version)
{
    put_u8(bytes, TAG_BEGIN);
    put_u8(bytes, TAG_BEGIN);
    put_u8(bytes, TAG_NULL);
    put_u32(bytes, version);
    put_u32(bytes, version);
    put_u32(bytes, (uint32_t)strlen(name));
    put(bytes, name, strlen(name));
    put_u8(bytes, TAG_END);
}

/* `body` is in two parts. */
static void write_block(struct wt_trace_writer *writer, const char *name,
                        const struct wt_bytes *head, const struct wt_bytes *rest)
{
    struct wt_bytes start = {0}, end = {0};
    put_type(&start, name, 2);
    put_u32(&start, (uint32_t)(head->size + rest->size));
    while ((writer->offset + start.size) % 4)
        put_u8(&start, 0);
    put_u8(&end, TAG_END);
    write_bytes(writer, &start);
    write_bytes(writer, head);
    write_bytes(writer, rest);
    write_bytes(writer, &end);
    free(start.at);
    free(end.at);
}

static void write_blobs(struct wt_trace_writer *writer, const char *name, struct wt_blobs *blobs)
{
    struct wt_bytes head = {0};
    if (blobs->bytes.size == 0)
        return;
    put_u16(&head, 20);
    put_u16(&head, 1);
    wt_bytes_u64(&head, (uint64_t)blobs->min_time);
    wt_bytes_u64(&head, (uint64_t)blobs->max_time);
    write_block(writer, name, &head, &blobs->bytes);
    free(head.at);
    blobs->bytes.size = 0;
    blobs->time = 0;
}

static void write_stacks(struct wt_trace_writer *writer)
{
    struct wt_bytes head = {0};
    if (writer->stack_count == 0)
        return;
    put_u32(&head, writer->first_stack);
    put_u32(&head, writer->stack_count);
    write_block(writer, "StackBlock", &head, &writer->stacks);
    free(head.at);
    writer->stacks.size = 0;
    writer->stack_count = 0;
}

/* What events refer to comes before them. */
static void flush(struct wt_trace_writer *writer)
{
    write_blobs(writer, "MetadataBlock", &writer->definitions);
    write_stacks(writer);
    write_blobs(writer, "EventBlock", &writer->events);
    memset(&writer->last, 0, sizeof(writer->last));
}

/* --- Definitions. ---------------------------------------------------------------------------- */

static void put_field_v1(struct wt_bytes *bytes, const struct wt_field *field)
{
    put_u32(bytes, (uint32_t)field->type);
    if (field->type == WT_TYPE_OBJECT)
        put_u32(bytes, field->field_count);
    for (uint32_t i = 0; i < field->field_count; i++)
        put_field_v1(bytes, &field->fields[i]);
    wt_bytes_text(bytes, field->name);
}

static void put_field_v2(struct wt_bytes *bytes, const struct wt_field *field);

static void put_type_v2(struct wt_bytes *bytes, const struct wt_field *field)
{
    put_u32(bytes, (uint32_t)field->type);
    if (field->type == WT_TYPE_ARRAY) {
        put_type_v2(bytes, &field->fields[0]);
        return;
    }
    if (field->type == WT_TYPE_OBJECT)
        put_u32(bytes, field->field_count);
    for (uint32_t i = 0; i < field->field_count; i++)
        put_field_v2(bytes, &field->fields[i]);
}

/* Fills in the four bytes at `at`, which were left for it. */
static void set_u32(struct wt_bytes *bytes, size_t at, size_t number)
{
    for (unsigned i = 0; i < 4; i++)
        bytes->at[at + i] = (uint8_t)(number >> 8 * i);
}

static void put_field_v2(struct wt_bytes *bytes, const struct wt_field *field)
{
    size_t at = bytes->size;
    put_u32(bytes, 0);
    wt_bytes_text(bytes, field->name);
    put_type_v2(bytes, field);
    set_u32(bytes, at, bytes->size - at);
}

static bool has_array(const struct wt_field *fields, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (fields[i].type == WT_TYPE_ARRAY || has_array(fields[i].fields, fields[i].field_count))
            return true;
    return false;
}

/* Tag 1 has the opcode, tag 2 fields with arrays, which the older description cannot have. */
static void put_description(struct wt_bytes *bytes, const struct wt_metadata *metadata)
{
    const bool is_v2 = has_array(metadata->fields, metadata->field_count);
    put_u32(bytes, is_v2 ? 0 : metadata->field_count);
    for (uint32_t i = 0; !is_v2 && i < metadata->field_count; i++)
        put_field_v1(bytes, &metadata->fields[i]);
    if (metadata->has_opcode) {
        put_u32(bytes, 1);
        put_u8(bytes, 1);
        put_u8(bytes, metadata->opcode);
    }
    if (!is_v2)
        return;
    size_t at = bytes->size;
    put_u32(bytes, 0);
    put_u8(bytes, 2);
    put_u32(bytes, metadata->field_count);
    for (uint32_t i = 0; i < metadata->field_count; i++)
        put_field_v2(bytes, &metadata->fields[i]);
    set_u32(bytes, at, bytes->size - at - 5);
}

static void note_time(struct wt_blobs *blobs, int64_t time)
{
    const bool is_first = blobs->bytes.size == 0;
    if (is_first || time < blobs->min_time)
        blobs->min_time = time;
    if (is_first || time > blobs->max_time)
        blobs->max_time = time;
}

uint32_t wt_trace_writer_define(struct wt_trace_writer *writer, const struct wt_metadata *metadata,
                                int64_t time)
{
    struct wt_bytes payload = {0};
    struct wt_blobs *blobs = &writer->definitions;
    const uint32_t id = writer->next_definition++;
    if (writer->events.bytes.size)
        flush(writer);
    put_u32(&payload, id);
    wt_bytes_text(&payload, metadata->provider_name);
    put_u32(&payload, (uint32_t)metadata->event_id);
    wt_bytes_text(&payload, metadata->event_name);
    wt_bytes_u64(&payload, metadata->keywords);
    put_u32(&payload, (uint32_t)metadata->version);
    put_u32(&payload, (uint32_t)metadata->level);
    put_description(&payload, metadata);
    note_time(blobs, time);
    put_u8(&blobs->bytes, BLOB_SORTED | BLOB_PAYLOAD_SIZE);
    put_var(&blobs->bytes, (uint64_t)time - (uint64_t)blobs->time);
    put_var(&blobs->bytes, payload.size);
    put(&blobs->bytes, payload.at, payload.size);
    blobs->time = time;
    free(payload.at);
    return id;
}

/* --- Events. --------------------------------------------------------------------------------- */

uint32_t wt_trace_writer_stack(struct wt_trace_writer *writer, const uint8_t *bytes, uint32_t size)
{
    if (writer->stacks.size > BLOCK_SIZE)
        flush(writer);
    if (writer->stack_count == 0)
        writer->first_stack = writer->next_stack;
    put_u32(&writer->stacks, size);
    put(&writer->stacks, bytes, size);
    writer->stack_count++;
    return writer->next_stack++;
}

static unsigned flags_of(const struct wt_event *last, const struct wt_event *event)
{
    unsigned flags = event->sorted ? BLOB_SORTED : 0;
    if (event->metadata_id != last->metadata_id)
        flags |= BLOB_METADATA;
    if (event->sequence != last->sequence + 1 || event->capture_thread != last->capture_thread ||
        event->processor != last->processor)
        flags |= BLOB_SEQUENCE;
    if (event->thread_id != last->thread_id)
        flags |= BLOB_THREAD;
    if (event->stack_id != last->stack_id)
        flags |= BLOB_STACK;
    if (memcmp(event->activity_id, last->activity_id, 16) != 0)
        flags |= BLOB_ACTIVITY;
    if (memcmp(event->related_activity_id, last->related_activity_id, 16) != 0)
        flags |= BLOB_RELATED;
    if (event->payload_size != last->payload_size)
        flags |= BLOB_PAYLOAD_SIZE;
    return flags;
}

static void put_event(struct wt_bytes *bytes, const struct wt_event *last,
                      const struct wt_event *event)
{
    const unsigned flags = flags_of(last, event);
    put_u8(bytes, flags);
    if (flags & BLOB_METADATA)
        put_var(bytes, event->metadata_id);
    if (flags & BLOB_SEQUENCE) {
        put_var(bytes, (uint32_t)(event->sequence - last->sequence - 1));
        put_var(bytes, event->capture_thread);
        put_var(bytes, event->processor);
    }
    if (flags & BLOB_THREAD)
        put_var(bytes, event->thread_id);
    if (flags & BLOB_STACK)
        put_var(bytes, event->stack_id);
    put_var(bytes, (uint64_t)event->time - (uint64_t)last->time);
    if (flags & BLOB_ACTIVITY)
        put(bytes, event->activity_id, 16);
    if (flags & BLOB_RELATED)
        put(bytes, event->related_activity_id, 16);
    if (flags & BLOB_PAYLOAD_SIZE)
        put_var(bytes, event->payload_size);
    put(bytes, event->payload, event->payload_size);
}

/* Readers learn of another capture thread at the start of a block, or by a sorted event. */
void wt_trace_writer_event(struct wt_trace_writer *writer, const struct wt_event *event)
{
    struct wt_blobs *blobs = &writer->events;
    const bool switches = event->capture_thread != writer->last.capture_thread;
    if (blobs->bytes.size > BLOCK_SIZE || (blobs->bytes.size && switches && !event->sorted))
        flush(writer);
    note_time(blobs, event->time);
    put_event(&blobs->bytes, &writer->last, event);
    writer->last = *event;
}

void wt_trace_writer_point(struct wt_trace_writer *writer, int64_t time,
                           const struct wt_point_entry *entries, uint32_t count)
{
    struct wt_bytes head = {0}, rest = {0};
    flush(writer);
    wt_bytes_u64(&head, (uint64_t)time);
    put_u32(&head, count);
    for (uint32_t i = 0; i < count; i++) {
        wt_bytes_u64(&rest, entries[i].capture_thread);
        put_u32(&rest, entries[i].sequence);
    }
    write_block(writer, "SPBlock", &head, &rest);
    free(head.at);
    free(rest.at);
    writer->next_stack = 1;
}

/* --- The file. ------------------------------------------------------------------------------- */

static void write_start(struct wt_trace_writer *writer, const struct wt_trace_info *info)
{
    static const char stream_start[] = "Nettrace\x14\0\0\0!FastSerialization.1";
    const int16_t date[8] = {info->year, info->month,  info->day_of_week, info->day,
                             info->hour, info->minute, info->second,      info->millisecond};
    struct wt_bytes bytes = {0};
    put(&bytes, stream_start, 32);
    put_type(&bytes, "Trace", 4);
    for (size_t i = 0; i < 8; i++)
        put_u16(&bytes, (unsigned)(uint16_t)date[i]);
    wt_bytes_u64(&bytes, (uint64_t)info->sync_ticks);
    wt_bytes_u64(&bytes, (uint64_t)info->frequency);
    put_u32(&bytes, (uint32_t)info->pointer_size);
    put_u32(&bytes, (uint32_t)info->process_id);
    put_u32(&bytes, (uint32_t)info->processors);
    put_u32(&bytes, (uint32_t)info->sampling_ns);
    put_u8(&bytes, TAG_END);
    write_bytes(writer, &bytes);
    free(bytes.at);
}

bool wt_trace_writer_open(struct wt_trace_writer *writer, const char *file,
                          const struct wt_trace_info *info)
{
    memset(writer, 0, sizeof(*writer));
    writer->next_stack = writer->next_definition = 1;
    if (wt_new_file_open(&writer->file, file))
        writer->stream = wt_new_file_stream(&writer->file);
    if (writer->stream)
        write_start(writer, info);
    return writer->stream != NULL;
}

bool wt_trace_writer_finish(struct wt_trace_writer *writer, bool has_end)
{
    flush(writer);
    if (has_end && putc(TAG_NULL, writer->stream) == EOF && !writer->error)
        writer->error = errno;
    if (fclose(writer->stream) != 0 && !writer->error)
        writer->error = errno;
    writer->stream = NULL;
    if (writer->error)
        wt_complain("cannot write %s: %s", writer->file.name, strerror(writer->error));
    return !writer->error && wt_new_file_publish(&writer->file);
}

void wt_trace_writer_fini(struct wt_trace_writer *writer)
{
    if (writer->stream)
        fclose(writer->stream);
    wt_new_file_drop(&writer->file);
    free(writer->definitions.bytes.at);
    free(writer->events.bytes.at);
    free(writer->stacks.at);
}
