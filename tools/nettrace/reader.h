/* Reader of nettrace streams, versions 4 to 6.
 *
 * Written from the format alone; it shares nothing with the writer in core/, so that each can test
 * the other. It reads forward, from a file or a pipe, in bounded memory, and treats all input as
 * hostile: each length, count and offset is checked before it is used. Of a window of time in a file
 * it reads only what it needs (wt_reader_set_window).
 *
 * The reader calls handlers as it goes. Bytes that cannot be decoded end the reading with an error.
 * Breaches of the rules that can be read past are reported to the `violation` handler, and reading
 * continues.
 *
 * One reader belongs to one thread at a time; different readers are independent. No function here
 * keeps global state. Pointers given to handlers are valid until the handler returns, except
 * `struct wt_metadata` and `struct wt_thread`, which live as long as the reader.
 */
#ifndef WT_NETTRACE_READER_H
#define WT_NETTRACE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum wt_status {
    WT_OK = 0,         /* more to read */
    WT_END,            /* the end tag was read, or a window's end was reached */
    WT_TRUNCATED,      /* the stream ended early; everything whole has been delivered */
    WT_STOPPED,        /* a handler called wt_reader_stop() */
    WT_ERROR_FORMAT,   /* bytes that cannot be decoded */
    WT_ERROR_VERSION,  /* a format this reader does not know */
    WT_ERROR_LIMIT,    /* a limit of struct wt_limits was reached */
    WT_ERROR_MEMORY,   /* out of memory */
    WT_ERROR_IO,       /* the source failed; the text holds the system's reason */
    WT_ERROR_ARGUMENT, /* a call that makes no sense */
};

/* The rules of the format. The reader itself reports the first group; `weir check` adds the
 * rest. */
enum wt_rule {
    WT_RULE_NONE = 0,
    WT_RULE_MAGIC,
    WT_RULE_VERSION,
    WT_RULE_TAG,
    WT_RULE_TYPE_NAME,
    WT_RULE_OBJECT_ORDER,
    WT_RULE_PADDING,
    WT_RULE_BLOCK_SIZE,
    WT_RULE_HEADER_SIZE,
    WT_RULE_EMPTY_BLOCK,
    WT_RULE_VARINT,
    WT_RULE_BLOB_END,
    WT_RULE_BLOB_PADDING,
    WT_RULE_MIN_MAX,
    WT_RULE_METADATA_RECORD,
    WT_RULE_METADATA_FIELDS,
    WT_RULE_METADATA_REDEFINED,
    WT_RULE_METADATA_UNDEFINED,
    WT_RULE_STACK_BLOCK,
    WT_RULE_STACK_SIZE,
    WT_RULE_STACK_REDEFINED,
    WT_RULE_STACK_UNDEFINED,
    WT_RULE_POINT_BLOCK,
    WT_RULE_PAYLOAD_SIZE,
    WT_RULE_END_TAG,
    WT_RULE_TRAILING,
    WT_RULE_LIMIT,
    WT_RULE_ENUM_EVENT,
    WT_RULE_NAME_EVENT,
    /* Of version 6 only. */
    WT_RULE_TRACE_BLOCK,
    WT_RULE_THREAD_BLOCK,
    WT_RULE_THREAD_REDEFINED,
    WT_RULE_THREAD_UNDEFINED,
    WT_RULE_LABEL_BLOCK,
    WT_RULE_LABEL_REDEFINED,
    WT_RULE_LABEL_UNDEFINED,
    /* Reported by `weir check`. */
    WT_RULE_TRACE_OBJECT,
    WT_RULE_TIME_ORDER,
    WT_RULE_THREAD_SWITCH,
    WT_RULE_SORTED,
    WT_RULE_POINT_TIME,
    WT_RULE_POINT_SIDE,
    WT_RULE_SEQUENCE_BACK,
    WT_RULE_PAYLOAD_FIELDS,
    WT_RULE_LOSS_EVENT,
    WT_RULE_LOSS_PLACE,
    WT_RULE_LOSS_COUNT,
    WT_RULE_INTRODUCTION,
    WT_RULE_PAIR_ORDER,
    WT_RULE_COUNT
};

/* Short id ("padding") and one line of explanation of a rule; never NULL. */
const char *wt_rule_name(enum wt_rule rule);
const char *wt_rule_text(enum wt_rule rule);

/* Field type codes of the format. */
enum wt_type {
    WT_TYPE_OBJECT = 1,
    WT_TYPE_BOOLEAN = 3, /* 4 bytes */
    WT_TYPE_CHAR = 4,    /* one UTF-16 unit */
    WT_TYPE_SBYTE = 5,
    WT_TYPE_BYTE = 6,
    WT_TYPE_INT16 = 7,
    WT_TYPE_UINT16 = 8,
    WT_TYPE_INT32 = 9,
    WT_TYPE_UINT32 = 10,
    WT_TYPE_INT64 = 11,
    WT_TYPE_UINT64 = 12,
    WT_TYPE_SINGLE = 13,
    WT_TYPE_DOUBLE = 14,
    WT_TYPE_DECIMAL = 15,  /* 16 bytes, delivered unchanged */
    WT_TYPE_DATETIME = 16, /* 8 bytes, 100 ns since 1601-01-01 UTC, like the .NET readers */
    WT_TYPE_GUID = 17,
    WT_TYPE_STRING = 18, /* UTF-16LE with a 16-bit zero */
    WT_TYPE_ARRAY = 19,  /* 16-bit count, then the elements; not in V4 */
    /* Of version 6 only. */
    WT_TYPE_VAR_INT = 20,     /* 7 bits per byte, zigzag */
    WT_TYPE_VAR_UINT = 21,    /* 7 bits per byte */
    WT_TYPE_FIXED_ARRAY = 22, /* `count` elements */
    WT_TYPE_UTF8_UNIT = 23,   /* one byte; an array of them is a text */
    WT_TYPE_REL_LOC = 24,     /* elements elsewhere in the payload, counted from this field's end */
    WT_TYPE_DATA_LOC = 25,    /* the same, counted from the start of the payload */
    WT_TYPE_BOOLEAN8 = 26,    /* 1 byte */
};

/* A name for a value of an integer field. */
struct wt_named_value {
    uint64_t value;   /* the bits of the field's width */
    const char *name; /* UTF-8 */
};

/* What one field of a payload looks like. */
struct wt_field {
    const char *name; /* UTF-8; "" for the element of an array */
    enum wt_type type;
    /* Of an object; 1 for an array or a location, whose element is fields[0]. */
    uint32_t field_count;
    const struct wt_field *fields; /* NULL if field_count is 0 */
    uint32_t count;                /* elements of a WT_TYPE_FIXED_ARRAY */
    uint32_t min_size;             /* least bytes of a value */
    bool fixed;                    /* every value takes min_size bytes */
    bool located;                  /* it is, or contains, a location */
    /* From an event Weir/Enum of the file, which comes before the events with the field. */
    bool is_bool;                        /* the integer is a boolean */
    const struct wt_named_value *values; /* by value; of two names for one, the first is meant */
    uint32_t value_count;
};

/* Of version 6: what a trace, a thread or a definition says in addition. Both are UTF-8. */
struct wt_key_value {
    const char *key, *value;
};

/* One definition of an event. */
struct wt_metadata {
    /* As in the file; 0 only for the stand-in of undefined ids. A point of version 6 may end all
     * definitions; then a later one may have the same id. */
    uint32_t id;
    uint32_t index;            /* 0, 1, 2, ... in order of definition: for the caller's tables */
    const char *provider_name; /* UTF-8 */
    const char *event_name;    /* UTF-8, may be "" */
    int32_t event_id;
    int32_t version;
    int32_t level;
    uint8_t opcode;  /* valid if has_opcode */
    bool has_opcode; /* from a V5 tag, or version 6 */
    bool v2_params;  /* the fields come from a V5 tag */
    bool fields_bad; /* the description could not be decoded: field_count is 0 */
    bool undefined;  /* no such definition in the file: names are "" */
    bool is_naming;  /* Weir/Enum or Weir/ThreadName */
    uint64_t keywords;
    uint64_t offset; /* of the blob or row in the stream */
    uint32_t field_count;
    const struct wt_field *fields;
    /* Of version 6; NULL and 0 if the file has none. */
    const char *message_template, *description; /* UTF-8 */
    const struct wt_key_value *values;
    uint32_t value_count;
    bool has_provider_guid;
    uint8_t provider_guid[16];
    /* The bytes behind the fields, as an event Weir/Enum of the file calls them; NULL: the payload
     * ends with its fields, as far as the file says. */
    const char *raw_name;
};

/* What is known about a capture thread: the thread that wrote the events. */
struct wt_thread {
    uint64_t capture_thread; /* version 6: the thread's index in the file */
    /* UTF-8, of its last Weir/ThreadName so far, otherwise of its row in version 6; NULL: none. */
    const char *name;
    char *name_buffer;        /* for the reader, as are the next two */
    uint64_t passed;          /* blocks that had been passed over when its number was known */
    bool writes_names;        /* it has written an event that names threads or values */
    uint32_t index;           /* 0, 1, 2, ... in order of first appearance */
    uint32_t sequence;        /* last number seen, as on the wire */
    uint64_t number;          /* the same, extended over the 32-bit wrap */
    uint64_t events;          /* delivered so far */
    uint64_t lost;            /* missing numbers */
    uint64_t steps_back;      /* how often a number was not above the last */
    uint32_t first_sequence;  /* the number at its first appearance */
    bool first_seen_in_point; /* it first appeared in a sequence point */
    /* Of version 6. */
    bool has_row;           /* a Thread block introduces it: its numbers start at 1 */
    bool is_removed;        /* a RemoveThread block ends it */
    uint64_t os_thread_id;  /* 0: the file does not say */
    uint64_t os_process_id; /* the same */
    const struct wt_key_value *values;
    uint32_t value_count;
};

struct wt_trace_info {
    uint32_t major, minor; /* 4 and 0 for versions 4 and 5, which start alike */
    int16_t year, month, day_of_week, day, hour, minute, second, millisecond; /* UTC */
    int64_t sync_ticks;
    int64_t frequency; /* ticks per second; not checked */
    int32_t pointer_size;
    int32_t process_id;
    int32_t processors;
    int32_t sampling_ns;
    /* Version 6 has these three as keys, which may be missing: then they are 0. Below are all
     * keys, with these and those that the reader does not know. */
    int32_t page_size; /* bytes; version 6 only */
    const struct wt_key_value *values;
    uint32_t value_count;
    uint64_t offset;
};

enum wt_block_kind {
    WT_BLOCK_EVENT,
    WT_BLOCK_METADATA,
    WT_BLOCK_STACK,
    WT_BLOCK_POINT,
    /* Of version 6 only. */
    WT_BLOCK_THREAD,
    WT_BLOCK_REMOVE_THREAD,
    WT_BLOCK_LABEL,
    WT_BLOCK_KIND_COUNT
};

struct wt_block {
    enum wt_block_kind kind;
    uint64_t index;       /* 0, 1, 2, ... in the file */
    uint64_t offset;      /* of the object's first tag, or the block's header */
    uint64_t body_offset; /* of the first byte after that, and the alignment */
    uint32_t size;
    /* Of event blocks, and of metadata blocks before version 6: flags bit 0 = compressed; times as
     * stated by the file. */
    uint16_t header_size, flags;
    int64_t min_time, max_time;
};

/* What the labels of an event say in place of its definition; of a kind that comes twice, the last
 * one. */
struct wt_overrides {
    uint64_t keywords;
    uint8_t opcode, level, version;
};

struct wt_event {
    const struct wt_metadata *metadata; /* never NULL */
    const struct wt_thread *thread;     /* never NULL; its counters follow file order */
    const struct wt_block *block;       /* NULL if delivered from the order queues */
    const uint8_t *payload;
    const uint8_t *stack;  /* addresses, leaf first; NULL if stack_id is 0 or unknown */
    const uint8_t *labels; /* read them with wt_event_label(); NULL: none */
    uint64_t offset;       /* of the blob or row in the stream */
    uint64_t capture_thread;
    /* The system's id of the thread that the event is about. Version 6 has the thread's index, and
     * the id is that of its row, or 0. */
    uint64_t thread_id;
    uint64_t thread_index; /* version 6 only */
    uint64_t number;       /* sequence, extended over the wrap */
    int64_t time;          /* ticks */
    uint32_t payload_size;
    uint32_t sequence;
    uint32_t processor;
    uint32_t stack_id;
    uint32_t stack_size; /* bytes */
    uint32_t metadata_id;
    uint32_t label_list_id;
    uint32_t label_size;     /* bytes */
    uint8_t activity_id[16]; /* version 6: those of its labels */
    uint8_t related_activity_id[16];
    struct wt_overrides overrides; /* as far as label_kinds has them */
    uint16_t label_kinds;          /* bits 1 << enum wt_label_kind; version 6 only */
    bool sorted;
    bool first_in_block;
};

/* What version 6 attaches to an event, besides its payload. */
enum wt_label_kind {
    WT_LABEL_ACTIVITY_ID = 1, /* bytes */
    WT_LABEL_RELATED_ACTIVITY_ID = 2,
    WT_LABEL_TRACE_ID = 3, /* bytes, in the order of W3C */
    WT_LABEL_SPAN_ID = 4,  /* u */
    WT_LABEL_STRING = 5,   /* key and text */
    WT_LABEL_INTEGER = 6,  /* key and i */
    /* These take the place of what the definition says. */
    WT_LABEL_OPCODE = 7, /* u */
    WT_LABEL_KEYWORDS = 8,
    WT_LABEL_LEVEL = 9,
    WT_LABEL_VERSION = 10,
};

struct wt_label {
    enum wt_label_kind kind;
    uint64_t u;
    int64_t i;
    const uint8_t *bytes; /* 16 */
    /* As stored: should be UTF-8, and does not end with a zero. */
    const char *key, *text;
    uint32_t key_size, text_size;
};

struct wt_gap {
    const struct wt_thread *thread;
    uint32_t after; /* last number before the gap, as on the wire */
    uint64_t after_number;
    uint64_t count;  /* numbers missing; 0 if back */
    uint64_t offset; /* of the event or point that revealed it */
    /* Revealed by a sequence point, or by the removal of the thread; otherwise by an event. */
    bool at_point;
    bool back;         /* not a gap: the number went back or stayed the same */
    uint32_t sequence; /* the number that revealed it */
};

struct wt_point_entry {
    uint64_t capture_thread;
    uint32_t sequence;
};

struct wt_point {
    int64_t time;
    uint32_t thread_count;
    uint64_t offset;
    const uint8_t *entries; /* read them with wt_point_entry() */
    bool forgets_threads;   /* version 6: threads are introduced again after it */
    bool forgets_metadata;  /* version 6: definitions too */
};

struct wt_violation {
    enum wt_rule rule;
    uint64_t offset;
    const char *text;
};

/* Everything that is reported. Unset handlers are skipped. */
struct wt_handlers {
    void (*trace)(void *context, const struct wt_trace_info *info);
    void (*block)(void *context, const struct wt_block *block);
    void (*metadata)(void *context, const struct wt_metadata *metadata);
    void (*event)(void *context, const struct wt_event *event);
    /* Called before the event that revealed it, before the `point` handler of that point, or when
     * the thread is removed (version 6). */
    void (*gap)(void *context, const struct wt_gap *gap);
    /* Sequence point: everything before it in the file has been delivered. */
    void (*point)(void *context, const struct wt_point *point);
    void (*violation)(void *context, const struct wt_violation *violation);
};

/* 0 in a field means its default. */
struct wt_limits {
    uint32_t block_size_max;   /* bytes of one block: 64 MiB */
    uint32_t metadata_max;     /* definitions: 1,000,000 */
    size_t metadata_bytes_max; /* all definitions, and rows of threads, together: 256 MiB */
    uint32_t fields_max;       /* fields of one definition, nested ones included: 4,096 */
    uint32_t depth_max;        /* nesting of a description: 16; at most 64 */
    uint32_t threads_max;      /* capture threads: 1,000,000 */
    size_t stack_bytes_max;    /* stacks between two sequence points: 256 MiB; labels too */
    size_t order_bytes_max;    /* events held back to order them: 1 GiB */
};

struct wt_reader_options {
    struct wt_limits limits;
    bool time_order;     /* deliver events by time instead of in file order */
    bool check_trailing; /* after the end tag, look for bytes that do not belong there */
    bool has_window;     /* as wt_reader_set_window() */
    int64_t from, to;    /* ticks */
};

/* Source of bytes: returns how many (0 at the end), or -1 with errno set. It may block, and may
 * return fewer than requested. The reader retries after EINTR. `read_at` is optional: a source that
 * can be read at any place has it, and then only it is called; `offset` counts from the stream's
 * first byte. */
struct wt_source {
    ssize_t (*read)(void *context, void *buffer, size_t size);
    void *context;
    ssize_t (*read_at)(void *context, void *buffer, size_t size, uint64_t offset);
};

struct wt_error {
    enum wt_status status;
    enum wt_rule rule;
    uint64_t offset; /* in the stream, from the first byte of the magic */
    char text[240];  /* what is wrong and what to do */
};

struct wt_totals {
    uint64_t bytes;      /* of the stream, up to the place that was reached */
    uint64_t bytes_read; /* from the source: more or, with a window, less */
    uint64_t events;     /* delivered */
    uint64_t payload_bytes;
    uint64_t lost;
    uint64_t steps_back;
    uint64_t blocks[WT_BLOCK_KIND_COUNT];
    uint64_t metadata;
    uint64_t v5_tags; /* definitions that use a tag of V5 */
    uint64_t stacks;
    uint64_t label_lists;
    uint64_t points;
    int64_t point_time; /* ticks of the last one; undefined while `points` is 0 */
    uint64_t threads;
};

struct wt_reader;

/* Creates a reader over `source`. `options` may be NULL (all defaults); `options`, `handlers` and
 * `source` are copied. Allocates; reads nothing yet. Returns WT_OK, WT_ERROR_MEMORY or
 * WT_ERROR_ARGUMENT; on an error *out is NULL. */
enum wt_status wt_reader_create(struct wt_reader **out, const struct wt_source *source,
                                const struct wt_reader_options *options,
                                const struct wt_handlers *handlers, void *context);

/* Frees the reader and everything that it returned. NULL is allowed. Does not close the source. */
void wt_reader_destroy(struct wt_reader *reader);

/* Restricts the reading to events with from <= time < to, in ticks. May be called up to the trace
 * handler, which learns how long a tick is; later, or if from > to, it returns WT_ERROR_ARGUMENT.
 *
 * What is delivered, and counted in the totals and in the threads, are the events of the window as
 * the whole stream has them (names, stacks, labels, numbers), the sequence points of the window, and
 * the gaps that these reveal. Definitions are delivered from the start of the stream on. The reading
 * ends with WT_END at the first sequence point that is not before `to`, or at the end.
 *
 * Over a source that has `read_at`, blocks of events outside the window are passed over without
 * reading them, so this is not known of a thread:
 *
 *   - losses in front of its first event in the window, unless a sequence point follows the last
 *     block that was passed over;
 *   - names that its own events give to threads and values, unless their block starts with one, or
 *     the thread has written one before in a block that was read, or with an event of provider Weir;
 *   - its number beyond 32 bits, if it grows by 2^31 or more between two of its points and blocks
 *     that were read; its first_sequence, and its index among the threads.
 *
 * The times in the headers of blocks are trusted. Over other sources everything up to the end of the
 * window is read, and the first two are known. */
enum wt_status wt_reader_set_window(struct wt_reader *reader, int64_t from, int64_t to);

/* Reads one object (a block) and calls its handlers. Blocks as long as the source does; allocates
 * within the limits. WT_OK means that there may be more; any other status is final, and later calls
 * return it again. */
enum wt_status wt_reader_step(struct wt_reader *reader);

/* Steps until the status is final, and returns it. */
enum wt_status wt_reader_run(struct wt_reader *reader);

/* For handlers: ends the reading with WT_STOPPED, before the next event or object. */
void wt_reader_stop(struct wt_reader *reader);

/* The final status with its text and place; status WT_OK before the end. Never NULL. */
const struct wt_error *wt_reader_error(const struct wt_reader *reader);

/* Sums so far, and the Trace object (NULL before it was read). */
const struct wt_totals *wt_reader_totals(const struct wt_reader *reader);
const struct wt_trace_info *wt_reader_trace(const struct wt_reader *reader);

/* The index-th capture thread, 0 <= index < totals.threads; NULL beyond. */
const struct wt_thread *wt_reader_thread(const struct wt_reader *reader, uint32_t index);

/* The index-th entry of a point; the caller ensures index < thread_count. */
struct wt_point_entry wt_point_entry(const struct wt_point *point, uint32_t index);

/* The next label of an event, in the order of the file: *at is 0 at first, and is moved on. False
 * after the last one. */
bool wt_event_label(const struct wt_event *event, uint32_t *at, struct wt_label *label);

/* What the event's labels say, otherwise its definition. An opcode of 0 is the same as none. */
uint8_t wt_event_opcode(const struct wt_event *event);
uint64_t wt_event_keywords(const struct wt_event *event);
int32_t wt_event_level(const struct wt_event *event);
int32_t wt_event_version(const struct wt_event *event);

/* Sources: a descriptor (the caller keeps it open and closes it) and a piece of memory. The
 * structs hold the state and must outlive the reader. A regular file, and memory without a `step`,
 * can be read at any place; the descriptor's position then stays as it is. */
struct wt_fd_source {
    int fd;
    off_t start; /* for the source: the position at the first read */
};
struct wt_memory_source {
    const uint8_t *bytes;
    size_t size;
    size_t step; /* most bytes per read; 0 = no limit */
};
struct wt_source wt_source_fd(struct wt_fd_source *state);
struct wt_source wt_source_memory(struct wt_memory_source *state);

#ifdef __cplusplus
}
#endif
#endif
