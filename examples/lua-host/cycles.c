#include "cycles.h"

#include "allocation.h"
#include "provider.h"

#include <stdbool.h>
#include <stdint.h>

static uint32_t cycle_count;
static bool is_wanted;
static bool has_sentinel;
static bool ended;

/* Expects the sentinel's metatable on top of the stack, and leaves it there. */
static void sentinel_create(lua_State *L)
{
    lua_newuserdatauv(L, 0, 0);
    lua_pushvalue(L, -2);
    lua_setmetatable(L, -2);
    lua_pop(L, 1);
}

static int sentinel_collected(lua_State *L)
{
    has_sentinel = false;
    if (ended || !is_wanted)
        return 0;
    cycle_count++;
    WEIR_EMIT(Lua, GCCycle, cycle_count, allocation_heap_bytes());
    lua_pushvalue(L, lua_upvalueindex(1));
    sentinel_create(L);
    has_sentinel = true;
    return 0;
}

static int create_first(lua_State *L)
{
    lua_createtable(L, 0, 1);
    lua_pushvalue(L, -1);
    lua_pushcclosure(L, sentinel_collected, 1);
    lua_setfield(L, -2, "__gc");
    sentinel_create(L);
    return 0;
}

void cycles_update(lua_State *L, bool wanted)
{
    is_wanted = wanted;
    if (!wanted || has_sentinel || !lua_checkstack(L, 1))
        return;
    has_sentinel = true; /* before it can be collected */
    lua_pushcfunction(L, create_first);
    if (lua_pcall(L, 0, 0, 0) != LUA_OK) {
        lua_pop(L, 1);
        has_sentinel = false;
    }
}

void cycles_end(void)
{
    ended = true;
}
