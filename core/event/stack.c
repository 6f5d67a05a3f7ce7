/* weir_emit_stack(): an event with a stack from the host's hook. */
#include <errno.h>
#include "event/event.h"
#include "event/hooks.h"
#include "event/with.h"
#include "lane/thread.h"

/* What the library's own state must survive: the hook is the host's code. */
static int32_t capture(const struct weir_stack_hook *hook, uint64_t *addresses)
{
    int error = errno;
    uint32_t last_loss = wr_self.last_loss;
    int32_t count = hook->capture(hook->context, addresses, (int32_t)hook->frames_max);
    wr_self.last_loss = last_loss;
    errno = error;
    return count;
}

/* Is the hook's stack wanted, and can the hook be called? Before the thread's first event it has no
 * record, which its contexts are in. */
static bool is_wanted(const struct weir_event *event)
{
    struct wr_thread *thread = wr_self.thread;
    if (wr_self.capture || wr_self_is_inside() || !wr_slots_want_stacks(event))
        return false;
    return !thread || (!thread->has_kept && !(thread->context && thread->context->stack));
}

/* The context takes the place of the next one, whose activity it leaves to be found behind it. */
static void context_fill(struct weir_context *context, const struct weir_stack_hook *hook,
                         uint64_t *addresses)
{
    int32_t count = capture(hook, addresses), most = (int32_t)hook->frames_max;
    context->stack = addresses;
    context->stack_count = (uint32_t)(count < 0 ? 0 : count < most ? count : most);
    context->reserved = count > most;
    if (!context->next)
        return;
    context->related_activity_id = context->next->related_activity_id;
    context->activity = context->next->activity;
}

WEIR_API bool weir_emit_stack(const struct weir_event *event, const void *payload)
{
    const struct weir_stack_hook *hook = wr_hooks_stack();
    if (!hook || !is_wanted(event))
        return weir_emit(event, payload);
    uint64_t addresses[WR_STACK_FRAMES_MAX];
    struct weir_context context = WEIR_CONTEXT_INIT;
    (void)weir_context_push(&context);
    struct wr_thread *thread = wr_self.thread;
    if (!thread)
        return weir_emit(event, payload); /* which is lost */
    thread->context_kept = context.next;
    thread->has_kept = true;
    context_fill(&context, hook, addresses);
    bool is_written = weir_emit(event, payload);
    thread->has_kept = false;
    return weir_context_pop(is_written);
}
