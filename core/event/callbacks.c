/* The callbacks of providers: called when what the sessions want of the provider has changed. */
#include "event/registry.h"

#include "os/os.h"

static struct wr_u32 callbacks_done; /* raised under the lock; slept on without it */

/* Finds a provider whose callback must be called, marks it as being called, and stores in `told`
 * the state to report. */
static struct weir_provider *callback_next_locked(void)
{
    for (struct weir_provider *provider = wr_providers_locked(); provider;
         provider = provider->next) {
        struct wr_provider_state state = wr_slots_wanted_locked(provider);
        if (!provider->callback || provider->is_calling || wr_states_equal(&state, &provider->told))
            continue;
        provider->told = state;
        provider->is_calling = true;
        provider->caller = pthread_self();
        return provider;
    }
    return NULL;
}

static void callback_end(struct weir_provider *provider)
{
    wr_self.callbacks = provider->outer;
    wr_registry_lock();
    provider->is_calling = false;
    bool is_destroyed = provider->is_destroyed;
    wr_u32_add_acq_rel(&callbacks_done, 1);
    wr_registry_unlock();
    wr_os_futex_wake_all(&callbacks_done);
    if (is_destroyed)
        wr_provider_free(provider);
}

/* A thread that finds a provider being called leaves it to the thread that calls it, which looks
 * again afterwards. So a callback may start and stop sessions, and no call waits for another. */
void wr_registry_run_callbacks(uint64_t limit_ns)
{
    for (;;) {
        if (!wr_registry_lock_for(limit_ns))
            return;
        struct weir_provider *provider = callback_next_locked();
        struct wr_provider_state state =
            provider ? provider->told : (struct wr_provider_state){false, 0, 0};
        wr_registry_unlock();
        if (!provider)
            return;
        provider->outer = wr_self.callbacks;
        wr_self.callbacks = provider;
        provider->callback(provider->context, state.is_enabled, state.level, state.keywords);
        callback_end(provider);
    }
}

void wr_registry_forget_calls(void)
{
    while (wr_self.callbacks)
        callback_end(wr_self.callbacks);
}

bool wr_callbacks_wait_locked(const struct weir_provider *provider)
{
    bool is_own_call = provider->is_calling && pthread_equal(provider->caller, pthread_self());
    while (provider->is_calling && !is_own_call) {
        uint32_t done = wr_u32_load_acquire(&callbacks_done);
        wr_registry_unlock();
        wr_os_futex_wait(&callbacks_done, done, UINT64_MAX);
        wr_registry_lock();
    }
    return is_own_call;
}

void wr_callbacks_after_fork(void)
{
    for (struct weir_provider *provider = wr_providers_locked(); provider;
         provider = provider->next) {
        /* Only this thread's callback goes on here. */
        provider->is_calling &= pthread_equal(provider->caller, pthread_self()) != 0;
        provider->told = (struct wr_provider_state){false, 0, 0};
    }
}
