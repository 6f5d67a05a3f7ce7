#include "text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xc0u) == 0x80u;
}

void text_copy(struct text *text, const char *bytes, size_t count)
{
    size_t length = strnlen(bytes, count);
    if (length >= TEXT_BYTES_MAX) {
        length = TEXT_BYTES_MAX - 1;
        while (length > 0 && is_continuation(bytes[length]))
            length--;
    }
    memcpy(text->bytes, bytes, length);
    text->bytes[length] = '\0';
}

void text_from_source(struct text *text, const char *source, size_t count)
{
    enum { LINE_MAX_SHOWN = 60 };
    if (count > 0 && (source[0] == '@' || source[0] == '=')) {
        text_copy(text, source + 1, count - 1);
        return;
    }
    struct text line;
    size_t length = strnlen(source, count);
    const char *end = memchr(source, '\n', length);
    size_t shown = end != NULL ? (size_t)(end - source) : length;
    bool cut = end != NULL;
    if (shown > LINE_MAX_SHOWN) {
        shown = LINE_MAX_SHOWN;
        while (shown > 0 && is_continuation(source[shown]))
            shown--;
        cut = true;
    }
    text_copy(&line, source, shown);
    snprintf(text->bytes, sizeof text->bytes, "[string \"%.*s%s\"]", LINE_MAX_SHOWN, line.bytes,
             cut ? "..." : "");
}

void text_from_error(struct text *text, lua_State *L, int index)
{
    if (lua_type(L, index) == LUA_TSTRING) {
        size_t length;
        const char *bytes = lua_tolstring(L, index, &length);
        text_copy(text, bytes, length);
    } else if (lua_isinteger(L, index)) {
        /* Not lua_tolstring(), which would turn the number on the stack into a string. */
        snprintf(text->bytes, sizeof text->bytes, LUA_INTEGER_FMT, lua_tointeger(L, index));
    } else if (lua_type(L, index) == LUA_TNUMBER) {
        snprintf(text->bytes, sizeof text->bytes, LUA_NUMBER_FMT, lua_tonumber(L, index));
    } else {
        snprintf(text->bytes, sizeof text->bytes, "(error object is a %s value)",
                 lua_typename(L, lua_type(L, index)));
    }
}
