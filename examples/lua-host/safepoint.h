/*
 * Moments at which the thread that runs Lua may change hooks and the allocator, on request of other
 * threads.
 *
 * A request sets a flag and sends the Lua thread a signal. Its handler sets a hook that fires at
 * the next instruction, call or return of the running coroutine; in that hook, and where the host's
 * own functions ask, the request is served. While nothing is requested, no hook is set, and Lua
 * runs as it would without a host; a switch between coroutines costs a few loads and stores more.
 *
 * Why this is sound:
 *
 * - lua_sethook() may be called in a signal handler, for the coroutine that runs on the same
 *   thread; the standalone interpreter does it for SIGINT. From another thread it may not: it walks
 *   the list of calls, which the Lua thread shortens. Hence the signal, and not the requester, sets
 *   the hook.
 * - Lua cannot tell which coroutine runs. Those that the host's coroutine.resume and its like
 *   resume are noted here, and so is each return from them. A handler that runs between the note
 *   and the switch sets the hook in a coroutine that does not run. That is why the request is
 *   looked for again after each switch, when the note is right.
 * - What the hook displaces, a hook of the script say, is kept until the request is served. One
 *   place for that is enough, as the request is looked for before and after each switch.
 * - Code of the host that sets hooks itself stands between begin and end. There the handler does
 *   nothing, and the end looks for a request.
 * - A handler that runs while Lua has just found that a hook wants no instructions may have its
 *   mark on that one function removed again. Then a function that makes no call at all serves the
 *   request only when it returns. It takes three instructions, only where a hook was set already,
 *   and SIGINT has the same gap in Lua's own interpreter.
 *
 * Coroutines that C modules resume are not noted. Inside them a request waits until they call a
 * function of the host that looks for it, or until the coroutine below them runs again.
 */
#ifndef LUA_HOST_SAFEPOINT_H
#define LUA_HOST_SAFEPOINT_H

#include <lua.h>

#include <signal.h>

/* Ignored by default, and rarely used. Handlers that set hooks block it. */
#define SAFEPOINT_SIGNAL SIGURG

/* Requests are served from now on, on this thread, on which `L` runs; an earlier one at once.
 * `serve` runs at a safe point; `record` is the hook's, or NULL outside of a hook. It raises no
 * error. */
void safepoint_open(lua_State *L, void (*serve)(lua_State *L, const lua_Debug *record));

/* Requests are not served any more. Call before lua_close(). */
void safepoint_close(void);

/* Any thread, but not in a signal handler. */
void safepoint_request(void);

/* Serves a request if there is one. `L` runs. */
void safepoint_check(lua_State *L);

/* `coroutine` runs from now on. After its end call this for the one that continues, and then
 * safepoint_check(). */
void safepoint_switch(lua_State *coroutine);

/* Between these, the host sets or reads hooks, and nothing raises an error. They may be nested. */
void safepoint_begin(void);
void safepoint_end(void);

/* `coroutine` was just created by `L` and has inherited its hook: not the one for a request. */
void safepoint_inherit(lua_State *L, lua_State *coroutine);

/* For another handler, of a signal during which SAFEPOINT_SIGNAL is blocked: sets a hook for the
 * next instruction, call or return of `L`, now or after safepoint_end(). */
void safepoint_sethook(lua_State *L, lua_Hook hook);

#endif
