/* `GCCycle`, from a sentinel: an object that nothing refers to, whose finalizer makes the next. */
#ifndef LUA_HOST_CYCLES_H
#define LUA_HOST_CYCLES_H

#include <lua.h>

/* Needs allocation_install() for the size of the heap. */
void cycles_install(lua_State *L);

/* Call before lua_close(), which finalizes the last sentinel although no collection has ended. */
void cycles_end(void);

#endif
