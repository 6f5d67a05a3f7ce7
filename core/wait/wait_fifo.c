/*
 * FIFO: a queue, with one wait word per thread. When units come back, the head gets a signal. It
 * takes what its record needs under the lock, and signals the next head if more is free. Only the
 * head may take, and a new thread takes nothing while others wait. The original work ended with
 * this form.
 *
 * A signal is a hint: the head may have left at its deadline. Its units and its signal then go to
 * the next head.
 */
#include "os/os.h"
#include "wait/strategy.h"

WR_COLD static uint32_t grant_units(const struct wr_gate *gate)
{
    (void)gate;
    return 1;
}

WR_COLD static void serve(struct wr_gate *gate, enum wr_serve why, struct wr_wakes *wakes)
{
    (void)why;
    struct wr_waiter *head;
    uint32_t before;
    while ((head = gate->head) && gate->free_count > 0 && !head->is_signaled) {
        /* edge GRANT.release: says only that a try is worthwhile; edge LEAVE.acquire */
        before = wr_u32_exchange_acq_rel(&head->word, WR_WAITER_GRANTED);
        if (before == WR_WAITER_LEFT) {
            wr_gate_remove(gate, head);
            continue;
        }
        head->is_signaled = true;
        wakes->is_served = true;
        if (before == WR_WAITER_ASLEEP)
            wakes->word = &head->word;
    }
}

/* One try of a thread that was signaled. */
static bool take(struct wr_gate *gate, struct wr_waiter *waiter, uint64_t deadline_ns)
{
    struct wr_wakes wakes = {0};
    uint64_t signals;
    if (!wr_gate_enter(gate, deadline_ns, &signals))
        return false;
    bool is_granted = false;
    /* Use up the signal. An abort stays: only waiters that are out of the queue are aborted. */
    uint32_t signaled = WR_WAITER_GRANTED;
    wr_u32_cas_acq_rel(&waiter->word, &signaled, WR_WAITER_AWAKE);
    if (waiter->is_queued) {
        waiter->is_signaled = false;
        if (gate->head == waiter)
            wr_gate_take(gate, waiter, waiter->needed - waiter->unit_count);
        is_granted = waiter->unit_count == waiter->needed;
    }
    if (is_granted) {
        wr_gate_grant(gate, waiter);
        waiter->has_taken = true;
        wr_gate_serve(gate, WR_SERVE_GIVE, &wakes);
    }
    wr_gate_leave(gate, &wakes, signals);
    return is_granted;
}

WR_COLD static enum wr_waited sleep_until_head(struct wr_gate *gate, struct wr_waiter *waiter,
                                               uint64_t deadline_ns)
{
    for (;;) {
        enum wr_waited waited = wr_waiter_sleep(gate, waiter, deadline_ns);
        if (waited != WR_WAITED_GRANTED || take(gate, waiter, deadline_ns))
            return waited;
        if (wr_os_monotonic_ns() >= deadline_ns)
            return WR_WAITED_DEADLINE;
    }
}

const struct wr_gate_strategy wr_gate_fifo = {.queues_all = true,
                                              .grants_tries = true,
                                              .grant_units = grant_units,
                                              .serve = serve,
                                              .sleep = sleep_until_head};
