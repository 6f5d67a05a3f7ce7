/* The state's allocator, watched: `Alloc` and `Free`, the size of the heap for `GCCycle`, and word
 * for the function table of what was freed. */
#ifndef LUA_HOST_ALLOCATION_H
#define LUA_HOST_ALLOCATION_H

#include <lua.h>

#include <stdint.h>

/* Puts itself before the state's allocator. The blocks that exist by then had no `Alloc`. */
void allocation_install(lua_State *L);

/* What the state's allocator holds now. Here and not from lua_gc(), which tells a finalizer
 * nothing. */
uint64_t allocation_heap_bytes(void);

#endif
