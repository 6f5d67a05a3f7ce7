#include "gate_bench.h"

#include <string.h>
#include <weir/session.h>
#include "wait/ablation.h"

/* Shorter than any other time that a thread sleeps. */
#define DEADLINE_NS 1000000u
/* Added to the bell's word by each thread that is done. */
#define DONE 0x100u

struct gate_bench gate_bench;

static const char *const word_names[GATE_THREADS] = {"word0", "word1", "word2"};
static const char *const credit_names[GATE_THREADS] = {"credit0", "credit1", "credit2"};

static void prepare_asker(uint32_t index)
{
    struct asker *asker = &gate_bench.asker[index];
    asker->place = model_memory(sizeof *asker->place);
    asker->place->lane.thread = model_memory(sizeof(struct wr_thread));
    asker->place->lane.buffers = gate_bench.buffers;
    asker->place->lane.next = gate_bench.buffers->lanes;
    gate_bench.buffers->lanes = &asker->place->lane;
    model_name(&asker->place->waiter.word, word_names[index]);
    model_name(&asker->place->credit, credit_names[index]);
    model_name(&asker->place->lane.lost, "lost");
}

static struct wr_segment *older(struct wr_segment *segment)
{
    wr_data_read(segment, sizeof segment->older);
    return segment->older;
}

static void keep(struct wr_segment **list, struct wr_segment *segment)
{
    wr_data_written(segment, sizeof segment->older);
    segment->older = *list;
    *list = segment;
}

/* The drain holds all segments, as if they had circulated for a while. */
static void take_all(void)
{
    struct wr_waiter *waiter = &gate_bench.asker[0].place->waiter;
    struct wr_gate *gate = &gate_bench.buffers->gate;
    while (gate->free_count > 0) {
        model_check(wr_gate_ask(gate, waiter, 1, UINT64_MAX) == WR_ASKED_GRANTED);
        while (waiter->units) {
            struct wr_segment *segment = (void *)waiter->units;
            waiter->units = waiter->units->next;
            segment->older = gate_bench.drain_held;
            gate_bench.drain_held = segment;
        }
        waiter->unit_count = 0;
    }
    wr_gate_rest(gate, waiter, UINT64_MAX);
}

/* With a callback, the models also check what the report reads from a waiter whose thread has LEFT. */
static void on_park(void *context, const struct weir_park *park)
{
    (void)context;
    model_check((park->grant_number != 0) == (park->grant_bytes != 0));
}

void gate_prepare(enum weir_wake wake, uint32_t flags, uint32_t grant, uint32_t askers)
{
    memset(&gate_bench, 0, sizeof gate_bench);
    gate_bench.askers = askers;
    gate_bench.is_wanted = true;
    product_reset();
    struct wr_buffers *buffers = gate_bench.buffers = model_memory(sizeof *buffers);
    buffers->segment_bytes = sizeof(struct wr_segment);
    buffers->segment_count = GATE_SEGMENTS;
    buffers->arena = model_memory(GATE_SEGMENTS * (uint32_t)sizeof(struct wr_segment));
    struct weir_session_config config = {.wake = wake,
                                         .max_block_ns = DEADLINE_NS,
                                         .segment_bytes = buffers->segment_bytes,
                                         .grant_bytes = grant * buffers->segment_bytes};
    buffers->mode = &wr_mode_block;
    buffers->mode->init(buffers, &config);
    buffers->on_park = on_park;
    if (wake == WEIR_WAKE_RELAY)
        wr_gate_ablate(&buffers->gate, flags);
    for (uint32_t i = 0; i < askers; i++)
        prepare_asker(i);
    take_all();
    product_without_lock(&buffers->lock);
    gate_bench.served = model_memory(askers * (uint32_t)sizeof *gate_bench.served);
    model_name(gate_bench.served, "served");
    model_name(&buffers->gate.lock, "gate.lock");
    model_name(&buffers->gate.parked, "parked");
    model_name(&buffers->gate.event, "event");
}

void gate_bell(void)
{
    product_bell(&gate_bench.buffers->bell);
}

void gate_hold(uint32_t thread)
{
    struct asker *asker = &gate_bench.asker[thread];
    struct wr_segment *segment = NULL;
    gate_give(1);
    model_check(wr_mode_block.take(&asker->place->lane, 1, &segment) == WR_ROOM);
    keep(&asker->held, segment);
    asker->attempts++;
    asker->served++;
}

void gate_hooks(void (*before)(void), void (*after)(void))
{
    gate_bench.before = before;
    gate_bench.after = after;
}

/* wait_for_room() of emit_slow.c. */
static bool wait_for_room(struct wr_lane *lane)
{
    enum wr_waited waited = wr_mode_block.wait(lane);
    if (waited == WR_WAITED_DEADLINE) /* a handler that now jumps out of the wait finds it ended */
        model_check(wr_gate_cancel(&lane->buffers->gate, &wr_place_of(lane)->waiter) == waited);
    return wr_mode_block.resume(lane, waited, gate_bench.is_wanted);
}

/* wait_outside() of emit_slow.c; the lane stays. */
static bool wait_outside(struct wr_lane *lane)
{
    struct asker *asker = &gate_bench.asker[model_self()];
    gate_bench.before();
    uint64_t start_ns = product_clock_ns(model_self());
    enum wr_waited waited = wr_mode_block.wait_outside(lane);
    uint64_t took_ns = product_clock_ns(model_self()) - start_ns;
    /* An attempt that has used up its time does not wait again. */
    model_check(asker->spent_ns < gate_bench.buffers->max_block_ns || took_ns == 0 ||
                waited == WR_WAITED_GRANTED);
    asker->spent_ns += took_ns;
    gate_bench.after();
    return waited == WR_WAITED_GRANTED && wr_mode_block.step_in(lane, gate_bench.is_wanted);
}

/* emit_to_slot() of emit_slow.c, without a lane to write to. */
static bool get(uint32_t count, bool (*wait)(struct wr_lane *lane))
{
    struct asker *asker = &gate_bench.asker[model_self()];
    struct wr_lane *lane = &asker->place->lane;
    struct wr_segment *first = NULL;
    bool goes_on = true;
    asker->attempts++;
    asker->spent_ns = 0;
    while (goes_on && wr_mode_block.take(lane, count, &first) == WR_ROOM_WAIT) {
        goes_on = wait(lane);
        model_check(!goes_on || gate_bench.is_wanted);
    }
    if (!goes_on)
        return false;
    for (uint32_t i = 0; first && i < count; i++) {
        struct wr_segment *next = first->newer;
        keep(&asker->held, first);
        asker->got++;
        first = next;
    }
    model_check(first == NULL);
    asker->served += asker->held != NULL;
    return asker->held != NULL;
}

bool gate_get(uint32_t count)
{
    return get(count, wait_for_room);
}

bool gate_get_hooked(uint32_t count)
{
    return get(count, wait_outside);
}

bool gate_try(void)
{
    wr_self.no_block = 1;
    bool is_served = gate_get(1);
    wr_self.no_block = 0;
    return is_served;
}

static struct wr_unit *units_of(struct wr_segment **list, uint32_t count)
{
    struct wr_unit *units = NULL;
    for (; count > 0 && *list; count--) {
        struct wr_unit *unit = (struct wr_unit *)(void *)*list;
        *list = older(*list);
        wr_data_written(unit, sizeof *unit);
        unit->next = units;
        units = unit;
    }
    return units;
}

void gate_return(void)
{
    struct asker *asker = &gate_bench.asker[model_self()];
    if (asker->held)
        wr_gate_give(&gate_bench.buffers->gate, units_of(&asker->held, UINT32_MAX), UINT64_MAX);
}

void gate_exit(void)
{
    wr_mode_block.exit(&gate_bench.asker[model_self()].place->lane);
}

void gate_done(void)
{
    product_ring(&gate_bench.buffers->bell, DONE);
}

void gate_give(uint32_t count)
{
    wr_gate_give(&gate_bench.buffers->gate, units_of(&gate_bench.drain_held, count), UINT64_MAX);
}

void gate_revoke(void)
{
    wr_mode_block.take_back(gate_bench.buffers);
}

void gate_attend(void)
{
    struct wr_buffers *buffers = gate_bench.buffers;
    for (;;) {
        uint32_t ticket = wr_bell_ticket(&buffers->bell);
        if (ticket / DONE == gate_bench.askers)
            return;
        if (wr_gate_idle(&buffers->gate) != WR_GATE_SERVED)
            wr_bell_wait(&buffers->bell, ticket, UINT64_MAX);
    }
}

void gate_sweep(void)
{
    gate_revoke();
    gate_revoke();
}

void gate_abort(void)
{
    wr_mode_block.send_away(gate_bench.buffers, UINT64_MAX);
}

void gate_wait_unparked(void)
{
    model_check(wr_mode_block.wait_away(gate_bench.buffers, UINT64_MAX));
    for (uint32_t i = 0; i < gate_bench.askers; i++)
        wr_data_read(&gate_bench.asker[i].place->is_parked, 1); /* whoever was has left */
}

static uint32_t count_held(const struct wr_segment *list)
{
    uint32_t count = 0;
    for (; list && count <= GATE_SEGMENTS; list = list->older)
        count++;
    return count;
}

static uint32_t count_units(const struct wr_unit *units)
{
    uint32_t count = 0;
    for (; units && count <= GATE_SEGMENTS; units = units->next)
        count++;
    return count;
}

/* A thread that came too late to give back what it had leaves that to the drain's next look. */
static void finish_left(void)
{
    for (uint32_t i = 0; i < gate_bench.askers; i++) {
        struct wr_place *place = gate_bench.asker[i].place;
        if (!wr_gate_is_done_with(&place->waiter))
            model_check(wr_mode_block.finish(&place->lane));
    }
}

void gate_check(void)
{
    struct wr_gate *gate = &gate_bench.buffers->gate;
    finish_left();
    uint32_t sum = count_held(gate_bench.drain_held) + count_units(gate->free);
    model_check(count_units(gate->free) == gate->free_count);
    for (uint32_t i = 0; i < gate_bench.askers; i++) {
        struct asker *asker = &gate_bench.asker[i];
        struct wr_place *place = asker->place;
        uint64_t lost = 0;
        sum += count_held(asker->held) + count_units(wr_ptr_load_relaxed(&place->credit));
        model_check(place->granted == NULL && !place->is_parked);
        for (unsigned cause = 0; cause < WR_LANE_CAUSES; cause++)
            lost += wr_u64_load_relaxed(&place->lane.lost[cause]);
        model_check(asker->served + lost == asker->attempts);
    }
    model_check(sum == GATE_SEGMENTS);
    model_check(gate->head == NULL && gate->tail == NULL && gate->waiting == 0);
    model_check(gate->outside == NULL);
    model_check(wr_u32_load_relaxed(&gate->parked) == 0);
}
