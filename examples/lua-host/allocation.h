/* A wrapper for the state's allocator: emits `Alloc` and `Free`, measures the heap for `GCCycle`,
 * and reports freed blocks to the function table. */
#ifndef LUA_HOST_ALLOCATION_H
#define LUA_HOST_ALLOCATION_H

#include <lua.h>

#include <stdint.h>

/* Wraps the state's allocator. Blocks that already exist had no `Alloc`. */
void allocation_install(lua_State *L);

/* Bytes that the state's allocator holds now. Not from lua_gc(), which does not work in a
 * finalizer. */
uint64_t allocation_heap_bytes(void);

#endif
