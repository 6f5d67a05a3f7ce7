#include "coroutines.h"

#include "activities.h"
#include "calls.h"
#include "errors.h"
#include "provider.h"
#include "safepoint.h"

#include <lauxlib.h>
#include <lualib.h>

#include <stdbool.h>
#include <stddef.h>

/* Lua's own, for the error if the argument is not a coroutine. */
static lua_CFunction plain_resume;
static lua_CFunction plain_close;

enum state {
    DEAD,
    SUSPENDED,
    NORMAL,
    RUNNING,
};

static enum state state_of(lua_State *L, lua_State *coroutine)
{
    lua_Debug record;
    if (coroutine == L)
        return RUNNING;
    if (lua_status(coroutine) == LUA_YIELD)
        return SUSPENDED;
    if (lua_status(coroutine) != LUA_OK)
        return DEAD; /* by an error */
    if (lua_getstack(coroutine, 0, &record))
        return NORMAL; /* it has resumed another coroutine */
    /* Not started: its function is still on its stack. */
    return lua_gettop(coroutine) == 0 ? DEAD : SUSPENDED;
}

/* Call this before the state is looked at: it may run finalizers. */
static inline struct activity *activity_of(lua_State *L, int index)
{
    return LUA_WANTS(CoroutineResume) ? activities_take(L, index) : NULL;
}

static int watched_create(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_State *coroutine = lua_newthread(L);
    calls_inherit(L, coroutine);
    struct activity *activity = activity_of(L, -1);
    struct weir_context *before = activities_enter(activity);
    WEIR_EMIT(Lua, CoroutineCreate, (uintptr_t)coroutine);
    activities_leave(activity, before);
    lua_pushvalue(L, 1);
    lua_xmove(L, coroutine, 1);
    return 1;
}

/* Control goes from L to a coroutine that waits for it, and comes back with what this returns. Then
 * `CoroutineResume` is due, and then calls_enter(). */
static struct weir_context *enter(lua_State *L, lua_State *coroutine, struct activity *activity)
{
    safepoint_check(L);
    struct weir_context *before = activities_enter(activity);
    safepoint_switch(coroutine);
    return before;
}

static void leave(lua_State *L, struct activity *activity, struct weir_context *before)
{
    activities_leave(activity, before);
    safepoint_switch(L);
    safepoint_check(L);
    calls_enter(L, NULL);
}

/* Resumes with the arguments on top of L's stack and replaces them with the results; returns their
 * number. Less than 0: the error object is on top. `*caught` is set if the coroutine raised it. */
static int resume(lua_State *L, lua_State *coroutine, struct activity *activity, int arguments,
                  bool *caught)
{
    struct weir_context *before = NULL;
    int results;
    *caught = false;
    if (!lua_checkstack(coroutine, arguments)) {
        lua_pushliteral(L, "too many arguments to resume");
        return -1;
    }
    /* Checked before the arguments are moved. If false, lua_resume() refuses, and nothing
     * switches. */
    bool runs = state_of(L, coroutine) == SUSPENDED;
    if (runs) {
        before = enter(L, coroutine, activity);
        WEIR_EMIT(Lua, CoroutineResume, (uintptr_t)coroutine, (uintptr_t)L);
        calls_enter(coroutine, NULL);
    }
    lua_xmove(L, coroutine, arguments);
    int status = lua_resume(coroutine, L, arguments, &results);
    if (runs) {
        WEIR_EMIT(Lua, CoroutineYield, (uintptr_t)coroutine, (uintptr_t)L, status != LUA_YIELD);
        leave(L, activity, before);
    }
    if (status != LUA_OK && status != LUA_YIELD) {
        lua_xmove(coroutine, L, 1);
        *caught = runs;
        return -1;
    }
    if (!lua_checkstack(L, results + 1)) {
        lua_pop(coroutine, results);
        lua_pushliteral(L, "too many results to resume");
        return -1;
    }
    lua_xmove(coroutine, L, results);
    return results;
}

/* Closes the coroutine's pending to-be-closed variables, whose functions run in it. `ends`: it was
 * suspended. */
static int reset(lua_State *L, lua_State *coroutine, struct activity *activity, bool ends)
{
    struct weir_context *before = enter(L, coroutine, activity);
    calls_enter(coroutine, NULL);
    int status = lua_resetthread(coroutine);
    if (ends)
        WEIR_EMIT(Lua, CoroutineYield, (uintptr_t)coroutine, (uintptr_t)L, true);
    leave(L, activity, before);
    return status;
}

static int watched_resume(lua_State *L)
{
    bool caught;
    lua_State *coroutine = lua_tothread(L, 1);
    if (coroutine == NULL)
        return plain_resume(L);
    struct activity *activity = activity_of(L, 1);
    int results = resume(L, coroutine, activity, lua_gettop(L) - 1, &caught);
    if (caught)
        errors_caught_from(L, coroutine, activity, -1);
    lua_pushboolean(L, results >= 0);
    if (results < 0)
        results = 1;
    lua_insert(L, -(results + 1));
    return results + 1;
}

/* The function that coroutine.wrap returns. It passes errors on, so the function that catches them
 * reports them. */
static int call_wrapped(lua_State *L)
{
    bool caught;
    lua_State *coroutine = lua_tothread(L, lua_upvalueindex(1));
    struct activity *activity = activity_of(L, lua_upvalueindex(1));
    int results = resume(L, coroutine, activity, lua_gettop(L), &caught);
    if (results >= 0)
        return results;
    int status = lua_status(coroutine);
    if (status != LUA_OK && status != LUA_YIELD) {
        status = reset(L, coroutine, activity, false);
        lua_xmove(coroutine, L, 1);
    }
    if (status != LUA_ERRMEM && lua_type(L, -1) == LUA_TSTRING) {
        luaL_where(L, 1);
        lua_insert(L, -2);
        lua_concat(L, 2);
    }
    return lua_error(L);
}

static int watched_wrap(lua_State *L)
{
    watched_create(L);
    lua_pushcclosure(L, call_wrapped, 1);
    return 1;
}

static int watched_close(lua_State *L)
{
    lua_State *coroutine = lua_tothread(L, 1);
    struct activity *activity = coroutine != NULL ? activity_of(L, 1) : NULL;
    enum state state = coroutine != NULL ? state_of(L, coroutine) : RUNNING;
    if (state != DEAD && state != SUSPENDED)
        return plain_close(L); /* refuses */
    int status = reset(L, coroutine, activity, state == SUSPENDED);
    lua_pushboolean(L, status == LUA_OK);
    if (status == LUA_OK)
        return 1;
    lua_xmove(coroutine, L, 1);
    if (state == SUSPENDED)
        errors_caught(L, -1, status); /* for a dead one, its resume has reported the error */
    return 2;
}

void coroutines_install(lua_State *L)
{
    static const luaL_Reg watched[] = {
        {"create", watched_create},
        {"resume", watched_resume},
        {"wrap", watched_wrap},
        {"close", watched_close},
        {NULL, NULL},
    };
    lua_getglobal(L, LUA_COLIBNAME);
    lua_getfield(L, -1, "resume");
    plain_resume = lua_tocfunction(L, -1);
    lua_getfield(L, -2, "close");
    plain_close = lua_tocfunction(L, -1);
    lua_pop(L, 2);
    luaL_setfuncs(L, watched, 0);
    lua_pop(L, 1);
}
