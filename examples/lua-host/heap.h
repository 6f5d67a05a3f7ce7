/* Snapshots of Lua's heap, for tools that ask for one: dotnet-gcdump, `weir heap`. */
#ifndef LUA_HOST_HEAP_H
#define LUA_HOST_HEAP_H

#include <lua.h>

/* From now on sessions may ask for a walk; each asks for a safe point. Before safepoint_open(). */
void heap_open(lua_State *L);
/* At a safe point: walks for the sessions that wait. `L` runs. */
void heap_serve(lua_State *L);
/* Before lua_close(). */
void heap_close(void);

#endif
