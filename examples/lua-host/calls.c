#include "calls.h"

#include "frames.h"
#include "functions.h"
#include "provider.h"
#include "safepoint.h"

#include <lauxlib.h>
#include <lualib.h>

#include <stddef.h>
#include <string.h>

/*
 * One hook function serves both the events and the script's own hook. The script's hook mask must
 * be kept per coroutine and inherited by new ones, as Lua does with its mask. Lua inherits the C
 * hook too, so the choice among the functions below encodes whether the script wants calls and
 * returns; lines and counts, which events do not need, are in Lua's own mask.
 *
 * While calls are not wanted, a script's hook is call_script_hook() with the script's mask, and
 * without one there is no hook, as in plain Lua.
 */
#define EVENTS_MASK (LUA_MASKCALL | LUA_MASKRET)

static bool is_on;                  /* calls are wanted */
static uint64_t change_number;      /* of the latest change of what is wanted */
static const char script_functions; /* registry key: coroutine to its hook function, weak */

/* The change up to which a coroutine's hook is right, and its frames have been emitted. Kept in the
 * memory that Lua has in each coroutine for its host. */
static uint64_t *seen_change(lua_State *L)
{
    _Static_assert(LUA_EXTRASPACE >= sizeof(uint64_t), "a coroutine has no room for a number");
    return lua_getextraspace(L);
}

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

/* The table of frames is kept right even if no session wants the event just now. */
static inline void emit_call(lua_State *L, lua_Debug *record)
{
    if (*seen_change(L) != change_number)
        calls_enter(L, record); /* a coroutine that a C module has resumed */
    if (!is_on)
        return;
    uint64_t function;
    switch (record->event) {
    case LUA_HOOKCALL:
        function = function_entered(L, record);
        WEIR_EMIT(Lua, Call, function, (uintptr_t)L);
        break;
    case LUA_HOOKRET:
        WEIR_EMIT(Lua, Return, function_left(L, record), (uintptr_t)L);
        break;
    case LUA_HOOKTAILCALL:
        function = function_entered(L, record);
        WEIR_EMIT(Lua, TailCall, function, (uintptr_t)L);
        break;
    default:
        break;
    }
}

static void hook_events(lua_State *L, lua_Debug *record)
{
    emit_call(L, record);
}

/* Calls the function that the script has given for this coroutine; a new one has inherited the mask
 * without it. The same as the debug library's hook. */
static void call_script_hook(lua_State *L, lua_Debug *record)
{
    static const char *const names[] = {"call", "return", "line", "count", "tail call"};
    lua_rawgetp(L, LUA_REGISTRYINDEX, &script_functions);
    lua_pushthread(L);
    if (lua_rawget(L, -2) != LUA_TFUNCTION)
        return; /* Lua takes back what a hook leaves on the stack */
    lua_pushstring(L, names[record->event]);
    if (record->currentline >= 0)
        lua_pushinteger(L, record->currentline);
    else
        lua_pushnil(L);
    lua_call(L, 2, 0);
}

/* `mask`: whether the script wants calls and returns. */
static inline void emit_and_forward(lua_State *L, lua_Debug *record, int mask)
{
    int kind = record->event == LUA_HOOKTAILCALL ? LUA_MASKCALL : 1 << record->event;
    emit_call(L, record);
    if ((kind & EVENTS_MASK) == 0 || (kind & mask) != 0)
        call_script_hook(L, record);
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

/* Sets the hook that `L` is to have. Lua starts a script's count anew. */
static void update(lua_State *L)
{
    lua_Hook hook = lua_gethook(L);
    int mask = lua_gethookmask(L);
    int count = lua_gethookcount(L);
    int script = script_mask(L);
    if (is_on && hook == NULL)
        lua_sethook(L, hook_events, EVENTS_MASK, 0);
    else if (is_on && hook == call_script_hook)
        lua_sethook(L, forwarding_hooks[mask & EVENTS_MASK], mask | EVENTS_MASK, count);
    else if (!is_on && hook == hook_events)
        lua_sethook(L, NULL, 0, 0);
    else if (!is_on && script >= 0)
        lua_sethook(L, call_script_hook, (mask & ~EVENTS_MASK) | script, count);
}

void calls_change(uint64_t number, bool wanted)
{
    if (is_on && !wanted)
        functions_forget();
    is_on = wanted;
    change_number = number;
}

void calls_enter(lua_State *L, const lua_Debug *record)
{
    uint64_t seen = *seen_change(L);
    if (seen == change_number)
        return;
    safepoint_begin();
    *seen_change(L) = change_number;
    update(L);
    if (is_on) {
        memset(frames, 0, sizeof frames); /* calls may have been missed */
        frames_emit(L, seen, record != NULL && record->event == LUA_HOOKCALL);
    }
    safepoint_end();
}

uint64_t calls_function(lua_State *L, lua_Debug *record)
{
    return is_on ? functions_id(L, record) : functions_id_described(L, record);
}

void calls_inherit(lua_State *L, lua_State *coroutine)
{
    *seen_change(coroutine) = *seen_change(L);
    safepoint_inherit(L, coroutine);
}

void calls_reset(lua_State *L)
{
    safepoint_begin();
    lua_sethook(L, NULL, 0, 0);
    update(L);
    safepoint_end();
}

/* ---- debug.sethook and debug.gethook. -------------------------------------------------------- */

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

static int mask_of(const char *text, int count)
{
    int mask = count > 0 ? LUA_MASKCOUNT : 0;
    if (strchr(text, 'c') != NULL)
        mask |= LUA_MASKCALL;
    if (strchr(text, 'r') != NULL)
        mask |= LUA_MASKRET;
    if (strchr(text, 'l') != NULL)
        mask |= LUA_MASKLINE;
    return mask;
}

/* Not with Lua's own function: it may raise an error, which must not happen where hooks are set. */
static int watched_sethook(lua_State *L)
{
    lua_State *target = target_of(L);
    int function = lua_isthread(L, 1) ? 2 : 1;
    int mask = 0;
    int count = 0;
    if (lua_isnoneornil(L, function)) {
        lua_settop(L, function);
    } else {
        const char *text = luaL_checkstring(L, function + 1);
        luaL_checktype(L, function, LUA_TFUNCTION);
        count = (int)luaL_optinteger(L, function + 2, 0);
        mask = mask_of(text, count);
    }
    push_key(L, target);
    lua_pushvalue(L, function);
    lua_rawset(L, -3);
    safepoint_begin();
    lua_sethook(target, call_script_hook, mask, count);
    update(target);
    safepoint_end();
    return 0;
}

static int watched_gethook(lua_State *L)
{
    lua_State *target = target_of(L);
    safepoint_begin();
    lua_Hook hook = lua_gethook(target);
    int mask = lua_gethookmask(target);
    int count = lua_gethookcount(target);
    int script = script_mask(target);
    safepoint_end();
    if (hook == NULL || hook == hook_events) {
        luaL_pushfail(L);
        return 1;
    }
    if (script >= 0)
        mask = (mask & ~EVENTS_MASK) | script;
    if (script < 0 && hook != call_script_hook) {
        lua_pushliteral(L, "external hook");
    } else {
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
    lua_pushinteger(L, count);
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

void calls_open(lua_State *L)
{
    *seen_change(L) = change_number; /* Lua leaves it undefined in the main thread */
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
    luaL_setfuncs(L, watched, 0);
    lua_pop(L, 1);
}
