#include "instruments.h"

#include "allocation.h"
#include "calls.h"
#include "chunks.h"
#include "coroutines.h"
#include "cycles.h"
#include "errors.h"
#include "functions.h"
#include "provider.h"
#include "trace.h"

#include <lauxlib.h>
#include <lualib.h>

#include <stdlib.h>

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

void instruments_open(lua_State *L)
{
    if (LUA_WANTS(Alloc) || LUA_WANTS(GCCycle) || calls_wanted())
        allocation_install(L);
}

void instruments_install(lua_State *L)
{
    if (trace_is_on())
        install_exit(L);
    errors_install(L);
    chunks_install(L);
    coroutines_install(L);
    if (LUA_WANTS(GCCycle))
        cycles_install(L);
    if (calls_wanted()) {
        functions_init(L);
        calls_install(L);
    }
}

void instruments_close(lua_State *L)
{
    cycles_end();
    lua_close(L);
}
