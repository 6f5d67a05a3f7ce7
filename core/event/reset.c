/* After a jump out of an event: weir_thread_reset(). */
#include "event/event.h"

#include "buffers/buffers.h"
#include "lane/lane_write.h"
#include "os/os.h"

/* Sessions that the event may have been for, and in which it is neither written nor counted. The
 * slow path keeps the account. The fast path knows one session and tells nobody: all of the
 * thread's then, if it was between the stores of its pin. */
static uint64_t unsettled(const struct wr_thread *thread, bool was_pinned)
{
    if (wr_self.depth > 0 || !was_pinned)
        return wr_self.pending;
    uint64_t slots = 0;
    for (uint32_t slot = 0; slot < WR_SESSIONS_MAX; slot++)
        if (wr_ptr_load_relaxed(&thread->lanes[slot])) /* relaxed: its own */
            slots |= UINT64_C(1) << slot;
    return slots;
}

static void slot_reset(struct wr_thread *thread, uint32_t slot, bool is_unsettled)
{
    /* edge QUIESCE: a stopper clears the word, then waits for this pin, then frees the lane */
    struct wr_lane *lane = thread ? wr_ptr_load_seq_cst(&thread->lanes[slot]) : NULL;
    if (lane && wr_buffers_reset(lane))
        return;
    if (is_unsettled) /* relaxed: a count */
        wr_u64_add_relaxed(lane ? &lane->nested : &wr_unattributed[slot].nested, 1);
}

/* The pin that the event has left odd is this one's. A thread that was parked has none, but is
 * counted at the gate of its session, which keeps that until it is pinned again. */
static void reset_inside(struct wr_thread *thread)
{
    /* relaxed: this thread's own pin */
    bool was_pinned = thread && wr_pin_is_inside(wr_u64_load_relaxed(&thread->pin));
    uint64_t slots = unsettled(thread, was_pinned);
    if (thread && !was_pinned)
        wr_pin_enter_seq_cst(thread);
    for (uint32_t slot = 0; slot < WR_SESSIONS_MAX; slot++)
        slot_reset(thread, slot, (slots >> slot & 1) != 0);
    if (thread)
        wr_pin_leave_own(thread);
}

/* A signal handler that comes before signals are blocked finds the thread inside, as it was. */
WEIR_API void weir_thread_reset(void)
{
    if (wr_self.is_drain || wr_self.capture || wr_self.fork_depth > 0)
        return;
    uint64_t signals = wr_os_signals_block();
    if (wr_self_is_inside()) {
        wr_self.patience_ns = WR_PATIENCE_NS;
        reset_inside(wr_self.thread);
        wr_self.pending = 0;
        wr_self.parked_in = NULL;
        wr_self.has_let_go = false;
        wr_self.depth = 1;
        wr_self_leave();
    }
    wr_registry_forget_calls();
    wr_os_signals_restore(signals);
}
