/* `Call`, `Return`, `TailCall`, by the debug hook, along with a hook that the script may set. */
#ifndef LUA_HOST_CALLS_H
#define LUA_HOST_CALLS_H

#include <lua.h>

#include <stdbool.h>
#include <stdint.h>

/* Call right after the state is created. Raises no error. */
void calls_open(lua_State *L);

/* Replaces debug.sethook and debug.gethook, whether calls are wanted or not. */
void calls_install(lua_State *L);

/* At a safe point: from change number `number` on, calls are wanted or not. Takes effect in each
 * coroutine when it is entered. */
void calls_change(uint64_t number, bool wanted);

/* `L` runs from now on: sets or removes the hook if there was a change since it last ran, and emits
 * the frames that sessions have missed. `record`: a hook's, or NULL outside of a hook. While calls
 * are wanted, needs functions_init() and an allocator that calls functions_block_freed(). Raises no
 * error. */
void calls_enter(lua_State *L, const lua_Debug *record);

/* `coroutine` was just created by `L`, and has inherited its hook. */
void calls_inherit(lua_State *L, lua_State *coroutine);

/* The number of the function of an activation record, the one in `Call` while calls are wanted. Needs
 * one free slot on the stack; raises no error; 0 if there is none. */
uint64_t calls_function(lua_State *L, lua_Debug *record);

/* In a hook of `L`: removes it, and sets the hook for calls again if they are wanted. */
void calls_reset(lua_State *L);

#endif
