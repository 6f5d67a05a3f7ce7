/* core/event/callbacks.c, slots.c, interest.c, providers.c and sources.c for the explorer. */
#include "product_callbacks.h"

#include <stdlib.h>
#include <string.h>
#include <weir/version.h>
#include "buffers/buffers.h"

static void *allocate(size_t bytes);
static void release(void *memory);

/* All threads of the explorer run on one thread. */
#define pthread_self()       ((pthread_t)(model_self() + 1))
#define malloc(bytes)        allocate(bytes)
#define calloc(count, bytes) allocate((count) * (bytes))
#define strdup(text)         ((char *)(uintptr_t)(text))
#define free(memory)         release(memory)

#include "event/interest.c"  /* NOLINT */
#include "event/callbacks.c" /* NOLINT: with its static variables */
#include "event/slots.c"     /* NOLINT: with its static variables */
#include "event/providers.c" /* NOLINT: with its static variables */
#include "event/sources.c"   /* NOLINT: with its static variables */

/* --- Memory. --------------------------------------------------------------------------------- */

enum { BLOCKS_MAX = 16 };

static struct block {
    void *at;
    uint32_t bytes;
    bool is_taken, is_freed;
} blocks[BLOCKS_MAX];
static uint32_t block_count;

static struct block *block_add(uint32_t bytes)
{
    model_check(block_count < BLOCKS_MAX);
    struct block *block = &blocks[block_count++];
    *block = (struct block){model_memory(bytes), bytes, false, false};
    return block;
}

static struct block *block_at(const void *memory)
{
    for (uint32_t i = 0; i < block_count; i++)
        if (blocks[i].at == memory)
            return &blocks[i];
    return NULL;
}

void product_registry_spare(uint32_t bytes)
{
    block_add(bytes);
}

static void *allocate(size_t bytes)
{
    uint32_t i = 0;
    while (i < block_count && (blocks[i].is_taken || blocks[i].bytes < bytes))
        i++;
    struct block *block = i < block_count ? &blocks[i] : block_add((uint32_t)bytes);
    block->is_taken = true;
    return block->at;
}

/* Names are not in memory of the model. */
static void release(void *memory)
{
    struct block *block = block_at(memory);
    if (!block)
        return;
    model_check(!block->is_freed);
    block->is_freed = true;
    model_free(block->at, block->bytes);
}

bool product_is_freed(const void *memory)
{
    return block_at(memory)->is_freed;
}

/* --- The lock. ------------------------------------------------------------------------------- */

static pthread_mutex_t registry_lock;
bool wr_registry_is_broken;

bool wr_registry_lock_for(uint64_t limit_ns)
{
    return wr_os_mutex_lock_for(&registry_lock, limit_ns);
}

void wr_registry_lock(void)
{
    wr_registry_lock_for(UINT64_MAX);
}

void wr_registry_unlock(void)
{
    struct wr_interest *dead = wr_interests_take_dead_locked();
    pthread_mutex_unlock(&registry_lock);
    wr_interests_free(dead);
}

enum weir_result wr_registry_fail_broken(struct weir_error *error)
{
    (void)error;
    return WEIR_BAD_STATE;
}

/* --- Definitions: a provider has one event, or none. ----------------------------------------- */

static struct wr_event_definition definition;

void product_provider_event(struct weir_provider *provider, struct weir_event *event)
{
    definition = (struct wr_event_definition){.event = event,
                                              .provider_name = provider->name,
                                              .provider_hash = provider->name_hash,
                                              .schema = {.name = "Event", .event_id = 1}};
    provider->definitions = &definition;
}

bool wr_name_is_valid(const char *name)
{
    return name != NULL;
}

enum weir_result wr_definition_new(const char *provider_name, const void *host_schema,
                                   struct wr_event_definition **out, struct weir_error *error)
{
    (void)provider_name;
    (void)host_schema;
    (void)out;
    (void)error;
    return WEIR_NO_MEMORY;
}

enum weir_result wr_definition_insert_locked(struct weir_provider *provider,
                                             struct wr_event_definition **new,
                                             struct weir_error *error)
{
    (void)provider;
    (void)new;
    (void)error;
    return WEIR_LIMIT;
}

void wr_event_connect_locked(struct wr_event_definition *connected, struct weir_event *event)
{
    (void)connected;
    (void)event;
}

void wr_definitions_orphan_locked(struct weir_provider *provider)
{
    provider->definitions = NULL;
}

void wr_definition_free(struct wr_event_definition *freed)
{
    (void)freed;
}

enum weir_result wr_declaration_take(struct weir_provider_declaration *own, const void *host,
                                     struct weir_error *error)
{
    (void)own;
    (void)host;
    (void)error;
    return WEIR_BAD_ARGUMENT;
}

/* --- For models. ----------------------------------------------------------------------------- */

void product_registry_reset(void)
{
    product_system_reset();
    product_threads_reset();
    product_hooks_reset();
    wr_thread_fast = false;
    block_count = 0;
    memset(providers_by_name.entries, 0, sizeof providers_by_name.entries);
    model_lend(&registry_lock, sizeof registry_lock);
    model_lend(wr_slots, sizeof wr_slots);
    model_lend(wr_slot_ids, sizeof wr_slot_ids);
    model_lend(&changes, sizeof changes);
    model_lend(&dead_interests, sizeof dead_interests);
    model_lend(slot_is_taken, sizeof slot_is_taken);
    model_lend(&wr_mask_marker, sizeof wr_mask_marker);
    model_lend(&wr_masks_stored, sizeof wr_masks_stored);
    model_lend(&callbacks_done, sizeof callbacks_done);
    model_lend(&first_pending, sizeof first_pending);
    model_lend(&last_pending, sizeof last_pending);
    model_lend(&providers, sizeof providers);
    model_lend(wr_buffers_by_slot, sizeof wr_buffers_by_slot[0] * WR_SESSIONS_MAX);
    model_lend(&wr_buffers_blocking_slots, sizeof wr_buffers_blocking_slots);
    model_lend(&stack_slots, sizeof stack_slots);
    model_name(&stack_slots, "stack slots");
    last_pending = &first_pending;
    model_name(&registry_lock, "registry lock");
    model_name(&callbacks_done, "done");
    model_name(&wr_buffers_by_slot[0], "by_slot0");
    model_name(&wr_buffers_by_slot[1], "by_slot1");
}

void product_source(void (*source)(void *context, const struct weir_rundown *rundown))
{
    model_lend(&registry_lock, sizeof registry_lock);
    model_lend(&first_source, sizeof first_source);
    model_lend(&last_source, sizeof last_source);
    model_lend(&last_number, sizeof last_number);
    model_lend(&calls_ended, sizeof calls_ended);
    model_name(&registry_lock, "registry lock");
    model_name(&calls_ended, "calls ended");
    last_source = &first_source;
    struct weir_provider *provider = model_memory(sizeof *provider);
    model_check(weir_rundown_register(provider, source, NULL, NULL) == WEIR_OK);
}

struct wr_interest *product_interest(const char *provider, uint64_t keywords)
{
    struct wr_interest *interest = allocate(sizeof *interest + sizeof(struct wr_filter) + 2);
    struct wr_filter *filter = &interest->filters[0];
    char *arguments = (char *)(filter + 1);
    arguments[0] = 'a';
    interest->references = 1;
    interest->count = 1;
    filter->name = provider;
    filter->name_hash = wr_name_hash(provider);
    filter->is_for_all = provider[0] == '*';
    filter->keywords = keywords;
    filter->level = WEIR_LEVEL_VERBOSE;
    filter->arguments = arguments;
    return interest;
}

bool product_has_pending(void)
{
    return first_pending != NULL;
}
