#include "calls.h"

#include "functions.h"
#include "provider.h"

#include <lauxlib.h>
#include <lualib.h>

#include <stddef.h>
#include <string.h>

/*
 * One hook function serves both the events and the script's own hook. The script's hook mask must
 * be kept per coroutine and inherited by new ones, as Lua does with its mask. Lua inherits the C
 * hook too, so the choice among the functions below encodes whether the script wants calls and
 * returns; lines and counts, which events do not need, are in Lua's own mask.
 */
#define EVENTS_MASK (LUA_MASKCALL | LUA_MASKRET)

static bool installed;
static lua_CFunction plain_sethook;
static lua_Hook script_hook;        /* the debug library's, which calls the script's function */
static const char script_functions; /* registry key: coroutine to its hook function, weak */

/*
 * The functions that were entered, by the address of their activation record. The address is only a
 * token: before a record is reused there is a call event, so the entry is always its latest
 * function. This saves half of the look-ups. A collision only costs one.
 */
enum { FRAMES = 4096 };
static struct {
    const void *record;
    uint64_t function;
} frames[FRAMES];

static size_t frame_slot(const lua_Debug *record)
{
    return ((uintptr_t)record->i_ci >> 4) % FRAMES;
}

static uint64_t function_entered(lua_State *L, lua_Debug *record)
{
    size_t slot = frame_slot(record);
    frames[slot].function = functions_id(L, record);
    frames[slot].record = record->i_ci;
    return frames[slot].function;
}

static uint64_t function_left(lua_State *L, lua_Debug *record)
{
    size_t slot = frame_slot(record);
    if (frames[slot].record == record->i_ci)
        return frames[slot].function;
    return functions_id(L, record);
}

static inline void emit_call(lua_State *L, lua_Debug *record)
{
    switch (record->event) {
    case LUA_HOOKCALL:
        WEIR_EMIT(Lua, Call, function_entered(L, record), (uintptr_t)L);
        break;
    case LUA_HOOKRET:
        WEIR_EMIT(Lua, Return, function_left(L, record), (uintptr_t)L);
        break;
    case LUA_HOOKTAILCALL:
        WEIR_EMIT(Lua, TailCall, function_entered(L, record), (uintptr_t)L);
        break;
    default:
        break;
    }
}

static void hook_events(lua_State *L, lua_Debug *record)
{
    emit_call(L, record);
}

/* `mask`: whether the script wants calls and returns. */
static inline void emit_and_forward(lua_State *L, lua_Debug *record, int mask)
{
    int kind = record->event == LUA_HOOKTAILCALL ? LUA_MASKCALL : 1 << record->event;
    emit_call(L, record);
    if ((kind & EVENTS_MASK) == 0 || (kind & mask) != 0)
        script_hook(L, record);
}

static void hook_neither(lua_State *L, lua_Debug *record)
{
    emit_and_forward(L, record, 0);
}

static void hook_calls(lua_State *L, lua_Debug *record)
{
    emit_and_forward(L, record, LUA_MASKCALL);
}

static void hook_returns(lua_State *L, lua_Debug *record)
{
    emit_and_forward(L, record, LUA_MASKRET);
}

static void hook_both(lua_State *L, lua_Debug *record)
{
    emit_and_forward(L, record, LUA_MASKCALL | LUA_MASKRET);
}

/* Indexed by what the script wants: calls (1) and returns (2). */
static const lua_Hook forwarding_hooks[4] = {hook_neither, hook_calls, hook_returns, hook_both};

/* Whether the script wants calls and returns in this coroutine; -1: our hook is not set there. */
static int script_mask(lua_State *L)
{
    lua_Hook hook = lua_gethook(L);
    for (int mask = 0; mask < 4; mask++)
        if (forwarding_hooks[mask] == hook)
            return mask;
    return -1;
}

static lua_State *target_of(lua_State *L)
{
    return lua_isthread(L, 1) ? lua_tothread(L, 1) : L;
}

/* Puts script_functions and the target, as a value, on L's stack. */
static void push_key(lua_State *L, lua_State *target)
{
    if (L != target && !lua_checkstack(target, 1))
        luaL_error(L, "stack overflow");
    lua_rawgetp(L, LUA_REGISTRYINDEX, &script_functions);
    lua_pushthread(target);
    lua_xmove(target, L, 1);
}

/* Lua's own function sets the hook; then the hook is changed to serve events too. */
static int watched_sethook(lua_State *L)
{
    lua_State *target = target_of(L);
    int function = lua_isthread(L, 1) ? 2 : 1;
    int results = plain_sethook(L); /* leaves the arguments in place */
    push_key(L, target);
    lua_pushvalue(L, function);
    lua_rawset(L, -3);
    int mask = lua_gethookmask(target);
    if (lua_gethook(target) == NULL) {
        lua_sethook(target, hook_events, EVENTS_MASK, 0);
    } else {
        script_hook = lua_gethook(target);
        lua_sethook(target, forwarding_hooks[mask & EVENTS_MASK], mask | EVENTS_MASK,
                    lua_gethookcount(target));
    }
    return results;
}

static int watched_gethook(lua_State *L)
{
    lua_State *target = target_of(L);
    int mask = script_mask(target);
    if (mask < 0 && (lua_gethook(target) == hook_events || lua_gethook(target) == NULL)) {
        luaL_pushfail(L);
        return 1;
    }
    if (mask < 0) {
        mask = lua_gethookmask(target);
        lua_pushliteral(L, "external hook");
    } else {
        mask |= lua_gethookmask(target) & ~EVENTS_MASK;
        push_key(L, target);
        lua_rawget(L, -2);
    }
    char text[4];
    size_t length = 0;
    if ((mask & LUA_MASKCALL) != 0)
        text[length++] = 'c';
    if ((mask & LUA_MASKRET) != 0)
        text[length++] = 'r';
    if ((mask & LUA_MASKLINE) != 0)
        text[length++] = 'l';
    lua_pushlstring(L, text, length);
    lua_pushinteger(L, lua_gethookcount(target));
    return 3;
}

static void create_script_functions(lua_State *L)
{
    lua_newtable(L);
    lua_createtable(L, 0, 1);
    lua_pushliteral(L, "k");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &script_functions);
}

bool calls_wanted(void)
{
    return LUA_WANTS(Call);
}

void calls_install(lua_State *L)
{
    static const luaL_Reg watched[] = {
        {"sethook", watched_sethook},
        {"gethook", watched_gethook},
        {NULL, NULL},
    };
    create_script_functions(L);
    lua_getglobal(L, LUA_DBLIBNAME);
    lua_getfield(L, -1, "sethook");
    plain_sethook = lua_tocfunction(L, -1);
    lua_pop(L, 1);
    luaL_setfuncs(L, watched, 0);
    lua_pop(L, 1);
    installed = true;
    lua_sethook(L, hook_events, EVENTS_MASK, 0);
}

void calls_reset(lua_State *L)
{
    if (!installed) {
        lua_sethook(L, NULL, 0, 0);
        return;
    }
    memset(frames, 0, sizeof frames); /* calls were missed */
    lua_sethook(L, hook_events, EVENTS_MASK, 0);
}
