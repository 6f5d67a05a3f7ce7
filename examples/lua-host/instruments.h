/* Makes a Lua state emit. Each instrument is installed only if the session has enabled its events
 * when the state is opened: without tracing the state is plain Lua. */
#ifndef LUA_HOST_INSTRUMENTS_H
#define LUA_HOST_INSTRUMENTS_H

#include <lua.h>

/* Call right after the state is created. Raises no error. */
void instruments_open(lua_State *L);

/* Call after the standard libraries are loaded. May raise an error. */
void instruments_install(lua_State *L);

/* lua_close(), preceded by the events that must come before it. */
void instruments_close(lua_State *L);

#endif
