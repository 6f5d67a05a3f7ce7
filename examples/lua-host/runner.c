#include "runner.h"

#include "calls.h"
#include "errors.h"
#include "safepoint.h"
#include "trace.h"

#include <lauxlib.h>

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char *program = "lua-host";
static lua_State *interruptible; /* read by the signal handler */

const char *runner_set_program(const char *name)
{
    const char *old = program;
    program = name;
    return old;
}

void runner_message(const char *message)
{
    fflush(stdout);
    if (program != NULL)
        fprintf(stderr, "%s: ", program);
    fprintf(stderr, "%s\n", message);
    fflush(stderr);
}

/* ---- Errors. --------------------------------------------------------------------------------- */

/* Emits the error without the traceback that message_handler() appended. */
static void emit_error(lua_State *L, int status)
{
    const char *message = lua_tostring(L, -1);
    const char *traceback = message != NULL ? strstr(message, "\nstack traceback:\n") : NULL;
    if (traceback != NULL)
        lua_pushlstring(L, message, (size_t)(traceback - message));
    else
        lua_pushvalue(L, -1);
    errors_caught(L, -1, status);
    lua_pop(L, 1);
}

int runner_report(lua_State *L, int status)
{
    if (status == LUA_OK)
        return status;
    emit_error(L, status);
    const char *message = lua_tostring(L, -1);
    runner_message(message != NULL ? message : "(error message not a string)");
    lua_pop(L, 1);
    return status;
}

static int message_handler(lua_State *L)
{
    errors_raised(L);
    const char *message = lua_tostring(L, 1);
    if (message == NULL) {
        if (luaL_callmeta(L, 1, "__tostring") && lua_type(L, -1) == LUA_TSTRING)
            return 1;
        message = lua_pushfstring(L, "(error object is a %s value)", luaL_typename(L, 1));
    }
    luaL_traceback(L, L, message, 1);
    return 1;
}

/* ---- SIGINT. --------------------------------------------------------------------------------- */

static void set_interrupt(void (*handler)(int), int flags)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SAFEPOINT_SIGNAL); /* whose handler sets a hook too */
    sigaction(SIGINT, &action, NULL);
}

static void raise_interrupted(lua_State *L, lua_Debug *record)
{
    (void)record;
    calls_reset(L);
    luaL_error(L, "interrupted!");
}

/* A second signal ends the process, in case the script does not reach its next instruction. */
static void on_interrupt(int signal)
{
    (void)signal;
    set_interrupt(trace_fatal_handler(), SA_RESTART);
    safepoint_sethook(interruptible, raise_interrupted);
}

int runner_call(lua_State *L, int arguments, int results)
{
    int handler = lua_gettop(L) - arguments;
    lua_pushcfunction(L, message_handler);
    lua_insert(L, handler);
    interruptible = L;
    set_interrupt(on_interrupt, 0); /* a blocking read fails, so that the hook is reached */
    int status = lua_pcall(L, arguments, results, handler);
    set_interrupt(trace_fatal_handler(), SA_RESTART);
    lua_remove(L, handler);
    return status;
}
