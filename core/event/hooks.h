/*
 * The host's hooks around a wait (weir_park_hooks in weir/session.h): before, where it lets go of
 * its global lock or enters its safe region, and after, where it takes that back.
 *
 * Called outside the pin, without any lock of ours. A wait takes the pair once, so that each before
 * has its after, whatever is set meanwhile.
 */
#ifndef WR_EVENT_HOOKS_H
#define WR_EVENT_HOOKS_H

#include <weir/session.h>

#ifndef WEIR_SINGLE_THREADED

/* Calls the before hook; what it returns is for wr_hooks_after(). NULL if none is called: there are
 * none, or the thread is in a no-block scope, between the hooks already, or a drain thread. */
const struct weir_park_hooks *wr_hooks_before(void);
/* `hooks` may be NULL. */
void wr_hooks_after(const struct weir_park_hooks *hooks);

#else

/* Nothing waits, and the sink is called by the host's thread. */
static inline const struct weir_park_hooks *wr_hooks_before(void)
{
    return (const struct weir_park_hooks *)0;
}
static inline void wr_hooks_after(const struct weir_park_hooks *hooks)
{
    (void)hooks;
}

#endif
#endif
