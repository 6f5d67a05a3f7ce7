/* Makes a Lua state emit. What is cheap is always there: functions that replace Lua's own. The
 * instruments that cost something, the debug hook, a wrapper of the allocator and a sentinel, are
 * put in and taken out at safe points, as sessions come and go. */
#ifndef LUA_HOST_INSTRUMENTS_H
#define LUA_HOST_INSTRUMENTS_H

#include <lua.h>

#include <stddef.h>

struct watch_session;

/* Call right after the state is created. Raises no error. */
void instruments_open(lua_State *L);

/* Call after the standard libraries are loaded. May raise an error. */
void instruments_install(lua_State *L);

/* lua_close(), preceded by the events that must come before it. */
void instruments_close(lua_State *L);

/* The sessions as of the last change. On the thread that runs Lua. */
const struct watch_session *instruments_sessions(size_t *count);

#endif
