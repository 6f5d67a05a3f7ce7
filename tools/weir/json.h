/* JSON to a FILE. Keys are NULL inside arrays. Bytes of a string that are not UTF-8 become U+FFFD; 64-bit numbers are written
 * exactly; NaN and the infinities, which JSON lacks, become strings. */
#ifndef WT_WEIR_JSON_H
#define WT_WEIR_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define WT_JSON_DEPTH 128

struct wt_json {
    FILE *file;
    bool pretty; /* one member per line, indented by two */
    unsigned depth;
    bool used[WT_JSON_DEPTH];  /* this level has a member */
    bool array[WT_JSON_DEPTH]; /* this level is an array */
};

void wt_json_init(struct wt_json *json, FILE *file, bool pretty);
void wt_json_object(struct wt_json *json, const char *key);
void wt_json_array(struct wt_json *json, const char *key);
void wt_json_end(struct wt_json *json); /* ends the last one opened; at depth 0 also the line */
void wt_json_string(struct wt_json *json, const char *key, const char *text); /* NULL: null */
void wt_json_u64(struct wt_json *json, const char *key, uint64_t value);
void wt_json_i64(struct wt_json *json, const char *key, int64_t value);
void wt_json_null(struct wt_json *json, const char *key);
void wt_json_bool(struct wt_json *json, const char *key, bool value);
void wt_json_double(struct wt_json *json, const char *key, double value);
void wt_json_single(struct wt_json *json, const char *key, float value);
void wt_json_hex(struct wt_json *json, const char *key, const uint8_t *bytes, size_t size);
/* `text` is already JSON. */
void wt_json_verbatim(struct wt_json *json, const char *key, const char *text);

#endif
