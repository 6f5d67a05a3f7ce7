/* Events with a stack from the host's hook, or with a context for themselves. */
#include <errno.h>
#include <pthread.h>
#include "event/event.h"
#include "event/hooks.h"
#include "event/with.h"
#include "lane/thread.h"

/* The hook is the host's code. Cancellation is off, because an event is no cancellation point. */
static int32_t call(const struct weir_stack_hook *hook, uint64_t *addresses)
{
    int error = errno, cancel_state;
    uint32_t last_loss = *wr_self_last_loss();
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    int32_t count = hook->capture(hook->context, addresses, (int32_t)hook->frames_max);
    pthread_setcancelstate(cancel_state, NULL);
    *wr_self_last_loss() = last_loss;
    errno = error;
    return count;
}

static void capture(struct wr_extra *extra, const struct weir_stack_hook *hook, uint64_t *addresses)
{
    struct wr_thread *thread = wr_context_attach();
    if (!thread || thread->is_capturing)
        return;
    thread->is_capturing = true;
    wr_compiler_barrier(); /* the hook may jump: weir_thread_reset() then finds the word set */
    int32_t count = call(hook, addresses), most = (int32_t)hook->frames_max;
    wr_compiler_barrier();
    thread->is_capturing = false;
    extra->stack = addresses;
    extra->stack_count = (uint32_t)(count < 0 ? 0 : count < most ? count : most);
    extra->is_cut = count > most;
}

/* Is the hook's stack wanted, and may the hook be called? */
static bool is_wanted(const struct weir_event *event, const struct weir_context *context)
{
    const struct weir_context *newest = context          ? context
                                        : wr_self.thread ? wr_self.thread->context
                                                         : NULL;
    return !wr_self.capture && !wr_self_is_inside() && !(newest && newest->stack) &&
           wr_slots_want_stacks(event);
}

static bool emit_with_hook(const struct weir_event *event, const void *payload,
                           const struct weir_context *context, const struct weir_stack_hook *hook)
{
    uint64_t addresses[WR_STACK_FRAMES_MAX];
    struct wr_extra extra = {.context = context};
    capture(&extra, hook, addresses);
    return wr_emit_extra(event, payload, &extra);
}

WEIR_API bool weir_emit_stack(const struct weir_event *event, const void *payload)
{
    const struct weir_stack_hook *hook = wr_hooks_stack();
    if (!hook || !is_wanted(event, NULL))
        return weir_emit(event, payload);
    return emit_with_hook(event, payload, NULL, hook);
}

WEIR_API bool weir_emit_with(const struct weir_event *event, const void *payload,
                             const struct weir_context *context)
{
    const struct wr_event_definition *definition = wr_definition_of(event);
    const struct weir_stack_hook *hook = wr_hooks_stack();
    if (hook && definition && definition->has_stack && is_wanted(event, context))
        return emit_with_hook(event, payload, context, hook);
    return wr_emit_extra(event, payload, &(struct wr_extra){.context = context});
}
