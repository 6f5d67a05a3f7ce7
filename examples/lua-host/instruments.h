/* What makes a Lua state emit. Each part is put in only if the session wants its events when the
 * state is opened: without tracing the state is plain Lua. */
#ifndef LUA_HOST_INSTRUMENTS_H
#define LUA_HOST_INSTRUMENTS_H

#include <lua.h>

/* Right after the state was created. Raises no error. */
void instruments_open(lua_State *L);

/* After the standard libraries are there. May raise an error. */
void instruments_install(lua_State *L);

/* lua_close(), with what has to be told before it. */
void instruments_close(lua_State *L);

#endif
