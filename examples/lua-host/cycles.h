/* `GCCycle`, from a sentinel: an object that nothing refers to, whose finalizer makes the next. */
#ifndef LUA_HOST_CYCLES_H
#define LUA_HOST_CYCLES_H

#include <lua.h>

#include <stdbool.h>

/* Makes a sentinel if it is wanted and there is none; one that is not wanted is not replaced. Needs
 * a wrapped allocator, for the size of the heap. Raises no error: without memory there is none. May
 * run finalizers. */
void cycles_update(lua_State *L, bool wanted);

/* Call before lua_close(), which finalizes the last sentinel although no collection has ended. */
void cycles_end(void);

#endif
