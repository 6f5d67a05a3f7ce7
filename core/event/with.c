#include "event/with.h"

#include <string.h>
#include "base/pair.h"
#include "event/event.h"

#define FACTOR UINT64_C(0x9E3779B97F4A7C15)
#define OTHER  UINT64_C(0xC2B2AE3D27D4EB4F)

/* Of 32 bits. Two sums, of the words at even and at odd places, so that neither waits for the other. FACTOR
 * does not join them: then two neighbouring words could change places and leave the hash as it is. The
 * form has the high half of narrow addresses. */
static inline uint64_t hash_of(const uint64_t *words, uint32_t count, uint32_t form)
{
    uint64_t even = 0, odd = form;
    for (uint32_t i = 0; i + 1 < count; i += 2) {
        even = even * FACTOR + words[i];
        odd = odd * FACTOR + words[i + 1];
    }
    if (count & 1)
        even = even * FACTOR + words[count - 1];
    uint64_t sum = even * OTHER + odd;
    return (sum ^ sum >> 32) * FACTOR >> 32;
}

typedef uint32_t quad __attribute__((vector_size(16)));

static inline wr_pair four_differ(const uint64_t *addresses, wr_pair first)
{
    return (wr_pair_at(addresses) ^ first) | (wr_pair_at(addresses + 2) ^ first);
}

/* The stack can be narrow if all addresses have the same high half, and that is not too large. */
static uint32_t form_of(const uint64_t *stack, uint32_t count)
{
    if (count < WR_RECORD_NARROW_MIN || count > WR_RECORD_NARROW_MAX)
        return count;
    wr_pair first = {stack[0], stack[0]}, differ = four_differ(stack + count - 4, first);
    for (uint32_t i = 0; i + 4 < count; i += 4)
        differ |= four_differ(stack + i, first);
    uint64_t high = (differ[0] | differ[1]) >> 32 | stack[0] >> WR_RECORD_NARROW_BITS;
    return high ? count : wr_record_narrow_form(count, stack[0]);
}

static inline uint64_t two_narrow(uint64_t low, uint64_t high)
{
    return (uint32_t)low | high << 32;
}

/* Four at a time, and the rest in whole words, as the hash reads them. */
static inline void narrow(const uint64_t *stack, uint32_t count, uint64_t *words)
{
    uint32_t i = 0;
    for (; i + 4 <= count; i += 4) {
        quad low = __builtin_shufflevector((quad)wr_pair_at(stack + i),
                                           (quad)wr_pair_at(stack + i + 2), 0, 2, 4, 6);
        memcpy(words + i / 2, &low, sizeof low);
    }
    if (count & 2)
        words[i / 2] = two_narrow(stack[i], stack[i + 1]);
    if (count & 1)
        words[count / 2] = two_narrow(stack[count - 1], 0);
}

static void stack_take(struct wr_with *with, const uint64_t *stack, uint32_t count, bool is_cut)
{
    uint32_t kept = count < WR_STACK_ADDRESSES_MAX ? count : WR_STACK_ADDRESSES_MAX;
    with->stack = stack;
    with->stack_form = form_of(stack, kept);
    with->stack_bytes = WR_RECORD_STACK_HEAD_BYTES + wr_record_stack_bytes(with->stack_form);
    is_cut |= kept != count || count == 0;
    with->flags |= is_cut ? WR_RECORD_STACK_CUT : 0;
    with->flags |= count ? WR_RECORD_STACK : 0;
}

/* The newest context's, or the hook's. */
static void any_stack_take(struct wr_with *with, const struct wr_extra *extra,
                           const struct weir_context *newest)
{
    bool is_own = newest && newest->stack;
    if (is_own || (extra && extra->stack))
        stack_take(with, is_own ? newest->stack : extra->stack,
                   is_own ? newest->stack_count : extra->stack_count, !is_own && extra->is_cut);
}

/* What only the newest context gives. */
static void newest_take(struct wr_with *with, const struct wr_event_definition *definition,
                        const struct weir_context *newest)
{
    if (newest->related_activity_id && (!newest->activity || definition->is_start)) {
        with->related_activity_id = newest->related_activity_id;
        with->flags |= WR_RECORD_RELATED;
    }
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
    any_stack_take(with, extra, newest);
    if (own)
        any_take(with, own);
    for (; chain; chain = chain->next)
        any_take(with, chain);
}

static inline uint64_t head_of(const struct wr_with *with, const uint64_t *words)
{
    uint32_t count = (with->stack_bytes - WR_RECORD_STACK_HEAD_BYTES) / 8;
    return hash_of(words, count, with->stack_form) << WR_RECORD_STACK_HASH_SHIFT | with->stack_form;
}

static WR_NOINLINE void wide_put(const struct wr_with *with, struct wr_record_out *out)
{
    uint64_t head = head_of(with, with->stack);
    wr_record_put(out, &head, sizeof head);
    wr_record_put(out, with->stack, with->stack_bytes - WR_RECORD_STACK_HEAD_BYTES);
}

_Static_assert(WR_RECORD_HEAD_BYTES + WR_RECORD_IDS_BYTES_MAX + WR_RECORD_STACK_HEAD_BYTES +
                       4 * (WR_RECORD_NARROW_MAX + 1) <=
                   WR_SEGMENT_BYTES_MIN - WR_SEGMENT_HEADER_BYTES,
               "a narrow stack is in its record's first segment");

/* In its place at once. A record is aligned to eight bytes, and so is all that goes with its event. */
static inline void narrow_put(const struct wr_with *with, struct wr_record_out *out)
{
    uint64_t *words = (void *)(out->at + WR_RECORD_STACK_HEAD_BYTES);
    wr_data_written(out->at, with->stack_bytes);
    narrow(with->stack, wr_record_stack_count(with->stack_form), words);
    uint64_t head = head_of(with, words);
    memcpy(out->at, &head, sizeof head);
    out->at += with->stack_bytes;
}

void wr_with_put(const struct wr_with *with, uint64_t flags, struct wr_record_out *out)
{
    if (flags & WR_RECORD_THREAD)
        wr_record_put(out, &with->thread_id, 8);
    if (flags & WR_RECORD_ACTIVITY)
        wr_record_put(out, with->activity_id, 16);
    if (flags & WR_RECORD_RELATED)
        wr_record_put(out, with->related_activity_id, 16);
    if (!(flags & WR_RECORD_STACK))
        return;
    if (with->stack_form & WR_RECORD_STACK_NARROW)
        narrow_put(with, out);
    else
        wide_put(with, out);
}
