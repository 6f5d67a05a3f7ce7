/* The provider, and what sessions want of the instruments, as its watcher is told. */
#ifndef LUA_HOST_WATCH_H
#define LUA_HOST_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A session that wants events which come from an instrument: calls, allocation, collections. */
struct watch_session {
    uint64_t id;          /* weir_session_id() */
    uint64_t keywords;    /* of those events, the ones that it wants; not 0 */
    uint64_t calls_since; /* the change from which on it gets calls; 0: it does not want them */
    bool is_new;          /* its wishes were not taken before */
};

/* 64 sessions run at a time; some more have ended, which was not told yet. */
enum { WATCH_SESSIONS_MAX = 128 };

/* Registers the provider, before anything can be traced. Requests a safe point whenever what is
 * wanted of the instruments changes. False after printing the reason on stderr. */
bool watch_begin(const char *program);

/* For a safe point: copies the sessions to `sessions` and returns their number. `change` is the
 * number of this change of the instruments, greater than that of the last one. Any thread; waits
 * for a watcher that stores a session's wishes. */
size_t watch_take(uint64_t change, struct watch_session *sessions);

#endif
