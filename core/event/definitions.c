/*
 * The table of definitions, by index. It only grows, because the drain reads it without the lock.
 * When a provider is destroyed its definitions become orphans; a provider that defines the same
 * events again reuses them.
 */
#include "event/registry.h"

#include "os/os.h"

#define TABLE_BYTES ((WR_EVENT_INDEX_MAX + 1) * sizeof(struct wr_ptr))

struct wr_ptr wr_definitions;
static uint32_t definition_count;           /* LOCK */
static struct wr_event_definition *orphans; /* LOCK: of providers that are gone */

const struct wr_event_definition *wr_event_definition(uint32_t index)
{
    const struct wr_ptr *table = wr_ptr_load_acquire(&wr_definitions);
    /* edge DEFINE.acquire */
    return index <= WR_EVENT_INDEX_MAX && table ? wr_ptr_load_acquire(&table[index]) : NULL;
}

/* Takes the orphan that defines the same event, if there is one, so that a plug-in that is loaded
 * again and again does not use up the indices. */
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

/* The table, made for the first definition: most of its pages are never touched. NULL: no memory. */
static struct wr_ptr *table_locked(void)
{
    struct wr_ptr *table = wr_ptr_load_relaxed(&wr_definitions); /* relaxed: under the lock */
    if (!table) {
        table = wr_os_pages_map(TABLE_BYTES);
        wr_ptr_store_release(&wr_definitions, table);
    }
    return table;
}

WR_COLD enum weir_result wr_definition_insert_locked(struct weir_provider *provider,
                                                     struct wr_event_definition **definition,
                                                     struct weir_error *error)
{
    struct wr_event_definition *new = *definition;
    struct wr_ptr *table = table_locked();
    if (!table)
        return wr_fail(error, WEIR_NO_MEMORY, "no memory for the table of events");
    for (struct wr_event_definition *d = provider->definitions; d; d = d->next)
        if (d->schema.event_id == new->schema.event_id && d->schema.version == new->schema.version)
            return wr_fail(error, WEIR_EXISTS,
                           "event %u of provider '%s' is defined already in version %u ('%s')",
                           d->schema.event_id, provider->name, d->schema.version, d->schema.name);
    struct wr_event_definition *orphan = orphan_take_locked(new);
    if (orphan) {
        wr_definition_free(new);
        *definition = new = orphan;
    } else if (definition_count == WR_EVENT_INDEX_MAX) {
        return wr_fail(error, WEIR_LIMIT, "%u events are defined; no more fit", WR_EVENT_INDEX_MAX);
    } else {
        new->index = definition_count + 1;
        /* edge DEFINE.release: the definition, before any record can carry its index */
        wr_ptr_store_release(&table[new->index], new);
        definition_count++;
    }
    new->next = provider->definitions;
    provider->definitions = new;
    return WEIR_OK;
}

WR_COLD void wr_event_connect_locked(struct wr_event_definition *definition,
                                     struct weir_event *event)
{
    event->record_bytes = definition->is_fixed ? wr_record_bytes(definition->payload_bytes, false)
                                               : WR_RECORD_BYTES_VARIABLE;
    event->header = wr_record_header(definition->index, 0);
    definition->event = event;
    wr_mask_update_locked(definition);
}

WR_COLD void wr_definitions_orphan_locked(struct weir_provider *provider)
{
    while (provider->definitions) {
        struct wr_event_definition *d = provider->definitions;
        wr_mask_store(d, 0);
        d->event = NULL;
        provider->definitions = d->next;
        d->next = orphans;
        orphans = d;
    }
}

WR_COLD void wr_definitions_after_fork(void)
{
    /* relaxed, twice: the only thread */
    const struct wr_ptr *table = wr_ptr_load_relaxed(&wr_definitions);
    for (uint32_t i = 1; i <= definition_count; i++)
        wr_mask_store(wr_ptr_load_relaxed(&table[i]), 0);
}

WR_COLD enum weir_result weir_event_define(struct weir_provider *provider,
                                           const struct weir_schema *schema,
                                           struct weir_event **out, struct weir_error *error)
{
    WR_OS_NO_CANCEL;
    if (!provider || !schema || !out)
        return wr_fail(error, WEIR_BAD_ARGUMENT, "provider, schema and event must not be NULL");
    struct wr_event_definition *definition;
    enum weir_result result = wr_definition_new(provider->name, schema, &definition, error);
    if (result != WEIR_OK)
        return result;
    wr_registry_lock();
    result = wr_definition_insert_locked(provider, &definition, error);
    if (result == WEIR_OK)
        wr_event_connect_locked(definition, &definition->own);
    wr_registry_unlock();
    if (result == WEIR_OK)
        *out = &definition->own;
    else
        wr_definition_free(definition);
    return result;
}
