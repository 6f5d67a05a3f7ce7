#include "nettrace/writer.h"

#include <string.h>
#include "base/compiler.h"
#include "nettrace/put.h"
#include "nettrace/types.h"
#include "lane/record.h"

/* Figures of the format. FORMAT.md has the tables, and for each the section of the format's
 * description that it comes from. */
enum {
    /* FORMAT.md, "Objects" */
    TAG_NULL = 1, /* the type of a type; in place of an object, the end of the stream */
    TAG_BEGIN_PRIVATE = 5,
    TAG_END = 6,
    TRACE_VERSION = 4, /* V5 has the same: it differs in the tags of metadata only */
    BLOCK_VERSION = 2,
    BLOCK_ALIGNMENT = 4, /* of a block's content, in bytes from the start of the stream */

    /* FORMAT.md, "Event blobs" */
    HAS_METADATA_ID = 0x01, /* from here on, flags of a compressed event header */
    HAS_NUMBER = 0x02,      /* number, capture thread, processor */
    HAS_THREAD_ID = 0x04,
    HAS_STACK_ID = 0x08,
    HAS_ACTIVITY_ID = 0x10,
    HAS_RELATED_ACTIVITY_ID = 0x20,
    IS_SORTED = 0x40,
    HAS_PAYLOAD_SIZE = 0x80,
    PROCESSOR_UNKNOWN = 0, /* it is not recorded */

    /* FORMAT.md, "Metadata" */
    METADATA_TAG_OPCODE = 1,
    METADATA_TAG_V2_PARAMS = 2,
    METADATA_TAG_HEADER_BYTES = 5, /* size and kind; a tag's size counts neither */
    OPCODE_BYTES = 1,
    NO_V1_FIELDS = 0, /* the field count that must stand before a tag with the V2 fields */

    /* FORMAT.md, "Trace" */
    SAMPLING_NS = 1000000, /* what the runtime writes; Weir does not sample */

    /* FORMAT.md, "Stacks" */
    STACKS_OBJECT_BYTES_MAX = 128, /* of the object around the stacks: 42 at most */
    STACK_SIZE_BYTES = 4,

    /* FORMAT.md, "Sequence point" */
    POINT_OBJECT_BYTES_MAX = 128, /* type, size, alignment, time, count, end: 43 at most */
    POINT_ROW_BYTES = 16,         /* 15 in V6: two varints */
};

#define EVENT_HEADER_BYTES_MAX  96u /* ours has 84 at most: flags, eight varints, two ids */
#define BLOCK_CONTENT_BYTES_MAX WR_NETTRACE_BLOCK_BYTES_MAX
/* An event needs its header, its payload, up to 7 bytes that the copy writes past it, and those of its
 * block around it. */
#define BUFFER_BYTES_FOR_EVENT (EVENT_HEADER_BYTES_MAX + WR_PAYLOAD_BYTES_MAX + 64u)
/* 64 fields and three names of 255 bytes each, in UTF-16. */
#define METADATA_BYTES_MAX (64u << 10)
/* What a varint below 2^21 takes at most. */
#define METADATA_SIZE_VARINT_BYTES 3u

_Static_assert(HAS_STACK_ID == WR_NETTRACE_HAS_STACK_ID, "runs write the flag, too");
_Static_assert(METADATA_BYTES_MAX < 1u << (7 * METADATA_SIZE_VARINT_BYTES), "the size fits");

_Static_assert(WR_NETTRACE_BUFFER_BYTES >= 2 * BLOCK_CONTENT_BYTES_MAX + BUFFER_BYTES_FOR_EVENT,
               "one block fits");

WR_COLD void wr_nettrace_init(struct wr_nettrace *nettrace, struct wr_stream *stream, void *buffer)
{
    memset(nettrace, 0, sizeof *nettrace);
    nettrace->stream = stream;
    nettrace->buffer = buffer;
}

WR_COLD bool wr_nettrace_flush(struct wr_nettrace *nettrace)
{
    if (nettrace->block_at)
        wr_nettrace_block_end(nettrace);
    if (nettrace->before_flush)
        nettrace->before_flush(nettrace->flush_context);
    bool is_sent = wr_stream_write(nettrace->stream, nettrace->buffer, nettrace->length);
    nettrace->offset += nettrace->length;
    nettrace->length = 0;
    if (nettrace->on_flush)
        nettrace->on_flush(nettrace->flush_context, is_sent);
    return is_sent;
}

static void put_utf16z(struct wr_nettrace *nettrace, const char *text)
{
    nettrace->length += wr_utf16_from_utf8((const unsigned char *)text, (uint32_t)strlen(text),
                                           nettrace->buffer + nettrace->length);
    put_u16(nettrace, 0);
}

/* --- Objects and blocks. --------------------------------------------------------------------- */

static void object_begin(struct wr_nettrace *nettrace, const char *type_name, uint32_t version)
{
    put_u8(nettrace, TAG_BEGIN_PRIVATE);
    put_u8(nettrace, TAG_BEGIN_PRIVATE);
    put_u8(nettrace, TAG_NULL);
    put_u32(nettrace, version);
    put_u32(nettrace, version);
    put_u32(nettrace, (uint32_t)strlen(type_name));
    put(nettrace, type_name, (uint32_t)strlen(type_name));
    put_u8(nettrace, TAG_END);
}

/* Returns where the size goes. The content begins at a multiple of four of the stream's offset. */
static uint32_t block_open(struct wr_nettrace *nettrace, const char *type_name,
                           uint32_t *content_at)
{
    if (nettrace->is_v6)
        return *content_at = wr_v6_block_open(nettrace); /* its size is in front of that */
    object_begin(nettrace, type_name, BLOCK_VERSION);
    uint32_t size_at = nettrace->length;
    put_u32(nettrace, 0);
    while ((nettrace->offset + nettrace->length) % BLOCK_ALIGNMENT)
        put_u8(nettrace, 0);
    *content_at = nettrace->length;
    return size_at;
}

static void block_close(struct wr_nettrace *nettrace, uint32_t size_at, uint32_t content_at,
                        enum wr_v6_block kind)
{
    if (nettrace->is_v6) {
        wr_v6_block_close(nettrace, content_at, kind);
        return;
    }
    put_at_u32(nettrace, size_at, nettrace->length - content_at);
    put_u8(nettrace, TAG_END);
}

/* --- Trace. ---------------------------------------------------------------------------------- */

/* The date of a day since 1970-01-01 and its weekday, Sunday 0. Not gmtime_r(), which in glibc takes a
 * lock that a fork may leave locked in its child, reads /etc/localtime, and allocates. Counted in
 * years that begin in March, so that the leap day is the last one. */
WR_COLD static void put_date(struct wr_nettrace *nettrace, uint64_t days)
{
    uint64_t day = days + 719468, era = day / 146097; /* from 0000-03-01; 400 years */
    uint64_t of_era = day % 146097;
    uint64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    uint64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    uint64_t month = (5 * of_year + 2) / 153; /* from March; five have 153 days */
    bool is_next = month >= 10;               /* January and February */
    uint16_t fields[4] = {(uint16_t)(400 * era + year + is_next),
                          (uint16_t)(is_next ? month - 9 : month + 3), (uint16_t)((days + 4) % 7),
                          (uint16_t)(of_year - (153 * month + 2) / 5 + 1)};
    put(nettrace, fields, sizeof fields);
}

/* SYSTEMTIME has milliseconds; the rest is taken off the tick count of the same moment. */
WR_COLD void wr_nettrace_put_anchor(struct wr_nettrace *nettrace,
                                    const struct wr_nettrace_header *header)
{
    uint64_t rest_ns = header->realtime_ns % 1000000u;
    uint64_t ms = header->realtime_ns / 1000000u, seconds = ms / 1000;
    uint16_t time[4] = {(uint16_t)(seconds / 3600 % 24), (uint16_t)(seconds / 60 % 60),
                        (uint16_t)(seconds % 60), (uint16_t)(ms % 1000)};
    put_date(nettrace, seconds / 86400);
    put(nettrace, time, sizeof time);
    put_u64(nettrace,
            header->sync_ticks - (uint64_t)((double)rest_ns * (double)header->frequency_hz / 1e9));
}

WR_COLD void wr_nettrace_header(struct wr_nettrace *nettrace,
                                const struct wr_nettrace_header *header)
{
    if (nettrace->is_v6) {
        wr_v6_header(nettrace, header);
        return;
    }
    static const char magic[] = "Nettrace", container[] = "!FastSerialization.1";
    put(nettrace, magic, sizeof magic - 1);
    put_u32(nettrace, sizeof container - 1);
    put(nettrace, container, sizeof container - 1);
    object_begin(nettrace, "Trace", TRACE_VERSION);
    wr_nettrace_put_anchor(nettrace, header);
    put_u64(nettrace, header->frequency_hz);
    put_u32(nettrace, sizeof(void *));
    put_u32(nettrace, header->process_id);
    put_u32(nettrace, header->processor_count);
    put_u32(nettrace, SAMPLING_NS);
    put_u8(nettrace, TAG_END);
}

/* --- Metadata. ------------------------------------------------------------------------------- */

static uint32_t type_code(enum weir_type type)
{
    return (uint32_t)WR_TYPE_CODE(type);
}

/* Fields without arrays: what every reader of V4 understands. */
WR_COLD static void put_fields_v1(struct wr_nettrace *nettrace, const struct weir_field *fields,
                                  uint32_t count, const struct weir_object *const *objects)
{
    put_u32(nettrace, count);
    for (uint32_t i = 0; i < count; i++) {
        const struct weir_object *object = wr_type_is_object(fields[i].type) ? *objects++ : NULL;
        put_u32(nettrace, type_code(fields[i].type));
        if (object)
            put_fields_v1(nettrace, object->fields, object->field_count, object->objects);
        put_utf16z(nettrace, fields[i].name);
    }
}

WR_COLD static void put_fields_v2(struct wr_nettrace *nettrace, const struct weir_field *fields,
                                  uint32_t count, const struct weir_object *const *objects);

WR_COLD static void put_field_v2(struct wr_nettrace *nettrace, const struct weir_field *field,
                                 const struct weir_object *object)
{
    uint32_t size_at = nettrace->length;
    put_u32(nettrace, 0);
    put_utf16z(nettrace, field->name);
    if (wr_type_is_array(field->type))
        put_u32(nettrace, TYPE_ARRAY);
    put_u32(nettrace, type_code(field->type));
    if (object)
        put_fields_v2(nettrace, object->fields, object->field_count, object->objects);
    put_at_u32(nettrace, size_at, nettrace->length - size_at);
}

WR_COLD static void put_fields_v2(struct wr_nettrace *nettrace, const struct weir_field *fields,
                                  uint32_t count, const struct weir_object *const *objects)
{
    put_u32(nettrace, count);
    for (uint32_t i = 0; i < count; i++)
        put_field_v2(nettrace, &fields[i], wr_type_is_object(fields[i].type) ? *objects++ : NULL);
}

static void put_tag_v2(struct wr_nettrace *nettrace, const struct weir_schema *schema)
{
    uint32_t size_at = nettrace->length;
    put_u32(nettrace, 0);
    put_u8(nettrace, METADATA_TAG_V2_PARAMS);
    put_fields_v2(nettrace, schema->fields, schema->field_count, schema->objects);
    put_at_u32(nettrace, size_at, nettrace->length - size_at - METADATA_TAG_HEADER_BYTES);
}

static void put_opcode(struct wr_nettrace *nettrace, uint8_t opcode)
{
    put_u32(nettrace, OPCODE_BYTES);
    put_u8(nettrace, METADATA_TAG_OPCODE);
    put_u8(nettrace, opcode);
}

static void put_definition(struct wr_nettrace *nettrace, uint32_t metadata_id,
                           const char *provider_name, const struct weir_schema *schema,
                           bool has_arrays)
{
    put_u32(nettrace, metadata_id);
    put_utf16z(nettrace, provider_name);
    put_u32(nettrace, schema->event_id);
    put_utf16z(nettrace, schema->name);
    put_u64(nettrace, schema->keywords);
    put_u32(nettrace, schema->version);
    put_u32(nettrace, schema->level);
    if (has_arrays)
        put_u32(nettrace, NO_V1_FIELDS);
    else
        put_fields_v1(nettrace, schema->fields, schema->field_count, schema->objects);
    if (schema->opcode)
        put_opcode(nettrace, schema->opcode);
    if (has_arrays)
        put_tag_v2(nettrace, schema);
}

WR_COLD void wr_nettrace_metadata(struct wr_nettrace *nettrace, uint32_t metadata_id,
                                  const char *provider_name, const struct weir_schema *schema,
                                  bool has_arrays, uint64_t ticks)
{
    wr_nettrace_block_end(nettrace);
    wr_nettrace_reserve(nettrace, METADATA_BYTES_MAX);
    if (nettrace->is_v6) {
        wr_v6_metadata(nettrace, metadata_id, provider_name, schema);
        return;
    }
    uint32_t content_at, size_at = block_open(nettrace, "MetadataBlock", &content_at);
    put_block_header(nettrace, ticks, ticks);
    put_u8(nettrace, IS_SORTED | HAS_PAYLOAD_SIZE); /* metadata id 0, number 0, thread 0 */
    nettrace->length = (uint32_t)(wr_nettrace_varint(nettrace->buffer + nettrace->length, ticks) -
                                  nettrace->buffer);
    /* The definition's size stands before it as a varint. The definition is written behind room for
     * the longest one and then moved up. */
    uint32_t size_varint_at = nettrace->length;
    uint32_t definition_at = size_varint_at + METADATA_SIZE_VARINT_BYTES;
    nettrace->length = definition_at;
    put_definition(nettrace, metadata_id, provider_name, schema, has_arrays);
    uint32_t size = nettrace->length - definition_at;
    unsigned char *end = wr_nettrace_varint(nettrace->buffer + size_varint_at, size);
    memmove(end, nettrace->buffer + definition_at, size);
    nettrace->length = (uint32_t)(end - nettrace->buffer) + size;
    block_close(nettrace, size_at, content_at, WR_V6_METADATA);
}

/* --- Events. --------------------------------------------------------------------------------- */

WR_COLD void wr_nettrace_block_begin(struct wr_nettrace *nettrace, uint64_t capture_id,
                                     uint64_t thread_id)
{
    if (nettrace->capture_id != capture_id)
        wr_nettrace_block_end(nettrace);
    nettrace->capture_id =
        capture_id; /* the first event opens it: readers do not take an empty block */
    nettrace->thread_id = thread_id;
}

static void block_start(struct wr_nettrace *nettrace)
{
    wr_nettrace_reserve(nettrace, BLOCK_CONTENT_BYTES_MAX + BUFFER_BYTES_FOR_EVENT);
    nettrace->block_at = block_open(nettrace, "EventBlock", &nettrace->content_at);
    nettrace->length += BLOCK_HEADER_BYTES; /* filled in at the end */
    nettrace->metadata_id = 0;
    nettrace->number = nettrace->number_base;
    nettrace->payload_bytes = 0;
    nettrace->ticks_max = 0;
    nettrace->is_first = true;
    nettrace->carries = false;
}

WR_COLD void wr_nettrace_block_end(struct wr_nettrace *nettrace)
{
    if (!nettrace->block_at)
        return;
    uint32_t end = nettrace->length;
    nettrace->length = nettrace->content_at;
    put_block_header(nettrace, nettrace->ticks_min, nettrace->ticks_max);
    nettrace->length = end;
    block_close(nettrace, nettrace->block_at, nettrace->content_at, WR_V6_EVENT);
    nettrace->block_at = 0;
}

/* Which thread an event is about if nothing else is said. */
static uint64_t own_thread(const struct wr_nettrace *nettrace)
{
    return nettrace->is_v6 ? nettrace->capture_id : nettrace->thread_id;
}

static unsigned char *put_guid(unsigned char *out, const unsigned char *id, unsigned char *carried,
                               unsigned char *flags, unsigned char flag)
{
    static const unsigned char none[16];
    if (memcmp(id ? id : none, carried, 16) == 0)
        return out;
    *flags |= flag;
    memcpy(carried, id ? id : none, 16);
    memcpy(out, carried, 16);
    return out + 16;
}

/* The header of an event with more than its payload, or behind one. A reader keeps all of it until
 * another header of the block says otherwise. */
static WR_NOINLINE unsigned char *put_event_header_with(struct wr_nettrace *nettrace,
                                                        unsigned char *out, uint32_t metadata_id,
                                                        uint32_t number, uint64_t ticks,
                                                        uint32_t payload_bytes,
                                                        const struct wr_nettrace_with *with)
{
    struct wr_nettrace_carried *carried = &nettrace->carried;
    bool is_first = nettrace->is_first && !nettrace->carries;
    uint64_t thread_id = with->thread_id ? with->thread_id : own_thread(nettrace);
    unsigned char *flags = out++;
    *flags = 0;
    if (!nettrace->carries) {
        memset(carried, 0, sizeof *carried);
        carried->thread_id = own_thread(nettrace);
    }
    if (is_first)
        nettrace->ticks_min = ticks;
    if (metadata_id != nettrace->metadata_id) {
        *flags |= HAS_METADATA_ID;
        out = wr_nettrace_varint(out, metadata_id);
    }
    if (is_first || number != nettrace->number + 1) {
        *flags |= HAS_NUMBER;
        out = wr_nettrace_varint(out, (uint32_t)(number - nettrace->number - 1));
        out = wr_nettrace_varint(out, nettrace->capture_id);
        out = wr_nettrace_varint(out, PROCESSOR_UNKNOWN);
    }
    if (is_first || thread_id != carried->thread_id) {
        *flags |= HAS_THREAD_ID;
        out = wr_nettrace_varint(out, carried->thread_id = thread_id);
    }
    if (with->stack_id != carried->stack_id) {
        *flags |= HAS_STACK_ID;
        out = wr_nettrace_varint(out, carried->stack_id = with->stack_id);
    }
    out = wr_nettrace_varint(out, ticks - nettrace->ticks_max);
    if (with->label_list_id != carried->label_list_id) {
        *flags |= HAS_ACTIVITY_ID;
        out = wr_nettrace_varint(out, carried->label_list_id = with->label_list_id);
    }
    out = put_guid(out, with->activity_id, carried->activity_id, flags, HAS_ACTIVITY_ID);
    out = put_guid(out, with->related_activity_id, carried->related_activity_id, flags,
                   HAS_RELATED_ACTIVITY_ID);
    if (payload_bytes != nettrace->payload_bytes) {
        *flags |= HAS_PAYLOAD_SIZE;
        out = wr_nettrace_varint(out, payload_bytes);
    }
    nettrace->carries = with->stack_id || with->activity_id || with->related_activity_id ||
                        with->label_list_id || thread_id != own_thread(nettrace);
    nettrace->is_first = nettrace->carries;
    return out;
}

/* The header of an event that differs from the one before in more than its time. */
static WR_NOINLINE unsigned char *put_event_header(struct wr_nettrace *nettrace, unsigned char *out,
                                                   uint32_t metadata_id, uint32_t number,
                                                   uint64_t ticks, uint32_t payload_bytes)
{
    unsigned char *flags = out++;
    *flags = 0;
    if (metadata_id != nettrace->metadata_id) {
        *flags |= HAS_METADATA_ID;
        out = wr_nettrace_varint(out, metadata_id);
    }
    if (nettrace->is_first || number != nettrace->number + 1) {
        *flags |= HAS_NUMBER;
        out = wr_nettrace_varint(out, (uint32_t)(number - nettrace->number - 1));
        out = wr_nettrace_varint(out, nettrace->capture_id);
        out = wr_nettrace_varint(out, PROCESSOR_UNKNOWN);
    }
    if (nettrace->is_first) {
        if (WR_UNLIKELY(nettrace->carries)) {
            static const struct wr_nettrace_with none;
            return put_event_header_with(nettrace, flags, metadata_id, number, ticks, payload_bytes,
                                         &none);
        }
        *flags |= HAS_THREAD_ID;
        out = wr_nettrace_varint(out, own_thread(nettrace));
        nettrace->ticks_min = ticks;
        nettrace->is_first = false;
    }
    out = wr_nettrace_varint(out, ticks - nettrace->ticks_max);
    if (payload_bytes != nettrace->payload_bytes) {
        *flags |= HAS_PAYLOAD_SIZE;
        out = wr_nettrace_varint(out, payload_bytes);
    }
    return out;
}

void wr_nettrace_event(struct wr_nettrace *nettrace, uint32_t metadata_id, uint64_t number64,
                       uint64_t ticks, const void *payload, uint32_t payload_bytes)
{
    uint32_t number = (uint32_t)number64; /* the format wraps */
    if (WR_UNLIKELY(!nettrace->block_at ||
                    nettrace->length - nettrace->content_at > BLOCK_CONTENT_BYTES_MAX)) {
        wr_nettrace_block_end(nettrace);
        block_start(nettrace);
    }
    unsigned char *out = nettrace->buffer + nettrace->length;
    if (WR_LIKELY(metadata_id == nettrace->metadata_id && number == nettrace->number + 1 &&
                  payload_bytes == nettrace->payload_bytes && !nettrace->is_first)) {
        *out++ = 0;
        out = wr_nettrace_varint(out, ticks - nettrace->ticks_max);
    } else {
        out = put_event_header(nettrace, out, metadata_id, number, ticks, payload_bytes);
    }
    wr_nettrace_copy(out, payload, payload_bytes);
    nettrace->length = (uint32_t)(out - nettrace->buffer) + payload_bytes;
    nettrace->metadata_id = metadata_id;
    nettrace->number = number;
    nettrace->payload_bytes = payload_bytes;
    nettrace->ticks_max = ticks;
}

void wr_nettrace_event_with(struct wr_nettrace *nettrace, uint32_t metadata_id, uint64_t number64,
                            uint64_t ticks, const void *payload, uint32_t payload_bytes,
                            const struct wr_nettrace_with *with)
{
    struct wr_nettrace_with own = *with;
    if (nettrace->is_v6) { /* ids are in lists of labels, which precede the events */
        own.label_list_id = wr_v6_labels(nettrace, with->activity_id, with->related_activity_id);
        own.activity_id = own.related_activity_id = NULL;
    }
    if (WR_UNLIKELY(!nettrace->block_at ||
                    nettrace->length - nettrace->content_at > BLOCK_CONTENT_BYTES_MAX)) {
        wr_nettrace_block_end(nettrace);
        block_start(nettrace);
    }
    unsigned char *out =
        put_event_header_with(nettrace, nettrace->buffer + nettrace->length, metadata_id,
                              (uint32_t)number64, ticks, payload_bytes, &own);
    wr_nettrace_copy(out, payload, payload_bytes);
    nettrace->length = (uint32_t)(out - nettrace->buffer) + payload_bytes;
    nettrace->metadata_id = metadata_id;
    nettrace->number = (uint32_t)number64;
    nettrace->payload_bytes = payload_bytes;
    nettrace->ticks_max = ticks;
}

WR_COLD void wr_nettrace_text_run_settle(struct wr_nettrace_text_run *run, unsigned char *header,
                                         unsigned char *at, uint32_t gap, uint32_t bytes)
{
    bool has_size = bytes != run->payload_bytes;
    uint32_t size_bytes = has_size ? wr_nettrace_size_bytes(bytes) : 0;
    if (size_bytes != gap)
        memmove(at + size_bytes, at + gap, bytes);
    if (has_size)
        wr_nettrace_varint(at, bytes);
    *header = has_size ? HAS_PAYLOAD_SIZE : 0;
    run->payload_bytes = bytes;
    run->out = at + size_bytes + bytes;
}

/* --- Stacks. --------------------------------------------------------------------------------- */

void wr_nettrace_stacks(struct wr_nettrace *nettrace, uint32_t first_id,
                        const unsigned char *stacks, uint32_t bytes, uint32_t stride,
                        uint32_t count)
{
    wr_nettrace_block_end(nettrace);
    wr_nettrace_reserve(nettrace, STACKS_OBJECT_BYTES_MAX + count * (STACK_SIZE_BYTES + bytes));
    uint32_t content_at, size_at = block_open(nettrace, "StackBlock", &content_at);
    put_u32(nettrace, first_id);
    put_u32(nettrace, count);
    for (; count; count--, stacks += stride) {
        put_u32(nettrace, bytes);
        put(nettrace, stacks, bytes);
    }
    block_close(nettrace, size_at, content_at, WR_V6_STACK);
}

/* --- Sequence points and the end. ------------------------------------------------------------ */

WR_COLD void wr_nettrace_point(struct wr_nettrace *nettrace, uint64_t ticks,
                               const struct wr_nettrace_thread_number *threads, uint32_t count)
{
    wr_nettrace_block_end(nettrace);
    wr_nettrace_reserve(nettrace, POINT_OBJECT_BYTES_MAX + count * POINT_ROW_BYTES);
    if (nettrace->is_v6) {
        wr_v6_point(nettrace, ticks, threads, count);
        return;
    }
    uint32_t content_at, size_at = block_open(nettrace, "SPBlock", &content_at);
    put_u64(nettrace, ticks);
    put_u32(nettrace, count);
    for (uint32_t i = 0; i < count; i++) {
        put_u64(nettrace, threads[i].capture_id);
        put_u32(nettrace, (uint32_t)threads[i].number);
    }
    block_close(nettrace, size_at, content_at, WR_V6_POINT);
}

WR_COLD void wr_nettrace_end(struct wr_nettrace *nettrace)
{
    wr_nettrace_block_end(nettrace);
    wr_nettrace_reserve(nettrace, 4);
    if (nettrace->is_v6)
        put_u32(nettrace, WR_V6_END << 24);
    else
        put_u8(nettrace, TAG_NULL);
}
