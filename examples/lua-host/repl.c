#include "repl.h"

#include "chunks.h"
#include "runner.h"

#include <lauxlib.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LINE_BYTES_MAX = 512 };
#define INPUT_NAME "=stdin"
#define UNFINISHED "<eof>" /* how the message for an incomplete statement ends */

static void print_prompt(lua_State *L, bool first)
{
    if (lua_getglobal(L, first ? "_PROMPT" : "_PROMPT2") == LUA_TNIL)
        fputs(first ? "> " : ">> ", stdout);
    else
        fputs(luaL_tolstring(L, -1, NULL), stdout);
    lua_settop(L, first ? 0 : 1);
    fflush(stdout);
}

/* Pushes a line without its end; false at the end of the input. In a first line, "=x" is short for
 * "return x". */
static bool push_line(lua_State *L, bool first)
{
    char line[LINE_BYTES_MAX];
    print_prompt(L, first);
    if (fgets(line, sizeof line, stdin) == NULL)
        return false;
    size_t length = strlen(line);
    if (length > 0 && line[length - 1] == '\n')
        line[--length] = '\0';
    if (first && line[0] == '=')
        lua_pushfstring(L, "return %s", line + 1);
    else
        lua_pushlstring(L, line, length);
    return true;
}

static bool is_unfinished(lua_State *L, int status)
{
    if (status != LUA_ERRSYNTAX)
        return false;
    size_t length;
    size_t mark = strlen(UNFINISHED);
    const char *message = lua_tolstring(L, -1, &length);
    return length >= mark && strcmp(message + length - mark, UNFINISHED) == 0;
}

static int load_line(lua_State *L, int index)
{
    size_t length;
    const char *line = lua_tolstring(L, index, &length);
    return chunks_load_buffer(L, line, length, INPUT_NAME);
}

/* Loads the input as an expression: pushes its function, or nothing. */
static bool load_expression(lua_State *L)
{
    const char *expression = lua_pushfstring(L, "return %s", lua_tostring(L, 1));
    if (luaL_loadbuffer(L, expression, strlen(expression), INPUT_NAME) == LUA_OK) {
        lua_remove(L, -2);
        return true;
    }
    lua_pop(L, 2);
    return false;
}

/* Loads the input as a statement, with as many more lines as it needs. */
static int load_statement(lua_State *L)
{
    for (;;) {
        int status = load_line(L, 1);
        if (!is_unfinished(L, status))
            return status;
        lua_settop(L, 1);
        if (!push_line(L, false)) {
            load_line(L, 1); /* load it again for the error message */
            return status;
        }
        lua_pushliteral(L, "\n");
        lua_insert(L, -2);
        lua_concat(L, 3);
    }
}

/* Leaves a function or an error message as the only value. -1: no more input. */
static int load_input(lua_State *L)
{
    lua_settop(L, 0);
    if (!push_line(L, true))
        return -1;
    int status = load_expression(L) ? LUA_OK : load_statement(L);
    lua_remove(L, 1);
    return status;
}

static void print_results(lua_State *L)
{
    int results = lua_gettop(L);
    if (results == 0)
        return;
    luaL_checkstack(L, LUA_MINSTACK, "too many results to print");
    lua_getglobal(L, "print");
    lua_insert(L, 1);
    if (lua_pcall(L, results, 0, 0) != LUA_OK)
        runner_message(lua_pushfstring(L, "error calling 'print' (%s)", lua_tostring(L, -1)));
}

void repl_run(lua_State *L)
{
    const char *program = runner_set_program(NULL);
    int status;
    while ((status = load_input(L)) != -1) {
        if (status == LUA_OK)
            status = runner_call(L, 0, LUA_MULTRET);
        if (status == LUA_OK)
            print_results(L);
        else
            runner_report(L, status);
    }
    lua_settop(L, 0);
    fputc('\n', stdout);
    fflush(stdout);
    runner_set_program(program);
}
