#include "instruments.h"

#include "activities.h"
#include "allocation.h"
#include "calls.h"
#include "chunks.h"
#include "coroutines.h"
#include "cycles.h"
#include "errors.h"
#include "functions.h"
#include "heap.h"
#include "provider.h"
#include "safepoint.h"
#include "trace.h"
#include "watch.h"

#include <lauxlib.h>
#include <lualib.h>

#include <stdlib.h>

/* Only the thread that runs Lua uses these. */
static uint64_t change; /* counts the changes of the instruments */
static struct watch_session sessions[WATCH_SESSIONS_MAX];
static size_t session_count;

/* os.exit, which ends the trace before the process; may turn a successful status into a failure. */
static int watched_exit(lua_State *L)
{
    int status = EXIT_SUCCESS;
    if (lua_isboolean(L, 1))
        status = lua_toboolean(L, 1) ? EXIT_SUCCESS : EXIT_FAILURE;
    else
        status = (int)luaL_optinteger(L, 1, EXIT_SUCCESS);
    if (lua_toboolean(L, 2))
        instruments_close(L);
    exit(trace_finish(status));
}

static void install_exit(lua_State *L)
{
    lua_getglobal(L, LUA_OSLIBNAME);
    lua_pushcfunction(L, watched_exit);
    lua_setfield(L, -2, "exit");
    lua_pop(L, 1);
}

static bool calls_wanted(void)
{
    return LUA_WANTS(Call) || LUA_WANTS(Return) || LUA_WANTS(TailCall);
}

static bool allocation_wanted(void)
{
    return LUA_WANTS(Alloc) || LUA_WANTS(Free);
}

/* At a safe point: puts in and takes out. What is wanted is read once; if it changes meanwhile,
 * there is another request. The sentinel comes last, as it may run finalizers. */
static void update(lua_State *L, const lua_Debug *record)
{
    bool calls = calls_wanted();
    bool cycles = LUA_WANTS(GCCycle);
    session_count = watch_take(++change, sessions);
    calls_change(change, calls);
    allocation_update(L, calls || cycles || allocation_wanted());
    for (size_t i = 0; i < session_count; i++)
        if (sessions[i].is_new)
            Lua_Attach_to(sessions[i].id, sessions[i].keywords, allocation_heap_bytes(),
                          (uintptr_t)L);
    calls_enter(L, record);
    cycles_update(L, cycles);
    heap_serve(L);
}

const struct watch_session *instruments_sessions(size_t *count)
{
    *count = session_count;
    return sessions;
}

/* Allocation is watched before a hook can be set. */
void instruments_open(lua_State *L)
{
    calls_open(L);
    allocation_update(L, calls_wanted() || LUA_WANTS(GCCycle) || allocation_wanted());
}

void instruments_install(lua_State *L)
{
    install_exit(L);
    errors_install(L);
    chunks_install(L);
    activities_install(L);
    coroutines_install(L);
    functions_init(L);
    calls_install(L);
    heap_open(L);
    safepoint_open(L, update);
}

void instruments_close(lua_State *L)
{
    safepoint_close();
    heap_close();
    cycles_end();
    activities_end();
    lua_close(L);
}
