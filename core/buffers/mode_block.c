/*
 * Mode BLOCK: a thread that finds no room waits at the session's gate (wait/gate.h). Not in
 * single-threaded builds: one thread cannot wait for itself.
 *
 *     emit: take() --WAIT--> leave the pin, wait_here(), pin again, load the mask again, resume()
 *     --true--> try again
 *
 * With the host's hooks (event/hooks.h), which may keep the thread for any time:
 *
 *     leave the pin, before hook, wait_outside() --GRANTED--> after hook, pin again: the lane is
 *     still there, step_in() --true--> try again
 */
#include "buffers/chain.h"

#include <errno.h>
#include "buffers/place.h"
#include "lane/lane_change.h"
#include "os/os.h"

#define OUTSIDE_LOOK_NS 200000u /* between two looks of wait_served() */

_Static_assert(offsetof(struct wr_segment, older) == 0 &&
                   sizeof(((struct wr_segment *)0)->older) == sizeof(struct wr_unit),
               "a free segment's first word links it");

static struct wr_segment *segment_of(struct wr_unit *unit)
{
    return (struct wr_segment *)(void *)unit;
}

WR_COLD static void init(struct wr_buffers *buffers, const struct weir_session_config *config)
{
    struct wr_gate_config gate = {.wake = config->wake,
                                  .grant_units =
                                      (uint32_t)(config->grant_bytes / config->segment_bytes),
                                  .processors = wr_os_processor_count(),
                                  .blocks_signals = config->block_signals};
    wr_gate_init(&buffers->gate, &gate, buffers->arena, buffers->segment_bytes,
                 buffers->segment_count);
    buffers->max_block_ns = config->max_block_ns;
    buffers->on_park = config->on_park;
    buffers->on_park_context = config->on_park_context;
}

WR_COLD static void fini(struct wr_buffers *buffers)
{
    wr_gate_fini(&buffers->gate);
}

/* Takes the first `count` units of a list that has at least that many; the rest becomes credit. */
static struct wr_segment *use(struct wr_place *place, struct wr_unit *units, uint32_t count)
{
    struct wr_segment *first = NULL;
    place->waited_ns = 0;
    for (; count > 0; count--) {
        struct wr_segment *segment = segment_of(units);
        units = units->next;
        segment->newer = first;
        wr_data_written(&segment->newer, sizeof segment->newer);
        first = segment;
    }
    if (units)
        /* edge CREDIT.release: the links. Only this thread stores anything but NULL. */
        wr_ptr_store_release(&place->credit, units);
    return first;
}

static struct wr_unit *credit_take(struct wr_place *place)
{
    /* relaxed: credit that is missed now is found the next time */
    if (!wr_ptr_load_relaxed(&place->credit))
        return NULL;
    /* edge CREDIT.acquire: either the owner gets the units, or the drain that revokes them */
    return wr_ptr_exchange_acq_rel(&place->credit, NULL);
}

static struct wr_unit *granted(struct wr_waiter *waiter)
{
    struct wr_unit *units = waiter->units;
    waiter->units = NULL;
    waiter->unit_count = 0;
    return units;
}

/* Returns the units to the gate. If the gate's lock is not available in time, they become credit,
 * which the drain takes back while others wait. The credit must be empty. */
static void give(struct wr_place *place, struct wr_unit *units, uint64_t limit_ns)
{
    if (!wr_gate_give(&place->lane.buffers->gate, units, limit_ns) && units)
        wr_ptr_store_release(&place->credit, units); /* edge CREDIT.release */
}

/* How long this thread may wait for the gate: for its lock, and in its queue. */
static uint64_t limit_of(const struct wr_buffers *buffers)
{
    if (wr_self.no_block)
        return 0;
    return buffers->max_block_ns ? buffers->max_block_ns : UINT64_MAX;
}

/* The grant of a wait, or the credit if one segment is enough. A thread that needs several returns
 * its credit first: otherwise several threads could each hold a part of what another one needs, and
 * wait forever. */
static struct wr_unit *units_at_hand(struct wr_place *place, uint32_t count, uint64_t limit_ns)
{
    struct wr_unit *units = place->granted;
    place->granted = NULL;
    if (units)
        return units;
    units = credit_take(place);
    if (!units || count == 1)
        return units;
    give(place, units, limit_ns);
    return NULL;
}

/* Wakes the drain, which must serve the threads that wait. It knows of them already if others wait:
 * then it looks again soon (attend()). And if others run, these ring when they rest. */
WR_COLD static enum wr_room park(struct wr_place *place)
{
    place->is_parked = true;
    if (place->waiter.must_ring)
        wr_bell_ring(&place->lane.buffers->bell);
    return WR_ROOM_WAIT;
}

static enum wr_room lose(struct wr_lane *lane, enum weir_loss cause)
{
    wr_buffers_count_lost(lane, cause);
    return WR_ROOM_LOST;
}

static enum wr_room lose_full(struct wr_lane *lane)
{
    wr_buffers_starve(lane->buffers);
    wr_buffers_lose_for_room(lane);
    return WR_ROOM_LOST;
}

WR_COLD static enum wr_room take(struct wr_lane *lane, uint32_t count, struct wr_segment **first)
{
    struct wr_place *place = wr_place_of(lane);
    struct wr_buffers *buffers = lane->buffers;
    uint64_t limit_ns = limit_of(buffers);
    struct wr_unit *units = units_at_hand(place, count, limit_ns);
    enum wr_asked asked = WR_ASKED_GRANTED;
    *first = NULL;
    if (!units) {
        asked = wr_gate_ask(&buffers->gate, &place->waiter, count, limit_ns);
        units = asked == WR_ASKED_GRANTED ? granted(&place->waiter) : NULL;
    }
    switch (asked) {
    case WR_ASKED_GRANTED:
        *first = use(place, units, count);
        return WR_ROOM;
    case WR_ASKED_PARKED:
        return park(place);
    case WR_ASKED_ABORTED:
        return lose(lane, WEIR_LOSS_ABORTED);
    case WR_ASKED_LATE:
        return lose(lane, WEIR_LOSS_DEADLINE);
    case WR_ASKED_FULL:
        break;
    }
    return lose_full(lane);
}

WR_COLD static bool has_room(struct wr_lane *lane)
{
    /* relaxed: if the credit is revoked meanwhile, the thread asks at the gate */
    return wr_ptr_load_relaxed(&wr_place_of(lane)->credit) ||
           wr_gate_has_room(&lane->buffers->gate, &wr_place_of(lane)->waiter);
}

/* Monotonic. An attempt that queues again has only the rest of its time. */
static uint64_t deadline_of(const struct wr_place *place)
{
    uint64_t parked_at_ns = place->waiter.parked_at_ns, most_ns = UINT64_MAX - parked_at_ns;
    uint64_t max_ns = place->lane.buffers->max_block_ns;
    uint64_t left_ns = max_ns > place->waited_ns ? max_ns - place->waited_ns : 0;
    return max_ns && left_ns < most_ns ? parked_at_ns + left_ns : UINT64_MAX;
}

WR_COLD static enum wr_waited wait_here(struct wr_lane *lane)
{
    struct wr_buffers *buffers = lane->buffers;
    struct wr_place *place = wr_place_of(lane);
    struct wr_waiter *waiter = &place->waiter;
    int error = errno; /* the caller may be the host's signal handler */
    wr_self.parked_in = buffers;
    enum wr_waited waited = wr_gate_wait(&buffers->gate, waiter, deadline_of(place));
    if (buffers->on_park) {
        /* Without a grant, the units and the number of the grant belong to whoever finds that the
         * waiter has LEFT. */
        bool is_granted = waited == WR_WAITED_GRANTED;
        uint64_t units = is_granted ? waiter->unit_count : 0;
        struct weir_park park = {.size = sizeof park,
                                 .parked_ns = waiter->parked_ns,
                                 .queue_number = waiter->queue_number,
                                 .grant_number = is_granted ? waiter->grant_number : 0,
                                 .grant_bytes = units * buffers->segment_bytes};
        buffers->on_park(buffers->on_park_context, &park);
    }
    wr_self.parked_in = NULL;
    errno = error;
    if (waited == WR_WAITED_DEADLINE)
        wr_bell_ring(&buffers->bell); /* the waiter may have LEFT without the lock */
    return waited;
}

/* Returns a grant that came too late to be used. */
static void send_back(struct wr_place *place, struct wr_gate *gate)
{
    if (wr_gate_is_inherited(gate)) /* on_park may have forked */
        return;
    give(place, granted(&place->waiter), WR_PATIENCE_NS);
    wr_gate_rest(gate, &place->waiter, WR_PATIENCE_NS);
}

static bool resume_blocked(struct wr_lane *lane, enum wr_waited waited, bool is_wanted)
{
    struct wr_place *place = wr_place_of(lane);
    struct wr_gate *gate = &lane->buffers->gate;
    bool goes_on = waited == WR_WAITED_GRANTED && is_wanted;
    place->is_parked = false;
    if (goes_on)
        place->granted = granted(&place->waiter);
    else if (waited == WR_WAITED_GRANTED) {
        send_back(place, gate);
        wr_buffers_count_lost(lane, WEIR_LOSS_ABORTED);
    } else if (waited == WR_WAITED_DEADLINE) {
        wr_buffers_count_lost(lane, WEIR_LOSS_DEADLINE);
    } else if (waited == WR_WAITED_ABORTED) {
        *wr_self_last_loss() = WEIR_LOSS_ABORTED; /* counted by the thread that aborted the wait */
    }
    wr_gate_unpark(gate);
    return goes_on;
}

WR_COLD static bool resume(struct wr_lane *lane, enum wr_waited waited, bool is_wanted)
{
    uint64_t signals = wr_buffers_signals_block(lane->buffers);
    bool goes_on = resume_blocked(lane, waited, is_wanted);
    wr_buffers_signals_restore(lane->buffers, signals);
    return goes_on;
}

/* --- Between the host's hooks. --------------------------------------------------------------- */

/* How long a thread that has its grant waits for the lock: at least WR_PATIENCE_NS, even past its
 * deadline, because another thread may hold the lock for a moment. */
static uint64_t step_limit_of(const struct wr_place *place)
{
    uint64_t max_ns = place->lane.buffers->max_block_ns;
    uint64_t left_ns = max_ns > place->waited_ns ? max_ns - place->waited_ns : 0;
    if (max_ns == 0)
        return UINT64_MAX;
    return left_ns > WR_PATIENCE_NS ? left_ns : WR_PATIENCE_NS;
}

/* The hook or on_park may have forked. In the child no thread ever releases the gate's lock. */
static enum wr_waited step_out(struct wr_place *place)
{
    struct wr_gate *gate = &place->lane.buffers->gate;
    place->waited_ns += place->waiter.parked_ns;
    if (wr_gate_is_inherited(gate))
        return WR_WAITED_ABORTED;
    enum wr_waited waited = wr_gate_step_out(gate, &place->waiter, step_limit_of(place));
    place->is_outside = waited == WR_WAITED_GRANTED;
    if (waited == WR_WAITED_ABORTED)
        wr_lane_count_lost(&place->lane, WEIR_LOSS_ABORTED);
    else if (waited == WR_WAITED_DEADLINE)
        give(place, granted(&place->waiter), 0);
    return waited;
}

/* Called between the before and the after hook: only the count in `parked` keeps the session. */
WR_COLD static enum wr_waited wait_outside(struct wr_lane *lane)
{
    struct wr_place *place = wr_place_of(lane);
    struct wr_gate *gate = &lane->buffers->gate;
    bool blocks_signals = lane->buffers->blocks_signals;
    enum wr_waited waited = WR_WAITED_ABORTED;
    place->waiter.parked_at_ns = wr_os_monotonic_ns(); /* the hook's time does not count */
    if (!wr_gate_is_inherited(gate))
        waited = wait_here(lane);
    uint64_t signals = blocks_signals ? wr_os_signals_block() : 0;
    if (waited == WR_WAITED_GRANTED)
        waited = step_out(place);
    if (waited != WR_WAITED_GRANTED)
        place->waited_ns = 0;
    if (waited == WR_WAITED_DEADLINE)
        wr_lane_count_lost(lane, WEIR_LOSS_DEADLINE);
    place->is_parked = false;
    wr_gate_unpark(gate); /* the last access to the session */
    if (blocks_signals)
        wr_os_signals_restore(signals);
    return waited;
}

static enum wr_stepped step_in_blocked(struct wr_place *place, bool is_wanted)
{
    enum wr_stepped stepped = wr_gate_step_in(&place->lane.buffers->gate, &place->waiter, is_wanted,
                                              step_limit_of(place));
    place->is_outside = false;
    if (stepped == WR_STEPPED_IN)
        place->granted = granted(&place->waiter);
    else
        place->waited_ns = 0;
    return stepped;
}

WR_COLD static bool step_in(struct wr_lane *lane, bool is_wanted)
{
    uint64_t signals = wr_buffers_signals_block(lane->buffers);
    enum wr_stepped stepped = step_in_blocked(wr_place_of(lane), is_wanted);
    switch (stepped) {
    case WR_STEPPED_IN:
        break;
    case WR_STEPPED_AWAY:
        wr_buffers_count_lost(lane, WEIR_LOSS_ABORTED);
        break;
    case WR_STEPPED_CLOSED:
        *wr_self_last_loss() = WEIR_LOSS_ABORTED; /* counted by who has closed the gate */
        break;
    case WR_STEPPED_LATE:
        wr_buffers_count_lost(lane, WEIR_LOSS_DEADLINE);
        wr_bell_ring(&lane->buffers->bell);
        break;
    }
    wr_buffers_signals_restore(lane->buffers, signals);
    return stepped == WR_STEPPED_IN;
}

/* --- Unused units. --------------------------------------------------------------------------- */

/* Returns the units together with the credit. give() needs the credit empty, because the units may
 * become the credit. */
static void give_all(struct wr_place *place, struct wr_unit *units)
{
    struct wr_unit *rest = credit_take(place);
    while (rest) {
        struct wr_unit *next = rest->next;
        rest->next = units;
        units = rest;
        rest = next;
    }
    give(place, units, WR_PATIENCE_NS);
}

/* Returns segments that were taken for an event that is not written. */
static void give_segments(struct wr_lane *lane, struct wr_segment *first)
{
    struct wr_unit *units = NULL;
    while (first) {
        struct wr_unit *unit = (struct wr_unit *)(void *)first;
        first = first->newer;
        unit->next = units;
        units = unit;
    }
    give_all(wr_place_of(lane), units);
}

/* Ends the wait that the thread jumped out of. Returns its result; `units` receives its grant. */
static enum wr_waited wait_end(struct wr_place *place, struct wr_unit **units)
{
    struct wr_gate *gate = &place->lane.buffers->gate;
    if (place->is_outside) {
        place->is_outside = false;
        enum wr_stepped stepped = wr_gate_step_in(gate, &place->waiter, false, WR_PATIENCE_NS);
        return stepped == WR_STEPPED_CLOSED ? WR_WAITED_ABORTED : WR_WAITED_DEADLINE;
    }
    if (!place->is_parked)
        return WR_WAITED_GRANTED;
    enum wr_waited waited = wr_gate_cancel(gate, &place->waiter);
    if (waited == WR_WAITED_GRANTED)
        *units = granted(&place->waiter);
    place->is_parked = false;
    wr_gate_unpark(gate);
    return waited;
}

WR_COLD static bool reset(struct wr_lane *lane)
{
    struct wr_place *place = wr_place_of(lane);
    struct wr_unit *units = place->granted;
    place->granted = NULL;
    place->waited_ns = 0;
    enum wr_waited waited = wait_end(place, &units);
    if (units)
        give_all(place, units);
    wr_bell_ring(&lane->buffers->bell); /* the waiter may have LEFT without the lock */
    struct wr_segment *in_hand = wr_chain_take_in_hand(lane);
    if (in_hand)
        give_segments(lane, in_hand);
    return waited == WR_WAITED_ABORTED;
}

static void give_credit(struct wr_place *place, uint64_t limit_ns)
{
    struct wr_unit *credit = credit_take(place);
    if (credit)
        give(place, credit, limit_ns);
    wr_gate_rest(&place->lane.buffers->gate, &place->waiter, limit_ns);
}

WR_COLD static void exit_lane(struct wr_lane *lane)
{
    wr_chain_retire(lane);
    give_credit(wr_place_of(lane), WR_PATIENCE_NS);
}

/* --- The drain. ------------------------------------------------------------------------------ */

/* Takes back what the thread could not return. False while a granter has not yet noticed that the
 * waiter has LEFT. */
WR_COLD static bool finish(struct wr_lane *lane)
{
    give_credit(wr_place_of(lane), UINT64_MAX);
    return wr_gate_is_done_with(&wr_place_of(lane)->waiter);
}

/* Takes back the lane's credit; true if there was any. */
static bool revoke(struct wr_lane *lane)
{
    struct wr_unit *credit = credit_take(wr_place_of(lane));
    if (credit)
        wr_gate_give(&lane->buffers->gate, credit, UINT64_MAX);
    return credit != NULL;
}

/* Takes back all credit, and the units of threads that stay in the host's hooks. */
WR_COLD static bool take_back(struct wr_buffers *buffers)
{
    uint64_t attached;
    bool any = false;
    for (struct wr_lane *lane = wr_buffers_lanes(buffers, &attached); lane; lane = lane->next)
        any |= revoke(lane);
    return wr_gate_sweep_outside(&buffers->gate) || any;
}

/* The lane's thread has made no progress for a while, so another one may run in its place. */
WR_COLD static void rest(struct wr_lane *lane)
{
    wr_gate_rest(&lane->buffers->gate, &wr_place_of(lane)->waiter, UINT64_MAX);
}

WR_COLD static void sweep(struct wr_lane *lane)
{
    if (!lane->oldest)
        rest(lane);
}

static void hand_over(struct wr_buffers *buffers)
{
    if (!buffers->returned)
        return;
    struct wr_unit *units = buffers->returned;
    buffers->returned = NULL;
    buffers->returned_count = 0;
    wr_gate_give(&buffers->gate, units, UINT64_MAX);
}

WR_COLD static void give_read(struct wr_buffers *buffers, struct wr_segment *segment)
{
    struct wr_unit *unit = (struct wr_unit *)(void *)segment;
    unit->next = buffers->returned;
    buffers->returned = unit;
    if (++buffers->returned_count >= wr_gate_grant_units(&buffers->gate))
        hand_over(buffers);
}

WR_COLD static bool is_needed(const struct wr_buffers *buffers)
{
    return wr_gate_is_short(&buffers->gate);
}

/* If a thread in a no-block scope found no room, takes back unused grants for it. */
WR_COLD static bool is_short(struct wr_buffers *buffers)
{
    bool is_starved = wr_u32_exchange_acq_rel(&buffers->is_starved, 0) != 0;
    if (is_starved)
        take_back(buffers);
    return is_starved;
}

WR_COLD static void before_sink(struct wr_buffers *buffers)
{
    hand_over(buffers);
    wr_gate_drain_leaves(&buffers->gate);
}

WR_COLD static void after_sink(struct wr_buffers *buffers)
{
    wr_gate_drain_returns(&buffers->gate);
}

WR_COLD static void tune(struct wr_buffers *buffers, uint64_t bytes, uint64_t ns)
{
    wr_gate_tune(&buffers->gate, bytes, ns);
}

/* As long as a thread waits and the strategy grants it something, the drain looks again. */
WR_COLD static enum wr_attention attend(struct wr_buffers *buffers)
{
    if (wr_ptr_load_relaxed(&buffers->ready)) /* relaxed: a hint; there is more to drain */
        return WR_ATTENTION_AGAIN;
    hand_over(buffers);
    switch (wr_gate_idle(&buffers->gate)) {
    case WR_GATE_QUIET:
        /* The threads that may take what is free are running. One may take the last of it and rest,
         * and then no thread rings for those behind it. */
        return wr_gate_parked(&buffers->gate) ? WR_ATTENTION_SOON : WR_ATTENTION_NONE;
    case WR_GATE_SERVED:
        return WR_ATTENTION_AGAIN;
    case WR_GATE_STUCK:
        break;
    }
    return WR_ATTENTION_STUCK;
}

/* --- The end. -------------------------------------------------------------------------------- */

/* No race on the count: the thread of a waiter that is outside counts nothing until it has returned
 * through the gate's lock. */
WR_COLD static void lose_outside(struct wr_waiter *waiter)
{
    wr_lane_count_lost(&WR_CONTAINER(waiter, struct wr_place, waiter)->lane, WEIR_LOSS_ABORTED);
}

WR_COLD static bool send_away(struct wr_buffers *buffers, uint64_t limit_ns)
{
    struct wr_waiter *waiter;
    if (!wr_gate_close(&buffers->gate, limit_ns, lose_outside, &waiter))
        return false;
    while (waiter) {
        struct wr_waiter *next = waiter->next;
        /* The lane's thread is parked: only this thread counts for the lane until the word is set.
         */
        wr_lane_count_lost(&WR_CONTAINER(waiter, struct wr_place, waiter)->lane, WEIR_LOSS_ABORTED);
        wr_gate_abort(&buffers->gate, waiter);
        waiter = next;
    }
    return true;
}

WR_COLD static bool wait_away(struct wr_buffers *buffers, uint64_t deadline_ns)
{
    return wr_gate_wait_unparked(&buffers->gate, deadline_ns);
}

static bool has_none_outside(struct wr_buffers *buffers, uint64_t deadline_ns)
{
    uint64_t now = wr_os_monotonic_ns(), signals = wr_os_signals_block();
    bool has_none =
        wr_gate_has_none_outside(&buffers->gate, deadline_ns > now ? deadline_ns - now : 0);
    wr_os_signals_restore(signals);
    return has_none;
}

WR_COLD static bool wait_served(struct wr_buffers *buffers, uint64_t deadline_ns)
{
    while (wr_gate_wait_unparked(&buffers->gate, deadline_ns)) {
        if (has_none_outside(buffers, deadline_ns))
            return true;
        if (wr_os_monotonic_ns() >= deadline_ns)
            return false;
        wr_os_sleep_ns(OUTSIDE_LOOK_NS);
    }
    return false;
}

WR_COLD static bool figures(struct wr_buffers *buffers, struct weir_stats *stats, uint64_t limit_ns)
{
    struct wr_gate_figures figures = {0};
    uint64_t signals = wr_os_signals_block();
    bool is_done = wr_gate_figures(&buffers->gate, &figures, limit_ns);
    wr_os_signals_restore(signals);
    stats->budget_bytes_used = stats->budget_bytes - figures.free_bytes;
    stats->parks = figures.parks;
    stats->parked_ns = figures.parked_ns;
    stats->parked_ns_max = figures.parked_ns_max;
    stats->parked_now = figures.parked_now;
    stats->grants = figures.grants;
    stats->grant_bytes = figures.grant_bytes;
    stats->grant_bytes_now = figures.grant_bytes_now;
    stats->wakes = figures.wakes;
    return is_done;
}

/* --- The table. ------------------------------------------------------------------------------ */

const struct wr_mode wr_mode_block = {.parks = true,
                                      .init = init,
                                      .fini = fini,
                                      .room = wr_chain_room,
                                      .span_room = wr_chain_span_room,
                                      .span_open = wr_chain_span_open,
                                      .take = take,
                                      .retire = wr_chain_retire,
                                      .has_room = has_room,
                                      .reset = reset,
                                      .exit = exit_lane,
                                      .wait = wait_here,
                                      .resume = resume,
                                      .wait_outside = wait_outside,
                                      .step_in = step_in,
                                      .give = give_read,
                                      .is_needed = is_needed,
                                      .serve = wr_mode_no_need,
                                      .take_back = take_back,
                                      .is_short = is_short,
                                      .sweep = sweep,
                                      .rest = rest,
                                      .before_sink = before_sink,
                                      .after_sink = after_sink,
                                      .tune = tune,
                                      .attend = attend,
                                      .finish = finish,
                                      .attempts = wr_chain_attempts,
                                      .send_away = send_away,
                                      .wait_away = wait_away,
                                      .wait_served = wait_served,
                                      .counts = wr_chain_counts,
                                      .figures = figures};
