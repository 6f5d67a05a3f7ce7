/* Texts for events: short enough that no event is lost for its size. */
#ifndef LUA_HOST_TEXT_H
#define LUA_HOST_TEXT_H

#include <lua.h>

#include <stddef.h>

/* A string takes two bytes per character in the file, and an event must fit in a segment. */
#define TEXT_BYTES_MAX 4096

struct text {
    char bytes[TEXT_BYTES_MAX];
};

/* Copies up to `count` bytes of UTF-8, up to the first zero; cuts only between characters. */
void text_copy(struct text *text, const char *bytes, size_t count);

/* A readable name of a chunk, from Lua's form: "@file" is the file, "=name" the name, anything else
 * is the chunk itself, of which the first line is shown as [string "..."]. */
void text_from_source(struct text *text, const char *source, size_t count);

/* An error object: strings and numbers unchanged, for others the type. Calls no metamethod and
 * changes nothing on the stack. */
void text_from_error(struct text *text, lua_State *L, int index);

#endif
