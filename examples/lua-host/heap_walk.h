/*
 * One walk over all objects of a Lua state, by Lua's public API.
 *
 * From the roots on, each object that is met for the first time goes on a work list; each that is
 * taken from it becomes a node, with an edge for each object that it refers to. The list is a table
 * of Lua's on the walker's stack, which no object of the program refers to, because the API gives
 * no other way back from an address to a value. It is made before the walk and mostly stays as it
 * is; in a wide heap it grows, by 16 bytes for an object that waits.
 */
#ifndef LUA_HOST_HEAP_WALK_H
#define LUA_HOST_HEAP_WALK_H

#include <lua.h>
#include <weir/heap.h>

/* Puts on the walker's stack what a walk needs, so that it creates no strings. Raises errors. */
void heap_walk_prepare(lua_State *walker);

/* Collects garbage, stops the collector, and walks. `running` is the coroutine that runs. */
void heap_walk(lua_State *walker, lua_State *running, struct weir_heap_graph *graph);

#endif
