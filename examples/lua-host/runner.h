/* Calling Lua the way the standalone interpreter does: SIGINT interrupts it, an error gets a
 * traceback and is told on stderr. */
#ifndef LUA_HOST_RUNNER_H
#define LUA_HOST_RUNNER_H

#include <lua.h>

/* The program's name before each message; NULL for none. Returns the one before. */
const char *runner_set_program(const char *name);

/* Writes "program: message" to stderr. */
void runner_message(const char *message);

/* If `status` is an error, tells of it, emits `Error` and takes the error object off the stack.
 * Returns `status`. */
int runner_report(lua_State *L, int status);

/* Calls the function below `arguments` values, as lua_call(), protected. */
int runner_call(lua_State *L, int arguments, int results);

#endif
