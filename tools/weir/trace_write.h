/* Writes nettrace V4, with the tags of V5 for definitions that need them: what weir cut keeps of a
 * trace. It belongs to the tools; the library has another one, and this one shares no code with it. */
#ifndef WT_WEIR_TRACE_WRITE_H
#define WT_WEIR_TRACE_WRITE_H

#include "new_file.h"
#include "reader.h"

#include <stdio.h>

/* Bytes that grow. */
struct wt_bytes {
    uint8_t *at;
    size_t size, capacity;
};

/* Appends a number, and UTF-8 as UTF-16 with a zero at its end. */
void wt_bytes_u64(struct wt_bytes *bytes, uint64_t number);
void wt_bytes_text(struct wt_bytes *bytes, const char *text);

/* Blobs of a block, with the span of their times. */
struct wt_blobs {
    struct wt_bytes bytes;
    int64_t min_time, max_time;
    int64_t time; /* of the last blob */
};

struct wt_trace_writer {
    struct wt_new_file file;
    FILE *stream;
    uint64_t offset;
    int error; /* errno of the first write that failed */
    struct wt_blobs definitions, events;
    struct wt_event last; /* the header of the last event in the block */
    struct wt_bytes stacks;
    uint32_t stack_count, first_stack, next_stack;
    uint32_t next_definition;
};

/* False after a message. `file` must last as long as the writer. */
bool wt_trace_writer_open(struct wt_trace_writer *writer, const char *file,
                          const struct wt_trace_info *info);

/* Returns the id of a new definition. Events that are written later follow it in the file, and
 * those that were written before precede it. */
uint32_t wt_trace_writer_define(struct wt_trace_writer *writer, const struct wt_metadata *metadata,
                                int64_t time);

/* Returns the id of a new stack. It lasts until the next point. */
uint32_t wt_trace_writer_stack(struct wt_trace_writer *writer, const uint8_t *bytes, uint32_t size);

/* Writes the event with the ids and the number in it. */
void wt_trace_writer_event(struct wt_trace_writer *writer, const struct wt_event *event);

void wt_trace_writer_point(struct wt_trace_writer *writer, int64_t time,
                           const struct wt_point_entry *entries, uint32_t count);

/* With an end tag or without one, gives the file its name; false after a message, and then there
 * is no file. */
bool wt_trace_writer_finish(struct wt_trace_writer *writer, bool has_end);

/* Leaves no file, unless it is finished. Frees. */
void wt_trace_writer_fini(struct wt_trace_writer *writer);

#endif
