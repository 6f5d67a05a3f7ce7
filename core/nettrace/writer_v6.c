/*
 * What is different in a V6 stream: FORMAT.md, "V6". Blocks have a head of four bytes instead of an
 * object around them; threads and activities are in blocks of their own, and events name their index;
 * metadata has rows and UTF-8 names. Events are the same but for the ids in their headers.
 *
 * A thread's events are numbered from 1 in V6. In V4 they are numbered from 2, because number 1 is
 * that of the row that introduces the thread.
 *
 * Released readers fail on some of what the format has, so a stream has neither that nor labels that
 * override an event's metadata, and threads are removed at its end only.
 */
#include <stdio.h>
#include <string.h>
#include "base/compiler.h"
#include "nettrace/put.h"
#include "nettrace/types.h"

enum {
    MAJOR_VERSION = 6,
    MINOR_VERSION = 0,
    NO_HEADER = 0,   /* bytes of the header of a metadata block */
    THREAD_NAME = 1, /* from here on, kinds of entries in a thread's row */
    THREAD_PROCESS_ID = 2,
    THREAD_ID = 3,
    METADATA_OPCODE = 1, /* from here on, kinds of optional metadata */
    METADATA_KEYWORDS = 3,
    METADATA_LEVEL = 8,
    METADATA_VERSION = 9,
    LABEL_ACTIVITY = 1, /* from here on, kinds of labels */
    LABEL_RELATED_ACTIVITY = 2,
    LABEL_IS_LAST = 0x80,
    POINT_FORGETS_NOTHING = 0, /* but stacks and labels, as always */
    THREAD_BYTES_MAX = 512,    /* a block with one row, whose name has at most 47 bytes */
    LABELS_BYTES_MAX = 64,     /* a block with one list */
    REMOVED_BYTES_MAX = 15,    /* two varints */
};

WR_COLD void wr_nettrace_use_v6(struct wr_nettrace *nettrace)
{
    nettrace->is_v6 = true;
    nettrace->number_base = 1;
}

/* --- Blocks. --------------------------------------------------------------------------------- */

uint32_t wr_v6_block_open(struct wr_nettrace *nettrace)
{
    put_u32(nettrace, 0);
    return nettrace->length;
}

void wr_v6_block_close(struct wr_nettrace *nettrace, uint32_t content_at, enum wr_v6_block kind)
{
    uint32_t bytes = nettrace->length - content_at;
    put_at_u32(nettrace, content_at - 4, bytes | (uint32_t)kind << 24);
}

/* A text with its length. */
static void put_text(struct wr_nettrace *nettrace, const char *text)
{
    uint32_t bytes = (uint32_t)strlen(text);
    put_varint(nettrace, bytes);
    put(nettrace, text, bytes);
}

/* A size of 16 bits, in front of what it counts. */
static uint32_t size_open(struct wr_nettrace *nettrace)
{
    put_u16(nettrace, 0);
    return nettrace->length;
}

static void size_close(struct wr_nettrace *nettrace, uint32_t content_at)
{
    uint16_t bytes = (uint16_t)(nettrace->length - content_at);
    memcpy(nettrace->buffer + content_at - 2, &bytes, sizeof bytes);
}

/* --- Trace. ---------------------------------------------------------------------------------- */

static void put_number_pair(struct wr_nettrace *nettrace, const char *key, uint32_t value)
{
    char text[16];
    snprintf(text, sizeof text, "%u", value);
    put_text(nettrace, key);
    put_text(nettrace, text);
}

WR_COLD void wr_v6_header(struct wr_nettrace *nettrace, const struct wr_nettrace_header *header)
{
    put(nettrace, "Nettrace", 8);
    put_u32(nettrace, 0);
    put_u32(nettrace, MAJOR_VERSION);
    put_u32(nettrace, MINOR_VERSION);
    uint32_t content_at = wr_v6_block_open(nettrace);
    wr_nettrace_put_anchor(nettrace, header);
    put_u64(nettrace, header->frequency_hz);
    put_u32(nettrace, sizeof(void *));
    put_u32(nettrace, 2);
    put_number_pair(nettrace, "ProcessId", header->process_id);
    put_number_pair(nettrace, "HardwareThreadCount", header->processor_count);
    wr_v6_block_close(nettrace, content_at, WR_V6_TRACE);
}

/* --- Threads. -------------------------------------------------------------------------------- */

WR_COLD void wr_nettrace_thread(struct wr_nettrace *nettrace, uint64_t index, uint32_t process_id,
                                uint64_t thread_id, const char *name)
{
    if (!nettrace->is_v6)
        return;
    wr_nettrace_block_end(nettrace);
    wr_nettrace_reserve(nettrace, THREAD_BYTES_MAX);
    uint32_t content_at = wr_v6_block_open(nettrace);
    uint32_t row_at = size_open(nettrace);
    put_varint(nettrace, index);
    if (*name) {
        put_u8(nettrace, THREAD_NAME);
        put_text(nettrace, name);
    }
    put_u8(nettrace, THREAD_PROCESS_ID);
    put_varint(nettrace, process_id);
    put_u8(nettrace, THREAD_ID);
    put_varint(nettrace, thread_id);
    size_close(nettrace, row_at);
    wr_v6_block_close(nettrace, content_at, WR_V6_THREAD);
}

WR_COLD void wr_nettrace_remove_threads(struct wr_nettrace *nettrace,
                                        const struct wr_nettrace_thread_number *threads,
                                        uint32_t count)
{
    if (!nettrace->is_v6 || count == 0)
        return;
    wr_nettrace_block_end(nettrace);
    wr_nettrace_reserve(nettrace, 4 + count * REMOVED_BYTES_MAX);
    uint32_t content_at = wr_v6_block_open(nettrace);
    for (uint32_t i = 0; i < count; i++) {
        put_varint(nettrace, threads[i].capture_id);
        put_varint(nettrace, (uint32_t)(threads[i].number - nettrace->number_base));
    }
    wr_v6_block_close(nettrace, content_at, WR_V6_REMOVE_THREAD);
}

/* --- Metadata. ------------------------------------------------------------------------------- */

WR_COLD static void put_fields(struct wr_nettrace *nettrace, const struct weir_field *fields,
                               uint32_t count, const struct weir_object *const *objects);

WR_COLD static void put_field(struct wr_nettrace *nettrace, const struct weir_field *field,
                              const struct weir_object *object)
{
    uint32_t field_at = size_open(nettrace);
    put_text(nettrace, field->name);
    if (wr_type_is_array(field->type))
        put_u8(nettrace, TYPE_ARRAY);
    put_u8(nettrace, (uint8_t)WR_TYPE_CODE(field->type));
    if (object)
        put_fields(nettrace, object->fields, object->field_count, object->objects);
    size_close(nettrace, field_at);
}

WR_COLD static void put_fields(struct wr_nettrace *nettrace, const struct weir_field *fields,
                               uint32_t count, const struct weir_object *const *objects)
{
    put_u16(nettrace, (uint16_t)count);
    for (uint32_t i = 0; i < count; i++)
        put_field(nettrace, &fields[i], wr_type_is_object(fields[i].type) ? *objects++ : NULL);
}

static void put_optional(struct wr_nettrace *nettrace, const struct weir_schema *schema)
{
    uint32_t optional_at = size_open(nettrace);
    if (schema->opcode) {
        put_u8(nettrace, METADATA_OPCODE);
        put_u8(nettrace, schema->opcode);
    }
    put_u8(nettrace, METADATA_KEYWORDS);
    put_u64(nettrace, schema->keywords);
    put_u8(nettrace, METADATA_LEVEL);
    put_u8(nettrace, schema->level);
    put_u8(nettrace, METADATA_VERSION);
    put_u8(nettrace, schema->version);
    size_close(nettrace, optional_at);
}

WR_COLD void wr_v6_metadata(struct wr_nettrace *nettrace, uint32_t metadata_id,
                            const char *provider_name, const struct weir_schema *schema)
{
    uint32_t content_at = wr_v6_block_open(nettrace);
    put_u16(nettrace, NO_HEADER);
    uint32_t row_at = size_open(nettrace);
    put_varint(nettrace, metadata_id);
    put_text(nettrace, provider_name);
    put_varint(nettrace, schema->event_id);
    put_text(nettrace, schema->name);
    put_fields(nettrace, schema->fields, schema->field_count, schema->objects);
    put_optional(nettrace, schema);
    size_close(nettrace, row_at);
    wr_v6_block_close(nettrace, content_at, WR_V6_METADATA);
}

/* --- Labels. --------------------------------------------------------------------------------- */

static void put_label(struct wr_nettrace *nettrace, int kind, const unsigned char *id, bool is_last)
{
    put_u8(nettrace, (uint8_t)(kind | (is_last ? LABEL_IS_LAST : 0)));
    put(nettrace, id, 16);
}

static void labels_write(struct wr_nettrace *nettrace, uint32_t id,
                         const unsigned char *activity_id, const unsigned char *related_activity_id)
{
    wr_nettrace_block_end(nettrace);
    wr_nettrace_reserve(nettrace, LABELS_BYTES_MAX);
    uint32_t content_at = wr_v6_block_open(nettrace);
    put_u32(nettrace, id);
    put_u32(nettrace, 1);
    if (activity_id)
        put_label(nettrace, LABEL_ACTIVITY, activity_id, !related_activity_id);
    if (related_activity_id)
        put_label(nettrace, LABEL_RELATED_ACTIVITY, related_activity_id, true);
    wr_v6_block_close(nettrace, content_at, WR_V6_LABEL_LIST);
}

/* Where a list with these labels is remembered: a later one takes its place. */
static struct wr_nettrace_labels *labels_place(struct wr_nettrace *nettrace,
                                               const struct wr_nettrace_labels *wanted)
{
    uint64_t words[4];
    memcpy(words, wanted->ids, sizeof words);
    uint64_t hash = (words[0] ^ words[1] ^ words[2] ^ words[3]) * UINT64_C(0x9E3779B97F4A7C15);
    return &nettrace->label_lists[hash >> 58];
}

uint32_t wr_v6_labels(struct wr_nettrace *nettrace, const unsigned char *activity_id,
                      const unsigned char *related_activity_id)
{
    struct wr_nettrace_labels wanted = {0};
    const unsigned char *const ids[2] = {activity_id, related_activity_id};
    for (uint32_t i = 0; i < 2; i++) {
        wanted.kinds |= ids[i] ? 1u << i : 0;
        if (ids[i])
            memcpy(wanted.ids[i], ids[i], 16);
    }
    if (wanted.kinds == 0)
        return 0;
    struct wr_nettrace_labels *place = labels_place(nettrace, &wanted);
    if (place->id && place->kinds == wanted.kinds &&
        memcmp(place->ids, wanted.ids, sizeof wanted.ids) == 0)
        return place->id;
    wanted.id = ++nettrace->label_list_id;
    *place = wanted;
    labels_write(nettrace, wanted.id, activity_id, related_activity_id);
    return wanted.id;
}

/* --- Sequence points. ------------------------------------------------------------------------ */

WR_COLD void wr_v6_point(struct wr_nettrace *nettrace, uint64_t ticks,
                         const struct wr_nettrace_thread_number *threads, uint32_t count)
{
    uint32_t content_at = wr_v6_block_open(nettrace);
    put_u64(nettrace, ticks);
    put_u32(nettrace, POINT_FORGETS_NOTHING);
    put_u32(nettrace, count);
    for (uint32_t i = 0; i < count; i++) {
        put_varint(nettrace, threads[i].capture_id);
        put_varint(nettrace, (uint32_t)(threads[i].number - nettrace->number_base));
    }
    wr_v6_block_close(nettrace, content_at, WR_V6_POINT);
    if (nettrace->label_list_id) /* readers forget them here */
        memset(nettrace->label_lists, 0, sizeof nettrace->label_lists);
    nettrace->label_list_id = 0;
}
