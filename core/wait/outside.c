/*
 * Waiters that are outside: granted, and in the host's hook. A separate list has them, youngest
 * first, and the gate may take back what they were granted.
 */
#include "os/os.h"
#include "wait/gate.h"
#include "wait/strategy.h"

/* LOCK, for all static functions but leave_outside(). */

static void outside_push(struct wr_gate *gate, struct wr_waiter *waiter)
{
    waiter->is_outside = true;
    waiter->is_swept = false;
    waiter->previous = NULL;
    waiter->next = gate->outside;
    if (waiter->next)
        waiter->next->previous = waiter;
    gate->outside = waiter;
}

static void outside_remove(struct wr_gate *gate, struct wr_waiter *waiter)
{
    if (waiter->previous)
        waiter->previous->next = waiter->next;
    else
        gate->outside = waiter->next;
    if (waiter->next)
        waiter->next->previous = waiter->previous;
    waiter->is_outside = false;
}

WR_COLD void wr_outside_clear_left(struct wr_gate *gate)
{
    for (struct wr_waiter *waiter = gate->outside, *next; waiter; waiter = next) {
        next = waiter->next;
        if (!wr_waiter_has_left(waiter))
            continue;
        outside_remove(gate, waiter);
        wr_gate_units_leave(gate, waiter);
        wr_waiter_release(waiter);
    }
}

/* Gives the waiter what it needs, if there is enough: first from the free units, then from those of
 * other threads that are outside, youngest first. If it queued instead, threads whose hooks take
 * longer than a sweep could lose their grants to each other for ever. */
static void reclaim(struct wr_gate *gate, struct wr_waiter *waiter)
{
    uint32_t there = gate->free_count;
    for (const struct wr_waiter *other = gate->outside; other; other = other->next)
        there += other->unit_count;
    if (there < waiter->needed)
        return;
    for (struct wr_waiter *other = gate->outside; gate->free_count < waiter->needed;
         other = other->next)
        wr_gate_units_leave(gate, other);
    wr_gate_take(gate, waiter, waiter->needed);
    gate->grants++;
    gate->granted_units += waiter->unit_count;
}

WR_COLD enum wr_waited wr_gate_step_out(struct wr_gate *gate, struct wr_waiter *waiter,
                                        uint64_t limit_ns)
{
    struct wr_wakes wakes = {0};
    if (!wr_os_mutex_lock_for(&gate->lock, limit_ns))
        return WR_WAITED_DEADLINE;
    bool is_open = !gate->is_closing;
    if (is_open)
        outside_push(gate, waiter);
    else
        wr_gate_units_leave(gate, waiter);
    wr_gate_rest_locked(gate, waiter); /* another thread may run in its place */
    wr_gate_serve(gate, WR_SERVE_GIVE, &wakes);
    pthread_mutex_unlock(&gate->lock);
    wr_gate_wake_all(gate, &wakes);
    return is_open ? WR_WAITED_GRANTED : WR_WAITED_ABORTED;
}

static enum wr_stepped step_in(struct wr_gate *gate, struct wr_waiter *waiter, bool is_wanted)
{
    if (!waiter->is_outside)
        return WR_STEPPED_CLOSED;
    outside_remove(gate, waiter);
    if (!is_wanted) {
        wr_gate_units_leave(gate, waiter);
        return WR_STEPPED_AWAY;
    }
    if (!waiter->units)
        reclaim(gate, waiter);
    if (waiter->units)
        wr_gate_run(gate, waiter);
    return WR_STEPPED_IN;
}

/* Without the lock: the thread that serves the queue next takes the waiter out of the list. */
static enum wr_stepped leave_outside(struct wr_gate *gate, struct wr_waiter *waiter)
{
    uint32_t word = wr_u32_load_acquire(&waiter->word);
    while (word != WR_WAITER_CLOSING)
        if (wr_waiter_leave(gate, waiter, &word))
            return WR_STEPPED_LATE;
    return WR_STEPPED_CLOSED;
}

WR_COLD enum wr_stepped wr_gate_step_in(struct wr_gate *gate, struct wr_waiter *waiter,
                                        bool is_wanted, uint64_t limit_ns)
{
    struct wr_wakes wakes = {0};
    if (!wr_os_mutex_lock_for(&gate->lock, limit_ns))
        return leave_outside(gate, waiter);
    enum wr_stepped stepped = step_in(gate, waiter, is_wanted);
    wr_gate_serve(gate, WR_SERVE_GIVE, &wakes);
    pthread_mutex_unlock(&gate->lock);
    wr_gate_wake_all(gate, &wakes);
    return stepped;
}

WR_COLD bool wr_gate_sweep_outside(struct wr_gate *gate)
{
    struct wr_wakes wakes = {0};
    bool any = false;
    pthread_mutex_lock(&gate->lock);
    for (struct wr_waiter *waiter = gate->outside; waiter; waiter = waiter->next) {
        if (waiter->is_swept) {
            any |= waiter->units != NULL;
            wr_gate_units_leave(gate, waiter);
        }
        waiter->is_swept = true;
    }
    wr_gate_serve(gate, WR_SERVE_GIVE, &wakes);
    pthread_mutex_unlock(&gate->lock);
    wr_gate_wake_all(gate, &wakes);
    return any;
}

/* LOCK. A waiter's thread may be on its way in, but without the lock it counts no abort. */
WR_COLD void wr_outside_close(struct wr_gate *gate, void (*lose)(struct wr_waiter *waiter))
{
    for (struct wr_waiter *waiter = gate->outside, *next; waiter; waiter = next) {
        next = waiter->next;
        waiter->is_outside = false;
        wr_gate_units_leave(gate, waiter);
        if (wr_waiter_stay(waiter))
            lose(waiter);
    }
    gate->outside = NULL;
}

WR_COLD bool wr_gate_has_none_outside(struct wr_gate *gate, uint64_t limit_ns)
{
    if (!wr_os_mutex_lock_for(&gate->lock, limit_ns))
        return false;
    bool has_none = gate->outside == NULL;
    pthread_mutex_unlock(&gate->lock);
    return has_none;
}
