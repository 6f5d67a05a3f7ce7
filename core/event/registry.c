/*
 * The registry: providers, events, and which session wants which event.
 *
 * One mutex. Nothing on the way of an event takes it, and nothing here is read without it except an
 * event's mask and the table of definitions, which only grows; so there is nothing for ck_epoch to
 * protect. Providers are found by name in a ck_hs.
 */
#include "event/event.h"

#include <ck_hs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "buffers/buffers.h"
#include "event/define.h"
#include "os/clock.h"
#include "os/os.h"

struct weir_provider {
    char *name; /* CONST */
    weir_provider_callback callback;
    void *context;
    struct wr_event_definition *definitions; /* LOCK, as all that follows */
    struct weir_provider *next;
    struct wr_provider_state told; /* by the last callback */
    bool is_calling;
    bool is_destroyed;
    pthread_t caller;
    struct weir_provider *outer; /* the caller's: the callback that it is in as well */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t signals_before;         /* LOCK: of the thread that holds it */
static struct wr_u32 callbacks_done;    /* raised under the lock; slept on without it */
static struct weir_provider *providers; /* LOCK */
static ck_hs_t providers_by_name;       /* LOCK */
static const struct wr_interest *interests[WR_SESSIONS_MAX]; /* LOCK: what an enabled slot wants */
static bool slot_is_taken[WR_SESSIONS_MAX];                  /* LOCK */
static struct wr_ptr definitions[WR_EVENT_INDEX_MAX + 1];    /* edge DEFINE; entries never change */
static uint32_t definition_count;                            /* LOCK */
static struct wr_event_definition *orphans;                  /* LOCK: of providers that are gone */
struct wr_u64 wr_mask_marker;                                /* LOCK for stores */
static uint32_t generation; /* of the process; changes in fork only */
static bool is_broken;      /* a fork caught this thread inside the registry */

/* --- Once per process. ----------------------------------------------------------------------- */

static void *hs_malloc(size_t bytes)
{
    return malloc(bytes);
}

static void hs_free(void *memory, size_t bytes, bool defer)
{
    (void)bytes;
    (void)defer;
    free(memory);
}

static struct ck_malloc hs_allocator = {.malloc = hs_malloc, .free = hs_free};

static unsigned long hash_name(const void *provider, unsigned long seed)
{
    return wr_name_hash(((const struct weir_provider *)provider)->name, seed);
}

static bool same_name(const void *a, const void *b)
{
    return wr_names_equal(((const struct weir_provider *)a)->name,
                          ((const struct weir_provider *)b)->name);
}

static uint64_t marker_locked(void)
{
    return wr_u64_load_relaxed(&wr_mask_marker); /* relaxed: stored under the lock */
}

/* The marker's slot stays taken. */
static void marker_keep_locked(void)
{
    if (marker_locked())
        slot_is_taken[__builtin_ctzll(marker_locked())] = true;
}

static void mask_store(struct wr_event_definition *definition, uint64_t mask)
{
    /* edges ENABLE.release, QUIESCE: this store, then the load of the pins */
    if (definition->event)
        wr_mask_store_seq_cst(&definition->event->enabled, mask);
}

/*
 * A fork takes the registry's lock and the clock's, so that the child finds consistent lists behind
 * fresh locks. Signals stay as they are: the host's own handlers of the fork run meanwhile, and may
 * wait for a collector that suspends this thread. A signal handler that forks while this thread is
 * in the library cannot take them: its child may only go on untraced, and if another thread held a
 * session's lock, what the handler interrupted may wait for it in the child. One that forks within
 * the fast path, which holds nothing, may; but what it interrupted must stay marked as inside, so
 * `ready` is put back as it was. A handler may fork between these functions, too: only the
 * outermost fork does anything.
 */
static void before_fork(void)
{
    if (wr_self.fork_depth++ > 0)
        return;
    wr_self.fork_is_nested = wr_self.depth > 0;
    wr_self.fork_ready = wr_self.ready;
    wr_self_enter();
    if (wr_self.fork_is_nested)
        return;
    pthread_mutex_lock(&lock);
    wr_clock_fork_lock();
}

static void fork_leave(void)
{
    wr_compiler_barrier();
    wr_self.depth--;
    wr_self.ready = wr_self.fork_ready;
}

static void after_fork_parent(void)
{
    if (--wr_self.fork_depth > 0)
        return;
    if (!wr_self.fork_is_nested) {
        wr_clock_fork_unlock();
        pthread_mutex_unlock(&lock);
    }
    fork_leave();
}

/* The child has no drain threads: it clears all masks, and no session of the parent is touched. */
static void after_fork_child(void)
{
    for (uint32_t i = 1; i <= definition_count; i++)
        mask_store(wr_ptr_load_relaxed(&definitions[i]), 0); /* relaxed: the only thread */
    memset(interests, 0, sizeof interests);
    memset(slot_is_taken, 0, sizeof slot_is_taken);
    memset(wr_buffers_by_slot, 0, sizeof wr_buffers_by_slot);
    wr_u64_store_release(&wr_buffers_blocking_slots, 0);
    for (struct weir_provider *provider = providers; provider; provider = provider->next) {
        /* Only this thread's callback goes on here. */
        provider->is_calling &= pthread_equal(provider->caller, pthread_self()) != 0;
        provider->told = (struct wr_provider_state){false, 0, 0};
    }
    /* Of a fork within a fork this is the inner one's child, which goes on in the outer one's
     * parent. */
    is_broken |= wr_self.fork_is_nested || wr_self.fork_depth > 1;
    generation++;
    pthread_mutex_init(&lock, NULL);
    marker_keep_locked();
    wr_threads_after_fork();
    wr_clock_after_fork();
    if (--wr_self.fork_depth == 0)
        fork_leave();
}

static void on_membarrier_error(void);

static void init_once(void)
{
    wr_clock_init();
    wr_threads_init();
    wr_buffers_init_process();
    wr_threads_on_membarrier_error = on_membarrier_error;
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

void wr_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_once);
}

uint32_t wr_process_generation(void)
{
    return generation;
}

/* Signals are blocked while it is held, so that no handler suspends the thread with it. */
static bool registry_lock_for(uint64_t limit_ns)
{
    wr_self_enter();
    uint64_t before = wr_os_signals_block();
    if (wr_os_mutex_lock_for(&lock, limit_ns)) {
        signals_before = before;
        return true;
    }
    wr_os_signals_restore(before);
    wr_self_leave();
    return false;
}

static void registry_lock(void)
{
    registry_lock_for(UINT64_MAX);
}

static void registry_unlock(void)
{
    uint64_t before = signals_before;
    pthread_mutex_unlock(&lock);
    wr_os_signals_restore(before);
    wr_self_leave();
}

static enum weir_result fail_broken(struct weir_error *error)
{
    return wr_fail(error, WEIR_BAD_STATE,
                   "this process was forked while its thread was inside the library");
}

/* --- Who wants what. ------------------------------------------------------------------------- */

const struct wr_event_definition *wr_event_definition(uint32_t index)
{
    /* edge DEFINE.acquire */
    return index <= WR_EVENT_INDEX_MAX ? wr_ptr_load_acquire(&definitions[index]) : NULL;
}

static void mask_update_locked(struct wr_event_definition *definition)
{
    uint64_t mask = 0;
    for (uint32_t slot = 0; slot < WR_SESSIONS_MAX; slot++)
        if (interests[slot] && wr_interest_wants(interests[slot], definition))
            mask |= UINT64_C(1) << slot;
    mask_store(definition, mask ? mask | marker_locked() : 0);
}

static void masks_update_locked(void)
{
    for (struct weir_provider *provider = providers; provider; provider = provider->next)
        for (struct wr_event_definition *d = provider->definitions; d; d = d->next)
            mask_update_locked(d);
}

static void blocking_set_locked(uint32_t slot, bool blocks)
{
    uint64_t bit = UINT64_C(1) << slot, slots = wr_buffers_blocking();
    /* edge ENABLE: as the slot's buffers */
    wr_u64_store_release(&wr_buffers_blocking_slots, blocks ? slots | bit : slots & ~bit);
}

static enum weir_result slot_take_locked(struct wr_buffers *buffers, uint32_t *slot,
                                         struct weir_error *error)
{
    if (is_broken)
        return fail_broken(error);
    for (uint32_t i = 0; i < WR_SESSIONS_MAX; i++) {
        if (slot_is_taken[i])
            continue;
        slot_is_taken[i] = true;
        *slot = i;
        buffers->has_plain_pins = wr_thread_fast && !marker_locked();
        /* edge ENABLE: before the slot's bit is in any mask */
        wr_ptr_store_release(&wr_buffers_by_slot[i], buffers);
        blocking_set_locked(i, buffers->mode->parks);
        return WEIR_OK;
    }
    return wr_fail(error, WEIR_LIMIT, "%d sessions run; stop one", WR_SESSIONS_MAX);
}

enum weir_result wr_registry_take_slot(struct wr_buffers *buffers, uint32_t *slot,
                                       struct weir_error *error)
{
    registry_lock();
    enum weir_result result = slot_take_locked(buffers, slot, error);
    registry_unlock();
    return result;
}

void wr_registry_enable(uint32_t slot, const struct wr_interest *interest)
{
    registry_lock();
    /* relaxed: stored under the lock */
    const struct wr_buffers *buffers = wr_ptr_load_relaxed(&wr_buffers_by_slot[slot]);
    bool is_lost = marker_locked() && buffers && buffers->has_plain_pins;
    interests[slot] = is_lost ? NULL : interest;
    masks_update_locked();
    registry_unlock();
}

bool wr_registry_disable(uint32_t slot, uint64_t limit_ns)
{
    if (!registry_lock_for(limit_ns))
        return false;
    interests[slot] = NULL;
    masks_update_locked();
    registry_unlock();
    return true;
}

bool wr_registry_give_slot(uint32_t slot, uint64_t limit_ns)
{
    if (!registry_lock_for(limit_ns))
        return false;
    wr_ptr_store_release(&wr_buffers_by_slot[slot], NULL);
    blocking_set_locked(slot, false);
    slot_is_taken[slot] = false;
    marker_keep_locked();
    registry_unlock();
    return true;
}

/* A session that needs membarrier, which has failed: as end_early() of drain.c, which tells its
 * host. Here as well, because a drain may stand in its sink. Who waits behind a lock that is not
 * free soon stays until the drain gets there, or a stop. */
static void session_end_locked(uint32_t slot)
{
    /* relaxed: stored under the lock */
    struct wr_buffers *buffers = wr_ptr_load_relaxed(&wr_buffers_by_slot[slot]);
    if (!buffers || !buffers->has_plain_pins)
        return;
    (void)buffers->mode->send_away(buffers, WR_PATIENCE_NS);
    wr_bell_ring(&buffers->bell);
}

/* Any slot that a session has now will do, because it is not given out again; without sessions (in
 * a forked child, or at the first start) the last one. */
static uint32_t marker_slot_locked(void)
{
    uint32_t slot = 0;
    while (slot < WR_SESSIONS_MAX - 1 && !slot_is_taken[slot])
        slot++;
    return slot;
}

/* All sessions of this moment have plain pins. Their masks and the marker change in one critical
 * section: what is enabled after it has the marker and seq_cst pins. */
static void on_membarrier_error(void)
{
    registry_lock();
    /* relaxed: edge ENABLE.release follows, with the first mask that has the marker */
    wr_u64_store_relaxed(&wr_mask_marker, UINT64_C(1) << marker_slot_locked());
    marker_keep_locked();
    memset(interests, 0, sizeof interests);
    masks_update_locked();
    for (uint32_t slot = 0; slot < WR_SESSIONS_MAX; slot++)
        session_end_locked(slot);
    registry_unlock();
}

/* --- Callbacks. ------------------------------------------------------------------------------ */

static struct wr_provider_state state_wanted_locked(const struct weir_provider *provider)
{
    struct wr_provider_state state = {false, 0, 0};
    for (uint32_t slot = 0; slot < WR_SESSIONS_MAX; slot++)
        if (interests[slot])
            wr_interest_add(interests[slot], provider->name, &state);
    return state;
}

/* A provider that must be told, marked as being called; its new state is in `told`. */
static struct weir_provider *callback_next_locked(void)
{
    for (struct weir_provider *provider = providers; provider; provider = provider->next) {
        struct wr_provider_state state = state_wanted_locked(provider);
        if (!provider->callback || provider->is_calling || wr_states_equal(&state, &provider->told))
            continue;
        provider->told = state;
        provider->is_calling = true;
        provider->caller = pthread_self();
        return provider;
    }
    return NULL;
}

static void provider_free(struct weir_provider *provider)
{
    free(provider->name);
    free(provider);
}

static void callback_end(struct weir_provider *provider)
{
    wr_self.callbacks = provider->outer;
    registry_lock();
    provider->is_calling = false;
    bool is_destroyed = provider->is_destroyed;
    wr_u32_add_acq_rel(&callbacks_done, 1);
    registry_unlock();
    wr_os_futex_wake_all(&callbacks_done);
    if (is_destroyed)
        provider_free(provider);
}

/* Whoever finds a provider being called leaves it to that thread, which looks again afterwards: so
 * a callback may start and stop sessions, and no call waits for another. */
void wr_registry_run_callbacks(uint64_t limit_ns)
{
    for (;;) {
        if (!registry_lock_for(limit_ns))
            return;
        struct weir_provider *provider = callback_next_locked();
        struct wr_provider_state state =
            provider ? provider->told : (struct wr_provider_state){false, 0, 0};
        registry_unlock();
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

/* --- Providers. ------------------------------------------------------------------------------ */

/* Made with the first provider, and tried again if there was no memory for it. */
static bool names_ready_locked(void)
{
    static bool is_ready;
    if (!is_ready)
        is_ready = ck_hs_init(&providers_by_name, CK_HS_MODE_SPMC | CK_HS_MODE_OBJECT, hash_name,
                              same_name, &hs_allocator, 16, 0);
    return is_ready;
}

static struct weir_provider *provider_find_locked(const char *name)
{
    if (!providers)
        return NULL;
    struct weir_provider key = {.name = (char *)(uintptr_t)name};
    return ck_hs_get(&providers_by_name, CK_HS_HASH(&providers_by_name, hash_name, &key), &key);
}

bool wr_provider_exists(const char *name)
{
    registry_lock();
    bool exists = provider_find_locked(name) != NULL;
    registry_unlock();
    return exists;
}

static struct weir_provider *provider_new(const char *name, weir_provider_callback callback,
                                          void *context)
{
    struct weir_provider *provider = calloc(1, sizeof *provider);
    if (!provider)
        return NULL;
    provider->name = strdup(name);
    provider->callback = callback;
    provider->context = context;
    if (!provider->name) {
        free(provider);
        return NULL;
    }
    return provider;
}

static enum weir_result provider_insert_locked(struct weir_provider *provider,
                                               struct weir_error *error)
{
    if (is_broken)
        return fail_broken(error);
    if (provider_find_locked(provider->name) ||
        wr_names_equal(provider->name, "Weir")) /* ours: Weir/Loss */
        return wr_fail(error, WEIR_EXISTS, "provider '%s' is registered already", provider->name);
    if (!names_ready_locked() ||
        !ck_hs_put(&providers_by_name, CK_HS_HASH(&providers_by_name, hash_name, provider),
                   provider))
        return wr_fail(error, WEIR_NO_MEMORY, "no memory for provider '%s'", provider->name);
    provider->next = providers;
    providers = provider;
    return WEIR_OK;
}

/* The same event of a provider that is gone: a plug-in that comes and goes uses up no indices. */
static struct wr_event_definition *orphan_take_locked(const struct wr_event_definition *definition)
{
    struct wr_event_definition **link = &orphans;
    while (*link && !wr_definitions_equal(*link, definition))
        link = &(*link)->next;
    struct wr_event_definition *orphan = *link;
    if (orphan)
        *link = orphan->next;
    return orphan;
}

/* Gives the definition an index and its provider. An orphan takes its place in `*definition`, which
 * is freed then. */
static enum weir_result definition_insert_locked(struct weir_provider *provider,
                                                 struct wr_event_definition **definition,
                                                 struct weir_error *error)
{
    struct wr_event_definition *new = *definition;
    for (struct wr_event_definition *d = provider->definitions; d; d = d->next)
        if (d->schema.event_id == new->schema.event_id)
            return wr_fail(error, WEIR_EXISTS,
                           "event %u of provider '%s' is defined already ('%s')",
                           d->schema.event_id, provider->name, d->schema.name);
    struct wr_event_definition *orphan = orphan_take_locked(new);
    if (orphan) {
        wr_definition_free(new);
        *definition = new = orphan;
    } else if (definition_count == WR_EVENT_INDEX_MAX) {
        return wr_fail(error, WEIR_LIMIT, "%u events are defined; no more fit", WR_EVENT_INDEX_MAX);
    } else {
        new->index = definition_count + 1;
        /* edge DEFINE.release: the definition, before any record can carry its index */
        wr_ptr_store_release(&definitions[new->index], new);
        definition_count++;
    }
    new->next = provider->definitions;
    provider->definitions = new;
    return WEIR_OK;
}

/* Makes the host's (or the definition's own) event usable and enables it where it is wanted. */
static void event_connect_locked(struct wr_event_definition *definition, struct weir_event *event)
{
    event->record_bytes = definition->is_fixed ? wr_record_bytes(definition->payload_bytes, false)
                                               : WR_RECORD_BYTES_VARIABLE;
    event->index = definition->index;
    event->definition = definition;
    definition->event = event;
    mask_update_locked(definition);
}

static void provider_remove_locked(struct weir_provider *provider)
{
    while (provider->definitions) {
        struct wr_event_definition *d = provider->definitions;
        mask_store(d, 0);
        d->event = NULL;
        provider->definitions = d->next;
        d->next = orphans;
        orphans = d;
    }
    struct weir_provider **link = &providers;
    while (*link && *link != provider)
        link = &(*link)->next;
    if (!*link)
        return;
    *link = provider->next;
    ck_hs_remove(&providers_by_name, CK_HS_HASH(&providers_by_name, hash_name, provider), provider);
}

/* The last step of creating one: it is in the list now, or it goes. */
static enum weir_result provider_finish(struct weir_provider *provider, enum weir_result result,
                                        struct weir_provider **out)
{
    if (result != WEIR_OK) {
        provider_free(provider);
        return result;
    }
    if (out)
        *out = provider;
    wr_registry_run_callbacks(UINT64_MAX);
    return WEIR_OK;
}

enum weir_result weir_provider_create(const char *name, weir_provider_callback callback,
                                      void *context, struct weir_provider **out,
                                      struct weir_error *error)
{
    WR_OS_NO_CANCEL;
    wr_init();
    if (!wr_name_is_valid(name))
        return wr_fail(error, WEIR_BAD_ARGUMENT, "a provider's name has 1 to %d bytes of UTF-8",
                       WR_NAME_BYTES_MAX);
    struct weir_provider *provider = provider_new(name, callback, context);
    if (!provider)
        return wr_fail(error, WEIR_NO_MEMORY, "no memory for provider '%s'", name);
    registry_lock();
    enum weir_result result = provider_insert_locked(provider, error);
    registry_unlock();
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it is in the list, or freed */
    return provider_finish(provider, result, out);
}

enum weir_result weir_event_define(struct weir_provider *provider, const struct weir_schema *schema,
                                   struct weir_event **out, struct weir_error *error)
{
    WR_OS_NO_CANCEL;
    if (!provider || !schema || !out)
        return wr_fail(error, WEIR_BAD_ARGUMENT, "provider, schema and event must not be NULL");
    struct wr_event_definition *definition;
    enum weir_result result = wr_definition_new(provider->name, schema, &definition, error);
    if (result != WEIR_OK)
        return result;
    registry_lock();
    result = definition_insert_locked(provider, &definition, error);
    if (result == WEIR_OK)
        event_connect_locked(definition, &definition->own);
    registry_unlock();
    if (result == WEIR_OK)
        *out = &definition->own;
    else
        wr_definition_free(definition);
    return result;
}

/* All of a declaration's definitions, linked by `next`, or none. */
static enum weir_result declaration_define(const struct weir_provider_declaration *declaration,
                                           struct wr_event_definition **made,
                                           struct weir_error *error)
{
    enum weir_result result = WEIR_OK;
    for (uint32_t i = 0; i < declaration->event_count && result == WEIR_OK; i++)
        result = wr_definition_new(declaration->name,
                                   (const unsigned char *)declaration->schemas +
                                       (size_t)i * declaration->schema_bytes,
                                   &made[i], error);
    return result;
}

static void definitions_free(struct wr_event_definition **made, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++)
        if (made[i])
            wr_definition_free(made[i]);
}

static enum weir_result declaration_insert(const struct weir_provider_declaration *declaration,
                                           struct weir_provider *provider,
                                           struct wr_event_definition **made,
                                           struct weir_error *error)
{
    registry_lock();
    enum weir_result result = provider_insert_locked(provider, error);
    bool is_inserted = result == WEIR_OK;
    unsigned char *events = declaration->events;
    uint32_t count = 0;
    while (result == WEIR_OK && count < declaration->event_count) {
        result = definition_insert_locked(provider, &made[count], error);
        count += result == WEIR_OK;
    }
    for (uint32_t i = 0; result == WEIR_OK && i < count; i++)
        event_connect_locked(made[i], (void *)(events + (size_t)i * declaration->event_bytes));
    if (result != WEIR_OK && is_inserted)
        provider_remove_locked(provider);
    registry_unlock();
    definitions_free(made, count, declaration->event_count);
    return result;
}

enum weir_result weir_provider_register(const struct weir_provider_declaration *host_declaration,
                                        weir_provider_callback callback, void *context,
                                        struct weir_provider **out, struct weir_error *error)
{
    WR_OS_NO_CANCEL;
    wr_init();
    struct weir_provider_declaration own = {0};
    const struct weir_provider_declaration *declaration = &own;
    enum weir_result result = wr_declaration_take(&own, host_declaration, error);
    if (result != WEIR_OK)
        return result;
    struct weir_provider *provider = provider_new(declaration->name, callback, context);
    struct wr_event_definition **made = calloc(declaration->event_count + 1u, sizeof *made);
    if (!provider || !made) {
        if (provider)
            provider_free(provider);
        free(made);
        return wr_fail(error, WEIR_NO_MEMORY, "no memory for provider '%s'", declaration->name);
    }
    result = declaration_define(declaration, made, error);
    if (result == WEIR_OK)
        result = declaration_insert(declaration, provider, made, error);
    else
        definitions_free(made, 0, declaration->event_count);
    free(made);
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it is in the list, or freed */
    return provider_finish(provider, result, out);
}

void weir_provider_destroy(struct weir_provider *provider)
{
    WR_OS_NO_CANCEL;
    if (!provider)
        return;
    registry_lock();
    provider_remove_locked(provider);
    bool is_own_call = provider->is_calling && pthread_equal(provider->caller, pthread_self());
    while (provider->is_calling && !is_own_call) {
        uint32_t done = wr_u32_load_acquire(&callbacks_done);
        registry_unlock();
        wr_os_futex_wait(&callbacks_done, done, UINT64_MAX);
        registry_lock();
    }
    provider->is_destroyed = true; /* the thread that is calling frees it */
    registry_unlock();
    if (!is_own_call)
        provider_free(provider);
}
