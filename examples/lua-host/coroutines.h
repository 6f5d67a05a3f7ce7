/* `CoroutineCreate`, `CoroutineResume`, `CoroutineYield`, and `Error` where resume catches one. */
#ifndef LUA_HOST_COROUTINES_H
#define LUA_HOST_COROUTINES_H

#include <lua.h>

/* Puts functions that emit in the place of coroutine.create, resume, wrap and close. */
void coroutines_install(lua_State *L);

#endif
