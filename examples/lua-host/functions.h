/*
 * Gives the function of an activation record a small number.
 *
 * Lua's API does not identify a function's prototype. It cheaply gives the address of the source's
 * name and the line of the definition. These two are the key, so functions that begin on one line
 * of one chunk share a number. A C function's key is its address.
 *
 * The address of a source's name is a valid key only while that string lives. Anchoring the
 * function would keep its upvalues alive and so change what the script sees of the collector.
 * Instead the state's allocator reports each block that it frees (functions_block_freed), and a
 * freed name is forgotten, so that a later one at its address gets new numbers.
 *
 * Everything here runs on the thread that runs Lua, except functions_rundown().
 */
#ifndef LUA_HOST_FUNCTIONS_H
#define LUA_HOST_FUNCTIONS_H

#include <lua.h>

#include <stdint.h>

struct weir_rundown;

/* Finds out where in its block a string's text starts. Call before the first hook; uses the
 * allocator. */
void functions_init(lua_State *L);

/* The number of the function to which a hook's `record` belongs; emits `Function` at its first
 * call. 0 if memory ran out. Needs one free slot on the stack. */
uint64_t functions_id(lua_State *L, lua_Debug *record);

/* The same, slower, while freed blocks are not reported: the key is the source's name as it is shown,
 * and the line. Not the number that functions_id() gives. 0 also for functions beyond the first
 * 65,536. */
uint64_t functions_id_described(lua_State *L, lua_Debug *record);

/* Call this for each block that the state's allocator frees. */
void functions_block_freed(const void *block);

/* Freed blocks are not reported any more: forgets all sources. Functions get new numbers at their
 * next call; the rundown still has the old ones. */
void functions_forget(void);

/* A source of rundown: emits every function again. Runs on any thread, even while new functions
 * appear. */
void functions_rundown(void *context, const struct weir_rundown *rundown);

#endif
