/* Fields of events by name, as C types. */
#include "fields.h"

/* A DateTime has 64 bits, too. */
static bool is_small(enum wt_type type)
{
    return type != WT_TYPE_UINT64 && type != WT_TYPE_VAR_UINT && type != WT_TYPE_DATETIME;
}

static bool is_unsigned(enum wt_value_kind kind)
{
    return kind == WT_VALUE_UNSIGNED || kind == WT_VALUE_BOOLEAN || kind == WT_VALUE_CHAR ||
           kind == WT_VALUE_DATETIME;
}

enum wt_presence wt_event_u64(const struct wt_event *event, const char *path, uint64_t *value)
{
    struct wt_value found;
    enum wt_type type;
    enum wt_presence presence = wt_event_value(event, path, &found, &type);
    if (presence != WT_PRESENT)
        return presence;
    if (!is_unsigned(found.kind))
        return WT_WRONG_TYPE;
    *value = found.as.u;
    return WT_PRESENT;
}

enum wt_presence wt_event_i64(const struct wt_event *event, const char *path, int64_t *value)
{
    struct wt_value found;
    enum wt_type type;
    enum wt_presence presence = wt_event_value(event, path, &found, &type);
    if (presence != WT_PRESENT)
        return presence;
    if (found.kind == WT_VALUE_SIGNED)
        *value = found.as.i;
    else if (is_unsigned(found.kind) && is_small(type))
        *value = (int64_t)found.as.u;
    else
        return WT_WRONG_TYPE;
    return WT_PRESENT;
}

enum wt_presence wt_event_f64(const struct wt_event *event, const char *path, double *value)
{
    struct wt_value found;
    enum wt_type type;
    enum wt_presence presence = wt_event_value(event, path, &found, &type);
    if (presence != WT_PRESENT)
        return presence;
    if (found.kind == WT_VALUE_DOUBLE)
        *value = found.as.d;
    else if (found.kind == WT_VALUE_SINGLE)
        *value = (double)found.as.f;
    else
        return WT_WRONG_TYPE;
    return WT_PRESENT;
}

enum wt_presence wt_event_text(const struct wt_event *event, const char *path, char *text,
                               size_t capacity, size_t *size)
{
    struct wt_value found;
    enum wt_type type;
    enum wt_presence presence = wt_event_value(event, path, &found, &type);
    size_t whole;
    if (presence != WT_PRESENT)
        return presence;
    if (found.kind == WT_VALUE_STRING)
        whole = wt_utf16_to_utf8(found.bytes, found.size, text, capacity);
    else if (found.kind == WT_VALUE_UTF8)
        whole = wt_utf8_clean(found.bytes, found.size, text, capacity);
    else
        return WT_WRONG_TYPE;
    if (size)
        *size = whole;
    return WT_PRESENT;
}
