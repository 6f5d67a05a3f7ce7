/* What the files that decode definitions, threads and the Trace block share. */
#ifndef WT_NETTRACE_PARSER_H
#define WT_NETTRACE_PARSER_H

#include "reader_impl.h"

/* Texts and arrays that it makes are in the reader's metadata arena. */
struct wt_parser {
    struct wt_reader *reader;
    struct wt_cursor cursor;
    uint32_t fields_left;
    uint32_t depth_left;
    bool no_memory; /* the arena is exhausted */
};

struct wt_parser wt_parser_make(struct wt_reader *reader, const uint8_t *bytes, size_t size);

/* Memory that is not cleared; NULL if the arena is exhausted. */
void *wt_parser_take(struct wt_parser *parser, size_t size);

/* Sets the error for an exhausted arena. */
enum wt_status wt_parser_no_memory(struct wt_reader *reader, uint64_t offset);

/* A text of version 6, its size in front, as a C string; NULL if it is cut off or there is no
 * memory. */
const char *wt_parser_text8(struct wt_parser *parser);

/* A growing array of keys and values. False if the pair is cut off or there is no memory. */
struct wt_key_values {
    struct wt_key_value *items;
    uint32_t count, capacity;
};
bool wt_parser_key_value(struct wt_parser *parser, struct wt_key_values *list);

/* Sets the size of a type that is neither an object nor has elements; false if there is no such
 * type. */
bool wt_type_set_size(struct wt_field *field);

/* True if a value may take no bytes, or contains one: as the element of an array it would let a few
 * bytes of payload stand for very many values. */
bool wt_field_has_empty_value(const struct wt_field *field);

/* Sets what an object's fields say of it. */
void wt_object_set_size(struct wt_field *field);

/* Sets what its element, fields[0], says of an array or a location; false if there may be no such
 * element. */
bool wt_elements_set_size(struct wt_field *field);

/* Starts the definition with that id: *out is NULL if it is to be skipped, which has been
 * reported. */
enum wt_status wt_metadata_start(struct wt_parser *parser, uint32_t id, uint64_t offset,
                                 struct wt_metadata **out);

/* Keeps the definition and calls its handler; `whole`: all but its fields could be decoded. */
enum wt_status wt_metadata_finish(struct wt_parser *parser, struct wt_metadata *metadata,
                                  bool whole);

#endif
