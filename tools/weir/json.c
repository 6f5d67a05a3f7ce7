#include "json.h"
#include "output.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void wt_json_init(struct wt_json *json, FILE *file, bool pretty)
{
    memset(json, 0, sizeof(*json));
    json->file = file;
    json->pretty = pretty;
}

static void new_line(const struct wt_json *json)
{
    if (json->pretty)
        fprintf(json->file, "\n%*s", (int)(2 * json->depth), "");
}

/* Prints what precedes every value: comma, newline, key. */
static void start(struct wt_json *json, const char *key)
{
    if (json->depth > 0) {
        if (json->used[json->depth])
            fputs(json->pretty ? "," : ", ", json->file);
        json->used[json->depth] = true;
        new_line(json);
    }
    if (key && !json->array[json->depth]) {
        wt_print_escaped(json->file, key, 1);
        fputs(": ", json->file);
    }
}

static void open_level(struct wt_json *json, const char *key, bool array)
{
    start(json, key);
    putc(array ? '[' : '{', json->file);
    if (json->depth + 1 < WT_JSON_DEPTH)
        json->depth++;
    json->used[json->depth] = false;
    json->array[json->depth] = array;
}

void wt_json_object(struct wt_json *json, const char *key)
{
    open_level(json, key, false);
}

void wt_json_array(struct wt_json *json, const char *key)
{
    open_level(json, key, true);
}

void wt_json_end(struct wt_json *json)
{
    bool used = json->used[json->depth];
    bool array = json->array[json->depth];
    json->depth--;
    if (used)
        new_line(json);
    putc(array ? ']' : '}', json->file);
    if (json->depth == 0)
        putc('\n', json->file);
}

void wt_json_string(struct wt_json *json, const char *key, const char *text)
{
    start(json, key);
    if (text)
        wt_print_escaped(json->file, text, 1);
    else
        fputs("null", json->file);
}

void wt_json_u64(struct wt_json *json, const char *key, uint64_t value)
{
    start(json, key);
    fprintf(json->file, "%" PRIu64, value);
}

void wt_json_i64(struct wt_json *json, const char *key, int64_t value)
{
    start(json, key);
    fprintf(json->file, "%" PRId64, value);
}

void wt_json_null(struct wt_json *json, const char *key)
{
    wt_json_verbatim(json, key, "null");
}

void wt_json_bool(struct wt_json *json, const char *key, bool value)
{
    start(json, key);
    fputs(value ? "true" : "false", json->file);
}

static void put_number(struct wt_json *json, const char *key, const char *text, bool finite)
{
    start(json, key);
    wt_print_escaped(json->file, text, !finite);
}

void wt_json_double(struct wt_json *json, const char *key, double value)
{
    char text[40];
    wt_double_text(value, text);
    put_number(json, key, text, isfinite(value));
}

void wt_json_single(struct wt_json *json, const char *key, float value)
{
    char text[40];
    wt_single_text(value, text);
    put_number(json, key, text, isfinite(value));
}

void wt_json_hex(struct wt_json *json, const char *key, const uint8_t *bytes, size_t size)
{
    start(json, key);
    putc('"', json->file);
    wt_print_hex(json->file, bytes, size);
    putc('"', json->file);
}

void wt_json_verbatim(struct wt_json *json, const char *key, const char *text)
{
    start(json, key);
    fputs(text, json->file);
}
