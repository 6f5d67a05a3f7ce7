/* Calls Lua as the standalone interpreter does: SIGINT interrupts it, an error gets a traceback and
 * is reported on stderr. */
#ifndef LUA_HOST_RUNNER_H
#define LUA_HOST_RUNNER_H

#include <lua.h>

/* Sets the program's name for messages; NULL for none. Returns the previous one. */
const char *runner_set_program(const char *name);

/* Writes "program: message" to stderr. */
void runner_message(const char *message);

/* If `status` is an error, reports it, emits `Error` and pops the error object. Returns
 * `status`. */
int runner_report(lua_State *L, int status);

/* Calls the function below `arguments` values, like lua_call(), but protected. */
int runner_call(lua_State *L, int arguments, int results);

#endif
