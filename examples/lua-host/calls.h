/* `Call`, `Return`, `TailCall`, by the debug hook, along with a hook that the script may set. */
#ifndef LUA_HOST_CALLS_H
#define LUA_HOST_CALLS_H

#include <lua.h>

#include <stdbool.h>

/* True if the session has enabled events of calls; otherwise the other functions do nothing. */
bool calls_wanted(void);

/* Sets the hook, which new coroutines inherit, and replaces debug.sethook and debug.gethook. Needs
 * functions_init() and an allocator that calls functions_block_freed(). */
void calls_install(lua_State *L);

/* Removes any hook of `L`, and sets the hook for calls again if there was one. */
void calls_reset(lua_State *L);

#endif
