/*
 * The host's hook for stacks (weir_stack_hook in weir/context.h), and its hooks around a wait
 * (weir_park_hooks in weir/session.h). In `before` the host releases
 * its global lock or enters its safe region; in `after` it takes the lock back or leaves the
 * region.
 *
 * Hooks are called outside the pin and without any lock of the library. A wait takes the pair once,
 * so each `before` is followed by its own `after`, whatever is set meanwhile.
 */
#ifndef WR_EVENT_HOOKS_H
#define WR_EVENT_HOOKS_H

#include <weir/session.h>
#include "base/atomic.h"

/* The host's hook for stacks, valid for good; NULL: none. */
const struct weir_stack_hook *wr_hooks_stack(void);

#ifndef WEIR_SINGLE_THREADED

/* Calls `before`. Pass the result to wr_hooks_after(). Returns NULL and calls nothing if no hooks
 * are set, or if the thread is in a no-block scope, already between the hooks, or a drain
 * thread. */
const struct weir_park_hooks *wr_hooks_before(void);
/* Calls `after` unless `hooks` is NULL. */
void wr_hooks_after(const struct weir_park_hooks *hooks);
/* Sleeps while the word is `value`, between the hooks. May return early. */
void wr_hooks_wait(const struct wr_u32 *word, uint32_t value);

#else

/* Nothing waits here, and the host's thread calls the sink. */
static inline const struct weir_park_hooks *wr_hooks_before(void)
{
    return (const struct weir_park_hooks *)0;
}
static inline void wr_hooks_after(const struct weir_park_hooks *hooks)
{
    (void)hooks;
}
static inline void wr_hooks_wait(const struct wr_u32 *word, uint32_t value)
{
    (void)word;
    (void)value;
}

#endif
#endif
