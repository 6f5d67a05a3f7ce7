/*
 * The bytes of a nettrace V4 stream (V5 where an event has arrays or an opcode: optional tags in
 * its metadata), or of a V6 stream (writer_v6.c has what differs).
 *
 * FORMAT.md has the layout, with a dump of a small file of each; what existing readers demand beyond the
 * format's description is noted where we obey it. A stream is
 *
 *     "Nettrace" "!FastSerialization.1" Trace (MetadataBlock | EventBlock | SPBlock)* 01
 *
 * Every block is built whole in one buffer and starts at a known offset of the stream, because its
 * content is aligned to four bytes from there. An event block holds events of one thread: readers
 * look a thread up only at the start of a block or at an event flagged as sorted.
 *
 * The same calls give the same bytes. Used by one thread.
 */
#ifndef WR_NETTRACE_WRITER_H
#define WR_NETTRACE_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <weir/trace.h>
#include "base/compiler.h"
#include "nettrace/types.h"
#include "stream/stream.h"

#define WR_NETTRACE_BUFFER_BYTES (512u << 10)
/* A reader buffers a block whole; a larger block delays a live one. */
#define WR_NETTRACE_BLOCK_BYTES_MAX  (128u << 10)
#define WR_NETTRACE_STACKS_BYTES_MAX WR_NETTRACE_BLOCK_BYTES_MAX
#define WR_NETTRACE_POINT_ROWS       4096u

/* V6: the lists of labels that a stream has since its last point, by what is in them. */
#define WR_NETTRACE_LABEL_LISTS 64u
struct wr_nettrace_labels {
    uint32_t id;    /* 0: none */
    uint32_t kinds; /* bit 0: an activity, bit 1: a related one */
    unsigned char ids[2][16];
};

struct wr_nettrace {
    bool is_v6;
    uint32_t
        number_base; /* subtracted from the numbers of events: 1 in V6, where they begin at 1 */
    struct wr_nettrace_labels label_lists[WR_NETTRACE_LABEL_LISTS];
    uint32_t label_list_id; /* the last one */

    struct wr_stream *stream;
    unsigned char *buffer;
    uint32_t length; /* bytes in the buffer */
    uint64_t offset; /* in the stream, of the buffer's first byte */
    /* Told of each flush, also of those in between: before the sink, which may block, and after. */
    void (*before_flush)(void *context);
    void (*on_flush)(void *context, bool is_sent);
    void *flush_context;

    /* the open event block; block_at == 0: none */
    uint32_t block_at; /* of its size field; in V6, of its content */
    uint32_t content_at;
    uint64_t capture_id, thread_id; /* of the events that follow; kept from block to block */
    uint64_t ticks_min, ticks_max;
    uint32_t metadata_id, number, payload_bytes; /* of the event before */
    bool is_first; /* or an event whose header must say what the one before has left */
    bool carries;  /* the event before had more than its payload: `carried` */
    struct wr_nettrace_carried {
        uint64_t thread_id;
        uint32_t stack_id, label_list_id;
        unsigned char activity_id[16], related_activity_id[16];
    } carried;
};

/* What goes with an event. */
struct wr_nettrace_with {
    uint64_t thread_id;                       /* that it is about; 0: that of the block */
    uint32_t stack_id;                        /* 0: none */
    uint32_t label_list_id;                   /* the writer's, in V6 */
    const unsigned char *activity_id;         /* 16 bytes; NULL: none */
    const unsigned char *related_activity_id; /* likewise */
};

struct wr_nettrace_header {
    uint64_t realtime_ns; /* UTC at sync_ticks */
    uint64_t sync_ticks;
    uint64_t frequency_hz;
    uint32_t process_id;
    uint32_t processor_count;
};

struct wr_nettrace_thread_number {
    uint64_t capture_id;
    uint64_t number;
};

/* `buffer` has WR_NETTRACE_BUFFER_BYTES. */
void wr_nettrace_init(struct wr_nettrace *nettrace, struct wr_stream *stream, void *buffer);
/* From now on, before the header: the stream is V6 instead of V4. A thread's `capture_id` is then its
 * index, and so is the id of a thread that an event is about. */
void wr_nettrace_use_v6(struct wr_nettrace *nettrace);
void wr_nettrace_header(struct wr_nettrace *nettrace, const struct wr_nettrace_header *header);

/* V6: introduces a thread, before the first point or event that names it; `name` may be empty. In V4
 * there is nothing to say. */
void wr_nettrace_thread(struct wr_nettrace *nettrace, uint64_t index, uint32_t process_id,
                        uint64_t thread_id, const char *name);
/* V6: no event of these threads follows, nor anything else that names them. */
void wr_nettrace_remove_threads(struct wr_nettrace *nettrace,
                                const struct wr_nettrace_thread_number *threads, uint32_t count);

/* What an event with this metadata id (from 1) is. Written once, before its first event. */
void wr_nettrace_metadata(struct wr_nettrace *nettrace, uint32_t metadata_id,
                          const char *provider_name, const struct weir_schema *schema,
                          bool has_arrays, uint64_t ticks);

/* The events that follow are this thread's. */
void wr_nettrace_block_begin(struct wr_nettrace *nettrace, uint64_t capture_id, uint64_t thread_id);
/* Adds an event. `payload` is readable up to the next multiple of 8 bytes and at most
 * WR_PAYLOAD_BYTES_MAX long; numbers and ticks do not decrease within a thread. */
void wr_nettrace_event(struct wr_nettrace *nettrace, uint32_t metadata_id, uint64_t number,
                       uint64_t ticks, const void *payload, uint32_t payload_bytes);
/* The same with what goes with it. */
void wr_nettrace_event_with(struct wr_nettrace *nettrace, uint32_t metadata_id, uint64_t number,
                            uint64_t ticks, const void *payload, uint32_t payload_bytes,
                            const struct wr_nettrace_with *with);
void wr_nettrace_block_end(struct wr_nettrace *nettrace);

/* `count` stacks of `bytes` each, one every `stride` bytes, in front of the first event that has one of
 * them. Their ids count up from the first, and begin at 1 after each sequence point. In all they have
 * at most WR_NETTRACE_STACKS_BYTES_MAX. */
void wr_nettrace_stacks(struct wr_nettrace *nettrace, uint32_t first_id,
                        const unsigned char *stacks, uint32_t bytes, uint32_t stride,
                        uint32_t count);

/* A sequence point: all that precedes is older than `ticks`, all that follows is not, and these
 * threads, at most WR_NETTRACE_POINT_ROWS, have attempted events up to these numbers. */
void wr_nettrace_point(struct wr_nettrace *nettrace, uint64_t ticks,
                       const struct wr_nettrace_thread_number *threads, uint32_t count);

/* The end tag. */
void wr_nettrace_end(struct wr_nettrace *nettrace);
/* Hands what is in the buffer to the stream. False if the sink has failed. */
bool wr_nettrace_flush(struct wr_nettrace *nettrace);

/* A payload as a record has it, as the file wants it: strings become zero-terminated UTF-16, an
 * invalid UTF-8 byte one U+FFFD, and so a zero in a string with a length; raw bytes lose their count.
 * `steps`: of the schema, which has strings, arrays or raw bytes. Returns the bytes, at most
 * WR_PAYLOAD_BYTES_MAX. */
uint32_t wr_nettrace_payload(const struct wr_payload_step *steps, const unsigned char *record,
                             unsigned char *out);

/* UTF-8 to UTF-16LE, zeros as U+FFFD; returns bytes written, at most 2 * count. */
uint32_t wr_utf16_from_utf8(const unsigned char *text, uint32_t count, unsigned char *out);
/* The same for a text that ends at its first zero, with a zero behind it. Returns the end of what it
 * has written. */
unsigned char *wr_utf16_from_text(const unsigned char *text, uint32_t count, unsigned char *out);
/* The same for all of a text. */
unsigned char *wr_utf16_from_counted(const unsigned char *text, uint32_t count, unsigned char *out);

/*
 * Runs.
 *
 * Most events follow one of the same kind with the next number: their header is a zero byte and the
 * time since that event. A run writes such events with its state in registers; it holds the
 * writer's place, so nothing else may be called between begin and end. */

#define WR_NETTRACE_RUN_HEADER_BYTES_MAX 11u /* a zero byte, and the time: a varint of 64 bits */

struct wr_nettrace_run {
    unsigned char *out;
    uint64_t ticks; /* of the event before */
    uint32_t room;  /* events that may follow before the block is full */
};

static inline unsigned char *wr_nettrace_varint(unsigned char *out, uint64_t value)
{
    while (value >= 0x80) {
        *out++ = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    *out++ = (unsigned char)value;
    return out;
}

/* The same where one byte or two are about as likely, so that no branch depends on which. Writes two
 * bytes at least. */
static inline unsigned char *wr_nettrace_varint_short(unsigned char *out, uint64_t value)
{
    if (WR_UNLIKELY(value >= 1u << 14))
        return wr_nettrace_varint(out, value);
    uint32_t more = value >= 0x80;
    out[0] = (unsigned char)(value | more << 7);
    out[1] = (unsigned char)(value >> 7);
    return out + 1 + more;
}

static inline void wr_nettrace_copy(unsigned char *to, const unsigned char *from, uint32_t bytes)
{
    if (bytes > 256) {
        __builtin_memcpy(to, from, bytes);
        return;
    }
    for (uint32_t at = 0; at < bytes; at += 8)
        __builtin_memcpy(to + at, from + at, 8);
}

/* Begins a run if the next event may be one of it, with `header_bytes` at most in front of its payload. */
static inline bool wr_nettrace_run_open(const struct wr_nettrace *nettrace, uint32_t metadata_id,
                                        uint64_t number, uint32_t payload_bytes,
                                        uint32_t header_bytes, struct wr_nettrace_run *run)
{
    uint32_t used = nettrace->length - nettrace->content_at;
    if (!nettrace->block_at || nettrace->metadata_id != metadata_id ||
        nettrace->payload_bytes != payload_bytes || nettrace->number + 1 != (uint32_t)number ||
        used > WR_NETTRACE_BLOCK_BYTES_MAX)
        return false;
    run->out = nettrace->buffer + nettrace->length;
    run->ticks = nettrace->ticks_max;
    run->room = 1 + (WR_NETTRACE_BLOCK_BYTES_MAX - used) / (payload_bytes + header_bytes);
    return true;
}

/* May the next event be one of a run? Then the run has begun. */
static inline bool wr_nettrace_run_begin(const struct wr_nettrace *nettrace, uint32_t metadata_id,
                                         uint64_t number, uint32_t payload_bytes,
                                         struct wr_nettrace_run *run)
{
    return !nettrace->is_first && wr_nettrace_run_open(nettrace, metadata_id, number, payload_bytes,
                                                       WR_NETTRACE_RUN_HEADER_BYTES_MAX, run);
}

static inline void wr_nettrace_run_add(struct wr_nettrace_run *run, uint64_t ticks,
                                       const unsigned char *payload, uint32_t payload_bytes)
{
    *run->out++ = 0;
    run->out = wr_nettrace_varint(run->out, ticks - run->ticks);
    run->ticks = ticks;
    wr_nettrace_copy(run->out, payload, payload_bytes);
    run->out += payload_bytes;
}

/* The same as wr_nettrace_copy(). Payloads of 16 to 32 bytes, which most are, take two steps, which overlap. The
 * loop of plain events was slower with it. */
static inline void wr_nettrace_copy_wide(unsigned char *to, const unsigned char *from,
                                         uint32_t bytes)
{
    if (WR_LIKELY(bytes - 16 <= 16)) {
        unsigned char head[16], tail[16];
        __builtin_memcpy(head, from, 16);
        __builtin_memcpy(tail, from + bytes - 16, 16);
        __builtin_memcpy(to, head, 16);
        __builtin_memcpy(to + bytes - 16, tail, 16);
        return;
    }
    wr_nettrace_copy(to, from, bytes);
}

/* The same for events with more than their payload, which is that of the event before, except for
 * the stack. */
#define WR_NETTRACE_HAS_STACK_ID    0x08u /* a flag of an event's header */
#define WR_NETTRACE_STACK_BYTES_MAX 5u    /* a varint of 32 bits */

/* The id of a stack as it stands in an event's header, so that an event need not encode it: the flags in the
 * low byte, then the id in one or two bytes, and in the high byte how many bytes these are, two or three. An
 * id that takes more has the high bit instead; it has 31 bits, since a point comes, and ids begin anew, long before. */
#define WR_NETTRACE_STACK_LONG (1u << 31)

static inline uint32_t wr_nettrace_stack_code(uint32_t id)
{
    if (id < 1u << 7)
        return 2u << 24 | id << 8 | WR_NETTRACE_HAS_STACK_ID;
    if (id < 1u << 14)
        return 3u << 24 | (id >> 7) << 16 | ((id & 0x7f) | 0x80) << 8 | WR_NETTRACE_HAS_STACK_ID;
    return WR_NETTRACE_STACK_LONG | id;
}

static inline uint32_t wr_nettrace_stack_id(uint32_t code)
{
    if (code & WR_NETTRACE_STACK_LONG)
        return code & ~WR_NETTRACE_STACK_LONG;
    return (code >> 8 & 0x7f) | (code >> 16 & 0x7f) << 7;
}

struct wr_nettrace_with_run {
    struct wr_nettrace_run plain;
    uint32_t stack_code; /* of the event before */
};

static inline bool wr_nettrace_with_run_begin(const struct wr_nettrace *nettrace,
                                              uint32_t metadata_id, uint64_t number,
                                              uint32_t payload_bytes,
                                              struct wr_nettrace_with_run *run)
{
    run->stack_code = wr_nettrace_stack_code(nettrace->carried.stack_id);
    return nettrace->carries &&
           wr_nettrace_run_open(nettrace, metadata_id, number, payload_bytes,
                                WR_NETTRACE_RUN_HEADER_BYTES_MAX + WR_NETTRACE_STACK_BYTES_MAX,
                                &run->plain);
}

/* Four bytes, of which not all may be part of the header: the rest is written again. */
static inline unsigned char *wr_nettrace_stack_put(unsigned char *out, uint32_t code)
{
    if (WR_UNLIKELY(code & WR_NETTRACE_STACK_LONG)) {
        *out = WR_NETTRACE_HAS_STACK_ID;
        return wr_nettrace_varint(out + 1, wr_nettrace_stack_id(code));
    }
    __builtin_memcpy(out, &code, sizeof code);
    return out + (code >> 24);
}

static inline void wr_nettrace_with_run_add(struct wr_nettrace_with_run *run, uint64_t ticks,
                                            uint32_t stack_code, const unsigned char *payload,
                                            uint32_t payload_bytes)
{
    unsigned char *out = run->plain.out;
    if (stack_code == run->stack_code)
        *out++ = 0;
    else
        out = wr_nettrace_stack_put(out, run->stack_code = stack_code);
    out = wr_nettrace_varint_short(out, ticks - run->plain.ticks);
    run->plain.ticks = ticks;
    wr_nettrace_copy_wide(out, payload, payload_bytes);
    run->plain.out = out + payload_bytes;
}

static inline void wr_nettrace_run_end(struct wr_nettrace *nettrace,
                                       const struct wr_nettrace_run *run, uint32_t count)
{
    nettrace->length = (uint32_t)(run->out - nettrace->buffer);
    nettrace->ticks_max = run->ticks;
    nettrace->number += count;
}

static inline void wr_nettrace_with_run_end(struct wr_nettrace *nettrace,
                                            const struct wr_nettrace_with_run *run, uint32_t count)
{
    nettrace->carried.stack_id = wr_nettrace_stack_id(run->stack_code);
    wr_nettrace_run_end(nettrace, &run->plain, count);
}

/* The same for events of one kind whose payloads have strings or arrays, so that their sizes
 * differ. */
struct wr_nettrace_text_run {
    unsigned char *out, *end; /* the next event may begin before `end` */
    uint64_t ticks;
    uint32_t payload_bytes; /* of the event before */
    uint32_t record_bytes;  /* of its payload in the record */
};

static inline bool wr_nettrace_text_run_begin(const struct wr_nettrace *nettrace,
                                              uint32_t metadata_id, uint64_t number,
                                              uint32_t record_bytes,
                                              struct wr_nettrace_text_run *run)
{
    if (!nettrace->block_at || nettrace->is_first || nettrace->metadata_id != metadata_id ||
        nettrace->number + 1 != (uint32_t)number)
        return false;
    run->out = nettrace->buffer + nettrace->length;
    run->end = nettrace->buffer + nettrace->content_at + WR_NETTRACE_BLOCK_BYTES_MAX + 1;
    run->ticks = nettrace->ticks_max;
    run->payload_bytes = nettrace->payload_bytes;
    run->record_bytes = record_bytes;
    return true;
}

/* Bytes of the size that stands before a payload. */
static inline uint32_t wr_nettrace_size_bytes(uint32_t payload_bytes)
{
    return payload_bytes < 1u << 7 ? 1 : payload_bytes < 1u << 14 ? 2 : 3;
}

/* Corrects the place of a payload that was written `gap` bytes behind its header's time. */
void wr_nettrace_text_run_settle(struct wr_nettrace_text_run *run, unsigned char *header,
                                 unsigned char *at, uint32_t gap, uint32_t bytes);

/* The payload's size stands before it, unless it is that of the event before, but is known only once
 * the strings are converted. So its room is guessed: records of one size mostly have payloads of
 * one size, and ASCII doubles. */
static inline void wr_nettrace_text_run_add(struct wr_nettrace_text_run *run, uint64_t ticks,
                                            const struct wr_payload_step *steps,
                                            const unsigned char *payload, uint32_t record_bytes)
{
    unsigned char *header = run->out;
    unsigned char *at = wr_nettrace_varint(header + 1, ticks - run->ticks);
    uint32_t gap = 0;
    run->ticks = ticks;
    if (WR_UNLIKELY(record_bytes != run->record_bytes))
        gap = wr_nettrace_size_bytes(2 * record_bytes);
    run->record_bytes = record_bytes;
    uint32_t bytes = wr_nettrace_payload(steps, payload, at + gap);
    *header = 0;
    run->out = at + bytes;
    if (WR_UNLIKELY(gap != 0 || bytes != run->payload_bytes))
        wr_nettrace_text_run_settle(run, header, at, gap, bytes);
}

static inline void wr_nettrace_text_run_end(struct wr_nettrace *nettrace,
                                            const struct wr_nettrace_text_run *run, uint32_t count)
{
    nettrace->length = (uint32_t)(run->out - nettrace->buffer);
    nettrace->ticks_max = run->ticks;
    nettrace->payload_bytes = run->payload_bytes;
    nettrace->number += count;
}

#endif
