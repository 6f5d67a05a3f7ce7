/*
 * AUTO_RESET: one event for all waiters. The thread that wakes first takes a unit, and a thread
 * that has just arrived may take it before any of them. There is no order and no fairness. The
 * original work began with this form.
 *
 * If the event is set twice before a thread wakes, it is set once. So a thread that takes a unit
 * and leaves others sets the event again. Records that need several units have a queue, and units
 * are gathered for one of them at a time. Meanwhile no other thread takes units, or these records
 * would wait for ever.
 */
#include "os/os.h"
#include "wait/strategy.h"

/* The longest sleep. A signal handler may fork, and the sleep continues in the child, where the
 * thread must find out that it waits for nothing. */
#define SLEEP_NS_MAX 1000000000u

WR_COLD static uint32_t grant_units(const struct wr_gate *gate)
{
    (void)gate;
    return 1;
}

static struct wr_waiter *first_large(const struct wr_gate *gate)
{
    struct wr_waiter *waiter = gate->large ? gate->head : NULL;
    while (waiter && waiter->needed == 1)
        waiter = waiter->next;
    return waiter;
}

WR_COLD static void serve(struct wr_gate *gate, enum wr_serve why, struct wr_wakes *wakes)
{
    (void)why;
    struct wr_waiter *large;
    while (gate->free_count > 0 && (large = first_large(gate))) {
        wr_gate_take(gate, large, large->needed - large->unit_count);
        if (large->unit_count < large->needed)
            return;
        wr_gate_grant(gate, large);
        wr_gate_wake_later(wakes, large);
    }
    /* relaxed: if the event is set, a thread is on its way that will see what is free */
    wakes->set_event = gate->free_count > 0 && gate->waiting > 0 &&
                       wr_u32_load_relaxed(&gate->event) == WR_GATE_EVENT_RESET;
    wakes->is_served |= wakes->set_event;
}

/* One try of a thread that the event has woken. */
static bool take(struct wr_gate *gate, struct wr_waiter *waiter, uint64_t deadline_ns)
{
    struct wr_wakes wakes = {0};
    uint64_t signals;
    if (!wr_gate_enter(gate, deadline_ns, &signals))
        return false;
    bool may_take = waiter->is_queued && gate->large == 0 && gate->free_count > 0;
    if (may_take) {
        wr_gate_take(gate, waiter, 1);
        wr_gate_grant(gate, waiter);
        waiter->has_taken = true;
        wr_gate_serve(gate, WR_SERVE_GIVE, &wakes);
    }
    wr_gate_leave(gate, &wakes, signals);
    return may_take;
}

static enum wr_waited sleep_on_event(struct wr_gate *gate, struct wr_waiter *waiter,
                                     uint64_t deadline_ns)
{
    for (;;) {
        uint32_t event = WR_GATE_EVENT_SET;
        /* edge GRANT.acquire */
        if (wr_u32_cas_acq_rel(&gate->event, &event, WR_GATE_EVENT_RESET) &&
            take(gate, waiter, deadline_ns))
            return WR_WAITED_GRANTED;
        if (event == WR_GATE_EVENT_CLOSED) /* the waiter's own word follows, if it is not set yet */
            return wr_waiter_sleep(gate, waiter, deadline_ns);
        uint64_t now = wr_os_monotonic_ns();
        if (now >= deadline_ns)
            return WR_WAITED_DEADLINE;
        uint64_t left_ns = deadline_ns - now;
        wr_os_futex_wait(&gate->event, WR_GATE_EVENT_RESET,
                         left_ns < SLEEP_NS_MAX ? left_ns : SLEEP_NS_MAX);
        if (wr_gate_is_inherited(gate))
            return WR_WAITED_ABORTED;
    }
}

WR_COLD static enum wr_waited sleep_until_set(struct wr_gate *gate, struct wr_waiter *waiter,
                                              uint64_t deadline_ns)
{
    return waiter->needed > 1 ? wr_waiter_sleep(gate, waiter, deadline_ns)
                              : sleep_on_event(gate, waiter, deadline_ns);
}

const struct wr_gate_strategy wr_gate_auto_reset = {
    .has_event = true, .grant_units = grant_units, .serve = serve, .sleep = sleep_until_set};
