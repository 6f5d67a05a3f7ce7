#include "errors.h"

#include "provider.h"
#include "text.h"

#include <lauxlib.h>

static const char *kind_of(int status)
{
    switch (status) {
    case LUA_ERRRUN:
        return "runtime";
    case LUA_ERRSYNTAX:
        return "syntax";
    case LUA_ERRMEM:
        return "memory";
    case LUA_ERRERR:
        return "handler";
    case LUA_ERRFILE:
        return "file";
    default:
        return "";
    }
}

void errors_caught(lua_State *L, int index, int status)
{
    if (!LUA_WANTS(Error))
        return;
    struct text message;
    text_from_error(&message, L, index);
    Lua_Error(message.bytes, kind_of(status));
}

/* The results of a protected call, possibly continued after a yield. The lowest `below` values on
 * the stack are not results. */
static int results_of(lua_State *L, int status, lua_KContext below)
{
    if (status == LUA_OK || status == LUA_YIELD)
        return lua_gettop(L) - (int)below;
    errors_caught(L, -1, status);
    lua_pushboolean(L, 0);
    lua_pushvalue(L, -2);
    return 2;
}

/* One C frame each, like Lua's own, and a continuation, so that levels, tracebacks and yields
 * across them are the same as in plain Lua. */
static int watched_pcall(lua_State *L)
{
    luaL_checkany(L, 1);
    lua_pushboolean(L, 1);
    lua_insert(L, 1);
    int status = lua_pcallk(L, lua_gettop(L) - 2, LUA_MULTRET, 0, 0, results_of);
    return results_of(L, status, 0);
}

static int watched_xpcall(lua_State *L)
{
    enum { FUNCTION = 1, HANDLER = 2 };
    int arguments = lua_gettop(L) - HANDLER;
    luaL_checktype(L, HANDLER, LUA_TFUNCTION);
    lua_pushboolean(L, 1);
    lua_pushvalue(L, FUNCTION);
    lua_rotate(L, HANDLER + 1, 2); /* function, handler, true, function, arguments */
    int status = lua_pcallk(L, arguments, LUA_MULTRET, HANDLER, HANDLER, results_of);
    return results_of(L, status, HANDLER);
}

void errors_install(lua_State *L)
{
    lua_register(L, "pcall", watched_pcall);
    lua_register(L, "xpcall", watched_xpcall);
}
