/* The set of providers: a list, and a ck_hs that finds them by name. */
#include "event/registry.h"
#include "base/ck.h"

#include <ck_hs.h>
#include <stdlib.h>
#include <string.h>
#include "os/os.h"

WR_CK_HIDDEN(ck_hs_get);
WR_CK_HIDDEN(ck_hs_init);
WR_CK_HIDDEN(ck_hs_put);
WR_CK_HIDDEN(ck_hs_remove);

static struct weir_provider *providers; /* LOCK */
static ck_hs_t providers_by_name;       /* LOCK */

/* --- The set. -------------------------------------------------------------------------------- */

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
    return ((const struct weir_provider *)provider)->name_hash ^ seed;
}

static bool same_name(const void *a, const void *b)
{
    return wr_names_equal(((const struct weir_provider *)a)->name,
                          ((const struct weir_provider *)b)->name);
}

/* Made with the first provider, and tried again if there was no memory for it. */
static bool names_ready_locked(void)
{
    static bool is_ready;
    if (!is_ready)
        is_ready = ck_hs_init(&providers_by_name, CK_HS_MODE_SPMC | CK_HS_MODE_OBJECT, hash_name,
                              same_name, &hs_allocator, 16, 0);
    return is_ready;
}

WR_COLD struct weir_provider *wr_providers_locked(void)
{
    return providers;
}

WR_COLD struct weir_provider *wr_provider_find_locked(const char *name)
{
    if (!providers)
        return NULL;
    struct weir_provider key = {.name = (char *)(uintptr_t)name, .name_hash = wr_name_hash(name)};
    return ck_hs_get(&providers_by_name, CK_HS_HASH(&providers_by_name, hash_name, &key), &key);
}

WR_COLD bool wr_provider_exists(const char *name)
{
    wr_registry_lock();
    bool exists = wr_provider_find_locked(name) != NULL;
    wr_registry_unlock();
    return exists;
}

static enum weir_result provider_insert_locked(struct weir_provider *provider,
                                               struct weir_error *error)
{
    if (wr_registry_is_broken)
        return wr_registry_fail_broken(error);
    if (wr_provider_find_locked(provider->name) ||
        wr_names_equal(provider->name, "Weir")) /* ours: Weir/Loss */
        return wr_fail(error, WEIR_EXISTS, "provider '%s' is registered already", provider->name);
    if (!names_ready_locked() ||
        !ck_hs_put(&providers_by_name, CK_HS_HASH(&providers_by_name, hash_name, provider),
                   provider))
        return wr_fail(error, WEIR_NO_MEMORY, "no memory for provider '%s'", provider->name);
    provider->next = providers;
    providers = provider;
    wr_status_update_locked(provider);
    wr_callbacks_note_locked(provider);
    return WEIR_OK;
}

static void provider_remove_locked(struct weir_provider *provider)
{
    wr_definitions_orphan_locked(provider);
    wr_callbacks_unqueue_locked(provider);
    wr_source_remove_locked(provider);
    struct weir_provider **link = &providers;
    while (*link && *link != provider)
        link = &(*link)->next;
    if (!*link)
        return;
    *link = provider->next;
    ck_hs_remove(&providers_by_name, CK_HS_HASH(&providers_by_name, hash_name, provider), provider);
}

/* --- One provider. --------------------------------------------------------------------------- */

WR_COLD void wr_provider_free(struct weir_provider *provider)
{
    free(provider->name);
    free(provider->told);
    free(provider);
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
    if (callback)
        provider->told = calloc(WR_SESSIONS_MAX, sizeof *provider->told);
    if (!provider->name || (callback && !provider->told)) {
        wr_provider_free(provider);
        return NULL;
    }
    provider->name_hash = wr_name_hash(name);
    return provider;
}

/* The last step of creating a provider: it is in the list now, or it is freed. */
static enum weir_result provider_finish(struct weir_provider *provider, enum weir_result result,
                                        struct weir_provider **out)
{
    if (result != WEIR_OK) {
        wr_provider_free(provider);
        return result;
    }
    if (out)
        *out = provider;
    wr_registry_run_callbacks(UINT64_MAX);
    return WEIR_OK;
}

WR_COLD enum weir_result weir_provider_create(const char *name, weir_provider_callback callback,
                                              void *context, struct weir_provider **out,
                                              struct weir_error *error)
{
    WR_OS_NO_CANCEL;
    wr_init();
    wr_environment_read();
    if (!wr_name_is_valid(name))
        return wr_fail(error, WEIR_BAD_ARGUMENT, "a provider's name has 1 to %d bytes of UTF-8",
                       WR_NAME_BYTES_MAX);
    struct weir_provider *provider = provider_new(name, callback, context);
    if (!provider)
        return wr_fail(error, WEIR_NO_MEMORY, "no memory for provider '%s'", name);
    wr_registry_lock();
    enum weir_result result = provider_insert_locked(provider, error);
    wr_registry_unlock();
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it is in the list, or freed */
    return provider_finish(provider, result, out);
}

static enum weir_result watch_locked(struct weir_provider *provider, weir_provider_watcher watcher,
                                     void *context, struct wr_told *told, struct weir_error *error)
{
    if (wr_registry_is_broken)
        return wr_registry_fail_broken(error);
    if (provider->told)
        return wr_fail(error, WEIR_EXISTS, "provider '%s' has a callback or a watcher already",
                       provider->name);
    provider->watcher = watcher;
    provider->context = context;
    provider->told = told;
    wr_callbacks_note_locked(provider);
    return WEIR_OK;
}

WR_COLD enum weir_result weir_provider_watch(struct weir_provider *provider,
                                             weir_provider_watcher watcher, void *context,
                                             struct weir_error *error)
{
    WR_OS_NO_CANCEL;
    if (!provider || !watcher)
        return wr_fail(error, WEIR_BAD_ARGUMENT, "provider and watcher must not be NULL");
    struct wr_told *told = calloc(WR_SESSIONS_MAX, sizeof *told);
    if (!told)
        return wr_fail(error, WEIR_NO_MEMORY, "no memory for a watcher of provider '%s'",
                       provider->name);
    wr_registry_lock();
    enum weir_result result = watch_locked(provider, watcher, context, told, error);
    wr_registry_unlock();
    if (result == WEIR_OK)
        wr_registry_run_callbacks(UINT64_MAX);
    else
        free(told);
    return result;
}

/* Makes the declaration's definitions. If it fails, the caller frees those that are in `made`. */
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
    wr_registry_lock();
    enum weir_result result = provider_insert_locked(provider, error);
    bool is_inserted = result == WEIR_OK;
    unsigned char *events = declaration->events;
    uint32_t count = 0;
    while (result == WEIR_OK && count < declaration->event_count) {
        result = wr_definition_insert_locked(provider, &made[count], error);
        count += result == WEIR_OK;
    }
    for (uint32_t i = 0; result == WEIR_OK && i < count; i++)
        wr_event_connect_locked(made[i], (void *)(events + (size_t)i * declaration->event_bytes));
    if (result != WEIR_OK && is_inserted)
        provider_remove_locked(provider);
    wr_registry_unlock();
    definitions_free(made, count, declaration->event_count);
    return result;
}

WR_COLD enum weir_result
weir_provider_register(const struct weir_provider_declaration *host_declaration,
                       weir_provider_callback callback, void *context, struct weir_provider **out,
                       struct weir_error *error)
{
    WR_OS_NO_CANCEL;
    wr_init();
    wr_environment_read();
    struct weir_provider_declaration own = {0};
    const struct weir_provider_declaration *declaration = &own;
    enum weir_result result = wr_declaration_take(&own, host_declaration, error);
    if (result != WEIR_OK)
        return result;
    struct weir_provider *provider = provider_new(declaration->name, callback, context);
    struct wr_event_definition **made = calloc(declaration->event_count + 1u, sizeof *made);
    if (!provider || !made) {
        if (provider)
            wr_provider_free(provider);
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

const struct weir_status *weir_provider_status(const struct weir_provider *provider)
{
    return provider ? &provider->status : NULL;
}

WR_COLD void weir_provider_destroy(struct weir_provider *provider)
{
    WR_OS_NO_CANCEL;
    if (!provider)
        return;
    wr_registry_lock();
    provider_remove_locked(provider);
    wr_callbacks_end_locked(provider);
    wr_source_calls_end_locked(provider);
    provider->is_destroyed = true; /* if this thread is in a call of it, that frees it at its end */
    bool is_over = wr_provider_is_over_locked(provider);
    wr_registry_unlock();
    if (is_over)
        wr_provider_free(provider);
}
