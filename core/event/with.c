#include "event/with.h"

#include "event/event.h"

#define FACTOR UINT64_C(0x9E3779B97F4A7C15)
#define OTHER  UINT64_C(0xC2B2AE3D27D4EB4F)

/* Two sums, of the addresses at even and at odd places, so that neither waits for the other. FACTOR does not
 * join them: then two neighbouring addresses could change places and leave the hash as it is. */
uint64_t wr_with_stack_head(const uint64_t *stack, uint32_t count)
{
    uint64_t even = 0, odd = 0;
    for (uint32_t i = 0; i + 1 < count; i += 2) {
        even = even * FACTOR + stack[i];
        odd = odd * FACTOR + stack[i + 1];
    }
    if (count & 1)
        even = even * FACTOR + stack[count - 1];
    uint64_t sum = even * OTHER + odd;
    uint64_t hash = (sum ^ sum >> 32) * FACTOR >> 32;
    return hash << WR_RECORD_STACK_HASH_SHIFT | count;
}

static void stack_take(struct wr_with *with, const uint64_t *stack, uint32_t count, bool is_cut)
{
    with->stack = stack;
    with->stack_count = count < WR_STACK_ADDRESSES_MAX ? count : WR_STACK_ADDRESSES_MAX;
    is_cut |= with->stack_count != count || count == 0;
    with->flags |= is_cut ? WR_RECORD_STACK_CUT : 0;
    with->flags |= count ? WR_RECORD_STACK : 0;
}

/* What only the newest context gives. */
static void newest_take(struct wr_with *with, const struct wr_event_definition *definition,
                        const struct weir_context *newest)
{
    if (newest->related_activity_id && (!newest->activity || definition->is_start)) {
        with->related_activity_id = newest->related_activity_id;
        with->flags |= WR_RECORD_RELATED;
    }
    if (newest->stack)
        stack_take(with, newest->stack, newest->stack_count, false);
}

static void any_take(struct wr_with *with, const struct weir_context *context)
{
    if (context->activity_id && !(with->flags & WR_RECORD_ACTIVITY)) {
        with->activity_id = context->activity_id;
        with->flags |= WR_RECORD_ACTIVITY;
    }
    if (context->thread_id && !(with->flags & WR_RECORD_THREAD)) {
        with->thread_id = context->thread_id;
        with->flags |= WR_RECORD_THREAD;
    }
}

void wr_with_gather(struct wr_with *with, const struct wr_event_definition *definition,
                    const struct wr_extra *extra, const struct weir_context *chain)
{
    const struct weir_context *own = extra ? extra->context : NULL, *newest = own ? own : chain;
    if (newest)
        newest_take(with, definition, newest);
    if (extra && extra->stack && !with->stack)
        stack_take(with, extra->stack, extra->stack_count, extra->is_cut);
    if (own)
        any_take(with, own);
    for (; chain; chain = chain->next)
        any_take(with, chain);
}

void wr_with_put(const struct wr_with *with, uint64_t flags, struct wr_record_out *out)
{
    if (flags & WR_RECORD_THREAD)
        wr_record_put(out, &with->thread_id, 8);
    if (flags & WR_RECORD_ACTIVITY)
        wr_record_put(out, with->activity_id, 16);
    if (flags & WR_RECORD_RELATED)
        wr_record_put(out, with->related_activity_id, 16);
    if (flags & WR_RECORD_STACK) {
        uint64_t head = wr_with_stack_head(with->stack, with->stack_count);
        wr_record_put(out, &head, sizeof head);
        wr_record_put(out, with->stack, wr_record_stack_bytes(head));
    }
}
