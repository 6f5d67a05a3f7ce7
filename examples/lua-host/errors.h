/* `Error`, where an error is caught. */
#ifndef LUA_HOST_ERRORS_H
#define LUA_HOST_ERRORS_H

#include <lua.h>

/* Puts a pcall and an xpcall that emit in the place of Lua's. */
void errors_install(lua_State *L);

/* Emits `Error` for the error object at `index`, if wanted. `status`: Lua's, as LUA_ERRRUN. */
void errors_caught(lua_State *L, int index, int status);

#endif
