/* `Frame`: the functions that a coroutine has entered and not left when its calls are first seen. */
#ifndef LUA_HOST_FRAMES_H
#define LUA_HOST_FRAMES_H

#include <lua.h>

#include <stdbool.h>
#include <stdint.h>

/* Emits the frames of `L` to each session that got its calls after change number `since`.
 * `entering`: the innermost one is just being entered, and has its `Call` coming. Needs what
 * functions_id() needs; raises no error. */
void frames_emit(lua_State *L, uint64_t since, bool entering);

#endif
