/*
 * Which function an activation record belongs to, as a small number.
 *
 * Lua has no identity for a function's prototype that the API shows. What it shows cheaply is the
 * address of the source's name and the line of the definition; these two are the key, so functions
 * that begin on one line of one chunk share a number. A C function's key is its address.
 *
 * The address of a source's name is good as a key only while that string lives. Anchoring the
 * function would keep its upvalues alive and so change what the script can see of the collector.
 * Instead the state's allocator reports each block it frees (functions_block_freed), and a freed
 * name is forgotten, so that a later one at its address gets new numbers.
 *
 * All of it belongs to the thread that runs Lua, except functions_rundown().
 */
#ifndef LUA_HOST_FUNCTIONS_H
#define LUA_HOST_FUNCTIONS_H

#include <lua.h>

#include <stdint.h>

struct weir_session;

/* Learns where in its block a string's text starts. Before the first hook; uses the allocator. */
void functions_init(lua_State *L);

/* The number of the function that `record`, of a hook, belongs to; emits `Function` at first sight.
 * 0 if memory ran out. Needs one free slot on the stack. */
uint64_t functions_id(lua_State *L, lua_Debug *record);

/* To be called for each block that the state's allocator frees. */
void functions_block_freed(const void *block);

/* Emits every function again. On any thread, also while new ones appear. */
void functions_rundown(void *context, struct weir_session *session);

#endif
