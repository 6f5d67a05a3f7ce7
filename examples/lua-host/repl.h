/* The interactive mode: read, evaluate, print. */
#ifndef LUA_HOST_REPL_H
#define LUA_HOST_REPL_H

#include <lua.h>

/* Runs until the end of standard input. */
void repl_run(lua_State *L);

#endif
