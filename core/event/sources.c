/*
 * Sources of rundown: functions that providers registered. A session's drain calls them one after
 * the other, or the thread that starts it.
 *
 * Each call is outside all locks. Several sessions may call the same source at once: one whose sink
 * is stuck must not keep another from its end. A provider counts the calls that are inside it, and is
 * freed when the last one has left.
 */
#include "event/registry.h"

#include "event/hooks.h"
#include "os/os.h"

static struct weir_provider *first_source, **last_source = &first_source; /* LOCK */
static uint64_t last_number;                                              /* LOCK */
static struct wr_u32 calls_ended; /* raised under the lock; slept on without it */

/* A call that the thread is in: wr_self.sources, innermost first. */
struct source_call {
    struct weir_provider *provider;
    struct source_call *outer;
};

static uint32_t own_calls(const struct weir_provider *provider)
{
    uint32_t count = 0;
    for (const struct source_call *call = wr_self.sources; call; call = call->outer)
        count += call->provider == provider;
    return count;
}

/* --- The list. ------------------------------------------------------------------------------- */

static enum weir_result source_add_locked(struct weir_provider *provider,
                                          weir_rundown_source source, void *context,
                                          struct weir_error *error)
{
    if (wr_registry_is_broken)
        return wr_registry_fail_broken(error);
    if (provider->source)
        return wr_fail(error, WEIR_EXISTS, "provider '%s' has a rundown source already",
                       provider->name);
    provider->source = source;
    provider->source_context = context;
    provider->source_number = ++last_number;
    provider->next_source = NULL;
    *last_source = provider;
    last_source = &provider->next_source;
    return WEIR_OK;
}

WR_COLD enum weir_result weir_rundown_register(struct weir_provider *provider,
                                               weir_rundown_source source, void *context,
                                               struct weir_error *error)
{
    WR_OS_NO_CANCEL;
    if (!provider || !source)
        return wr_fail(error, WEIR_BAD_ARGUMENT, "provider and source must not be NULL");
    wr_registry_lock();
    enum weir_result result = source_add_locked(provider, source, context, error);
    wr_registry_unlock();
    return result;
}

WR_COLD void wr_source_remove_locked(struct weir_provider *provider)
{
    if (!provider->source)
        return;
    struct weir_provider **link = &first_source;
    while (*link != provider)
        link = &(*link)->next_source;
    *link = provider->next_source;
    if (last_source == &provider->next_source)
        last_source = link;
}

WR_COLD void wr_source_calls_end_locked(struct weir_provider *provider)
{
    while (provider->source_calls > own_calls(provider)) {
        uint32_t ended = wr_u32_load_acquire(&calls_ended);
        wr_registry_unlock();
        wr_hooks_wait(&calls_ended, ended);
        wr_registry_lock();
    }
}

WR_COLD void wr_sources_after_fork(void)
{
    for (struct weir_provider *provider = first_source; provider; provider = provider->next_source)
        provider->source_calls = own_calls(provider);
}

/* --- Calls. ---------------------------------------------------------------------------------- */

/* The first source that was registered after `number`, and is not called for this session yet. */
static struct weir_provider *source_enter(uint64_t number)
{
    wr_registry_lock();
    struct weir_provider *provider = first_source;
    while (provider && provider->source_number <= number)
        provider = provider->next_source;
    if (provider)
        provider->source_calls++;
    wr_registry_unlock();
    return provider;
}

static void source_leave(struct weir_provider *provider)
{
    wr_registry_lock();
    provider->source_calls--;
    bool is_last = wr_provider_is_over_locked(provider);
    wr_u32_add_acq_rel(&calls_ended, 1);
    wr_registry_unlock();
    wr_os_futex_wake_all(&calls_ended);
    if (is_last)
        wr_provider_free(provider);
}

WR_COLD void wr_sources_run(const struct weir_rundown *rundown)
{
    struct source_call call = {NULL, wr_self.sources};
    uint64_t number = 0;
    while ((call.provider = source_enter(number)) != NULL) {
        number = call.provider->source_number;
        wr_self.sources = &call;
        call.provider->source(call.provider->source_context, rundown);
        wr_self.sources = call.outer;
        source_leave(call.provider);
    }
}
