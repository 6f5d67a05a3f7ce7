/*
 * The types of the objects in a snapshot. A type is written when its first object needs it; these
 * are the names:
 *
 *     table, string, upvalue, coroutine, userdata, C function
 *     function game.lua:12     of a prototype, by where it begins; of the module game.lua
 *     Account                  a table or userdata whose metatable, or its __index, is a global, a
 *                              loaded module or a field of one; or which has a __name
 */
#ifndef LUA_HOST_HEAP_TYPES_H
#define LUA_HOST_HEAP_TYPES_H

#include <lua.h>
#include <weir/heap.h>

#include <stdbool.h>
#include <stdint.h>

struct heap_types;

/* NULL if there is no memory. */
struct heap_types *heap_types_create(struct weir_heap_graph *graph);
void heap_types_destroy(struct heap_types *types);

/* Takes the name of a table that the program knows by it; the first one counts. */
void heap_types_name(struct heap_types *types, const void *table, const char *owner,
                     const char *name);
/* The name of a table; NULL if it has none. */
const char *heap_types_name_of(const struct heap_types *types, const void *table);

/* The type of this name. `what`, a pointer and a number, stands for the name: the next time it is
 * not looked at. */
uint64_t heap_types_of(struct heap_types *types, const void *what, int number, const char *name);
/* Is the type of `what` known already? 0: no. */
uint64_t heap_types_known(const struct heap_types *types, const void *what, int number);
/* Of a Lua function, from lua_getinfo(">S"). */
uint64_t heap_types_of_function(struct heap_types *types, const lua_Debug *record);

#endif
