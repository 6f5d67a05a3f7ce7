/*
 * An activity for each coroutine (weir/context.h), so that all events that are emitted while it runs
 * belong together. Its id is a path below that of the coroutine that created it.
 *
 * An activity is in a userdata, the value of a weak table whose key is the coroutine: it lives as long
 * as the coroutine, also if that is abandoned. It keeps its parent's, which the library reads. A
 * coroutine that runs, or waits for one that it has resumed, is not collected, so no activity that is
 * in the thread's chain is.
 *
 * lua_resume() returns however the coroutine ends, so each enter has its leave. os.exit is the
 * exception: activities_end() is for that.
 */
#ifndef LUA_HOST_ACTIVITIES_H
#define LUA_HOST_ACTIVITIES_H

#include <lua.h>

#include <stddef.h>

struct activity;
struct weir_context;
struct weir_guid;

/* Creates the table. May raise an error. */
void activities_install(lua_State *L);

/* The activity of the coroutine at `index`, which gets one if it has none, as a child of L's; NULL
 * for the main thread, whose events take the library's fast path. May raise a memory error, and run
 * finalizers. Leaves the stack as it was, and needs a few slots, as a C function has them. */
struct activity *activities_take(lua_State *L, int index);

/* Its id; NULL for none. */
const struct weir_guid *activities_id(const struct activity *activity);

/* How many activities have been entered and not left. */
extern unsigned int activities_entered;

struct weir_context *activities_swap(const struct activity *activity);
void activities_swap_back(struct activity *activity, struct weir_context *before);

/* Events belong to the activity, or to none if it is NULL, until activities_leave() gets the result.
 * Inline, as coroutines switch often while nothing is traced. */
static inline struct weir_context *activities_enter(const struct activity *activity)
{
    return activity != NULL || activities_entered != 0 ? activities_swap(activity) : NULL;
}

static inline void activities_leave(struct activity *activity, struct weir_context *before)
{
    if (activity != NULL || before != NULL)
        activities_swap_back(activity, before);
}

/* Before lua_close(), which may run in a coroutine: events belong to no activity. */
void activities_end(void);

#endif
