/*
 * The callbacks and watchers of providers: called when a session wants something else of the
 * provider than they were last told of that session.
 *
 * Each change of a slot puts the providers that it names into a queue. Whoever made the change then
 * serves the queue: for each provider it compares what the slots want with what was told, in the
 * order of the changes, and calls until both agree. So a callback learns the latest state, and of a
 * session that came and went in the meantime nothing.
 */
#include "event/registry.h"

#include "event/hooks.h"
#include "os/os.h"

static struct wr_u32 callbacks_done; /* raised under the lock; slept on without it */
static struct weir_provider *first_pending, **last_pending = &first_pending; /* LOCK */

/* --- The queue. ------------------------------------------------------------------------------ */

WR_COLD void wr_callbacks_note_locked(struct weir_provider *provider)
{
    if (!provider->told || provider->is_pending)
        return;
    provider->is_pending = true;
    provider->next_pending = NULL;
    *last_pending = provider;
    last_pending = &provider->next_pending;
}

static void unlink_locked(struct weir_provider *provider)
{
    struct weir_provider **link = &first_pending;
    while (*link != provider)
        link = &(*link)->next_pending;
    *link = provider->next_pending;
    if (last_pending == &provider->next_pending)
        last_pending = link;
    provider->is_pending = false;
}

WR_COLD void wr_callbacks_unqueue_locked(struct weir_provider *provider)
{
    if (provider->is_pending)
        unlink_locked(provider);
}

/* --- One change. ----------------------------------------------------------------------------- */

static struct wr_provider_state wanted(const struct wr_interest *interest,
                                       const struct weir_provider *provider)
{
    struct wr_provider_state state = {false, 0, 0, NULL};
    if (interest)
        wr_interest_add(interest, provider->name, provider->name_hash, &state);
    return state;
}

/* The union over the sessions that the callback knows, not over those that run now. A session that
 * ends before the callback learns of it is never reported as disabled, so its keywords would stay. */
static struct wr_provider_state told_of_all_locked(const struct weir_provider *provider)
{
    struct wr_provider_state state = {false, 0, 0, NULL};
    for (uint32_t slot = 0; slot < WR_SESSIONS_MAX; slot++)
        if (provider->told[slot].session_id)
            wr_interest_add(provider->told[slot].interest, provider->name, provider->name_hash,
                            &state);
    return state;
}

static void told_set_locked(struct wr_told *told, uint64_t session_id, struct wr_interest *interest)
{
    if (interest)
        interest->references++;
    if (told->interest)
        wr_interest_release_locked(told->interest);
    *told = (struct wr_told){session_id, interest};
}

/* Compares what a slot wants with what was told of it, and makes them agree. True if that is a
 * change, in `change`. The slot may have another session by now: the end of the one before comes
 * first. */
static bool change_take_locked(struct weir_provider *provider, uint32_t slot,
                               struct weir_provider_change *change)
{
    struct wr_told *told = &provider->told[slot];
    const struct wr_slot *now = &wr_slots[slot];
    struct wr_provider_state is = wanted(now->interest, provider);
    struct wr_provider_state was = wanted(told->interest, provider);
    *change = (struct weir_provider_change){.size = sizeof *change};
    change->session_id = told->session_id ? told->session_id : now->session_id;
    if (told->session_id && (!is.is_enabled || now->session_id != told->session_id)) {
        change->what = WEIR_CHANGE_DISABLED;
        told_set_locked(told, 0, NULL);
        return true;
    }
    if (!is.is_enabled)
        return false;
    change->what = told->session_id ? WEIR_CHANGE_UPDATED : WEIR_CHANGE_ENABLED;
    change->level = is.level;
    change->keywords = is.keywords;
    change->arguments = is.arguments;
    bool is_new = !told->session_id || !wr_states_equal(&is, &was);
    told_set_locked(told, now->session_id, now->interest);
    return is_new;
}

static bool is_due_locked(const struct weir_provider *provider, uint32_t slot)
{
    const struct wr_told *told = &provider->told[slot];
    const struct wr_slot *now = &wr_slots[slot];
    return (told->session_id != now->session_id || told->interest != now->interest) &&
           (told->session_id || wanted(now->interest, provider).is_enabled);
}

/* When what the callback must be told next of the slot happened. */
static uint64_t due_since_locked(const struct weir_provider *provider, uint32_t slot)
{
    const struct wr_told *told = &provider->told[slot];
    const struct wr_slot *now = &wr_slots[slot];
    if (told->session_id == 0)
        return now->started;
    return told->session_id == now->session_id ? now->changed : now->ended;
}

static uint32_t slot_next_locked(const struct weir_provider *provider)
{
    uint32_t next = WR_SESSIONS_MAX;
    uint64_t since = UINT64_MAX;
    for (uint32_t slot = 0; slot < WR_SESSIONS_MAX; slot++)
        if (is_due_locked(provider, slot) && due_since_locked(provider, slot) < since) {
            next = slot;
            since = due_since_locked(provider, slot);
        }
    return next;
}

/* The earliest change that the callback has not been told of. False: there is none. */
static bool change_next_locked(struct weir_provider *provider, struct weir_provider_change *change)
{
    bool is_taken = false;
    for (uint32_t slot; !is_taken && (slot = slot_next_locked(provider)) < WR_SESSIONS_MAX;)
        is_taken = change_take_locked(provider, slot, change);
    if (!is_taken)
        return false;
    struct wr_provider_state all = told_of_all_locked(provider);
    change->is_enabled = all.is_enabled;
    change->union_level = all.level;
    change->union_keywords = all.keywords;
    return true;
}

/* --- Calls. ---------------------------------------------------------------------------------- */

/* Finds a provider whose callback must be called, and marks it as being called. */
static struct weir_provider *callback_next_locked(struct weir_provider_change *change)
{
    struct weir_provider *next;
    for (struct weir_provider *provider = first_pending; provider; provider = next) {
        next = provider->next_pending;
        if (provider->is_calling)
            continue;
        if (change_next_locked(provider, change)) {
            provider->is_calling = true;
            provider->caller = pthread_self();
            return provider;
        }
        unlink_locked(provider);
    }
    return NULL;
}

static void forget_told_locked(struct weir_provider *provider)
{
    for (uint32_t slot = 0; provider->told && slot < WR_SESSIONS_MAX; slot++)
        told_set_locked(&provider->told[slot], 0, NULL);
}

static void callback_end(struct weir_provider *provider)
{
    wr_self.callbacks = provider->outer;
    wr_registry_lock();
    provider->is_calling = false;
    if (provider->is_destroyed)
        forget_told_locked(provider);
    bool is_last = wr_provider_is_over_locked(provider);
    wr_u32_add_acq_rel(&callbacks_done, 1);
    wr_registry_unlock();
    wr_os_futex_wake_all(&callbacks_done);
    if (is_last)
        wr_provider_free(provider);
}

/* A callback is told of the union only, and only if that has changed. */
static void call(struct weir_provider *provider, const struct weir_provider_change *change)
{
    const struct wr_provider_state all = {change->is_enabled, change->union_level,
                                          change->union_keywords, NULL};
    if (provider->watcher) {
        provider->watcher(provider->context, change);
        return;
    }
    if (wr_states_equal(&all, &provider->told_all))
        return;
    provider->told_all = all;
    provider->callback(provider->context, all.is_enabled, all.level, all.keywords);
}

/* A thread that finds a provider being called leaves it to the thread that calls it, which looks
 * again afterwards. So a callback may start and stop sessions, and no call waits for another. */
WR_COLD void wr_registry_run_callbacks(uint64_t limit_ns)
{
    for (;;) {
        struct weir_provider_change change;
        if (!wr_registry_lock_for(limit_ns))
            return;
        struct weir_provider *provider = callback_next_locked(&change);
        wr_registry_unlock();
        if (!provider)
            return;
        provider->outer = wr_self.callbacks;
        wr_self.callbacks = provider;
        call(provider, &change);
        callback_end(provider);
    }
}

WR_COLD void wr_registry_forget_calls(void)
{
    while (wr_self.callbacks)
        callback_end(wr_self.callbacks);
}

WR_COLD void wr_callbacks_end_locked(struct weir_provider *provider)
{
    bool is_own_call = provider->is_calling && pthread_equal(provider->caller, pthread_self());
    while (provider->is_calling && !is_own_call) {
        uint32_t done = wr_u32_load_acquire(&callbacks_done);
        wr_registry_unlock();
        wr_hooks_wait(&callbacks_done, done);
        wr_registry_lock();
    }
    if (!is_own_call)
        forget_told_locked(provider);
}

/* The callback that goes on in the child may be using what it was told: that is not given back. */
WR_COLD void wr_callbacks_after_fork(void)
{
    first_pending = NULL;
    last_pending = &first_pending;
    for (struct weir_provider *provider = wr_providers_locked(); provider;
         provider = provider->next) {
        /* Only this thread's callback goes on here. */
        provider->is_calling &= pthread_equal(provider->caller, pthread_self()) != 0;
        provider->is_pending = false;
        for (uint32_t slot = 0; provider->told && slot < WR_SESSIONS_MAX; slot++)
            provider->told[slot] = (struct wr_told){0, NULL};
        provider->told_all = (struct wr_provider_state){false, 0, 0, NULL};
    }
}
