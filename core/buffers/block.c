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
                                  .flags = config->wake_flags,
                                  .grant_units =
                                      (uint32_t)(config->grant_bytes / config->segment_bytes),
                                  .processors = wr_os_processor_count()};
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

/* What a wait has brought, or one segment of the credit. Who needs several gives that back first:
 * several threads that each hold a part of what another one needs would wait for ever. */
static struct wr_unit *units_at_hand(struct wr_place *place, uint32_t count)
{
    struct wr_unit *units = place->granted;
    place->granted = NULL;
    if (units)
        return units;
    units = credit_take(place);
    if (!units || count == 1)
        return units;
    wr_gate_give(&place->lane.buffers->gate, units);
    return NULL;
}

struct wr_segment *wr_block_take(struct wr_lane *lane, uint32_t count)
{
    struct wr_place *place = wr_place_of(lane);
    struct wr_buffers *buffers = lane->buffers;
    struct wr_unit *units = units_at_hand(place, count);
    if (units)
        return use(place, units, count);
    switch (wr_gate_ask(&buffers->gate, &place->waiter, count, wr_self.no_block == 0)) {
    case WR_ASKED_GRANTED:
        return use(place, granted(&place->waiter), count);
    case WR_ASKED_PARKED:
        place->is_blocked = true;
        wr_bell_ring(&buffers->bell); /* a drain that sleeps must look after who waits */
        return NULL;
    case WR_ASKED_ABORTED:
        wr_lane_lose(lane, WEIR_LOSS_ABORTED);
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
        struct weir_park park = {.parked_ns = waiter->parked_ns,
                                 .queue_number = waiter->queue_number,
                                 .grant_number = waiter->grant_number,
                                 .grant_bytes =
                                     (uint64_t)waiter->unit_count * buffers->segment_bytes};
        buffers->on_park(buffers->on_park_context, &park);
    }
    wr_self.parked_in = NULL;
    errno = error;
    return waited;
}

/* A grant that came too late to be used. */
static void send_back(struct wr_place *place, struct wr_gate *gate)
{
    if (wr_gate_is_inherited(gate)) /* on_park may have forked */
        return;
    wr_gate_give(gate, granted(&place->waiter));
    wr_gate_rest(gate, &place->waiter);
}

bool wr_block_resume(struct wr_lane *lane, enum wr_waited waited, bool is_wanted)
{
    struct wr_place *place = wr_place_of(lane);
    struct wr_gate *gate = &lane->buffers->gate;
    bool goes_on = waited == WR_WAITED_GRANTED && is_wanted;
    place->is_blocked = false;
    if (goes_on)
        place->granted = granted(&place->waiter);
    else if (waited == WR_WAITED_GRANTED) {
        send_back(place, gate);
        wr_lane_lose(lane, WEIR_LOSS_ABORTED);
    } else if (waited == WR_WAITED_DEADLINE) {
        wr_lane_lose(lane, WEIR_LOSS_DEADLINE);
    } else if (waited == WR_WAITED_ABORTED) {
        wr_self.last_loss = WEIR_LOSS_ABORTED; /* counted by who has sent it away */
    }
    wr_gate_unpark(gate);
    return goes_on;
}

/* The host's hook has returned, or will be called: only `parked` keeps the session here, and a
 * child may have been forked in the hook or in on_park, in which nobody frees the gate's lock. */
enum wr_waited wr_block_wait_outside(struct wr_lane *lane)
{
    struct wr_place *place = wr_place_of(lane);
    struct wr_gate *gate = &lane->buffers->gate;
    enum wr_waited waited = WR_WAITED_ABORTED;
    place->waiter.parked_at_ns = wr_os_monotonic_ns(); /* the hook's time does not count */
    if (!wr_gate_is_inherited(gate))
        waited = wr_block_wait(lane);
    place->waited_ns = waited == WR_WAITED_GRANTED ? place->waited_ns + place->waiter.parked_ns : 0;
    if (waited == WR_WAITED_GRANTED && wr_gate_is_inherited(gate)) {
        waited = WR_WAITED_ABORTED;
    } else if (waited == WR_WAITED_GRANTED && !wr_gate_step_out(gate, &place->waiter)) {
        wr_lane_count_lost(lane, WEIR_LOSS_ABORTED);
        waited = WR_WAITED_ABORTED;
    } else if (waited == WR_WAITED_DEADLINE) {
        wr_lane_count_lost(lane, WEIR_LOSS_DEADLINE);
    }
    place->is_blocked = false;
    wr_gate_unpark(gate);
    return waited;
}

bool wr_block_step_in(struct wr_lane *lane, bool is_wanted)
{
    struct wr_place *place = wr_place_of(lane);
    enum wr_stepped stepped = wr_gate_step_in(&lane->buffers->gate, &place->waiter, is_wanted);
    if (stepped != WR_STEPPED_IN)
        place->waited_ns = 0;
    if (stepped == WR_STEPPED_IN)
        place->granted = granted(&place->waiter);
    else if (stepped == WR_STEPPED_AWAY)
        wr_lane_lose(lane, WEIR_LOSS_ABORTED);
    else
        wr_self.last_loss = WEIR_LOSS_ABORTED; /* counted by who has closed the gate */
    return stepped == WR_STEPPED_IN;
}

bool wr_block_sweep_outside(struct wr_buffers *buffers)
{
    return wr_gate_sweep_outside(&buffers->gate);
}

void wr_block_exit(struct wr_lane *lane)
{
    struct wr_place *place = wr_place_of(lane);
    struct wr_unit *credit = credit_take(place);
    if (credit)
        wr_gate_give(&lane->buffers->gate, credit);
    wr_gate_rest(&lane->buffers->gate, &place->waiter);
}

bool wr_block_revoke(struct wr_lane *lane)
{
    struct wr_unit *credit = credit_take(wr_place_of(lane));
    if (credit)
        wr_gate_give(&lane->buffers->gate, credit);
    return credit != NULL;
}

void wr_block_rest(struct wr_lane *lane)
{
    if (lane->buffers->blocks)
        wr_gate_rest(&lane->buffers->gate, &wr_place_of(lane)->waiter);
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

void wr_block_figures(struct wr_buffers *buffers, struct wr_gate_figures *figures)
{
    wr_gate_figures(&buffers->gate, figures);
}

/* The thread of a waiter that is outside counts nothing until it is back, behind the gate's lock.
 */
static void lose_outside(struct wr_waiter *waiter)
{
    wr_lane_count_lost(&WR_CONTAINER(waiter, struct wr_place, waiter)->lane, WEIR_LOSS_ABORTED);
}

void wr_block_abort(struct wr_buffers *buffers)
{
    if (!buffers->blocks)
        return;
    struct wr_waiter *waiter = wr_gate_close(&buffers->gate, lose_outside);
    while (waiter) {
        struct wr_waiter *next = waiter->next;
        /* Its thread is parked: nobody else counts for this lane until the word is set. */
        wr_lane_count_lost(&WR_CONTAINER(waiter, struct wr_place, waiter)->lane, WEIR_LOSS_ABORTED);
        wr_gate_abort(&buffers->gate, waiter);
        waiter = next;
    }
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
    wr_gate_give(&buffers->gate, units);
}
