/* `CoroutineCreate`, `CoroutineResume`, `CoroutineYield`, and `Error` where resume catches one. */
#ifndef LUA_HOST_COROUTINES_H
#define LUA_HOST_COROUTINES_H

#include <lua.h>

/* Replaces coroutine.create, resume, wrap and close by functions that emit, and that note which
 * coroutine runs. */
void coroutines_install(lua_State *L);

#endif
