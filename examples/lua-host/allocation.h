/* A wrapper for the state's allocator: emits `Alloc` and `Free`, measures the heap for `GCCycle`,
 * and reports freed blocks to the function table. */
#ifndef LUA_HOST_ALLOCATION_H
#define LUA_HOST_ALLOCATION_H

#include <lua.h>

#include <stdbool.h>
#include <stdint.h>

/* Wraps the state's allocator, or ends that. At a safe point; not in a finalizer. */
void allocation_update(lua_State *L, bool wanted);

/* Bytes that the state's allocator holds now, while it is wrapped. Not from lua_gc(), which does not work in a
 * finalizer. */
uint64_t allocation_heap_bytes(void);

#endif
