/*
 * The current hooks of the host. Each set is a copy that is never changed or freed, because a thread
 * that has taken it may wait for hours before it calls `after`, or be in `capture`. Equal sets share
 * one copy, so a host that sets and removes its hooks repeatedly does not use more memory each time.
 */
#include "event/hooks.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/host_struct.h"
#include "event/with.h"
#include "lane/thread.h"
#include "os/os.h"

struct copy {
    struct copy *next; /* CONST */
    union {
        struct weir_park_hooks park;
        struct weir_stack_hook stack;
    } hooks; /* CONST */
};

/* Hooks of one kind. */
struct hooks {
    struct wr_ptr copies;  /* edge HOOKS: all copies; the list only grows */
    struct wr_ptr current; /* edge HOOKS: one of the copies, or NULL */
};

static struct hooks park, stack;

static bool is_equal(const struct copy *copy, const void *hooks, size_t bytes)
{
    wr_data_read(&copy->hooks, (uint32_t)bytes);
    return memcmp(&copy->hooks, hooks, bytes) == 0; /* there is no padding */
}

/* Takes no lock, so that a forked child may set hooks even if another thread was in here at the
 * fork. Two threads that set the same hooks at once may make two copies. */
static struct copy *copy_of(struct hooks *kind, const void *hooks, size_t bytes)
{
    /* edge HOOKS.acquire: the copies */
    void *first = wr_ptr_load_acquire(&kind->copies);
    struct copy *copy = first;
    while (copy && !is_equal(copy, hooks, bytes))
        copy = copy->next;
    if (copy || !(copy = calloc(1, sizeof *copy)))
        return copy;
    memcpy(&copy->hooks, hooks, bytes);
    wr_data_written(&copy->hooks, (uint32_t)bytes);
    do {
        copy->next = first;
        /* edge HOOKS.release: the copy */
    } while (!wr_ptr_cas_release(&kind->copies, &first, copy));
    return copy;
}

static enum weir_result set(struct hooks *kind, const void *hooks, size_t bytes)
{
    struct copy *copy = hooks ? copy_of(kind, hooks, bytes) : NULL;
    if (hooks && !copy)
        return WEIR_NO_MEMORY;
    wr_ptr_store_release(&kind->current, copy); /* edge HOOKS.release: the copy */
    return WEIR_OK;
}

WR_COLD enum weir_result weir_park_hooks_set(const struct weir_park_hooks *hooks)
{
    static const struct wr_host_struct kind = {"hooks", "WEIR_PARK_HOOKS_INIT", 32, sizeof *hooks};
    struct weir_park_hooks own = WEIR_PARK_HOOKS_INIT;
    if (hooks &&
        (wr_host_struct_take(&kind, &own, hooks, NULL) != WEIR_OK || !own.before || !own.after))
        return WEIR_BAD_ARGUMENT;
    return set(&park, hooks ? &own : NULL, sizeof own);
}

WR_COLD WEIR_API enum weir_result weir_stack_hook_set(const struct weir_stack_hook *hook)
{
    static const struct wr_host_struct kind = {"hook", "WEIR_STACK_HOOK_INIT", 32, sizeof *hook};
    struct weir_stack_hook own = WEIR_STACK_HOOK_INIT;
    if (hook && (wr_host_struct_take(&kind, &own, hook, NULL) != WEIR_OK || !own.capture ||
                 own.frames_max == 0 || own.frames_max > WR_STACK_FRAMES_MAX || own.reserved))
        return WEIR_BAD_ARGUMENT;
    return set(&stack, hook ? &own : NULL, sizeof own);
}

const struct weir_stack_hook *wr_hooks_stack(void)
{
    /* edge HOOKS.acquire: the copy */
    const struct copy *copy = wr_ptr_load_acquire(&stack.current);
    return copy ? &copy->hooks.stack : NULL;
}

#ifndef WEIR_SINGLE_THREADED

/* The thread is inside the library, so an event that the hook emits is nested. Cancellation is off:
 * the hook may contain a cancellation point, and a thread that ended there would stay in the
 * session's queue. */
static void call(void (*hook)(void *context), void *context)
{
    int error = errno, cancel_state;
    uint32_t last_loss = *wr_self_last_loss();
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    wr_self_enter();
    hook(context);
    wr_self_leave();
    pthread_setcancelstate(cancel_state, NULL);
    *wr_self_last_loss() = last_loss;
    errno = error;
}

WR_COLD void wr_hooks_wait(const struct wr_u32 *word, uint32_t value)
{
    const struct weir_park_hooks *hooks = wr_hooks_before();
    wr_os_futex_wait(word, value, UINT64_MAX);
    wr_hooks_after(hooks);
}

WR_COLD const struct weir_park_hooks *wr_hooks_before(void)
{
    if (wr_self.no_block > 0 || wr_self.has_let_go || wr_self.is_drain)
        return NULL;
    /* edge HOOKS.acquire: the copy */
    const struct copy *copy = wr_ptr_load_acquire(&park.current);
    if (!copy)
        return NULL;
    wr_self.has_let_go = true; /* on_park may wait for another session */
    call(copy->hooks.park.before, copy->hooks.park.context);
    return &copy->hooks.park;
}

WR_COLD void wr_hooks_after(const struct weir_park_hooks *hooks)
{
    if (!hooks)
        return;
    call(hooks->after, hooks->context);
    wr_self.has_let_go = false;
}

#endif
