#include "safepoint.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define NEXT_EVENT (LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT)

/* Written by any thread. Sequentially consistent: either the request sees that the Lua thread is
 * open and signals it, or the opening sees the request. */
static atomic_bool requested;
static atomic_bool is_open;

/* Written by the Lua thread, and by handlers that run on it. */
static pthread_t lua_thread;
static lua_State *volatile running;
static volatile sig_atomic_t sections; /* between begin and end; also while a request is served */
static void (*serve_request)(lua_State *L, const lua_Debug *record);

/* The hook that the one for a request has displaced in `state`; NULL: none. */
static struct {
    lua_State *volatile state;
    volatile lua_Hook hook;
    volatile int mask;
    volatile int count;
} displaced;

/* A hook for safepoint_sethook() that came between begin and end. */
static struct {
    lua_State *volatile state;
    volatile lua_Hook hook;
} deferred;

static void on_safe_point(lua_State *L, lua_Debug *record);

/* In the handler, which no other one that sets hooks interrupts. Does nothing if the hook is set:
 * lua_sethook() takes as long as the stack is deep, and signals that come faster would stop the
 * script. */
static void displace(lua_State *L)
{
    if (displaced.state != NULL && displaced.state != L)
        return; /* a switch is under way, behind which the request is looked for */
    if (lua_gethook(L) == on_safe_point)
        return;
    displaced.hook = lua_gethook(L);
    displaced.mask = lua_gethookmask(L);
    displaced.count = lua_gethookcount(L);
    displaced.state = L;
    lua_sethook(L, on_safe_point, NEXT_EVENT | (displaced.mask & LUA_MASKLINE), 1);
}

static void restore(void)
{
    lua_State *L = displaced.state;
    if (L != NULL && lua_gethook(L) == on_safe_point)
        lua_sethook(L, displaced.hook, displaced.mask, displaced.count);
    displaced.state = NULL;
}

static void on_signal(int signal)
{
    (void)signal;
    lua_State *L = running;
    if (sections != 0 || !pthread_equal(lua_thread, pthread_self()))
        return;
    lua_Hook hook = deferred.hook;
    deferred.hook = NULL;
    if (hook != NULL)
        lua_sethook(deferred.state, hook, NEXT_EVENT | LUA_MASKLINE, 1);
    if (L != NULL && requested && is_open)
        displace(L);
}

void safepoint_begin(void)
{
    sections = sections + 1;
    restore();
}

/* What came in the section is left to the handler. */
void safepoint_end(void)
{
    sections = sections - 1;
    if (sections == 0 && (deferred.hook != NULL || (requested && is_open)))
        pthread_kill(lua_thread, SAFEPOINT_SIGNAL);
}

/* In a finalizer Lua does not tell the size of the heap. */
static bool in_finalizer(lua_State *L)
{
    return lua_gc(L, LUA_GCCOUNT) < 0;
}

/* Serves one request. If there is another one by then, it has to wait for an instruction of Lua,
 * which so advances however many there are. */
static void reach(lua_State *L, const lua_Debug *record)
{
    safepoint_begin();
    if (requested && is_open && !in_finalizer(L)) {
        requested = false; /* before it is served: what is asked from now on is served again */
        serve_request(L, record);
    }
    safepoint_end();
}

void safepoint_check(lua_State *L)
{
    if (requested)
        reach(L, NULL);
}

/* Passes the event on to the hook that was displaced, or that has taken its place. Not the
 * event of an instruction: only the request counted instructions. */
static void forward(lua_State *L, lua_Debug *record)
{
    sections = sections + 1;
    bool again = lua_gethook(L) == on_safe_point;
    lua_Hook hook = again ? displaced.hook : lua_gethook(L);
    int mask = again ? displaced.mask : lua_gethookmask(L);
    safepoint_end();
    int kind = record->event == LUA_HOOKTAILCALL ? LUA_MASKCALL : 1 << record->event;
    if (kind != LUA_MASKCOUNT && hook != NULL && (mask & kind) != 0)
        hook(L, record);
}

static void on_safe_point(lua_State *L, lua_Debug *record)
{
    safepoint_begin();
    if (lua_gethook(L) == on_safe_point)
        lua_sethook(L, NULL, 0, 0); /* a coroutine that a C module has created inherited it */
    safepoint_end();
    reach(L, record);
    forward(L, record);
}

void safepoint_switch(lua_State *coroutine)
{
    running = coroutine;
}

void safepoint_inherit(lua_State *L, lua_State *coroutine)
{
    if (lua_gethook(coroutine) != on_safe_point)
        return;
    safepoint_begin();
    lua_sethook(coroutine, lua_gethook(L), lua_gethookmask(L), lua_gethookcount(L));
    safepoint_end();
}

void safepoint_sethook(lua_State *L, lua_Hook hook)
{
    if (sections == 0) {
        lua_sethook(L, hook, NEXT_EVENT | LUA_MASKLINE, 1);
    } else {
        deferred.state = L;
        deferred.hook = hook;
    }
}

void safepoint_request(void)
{
    requested = true;
    if (is_open)
        pthread_kill(lua_thread, SAFEPOINT_SIGNAL);
}

void safepoint_open(lua_State *L, void (*serve)(lua_State *L, const lua_Debug *record))
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART; /* the script's system calls continue */
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGINT); /* whose handler sets a hook too */
    sigaction(SAFEPOINT_SIGNAL, &action, NULL);
    serve_request = serve;
    lua_thread = pthread_self();
    running = L;
    is_open = true;
    safepoint_check(L);
}

void safepoint_close(void)
{
    is_open = false;
    safepoint_begin();
    running = NULL;
    safepoint_end();
}
