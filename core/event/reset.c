/* weir_thread_reset(): repairs the thread's state after a jump out of an event. */
#include "event/event.h"

#include "buffers/buffers.h"
#include "lane/lane_write.h"
#include "os/os.h"

/* The sessions in which the interrupted event may be neither written nor counted. The slow paths,
 * and that of strings, record them in `pending`. The fast path records nothing: if the jump came
 * between its two stores of the pin, any session in which the thread has a lane may be the one. */
static uint64_t unsettled(struct wr_thread *thread, bool was_pinned)
{
    if (wr_self.pending || wr_self.depth > 0 || !was_pinned)
        return wr_self.pending;
    uint64_t slots = 0;
    for (uint32_t slot = 0; slot < WR_SESSIONS_MAX; slot++)
        if (wr_lane_or_null(
                wr_ptr_load_relaxed(wr_thread_lane(thread, slot)))) /* relaxed: its own */
            slots |= UINT64_C(1) << slot;
    return slots;
}

static void slot_reset(struct wr_thread *thread, uint32_t slot, bool is_unsettled)
{
    /* edge QUIESCE: a stopper clears the word, then waits for this pin, then frees the lane */
    struct wr_lane *lane =
        thread ? wr_lane_or_null(wr_ptr_load_seq_cst(wr_thread_lane(thread, slot))) : NULL;
    if (lane && wr_buffers_reset(lane))
        return;
    if (is_unsettled) /* relaxed: a count */
        wr_u64_add_relaxed(lane ? &lane->nested : &wr_unattributed[slot].nested, 1);
}

/* Reuses the pin that the event left odd. A thread that was parked has none, but it is counted at
 * the gate of its session, which keeps the session until the thread is pinned again. */
static void reset_inside(struct wr_thread *thread)
{
    /* relaxed: this thread's own pin */
    bool was_pinned = thread && wr_pin_is_inside(wr_u64_load_relaxed(&thread->pin));
    uint64_t slots = unsettled(thread, was_pinned);
    if (thread && !was_pinned)
        wr_pin_enter_seq_cst(thread);
    else if (thread)
        /* edge QUIESCE: this store, then the loads of the lanes. The fast path entered with a plain
         * store, which the stopper of a session without membarrier may not see. */
        wr_u64_store_seq_cst(&thread->pin, wr_u64_load_relaxed(&thread->pin)); /* relaxed: own */
    for (uint32_t slot = 0; slot < WR_SESSIONS_MAX; slot++)
        slot_reset(thread, slot, (slots >> slot & 1) != 0);
    if (thread)
        wr_pin_leave_own(thread);
}

/* A signal handler that runs before signals are blocked finds the thread still inside. */
WR_COLD WEIR_API void weir_thread_reset(void)
{
    if (wr_self.is_drain || wr_self.capture || wr_self.fork_depth > 0)
        return;
    uint64_t signals = wr_os_signals_block();
    if (wr_self.thread)
        wr_self.thread->is_capturing = false;
    if (wr_self_is_inside()) {
        wr_self.patience_ns = WR_PATIENCE_NS;
        reset_inside(wr_self.thread);
        wr_self.parked_in = NULL;
        wr_self.has_let_go = false;
        wr_self.depth = 1;
        wr_self_leave();
    }
    wr_self.pending = 0;
    wr_self.is_refused = false;
    wr_self.base_most = 0;
    wr_registry_forget_calls();
    wr_os_signals_restore(signals);
}
