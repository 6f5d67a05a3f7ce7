/* `Error`, where an error is caught. */
#ifndef LUA_HOST_ERRORS_H
#define LUA_HOST_ERRORS_H

#include <lua.h>

/* Replaces pcall and xpcall by functions that emit. */
void errors_install(lua_State *L);

/* Emits `Error` for the error object at `index`, if enabled. `status`: Lua's, such as
 * LUA_ERRRUN. */
void errors_caught(lua_State *L, int index, int status);

#endif
