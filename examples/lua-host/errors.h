/* `Error`, where an error is caught. */
#ifndef LUA_HOST_ERRORS_H
#define LUA_HOST_ERRORS_H

#include <lua.h>

/* Replaces pcall and xpcall by functions that emit. */
void errors_install(lua_State *L);

struct activity;

/* In a message handler of the host: the stack of L, without the handler, is that of the error, unless
 * errors_caught() reports another one first. */
void errors_raised(lua_State *L);

/* Emits `Error` for the error object at `index`, if enabled. `status`: Lua's, such as
 * LUA_ERRRUN. With the stack of L. */
void errors_caught(lua_State *L, int index, int status);

/* The same, of an error that has ended `coroutine`, whose stack is in front of L's. It belongs to the
 * coroutine's activity; NULL: to what L's belongs to. */
void errors_caught_from(lua_State *L, lua_State *coroutine, const struct activity *activity,
                        int index);

#endif
