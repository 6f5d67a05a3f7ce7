#include "errors.h"

#include "activities.h"
#include "provider.h"
#include "stacks.h"
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

/* Of the error for which a message handler of the host ran; no frames: none. A protected call that
 * begins or ends meanwhile, in a function that closes a variable, forgets it. */
static struct stack raised;

void errors_raised(lua_State *L)
{
    raised.count = 0;
    if (LUA_WANTS(Error))
        stack_append(&raised, L, 1);
}

static void emit(lua_State *L, int index, int status, struct weir_context *context,
                 const struct stack *stack)
{
    struct text message;
    text_from_error(&message, L, index);
    context->stack = stack->addresses;
    context->stack_count = stack->count;
    Lua_Error_with(context, message.bytes, kind_of(status));
}

void errors_caught(lua_State *L, int index, int status)
{
    struct weir_context context = WEIR_CONTEXT_INIT;
    if (LUA_WANTS(Error)) {
        if (raised.count == 0 || status != LUA_ERRRUN) {
            raised.count = 0;
            stack_append(&raised, L, 0);
        }
        emit(L, index, status, &context, &raised);
    }
    raised.count = 0;
}

void errors_caught_from(lua_State *L, lua_State *coroutine, const struct activity *activity,
                        int index)
{
    struct weir_context context = WEIR_CONTEXT_INIT;
    struct stack stack = {.count = 0};
    if (!LUA_WANTS(Error))
        return;
    stack_append(&stack, coroutine, 0);
    stack_append(&stack, L, 0);
    context.activity_id = activities_id(activity);
    emit(L, index, lua_status(coroutine), &context, &stack);
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
    raised.count = 0;
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
    raised.count = 0;
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
