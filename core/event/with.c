#include "event/with.h"

#include "event/event.h"

/* What only the newest context gives. */
static void newest_take(struct wr_with *with, const struct wr_event_definition *definition,
                        const struct weir_context *newest)
{
    if (newest->related_activity_id && (!newest->activity || definition->is_start)) {
        with->related_activity_id = newest->related_activity_id;
        with->flags |= WR_RECORD_RELATED;
    }
    if (!newest->stack)
        return;
    with->stack = newest->stack;
    with->stack_count = newest->stack_count;
    if (with->stack_count > WR_STACK_ADDRESSES_MAX)
        with->stack_count = WR_STACK_ADDRESSES_MAX;
    bool is_cut = newest->reserved || with->stack_count != newest->stack_count;
    with->flags |= is_cut || with->stack_count == 0 ? WR_RECORD_STACK_CUT : 0;
    with->flags |= with->stack_count ? WR_RECORD_STACK : 0;
}

WR_COLD void wr_with_gather(struct wr_with *with, const struct wr_event_definition *definition,
                            const struct weir_context *newest)
{
    newest_take(with, definition, newest);
    for (const struct weir_context *context = newest; context; context = context->next) {
        if (context->activity_id && !(with->flags & WR_RECORD_ACTIVITY)) {
            with->activity_id = context->activity_id;
            with->flags |= WR_RECORD_ACTIVITY;
        }
        if (context->thread_id && !(with->flags & WR_RECORD_THREAD)) {
            with->thread_id = context->thread_id;
            with->flags |= WR_RECORD_THREAD;
        }
    }
}

WR_COLD void wr_with_put(const struct wr_with *with, uint64_t flags, struct wr_record_out *out)
{
    if (flags & WR_RECORD_THREAD)
        wr_record_put(out, &with->thread_id, 8);
    if (flags & WR_RECORD_ACTIVITY)
        wr_record_put(out, with->activity_id, 16);
    if (flags & WR_RECORD_RELATED)
        wr_record_put(out, with->related_activity_id, 16);
    if (flags & WR_RECORD_STACK) {
        wr_record_put(out, &with->stack_count, 8);
        wr_record_put(out, with->stack, 8 * (uint32_t)with->stack_count);
    }
}
