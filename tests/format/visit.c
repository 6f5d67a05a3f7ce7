#include "visit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

char visit_text[400];

static void put(const char *text)
{
    strncat(visit_text, text, sizeof(visit_text) - strlen(visit_text) - 1);
}

static void on_value(void *context, const char *name, const struct wt_value *value)
{
    char text[100] = "";
    (void)context;
    put(name ? name : "-");
    put("=");
    switch (value->kind) {
    case WT_VALUE_SIGNED:
        snprintf(text, sizeof(text), "%" PRId64, value->as.i);
        break;
    case WT_VALUE_UNSIGNED:
    case WT_VALUE_BOOLEAN:
    case WT_VALUE_CHAR:
    case WT_VALUE_DATETIME:
        snprintf(text, sizeof(text), "%" PRIu64, value->as.u);
        break;
    case WT_VALUE_SINGLE:
        snprintf(text, sizeof(text), "%g", (double)value->as.f);
        break;
    case WT_VALUE_DOUBLE:
        snprintf(text, sizeof(text), "%g", value->as.d);
        break;
    case WT_VALUE_GUID:
        wt_guid_text(value->bytes, text);
        break;
    case WT_VALUE_STRING:
        wt_utf16_to_utf8(value->bytes, value->size, text, sizeof(text));
        break;
    case WT_VALUE_UTF8:
        snprintf(text, sizeof(text), "\"%.*s\"", (int)value->size, (const char *)value->bytes);
        break;
    case WT_VALUE_BYTES:
        snprintf(text, sizeof(text), "%u bytes", value->size);
        break;
    }
    put(text);
    put(" ");
}

static void on_begin(void *context, const char *name, bool array, uint32_t count)
{
    char text[20];
    (void)context;
    put(name ? name : "-");
    snprintf(text, sizeof(text), "%s%u ", array ? "[" : "{", count);
    put(text);
}

static void on_end(void *context, bool array)
{
    (void)context;
    put(array ? "] " : "} ");
}

const struct wt_visitor visit = {on_value, on_begin, on_end};

void *visit_start(void)
{
    visit_text[0] = '\0';
    return NULL;
}
