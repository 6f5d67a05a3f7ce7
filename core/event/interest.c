/* Matches what sessions want against providers. Provider names are compared without case. */
#include <stdlib.h>
#include <string.h>
#include "event/define.h"
#include "event/event.h"

static unsigned char lower(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? (unsigned char)(c + 32) : c;
}

unsigned long wr_name_hash(const char *name)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        hash = (hash ^ lower(*c)) * UINT64_C(1099511628211);
    return (unsigned long)hash;
}

WR_COLD bool wr_names_equal(const char *a, const char *b)
{
    while (*a && lower((unsigned char)*a) == lower((unsigned char)*b)) {
        a++;
        b++;
    }
    return lower((unsigned char)*a) == lower((unsigned char)*b);
}

static bool is_for(const struct wr_filter *filter, const char *provider, unsigned long hash)
{
    return filter->is_for_all ||
           (filter->name_hash == hash && wr_names_equal(filter->name, provider));
}

static int compare_ids(const void *a, const void *b)
{
    return *(const uint16_t *)a - *(const uint16_t *)b;
}

static bool admits_id(const struct wr_filter *filter, uint16_t id)
{
    bool is_named = filter->event_id_count > 0 &&
                    bsearch(&id, filter->event_ids, filter->event_id_count, sizeof id, compare_ids);
    return is_named == filter->ids_are_allowed;
}

WR_COLD bool wr_interest_wants(const struct wr_interest *interest,
                               const struct wr_event_definition *definition)
{
    const struct weir_schema *schema = &definition->schema;
    for (uint32_t i = 0; i < interest->count; i++) {
        const struct wr_filter *filter = &interest->filters[i];
        if (schema->level <= filter->level &&
            (schema->keywords == 0 || (schema->keywords & filter->keywords)) &&
            is_for(filter, definition->provider_name, definition->provider_hash) &&
            admits_id(filter, schema->event_id))
            return true;
    }
    return false;
}

WR_COLD void wr_interest_add(const struct wr_interest *interest, const char *provider,
                             unsigned long hash, struct wr_provider_state *state)
{
    for (uint32_t i = 0; i < interest->count; i++) {
        const struct wr_filter *filter = &interest->filters[i];
        if (!is_for(filter, provider, hash))
            continue;
        state->keywords |= filter->keywords;
        state->level = filter->level > state->level ? filter->level : state->level;
        state->is_enabled = true;
        if (!state->arguments)
            state->arguments = filter->arguments;
    }
}

WR_COLD bool wr_states_equal(const struct wr_provider_state *a, const struct wr_provider_state *b)
{
    return a->is_enabled == b->is_enabled && a->level == b->level && a->keywords == b->keywords &&
           !a->arguments == !b->arguments &&
           (!a->arguments || strcmp(a->arguments, b->arguments) == 0);
}
