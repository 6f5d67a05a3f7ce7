/* What goes with an event, gathered from its thread's contexts for the record. */
#ifndef WR_EVENT_WITH_H
#define WR_EVENT_WITH_H

#include <weir/trace.h>
#include "lane/lane_span.h"
#include "lane/record.h"
#include "lane/thread.h"

struct wr_event_definition;

#define WR_STACK_ADDRESSES_MAX 1000u
#define WR_STACK_FRAMES_MAX    512u /* of the hook: they are on the emitting thread's stack */

/* Not valid beyond the emit. */
struct wr_with {
    uint64_t flags; /* of the record's extension; 0: nothing goes with the event */
    uint64_t thread_id;
    const struct weir_guid *activity_id;
    const struct weir_guid *related_activity_id;
    const uint64_t *stack;
    uint32_t stack_form;  /* the low half of its first word in a record */
    uint32_t stack_bytes; /* in a record */
};

/* What one event has beside its thread's contexts. */
struct wr_extra {
    const struct weir_context *context; /* in front of the thread's; NULL: none */
    const uint64_t *stack; /* of the hook, unless the newest context has one; or NULL */
    uint32_t stack_count;
    bool is_cut;
};

/* `with` is all zeros; `chain`: the newest of the thread's contexts, or NULL, as `extra` may be. */
void wr_with_gather(struct wr_with *with, const struct wr_event_definition *definition,
                    const struct wr_extra *extra, const struct weir_context *chain);

/* The calling thread's record, which holds its contexts and its name; NULL if there is no memory. */
struct wr_thread *wr_context_attach(void);

/* The flags and the bytes of the record of a session that wants stacks, or none. */
static inline uint64_t wr_with_flags(const struct wr_with *with, bool has_stacks)
{
    return has_stacks ? with->flags : with->flags & ~(WR_RECORD_STACK | WR_RECORD_STACK_CUT);
}

static inline uint32_t wr_with_bytes(const struct wr_with *with, uint64_t flags)
{
    return ((flags & WR_RECORD_THREAD) ? 8u : 0) + ((flags & WR_RECORD_ACTIVITY) ? 16u : 0) +
           ((flags & WR_RECORD_RELATED) ? 16u : 0) +
           ((flags & WR_RECORD_STACK) ? with->stack_bytes : 0);
}

/* As session/with.c reads it. */
void wr_with_put(const struct wr_with *with, uint64_t flags, struct wr_record_out *out);

#endif
