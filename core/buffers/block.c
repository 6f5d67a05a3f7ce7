/*
 * Mode BLOCK: a thread that finds no room waits at the session's gate. Not in single-threaded
 * builds.
 */
#include "buffers/block.h"

#include <errno.h>
#include "buffers/when_full.h"
#include "lane/lane_write.h"
#include "os/os.h"

_Static_assert(offsetof(struct wr_segment, older) == 0 &&
                   sizeof(((struct wr_segment *)0)->older) == sizeof(struct wr_unit),
               "a free segment's first word links it");

static struct wr_segment *segment_of(struct wr_unit *unit)
{
    return (struct wr_segment *)(void *)unit;
}

void wr_block_init(struct wr_buffers *buffers, const struct weir_session_config *config)
{
    struct wr_gate_config gate = {.wake = config->wake,
                                  .grant_units =
                                      (uint32_t)(config->grant_bytes / config->segment_bytes),
                                  .processors = wr_os_processor_count(),
                                  .blocks_signals = config->block_signals};
    wr_gate_init(&buffers->gate, &gate, buffers->arena, buffers->segment_bytes,
                 buffers->segment_count);
    buffers->blocks = true;
    buffers->max_block_ns = config->max_block_ns;
    buffers->on_park = config->on_park;
    buffers->on_park_context = config->on_park_context;
}

void wr_block_fini(struct wr_buffers *buffers)
{
    if (buffers->blocks)
        wr_gate_fini(&buffers->gate);
}

/* The first `count` of the units, which are at least so many; the rest is kept for the next times.
 */
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
    /* relaxed: what was not there yet is met the next time */
    if (!wr_ptr_load_relaxed(&place->credit))
        return NULL;
    /* edge CREDIT.acquire: either the owner gets it, or who revokes it */
    return wr_ptr_exchange_acq_rel(&place->credit, NULL);
}

static struct wr_unit *granted(struct wr_waiter *waiter)
{
    struct wr_unit *units = waiter->units;
    waiter->units = NULL;
    waiter->unit_count = 0;
    return units;
}

/* Back to the gate; to the credit, which the drain takes back while others wait, if its lock cannot
 * be had in time. The credit is empty. */
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

/* What a wait has brought, or one segment of the credit. Who needs several gives that back first:
 * several threads that each hold a part of what another one needs would wait for ever. */
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

struct wr_segment *wr_block_take(struct wr_lane *lane, uint32_t count)
{
    struct wr_place *place = wr_place_of(lane);
    struct wr_buffers *buffers = lane->buffers;
    uint64_t limit_ns = limit_of(buffers);
    struct wr_unit *units = units_at_hand(place, count, limit_ns);
    if (units)
        return use(place, units, count);
    switch (wr_gate_ask(&buffers->gate, &place->waiter, count, limit_ns)) {
    case WR_ASKED_GRANTED:
        return use(place, granted(&place->waiter), count);
    case WR_ASKED_PARKED:
        place->is_blocked = true;
        wr_bell_ring(&buffers->bell); /* a drain that sleeps must look after who waits */
        return NULL;
    case WR_ASKED_ABORTED:
        wr_buffers_count_lost(lane, WEIR_LOSS_ABORTED);
        return NULL;
    case WR_ASKED_LATE:
        wr_buffers_count_lost(lane, WEIR_LOSS_DEADLINE);
        return NULL;
    case WR_ASKED_FULL:
        wr_when_full_drop(lane);
        return NULL;
    }
    return NULL;
}

bool wr_block_has_room(struct wr_lane *lane)
{
    /* relaxed: what is revoked meanwhile is asked for at the gate */
    return wr_ptr_load_relaxed(&wr_place_of(lane)->credit) ||
           wr_gate_has_room(&lane->buffers->gate);
}

/* Monotonic. An attempt that queues again goes on with the time that it has left. */
static uint64_t deadline_of(const struct wr_place *place)
{
    uint64_t parked_at_ns = place->waiter.parked_at_ns, most_ns = UINT64_MAX - parked_at_ns;
    uint64_t max_ns = place->lane.buffers->max_block_ns;
    uint64_t left_ns = max_ns > place->waited_ns ? max_ns - place->waited_ns : 0;
    return max_ns && left_ns < most_ns ? parked_at_ns + left_ns : UINT64_MAX;
}

enum wr_waited wr_block_wait(struct wr_lane *lane)
{
    struct wr_buffers *buffers = lane->buffers;
    struct wr_place *place = wr_place_of(lane);
    struct wr_waiter *waiter = &place->waiter;
    int error = errno; /* a host's signal handler may be what emits */
    wr_self.parked_in = buffers;
    enum wr_waited waited = wr_gate_wait(&buffers->gate, waiter, deadline_of(place));
    if (buffers->on_park) {
        struct weir_park park = {.size = sizeof park,
                                 .parked_ns = waiter->parked_ns,
                                 .queue_number = waiter->queue_number,
                                 .grant_number = waiter->grant_number,
                                 .grant_bytes =
                                     (uint64_t)waiter->unit_count * buffers->segment_bytes};
        buffers->on_park(buffers->on_park_context, &park);
    }
    wr_self.parked_in = NULL;
    errno = error;
    if (waited == WR_WAITED_DEADLINE)
        wr_bell_ring(&buffers->bell); /* it may have left without the lock */
    return waited;
}

/* A grant that came too late to be used. */
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
    place->is_blocked = false;
    if (goes_on)
        place->granted = granted(&place->waiter);
    else if (waited == WR_WAITED_GRANTED) {
        send_back(place, gate);
        wr_buffers_count_lost(lane, WEIR_LOSS_ABORTED);
    } else if (waited == WR_WAITED_DEADLINE) {
        wr_buffers_count_lost(lane, WEIR_LOSS_DEADLINE);
    } else if (waited == WR_WAITED_ABORTED) {
        wr_self.last_loss = WEIR_LOSS_ABORTED; /* counted by who has sent it away */
    }
    wr_gate_unpark(gate);
    return goes_on;
}

bool wr_block_resume(struct wr_lane *lane, enum wr_waited waited, bool is_wanted)
{
    uint64_t signals = wr_buffers_signals_block(lane->buffers);
    bool goes_on = resume_blocked(lane, waited, is_wanted);
    wr_buffers_signals_restore(lane->buffers, signals);
    return goes_on;
}

/* --- Between the host's hooks. --------------------------------------------------------------- */

/* Of a thread that has its grant: how long it waits for the lock. Others may have that for a moment
 * although it is late. */
static uint64_t step_limit_of(const struct wr_place *place)
{
    uint64_t max_ns = place->lane.buffers->max_block_ns;
    uint64_t left_ns = max_ns > place->waited_ns ? max_ns - place->waited_ns : 0;
    if (max_ns == 0)
        return UINT64_MAX;
    return left_ns > WR_PATIENCE_NS ? left_ns : WR_PATIENCE_NS;
}

/* A child may have been forked in the hook or in on_park, in which nobody frees the gate's lock. */
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

/* The host's hook has returned, or will be called: only `parked` keeps the session here. */
enum wr_waited wr_block_wait_outside(struct wr_lane *lane)
{
    struct wr_place *place = wr_place_of(lane);
    struct wr_gate *gate = &lane->buffers->gate;
    bool blocks_signals = lane->buffers->blocks_signals;
    enum wr_waited waited = WR_WAITED_ABORTED;
    place->waiter.parked_at_ns = wr_os_monotonic_ns(); /* the hook's time does not count */
    if (!wr_gate_is_inherited(gate))
        waited = wr_block_wait(lane);
    uint64_t signals = blocks_signals ? wr_os_signals_block() : 0;
    if (waited == WR_WAITED_GRANTED)
        waited = step_out(place);
    if (waited != WR_WAITED_GRANTED)
        place->waited_ns = 0;
    if (waited == WR_WAITED_DEADLINE)
        wr_lane_count_lost(lane, WEIR_LOSS_DEADLINE);
    place->is_blocked = false;
    wr_gate_unpark(gate); /* the last touch */
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

bool wr_block_step_in(struct wr_lane *lane, bool is_wanted)
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
        wr_self.last_loss = WEIR_LOSS_ABORTED; /* counted by who has closed the gate */
        break;
    case WR_STEPPED_LATE:
        wr_buffers_count_lost(lane, WEIR_LOSS_DEADLINE);
        wr_bell_ring(&lane->buffers->bell);
        break;
    }
    wr_buffers_signals_restore(lane->buffers, signals);
    return stepped == WR_STEPPED_IN;
}

bool wr_block_sweep_outside(struct wr_buffers *buffers)
{
    return wr_gate_sweep_outside(&buffers->gate);
}

/* --- What is not used. ----------------------------------------------------------------------- */

/* Together with the credit: there is one list, and it may be what the units end as. */
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

void wr_block_return(struct wr_lane *lane, struct wr_segment *first)
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

/* What the wait has come to that a jump has ended, and what it has brought. */
static enum wr_waited wait_end(struct wr_place *place, struct wr_unit **units)
{
    struct wr_gate *gate = &place->lane.buffers->gate;
    if (place->is_outside) {
        place->is_outside = false;
        enum wr_stepped stepped = wr_gate_step_in(gate, &place->waiter, false, WR_PATIENCE_NS);
        return stepped == WR_STEPPED_CLOSED ? WR_WAITED_ABORTED : WR_WAITED_DEADLINE;
    }
    if (!place->is_blocked)
        return WR_WAITED_GRANTED;
    enum wr_waited waited = wr_gate_cancel(gate, &place->waiter);
    if (waited == WR_WAITED_GRANTED)
        *units = granted(&place->waiter);
    place->is_blocked = false;
    wr_gate_unpark(gate);
    return waited;
}

bool wr_block_reset(struct wr_lane *lane)
{
    struct wr_place *place = wr_place_of(lane);
    struct wr_unit *units = place->granted;
    place->granted = NULL;
    place->waited_ns = 0;
    enum wr_waited waited = wait_end(place, &units);
    if (units)
        give_all(place, units);
    wr_bell_ring(&lane->buffers->bell); /* it may have left the gate without the lock */
    return waited == WR_WAITED_ABORTED;
}

static void give_credit(struct wr_place *place, uint64_t limit_ns)
{
    struct wr_unit *credit = credit_take(place);
    if (credit)
        give(place, credit, limit_ns);
    wr_gate_rest(&place->lane.buffers->gate, &place->waiter, limit_ns);
}

void wr_block_exit(struct wr_lane *lane)
{
    give_credit(wr_place_of(lane), WR_PATIENCE_NS);
}

bool wr_block_finish(struct wr_lane *lane)
{
    if (!lane->buffers->blocks)
        return true;
    give_credit(wr_place_of(lane), UINT64_MAX);
    return wr_gate_is_done_with(&wr_place_of(lane)->waiter);
}

bool wr_block_revoke(struct wr_lane *lane)
{
    struct wr_unit *credit = credit_take(wr_place_of(lane));
    if (credit)
        wr_gate_give(&lane->buffers->gate, credit, UINT64_MAX);
    return credit != NULL;
}

void wr_block_rest(struct wr_lane *lane)
{
    if (lane->buffers->blocks)
        wr_gate_rest(&lane->buffers->gate, &wr_place_of(lane)->waiter, UINT64_MAX);
}

void wr_block_drain_leaves(struct wr_buffers *buffers)
{
    if (!buffers->blocks)
        return;
    wr_block_hand_over(buffers);
    wr_gate_drain_leaves(&buffers->gate);
}

void wr_block_drain_returns(struct wr_buffers *buffers)
{
    if (buffers->blocks)
        wr_gate_drain_returns(&buffers->gate);
}

bool wr_block_figures(struct wr_buffers *buffers, struct wr_gate_figures *figures,
                      uint64_t limit_ns)
{
    return wr_gate_figures(&buffers->gate, figures, limit_ns);
}

/* The thread of a waiter that is outside counts nothing until it is back, behind the gate's lock.
 */
static void lose_outside(struct wr_waiter *waiter)
{
    wr_lane_count_lost(&WR_CONTAINER(waiter, struct wr_place, waiter)->lane, WEIR_LOSS_ABORTED);
}

bool wr_block_abort(struct wr_buffers *buffers, uint64_t limit_ns)
{
    if (!buffers->blocks)
        return true;
    struct wr_waiter *waiter;
    if (!wr_gate_close(&buffers->gate, limit_ns, lose_outside, &waiter))
        return false;
    while (waiter) {
        struct wr_waiter *next = waiter->next;
        /* Its thread is parked: nobody else counts for this lane until the word is set. */
        wr_lane_count_lost(&WR_CONTAINER(waiter, struct wr_place, waiter)->lane, WEIR_LOSS_ABORTED);
        wr_gate_abort(&buffers->gate, waiter);
        waiter = next;
    }
    return true;
}

bool wr_block_wait_unparked(struct wr_buffers *buffers, uint64_t deadline_ns)
{
    return !buffers->blocks || wr_gate_wait_unparked(&buffers->gate, deadline_ns);
}

void wr_block_give(struct wr_buffers *buffers, struct wr_segment *segment)
{
    struct wr_unit *unit = (struct wr_unit *)(void *)segment;
    unit->next = buffers->returned;
    buffers->returned = unit;
    if (++buffers->returned_count >= wr_gate_grant_units(&buffers->gate))
        wr_block_hand_over(buffers);
}

void wr_block_hand_over(struct wr_buffers *buffers)
{
    if (!buffers->returned)
        return;
    struct wr_unit *units = buffers->returned;
    buffers->returned = NULL;
    buffers->returned_count = 0;
    wr_gate_give(&buffers->gate, units, UINT64_MAX);
}
