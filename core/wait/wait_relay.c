/*
 * RELAY: FIFO order, several units at a time. A thread that parks hands what is free to the head of
 * the queue: its sleep and the wake are then one switch on one processor, without the drain.
 *
 * A thread runs from its grant until it parks, exits, or is seen to rest (wr_gate_rest). If as many
 * run as there are processors beside the drain's (the cap), more of them would only take turns. The
 * cap is a hint about processors, never a reason to wait. It gives way when the drain has been in
 * the sink for AWAY_NS_MAX; when three quarters of the budget would still be free if each waiting
 * thread had a segment; and when the drain has nothing to do, for a thread that may use its processor.
 *
 * A grant must not be large, because its thread may hold it unused. A turn may be longer: where the
 * drain keeps up, most of the budget is free, and a hand-off after each grant costs a tenth of what
 * the threads could write. So while more than half is free, a thread that has used its grant goes on
 * ahead of the queue, until its turn has had as much as TURN_GRANTS grants.
 *
 * A thread with a grant may compute for a second. So if for STILL_NS no look has found anything and
 * no waiter has been granted anything, all threads rest, and others take their places. An idle
 * drain is idle after every look if it keeps up. If it lifted the cap for less than a whole grant,
 * it would hand out each segment as it comes back, a wake for each; if it did for threads that may
 * not use its processor, all of them would have grants, and take turns.
 *
 * The head spins for a bounded time while no thread runs and nothing is free: what the drain
 * returns next is then one store away from it.
 */
#include "wait/strategy.h"

#include <weir/session.h>
#include "os/os.h"

WR_COLD static uint32_t grant_units(const struct wr_gate *gate)
{
    return gate->grant_units;
}

#define AWAY_NS_MAX 1000000u

/* Has the drain been in the sink for so long that it may stay there? While it is there, it cannot
 * lift the cap. */
static bool drain_is_away(const struct wr_gate *gate)
{
    uint64_t since_ns = wr_u64_load_relaxed(&gate->away_since_ns); /* relaxed: a hint */
    return since_ns && wr_os_monotonic_ns() - since_ns > AWAY_NS_MAX;
}

#define STILL_NS 100000u

/* For the drain: has nothing been written or granted for a while? */
static bool is_still(const struct wr_gate *gate)
{
    uint64_t granted_ns = wr_u64_load_relaxed(&gate->granted_at_ns); /* relaxed: a hint */
    return wr_os_monotonic_ns() - wr_max_u64(granted_ns, gate->drained_at_ns) > STILL_NS;
}

/* For the drain, which has nothing to do. */
static bool idle_lifts_cap(const struct wr_gate *gate)
{
    return gate->free_count >= gate->grant_units &&
           wr_os_thread_may_run_here(gate->head->thread_id);
}

/* May the head be granted now? */
static bool may_grant(const struct wr_gate *gate, enum wr_serve why)
{
    uint32_t most = gate->unit_count - gate->unit_count / 4;
    if (gate->free_count > most + gate->waiting) /* plenty is free: no cap */
        return true;
    if (why == WR_SERVE_PARK && (gate->flags & WR_WAKE_NO_HAND_ON))
        return false;
    return gate->running < gate->cap || (gate->flags & WR_WAKE_NO_CAP) || drain_is_away(gate) ||
           (why == WR_SERVE_IDLE && idle_lifts_cap(gate));
}

/* With fewer, hand-offs cost more than 3 % of the throughput; with more, the turns of 64 threads differ
 * within a tenth of a second. */
#define TURN_GRANTS 6

static bool keeps_turn(const struct wr_gate *gate, const struct wr_waiter *waiter)
{
    return gate->free_count > gate->unit_count / 2 && waiter->running_since == gate->epoch &&
           waiter->turn_units < TURN_GRANTS * gate->grant_units;
}

/* Gathers for the head what it needs, and the rest of a grant. True if it has what it needs. */
static bool gather(struct wr_gate *gate, struct wr_waiter *head)
{
    uint32_t wanted = head->needed > gate->grant_units ? head->needed : gate->grant_units;
    if (head->unit_count < wanted)
        wr_gate_take(gate, head, wanted - head->unit_count);
    return head->unit_count >= head->needed;
}

/* Wakes the head, if it sleeps, so that it spins. If it is only about to sleep, this misses it,
 * which does no harm. */
static void rouse(struct wr_waiter *head, struct wr_wakes *wakes)
{
    uint32_t asleep = WR_WAITER_ASLEEP;
    if (wr_u32_cas_acq_rel(&head->word, &asleep, WR_WAITER_AWAKE))
        wakes->word = &head->word;
}

WR_COLD static void serve(struct wr_gate *gate, enum wr_serve why, struct wr_wakes *wakes)
{
    if (why == WR_SERVE_IDLE && is_still(gate))
        wr_gate_all_rest(gate);
    while (gate->head && gate->free_count > 0 && may_grant(gate, why)) {
        struct wr_waiter *head = gate->head;
        if (!gather(gate, head))
            break;
        head->is_handed_on = why == WR_SERVE_PARK && gate->running == 0;
        wr_gate_grant(gate, head);
        wr_gate_wake_later(wakes, head);
        if (why == WR_SERVE_IDLE && gate->running >= gate->cap)
            return; /* above the cap, one grant for each look of the drain */
    }
    if (why == WR_SERVE_PARK && gate->head && gate->running == 0 && gate->head_spins)
        rouse(gate->head, wakes);
}

/* Notes the cost of a hand-off, from the grant until the thread runs: the median, because the few that
 * find the processor taken are many times longer. */
static void note_hand_off(struct wr_gate *gate, const struct wr_waiter *waiter)
{
    uint64_t cost = wr_os_monotonic_ns() - waiter->granted_at_ns;
    /* relaxed: a hint, twice; a lost update does not matter */
    uint64_t median = wr_u64_load_relaxed(&gate->hand_off_ns);
    wr_u64_store_relaxed(&gate->hand_off_ns, wr_median_next(median, cost));
}

WR_COLD static enum wr_waited sleep_until_granted(struct wr_gate *gate, struct wr_waiter *waiter,
                                                  uint64_t deadline_ns)
{
    enum wr_waited waited = wr_waiter_sleep(gate, waiter, deadline_ns);
    if (waited == WR_WAITED_GRANTED && waiter->is_handed_on)
        note_hand_off(gate, waiter);
    return waited;
}

const struct wr_gate_strategy wr_gate_relay = {.queues_all = true,
                                               .spins = true,
                                               .grant_units = grant_units,
                                               .keeps_turn = keeps_turn,
                                               .serve = serve,
                                               .sleep = sleep_until_granted};
