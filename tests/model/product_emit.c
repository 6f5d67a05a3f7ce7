/* core/event/emit_slow.c as the explorer runs it. */
#include "product_session.h"

#include "event/emit_slow.c" /* NOLINT: with its static functions */

/* Behind weir_emit()'s test of the event's word, which is a hint. */
bool product_emit(struct weir_event *event, const void *payload)
{
    if (wr_thread_fast) { /* as the fast path enters */
        wr_pin_enter(wr_self.thread);
        return wr_emit_pinned_slow(event, payload);
    }
    wr_self_enter();
    bool is_written = emit_entered(event, payload);
    wr_self_leave();
    return is_written;
}
