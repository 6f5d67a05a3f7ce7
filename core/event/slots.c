/*
 * The sessions' slots; what the session in each slot wants, and the events' masks, which follow from
 * that; the sessions that are lost when membarrier fails (ORDERING.md, "The pin").
 */
#include "event/registry.h"

#include <stdlib.h>
#include <string.h>
#include "buffers/buffers.h"

struct wr_slot wr_slots[WR_SESSIONS_MAX];
struct wr_u64 wr_slot_ids[WR_SESSIONS_MAX]; /* LOCK for stores */
static uint64_t changes;                    /* LOCK */
static struct wr_interest *dead_interests;  /* LOCK */
static bool slot_is_taken[WR_SESSIONS_MAX]; /* LOCK */
struct wr_u64 wr_mask_marker;               /* LOCK for stores */
struct wr_u64 wr_slots_lingering;           /* LOCK for stores; edge QUIESCE */
uint64_t wr_masks_stored;                   /* LOCK */

/* --- Masks. ---------------------------------------------------------------------------------- */

static uint64_t marker_locked(void)
{
    return wr_u64_load_relaxed(&wr_mask_marker); /* relaxed: stored under the lock */
}

WR_COLD void wr_marker_keep_locked(void)
{
    if (marker_locked())
        slot_is_taken[__builtin_ctzll(marker_locked())] = true;
}

WR_COLD void wr_mask_store(struct wr_event_definition *definition, uint64_t mask)
{
    struct weir_event *event = definition->event;
    if (!event ||
        wr_mask_load_relaxed(&event->enabled) == mask) /* relaxed: stored under the lock */
        return;
    wr_event_enable(event, mask);
    wr_masks_stored++;
}

WR_COLD void wr_mask_update_locked(struct wr_event_definition *definition)
{
    uint64_t mask = 0;
    for (uint32_t slot = 0; slot < WR_SESSIONS_MAX; slot++)
        if (wr_slots[slot].interest && wr_interest_wants(wr_slots[slot].interest, definition))
            mask |= UINT64_C(1) << slot;
    wr_mask_store(definition, mask ? mask | marker_locked() : 0);
}

WR_COLD struct wr_provider_state wr_provider_state_locked(const struct weir_provider *provider)
{
    struct wr_provider_state state = {false, 0, 0, NULL};
    for (uint32_t slot = 0; slot < WR_SESSIONS_MAX; slot++)
        if (wr_slots[slot].interest)
            wr_interest_add(wr_slots[slot].interest, provider->name, provider->name_hash, &state);
    return state;
}

WR_COLD void wr_status_update_locked(struct weir_provider *provider)
{
    struct wr_provider_state state = wr_provider_state_locked(provider);
    /* relaxed, twice: hints; a thread that calls a callback has taken the lock after this */
    wr_status_store_relaxed(&provider->status.level, state.level);
    wr_status_store_relaxed(&provider->status.keywords, state.keywords);
}

/* Many entries of a session may name the same provider. */
static void provider_update_locked(struct weir_provider *provider)
{
    if (provider->updated == changes)
        return;
    provider->updated = changes;
    for (struct wr_event_definition *d = provider->definitions; d; d = d->next)
        wr_mask_update_locked(d);
    wr_status_update_locked(provider);
    wr_callbacks_note_locked(provider);
}

static void all_update_locked(void)
{
    for (struct weir_provider *provider = wr_providers_locked(); provider;
         provider = provider->next)
        provider_update_locked(provider);
}

/* Updates the events of the providers that `interest` names; NULL: it names none. */
static void masks_update_locked(const struct wr_interest *interest)
{
    for (uint32_t i = 0; interest && i < interest->count; i++) {
        if (interest->filters[i].is_for_all) {
            all_update_locked();
            return;
        }
        struct weir_provider *provider = wr_provider_find_locked(interest->filters[i].name);
        if (provider)
            provider_update_locked(provider);
    }
}

static void slot_set_locked(uint32_t slot, struct wr_interest *interest)
{
    struct wr_slot *to = &wr_slots[slot];
    if (to->interest == interest) /* it is off already */
        return;
    to->changed = ++changes;
    if (!interest)
        to->ended = changes;
    else if (!to->interest)
        to->started = changes;
    /* relaxed: stored under the lock */
    to->session_id = interest ? wr_u64_load_relaxed(&wr_slot_ids[slot]) : 0;
    to->interest = interest;
}

static void slot_change_locked(uint32_t slot, struct wr_interest *interest)
{
    const struct wr_interest *before = wr_slots[slot].interest;
    slot_set_locked(slot, interest);
    masks_update_locked(before);
    masks_update_locked(interest);
}

WR_COLD void wr_interest_release_locked(struct wr_interest *interest)
{
    if (--interest->references > 0)
        return;
    interest->next_dead = dead_interests;
    dead_interests = interest;
}

WR_COLD struct wr_interest *wr_interests_take_dead_locked(void)
{
    struct wr_interest *dead = dead_interests;
    dead_interests = NULL;
    return dead;
}

WR_COLD void wr_interests_free(struct wr_interest *dead)
{
    while (dead) {
        struct wr_interest *next = dead->next_dead;
        free(dead);
        dead = next;
    }
}

WR_COLD void wr_interest_release(struct wr_interest *interest)
{
    if (!interest)
        return;
    wr_registry_lock();
    wr_interest_release_locked(interest);
    wr_registry_unlock();
}

/* --- Slots. ---------------------------------------------------------------------------------- */

static struct wr_u64 stack_slots; /* LOCK(registry), and a hint for all others */

bool wr_slots_want_stacks(const struct weir_event *event)
{
    /* relaxed: hints; the session's copy of the event is decided by its own buffers */
    return (wr_mask_load_relaxed(&event->enabled) & wr_u64_load_relaxed(&stack_slots)) != 0;
}

static void stacks_set_locked(uint32_t slot, bool has_stacks)
{
    uint64_t bit = UINT64_C(1) << slot;
    uint64_t slots = wr_u64_load_relaxed(&stack_slots); /* relaxed: stored under the lock */
    /* relaxed: a hint */
    wr_u64_store_relaxed(&stack_slots, has_stacks ? slots | bit : slots & ~bit);
}

static void blocking_set_locked(uint32_t slot, bool blocks)
{
    uint64_t bit = UINT64_C(1) << slot, slots = wr_buffers_blocking();
    /* edge ENABLE: as the slot's buffers */
    wr_u64_store_release(&wr_buffers_blocking_slots, blocks ? slots | bit : slots & ~bit);
}

static enum weir_result slot_take_locked(struct wr_buffers *buffers, uint64_t session_id,
                                         uint32_t *slot, struct weir_error *error)
{
    if (wr_registry_is_broken)
        return wr_registry_fail_broken(error);
    for (uint32_t i = 0; i < WR_SESSIONS_MAX; i++) {
        if (slot_is_taken[i])
            continue;
        slot_is_taken[i] = true;
        *slot = i;
        buffers->has_plain_pins = wr_thread_fast && !marker_locked();
        /* relaxed: edge ENABLE publishes it with the buffers */
        wr_u64_store_relaxed(&wr_slot_ids[i], session_id);
        /* edge ENABLE: before the slot's bit is in any mask */
        wr_ptr_store_release(&wr_buffers_by_slot[i], buffers);
        blocking_set_locked(i, buffers->mode->parks);
        stacks_set_locked(i, buffers->has_stacks);
        return WEIR_OK;
    }
    return wr_fail(error, WEIR_LIMIT, "%d sessions run; stop one", WR_SESSIONS_MAX);
}

WR_COLD enum weir_result wr_registry_take_slot(struct wr_buffers *buffers, uint64_t session_id,
                                               uint32_t *slot, struct weir_error *error)
{
    wr_registry_lock();
    enum weir_result result = slot_take_locked(buffers, session_id, slot, error);
    wr_registry_unlock();
    return result;
}

WR_COLD void wr_registry_enable(uint32_t slot, struct wr_interest *interest)
{
    wr_registry_lock();
    /* relaxed: stored under the lock */
    const struct wr_buffers *buffers = wr_ptr_load_relaxed(&wr_buffers_by_slot[slot]);
    bool is_lost = marker_locked() && buffers && buffers->has_plain_pins;
    slot_change_locked(slot, is_lost ? NULL : interest);
    wr_registry_unlock();
}

WR_COLD bool wr_registry_update(uint32_t slot, struct wr_interest **interest,
                                struct wr_interest *new)
{
    wr_registry_lock();
    bool is_enabled = wr_slots[slot].interest == *interest;
    if (is_enabled) {
        slot_change_locked(slot, new);
        wr_interest_release_locked(*interest);
        *interest = new;
    }
    wr_registry_unlock();
    return is_enabled;
}

WR_COLD bool wr_registry_disable(uint32_t slot, uint64_t limit_ns)
{
    if (!wr_registry_lock_for(limit_ns))
        return false;
    slot_change_locked(slot, NULL);
    wr_registry_unlock();
    return true;
}

WR_COLD bool wr_registry_linger(uint32_t slot, bool lingers, uint64_t limit_ns)
{
    if (!wr_registry_lock_for(limit_ns))
        return false;
    wr_lingering_store(slot, lingers);
    wr_registry_unlock();
    return true;
}

WR_COLD bool wr_registry_give_slot(uint32_t slot, uint64_t limit_ns)
{
    if (!wr_registry_lock_for(limit_ns))
        return false;
    wr_ptr_store_release(&wr_buffers_by_slot[slot], NULL);
    blocking_set_locked(slot, false);
    stacks_set_locked(slot, false);
    slot_is_taken[slot] = false;
    wr_marker_keep_locked();
    wr_registry_unlock();
    return true;
}

WR_COLD void wr_slots_after_fork(void)
{
    memset(wr_slots, 0, sizeof wr_slots);
    memset(slot_is_taken, 0, sizeof slot_is_taken);
    memset(wr_buffers_by_slot, 0, sizeof wr_buffers_by_slot);
    wr_u64_store_release(&wr_buffers_blocking_slots, 0);
    wr_u64_store_relaxed(&stack_slots, 0); /* relaxed: the child has one thread */
    wr_u64_store_release(&wr_slots_lingering, 0);
    for (struct weir_provider *provider = wr_providers_locked(); provider;
         provider = provider->next)
        wr_status_update_locked(provider);
}

/* --- Lost sessions. -------------------------------------------------------------------------- */

/* Ends a session that needs membarrier, which has failed. end_early() of drain.c does the same, and
 * reports it to the host, but a drain may be blocked in its sink. Threads that wait at a gate whose
 * lock is not free soon stay until the drain or a stop sends them away. */
static void session_end_locked(uint32_t slot)
{
    /* relaxed: stored under the lock */
    struct wr_buffers *buffers = wr_ptr_load_relaxed(&wr_buffers_by_slot[slot]);
    if (!buffers || !buffers->has_plain_pins)
        return;
    (void)buffers->mode->send_away(buffers, WR_PATIENCE_NS);
    wr_bell_ring(&buffers->bell);
}

/* Any slot that a session has now will do, because it is not given out again. If there are no
 * sessions (in a forked child, or at the first start), the last one. */
static uint32_t marker_slot_locked(void)
{
    uint32_t slot = 0;
    while (slot < WR_SESSIONS_MAX - 1 && !slot_is_taken[slot])
        slot++;
    return slot;
}

WR_COLD void wr_slots_on_membarrier_error(void)
{
    wr_registry_lock();
    /* relaxed: edge ENABLE.release follows, with the first mask that has the marker */
    wr_u64_store_relaxed(&wr_mask_marker, UINT64_C(1) << marker_slot_locked());
    wr_marker_keep_locked();
    for (uint32_t slot = 0; slot < WR_SESSIONS_MAX; slot++)
        slot_set_locked(slot, NULL);
    all_update_locked();
    for (uint32_t slot = 0; slot < WR_SESSIONS_MAX; slot++)
        session_end_locked(slot);
    wr_registry_unlock();
}
