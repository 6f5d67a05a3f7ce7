/* Shared by the files of the reader. */
#ifndef WT_NETTRACE_READER_IMPL_H
#define WT_NETTRACE_READER_IMPL_H

#include "arena.h"
#include "cursor.h"
#include "input.h"
#include "map.h"
#include "order.h"
#include "pieces.h"
#include "reader.h"

/* Threads are kept in pieces that never move, because events point at them. */
#define THREADS_PER_PIECE 256u

/* A stack or label block that is read once an event needs it. */
struct wt_pending {
    struct wt_block block;
};

/* See window.c. */
struct wt_window {
    bool is_set;
    bool seeks; /* blocks outside are passed over */
    bool quiet; /* the current block is outside: it is read for its names */
    int64_t from, to;
    uint64_t passed; /* event blocks passed over */
    struct wt_pending *pending;
    uint32_t pending_count;
    struct wt_input side; /* reads them */
};

struct wt_reader {
    struct wt_handlers handlers;
    void *context;
    struct wt_reader_options options;
    struct wt_input input;
    struct wt_error error;
    struct wt_totals totals;
    struct wt_trace_info trace;
    bool started;   /* the stream header was read */
    bool has_trace; /* the Trace object was read */
    bool stop;
    bool partial; /* the end of the stream cuts off the current block */
    uint64_t block_count;

    struct wt_block block;
    int64_t least, greatest; /* times of the block's events that need no second look */
    struct wt_event event;   /* state carried from blob to blob */
    struct wt_window window;

    struct wt_arena metadata_arena;
    struct wt_map metadata_map; /* id -> index */
    struct wt_metadata **metadata;
    uint32_t metadata_count, metadata_capacity;
    struct wt_metadata undefined;

    struct wt_map thread_map; /* capture thread -> index */
    struct wt_thread **thread_pieces;
    uint32_t thread_count, thread_piece_count;

    struct wt_pieces stacks, labels; /* since the last point */

    uint8_t *point_rows; /* of a point of version 6, in the form that wt_point_entry() reads */
    size_t point_capacity;

    struct wt_order order;
};

/* An error that ends the reading: sets the error and returns its status. */
enum wt_status wt_fail(struct wt_reader *reader, enum wt_status status, enum wt_rule rule,
                       uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Reports a violation; reading continues. */
void wt_tell(struct wt_reader *reader, enum wt_rule rule, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The stream had fewer bytes than needed: sets the error for a failed read, or for the end. */
enum wt_status wt_cut(struct wt_reader *reader, const char *where);

/* Starts the current block at the input's place; the object or header began at `offset`. */
void wt_block_begin(struct wt_reader *reader, enum wt_block_kind kind, uint64_t offset,
                    uint32_t size);

/* Decodes the body of the current block. One that the end of the stream cuts off is decoded as far
 * as it goes. */
enum wt_status wt_block_read(struct wt_reader *reader);

/* Read one object of versions 4 and 5, or one block of version 6. */
enum wt_status wt_object4_read(struct wt_reader *reader);
enum wt_status wt_block6_read(struct wt_reader *reader);

/* Calls the handler of the Trace object, after which the window is final. */
void wt_trace_take(struct wt_reader *reader);

/* Prepares the reading of the window, if there is one. */
void wt_window_start(struct wt_reader *reader);
void wt_window_fini(struct wt_window *window);

/* Looks at the current block's header: *is_passed is set if the block was passed over. */
enum wt_status wt_window_look(struct wt_reader *reader, bool *is_passed);

static inline bool wt_window_holds(const struct wt_window *window, int64_t time)
{
    return !window->is_set || (time >= window->from && time < window->to && !window->quiet);
}

/* An event whose thread may have events in blocks that were passed over: its number is the first
 * one that is known. */
void wt_window_meet(struct wt_reader *reader, struct wt_thread *thread, uint32_t sequence);

/* Takes what later events depend on from an event outside. */
enum wt_status wt_window_outside(struct wt_reader *reader, const struct wt_event *event);

/* The number of a thread at a point, or at its removal; `is_inside`: that is in the window. */
enum wt_status wt_window_number(struct wt_reader *reader, struct wt_thread *thread,
                                uint32_t sequence, uint64_t offset, int64_t time, bool is_inside);

/* After the end was read. */
enum wt_status wt_end(struct wt_reader *reader);

/* The blobs of an event or metadata block; `size` may be less than block->size if the stream ends
 * inside it (reader->partial). */
enum wt_status wt_block_blobs(struct wt_reader *reader, const uint8_t *body, size_t size);

/* Adds the definition in a metadata blob; returns WT_OK also if it was reported as a violation. */
enum wt_status wt_metadata_add(struct wt_reader *reader, const uint8_t *payload, size_t size,
                               uint64_t offset);
struct wt_metadata *wt_metadata_find(struct wt_reader *reader, uint32_t id);

/* The rows of a metadata block of version 6. */
enum wt_status wt_metadata6_block(struct wt_reader *reader, const uint8_t *body, size_t size);

/* Gives a field the names that an event Weir/Enum has for its values, and a thread the one of
 * Weir/ThreadName. */
void wt_names_take(struct wt_reader *reader, const struct wt_event *event);

enum wt_status wt_stack_block(struct wt_reader *reader, const uint8_t *body, size_t size);

/* Label lists of version 6, and those of an event by its label_list_id. */
enum wt_status wt_label_block(struct wt_reader *reader, const uint8_t *body, size_t size);
void wt_labels_find(struct wt_reader *reader, struct wt_event *event);

enum wt_status wt_point_block(struct wt_reader *reader, const uint8_t *body, size_t size);

/* Delivers what is held back, takes the numbers of the point, forgets, and calls the handler. */
enum wt_status wt_point_take(struct wt_reader *reader, const struct wt_point *point);

/* The blocks of version 6 with its points and threads. */
enum wt_status wt_point6_block(struct wt_reader *reader, const uint8_t *body, size_t size);
enum wt_status wt_thread_block(struct wt_reader *reader, const uint8_t *body, size_t size);
enum wt_status wt_remove_block(struct wt_reader *reader, const uint8_t *body, size_t size);

/* The thread with that id, created on first use; NULL with the error set if that fails. */
struct wt_thread *wt_thread_get(struct wt_reader *reader, uint64_t capture_thread, bool *is_new);

struct wt_thread *wt_thread_find(const struct wt_reader *reader, uint64_t capture_thread);

/* A new thread in the place of one that has been removed, or forgotten; NULL as above. */
struct wt_thread *wt_thread_renew(struct wt_reader *reader, uint64_t capture_thread);

/* Records a number seen in an event or at a point, and reports gaps. */
enum wt_status wt_thread_advance(struct wt_reader *reader, struct wt_thread *thread,
                                 uint32_t sequence, bool at_point, uint64_t offset, int64_t time);

/* Delivers an event or a gap to the handlers, now or in order of time. */
enum wt_status wt_deliver_event(struct wt_reader *reader, const struct wt_event *event);
enum wt_status wt_deliver_gap(struct wt_reader *reader, const struct wt_gap *gap, int64_t time);

#endif
