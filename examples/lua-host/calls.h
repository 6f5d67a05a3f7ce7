/* `Call`, `Return`, `TailCall` by the debug hook, beside the hook that a script may set. */
#ifndef LUA_HOST_CALLS_H
#define LUA_HOST_CALLS_H

#include <lua.h>

#include <stdbool.h>

/* True if the session wants events of calls; the other functions do nothing if it does not. */
bool calls_wanted(void);

/* Sets the hook, which new coroutines inherit, and replaces debug.sethook and debug.gethook. Needs
 * functions_init() and an allocator that tells functions_block_freed(). */
void calls_install(lua_State *L);

/* Takes any hook of `L` off, and sets the hook of calls again if there was one. */
void calls_reset(lua_State *L);

#endif
