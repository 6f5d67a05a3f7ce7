#include "activities.h"

#include <lauxlib.h>
#include <weir/context.h>

#include <stdbool.h>

struct activity {
    struct weir_activity activity;
    struct weir_context *chain; /* of the thread when the coroutine next runs */
};

unsigned int activities_entered;
static const char table; /* registry key: coroutine to its activity, weak */

void activities_install(lua_State *L)
{
    lua_newtable(L);
    lua_createtable(L, 0, 1);
    lua_pushliteral(L, "k");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &table);
}

/* Not a child of the chain's newest activity: if a C module has resumed L, that is another
 * coroutine's, which nothing would keep. The library leaves a link to the parent's context, which may
 * be gone when the new one is first in a chain. */
static void start(struct activity *activity, struct activity *parent)
{
    activity->activity = (struct weir_activity)WEIR_ACTIVITY_INIT;
    struct weir_context *before =
        weir_context_swap(parent != NULL ? &parent->activity.context : NULL);
    weir_activity_start(&activity->activity);
    weir_context_swap(before);
    activity->activity.context.next = NULL;
    activity->chain = &activity->activity.context;
}

/* Puts a new activity on the stack. `activities`: the index of the table. */
static void create(lua_State *L, int activities)
{
    struct activity *activity = lua_newuserdatauv(L, sizeof *activity, 1);
    lua_pushthread(L);
    lua_rawget(L, activities);
    start(activity, lua_touserdata(L, -1));
    lua_setiuservalue(L, -2, 1);
}

/* Expects a coroutine on the stack and puts its activity there. */
static void find_or_create(lua_State *L)
{
    int coroutine = lua_gettop(L);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &table);
    lua_pushvalue(L, coroutine);
    if (lua_rawget(L, coroutine + 1) == LUA_TUSERDATA)
        return;
    create(L, coroutine + 1);
    lua_pushvalue(L, coroutine);
    lua_pushvalue(L, -2);
    lua_rawset(L, coroutine + 1);
}

struct activity *activities_take(lua_State *L, int index)
{
    struct activity *activity = NULL;
    int top = lua_gettop(L);
    lua_pushvalue(L, index);
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
    bool is_main = lua_rawequal(L, -2, -1);
    lua_pop(L, 1);
    if (!is_main) {
        find_or_create(L);
        activity = lua_touserdata(L, -1);
    }
    lua_settop(L, top);
    return activity;
}

const struct weir_guid *activities_id(const struct activity *activity)
{
    return activity != NULL ? &activity->activity.guid : NULL;
}

struct weir_context *activities_swap(const struct activity *activity)
{
    if (activity == NULL)
        return weir_context_swap(NULL);
    activities_entered++;
    return weir_context_swap(activity->chain);
}

void activities_swap_back(struct activity *activity, struct weir_context *before)
{
    struct weir_context *chain = weir_context_swap(before);
    if (activity == NULL)
        return;
    activity->chain = chain;
    activities_entered--;
}

void activities_end(void)
{
    weir_context_swap(NULL);
}
