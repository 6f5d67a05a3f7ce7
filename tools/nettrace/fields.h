/* Decoding of payloads by their field descriptions, and of the values in them.
 *
 * All functions are pure: any thread, no blocking, no allocation. */
#ifndef WT_NETTRACE_FIELDS_H
#define WT_NETTRACE_FIELDS_H

#include "reader.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The bits of an integer field. */
static inline uint64_t wt_field_mask(const struct wt_field *field)
{
    return field->fixed ? UINT64_MAX >> (64 - 8 * field->min_size) : UINT64_MAX;
}

/* How a value is stored. */
enum wt_value_kind {
    WT_VALUE_SIGNED,   /* i */
    WT_VALUE_UNSIGNED, /* u */
    WT_VALUE_BOOLEAN,  /* u, as stored: 0, 1 or whatever the writer left there; also a Byte that
                        * Weir/Enum says is one */
    WT_VALUE_CHAR,     /* u, one UTF-16 unit */
    WT_VALUE_SINGLE,   /* f */
    WT_VALUE_DOUBLE,   /* d */
    WT_VALUE_DATETIME, /* u, 100 ns since 1601 */
    WT_VALUE_GUID,     /* 16 bytes */
    WT_VALUE_STRING,   /* UTF-16LE bytes without the final zero */
    WT_VALUE_BYTES,    /* an array of Byte, a Decimal, or the raw bytes behind the fields */
    WT_VALUE_UTF8,     /* bytes that should be UTF-8; as stored, but without the zeros that fill a
                        * fixed array or a location */
};

struct wt_value {
    enum wt_value_kind kind;
    union {
        int64_t i;
        uint64_t u;
        float f;
        double d;
    } as;
    const uint8_t *bytes;
    uint32_t size;    /* of bytes */
    const char *name; /* of an integer that has one, UTF-8; otherwise NULL */
};

/* Called for each value in order. `name` is NULL for the elements of an array. An array of Byte is
 * one value of kind WT_VALUE_BYTES, one of UTF-8 units one of kind WT_VALUE_UTF8. What a location of
 * version 6 points at is visited as an array in its place. */
struct wt_visitor {
    void (*value)(void *context, const char *name, const struct wt_value *value);
    void (*begin)(void *context, const char *name, bool array, uint32_t count);
    void (*end)(void *context, bool array);
};

/* Are there names for anything in the payload? Otherwise it is just bytes. */
static inline bool wt_fields_are_known(const struct wt_metadata *metadata)
{
    return metadata->field_count > 0 || metadata->raw_name;
}

/* Walks the payload of an event with this definition; *used is set to the bytes that the fields
 * take, with those that locations point at. Raw bytes behind them, if the file names them, are the
 * last value, and all that is left. Returns false if the payload is too short for them, or if its
 * locations cover more than 8 times its size (the values before that have been visited, and each
 * begin has had its end). With `visitor` NULL it only checks. */
bool wt_fields_walk(const struct wt_metadata *metadata, const uint8_t *payload, size_t size,
                    const struct wt_visitor *visitor, void *context, size_t *used);

/* Index of the top-level field with that name, or -1. */
int wt_field_index(const struct wt_metadata *metadata, const char *name);

/* Reads one top-level field that is neither an object nor an array (one of bytes is allowed).
 * Returns false if there is none at that index or the payload is too short. */
bool wt_field_get(const struct wt_metadata *metadata, int index, const uint8_t *payload,
                  size_t size, struct wt_value *value);

/* --- A field of an event, by name. -----------------------------------------------------------
 *
 * `path` is the name of a field, or "A.B" for the field B in the object A. Each function returns
 *
 *     WT_PRESENT     and the value;
 *     WT_ABSENT      if this version of the event has no such field, if its fields are not known,
 *                    or if the payload ends before the value does;
 *     WT_WRONG_TYPE  if it is there, but of a type that the function does not read, whatever the
 *                    value is.
 *
 * What they return through pointers is set only with WT_PRESENT, so a value that an older program
 * did not write is never taken for 0. Each call walks the payload up to the field. A program that
 * reads the same field of very many events finds its index once for each definition
 * (wt_field_index) and then uses wt_field_get(). */
enum wt_presence { WT_PRESENT = 0, WT_ABSENT, WT_WRONG_TYPE };

/* Unsigned integers of every size, booleans (as stored), characters, and DateTime. */
enum wt_presence wt_event_u64(const struct wt_event *event, const char *path, uint64_t *value);

/* Signed integers of every size, and of the above those that have at most 32 bits. */
enum wt_presence wt_event_i64(const struct wt_event *event, const char *path, int64_t *value);

/* Single and Double. */
enum wt_presence wt_event_f64(const struct wt_event *event, const char *path, double *value);

/* Strings and arrays of UTF-8 units, as UTF-8 that ends with a NUL. Writes at most `capacity` bytes,
 * cut at a character boundary; *size is set to the size of the whole text without the NUL, and may
 * be NULL. `capacity` may be 0. */
enum wt_presence wt_event_text(const struct wt_event *event, const char *path, char *text,
                               size_t capacity, size_t *size);

/* Any value that is neither an object nor an array (one of bytes is allowed), and its type. */
enum wt_presence wt_event_value(const struct wt_event *event, const char *path,
                                struct wt_value *value, enum wt_type *type);

/* UTF-16LE to UTF-8, ending with a NUL; a lone surrogate becomes U+FFFD. Writes at most `capacity`
 * bytes, cut at a character boundary, and returns the size of the whole text without the NUL: at
 * most 3 * size / 2. `capacity` may be 0. */
size_t wt_utf16_to_utf8(const uint8_t *bytes, size_t size, char *text, size_t capacity);

/* Copies UTF-8, with U+FFFD for each zero and each byte that is part of no character; ends with a
 * NUL. Size and capacity as above: at most 3 * size. */
size_t wt_utf8_clean(const uint8_t *bytes, size_t size, char *text, size_t capacity);

/* Writes a GUID as 00112233-4455-6677-8899-aabbccddeeff and a NUL: 37 bytes. */
void wt_guid_text(const uint8_t guid[16], char out[37]);

/* At most 24 nibbles, each of them a number; fewer numbers have more digits, but less than that. */
#define WT_ACTIVITY_TEXT_BYTES 80

/* The path that an activity id stands for, "//1/5/2", where it is one of .NET's or Weir's: the child 2
 * of the root 5; "$" instead of "/" stands before a number that continues a path too long for an id.
 * `process_id`: of the trace; 0: not known. False: the id is an ordinary one. */
bool wt_activity_text(const uint8_t id[16], uint32_t process_id, char out[WT_ACTIVITY_TEXT_BYTES]);

/* Nanoseconds from the trace's synchronisation moment to `time`; 0 if the frequency is not
 * positive; clamped to the range. */
int64_t wt_time_relative_ns(const struct wt_trace_info *info, int64_t time);

/* Nanoseconds for a number of ticks; same rules. */
int64_t wt_ticks_to_ns(const struct wt_trace_info *info, int64_t ticks);

/* The first time that is not less than `ns` nanoseconds after the synchronisation moment; 0 if the
 * frequency is not positive; clamped. */
int64_t wt_ns_to_ticks(const struct wt_trace_info *info, int64_t ns);

/* UTC of a tick count as 2026-01-15T12:30:45.500000000Z; "unknown" if the Trace object has no
 * usable date or frequency. `out` takes 40 bytes. */
void wt_time_utc_text(const struct wt_trace_info *info, int64_t time, char out[40]);

/* The same for a DateTime value (100 ns since 1601); false if it is out of range. */
bool wt_datetime_text(uint64_t filetime, char out[40]);

#ifdef __cplusplus
}
#endif
#endif
