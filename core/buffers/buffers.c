#include "buffers/buffers.h"

#include <string.h>
#include "buffers/modes.h"
#include "buffers/place.h"
#include "lane/lane_change.h"
#include "lane/record.h"
#include "os/clock.h"
#include "os/os.h"

#define LANE_SLAB_BYTES (64u << 10)

struct wr_unattributed wr_unattributed[WR_SESSIONS_MAX];
struct wr_ptr wr_buffers_by_slot[WR_SESSIONS_MAX];
struct wr_u64 wr_buffers_blocking_slots;
struct wr_place wr_place_none;

static struct wr_u64 capture_ids; /* of the process; never reused */

/* --- Modes. ---------------------------------------------------------------------------------- */

#define ROW(name, table, word) [WEIR_MODE_##name] = &wr_mode_##table,
static const struct wr_mode *const modes[] = {WR_MODES(ROW)};
#undef ROW

WR_COLD void wr_mode_no_need(struct wr_buffers *buffers)
{
    (void)buffers;
}

WR_COLD bool wr_mode_nobody_waits(struct wr_buffers *buffers, uint64_t ns)
{
    (void)buffers;
    (void)ns;
    return true;
}

/* --- Life. ----------------------------------------------------------------------------------- */

WR_COLD bool wr_buffers_init(struct wr_buffers *buffers, const struct weir_session_config *config)
{
    buffers->segment_bytes = config->segment_bytes;
    buffers->segment_count = (uint32_t)(config->budget_bytes / config->segment_bytes);
    buffers->arena_bytes = (uint64_t)buffers->segment_count * config->segment_bytes;
    buffers->arena = wr_os_pages_map(buffers->arena_bytes);
    if (!buffers->arena)
        return false;
    /* Half is left for what is emitted until the drain runs. A budget has at least two segments. */
    buffers->wake_at = buffers->segment_count / 2;
    wr_bell_init(&buffers->bell);
    pthread_mutex_init(&buffers->lock, NULL);
    pthread_mutex_init(&buffers->take_lock, NULL);
    buffers->blocks_signals = config->block_signals;
    buffers->yields = !config->no_yield;
    buffers->has_stacks = !config->no_stacks;
    buffers->mode = modes[config->mode];
    buffers->mode->init(buffers, config);
    return true;
}

/* A slab begins with the link to the next slab; the lanes follow. */
static void slabs_release(struct wr_buffers *buffers)
{
    void *slab = wr_ptr_load_relaxed(&buffers->slabs); /* relaxed: the session is over */
    while (slab) {
        void *next = *(void **)slab;
        wr_os_pages_unmap(slab, LANE_SLAB_BYTES);
        slab = next;
    }
}

WR_COLD void wr_buffers_fini(struct wr_buffers *buffers)
{
    wr_buffers_welcome_locked(buffers); /* needs no lock: no other thread uses the session */
    for (struct wr_lane *lane = buffers->lanes; lane; lane = lane->next)
        wr_thread_lane_released(lane->thread);
    slabs_release(buffers);
    buffers->mode->fini(buffers);
    wr_os_pages_unmap(buffers->arena, buffers->arena_bytes);
    pthread_mutex_destroy(&buffers->lock);
    pthread_mutex_destroy(&buffers->take_lock);
}

/* --- Lanes. ---------------------------------------------------------------------------------- */

static void free_lanes_give(struct wr_buffers *buffers, struct wr_lane *first)
{
    struct wr_lane *last = first;
    while (last->next)
        last = last->next;
    void *head = wr_ptr_load_relaxed(&buffers->free_lanes); /* relaxed: the exchange decides */
    do {
        last->next = head;
        wr_data_written(&last->next, sizeof last->next);
        /* edge LANE.release: no thread reads what the lane's former thread left in it */
    } while (!wr_ptr_cas_release(&buffers->free_lanes, &head, first));
}

static struct wr_lane *lanes_grow(struct wr_buffers *buffers)
{
    unsigned char *slab = wr_os_pages_map(LANE_SLAB_BYTES);
    if (!slab)
        return NULL;
    void *head = wr_ptr_load_relaxed(&buffers->slabs); /* relaxed: the exchange decides */
    do
        *(void **)(void *)slab = head;
    while (!wr_ptr_cas_release(&buffers->slabs, &head, slab));
    wr_u64_add_relaxed(&buffers->slab_bytes, LANE_SLAB_BYTES); /* relaxed: a figure */
    struct wr_lane *first = NULL;
    for (size_t at = WR_LINE; at + sizeof(struct wr_place) <= LANE_SLAB_BYTES;
         at += sizeof(struct wr_place)) {
        struct wr_lane *lane = &((struct wr_place *)(void *)(slab + at))->lane;
        lane->next = first;
        first = lane;
    }
    return first;
}

/* The lock admits one taker at a time, so a lane that is first cannot be taken and come back with
 * another successor meanwhile (no ABA). */
static struct wr_lane *free_lane_pop_locked(struct wr_buffers *buffers)
{
    void *first = wr_ptr_load_acquire(&buffers->free_lanes); /* edge LANE.acquire */
    struct wr_lane *lane;
    do {
        lane = first;
        if (!lane)
            return NULL;
        wr_data_read(&lane->next, sizeof lane->next);
        /* edge LANE.acquire */
    } while (!wr_ptr_cas_acq_rel(&buffers->free_lanes, &first, lane->next));
    return lane;
}

static struct wr_lane *free_lane_make(struct wr_buffers *buffers)
{
    struct wr_lane *lane = lanes_grow(buffers);
    if (lane && lane->next)
        free_lanes_give(buffers, lane->next);
    return lane;
}

/* Makes lanes if none is free, or if the holder of `take_lock` does not run. Under the lock, so that of
 * threads that begin at one moment only one does; the others wait for it, a millisecond at most. */
static struct wr_lane *free_lane_take(struct wr_buffers *buffers)
{
    if (!wr_self_lock(&buffers->take_lock, &buffers->take_is_stuck))
        return free_lane_make(buffers);
    struct wr_lane *lane = free_lane_pop_locked(buffers);
    if (!lane)
        lane = free_lane_make(buffers);
    pthread_mutex_unlock(&buffers->take_lock);
    return lane;
}

WR_COLD uint64_t wr_buffers_capture_id(void)
{
    return wr_u64_add_relaxed(&capture_ids, 1) + 1; /* relaxed: only uniqueness matters */
}

static struct wr_lane *lane_take(struct wr_buffers *buffers, struct wr_thread *thread)
{
    struct wr_lane *lane = free_lane_take(buffers);
    if (!lane)
        return NULL;
    memset(wr_place_of(lane), 0, sizeof(struct wr_place));
    lane->thread = thread;
    lane->buffers = buffers;
    lane->track.thread_id = thread->id;
    wr_place_of(lane)->waiter.thread_id = (uint32_t)thread->id; /* the system's have 31 bits */
    lane->track.capture_id = wr_buffers_capture_id();
    wr_u32_store_relaxed(&lane->is_due, 1); /* relaxed: not shared yet */
    lane->track.number = 1; /* the introduction has number 1; attempts are numbered from 2 */
    wr_u32_add_acq_rel(&buffers->lanes_now, 1);
    void *head = wr_ptr_load_relaxed(&buffers->arrived); /* relaxed: the exchange decides */
    do {
        lane->next = head;
        wr_data_written(&lane->next, sizeof lane->next);
        /* edge ARRIVE.release: the lane */
    } while (!wr_ptr_cas_release(&buffers->arrived, &head, lane));
    return lane;
}

WR_COLD void wr_buffers_welcome_locked(struct wr_buffers *buffers)
{
    /* relaxed: a lane that is missed now is found at the next look; a lane that was announced is
     * not missed, because its thread pushes it on `arrived` before `ready` */
    if (!wr_ptr_load_relaxed(&buffers->arrived))
        return;
    /* edge ARRIVE.acquire */
    struct wr_lane *first = wr_ptr_exchange_acq_rel(&buffers->arrived, NULL), *last = first;
    buffers->lanes_attached++;
    for (; last->next; last = last->next) {
        wr_data_read(&last->next, sizeof last->next);
        buffers->lanes_attached++;
    }
    last->next = buffers->lanes;
    buffers->lanes = first;
}

WR_COLD void wr_buffers_announce(struct wr_lane *lane)
{
    struct wr_buffers *buffers = lane->buffers;
    /* edge READY: when the drain clears `queued`, it sees what the lane had before this exchange */
    if (wr_u32_exchange_acq_rel(&lane->queued, 1))
        return;
    /* relaxed: the exchange below decides */
    void *head = wr_ptr_load_relaxed(&buffers->ready);
    do {
        lane->ready_next = head;
        wr_data_written(&lane->ready_next, sizeof lane->ready_next);
        /* edge READY.release */
    } while (!wr_ptr_cas_release(&buffers->ready, &head, lane));
}

WR_COLD bool wr_buffers_lock(struct wr_buffers *buffers, uint64_t limit_ns, uint64_t *signals)
{
    *signals = wr_os_signals_block();
    if (wr_os_mutex_lock_for(&buffers->lock, limit_ns)) {
        wr_buffers_welcome_locked(buffers);
        return true;
    }
    wr_os_signals_restore(*signals);
    return false;
}

WR_COLD void wr_buffers_unlock(struct wr_buffers *buffers, uint64_t signals)
{
    pthread_mutex_unlock(&buffers->lock);
    wr_os_signals_restore(signals);
}

static struct wr_lane *lane_attach(struct wr_thread *thread, uint32_t slot)
{
    struct wr_lane *lane;
    /* edge QUIESCE: set before the slot's bit was in the mask that this thread loaded */
    struct wr_buffers *buffers = wr_ptr_load_acquire(&wr_buffers_by_slot[slot]);
    if (!buffers)
        return NULL;
    wr_thread_name_ask(thread); /* before the drain finds the lane */
    if (!(lane = lane_take(buffers, thread)))
        return NULL;
    wr_u32_add_acq_rel(&thread->lane_count, 1);
    wr_ptr_store_release(wr_thread_lane(thread, slot), lane);
    wr_buffers_announce(lane);
    /* The drain reads its horizon before it counts the lanes. This thread's stamps are later than
     * the horizon of any look that has not counted this lane. */
    (void)wr_clock_ticks_ordered();
    return lane;
}

WR_COLD struct wr_lane *wr_buffers_lane(struct wr_thread *thread, uint32_t slot)
{
    /* relaxed: this thread attached the lane; it is cleared only when no pin can see the session */
    struct wr_lane *lane = wr_lane_or_null(wr_ptr_load_relaxed(wr_thread_lane(thread, slot)));
    if (lane)
        return lane;
    uint64_t signals = wr_os_signals_block();
    lane = lane_attach(thread, slot);
    wr_os_signals_restore(signals);
    return lane;
}

/* --- Losses. --------------------------------------------------------------------------------- */

WR_COLD void wr_buffers_starve(struct wr_buffers *buffers)
{
    /* relaxed: a hint; most dropped events return here */
    if (wr_u32_load_relaxed(&buffers->is_starved))
        return;
    if (wr_u32_exchange_acq_rel(&buffers->is_starved, 1) == 0)
        wr_bell_ring(&buffers->bell);
}

WR_COLD void wr_buffers_lose_for_room(struct wr_lane *lane)
{
    lane->skip_cause = lane->held_before ? WEIR_LOSS_FULL : WEIR_LOSS_NO_SEGMENT;
    wr_buffers_count_lost(lane, lane->skip_cause);
}

static void mark_gap(struct wr_lane *lane, unsigned cause, struct wr_segment *segment,
                     uint64_t commit)
{
    uint64_t *mark = (void *)wr_segment_cursor(segment, commit);
    mark[0] = WR_RECORD_EXTENSION; /* event 0; no time of its own */
    /* relaxed: this thread stored it */
    uint64_t lost = wr_u64_load_relaxed(&lane->lost[wr_lane_cause(cause)]);
    mark[1] = (uint64_t)cause << WR_GAP_CAUSE_SHIFT | lost;
    wr_segment_commit_mark(segment, commit, WR_GAP_MARK_BYTES);
}

static void lose_blocked(struct wr_lane *lane, enum weir_loss cause)
{
    uint64_t commit = 0; /* gcc 12 does not see that it is set if there is a segment */
    struct wr_segment *segment = wr_lane_room(lane, WR_GAP_MARK_BYTES, &commit);
    wr_buffers_count_lost(lane, cause);
    if (segment)
        mark_gap(lane, cause, segment, commit);
    else
        lane->buffers->mode->retire(lane);
}

WR_COLD void wr_buffers_lose(struct wr_lane *lane, enum weir_loss cause)
{
    uint64_t signals = wr_buffers_signals_block(lane->buffers);
    lose_blocked(lane, cause);
    wr_buffers_signals_restore(lane->buffers, signals);
}

/* --- Room. ----------------------------------------------------------------------------------- */

WR_COLD void wr_buffers_retire(struct wr_lane *lane)
{
    uint64_t signals = wr_buffers_signals_block(lane->buffers);
    lane->buffers->mode->retire(lane);
    wr_buffers_signals_restore(lane->buffers, signals);
}

WR_COLD void wr_buffers_return(struct wr_lane *lane)
{
    lane->is_borrowed = 0;
    wr_buffers_retire(lane);
}

WR_COLD bool wr_buffers_has_room(struct wr_lane *lane)
{
    uint64_t signals = wr_buffers_signals_block(lane->buffers);
    bool has_room = lane->buffers->mode->has_room(lane);
    wr_buffers_signals_restore(lane->buffers, signals);
    return has_room;
}

WR_COLD enum wr_room wr_buffers_room_slow(struct wr_lane *lane, struct wr_segment **segment,
                                          uint64_t *commit)
{
    uint64_t signals = wr_buffers_signals_block(lane->buffers);
    enum wr_room room = lane->buffers->mode->room(lane, segment, commit);
    wr_buffers_signals_restore(lane->buffers, signals);
    return room;
}

/* --- Room for a record that is larger than a segment. ---------------------------------------- */

static enum wr_room span_room_blocked(struct wr_lane *lane, uint32_t bytes,
                                      struct wr_segment **first)
{
    const struct wr_buffers *buffers = lane->buffers;
    if (wr_buffers_is_too_large(buffers, bytes)) {
        lose_blocked(lane, WEIR_LOSS_TOO_LARGE);
        return WR_ROOM_LOST;
    }
    return buffers->mode->span_room(lane, wr_span_segments(bytes, buffers->segment_bytes), first);
}

WR_COLD enum wr_room wr_buffers_span_room(struct wr_lane *lane, uint32_t bytes,
                                          struct wr_segment **first)
{
    uint64_t signals = wr_buffers_signals_block(lane->buffers);
    enum wr_room room = span_room_blocked(lane, bytes, first);
    if (room == WR_ROOM) { /* otherwise, keep what an earlier record may have left in hand */
        wr_place_of(lane)->in_hand = *first;
        wr_place_of(lane)->records_before = lane->records_retired;
    }
    wr_buffers_signals_restore(lane->buffers, signals);
    return room;
}

WR_COLD bool wr_buffers_span_open(struct wr_lane *lane, const struct wr_span *span)
{
    uint64_t signals = wr_buffers_signals_block(lane->buffers);
    bool is_open = lane->buffers->mode->span_open(lane, span);
    wr_buffers_signals_restore(lane->buffers, signals);
    return is_open;
}

/* --- A jump out of an event. ----------------------------------------------------------------- */

WR_COLD bool wr_buffers_reset(struct wr_lane *lane)
{
    const struct wr_place *place = wr_place_of(lane);
    if (place->in_hand)
        lane->records_retired = place->records_before;
    return lane->buffers->mode->reset(lane);
}

/* --- Exit of a thread. ----------------------------------------------------------------------- */

static void lane_exit(struct wr_lane *lane)
{
    lane->buffers->mode->exit(lane);
    /* edge EXIT.release: the last segment and the last losses */
    wr_u32_store_release(&lane->exited, 1);
    wr_buffers_announce(lane);
}

static void on_thread_exit(struct wr_thread *thread)
{
    uint64_t pin = wr_pin_enter_seq_cst(thread), signals = wr_os_signals_block();
    for (uint32_t slot = 0; slot < WR_SESSIONS_MAX; slot++) {
        /* edge QUIESCE: a stopper clears this pointer, waits for this pin, and frees the lane */
        struct wr_lane *lane = wr_lane_or_null(wr_ptr_load_seq_cst(wr_thread_lane(thread, slot)));
        if (!lane)
            continue;
        lane_exit(lane);
        wr_ptr_store_release(wr_thread_lane(thread, slot), WR_LANE_NONE);
    }
    wr_os_signals_restore(signals);
    wr_pin_leave(thread, pin);
}

WR_COLD void wr_buffers_init_process(void)
{
    wr_thread_on_exit = on_thread_exit;
}

/* --- Drain's side. --------------------------------------------------------------------------- */

WR_COLD struct wr_lane *wr_buffers_take_ready(struct wr_buffers *buffers)
{
    wr_u32_exchange_acq_rel(&buffers->retired, 0);
    /* edge READY.acquire */
    return wr_ptr_exchange_acq_rel(&buffers->ready, NULL);
}

WR_COLD void wr_buffers_accept_ready(struct wr_lane *lane)
{
    /* edge READY: see wr_buffers_announce() */
    wr_u32_exchange_acq_rel(&lane->queued, 0);
}

WR_COLD struct wr_lane *wr_buffers_lanes(struct wr_buffers *buffers, uint64_t *attached)
{
    pthread_mutex_lock(&buffers->lock);
    wr_buffers_welcome_locked(buffers);
    struct wr_lane *first = buffers->lanes;
    *attached = buffers->lanes_attached;
    pthread_mutex_unlock(&buffers->lock);
    return first;
}

static void attempted_set(struct weir_counts *counts)
{
    counts->attempted = counts->written;
    for (unsigned cause = 0; cause < WEIR_LOSS_COUNT; cause++)
        counts->attempted += counts->lost[cause];
}

WR_COLD bool wr_lane_counts_locked(struct wr_lane *lane, struct weir_counts *counts,
                                   uint64_t limit_ns)
{
    /* Read losses before records: this may count a record that is younger than a loss not counted,
     * but it counts every record that precedes a counted loss. */
    for (unsigned cause = 0; cause < WR_LANE_CAUSES; cause++)
        /* edge LOST.acquire */
        counts->lost[wr_loss_of_lane(cause)] = wr_u64_load_acquire(&lane->lost[cause]);
    counts->lost[WEIR_LOSS_NESTED] += wr_u64_load_acquire(&lane->nested);
    counts->lost[WEIR_LOSS_SINK_FAILED] = lane->sink_failed;
    uint64_t records;
    if (!lane->buffers->mode->counts(lane, &records, &counts->lost[WEIR_LOSS_OVERWRITTEN],
                                     limit_ns))
        return false;
    counts->written = records - lane->sink_failed;
    attempted_set(counts);
    return true;
}

WR_COLD void wr_counts_add(struct weir_counts *sum, const struct weir_counts *more)
{
    sum->written += more->written;
    for (unsigned cause = 0; cause < WEIR_LOSS_COUNT; cause++)
        sum->lost[cause] += more->lost[cause];
    attempted_set(sum);
}

WR_COLD void wr_buffers_release_lane_locked(struct wr_buffers *buffers, struct wr_lane **link)
{
    struct wr_lane *lane = *link;
    struct weir_counts counts = {0};
    wr_lane_counts_locked(lane, &counts, UINT64_MAX);
    wr_counts_add(&buffers->released, &counts);
    *link = lane->next;
    wr_thread_lane_released(lane->thread);
    wr_u32_add_acq_rel(&buffers->lanes_now, UINT32_MAX);
    lane->next = NULL;
    free_lanes_give(buffers, lane);
}
