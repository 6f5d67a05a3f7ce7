#include "frames.h"

#include "functions.h"
#include "instruments.h"
#include "provider.h"
#include "watch.h"

#include <stddef.h>

enum { FRAMES_MAX = 1000 };

/* The number of frames, or FRAMES_MAX if there are more. By bisection: lua_getstack() walks over
 * those that it is to skip, and a runaway recursion has hundreds of thousands. */
static int count_frames(lua_State *L)
{
    lua_Debug record;
    int count = 0;
    int beyond = FRAMES_MAX;
    while (count < beyond) {
        int middle = count + (beyond - count) / 2;
        if (lua_getstack(L, middle, &record))
            count = middle + 1;
        else
            beyond = middle;
    }
    return count;
}

static void emit_to(const struct watch_session *session, lua_State *L, int innermost)
{
    lua_Debug record;
    for (int level = count_frames(L) - 1; level >= innermost; level--)
        if (lua_getstack(L, level, &record))
            Lua_Frame_to(session->id, functions_id(L, &record), (uintptr_t)L,
                         (uint32_t)(level - innermost));
}

void frames_emit(lua_State *L, uint64_t since, bool entering)
{
    size_t count;
    const struct watch_session *sessions = instruments_sessions(&count);
    if (!lua_checkstack(L, 1))
        return;
    for (size_t i = 0; i < count; i++)
        if (sessions[i].calls_since > since)
            emit_to(&sessions[i], L, entering ? 1 : 0);
}
